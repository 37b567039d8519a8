/* device.c - sorts spans, and goes through a stretch from edge to edge. */
#include "profiler/device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- spans of devices ---- */

static int device_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int device_span_order(const void *left, const void *right)
{
	const struct trace_span *a = left, *b = right;

	if (a->pid != b->pid)
		return device_compare(a->pid, b->pid);
	if (a->device != b->device)
		return device_compare(a->device, b->device);
	if (a->work != b->work)
		return device_compare(a->work, b->work);
	if (a->start_ns != b->start_ns)
		return device_compare(a->start_ns, b->start_ns);
	return device_compare(a->end_ns, b->end_ns);
}

/* It was written to its end, and says what can be. */
static bool device_span_is_whole(const struct trace_span *span)
{
	return span->end_ns > span->start_ns && span->work < TRACE_WORKS &&
	       span->idle_ns <= span->end_ns - span->start_ns;
}

/* Cuts off what lies before `from`, and its part of the pauses. */
static void device_cut_span(struct trace_span *span, uint64_t from)
{
	double length = (double)(span->end_ns - span->start_ns);
	double idle = (double)span->idle_ns * ((double)(span->end_ns - from) / length);

	span->start_ns = from;
	span->idle_ns = (uint64_t)idle;
	if (span->idle_ns > span->end_ns - from)
		span->idle_ns = span->end_ns - from;
}

static bool device_same_track(const struct trace_span *a, const struct trace_span *b)
{
	return a->pid == b->pid && a->device == b->device && a->work == b->work;
}

/* Of sorted spans: none begins before the last of its track has ended. How many are
 * left. */
static size_t device_part_spans(struct trace_span *spans, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct trace_span span = spans[i];
		const struct trace_span *last = kept > 0 ? &spans[kept - 1] : NULL;

		if (last != NULL && device_same_track(last, &span) &&
		    span.start_ns < last->end_ns) {
			if (span.end_ns <= last->end_ns)
				continue;
			device_cut_span(&span, last->end_ns);
		}
		spans[kept++] = span;
	}
	return kept;
}

static struct device *device_of(struct devices *devices, const struct trace_span *span)
{
	struct device *last =
		devices->count > 0 ? &devices->device[devices->count - 1] : NULL;

	if (last != NULL && last->pid == span->pid && last->ordinal == span->device)
		return last;
	if (devices->count == DEVICES_MOST)
		return NULL;
	last = &devices->device[devices->count++];
	*last = (struct device){.pid = span->pid, .ordinal = span->device};
	return last;
}

static void device_find_tracks(struct devices *devices, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct trace_span *span = &devices->spans[i];
		struct device *device = device_of(devices, span);
		struct device_track *track;

		if (device == NULL)
			return;
		track = &device->tracks[span->work];
		if (track->count++ == 0)
			track->spans = span;
	}
}

int devices_read(const struct trace *trace, struct devices *devices)
{
	uint32_t there = trace->span_count;
	size_t count = 0;

	*devices = (struct devices){.spans = NULL};
	if (there > TRACE_SPANS)
		there = TRACE_SPANS;
	if (there == 0)
		return 0;
	devices->spans = malloc(there * sizeof(*devices->spans));
	if (devices->spans == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < there; i++) {
		devices->spans[count] = trace->spans[i]; /* it may still grow */
		count += device_span_is_whole(&devices->spans[count]);
	}
	qsort(devices->spans, count, sizeof(*devices->spans), device_span_order);
	device_find_tracks(devices, device_part_spans(devices->spans, count));
	return 0;
}

void devices_free(struct devices *devices)
{
	free(devices->spans);
	*devices = (struct devices){.spans = NULL};
}

/* ---- from edge to edge ---- */

/* Where the walk is in each track, and in the steps. */
struct device_walk {
	uint64_t at, next; /* the piece from edge to edge */
	size_t spans[TRACE_WORKS];
	const struct trace_step *step, *last; /* the one at hand; behind all of them */
	uint64_t blocked; /* of it, where it is several: what is not found yet */
};

