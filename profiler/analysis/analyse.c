/* analyse.c - the steps from sessions to a result, in order. */
#include "profiler/analysis/analyse.h"
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "profiler/analysis/busy.h"
#include "profiler/analysis/contention.h"
#include "profiler/analysis/curves.h"
#include "profiler/analysis/device_idle.h"
#include "profiler/analysis/profile_fill.h"
#include "profiler/analysis/proof.h"
#include "profiler/analysis/sample_times.h"
#include "profiler/analysis/shares.h"
#include "profiler/analysis/split.h"
#include "profiler/analysis/statistics.h"
#include "profiler/analysis/verdict.h"
#include "profiler/session/disturbance.h"
#include "profiler/session/epoch_parts.h"
#include "profiler/session/run_metadata.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* All windows of all sessions. */
struct evidence {
	struct window *windows;
	size_t count;
	bool observed;
	double corrected; /* as shares.h says */
	struct contention contention;
	struct device_idle idle;
};

static int analyse_gather(const struct trace *const *sessions, unsigned count,
			  struct evidence *evidence)
{
	size_t total = 0;

	for (unsigned i = 0; i < count; i++)
		total += window_count(sessions[i]);
	evidence->windows = calloc(total + 1, sizeof(*evidence->windows));
	if (evidence->windows == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++)
		for (unsigned j = 0; j < window_count(sessions[i]); j++)
			window_measure(sessions[i], j,
				       &evidence->windows[evidence->count++]);
	disturbance_judge(evidence->windows, evidence->count);
	evidence->observed = sessions[0]->observe;
	return 0;
}

static bool in_curve(const struct window *window)
{
	return window->certified && !window->left_out &&
	       (window->kind == TRACE_PREP || window->kind == TRACE_FETCH ||
		window->kind == TRACE_LOADED);
}

