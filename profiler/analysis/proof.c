/* proof.c - stalls from blocked time, by replay or by difference. */
#include "profiler/analysis/proof.h"
#include "profiler/analysis/replay.h"
#include "profiler/analysis/shares.h"
#include "profiler/analysis/statistics.h"
#include "profiler/turns/turn_records.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Sums over windows; of drawn ones each window weighs alike. */
struct sums {
	double wall, blocked, samples; /* s */
	double replayed;               /* wait with fetch at zero */
	unsigned windows;
};

static double proof_weight(const struct window *window)
{
	return window->flags & TRACE_DRAW ? 1 / window->samples : 1;
}

static void proof_add(struct sums *sums, const struct window *window, double replayed)
{
	double one = proof_weight(window);

	sums->wall += one * window->seconds;
	sums->blocked += one * window->blocked_s;
	sums->samples += one * window->samples;
	sums->replayed += one * replayed;
	sums->windows++;
}

/* Compute parts of the measured steps, spread evenly over merged ones. Returns how
 * many. */
static size_t measured_steps(const struct trace_step *records, size_t count,
			     double *compute_s, size_t room)
{
	size_t steps = 0;

	for (size_t i = 0; i < count; i++) {
		double wall = (double)(records[i].end_ns - records[i].request_ns);
		double compute = (wall - (double)records[i].blocked_ns) * 1e-9;

		for (uint32_t j = 0; j < records[i].steps && steps < room; j++)
			compute_s[steps++] = compute / records[i].steps;
	}
	return steps;
}

/* Fewer than these say nothing of a pipeline. */
enum { STEPS_ENOUGH = 8 };

static bool proof_counts(const struct window *window, enum trace_kind kind,
			 bool observed)
{
	if (window->kind != kind || window->seconds <= 0)
		return false;
	return observed || shares_uses(window);
}

/* What preparing a byte took in the windows of a kind, s; NAN: no records. */
static double proof_prep(const struct window *windows, size_t count,
			 enum trace_kind kind, bool observed)
{
	double seconds = 0, bytes = 0;

	for (size_t i = 0; i < count; i++) {
		size_t records;
		const struct trace_sample *samples =
			window_samples(&windows[i], &records);

		if (!proof_counts(&windows[i], kind, observed))
			continue;
		for (size_t j = 0; j < records; j++) {
			if (samples[j].prep_ns == 0)
				continue; /* not prepared in it */
			seconds += samples[j].prep_ns * 1e-9;
			bytes += samples[j].bytes;
		}
	}
	return seconds > 0 && bytes > 0 ? seconds / bytes : NAN;
}

/*
 * Replays the steps that sample records cover, and scales to all. `compute_s` has room
 * for the settling steps and TRACE_STEPS. -1: it can't be told.
 */
static double replay_into(const struct window *window, size_t settle, double prep,
			  double *compute_s)
{
	const struct trace_loader *loader = &window->trace->loader;
	struct replay replay = {.workers = loader->workers,
				.slots = loader->slots,
				.compute_s = compute_s,
				.prep = prep};
	size_t count, steps, covered;
	const struct trace_step *records = window_steps(window, &count);
	double wait;

	steps = measured_steps(records, count, compute_s + settle, TRACE_STEPS);
	replay.samples = window_samples(window, &replay.sample_count);
	if (steps == 0 || replay.sample_count == 0)
		return -1;
	for (size_t i = 0; i < settle; i++)
		compute_s[i] = compute_s[settle];
	if (settle > 0)
		compute_s[settle - 1] += (double)window->raw->catch_up_ns * 1e-9;
	replay.steps = replay.samples[replay.sample_count - 1].batch;
	if (replay.steps > settle + steps)
		replay.steps = settle + steps;
	if (replay.steps < settle + STEPS_ENOUGH)
		return -1;
	covered = replay.steps - settle;
	wait = replay_wait(&replay, settle);
	return wait < 0 ? -1 : wait * (double)steps / (double)covered;
}

