/* window.c - sums the step records of a window, without pauses. */
#include "profiler/session/window.h"
#include "loader/base/math/median.h"
#include "profiler/session/certificate.h"
#include "profiler/session/epoch_parts.h"
#include "profiler/stage.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BETWEEN 4 /* reads of the loader, at most, that it has not counted yet */

#define NOTHING (1. / 8)  /* of all that is computed: what steps do between pauses */
#define OFTEN   (1. / 16) /* of the steps: pauses that come so often are of the loop */

#define EMPTIES     1.05 /* times what its thread put into a queue was trained from */
#define FEW_BEFORE  .1   /* of the backward passes */
#define MUCH_QUEUED 1.6  /* times what was trained from, with what a queue holds */

#define FULL .9 /* of its capacity: a cache that never evicts stays as it is */

bool window_judge(struct window *window, bool proven, const char *reason, ...)
{
	va_list args;

	va_start(args, reason);
	vsnprintf(window->why, sizeof(window->why), reason, args);
	va_end(args);
	return proven;
}

unsigned window_count(const struct trace *trace)
{
	unsigned count = trace->window_count;

	return count < TRACE_WINDOWS ? count : TRACE_WINDOWS;
}

bool window_delivers(enum trace_kind kind)
{
	return stage_of_kind(kind) < STAGES || kind == TRACE_LOADED;
}

const char *window_unseen(uint32_t unseen)
{
	if (unseen & TRACE_MAPPED)
		return "mapped files";
	if (unseen & TRACE_SOCKET)
		return "connections";
	return unseen & TRACE_FORKED ? "processes that are started"
				     : "calls that are not seen";
}

bool window_is_alike(const struct trace_window *a, const struct trace_window *b)
{
	unsigned flags = TRACE_PAIRED | TRACE_UNTHROTTLED | TRACE_WARMUP;

	return a->kind == b->kind && a->block == b->block && a->workers == b->workers &&
	       a->depth == b->depth && (a->flags & flags) == (b->flags & flags);
}

uint64_t window_counted(const struct trace_window *window, enum trace_counter counter)
{
	uint64_t begin = window->begin.counters[counter];
	uint64_t end = window->end.counters[counter];

	return end > begin ? end - begin : 0;
}

uint64_t window_read_bytes(const struct trace_window *window)
{
	uint64_t begin = window->begin.read_bytes, end = window->end.read_bytes;

	return begin == UINT64_MAX || end == UINT64_MAX || end < begin ? UINT64_MAX
								       : end - begin;
}

/* A read of the loader that only the kernel has counted yet seems to be the program's. */
static bool window_is_between(const struct trace_window *window,
			      const struct window_calls *calls)
{
	double fetched = (double)window_counted(window, TRACE_fetched_samples);
	double bytes = (double)window_counted(window, TRACE_fetched_bytes);

	return calls->reads == 0 || (calls->reads <= BETWEEN &&
				     (double)calls->bytes * fetched < BETWEEN * bytes);
}

bool window_program_reads(const struct trace_window *window, struct window_calls *calls)
{
	const struct trace_snapshot *begin = &window->begin, *end = &window->end;

	if (begin->program_reads == UINT64_MAX || end->program_reads == UINT64_MAX ||
	    end->counters[TRACE_went_alone] > 0)
		return false;
	*calls = (struct window_calls){0};
	if (end->program_reads > begin->program_reads)
		calls->reads = end->program_reads - begin->program_reads;
	if (end->program_bytes > begin->program_bytes)
		calls->bytes = end->program_bytes - begin->program_bytes;
	if (window_is_between(window, calls))
		*calls = (struct window_calls){0};
	return true;
}

/* How many of `count` records from `first` on lie among the `written` ones. */
static size_t window_present(uint64_t first, uint64_t count, uint64_t written,
			     size_t room)
{
	if (written > room)
		written = room;
	if (first >= written)
		return 0;
	return count < written - first ? count : written - first;
}

const struct trace_step *window_steps(const struct window *window, size_t *count)
{
	const struct trace_window *raw = window->raw;

	*count = window_present(raw->first_step, raw->step_records,
				window->trace->step_count, TRACE_STEPS);
	if (*count > TRACE_WINDOW_STEPS)
		*count = TRACE_WINDOW_STEPS;
	return *count == 0 ? NULL : &window->trace->steps[raw->first_step];
}

const struct trace_sample *window_samples(const struct window *window, size_t *count)
{
	const struct trace_window *raw = window->raw;

	*count = window_present(raw->first_sample, raw->sample_records,
				window->trace->sample_count, TRACE_SAMPLES);
	return *count == 0 ? NULL : &window->trace->samples[raw->first_sample];
}

const struct trace_batch *window_batches(const struct window *window, size_t *count)
{
	const struct trace_window *raw = window->raw;

	*count = window_present(raw->first_batch, raw->batch_records,
				window->trace->batch_count, TRACE_BATCHES);
	return *count == 0 ? NULL : &window->trace->batches[raw->first_batch];
}

const struct trace_load *window_load(const struct window *window)
{
	return &window->trace->loads[window->raw - window->trace->windows];
}

