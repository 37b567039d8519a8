/* proof.c - stalls from blocked time, by replay or by difference. */
#include "profiler/analysis/proof.h"
#include "profiler/analysis/replay.h"
#include "profiler/analysis/shares.h"
#include "profiler/analysis/statistics.h"
#include "profiler/session/epoch_parts.h"
#include "profiler/turns/turn_records.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Sums over windows; of drawn ones each window of a part of the epoch weighs alike. */
struct sums {
	double wall, blocked, samples; /* s */
	double replayed;               /* wait with fetch at zero */
	unsigned windows;
	bool drawn;
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
	sums->drawn = window->flags & TRACE_DRAW;
}

/* Of all parts, which weigh alike. */
static struct sums proof_sum(const struct sums parts[EPOCH_PARTS])
{
	struct sums all = {0};

	for (int i = 0; i < EPOCH_PARTS; i++) {
		double one = parts[i].drawn ? 1. / parts[i].windows : 1;

		all.wall += one * parts[i].wall;
		all.blocked += one * parts[i].blocked;
		all.samples += one * parts[i].samples;
		all.replayed += one * parts[i].replayed;
		all.windows += parts[i].windows;
	}
	return all;
}

/* A window's steps, and before them those in which it settled. */
struct proof_steps {
	double *compute_s;
	bool *pauses; /* left out of the window */
	size_t count, room;
};

/* Merged steps are alike, but for a pause, which is the last. */
static void proof_add_record(const struct window *window,
			     const struct trace_step *record, struct proof_steps *steps)
{
	double compute = (double)(record->end_ns - record->request_ns) -
			 (double)record->blocked_ns;
	double last = compute / record->steps, others = last;
	bool left_out = window_leaves_out(window, record);

	if (record->steps > 1 && window_holds_pause(window, record)) {
		last = (double)record->longest_ns;
		others = (compute - last) / (record->steps - 1);
	}
	for (uint32_t i = 1; i <= record->steps && steps->count < steps->room; i++) {
		steps->pauses[steps->count] = left_out;
		steps->compute_s[steps->count++] =
			(i == record->steps ? last : others) * 1e-9;
	}
}