static int analyse_add_windows(const struct evidence *evidence, struct profile *profile)
{
	for (size_t i = 0; i < evidence->count; i++) {
		const struct window *window = &evidence->windows[i];
		bool used = shares_uses(window) || in_curve(window) ||
			    (evidence->observed && window->seconds > 0);

		if (profile_fill_window(window, used, profile) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Time of the windows in blocks, switches included. */
static double blocks_seconds(const struct evidence *evidence)
{
	double seconds = 0;

	for (size_t i = 0; i < evidence->count; i++) {
		const struct window *window = &evidence->windows[i];

		if (window->ended && window->block >= 0)
			seconds += (double)(window->raw->end.time_ns -
					    window->raw->switch_ns) *
				   1e-9;
	}
	return seconds;
}

static void analyse_set_precision(const struct evidence *evidence,
				  const struct shares *shares, struct profile *profile)
{
	double half = shares_half(shares), blocks_s = blocks_seconds(evidence);

	if (half <= profile->precision && shares->blocks >= SHARES_BLOCKS_LEAST)
		return;
	/* What blocks do not take: start, curves, the end. */
	profile->budget_needed_s = verdict_budget(
		half, shares->floor + shares->disturbance, profile->precision,
		shares->blocks, blocks_s, fmax(0, profile->budget_s - blocks_s));
	if (profile->requests.gets != UNKNOWN && isfinite(half))
		profile->requests.needed =
			(uint64_t)((double)profile->requests.gets *
				   fmax(1, pow(half / profile->precision, 2)) *
				   fmax(1, (double)SHARES_BLOCKS_LEAST /
						   (double)shares->blocks));
}

static int add_shares(struct evidence *evidence, struct profile *profile)
{
	struct shares shares;

	if (shares_measure(evidence->windows, evidence->count, &shares) < 0)
		return -ENOMEM;
	if (isnan(shares.rates[STAGE_REAL].value))
		return 0;
	for (int i = 0; i < STAGES; i++) {
		profile->stalls[i] = shares.stalls[i];
		profile->rates[stage_table[i].kind] = shares.rates[i];
	}
	evidence->corrected = shares.corrected;
	profile->overhead_floor = shares.floor;
	profile->blocks = shares.blocks;
	analyse_set_precision(evidence, &shares, profile);
	return 0;
}

/* Whether hits of a cache are not counted: what a shared loader's has is not told. */
static bool hits_are_unknown(const struct evidence *evidence,
			     const struct profile *profile)
{
	return evidence->count > 0 && evidence->windows[0].trace->loader.shared != 0 &&
	       profile->cache_capacity_bytes != UNKNOWN;
}

/* The mean, of windows that stand for all parts of an epoch with these alike. */
static struct interval hits_mean(const struct window *const *windows,
				 const double *ratios, size_t count)
{
	struct placed placed[TRACE_WINDOWS];
	struct epoch_parts parts = {0};
	double mean = 0;

	for (size_t i = 0; i < count; i++)
		parts.count[windows[i]->part]++;
	if (!epoch_parts_whole(&parts))
		return statistics_mean(ratios, count);
	for (size_t i = 0; i < count; i++) {
		double weight = epoch_parts_weight(&parts, windows[i]->part);

		placed[i] = (struct placed){.place = windows[i]->hit,
					    .part = weight / (double)count};
		mean += placed[i].part * ratios[i];
	}
	for (size_t i = 0; i < count; i++)
		placed[i].without =
			(mean - placed[i].part * ratios[i]) / (1 - placed[i].part);
	return statistics_ordered(mean, placed, count, 0);
}

/* Hits of the loader's cache in real windows that count. */
static void add_hits(const struct evidence *evidence, struct profile *profile)
{
	const struct window *windows[TRACE_WINDOWS];
	double ratios[TRACE_WINDOWS];
	size_t used = 0;

	if (hits_are_unknown(evidence, profile))
		return;
	for (size_t i = 0; i < evidence->count && used < TRACE_WINDOWS; i++) {
		const struct window *window = &evidence->windows[i];
		double hits = (double)window_counted(window->raw, TRACE_hit_samples);
		double misses =
			(double)window_counted(window->raw, TRACE_fetched_samples);

		if (window->kind != TRACE_REAL || !shares_uses(window))
			continue;
		profile->cache_emulated |= (window->flags & TRACE_DRAW) != 0;
		if (hits + misses <= 0)
			continue;
		windows[used] = window;
		ratios[used++] = hits / (hits + misses);
	}
	if (profile->cache_emulated || profile->cache_capacity_bytes != UNKNOWN)
		profile->hit_ratio = hits_mean(windows, ratios, used);
}

/* What a copy of a sample takes the device. In other windows than copied ones more batches may
 * have been sent than have arrived. */
static void add_copies(const struct evidence *evidence, struct profile *profile)
{
	double seconds[TRACE_WINDOWS];
	size_t used = 0;

	for (size_t i = 0; i < evidence->count && used < TRACE_WINDOWS; i++) {
		const struct window *window = &evidence->windows[i];
		double bytes = (double)window_counted(window->raw, TRACE_device_bytes);
		double ns = (double)window_counted(window->raw, TRACE_device_copy_ns);

		if (window->kind == TRACE_COPIED && shares_uses(window) && bytes > 0)
			seconds[used++] = ns * 1e-9 / bytes *
					  (double)profile->device_sample_bytes;
	}
	if (profile->device != NULL)
		profile->device_copy_s = statistics_mean(seconds, used);
}

static struct interval analyse_scaled(struct interval rate, double by)
{
	return (struct interval){rate.value * by, rate.low * by, rate.high * by};
}

static int add_curves(const struct evidence *evidence, struct profile *profile)
{
	const struct trace_loader *loader = &evidence->windows[0].trace->loader;
	double misses =
		1 - (isnan(profile->hit_ratio.value) ? 0 : profile->hit_ratio.value);
	struct interval unread;

	if (curves_add(evidence->windows, evidence->count, profile) < 0)
		return -ENOMEM;
	profile->rates[TRACE_LOADED] =
		curves_loaded(evidence->windows, evidence->count);
	profile->rates[TRACE_PREP] =
		curves_at(profile->prep_curve, profile->prep_points, loader->workers);
	unread = curves_at(profile->fetch_curve, profile->fetch_points,
			   loader->fetch_depth);
	if (misses > 0 && !hits_are_unknown(evidence, profile))
		profile->rates[TRACE_FETCH] = analyse_scaled(unread, 1 / misses);
	if (!isnan(unread.value) && !isnan(profile->rates[TRACE_CACHED].value))
		profile->first_epoch_per_s =
			fmin(unread.value, profile->rates[TRACE_CACHED].value);
	profile->overhead = curves_overhead(evidence->windows, evidence->count);
	return 0;
}

/* By what real steps would have been longer, that which limits them would have been. */
static void analyse_correct(double corrected, double share[STAGES])
{
	int limit = share[STAGE_FETCH] > share[STAGE_PREP] ? STAGE_FETCH : STAGE_PREP;

	share[limit] += corrected;
	for (int i = 0; i < STAGES; i++)
		share[i] /= 1 + corrected;
}

/* Blocked time can't see the consumer slowed; that part is taken from loaded windows.
 */
static int add_proof(const struct evidence *evidence, struct profile *profile)
{
	struct proof proof;
	bool slowed;

	proof_measure(evidence->windows, evidence->count, evidence->observed, &proof);
	profile->handover_s = proof.handover_s;
	profile->proof.fetch_half = proof.fetch_half;
	device_idle_prove(&evidence->idle, evidence->observed,
			  1 / profile->rates[TRACE_REAL].value, &proof);
	if (isnan(proof.share[STAGE_PREP]))
		return 0;
	analyse_correct(evidence->corrected, proof.share);
	slowed = contention_add(&evidence->contention, profile, proof.share);
	for (int i = 0; i < STAGES; i++) {
		profile->proof.share[i] = proof.share[i];
		profile->proof_gap =
			fmax(profile->proof_gap,
			     fabs(proof.share[i] - profile->stalls[i].value));
	}
	return profile_text(
		&profile->proof.basis, "%s%s", proof.basis,
		slowed ? "; what preparation slows the step by, from loaded windows"
		       : "");
}

/* No interval says how far off a replay may be: what it finds below zero is the other's. */
static void analyse_clip(struct interval *stall, struct interval *other)
{
	if (stall->value >= 0 || isnan(other->value))
		return;
	other->value += stall->value;
	stall->value = 0;
}

/* Of an observed run the time blocked is all there is: shares without an interval. */
static void analyse_observe(const struct evidence *evidence, struct profile *profile)
{
	const double *shares = profile->proof.share;
	double seconds = 0, samples = 0, blocked = 0, stalled = 0;

	for (size_t i = 0; i < evidence->count; i++) {
		seconds += evidence->windows[i].seconds;
		samples += evidence->windows[i].samples;
		blocked += evidence->windows[i].blocked_s;
	}
	if (!(seconds > 0))
		return;
	profile->rates[TRACE_REAL] = (struct interval){samples / seconds, NAN, NAN};
	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++) {
		profile->stalls[i] = (struct interval){shares[i], NAN, NAN};
		stalled += isnan(shares[i]) ? 0 : shares[i];
	}
	analyse_clip(&profile->stalls[STAGE_FETCH], &profile->stalls[STAGE_PREP]);
	analyse_clip(&profile->stalls[STAGE_PREP], &profile->stalls[STAGE_FETCH]);
	if (isnan(shares[STAGE_PREP]))
		stalled = isfinite(evidence->idle.data_share)
				  ? evidence->idle.data_share
				  : blocked / seconds;
	profile->stalls[STAGE_COMPUTE] = (struct interval){1 - stalled, NAN, NAN};
}

/* What limits an observed run: no other one has a rate of each stage. */
static int analyse_limit_observed(const struct evidence *evidence,
				  struct profile *profile)
{
	const struct interval *stalls = profile->stalls;
	int limit = STAGE_COMPUTE;

	if (isnan(stalls[STAGE_PREP].value))
		return 0;
	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++)
		if (stalls[i].value >
		    (limit == STAGE_COMPUTE ? STAGE_NOTICED : stalls[limit].value))
			limit = i;
	profile->limit.id = limit;
	if (isfinite(evidence->idle.data_share))
		return profile_text(&profile->limit_why,
				    "observed: the device idle for data");
	if (evidence->windows[0].trace->loader.apart == TRACE_QUEUED)
		return profile_text(&profile->limit_why,
				    "observed: time that training waited for a queue");
	return profile_text(&profile->limit_why,
			    "observed: time blocked in %s; for a program that "
			    "computes while it asks, an upper bound",
			    profile_loader(profile) == LOADER_DSA ? "dsa_next()"
								  : "its loader");
}

/* What of the wait is prep, where windows do not tell. */
static int analyse_split(const struct evidence *evidence, struct profile *profile)
{
	bool own = profile_loader(profile) == LOADER_DSA;

	if (evidence->observed && (!own || isfinite(profile->proof.share[STAGE_PREP])))
		analyse_observe(evidence, profile);
	if (split_stalls(evidence->windows, evidence->count, profile) < 0)
		return -ENOMEM;
	profile->prep_waiting =
		profile->stalls[STAGE_PREP].value - profile->prep_contention;
	return 0;
}

static void add_outside(const struct trace *const *sessions, unsigned count,
			const struct evidence *evidence, struct profile *profile)
{
	double outside = 0, span = 0;

	for (size_t i = 0; i < evidence->count; i++)
		outside += evidence->windows[i].outside_s;
	for (unsigned i = 0; i < count; i++)
		if (sessions[i]->last_request_ns > sessions[i]->first_request_ns)
			span += (double)(sessions[i]->last_request_ns -
					 sessions[i]->first_request_ns) *
				1e-9;
	if (span <= 0)
		return;
	profile->outside_s = outside;
	profile->outside_share = outside / span;
}

/* Of windows in which the program paused, or of others. */
static double analyse_cpu_of(const struct evidence *evidence, bool paused)
{
	double cpu_s = 0, samples = 0;

	for (size_t i = 0; i < evidence->count; i++) {
		const struct window *window = &evidence->windows[i];

		if (window->kind != TRACE_REAL || !shares_uses(window) ||
		    (window->outside_s > 0) != paused)
			continue;
		cpu_s += (double)(window->raw->end.cpu_ns - window->raw->begin.cpu_ns) *
			 1e-9;
		samples += (double)window->raw->samples;
	}
	return samples > 0 ? cpu_s / samples : NAN;
}

/* CPU time is of pauses, too: without them as long as there are such windows. */
static void analyse_add_cpu(const struct evidence *evidence, struct profile *profile)
{
	profile->cpu_s_per_sample = analyse_cpu_of(evidence, false);
	if (isnan(profile->cpu_s_per_sample))
		profile->cpu_s_per_sample = analyse_cpu_of(evidence, true);
}

/* Of the data that was measured: other loaders of the program may have other data. */
static uint64_t analyse_skipped(const struct trace *trace)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < TRACE_PROCESSES; i++) {
		const struct trace_process *process = &trace->processes[i];

		if (trace_is_driven_data(trace, process))
			sum += process->counters[TRACE_skipped_samples] -
			       process->skipped_before;
	}
	return sum;
}