/* What the window's steps would have waited without fetch, s; -1: can't be told. */
static double replay_window(const struct window *window, double prep)
{
	const struct trace_loader *loader = &window->trace->loader;
	size_t settle = window->raw->settle;
	double *compute_s, wait;

	if (loader->workers == 0 || loader->workers > REPLAY_WORKERS ||
	    loader->slots == 0 || settle > TRACE_STEPS)
		return -1;
	compute_s = malloc((settle + TRACE_STEPS) * sizeof(*compute_s));
	if (compute_s == NULL)
		return -1;
	wait = replay_into(window, settle, prep, compute_s);
	free(compute_s);
	return wait;
}

/* Real windows by replay; false when none has records enough. */
static bool by_replay(const struct window *windows, size_t count, bool observed,
		      struct proof *proof)
{
	struct sums real = {0};
	double prep = proof_prep(windows, count, TRACE_CACHED, observed) /
		      proof_prep(windows, count, TRACE_REAL, observed);
	bool cached = isfinite(prep);

	for (size_t i = 0; i < count; i++) {
		double replayed;

		if (!proof_counts(&windows[i], TRACE_REAL, observed))
			continue;
		replayed = replay_window(&windows[i], cached ? prep : 1);
		if (replayed >= 0)
			proof_add(&real, &windows[i], replayed);
	}
	if (real.windows == 0)
		return false;
	proof->share[STAGE_PREP] = real.replayed / real.wall;
	proof->share[STAGE_FETCH] = (real.blocked - real.replayed) / real.wall;
	snprintf(proof->basis, sizeof(proof->basis),
		 "time blocked in dsa_next() in %u real windows, replayed without "
		 "fetch%s",
		 real.windows, cached ? " and with prep as in cached windows" : "");
	return true;
}

/* ---- a loader of the program's own ---- */

/* Opening and reading from memory, s a byte, where no cached window says it. */
#define MEMORY_IO 1e-9

/* Adds a window's records to the costs, which are of windows of a kind, or, where there are
 * sums, by these to them. */
static void proof_turn_window(const struct window *window, enum trace_kind kind,
			      struct turn_costs *costs, struct turn_sums *sums)
{
	double handover_s = turn_costs_handover(costs);
	double pickup_s = turn_costs_pickup(costs);
	double io_s = kind == TRACE_REAL ? MEMORY_IO : turn_costs_io(costs);
	size_t at = 0;
	int result;

	do {
		struct turn_records records;
		struct turn_window turns;

		result = turn_records_next(window, &at, &records);
		if (result == 0 && sums == NULL) {
			turn_records_cost(&records, costs);
		} else if (result == 0) {
			turns = turn_records_window(&records, handover_s, pickup_s);
			turn_proof_add(sums, &turns, io_s);
		}
		turn_records_free(&records);
	} while (result != -ENOENT);
}

/* What was read by no call is in no record. */
static bool proof_sees_reads(const struct window *windows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (windows[i].kind == TRACE_REAL && windows[i].raw->made.unseen != 0)
			return false;
	return true;
}

/* What was left out is the run's end, or epochs between those that are replayed. */
static void proof_write_turns(const struct trace *trace, const struct turn_sums *sums,
			      bool observed, struct proof *proof)
{
	uint64_t dropped = trace->dropped_batches;
	char left_out[64] = "";

	if (dropped > 0)
		snprintf(left_out, sizeof(left_out),
			 " (without %s %" PRIu64 " batches)",
			 observed ? "others of" : "the last", dropped);
	snprintf(proof->basis, sizeof(proof->basis),
		 "time blocked in the loader, whose batches in %u %s%s were replayed "
		 "with files as in memory",
		 sums->windows, observed ? "epochs" : "real windows", left_out);
}

