/* busy_test.c - what a busy machine makes of a session: windows, shares, one line. */
#include "loader/base/error.h"
#include "profiler/analysis/analyse.h"
#include "profiler/analysis/rate.h"
#include "tests/lib/close_to.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define MS ((uint64_t)1000000)

enum { BLOCKS = 8, STEPS = 20, BATCH = 32 };

static const enum trace_kind kinds[] = {TRACE_SYNTHETIC, TRACE_CACHED, TRACE_REAL};

/* A second of two cores, all of it used: a quarter by others, where they are there. */
static struct trace_load load_of(bool others)
{
	return (struct trace_load){
		.length_ns = 1000 * MS,
		.cpu_ns = 2000 * MS,
		.own_ns = others ? 1500 * MS : 1000 * MS,
		.others_ns = others ? 450 * MS : 20 * MS,
		.steal_ns = others ? 50 * MS : 0,
		.queue_ns = UINT64_MAX,
		.own_bytes = 20000000,
		.others_bytes = 1000000,
		.cpu_wait_ns = others ? 1000 * MS : 0,
		.io_wait_ns = UINT64_MAX,
		.load = 3,
		.hz = NAN,
	};
}

/* 10 ms of compute, 15 with prep, 20 with fetch; twice as long beside others. */
static void add(struct trace *trace, enum trace_kind kind, int block, bool others)
{
	static const double step_ms[] = {
		[TRACE_SYNTHETIC] = 10, [TRACE_CACHED] = 15, [TRACE_REAL] = 20};
	const struct session_window window = {
		.kind = kind,
		.block = block,
		.steps = STEPS,
		.samples = BATCH,
		.step_ms = step_ms[kind] * (others ? 2 : 1),
		.fetched = kind == TRACE_REAL ? STEPS * BATCH : 0,
		.prepared = kind == TRACE_SYNTHETIC ? 0 : STEPS * BATCH,
	};

	trace->loads[trace->window_count] = load_of(others);
	session_add(trace, &window);
}

/* In the first blocks others are there while windows of `kind` are measured; -1: while
 * any are. */
static struct trace *run_of(int disturbed, int kind)
{
	struct trace *trace = session_new();

	for (int i = 0; i < 3 * BLOCKS; i++)
		add(trace, kinds[i % 3], i / 3,
		    i / 3 < disturbed && (kind < 0 || kind == (int)kinds[i % 3]));
	return trace;
}

static void analysed(const struct trace *trace, struct profile *profile)
{
	struct error err = {0};

	profile_init(profile);
	if (analyse(&trace, 1, profile, &err) < 0)
		fail_msg("%s", err.message);
}

TEST(disturbed_windows_do_not_count)
{
	struct trace *trace = run_of(3, TRACE_CACHED);
	struct profile profile;

	analysed(trace, &profile);
	assert_int_equal(profile.blocks, BLOCKS - 3);
	close_to(profile.stalls[STAGE_PREP].value, .25, 1e-9);
	assert_true(interval_half(profile.stalls[STAGE_PREP]) < .01);
	for (size_t i = 0; i < profile.window_count; i++) {
		const struct profile_window *window = &profile.windows[i];
		bool disturbed = window->kind.id == TRACE_CACHED && window->block < 3;

		assert_true(window->disturbed == disturbed);
		assert_true(window->used != disturbed && window->certified);
		assert_true((strstr(window->why, "; disturbed by others, not used") !=
			     NULL) == disturbed);
		close_to(window->others_cpu_s, disturbed ? .45 : .02, 1e-9);
		close_to(window->steal_s, disturbed ? .05 : 0, 1e-9);
		assert_int_equal(window->others_read_bytes, 1000000);
		assert_true(isnan(window->io_wait_s) && isnan(window->cpu_hz));
	}
	assert_int_equal(profile.busy.windows, 3 * BLOCKS);
	assert_int_equal(profile.busy.disturbed, 3);
	assert_false(profile.busy.kept);
	close_to(profile.busy.others_cpu_share, (3 * .45 + 21 * .02) / 48, 1e-9);
	close_to(profile.busy.steal_share, 3 * .05 / 48, 1e-9);
	close_to(profile.busy.others_read_share, 1. / 21, 1e-9);
	close_to(profile.busy.cpu_wait_share, 3. / 24, 1e-9);
	assert_true(isnan(profile.busy.io_wait_share));
	assert_string_equal(profile.busy_why,
			    "other programs used 4% of the CPU (load 3.0); 3 of 24 "
			    "measurements were disturbed and left out of the "
			    "shares");
	profile_free(&profile);
	session_free(trace);
}

