/* turn_records.c - reads what a window's batches and steps took out of the session. */
#include "profiler/turns/turn_records.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	STEPS_ENOUGH = 8, /* fewer say nothing of a loader */
	IMPOSSIBLE = 100, /* so many times counts a batch delivered before it is made */
	MOST_TRIED = 1 << 20, /* batches to put in order, of a damaged session */
	MOST_BEFORE = 16, /* so many batches are tried that came before a first step */
};

#define CLEARLY .5 /* of a misfit: so much less is no chance */

#define GAP .5 /* of a step: so far apart are steps of which one was left out */

static double turn_records_s(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) * 1e-9 : 0;
}

/* ---- which records ---- */

/* Seconds of a step, on average. */
static double turn_records_step(const struct trace_step *records, size_t count)
{
	double seconds = 0, steps = 0;

	for (size_t i = 0; i < count; i++) {
		seconds += turn_records_s(records[i].request_ns, records[i].end_ns);
		steps += records[i].steps;
	}
	return steps > 0 ? seconds / steps : 0;
}

/* The first record from `at` on that is of another epoch, or before which a step was left
 * out; `count`: there is none. A step before the first one ended at `before_ns`, if any. */
static size_t turn_records_end(const struct trace_step *records, size_t at,
			       size_t count, uint64_t before_ns)
{
	double gap = GAP * turn_records_step(records, count);

	if (before_ns > 0 && turn_records_s(before_ns, records[at].request_ns) > gap)
		return at;
	for (at++; at < count; at++)
		if (records[at - 1].epoch != records[at].epoch ||
		    turn_records_s(records[at - 1].end_ns, records[at].request_ns) >
			    gap)
			break;
	return at;
}

/* Which of an observed window's records are looked at. */
struct turn_span {
	bool all;   /* it is none */
	bool first; /* the epoch had begun before */
	bool ended; /* it was seen to end behind these */
	uint32_t epoch;
};

/* Where the first whole epoch begins: of one that had begun before nobody knows which batch
 * was the first step's. 0: there is none, or it is short. */
static size_t turn_records_begin(const struct trace_step *records, size_t count)
{
	size_t at = 0;

	while (at < count && records[at].epoch == records[0].epoch)
		at++;
	return at + STEPS_ENOUGH <= count ? at : 0;
}

/* Sets the next records, before which no step was left out, as others' batches are not known:
 * of a window those from its begin on, of an observed one from an epoch's. */
static struct turn_span turn_records_cut(struct turn_records *records, size_t *at)
{
	struct turn_span span = {.all = records->window->block >= 0};
	size_t count, first = *at, end;
	const struct trace_step *all = window_steps(records->window, &count);
	uint64_t begin_ns;

	if (!span.all && first == 0)
		first = turn_records_begin(all, count);
	begin_ns = span.all ? records->window->raw->begin.time_ns : 0;
	end = first < count ? turn_records_end(all, first, count, begin_ns) : count;
	records->records = all + first;
	records->record_count = end > first ? end - first : 0;
	records->settle = records->window->raw->settled;
	*at = span.all ? count : end;
	if (span.all || first >= count)
		return span;
	span.first = first == 0;
	span.epoch = all[first].epoch;
	span.ended = end < count && all[end].epoch != span.epoch;
	if (!span.first)
		records->settle = 1; /* the epoch's first */
	while (*at < count && all[*at].epoch == span.epoch)
		++*at;
	return span;
}

/* ---- batches ---- */

static struct turn_made turn_records_made(const struct window *window,
					  const struct trace_batch *batch)
{
	return (struct turn_made){
		.worker = batch->worker,
		.begin_s = turn_records_s(window->trace->created_ns, batch->begin_ns),
		.batch = {.made_s = turn_records_s(batch->begin_ns, batch->end_ns),
			  .io_s = (double)batch->io_ns * 1e-9,
			  .bytes = batch->bytes},
	};
}