static void proof_add_steps(const struct window *window, struct proof_steps *steps)
{
	size_t count, settle = window->raw->settle;
	const struct trace_step *records = window_steps(window, &count);

	steps->count = settle;
	for (size_t i = 0; i < count; i++)
		proof_add_record(window, &records[i], steps);
	for (size_t i = 0; i < settle && steps->count > settle; i++)
		steps->compute_s[i] = steps->compute_s[settle];
	if (settle > 0)
		steps->compute_s[settle - 1] += (double)window->raw->catch_up_ns * 1e-9;
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

/* Replays the steps that sample records cover, and scales to those that the window
 * counts. -1: it can't be told. */
static double replay_into(const struct window *window, double prep,
			  struct proof_steps *steps)
{
	const struct trace_loader *loader = &window->trace->loader;
	struct replay replay = {.workers = loader->workers,
				.slots = loader->slots,
				.compute_s = steps->compute_s,
				.pauses = steps->pauses,
				.prep = prep};
	size_t settle = window->raw->settle, covered = 0;
	double wait;

	proof_add_steps(window, steps);
	replay.samples = window_samples(window, &replay.sample_count);
	if (replay.sample_count == 0)
		return -1;
	replay.steps = replay.samples[replay.sample_count - 1].batch;
	if (replay.steps > steps->count)
		replay.steps = steps->count;
	for (size_t i = settle; i < replay.steps; i++)
		covered += !steps->pauses[i];
	if (covered < STEPS_ENOUGH)
		return -1;
	wait = replay_wait(&replay, settle);
	return wait < 0 ? -1 : wait * window->steps / (double)covered;
}

/* What the window's steps would have waited without fetch, s; -1: can't be told. */
static double replay_window(const struct window *window, double prep)
{
	const struct trace_loader *loader = &window->trace->loader;
	struct proof_steps steps = {.room = window->raw->settle + TRACE_STEPS};
	double wait = -1;

	if (loader->workers == 0 || loader->workers > REPLAY_WORKERS ||
	    loader->slots == 0 || window->raw->settle > TRACE_STEPS)
		return -1;
	steps.compute_s = calloc(steps.room, sizeof(*steps.compute_s));
	steps.pauses = calloc(steps.room, sizeof(*steps.pauses));
	if (steps.compute_s != NULL && steps.pauses != NULL)
		wait = replay_into(window, prep, &steps);
	free(steps.compute_s);
	free(steps.pauses);
	return wait;
}

/* Real windows by replay; false when none has records enough. */
static bool by_replay(const struct window *windows, size_t count, bool observed,
		      struct proof *proof)
{
	struct sums parts[EPOCH_PARTS] = {0}, real;
	double prep = proof_prep(windows, count, TRACE_CACHED, observed) /
		      proof_prep(windows, count, TRACE_REAL, observed);
	bool cached = isfinite(prep);

	for (size_t i = 0; i < count; i++) {
		double replayed;

		if (!proof_counts(&windows[i], TRACE_REAL, observed))
			continue;
		replayed = replay_window(&windows[i], cached ? prep : 1);
		if (replayed >= 0)
			proof_add(&parts[windows[i].part], &windows[i], replayed);
	}
	real = proof_sum(parts);
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

	if (windows[0].trace->loader.beside > 0)
		count = 0; /* its workers' turns are not the steps' alone */
	for (size_t i = 0; i < count; i++)
		if (proof_counts(&windows[i], kind, observed))
			proof_turn_window(&windows[i], kind, &costs, NULL);
	proof->handover_s = turn_costs_handover(&costs);
	if (windows[0].trace->loader.apart)
		count = 0; /* what it waits for is not what training does */
	for (size_t i = 0; i < count; i++)
		if (each != NULL && proof_counts(&windows[i], TRACE_REAL, observed)) {
			proof_turn_window(&windows[i], kind, &costs, &each[known]);
			known += each[known].windows > 0;
		}
	turns_sum(each, known, &sums);
	proof->fetch_half = proof_fetch_half(each, known, &sums);
	free(each);
	if (!turn_proof_of(&sums, &turns) || !turns.valid ||
	    !proof_sees_reads(windows, count))
		return;
	proof->share[STAGE_PREP] = turns.prep;
	proof->share[STAGE_FETCH] = turns.fetch;
	proof_write_turns(windows[0].trace, &sums, observed, proof);
}

/* ---- libdsa's, and what is read ahead into a queue ---- */

/* What the windows of a stage are blocked more than those of the stage above; the first of them
 * only where a queue takes time that has batches. For copies the program's streams wait, and
 * not dsa_next_device(): of them it says nothing. */
static void by_difference(const struct window *windows, size_t count,
			  struct proof *proof)
{
	struct sums parts[STAGES][EPOCH_PARTS] = {0}, sums[STAGES];
	const struct sums *real = &sums[STAGE_REAL], *cached = &sums[STAGE_PREP];
	bool apart = count > 0 && windows[0].trace->loader.apart;
	double before = 0;

	for (size_t i = 0; i < count; i++)
		if (proof_counts(&windows[i], windows[i].kind, false) &&
		    !window_empties_queue(&windows[i]))
			proof_add(
				&parts[stage_of_kind(windows[i].kind)][windows[i].part],
				&windows[i], 0);
	for (int i = 0; i < STAGES; i++)
		sums[i] = proof_sum(parts[i]);
	if (real->windows == 0 || cached->windows == 0)
		return;
	for (int i = apart ? STAGE_COMPUTE : STAGE_COMPUTE + 1; i < STAGES; i++) {
		double blocked = sums[i].blocked / sums[i].samples /
				 (real->wall / real->samples);

		if (sums[i].windows == 0)
			continue;
		if (i != STAGE_COPY && i != STAGE_COMPUTE)
			proof->share[i] = blocked - before;
		before = blocked;
	}
	snprintf(proof->basis, sizeof(proof->basis),
		 "%s in %u cached and %u real windows",
		 apart ? "time that training waited for a queue"
		       : "time blocked in dsa_next()",
		 cached->windows, real->windows);
}

void proof_measure(const struct window *windows, size_t count, bool observed,
		   struct proof *proof)
{
	const struct trace_loader *loader =
		count > 0 ? &windows[0].trace->loader : NULL;
	bool replayed;

	*proof = (struct proof){0};
	for (int i = 0; i < STAGES; i++)
		proof->share[i] = NAN;
	proof->fetch_half = NAN;
	proof->handover_s = NAN;
	if (loader == NULL)
		return;
	if (loader->kind != TRACE_LIBDSA) {
		by_turns(windows, count, observed, proof);
		replayed = loader->apart != TRACE_QUEUED;
	} else {
		/* What is copied to a device no replay has. */
		replayed = (observed || loader->device[0] == '\0') &&
			   by_replay(windows, count, observed, proof);
	}
	if (!replayed && !observed)
		by_difference(windows, count, proof);
}