TEST(where_most_are_they_count_and_widen_the_shares)
{
	struct trace *trace = run_of(BLOCKS, -1);
	struct profile profile;

	analysed(trace, &profile);
	assert_int_equal(profile.blocks, BLOCKS);
	close_to(profile.stalls[STAGE_PREP].value, .25, 1e-9);
	close_to(interval_half(profile.stalls[STAGE_COMPUTE]),
		 .25 + profile.overhead_floor, 1e-9);
	/* It ends where there is nothing to wait for. */
	assert_true(profile.stalls[STAGE_PREP].low == 0);
	assert_true(profile.busy.kept && profile.windows[0].used);
	assert_non_null(strstr(profile.windows[0].why, "; disturbed by others"));
	assert_null(strstr(profile.windows[0].why, "not used"));
	profile_free(&profile);
	session_free(trace);
}

/* A point of a curve, measured beside others and again without them. */
static void add_point(struct trace *trace, unsigned workers, bool again)
{
	const struct session_window window = {.kind = TRACE_PREP,
					      .block = -1,
					      .workers = workers,
					      .steps = STEPS,
					      .samples = BATCH,
					      .step_ms = 5,
					      .prepared = STEPS * BATCH};

	for (int i = 0; i < 1 + again; i++) {
		trace->loads[trace->window_count] = load_of(i == 0);
		session_add(trace, &window);
	}
}

TEST(points_of_curves_do_not_tell_what_counts_in_the_shares)
{
	struct trace *trace = run_of(BLOCKS, -1);
	struct profile profile;

	add_point(trace, 2, true);
	analysed(trace, &profile);
	assert_int_equal(profile.busy.disturbed, 3 * BLOCKS + 1);
	assert_true(profile.busy.kept);
	assert_non_null(strstr(profile.busy_why, "count all the same"));
	profile_free(&profile);
	session_free(trace);
	trace = run_of(3, TRACE_CACHED);
	add_point(trace, 2, false); /* which stays, in its curve */
	analysed(trace, &profile);
	assert_true(profile.windows[3 * BLOCKS].used);
	assert_int_equal(profile.busy.disturbed, 4);
	assert_false(profile.busy.kept);
	assert_non_null(strstr(profile.busy_why, "left out of the shares"));
	profile_free(&profile);
	session_free(trace);
}

TEST(without_an_answer_nothing_is_said_to_limit)
{
	struct trace *trace = run_of(BLOCKS, -1);
	struct profile profile;

	for (unsigned i = 0; i < trace->window_count; i++) {
		trace->loads[i].own_ns = 1000 * MS;
		trace->loads[i].others_ns = 950 * MS;
	}
	analysed(trace, &profile);
	assert_false(profile_has_answer(&profile));
	assert_int_equal(profile.limit.id, -1);
	assert_null(profile.limit_why);
	for (int i = 0; i < STAGES; i++)
		assert_true(stage_table[i].optional || (profile.stalls[i].low >= 0 &&
							profile.stalls[i].high <= 1));
	profile_free(&profile);
	session_free(trace);
}

TEST(who_was_there_while_it_warmed_up_is_not_told)
{
	struct trace *trace = run_of(1, TRACE_SYNTHETIC);
	struct profile profile;

	trace->windows[0].flags = TRACE_WARMUP;
	analysed(trace, &profile);
	assert_int_equal(profile.busy.windows, 3 * BLOCKS - 1);
	assert_int_equal(profile.busy.disturbed, 0);
	profile_free(&profile);
	session_free(trace);
}

TEST(without_loads_nothing_is_known)
{
	struct trace *trace = run_of(0, -1);
	struct profile profile;

	memset(trace->loads, 0, sizeof(trace->loads));
	analysed(trace, &profile);
	assert_true(profile.busy.windows == UNKNOWN && profile.busy_why == NULL);
	assert_true(isnan(profile.windows[0].others_cpu_s) &&
		    profile.windows[0].others_read_bytes == UNKNOWN);
	assert_int_equal(profile.blocks, BLOCKS);
	profile_free(&profile);
	session_free(trace);
}

TEST(a_rate_is_of_the_windows_that_count)
{
	struct trace *trace = run_of(3, TRACE_REAL);
	struct measure_rate rate;

	assert_int_equal(rate_measure(trace, &rate), 0);
	assert_int_equal(rate.windows, BLOCKS - 3);
	close_to(rate.per_s.value, BATCH / 20e-3, 1e-6);
	session_free(trace);
	trace = run_of(BLOCKS, TRACE_REAL);
	assert_int_equal(rate_measure(trace, &rate), 0);
	assert_int_equal(rate.windows, BLOCKS);
	close_to(rate.per_s.value, BATCH / 40e-3, 1e-6);
	session_free(trace);
}