static int turn_records_batches(struct turn_records *records,
				const struct turn_span *span)
{
	size_t count;
	const struct trace_batch *from = window_batches(records->window, &count);

	if (count == 0)
		return -ENODATA;
	records->made = calloc(count, sizeof(*records->made));
	records->batches = calloc(count, sizeof(*records->batches));
	if (records->made == NULL || records->batches == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (span->all || from[i].epoch == span->epoch)
			records->made[records->batch_count++] =
				turn_records_made(records->window, &from[i]);
	return 0;
}

/* What the trainer did with the batch that would be the step's. */
static struct turn_delivery turn_records_delivery(const struct turn_records *records,
						  const struct trace_step *step,
						  size_t at)
{
	const struct turn_made *made = &records->made[at];
	double requested =
		turn_records_s(records->window->trace->created_ns, step->request_ns);

	return (struct turn_delivery){requested, made->begin_s + made->batch.made_s,
				      requested + (double)step->blocked_ns * 1e-9};
}

/* The batch that was given out when batch `at` was delivered, to the same worker as another
 * one before; `batch_count`: in any order it is not known, and without workers there is none. */
static size_t turn_records_given(const struct turn_records *records, size_t at)
{
	const struct trace_loader *loader = &records->window->trace->loader;
	size_t workers = loader->workers, next = at + workers * loader->prefetch;
	const struct turn_made *made = records->made;

	if (loader->any_order || workers == 0 || next < workers ||
	    next >= records->batch_count ||
	    made[next - workers].worker != made[next].worker)
		return records->batch_count;
	return next;
}

/* How long its worker took to begin batch `at`, which was given out at `given_s`; below 0: it
 * had begun before. */
static double turn_records_late(const struct turn_records *records, size_t at,
				double given_s)
{
	const struct turn_made *made = &records->made[at];
	const struct turn_made *last = made - records->window->trace->loader.workers;

	return made->begin_s - fmax(given_s, last->begin_s + last->batch.made_s);
}

static double turn_records_off(double took)
{
	return took >= 0 ? took : -took * IMPOSSIBLE;
}

/* How far from delivery `one`, of batch `at`, the batch began that was given out in its course:
 * it can't have begun before, and began soon after if its worker was free. */
static double turn_records_misgiven(const struct turn_records *records, size_t at,
				    const struct turn_delivery *one)
{
	size_t next = turn_records_given(records, at);
	double early;

	if (next == records->batch_count)
		return 0;
	early = turn_records_late(records, next, fmax(one->requested_s, one->made_s));
	if (early < 0)
		return turn_records_off(early);
	return fmax(0, turn_records_late(records, next, one->delivered_s));
}

/* How far deliveries are from when their batches were made, and others begun, on average; of
 * the records from `from` on. */
static double turn_records_misfit(const struct turn_records *records, size_t from)
{
	size_t at = records->settle, i = from;
	double misfit = 0;

	for (; i < records->record_count && at < records->batch_count; i++) {
		struct turn_delivery one =
			turn_records_delivery(records, &records->records[i], at);
		double took = one.delivered_s - fmax(one.requested_s, one.made_s);

		misfit += turn_records_off(took);
		misfit += turn_records_misgiven(records, at, &one);
		at += records->records[i].steps;
	}
	return i > from ? misfit / (double)(i - from) : INFINITY;
}

/* Sets the least number of batches that came before the first step, and returns the most.
 * An epoch that was seen to end had all of its batches delivered, or the program left it, or
 * an evaluation began in its last step, which has no record then. */
static size_t turn_records_before(struct turn_records *records,
				  const struct turn_span *span)
{
	size_t room = records->batch_count, steps = 0, most;

	for (size_t i = 0; i < records->record_count && steps < room; i++)
		steps += records->records[i].steps;
	most = room > steps ? room - steps : 0;
	if (span->ended && (span->first || most == 0)) {
		records->settle = most > MOST_BEFORE ? most - MOST_BEFORE : 0;
		return most;
	}
	if (span->all)
		return records->settle;
	if (span->first)
		records->settle = 0; /* not all from before it have records */
	return most < records->settle + MOST_BEFORE ? most
						    : records->settle + MOST_BEFORE;
}

struct turn_fit {
	double misfit;
	size_t rank, settle;
	size_t from; /* the first record whose batch there is */
};

/* Of several that fit alike the one with most batches before: in the others, workers that
 * had nothing yet would make the first steps wait. */
static void turn_records_fit(struct turn_records *records, size_t rank, size_t least,
			     size_t most, struct turn_fit *best)
{
	records->settle = least;
	do {
		double misfit = turn_records_misfit(records, 0);

		if (misfit < best->misfit ||
		    (misfit <= best->misfit && records->settle > best->settle))
			*best = (struct turn_fit){misfit, rank, records->settle, 0};
	} while (++records->settle <= most);
}

/* The same, where batches of the first records were made before any was recorded. */
static void turn_records_fit_later(struct turn_records *records, size_t rank,
				   struct turn_fit *best)
{
	records->settle = 0;
	for (size_t from = 1;
	     from <= MOST_BEFORE && from + STEPS_ENOUGH <= records->record_count;
	     from++) {
		double misfit = turn_records_misfit(records, from);

		if (misfit < best->misfit)
			*best = (struct turn_fit){misfit, rank, 0, from};
	}
}

/* The workers' turns are known, but not whose was the first, nor, of an epoch, how many
 * batches its first step took: that which fits best. */
static void turn_records_order(struct turn_records *records,
			       const struct turn_span *span)
{
	size_t count = records->batch_count;
	size_t most = turn_records_before(records, span);
	size_t workers = turn_order(records->made, count);
	size_t least = records->settle;
	struct turn_fit best = {INFINITY, 0, least, 0}, later = best;

	for (size_t i = 0; i < workers && workers * count <= MOST_TRIED; i++) {
		turn_records_fit(records, i, least, most, &best);
		if (span->first && !records->window->trace->loader.any_order)
			turn_records_fit_later(records, i, &later);
		turn_order_next(records->made, count, workers);
	}
	if (later.misfit < CLEARLY * best.misfit)
		best = later;
	records->settle = best.settle;
	records->records += best.from;
	records->record_count -= best.from;
	for (size_t i = 0; i < best.rank; i++)
		turn_order_next(records->made, count, workers);
	for (size_t i = 0; i < count; i++)
		records->batches[i] = records->made[i].batch;
}

/* ---- steps ---- */

/* Merged ones are alike. */
static void turn_records_add_step(struct turn_records *records,
				  const struct trace_step *step, size_t room)
{
	double wall_s = turn_records_s(step->request_ns, step->end_ns);
	double blocked_s = (double)step->blocked_ns * 1e-9;
	double compute_s = fmax(0, wall_s - blocked_s);
	bool left_out = window_leaves_out(records->window, step);
	double counts_s = wall_s - window_pause_ns(records->window, step) * 1e-9;

	for (uint32_t i = 0; i < step->steps && records->steps < room; i++) {
		records->compute_s[records->steps++] = compute_s / step->steps;
		records->wall_s += left_out ? 0 : counts_s / step->steps;
		records->blocked_s += left_out ? 0 : blocked_s / step->steps;
	}
}

/* Those whose batches there are. */
static int turn_records_steps(struct turn_records *records)
{
	size_t room = records->batch_count;

	if (room < STEPS_ENOUGH || room - STEPS_ENOUGH < records->settle)
		return -ENODATA;
	records->compute_s = calloc(room, sizeof(*records->compute_s));
	if (records->compute_s == NULL)
		return -ENOMEM;
	records->steps = records->settle;
	for (size_t i = 0; i < records->record_count; i++)
		turn_records_add_step(records, &records->records[i], room);
	for (size_t i = 0; i < records->settle && records->steps > records->settle; i++)
		records->compute_s[i] = /* it is not known: as those that follow */
			records->compute_s[records->settle +
					   i % (records->steps - records->settle)];
	return records->steps < records->settle + STEPS_ENOUGH ? -ENODATA : 0;
}

int turn_records_next(const struct window *window, size_t *at,
		      struct turn_records *records)
{
	struct turn_span span;
	int result;

	*records = (struct turn_records){.window = window};
	span = turn_records_cut(records, at);
	if (records->record_count == 0)
		return -ENOENT;
	result = turn_records_batches(records, &span);
	if (result == 0)
		turn_records_order(records, &span);
	return result == 0 ? turn_records_steps(records) : result;
}

void turn_records_free(struct turn_records *records)
{
	free(records->made);
	free(records->batches);
	free(records->compute_s);
	*records = (struct turn_records){0};
}

static void turn_records_pickup(const struct turn_records *records, size_t at,
				double given_s, struct turn_costs *costs)
{
	size_t next = turn_records_given(records, at);

	if (next == records->batch_count)
		return;
	costs->pickup_s += fmax(0, turn_records_late(records, next, given_s));
	costs->pickups++;
}

void turn_records_cost(const struct turn_records *records, struct turn_costs *costs)
{
	size_t at = records->settle;

	for (size_t i = 0; i < records->batch_count; i++)
		turn_costs_read(costs, &records->batches[i]);
	for (size_t i = 0; i < records->record_count && at < records->batch_count;
	     i++) {
		struct turn_delivery one =
			turn_records_delivery(records, &records->records[i], at);

		if (records->records[i].steps == 1) {
			turn_costs_deliver(costs, &one);
			turn_records_pickup(records, at, one.delivered_s, costs);
		}
		at += records->records[i].steps;
	}
}

struct turn_window turn_records_window(const struct turn_records *records,
				       double handover_s, double pickup_s)
{
	const struct window *window = records->window;
	const struct trace_loader *loader = &window->trace->loader;

	return (struct turn_window){
		.replay = {.batches = records->batches,
			   .batch_count = records->batch_count,
			   .compute_s = records->compute_s,
			   .steps = records->steps,
			   .workers = loader->workers,
			   .prefetch = loader->prefetch,
			   .any_order = loader->any_order != 0,
			   .handover_s = isnan(handover_s) ? 0 : handover_s,
			   .pickup_s = pickup_s},
		.settle = records->settle,
		.wall_s = records->wall_s,
		.blocked_s = records->blocked_s,
	};
}