static void add_totals(const struct trace *const *sessions, unsigned count,
		       struct profile *profile)
{
	profile->skipped = profile->dropped_records = 0;
	for (unsigned i = 0; i < count; i++) {
		profile->skipped += analyse_skipped(sessions[i]);
		profile->dropped_records += sessions[i]->dropped_steps +
					    sessions[i]->dropped_samples +
					    sessions[i]->dropped_batches;
	}
}

/* What only the first session tells: with several launches they all load alike. */
static int add_figures(const struct trace *trace, struct profile *profile)
{
	if (profile_fill_loader(trace, profile) < 0 ||
	    profile_fill_histograms(trace, profile) < 0 ||
	    profile_fill_epochs(trace, profile) < 0 ||
	    profile_fill_skips(trace, profile) < 0)
		return -ENOMEM;
	return profile_fill_processes(trace, profile);
}

static void bound_points(struct profile_point *points, size_t count)
{
	for (size_t i = 0; i < count; i++)
		points[i].per_s = statistics_within(points[i].per_s, 0, INFINITY);
}

/* No interval leaves what is possible. */
static void analyse_bound(struct profile *profile)
{
	for (int i = 0; i < STAGES; i++)
		profile->stalls[i] = statistics_within(profile->stalls[i], 0, 1);
	for (int i = 0; i < TRACE_RATES; i++)
		profile->rates[i] = statistics_within(profile->rates[i], 0, INFINITY);
	profile->overhead = statistics_within(profile->overhead, 0, 1);
	profile->hit_ratio = statistics_within(profile->hit_ratio, 0, 1);
	bound_points(profile->prep_curve, profile->prep_points);
	bound_points(profile->fetch_curve, profile->fetch_points);
}