unsigned window_depth(const struct window *window)
{
	return window->depth > 0 ? window->depth : window->trace->loader.fetch_depth;
}

/* Compute part of a record's average step, in nanoseconds. */
static double compute_ns(const struct trace_step *step)
{
	double wall = (double)(step->end_ns - step->request_ns);

	return (wall - (double)step->blocked_ns) / (step->steps > 0 ? step->steps : 1);
}

/* What a program computes at once: for a step, or several that it takes before. */
static double typical_ns(const struct trace_step *steps, size_t count)
{
	double compute[TRACE_WINDOW_STEPS];
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		const struct trace_step *step = &steps[i];
		double each = compute_ns(step);

		if (each > 0 || step->together <= 1)
			compute[found++] = step->steps > 1 && step->together > 1
						   ? each * step->together
						   : each;
	}
	return found == 0 ? 0 : median(compute, found);
}

/*
 * Of a program that runs ahead of its device some steps only launch, and one waits for all
 * of them: the most that this one takes. By as many steps as the loader has slots, beyond
 * which the program can't be ahead; INFINITY: so far from a beginning there are too few.
 */
static double window_ahead_ns(const struct window *window,
			      const struct trace_step *steps, size_t count)
{
	uint32_t slots = window->trace->loader.slots, taken = 0;
	double sums[TRACE_WINDOW_STEPS], sum = 0;
	size_t first = 0, found = 0;

	if (window->trace->loader.device[0] == '\0' || slots == 0)
		return INFINITY; /* it copies by itself: nothing bounds that */
	for (size_t i = 0; i < count; i++) {
		sum += compute_ns(&steps[i]) * steps[i].steps;
		taken += steps[i].steps;
		while (taken - steps[first].steps >= slots) {
			taken -= steps[first].steps;
			sum -= compute_ns(&steps[first]) * steps[first].steps;
			first++;
		}
		if (taken >= slots)
			sums[found++] = sum;
	}
	return found < slots ? INFINITY : median(sums, found);
}

bool window_holds_pause(const struct window *window, const struct trace_step *step)
{
	size_t count;
	const struct trace_step *steps = window_steps(window, &count);
	bool ahead = trace_is_awaited(window->raw->made.devices);

	if (ahead && step + 1 == steps + count)
		return false; /* the last one waits for the device, too */
	return step->longest_ns > TRACE_PAUSE_NS &&
	       (double)step->longest_ns > TRACE_PAUSE_TIMES * window->typical_ns;
}

double window_pause_ns(const struct window *window, const struct trace_step *step)
{
	return window_holds_pause(window, step)
		       ? (double)step->longest_ns - window->typical_ns
		       : 0;
}

bool window_leaves_out(const struct window *window, const struct trace_step *step)
{
	/* a device goes on meanwhile with what it was given before */
	return step->steps <= 1 && step->together <= 1 &&
	       !trace_is_awaited(window->raw->made.devices) &&
	       window_holds_pause(window, step);
}

/* Adds a record to the window; of one with a pause in it, all but the pause. */
static void add_step(struct window *window, const struct trace_step *step)
{
	double wall = (double)(step->end_ns - step->request_ns);
	double left_out;

	if (window_leaves_out(window, step)) {
		window->outside_s += wall * 1e-9;
		return;
	}
	left_out = window_pause_ns(window, step);
	window->steps += step->steps;
	window->samples += step->samples;
	window->seconds += (wall - left_out) * 1e-9;
	window->blocked_s += (double)step->blocked_ns * 1e-9;
	window->outside_s += left_out * 1e-9;
}

/*
 * What a program computes once for several batches, which it took one after the other, is no
 * pause: it comes again and again, and besides it nothing is computed.
 */
static bool takes_several(const struct window *window, const struct trace_step *steps,
			  size_t count)
{
	double all = 0, paused = 0;
	size_t pauses = 0;

	for (size_t i = 0; i < count; i++) {
		double compute = compute_ns(&steps[i]) * steps[i].steps;

		all += compute;
		if (window_holds_pause(window, &steps[i])) {
			paused += compute;
			pauses++;
		}
	}
	return pauses >= 2 && (double)pauses >= OFTEN * window->raw->steps &&
	       all - paused < NOTHING * all;
}

/*
 * Samples that a backward pass trains from, over the whole run: of a whole number of batches,
 * or of a whole part of one, where what the queue holds at the end may make the difference; a
 * few passes had batches from before.
 */
static double window_trained_from(const struct trace_process *driver)
{
	double batches = (double)driver->counters[TRACE_delivered_batches],
	       passes = (double)driver->counters[TRACE_backwards],
	       each = batches / passes, most = each * (1 + FEW_BEFORE),
	       whole = most >= 1 ? floor(most) : 1 / ceil(1 / most);

	if (whole < (batches - TRACE_TOGETHER) / passes || each > MUCH_QUEUED * whole)
		whole = each;
	return whole * (double)driver->counters[TRACE_delivered_samples] / batches;
}

/* Samples that the window would have had as fast as backward passes came, where a thread reads
 * ahead of the one that trains; NAN: it is not known. */
