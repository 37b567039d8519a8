/* cupti_spans.c - joins work to spans, and claims new ones. */
#include "profiler/cupti/cupti_spans.h"

/* The longest pause that a span may have within it, so many of them being in use. */
static uint64_t cupti_spans_pause(uint32_t used)
{
	uint32_t left = used < TRACE_SPANS ? TRACE_SPANS - used : 0;
	uint64_t pause = CUPTI_PAUSE_NS;

	if (left == 0)
		return UINT64_MAX;
	for (uint32_t half = TRACE_SPANS / 2; left < half; half /= 2)
		pause *= 2;
	return pause;
}

/* Time between the two; 0 where they overlap. */
static uint64_t cupti_spans_between(const struct trace_span *span,
				    const struct cupti_work *work)
{
	if (work->start_ns > span->end_ns)
		return work->start_ns - span->end_ns;
	return span->start_ns > work->end_ns ? span->start_ns - work->end_ns : 0;
}

/* Pauses that the work fills, as if they lay evenly in the part of the span that has some. */
static uint64_t cupti_spans_filled(const struct cupti_open *open,
				   const struct cupti_work *work)
{
	const struct trace_span *span = open->span;
	uint64_t start =
		work->start_ns > span->start_ns ? work->start_ns : span->start_ns;
	uint64_t end = work->end_ns < open->solid_ns ? work->end_ns : open->solid_ns;
	uint64_t length = open->solid_ns - span->start_ns;
	double filled;

	if (start >= end)
		return 0;
	filled = (double)span->idle_ns * ((double)(end - start) / (double)length);
	return filled < (double)span->idle_ns ? (uint64_t)filled : span->idle_ns;
}

/* A kill between any two of these leaves a span that is wrong by a pause at the
 * most. */
static void cupti_spans_join(struct cupti_open *open, const struct cupti_work *work)
{
	struct trace_span *span = open->span;
	uint64_t filled = cupti_spans_filled(open, work);

	if (work->start_ns > span->end_ns ||
	    (work->start_ns < open->solid_ns && work->end_ns >= open->solid_ns))
		open->solid_ns = work->start_ns;
	span->idle_ns += cupti_spans_between(span, work);
	span->idle_ns -= filled;
	if (work->start_ns < span->start_ns)
		span->start_ns = work->start_ns;
	if (work->end_ns > span->end_ns)
		span->end_ns = work->end_ns;
}

static void cupti_spans_remember(struct cupti_recent *recent, struct trace_span *span)
{
	for (unsigned i = CUPTI_RECENT - 1; i > 0; i--)
		recent->open[i] = recent->open[i - 1];
	recent->open[0] = (struct cupti_open){span, span->start_ns};
}

/* It is whole with its end, which comes last. */
static bool cupti_spans_begin(struct cupti_spans *spans, struct cupti_recent *recent,
			      const struct cupti_work *work)
{
	uint32_t index = atomic_load(&spans->trace->span_count);
	struct trace_span *span;

	if (index < TRACE_SPANS)
		index = atomic_fetch_add(&spans->trace->span_count, 1);
	if (index >= TRACE_SPANS)
		return false;
	span = &spans->trace->spans[index];
	span->start_ns = work->start_ns;
	span->idle_ns = 0;
	span->pid = spans->pid;
	span->device = work->device;
	span->work = work->work;
	__atomic_store_n(&span->end_ns, work->end_ns, __ATOMIC_RELEASE);
	cupti_spans_remember(recent, span);
	return true;
}

bool cupti_spans_add(struct cupti_spans *spans, const struct cupti_work *work)
{
	struct cupti_recent *recent = &spans->recent[work->device][work->work];
	uint64_t pause = cupti_spans_pause(atomic_load(&spans->trace->span_count));

	for (unsigned i = 0; i < CUPTI_RECENT && recent->open[i].span != NULL; i++)
		if (cupti_spans_between(recent->open[i].span, work) <= pause) {
			cupti_spans_join(&recent->open[i], work);
			return true;
		}
	return cupti_spans_begin(spans, recent, work);
}