/* None where the shares are not known well enough. */
static int add_limit(const struct evidence *evidence, struct profile *profile)
{
	if (evidence->observed)
		return analyse_limit_observed(evidence, profile);
	if (!profile_has_answer(profile))
		return 0;
	if (verdict_limit(profile) < 0)
		return -ENOMEM;
	if (profile->limit.id < 0 || profile_tells_limit(profile, profile->limit.id))
		return 0;
	profile->limit = profile->limit_next = PROFILE_NO_WORD;
	free(profile->limit_why);
	profile->limit_why = NULL;
	return 0;
}

/* A step that is computed later seems shorter where batches are ready; a thread that reads
 * ahead is blocked while the one that trains is not. */
static int analyse_bound_why(const struct evidence *evidence, const struct trace *trace,
			     struct profile *profile)
{
	if (evidence->observed && trace->loader.apart == TRACE_APART)
		return profile_text(&profile->bound_why,
				    "a thread of the program asks for batches ahead of "
				    "the one that trains, and its wait was observed");
	for (size_t i = 0; i < evidence->count; i++)
		if (evidence->windows[i].raw->made.devices == TRACE_UNAWAITED)
			return profile_text(
				&profile->bound_why,
				"the program computes later than it asks for "
				"batches, and can't be waited for");
	return 0;
}