static double window_trained(const struct window *window)
{
	const struct trace *trace = window->trace;
	const struct trace_process *driver = trace_driver(trace);
	double passes = (double)window_counted(window->raw, TRACE_backwards),
	       took_s = (double)window_counted(window->raw, TRACE_backward_ns) * 1e-9;

	if (!trace->loader.apart || driver == NULL || !(passes > 0 && took_s > 0))
		return NAN;
	return passes * window_trained_from(driver) *
	       (window->end_s - window->begin_s) / took_s;
}

bool window_empties_queue(const struct window *window)
{
	return window_trained(window) > EMPTIES * (double)window->raw->samples;
}

/* What such a thread puts into its queue was not trained from. */
static void window_leave_queued(struct window *window)
{
	double given = (double)window->raw->samples, trained = window_trained(window);

	if (trained < given)
		window->samples *= trained / given;
}

static void add_steps(struct window *window)
{
	size_t count;
	const struct trace_step *steps = window_steps(window, &count);
	bool ahead = trace_is_awaited(window->raw->made.devices);

	if (count > 0)
		window->typical_ns = ahead ? window_ahead_ns(window, steps, count)
					   : typical_ns(steps, count);
	if (!ahead && takes_several(window, steps, count))
		window->typical_ns = INFINITY; /* none is a pause */
	for (size_t i = 0; i < count; i++)
		add_step(window, &steps[i]);
	window_leave_queued(window);
	window->outside_s += (double)window->raw->outside_ns * 1e-9;
}

/* Windows that deliver nothing have no steps, only a beginning and an end. */
static void add_span(struct window *window)
{
	window->steps = window->raw->steps;
	window->samples = (double)window->raw->samples;
	window->seconds = window->end_s - window->begin_s;
}

static double window_since(const struct trace *trace, uint64_t time)
{
	return time < trace->created_ns ? NAN
					: (double)(time - trace->created_ns) * 1e-9;
}

/* ---- what its samples were ---- */

/* Bytes read for a sample, on average over the data set; NAN: not known. */
static double window_expected_read(const struct window *window, double mean)
{
	const struct trace_loader *loader = &window->trace->loader;
	double held = (double)window->raw->begin.cache_bytes;
	bool whole = held >= (double)loader->dataset_bytes;

	if (window->flags & TRACE_DRAW)
		return (1 - window->hit) * mean;
	if (loader->cache_capacity == 0)
		return mean;
	if (strcmp(loader->cache, "minio") != 0 ||
	    (!whole && held < FULL * (double)loader->cache_capacity))
		return NAN; /* its hits change all the time */
	return mean - held / (double)loader->dataset_samples;
}

/* A loader that is shared has its threads in another process, and its counts cannot be
 * taken off. */
static double window_own_cpu(const struct window *window)
{
	const struct trace_window *raw = window->raw;
	uint64_t loader_ns = window_counted(raw, TRACE_prep_cpu_ns) +
			     window_counted(raw, TRACE_fetch_cpu_ns);

	if (window->trace->loader.shared)
		return NAN;
	return ((double)(raw->end.cpu_ns - raw->begin.cpu_ns) - (double)loader_ns) *
	       1e-9;
}

static void window_count_covariates(struct window *window)
{
	const struct trace_window *raw = window->raw;
	const struct trace_loader *loader = &window->trace->loader;
	double mean = (double)loader->dataset_bytes / (double)loader->dataset_samples;
	double prepared = (double)window_counted(raw, TRACE_prepared_bytes);
	double read = (double)window_counted(raw, TRACE_fetched_bytes);
	double samples = (double)raw->samples;

	if (loader->kind != TRACE_LIBDSA) { /* it has the same samples each time */
		for (int i = 0; i < WINDOW_COVARIATES; i++)
			window->covariate[i] = NAN;
		return;
	}
	window->covariate[WINDOW_PREPARED] =
		prepared > 0 && mean > 0 ? prepared - mean * samples : NAN;
	window->covariate[WINDOW_READ] =
		window->kind == TRACE_REAL
			? read - window_expected_read(window, mean) * samples
			: NAN;
	window->covariate[WINDOW_OWN_CPU] = window_own_cpu(window);
}

void window_measure(const struct trace *trace, unsigned index, struct window *window)
{
	const struct trace_window *raw = &trace->windows[index];
	bool ended = raw->state == TRACE_DONE;

	*window = (struct window){
		.trace = trace,
		.raw = raw,
		.kind = raw->kind,
		.flags = raw->flags,
		.block = raw->block < TRACE_WINDOWS ? (int)raw->block : -1,
		.ended = ended,
		.no_list = trace->loader.no_list[0] != '\0',
		.hit = raw->hit,
		.part = raw->flags & TRACE_DRAW ? epoch_part(trace->seed, raw->block)
						: 0,
		.workers = raw->workers,
		.depth = raw->depth,
		.begin_s = window_since(trace, raw->begin.time_ns),
		.end_s = window_since(trace, raw->end.time_ns),
	};
	if (window_delivers(window->kind))
		add_steps(window);
	else if (ended)
		add_span(window);
	window_count_covariates(window);
	window->certified = certificate_check(window);
}
