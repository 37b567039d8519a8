/* turn_records.c - reads what a window's batches and steps took out of the session. */
#include "profiler/turns/turn_records.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	SETTLE_ROUNDS = 2,
	STEPS_ENOUGH = 8, /* fewer say nothing of a loader */
};

/* Steps before the measured ones, as loader/driver/window_run.c counts them. */
static size_t turn_records_settle(const struct window *window)
{
	size_t asked = window->raw->settle, round = window->trace->loader.workers;
	size_t rounds;

	if (round <= 1)
		return asked;
	rounds = (asked + round - 1) / round;
	return (rounds > SETTLE_ROUNDS ? rounds : SETTLE_ROUNDS) * round;
}

static double turn_records_s(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) * 1e-9 : 0;
}

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

static int turn_records_batches(struct turn_records *records)
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
		records->made[i] = turn_records_made(records->window, &from[i]);
	records->batch_count = count;
	return 0;
}

/* Merged ones are alike. */
static void turn_records_add_step(struct turn_records *records,
				  const struct trace_step *step, size_t room)
{
	double wall_s = turn_records_s(step->request_ns, step->end_ns);
	double compute_s = fmax(0, wall_s - (double)step->blocked_ns * 1e-9);

	for (uint32_t i = 0; i < step->steps && records->steps < room; i++)
		records->compute_s[records->steps++] = compute_s / step->steps;
}

static int turn_records_steps(struct turn_records *records)
{
	size_t count, room;
	const struct trace_step *steps = window_steps(records->window, &count);

	records->settle = records->steps = turn_records_settle(records->window);
	if (count == 0 || records->settle > TRACE_STEPS)
		return -ENODATA;
	room = records->settle + TRACE_STEPS;
	records->compute_s = calloc(room, sizeof(*records->compute_s));
	if (records->compute_s == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		turn_records_add_step(records, &steps[i], room);
	for (size_t i = 0; i < records->settle; i++)
		records->compute_s[i] = records->compute_s[records->settle];
	return 0;
}

/* Leaves out the steps whose batches there was no room for. */
static int turn_records_cover(struct turn_records *records)
{
	double measured = (double)(records->steps - records->settle);

	if (records->steps > records->batch_count)
		records->steps = records->batch_count;
	if (records->steps < records->settle + STEPS_ENOUGH)
		return -ENODATA;
	records->covered = (double)(records->steps - records->settle) / measured;
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

/* No batch is delivered before it is made: that counts so many times. */
#define IMPOSSIBLE 100

/* How far deliveries are from when their batches were made, all together. */
static double turn_records_misfit(const struct turn_records *records)
{
	size_t count, at = records->settle;
	const struct trace_step *steps = window_steps(records->window, &count);
	double misfit = 0;

	for (size_t i = 0; i < count && at < records->batch_count; i++) {
		struct turn_delivery one =
			turn_records_delivery(records, &steps[i], at);
		double took = one.delivered_s - fmax(one.requested_s, one.made_s);

		misfit += took >= 0 ? took : -took * IMPOSSIBLE;
		at += steps[i].steps;
	}
	return misfit;
}

/* The workers' turns are known, but not whose was the first: that which fits best. */
static void turn_records_order(struct turn_records *records)
{
	size_t count = records->batch_count, best = 0;
	size_t workers = turn_order(records->made, count);
	double least = INFINITY;

	for (size_t i = 0; i < workers; i++) {
		double misfit = turn_records_misfit(records);

		if (misfit < least) {
			least = misfit;
			best = i;
		}
		turn_order_next(records->made, count, workers);
	}
	for (size_t i = 0; i < best; i++)
		turn_order_next(records->made, count, workers);
	for (size_t i = 0; i < count; i++)
		records->batches[i] = records->made[i].batch;
}

int turn_records_of(const struct window *window, struct turn_records *records)
{
	int result;

	*records = (struct turn_records){.window = window};
	result = turn_records_batches(records);
	if (result == 0)
		result = turn_records_steps(records);
	if (result < 0)
		return result;
	turn_records_order(records);
	return turn_records_cover(records);
}

void turn_records_free(struct turn_records *records)
{
	free(records->made);
	free(records->batches);
	free(records->compute_s);
	*records = (struct turn_records){0};
}

void turn_records_cost(const struct turn_records *records, struct turn_costs *costs)
{
	size_t count, at = records->settle;
	const struct trace_step *steps = window_steps(records->window, &count);

	for (size_t i = 0; i < records->batch_count; i++)
		turn_costs_read(costs, &records->batches[i]);
	for (size_t i = 0; i < count && at < records->batch_count; i++) {
		struct turn_delivery one =
			turn_records_delivery(records, &steps[i], at);

		if (steps[i].steps == 1)
			turn_costs_deliver(costs, &one);
		at += steps[i].steps;
	}
}

struct turn_window turn_records_window(const struct turn_records *records,
				       double handover_s)
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
			   .handover_s = isnan(handover_s) ? 0 : handover_s},
		.settle = records->settle,
		.wall_s = window->seconds * records->covered,
		.blocked_s = window->blocked_s * records->covered,
	};
}