static int analyse_find(const struct trace *const *sessions, unsigned count,
			struct evidence *evidence, struct profile *profile)
{
	if (add_figures(sessions[0], profile) < 0 ||
	    analyse_add_windows(evidence, profile) < 0 ||
	    analyse_bound_why(evidence, sessions[0], profile) < 0)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++)
		profile_fill_add_requests(sessions[i], profile);
	add_totals(sessions, count, profile);
	if (add_shares(evidence, profile) < 0)
		return -ENOMEM;
	add_hits(evidence, profile);
	add_copies(evidence, profile);
	analyse_add_cpu(evidence, profile);
	profile_fill_program_reads(evidence->windows, evidence->count, profile);
	add_outside(sessions, count, evidence, profile);
	if (evidence->count > 0 && add_curves(evidence, profile) < 0)
		return -ENOMEM;
	if (sample_times_add(evidence->windows, evidence->count, profile) < 0)
		return -ENOMEM;
	contention_find(evidence->windows, evidence->count, profile,
			&evidence->contention);
	analyse_bound(profile);
	if (device_idle_find(sessions, count, evidence->windows, evidence->count,
			     profile, &evidence->idle) < 0 ||
	    profile_fill_ranks(sessions[0], profile) < 0)
		return -ENOMEM;
	if (add_proof(evidence, profile) < 0 || analyse_split(evidence, profile) < 0 ||
	    busy_find(evidence->windows, evidence->count, profile) < 0)
		return -ENOMEM;
	return add_limit(evidence, profile);
}

int analyse(const struct trace *const *sessions, unsigned count,
	    struct profile *profile, struct error *err)
{
	struct evidence evidence = {0};
	char *about = strndup(sessions[0]->about, TRACE_ABOUT);
	int result = about == NULL ? -ENOMEM : run_metadata_read(about, profile, err);

	free(about);
	if (result == 0)
		result = analyse_gather(sessions, count, &evidence);
	if (result == 0)
		result = analyse_find(sessions, count, &evidence, profile);
	free(evidence.windows);
	if (result == -ENOMEM)
		return error_sys(err, ENOMEM, "analysing the session");
	return result;
}

bool analyse_complete(const struct profile *profile)
{
	bool split = !profile_word_known(&profile->split);

	for (int i = 0; i < STAGES; i++)
		if (!stage_table[i].optional && isnan(profile->stalls[i].value) &&
		    (split || i == STAGE_COMPUTE))
			return false;
	return true;
}