/* The first span that ends after `at`. */
static size_t device_find_span(const struct device_track *track, uint64_t at)
{
	size_t low = 0, high = track->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (track->spans[middle].end_ns <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void device_edge(struct device_walk *walk, uint64_t edge)
{
	if (edge > walk->at && edge < walk->next)
		walk->next = edge;
}

/* The part of the piece in which work of the kind did nothing: 1 where there is
 * none. */
static double device_idle_part(const struct device *device, struct device_walk *walk,
			       enum trace_work work)
{
	const struct device_track *track = &device->tracks[work];
	const struct trace_span *span;
	size_t *at = &walk->spans[work];

	while (*at < track->count && track->spans[*at].end_ns <= walk->at)
		++*at;
	if (*at == track->count)
		return 1;
	span = &track->spans[*at];
	device_edge(walk, span->start_ns);
	if (span->start_ns > walk->at)
		return 1;
	device_edge(walk, span->end_ns);
	return (double)span->idle_ns / (double)(span->end_ns - span->start_ns);
}

static void device_find_step(struct device_walk *walk)
{
	while (walk->step < walk->last && walk->step->end_ns <= walk->at) {
		walk->step++;
		if (walk->step < walk->last)
			walk->blocked = walk->step->blocked_ns;
	}
	if (walk->step == walk->last)
		return;
	device_edge(walk, walk->step->request_ns);
	device_edge(walk, walk->step->request_ns + walk->step->blocked_ns);
	device_edge(walk, walk->step->end_ns);
}

/* How much of so much time in the piece, in which nothing ran, the program was
 * blocked. */
static uint64_t device_waited(struct device_walk *walk, uint64_t idle)
{
	const struct trace_step *step = walk->step;

	if (step == walk->last || walk->at < step->request_ns)
		return 0;
	if (step->steps <= 1)
		return walk->at - step->request_ns < step->blocked_ns ? idle : 0;
	if (idle > walk->blocked)
		idle = walk->blocked;
	walk->blocked -= idle;
	return idle;
}

/* A part of a time, which is no more than it. */
static uint64_t device_part(uint64_t time, double part, uint64_t most)
{
	double rounded = (double)time * part + .5;

	return rounded < (double)most ? (uint64_t)rounded : most;
}

static void device_add_piece(const struct device *device, struct device_walk *walk,
			     struct device_use *use)
{
	double no_kernel = device_idle_part(device, walk, TRACE_KERNEL);
	double no_collective = device_idle_part(device, walk, TRACE_COLLECTIVE);
	double no_copy = 1, none = no_kernel * no_collective;
	uint64_t length, busy, copy, data;

	for (enum trace_work work = TRACE_COPY_IN; work < TRACE_WORKS; work++)
		no_copy *= device_idle_part(device, walk, work);
	device_find_step(walk);
	length = walk->next - walk->at;
	busy = device_part(length, 1 - none, length);
	copy = device_part(length, none * (1 - no_copy), length - busy);
	data = device_waited(walk, length - busy - copy);
	use->busy_ns += busy;
	use->copy_ns += copy;
	use->data_ns += data;
	use->host_ns += length - busy - copy - data;
	use->overlap_ns += device_part(length, (1 - none) * (1 - no_copy), busy);
	use->collective_ns +=
		device_part(length, no_kernel * (1 - no_collective), busy);
}

void device_use(const struct device *device, uint64_t begin_ns, uint64_t end_ns,
		const struct trace_step *steps, size_t count, struct device_use *use)
{
	struct device_walk walk = {
		.at = begin_ns,
		.step = steps,
		.last = count > 0 ? steps + count : steps,
		.blocked = count > 0 ? steps->blocked_ns : 0,
	};

	for (int work = 0; work < TRACE_WORKS; work++)
		walk.spans[work] = device_find_span(&device->tracks[work], begin_ns);
	while (walk.at < end_ns) {
		walk.next = end_ns;
		device_add_piece(device, &walk, use);
		walk.at = walk.next;
	}
}

uint64_t device_use_total(const struct device_use *use)
{
	return use->busy_ns + use->copy_ns + use->data_ns + use->host_ns;
}
