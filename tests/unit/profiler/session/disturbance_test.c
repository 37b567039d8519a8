#include "profiler/session/disturbance.h"
#include "tests/lib/close_to.h"
#include "tests/lib/nomem.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define MS ((uint64_t)1000000)

/* A second of two cores; CPU time in ms, reads in MB. */
static struct trace_load load_of(unsigned own, unsigned others, unsigned steal)
{
	return (struct trace_load){
		.length_ns = 1000 * MS,
		.cpu_ns = 2000 * MS,
		.own_ns = own * MS,
		.others_ns = others * MS,
		.steal_ns = steal * MS,
		.queue_ns = UINT64_MAX,
	};
}

static double part(unsigned own, unsigned others, unsigned steal)
{
	const struct trace_load load = load_of(own, others, steal);

	return disturbance_of(&load);
}

TEST(cpu_time_of_others_disturbs_where_little_is_idle)
{
	assert_true(part(1750, 0, 0) == 0);
	assert_true(part(1850, 115, 0) == 0); /* 5 % and ticks */
	close_to(part(1850, 125, 0), 125. / 1975, 1e-9);
	close_to(part(1700, 100, 25), 125. / 1825,
		 1e-9); /* the host's counts as well */
	assert_true(part(590, 1000, 0) == 0);
	close_to(part(610, 1000, 0), 1000. / 1610, 1e-9);
	close_to(part(0, 2000, 0), 1, 1e-9);
}

TEST(others_cost_no_more_than_the_run_waited_for_a_cpu)
{
	struct trace_load load = load_of(1000, 1000, 0);

	load.queue_ns = 200 * MS;
	close_to(disturbance_of(&load), .2, 1e-9);
	load.queue_ns = 3000 * MS; /* of threads that waited for one another, too */
	close_to(disturbance_of(&load), .5, 1e-9);
	load.queue_ns = 5 * MS;
	assert_true(disturbance_of(&load) == 0);
	load = load_of(1000, 960, 40); /* the host takes a CPU from who has it */
	load.queue_ns = 0;
	close_to(disturbance_of(&load), .02, 1e-9);
}

TEST(ticks_decide_nothing_in_a_short_window)
{
	struct trace_load load = load_of(185, 15, 0);

	load.length_ns /= 10;
	load.cpu_ns /= 10; /* 15 ms are 7.5 % of these */
	assert_true(disturbance_of(&load) == 0);
	load.others_ns = 35 * MS;
	assert_true(disturbance_of(&load) > 0);
}

TEST(reads_of_others_disturb_a_run_that_reads)
{
	struct trace_load load = load_of(100, 0, 0);

	load.own_bytes = 100000000;
	load.others_bytes = 9000000;
	assert_true(disturbance_of(&load) == 0);
	load.others_bytes = 25000000;
	close_to(disturbance_of(&load), .2, 1e-9);
	load.own_bytes = 900000; /* a page here and there */
	assert_true(disturbance_of(&load) == 0);
}

TEST(what_is_unknown_disturbs_nothing)
{
	struct trace_load load = load_of(1000, 1000, 0);

	load.own_ns = load.own_bytes = UINT64_MAX;
	assert_true(disturbance_of(&load) == 0);
	load = load_of(1000, 1000, 0);
	load.steal_ns = UINT64_MAX;
	assert_true(disturbance_of(&load) == 0);
	load = load_of(1000, 1000, 0);
	load.own_bytes = 100000000;
	load.others_ns = load.others_bytes = UINT64_MAX;
	assert_true(disturbance_of(&load) == 0);
	load = load_of(1000, 1000, 0);
	load.length_ns = 0;
	assert_true(disturbance_of(&load) == 0);
	/* Pressure and load decide nothing. */
	load = load_of(1000, 0, 0);
	load.cpu_wait_ns = 1000 * MS;
	load.load = 99;
	assert_true(disturbance_of(&load) == 0);
}

/* ---- of all windows of a run ---- */

