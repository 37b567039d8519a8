/* contention_test.c - what prep and fetch slow a step by, from windows with known times. */
#include "profiler/analysis/contention.h"
#include "profiler/session/disturbance.h"
#include "tests/lib/close_to.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdlib.h>

enum { BATCH = 32, STEPS = 20, SAMPLES = BATCH * STEPS };

/* Of each step: its time, and the CPU time of the process and of prep meanwhile. */
static void add(struct trace *trace, enum trace_kind kind, double step_ms,
		double cpu_ms, double prep_ms)
{
	const struct session_window asked = {
		.kind = kind,
		.block = kind == TRACE_LOADED ? -1 : 0,
		.steps = STEPS,
		.samples = BATCH,
		.step_ms = step_ms,
		.fetched = kind == TRACE_REAL ? SAMPLES : 0,
		.prepared = kind == TRACE_SYNTHETIC ? 0 : SAMPLES,
	};
	struct trace_window *window = session_add(trace, &asked);

	window->end.cpu_ns = window->begin.cpu_ns + (uint64_t)(STEPS * cpu_ms * 1e6);
	window->end.counters[TRACE_prep_cpu_ns] =
		window->begin.counters[TRACE_prep_cpu_ns] +
		(uint64_t)(STEPS * prep_ms * 1e6);
}

static void profile_of(struct profile *profile)
{
	profile_init(profile);
	profile->workers = profile->cores = 2;
	profile->rates[TRACE_SYNTHETIC].value = BATCH / 10e-3;
	profile->rates[TRACE_REAL].value = BATCH / 20e-3;
	profile->rates[TRACE_PREP].value = BATCH / 10e-3;
}

/* What a step is slowed by, ms, where loaded ones take 15 ms and so much CPU time. */
static double slowed_ms(double cpu_ms, double prep_ms)
{
	struct trace *trace = session_new();
	struct contention contention;
	struct profile profile;
	struct window *windows;
	size_t count;

	add(trace, TRACE_SYNTHETIC, 10, 10, 0);
	add(trace, TRACE_CACHED, 15, 26, 16);
	add(trace, TRACE_REAL, 20, 28, 16);
	add(trace, TRACE_LOADED, 15, cpu_ms, prep_ms);
	windows = disturbance_windows(trace, &count);
	assert_non_null(windows);
	profile_of(&profile);
	contention_find(windows, count, &profile, &contention);
	profile_free(&profile);
	free(windows);
	session_free(trace);
	return contention.slowed_s.value * BATCH * 1e3;
}

/* Prep took 20 instead of 16 ms: so did all that the CPUs did, for a part of the time or all
 * of it. Nobody knows what took no CPU time. */
TEST(a_machine_that_is_slow_for_a_while_slows_no_step)
{
	close_to(slowed_ms(26, 16), 5, 1e-9);
	close_to(slowed_ms(30, 20), 2, 1e-9);
	close_to(slowed_ms(40, 20), 2, 1e-9);
	close_to(slowed_ms(15, 20), 5 - 1.5, 1e-9);
	close_to(slowed_ms(30, 0), 5, 1e-9);
}

static void shares_are(double prep, double fetch, double fetch_cpu, double want_prep,
		       double want_fetch)
{
	const struct contention contention = {
		.slowed_s = {8e-3 / BATCH, 6e-3 / BATCH, 10e-3 / BATCH},
		.fetch = fetch_cpu};
	double share[STAGES] = {[STAGE_PREP] = prep, [STAGE_FETCH] = fetch};
	struct profile profile;

	profile_of(&profile);
	assert_true(contention_add(&contention, &profile, share));
	close_to(share[STAGE_PREP], want_prep, 1e-9);
	close_to(share[STAGE_FETCH], want_fetch, 1e-9);
	close_to(profile.proof.slowed_half, .1, 1e-9);
	profile_free(&profile);
}

/* A step of 20 ms is slowed by 8 of them, or by what is prepared while it computes: alone
 * twice as much is prepared as the step takes. */
TEST(what_is_done_while_a_step_waits_slows_nothing)
{
	shares_are(0, 0, 0, .4, 0);
	shares_are(.2, 0, 0, .2 + .6 * .4, 0);
	shares_are(.2, .1, 0, .2 + .6 * .4, .1 - .1 * .4);
	shares_are(.2, .9, 0, .2 + .6 * .4, .9 - .6 * .4); /* all of it, and no more */
	shares_are(.2, -.05, 0, .2 + .6 * .4, -.05 + .1 * .4);
	shares_are(.6, 0, 0, .6, 0);
}

TEST(reads_slow_a_step_as_prep_of_as_much_cpu_time_does)
{
	shares_are(.2, 0, .1, .2 + .6 * .4, .1 * .6 * .4);
	shares_are(.2, .1, .1, .2 + .6 * .4, .1 + (.5 * 1.1 - .6) * .4);
}

TEST(where_nothing_is_known_nothing_is_added)
{
	const struct contention contention = {.slowed_s = INTERVAL_UNKNOWN};
	double share[STAGES] = {[STAGE_PREP] = .2};
	struct profile profile;

	profile_of(&profile);
	assert_false(contention_add(&contention, &profile, share));
	close_to(share[STAGE_PREP], .2, 0);
	assert_true(isnan(profile.proof.slowed_half));
	profile_free(&profile);
}