/* Half of the interval of fetch's share, by what windows differ in; NAN: by one or none. */
static double proof_fetch_half(const struct turn_sums *each, size_t count,
			       const struct turn_sums *all)
{
	double *without = count < 2 ? NULL : malloc(count * sizeof(*without)), half;

	if (without == NULL)
		return NAN;
	for (size_t i = 0; i < count; i++)
		without[i] = (all->blocked - each[i].blocked - all->cached +
			      each[i].cached) /
			     (all->wall - each[i].wall);
	half = interval_half(statistics_jackknife(0, without, count, 0));
	free(without);
	return half;
}

static void turns_sum(const struct turn_sums *each, size_t count, struct turn_sums *all)
{
	*all = (struct turn_sums){0};
	for (size_t i = 0; i < count; i++) {
		all->wall += each[i].wall;
		all->blocked += each[i].blocked;
		all->as_was += each[i].as_was;
		all->cached += each[i].cached;
		all->windows += each[i].windows;
	}
}

static void by_turns(const struct window *windows, size_t count, bool observed,
		     struct proof *proof)
{
	struct turn_costs costs = {0};
	struct turn_sums sums, *each = calloc(count, sizeof(*each));
	struct turn_proof turns;
	size_t known = 0;
	bool cached = !observed && !windows[0].no_list;
	enum trace_kind kind = cached ? TRACE_CACHED : TRACE_REAL;

	for (size_t i = 0; i < count; i++)
		if (proof_counts(&windows[i], kind, observed))
			proof_turn_window(&windows[i], kind, &costs, NULL);
	for (size_t i = 0; i < count; i++)
		if (each != NULL && proof_counts(&windows[i], TRACE_REAL, observed)) {
			proof_turn_window(&windows[i], kind, &costs, &each[known]);
			known += each[known].windows > 0;
		}
	turns_sum(each, known, &sums);
	proof->fetch_half = proof_fetch_half(each, known, &sums);
	free(each);
	proof->handover_s = turn_costs_handover(&costs);
	if (!turn_proof_of(&sums, &turns) || !turns.valid ||
	    !proof_sees_reads(windows, count))
		return;
	proof->share[STAGE_PREP] = turns.prep;
	proof->share[STAGE_FETCH] = turns.fetch;
	proof_write_turns(windows[0].trace, &sums, observed, proof);
}

/* ---- libdsa's ---- */

/* What the windows of a stage are blocked more than those of the stage above. For copies
 * the program's streams wait, and not dsa_next_device(): of them it says nothing. */
static void by_difference(const struct window *windows, size_t count,
			  struct proof *proof)
{
	struct sums sums[STAGES] = {0};
	const struct sums *real = &sums[STAGE_REAL], *cached = &sums[STAGE_PREP];
	double before = 0;

	for (size_t i = 0; i < count; i++)
		if (proof_counts(&windows[i], windows[i].kind, false))
			proof_add(&sums[stage_of_kind(windows[i].kind)], &windows[i],
				  0);
	if (real->windows == 0 || cached->windows == 0)
		return;
	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++) {
		double blocked = sums[i].blocked / sums[i].samples /
				 (real->wall / real->samples);

		if (sums[i].windows == 0)
			continue;
		if (i != STAGE_COPY)
			proof->share[i] = blocked - before;
		before = blocked;
	}
	snprintf(proof->basis, sizeof(proof->basis),
		 "time blocked in dsa_next() in %u cached and %u real windows",
		 cached->windows, real->windows);
}

void proof_measure(const struct window *windows, size_t count, bool observed,
		   struct proof *proof)
{
	const struct trace_loader *loader =
		count > 0 ? &windows[0].trace->loader : NULL;
	bool copied =
		loader != NULL && loader->device[0] != '\0'; /* no replay has it */

	*proof = (struct proof){0};
	for (int i = 0; i < STAGES; i++)
		proof->share[i] = NAN;
	proof->fetch_half = NAN;
	proof->handover_s = NAN;
	if (loader != NULL && loader->kind != TRACE_LIBDSA)
		by_turns(windows, count, observed, proof);
	else if ((copied && !observed) ||
		 (!by_replay(windows, count, observed, proof) && !observed))
		by_difference(windows, count, proof);
}