static const enum trace_kind kinds[] = {TRACE_SYNTHETIC, TRACE_CACHED, TRACE_REAL};

static void add(struct trace *trace, enum trace_kind kind, int block, bool disturbed)
{
	const struct session_window window = {
		.kind = kind,
		.block = block,
		.steps = 10,
		.samples = 32,
		.step_ms = 10,
		.fetched = kind == TRACE_REAL ? 320 : 0,
		.prepared = kind == TRACE_SYNTHETIC ? 0 : 320,
	};

	trace->loads[trace->window_count] = load_of(1000, disturbed ? 1000 : 0, 0);
	session_add(trace, &window);
}

/* Blocks of three windows, the first so many of them with one that was disturbed. */
static struct trace *blocks_of(unsigned blocks, unsigned disturbed)
{
	struct trace *trace = session_new();

	for (unsigned i = 0; i < 3 * blocks; i++)
		add(trace, kinds[i % 3], (int)(i / 3),
		    i / 3 < disturbed && i % 3 == i / 3 % 3);
	return trace;
}

/* How many windows are left out, which must be disturbed. Frees the session. */
static unsigned left_out(struct trace *trace)
{
	unsigned left = 0;
	size_t count;
	struct window *windows = disturbance_windows(trace, &count);

	assert_non_null(windows);
	assert_int_equal(count, trace->window_count);
	for (size_t i = 0; i < count; i++) {
		left += windows[i].left_out;
		assert_true(!windows[i].left_out || windows[i].disturbance > 0);
	}
	free(windows);
	session_free(trace);
	return left;
}

TEST(disturbed_windows_are_left_out_where_others_are_enough)
{
	assert_int_equal(left_out(blocks_of(8, 0)), 0);
	assert_int_equal(left_out(blocks_of(8, 1)), 1);
	assert_int_equal(left_out(blocks_of(8, 4)), 4);
	assert_int_equal(left_out(blocks_of(8, 5)),
			 0); /* 3 of 8 blocks would be whole */
	assert_int_equal(left_out(blocks_of(3, 1)), 1);
	assert_int_equal(left_out(blocks_of(2, 1)), 0); /* one shows no spread */
	assert_int_equal(left_out(blocks_of(1, 1)), 0);
}

TEST(a_window_that_was_measured_again_makes_its_block_whole)
{
	struct trace *trace = blocks_of(8, 5);

	for (int i = 0; i < 5; i++)
		add(trace, kinds[i % 3], i, false);
	assert_int_equal(left_out(trace), 5);
}

TEST(more_than_half_stay_all)
{
	struct trace *trace = session_new();
	size_t count;
	struct window *windows;

	/* Each block is whole without its disturbed windows, but these are more. */
	for (int i = 0; i < 8; i++)
		for (int j = 0; j < 9; j++)
			add(trace, kinds[j % 3], i, j < 5);
	windows = disturbance_windows(trace, &count);
	assert_non_null(windows);
	assert_true(disturbance_judge(windows, count));
	free(windows);
	assert_int_equal(left_out(trace), 0);
}

TEST(of_a_curve_another_window_of_the_same_point_must_stay)
{
	struct trace *trace = blocks_of(4, 0);

	add(trace, TRACE_PREP, -1, true);
	assert_int_equal(left_out(trace), 0);
	trace = blocks_of(4, 0);
	add(trace, TRACE_PREP, -1, true);
	add(trace, TRACE_LOADED, -1, false);
	add(trace, TRACE_PREP, -1, false);
	assert_int_equal(left_out(trace), 1);
	trace = blocks_of(4, 0);
	add(trace, TRACE_PREP, -1, true);
	add(trace, TRACE_PREP, -1, false);
	trace->windows[trace->window_count - 1].flags |= TRACE_PAIRED;
	assert_int_equal(left_out(trace), 0);
}

TEST(memory_short_is_told)
{
	struct trace *trace = blocks_of(1, 0);
	size_t count;

	nomem_at(1);
	assert_null(disturbance_windows(trace, &count));
	nomem_at(0);
	session_free(trace);
}
