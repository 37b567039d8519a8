/* turn_records_test.c - sessions of a program's own loader: what its batches prove. */
#include "loader/base/error.h"
#include "profiler/analysis/analyse.h"
#include "profiler/turns/turn_records.h"
#include "tests/lib/close_to.h"
#include "tests/lib/nomem.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 2, SETTLE = 4, STEPS = 40, SAMPLES = 16 };

/* What a loader of two workers does with batches that take so many ms, of which some
 * for I/O, with a step of 10 ms and an ms of handing over. */
struct kind {
	double made_ms, io_ms;
};

static const double step_ms = 10, handover_ms = 1;

static double real_ms(const struct kind *kind)
{
	double longest = kind->made_ms / WORKERS;

	return longest > step_ms + handover_ms ? longest : step_ms + handover_ms;
}

static uint64_t ns(double ms)
{
	return (uint64_t)(int64_t)(ms * 1e6); /* may be less than none */
}

static void add_batch(struct trace *trace, unsigned window, unsigned number,
		      uint64_t begin_ns, const struct kind *kind)
{
	trace->batches[trace->batch_count++] = (struct trace_batch){
		.window = window,
		.worker = 100 + number % WORKERS,
		.begin_ns = begin_ns,
		.end_ns = begin_ns + ns(kind->made_ms),
		.io_ns = ns(kind->io_ms),
		.bytes = 2000,
		.samples = SAMPLES,
	};
}

/* Each is made just before it is handed over; the records are not in that order. */
static void add_batches(struct trace *trace, struct trace_window *window,
			const struct kind *kind, double period_ms)
{
	double begin_ms = period_ms - step_ms - handover_ms - kind->made_ms;
	uint64_t start = window->begin.time_ns - ns(SETTLE * period_ms - begin_ms);
	unsigned index = (unsigned)(window - trace->windows);

	window->first_batch = trace->batch_count;
	for (unsigned round = 0; round < (SETTLE + STEPS) / WORKERS; round++)
		for (unsigned worker = WORKERS; worker-- > 0;) {
			unsigned number = round * WORKERS + worker;

			add_batch(trace, index, number, start + ns(number * period_ms),
				  kind);
		}
	window->batch_records = trace->batch_count - window->first_batch;
	window->made.batches = window->batch_records;
	window->made.bytes = window->batch_records * UINT64_C(2000);
}

static void add_window(struct trace *trace, enum trace_kind kind, int block,
		       const struct kind *took)
{
	double period_ms = took != NULL ? real_ms(took) : step_ms;
	const struct session_window asked = {
		.kind = kind,
		.block = block,
		.steps = STEPS,
		.samples = SAMPLES,
		.step_ms = period_ms,
		.blocked_ms = period_ms - step_ms,
		.prepared = took != NULL ? STEPS * SAMPLES : 0,
		.fetched = kind == TRACE_REAL ? STEPS * SAMPLES : 0,
	};
	struct trace_window *window = session_add(trace, &asked);

	window->settled = SETTLE;
	if (took != NULL)
		add_batches(trace, window, took, period_ms);
}

/* Of its 60 ms a batch reads for 30, of which 2 are those of memory, unless `slow`. */
static struct trace *run_of(unsigned blocks, double slow)
{
	const struct kind cached = {32, 2}, real = {60, 30};
	struct trace *trace = session_new();

	assert_non_null(trace);
	trace->loader.kind = TRACE_TORCH;
	trace->loader.workers = WORKERS;
	trace->loader.prefetch = 2;
	trace->loader.batch = SAMPLES;
	for (unsigned block = 0; block < blocks; block++) {
		add_window(trace, TRACE_SYNTHETIC, (int)block, NULL);
		add_window(trace, TRACE_CACHED, (int)block, &cached);
		add_window(trace, TRACE_REAL, (int)block, &real);
	}
	for (unsigned i = 0; i < trace->batch_count; i++)
		trace->batches[i].end_ns += ns(slow);
	return trace;
}

static struct window measured(const struct trace *trace, unsigned index)
{
	struct window window;

	window_measure(trace, index, &window);
	return window;
}

static int records_of(const struct window *window, struct turn_records *records)
{
	size_t at = 0;

	return turn_records_next(window, &at, records);
}

TEST(a_window_is_read_in_the_order_of_turns)
{
	struct trace *trace = run_of(1, 0);
	struct window window = measured(trace, 2);
	struct turn_records records;
	struct turn_window replayed;

	assert_int_equal(records_of(&window, &records), 0);
	assert_int_equal(records.settle, SETTLE);
	assert_int_equal(records.steps, SETTLE + STEPS);
	assert_int_equal(records.batch_count, SETTLE + STEPS);
	for (size_t i = 0; i < records.batch_count; i++)
		assert_int_equal(records.made[i].worker, 100 + i % WORKERS);
	close_to(records.compute_s[0], 10e-3, 1e-9);
	close_to(records.compute_s[records.steps - 1], 10e-3, 1e-9);
	close_to(records.batches[3].io_s, 30e-3, 1e-9);
	replayed = turn_records_window(&records, 1e-3, 0);
	close_to(turn_replay_wait(&replayed.replay, NAN, replayed.settle),
		 STEPS * 20e-3, 1e-6);
	turn_records_free(&records);
	session_free(trace);
}

/* All that two batches are computed for comes after the second: of steps of which nothing is
 * recorded, too. */
TEST(steps_before_the_records_compute_as_those_in_them)
{
	struct trace *trace = run_of(1, 0);
	struct trace_step *steps = &trace->steps[trace->windows[2].first_step];
	struct window window;
	struct turn_records records;

	for (unsigned i = 0; i < STEPS; i += 2) {
		steps[i].end_ns = steps[i].request_ns + steps[i].blocked_ns;
		steps[i + 1].request_ns = steps[i].end_ns;
	}
	window = measured(trace, 2);
	assert_int_equal(records_of(&window, &records), 0);
	for (size_t i = 0; i < SETTLE + STEPS; i++)
		close_to(records.compute_s[i], i % 2 * 2 * step_ms * 1e-3, 1e-6);
	turn_records_free(&records);
	session_free(trace);
}

TEST(a_pause_is_no_time_of_the_window)
{
	struct trace *trace = run_of(1, 0);
	struct trace_step *step = &trace->steps[trace->windows[2].first_step + 5];
	struct turn_records records;
	struct window window;

	step->end_ns += ns(500);
	step->longest_ns += ns(500);
	window = measured(trace, 2);
	assert_int_equal(records_of(&window, &records), 0);
	close_to(turn_records_window(&records, 1e-3, 0).wall_s, (STEPS - 1) * 30e-3,
		 1e-6);
	turn_records_free(&records);
	session_free(trace);
}

TEST(the_worker_that_fits_had_the_first_turn)
{
	struct trace *trace = run_of(1, 0);
	struct window window = measured(trace, 2);
	struct turn_records records;

	for (unsigned i = 0; i < trace->batch_count; i++)
		trace->batches[i].worker = 201 - trace->batches[i].worker;
	assert_int_equal(records_of(&window, &records), 0);
	for (size_t i = 0; i < records.batch_count; i++)
		assert_int_equal(records.made[i].worker, 100 + (i + 1) % WORKERS);
	turn_records_free(&records);
	session_free(trace);
}

TEST(steps_without_batches_are_left_out)
{
	struct trace *trace = run_of(1, 0);
	struct window window = measured(trace, 2);
	struct turn_records records;
	struct turn_window half;

	trace->windows[2].batch_records = SETTLE + STEPS / 2;
	assert_int_equal(records_of(&window, &records), 0);
	half = turn_records_window(&records, 1e-3, 0);
	assert_int_equal(half.replay.steps, SETTLE + STEPS / 2);
	close_to(half.wall_s, .5 * STEPS * 30e-3, 1e-6);
	close_to(half.blocked_s, .5 * STEPS * 20e-3, 1e-6);
	turn_records_free(&records);
	trace->windows[2].batch_records = SETTLE + 7;
	assert_int_equal(records_of(&window, &records), -ENODATA);
	turn_records_free(&records);
	session_free(trace);
}

static struct trace *observed_run(void)
{
	const struct kind real = {60, 30};
	struct trace *trace = session_new();

	assert_non_null(trace);
	trace->observe = 1;
	trace->loader.kind = TRACE_TORCH;
	trace->loader.workers = WORKERS;
	trace->loader.prefetch = 2;
	add_window(trace, TRACE_REAL, -1, &real);
	return trace;
}

/*
 * A window that is only observed, of steps of 30 ms: the end of an epoch, from its
 * fifth batch on; then one whose first step is left out, as it waited for 60 ms; and
 * another, whose last batches were not recorded.
 */
static struct trace *observed_epochs(void)
{
	struct trace *trace = observed_run();
	const struct trace_window *window = &trace->windows[0];

	for (unsigned i = 0; i < window->step_records; i++) {
		struct trace_step *step = &trace->steps[window->first_step + i];
		unsigned epoch = (i >= 12) + (i >= 25);

		step->epoch = epoch;
		step->request_ns += epoch * ns(90);
		step->end_ns += epoch * ns(90);
	}
	for (unsigned i = 0; i < trace->batch_count; i++) {
		unsigned number = i / WORKERS * WORKERS + WORKERS - 1 - i % WORKERS;
		unsigned epoch = (number >= 16) + (number >= 30);

		trace->batches[i].epoch = epoch;
		trace->batches[i].begin_ns += epoch * ns(60);
		trace->batches[i].end_ns += epoch * ns(60);
	}
	return trace;
}

static void next_are(const struct window *window, size_t *at, size_t settled,
		     size_t steps)
{
	struct turn_records records;

	assert_int_equal(turn_records_next(window, at, &records), 0);
	assert_int_equal(records.settle, settled);
	assert_int_equal(records.steps, settled + steps);
	close_to(turn_records_window(&records, 0, 0).blocked_s, (double)steps * 20e-3,
		 1e-6);
	close_to(turn_records_window(&records, 0, 0).wall_s, (double)steps * 30e-3,
		 1e-6);
	turn_records_free(&records);
}

static void none_is_next(const struct window *window, size_t *at)
{
	struct turn_records records;

	assert_int_equal(turn_records_next(window, at, &records), -ENOENT);
	turn_records_free(&records);
}

TEST(each_epoch_that_is_observed_begins_anew)
{
	struct trace *trace = observed_epochs();
	struct window window = measured(trace, 0);
	size_t at = 0;

	next_are(&window, &at, 1, 13); /* the first is no whole one */
	next_are(&window, &at, 1, 13);
	none_is_next(&window, &at);
	session_free(trace);
}

/* What a step waited beyond what was made for it. */
static void expect_handover(const struct turn_records *records)
{
	struct turn_costs costs = {0};

	turn_records_cost(records, &costs);
	close_to(turn_costs_handover(&costs), handover_ms * 1e-3, 1e-8);
}

/* The program took a second batch before it computed with the first: the epoch's first step,
 * which no record tells of, had both. */
TEST(batches_that_the_first_step_took_are_counted_by_what_fits)
{
	struct trace *trace = observed_epochs();
	struct trace_window *window = &trace->windows[0];
	struct turn_records records;
	struct window all;
	size_t at = 0;

	for (unsigned i = 13; i < window->step_records; i++) {
		struct trace_step *step = &trace->steps[window->first_step + i];

		step[-1] = *step;
		step[-1].epoch = i > 25 ? 2 : i > 12;
	}
	window->step_records--;
	all = measured(trace, 0);
	assert_int_equal(turn_records_next(&all, &at, &records), 0);
	assert_int_equal(records.settle, 2);
	expect_handover(&records);
	turn_records_free(&records);
	session_free(trace);
}

/* Batch `number` of an epoch whose first step was asked for then: it takes 10 ms, as soon as
 * one before it was delivered and it was given out. */
static void make_early(struct trace_batch *batch, unsigned number, uint64_t first_ns)
{
	const unsigned ahead = WORKERS * 2, round = number / WORKERS;
	uint64_t given_ns = first_ns - ns(30) + ns(round * 10.);

	if (number >= ahead)
		given_ns = first_ns + ns((number - ahead) * 30. + handover_ms);
	batch->begin_ns = given_ns;
	batch->end_ns = given_ns + ns(10);
}

/* An evaluation began in the epoch's last step, so that it has no record. All batches lay
 * ready, and any number of them before the first step would fit when they were made: not when
 * the next ones were given out. */
TEST(batches_that_lay_ready_are_told_apart_by_when_others_began)
{
	struct trace *trace = observed_epochs();
	struct trace_window *window = &trace->windows[0];
	struct trace_step *steps = &trace->steps[window->first_step];
	uint64_t first_ns = steps[12].request_ns - ns(30);
	struct turn_records records;
	struct window all;
	size_t at = 0;

	for (unsigned i = 0; i < window->step_records; i++)
		steps[i].blocked_ns = ns(handover_ms);
	for (unsigned i = 16; i < 30; i++) {
		unsigned number = i / WORKERS * WORKERS + WORKERS - 1 - i % WORKERS;

		make_early(&trace->batches[i], number - 16, first_ns);
	}
	memmove(&steps[24], &steps[25], (window->step_records - 25) * sizeof(*steps));
	window->step_records--;
	all = measured(trace, 0);
	assert_int_equal(turn_records_next(&all, &at, &records), 0);
	assert_int_equal(records.batch_count, 14);
	assert_int_equal(records.record_count, 12);
	assert_int_equal(records.settle, 1);
	turn_records_free(&records);
	session_free(trace);
}

TEST(an_epoch_without_another_is_as_the_window_says)
{
	struct trace *trace = observed_epochs();
	struct window window;
	size_t at = 0;

	trace->windows[0].step_records = 12;
	window = measured(trace, 0);
	next_are(&window, &at, SETTLE, 12);
	none_is_next(&window, &at);
	session_free(trace);
}

/* Workers had made the first batches before the window began: so many steps are read. */
static void expect_without(struct trace *trace, unsigned batches, size_t steps)
{
	struct trace_window *window = &trace->windows[0];
	struct turn_records records;
	struct window all;

	window->first_batch += batches;
	window->batch_records -= batches;
	all = measured(trace, 0);
	assert_int_equal(records_of(&all, &records), 0);
	assert_int_equal(records.settle, 0);
	assert_int_equal(records.record_count, steps);
	assert_int_equal(records.steps, steps);
	expect_handover(&records);
	turn_records_free(&records);
	session_free(trace);
}

TEST(batches_from_before_the_window_are_not_among_its_own)
{
	struct trace *trace = observed_epochs();

	trace->windows[0].step_records = 12;
	expect_without(trace, SETTLE, 12);
}

/* So early that steps of which there are records had them. */
TEST(steps_whose_batches_came_before_any_record_are_left_out)
{
	expect_without(observed_run(), SETTLE + 2, STEPS - 2);
}

/* Five more batches were made for an epoch than it had steps; and of the next one only what
 * comes before a step that was left out is known. */
TEST(an_epoch_that_the_program_left_had_more_batches)
{
	struct trace *trace = observed_epochs();
	struct trace_step *steps = &trace->steps[trace->windows[0].first_step];
	struct window window;
	size_t at = 0;

	for (unsigned i = 20; i < trace->windows[0].step_records; i++) {
		steps[i].epoch = 2;
		steps[i].request_ns += (i >= 33) * ns(60);
		steps[i].end_ns += (i >= 33) * ns(60);
	}
	window = measured(trace, 0);
	next_are(&window, &at, 1, 8);
	assert_int_equal(at, 20);
	session_free(trace);
}

/* One of 30 ms, as long as a step. */
TEST(a_step_that_is_missing_ends_what_is_replayed)
{
	struct trace *trace = observed_run();
	struct turn_records records;
	struct window window;

	for (unsigned i = 20; i < STEPS; i++) {
		trace->steps[i].request_ns += ns(30);
		trace->steps[i].end_ns += ns(30);
	}
	window = measured(trace, 0);
	assert_int_equal(records_of(&window, &records), 0);
	assert_int_equal(records.record_count, 20);
	turn_records_free(&records);
	session_free(trace);
}

/* Nor is a later one held against the batch that another step had. */
TEST(a_step_that_is_missing_ends_a_window_too)
{
	struct trace *trace = run_of(1, 0);
	struct trace_step *steps = &trace->steps[trace->windows[2].first_step];
	struct turn_records records;
	struct window window;
	size_t at = 0;

	for (unsigned i = 20; i < STEPS; i++) {
		steps[i].request_ns += ns(300);
		steps[i].end_ns += ns(300);
	}
	window = measured(trace, 2);
	assert_int_equal(turn_records_next(&window, &at, &records), 0);
	assert_int_equal(records.record_count, 20);
	close_to(records.wall_s, 20 * 30e-3, 1e-6);
	turn_records_free(&records);
	assert_int_equal(turn_records_next(&window, &at, &records), -ENOENT);
	turn_records_free(&records);
	for (unsigned i = 0; i < STEPS; i++) {
		steps[i].request_ns += ns(30);
		steps[i].end_ns += ns(30);
	}
	window = measured(trace, 2);
	assert_int_equal(records_of(&window, &records), -ENOENT); /* the first one */
	turn_records_free(&records);
	session_free(trace);
}

TEST(it_costs_what_cached_windows_show)
{
	struct trace *trace = run_of(1, 0);
	struct window window = measured(trace, 1);
	struct turn_costs costs = {0};
	struct turn_records records;

	assert_int_equal(records_of(&window, &records), 0);
	turn_records_cost(&records, &costs);
	close_to(turn_costs_io(&costs), 1e-6, 1e-12);
	assert_int_equal(costs.all, STEPS);
	close_to(turn_costs_handover(&costs), handover_ms * 1e-3, 1e-8);
	close_to(turn_costs_pickup(&costs), 0, 1e-8);
	turn_records_free(&records);
	session_free(trace);
}

/* Workers that have batches to make, but begin each 2 ms after the last. */
TEST(what_workers_idle_between_batches_is_replayed)
{
	struct trace *trace = run_of(1, -2);
	struct window window = measured(trace, 2);
	struct turn_costs costs = {0};
	struct turn_records records;
	struct turn_window turns;

	assert_int_equal(records_of(&window, &records), 0);
	turn_records_cost(&records, &costs);
	close_to(turn_costs_pickup(&costs), 2e-3, 1e-8);
	turns = turn_records_window(&records, 1e-3, turn_costs_pickup(&costs));
	close_to(turn_replay_wait(&turns.replay, NAN, turns.settle), STEPS * 20e-3,
		 1e-6);
	turn_records_free(&records);
	trace->loader.any_order = 1; /* which worker had which is not known */
	costs = (struct turn_costs){0};
	assert_int_equal(records_of(&window, &records), 0);
	turn_records_cost(&records, &costs);
	assert_int_equal(costs.pickups, 0);
	turn_records_free(&records);
	session_free(trace);
}

TEST(windows_without_records_have_none)
{
	struct trace *trace = run_of(1, 0);
	struct window synthetic = measured(trace, 0), real = measured(trace, 2);
	struct turn_records records;

	assert_int_equal(records_of(&synthetic, &records), -ENODATA);
	turn_records_free(&records);
	for (unsigned nth = 1; nth <= 3; nth++) {
		nomem_at(nth);
		assert_int_equal(records_of(&real, &records), -ENOMEM);
		nomem_at(0);
		turn_records_free(&records);
	}
	trace->windows[2].first_batch = TRACE_BATCHES; /* a damaged session */
	assert_int_equal(records_of(&real, &records), -ENODATA);
	turn_records_free(&records);
	trace->windows[2].first_batch = 0;
	trace->windows[2].settled = UINT32_MAX;
	assert_int_equal(records_of(&real, &records), -ENODATA);
	turn_records_free(&records);
	session_free(trace);
}

static void analysed(const struct trace *trace, struct profile *profile)
{
	struct error err = {0};

	profile_init(profile);
	if (analyse(&trace, 1, profile, &err) < 0)
		fail_msg("%s", err.message);
}

/* A step takes 30 ms: 10 of computing, 6 for a batch of 32 ms, 14 for its I/O. */
TEST(an_analysis_has_the_second_proof)
{
	struct trace *trace = run_of(8, 0);
	struct profile profile;

	analysed(trace, &profile);
	assert_int_equal(profile.loader_kind.id, LOADER_TORCH);
	close_to(profile.proof.share[STAGE_PREP], 6. / 30, 1e-6);
	close_to(profile.proof.share[STAGE_FETCH], 14. / 30, 1e-6);
	close_to(profile.proof_gap, 0, 1e-6);
	assert_non_null(strstr(profile.proof.basis, "8 real windows"));
	close_to(profile.handover_s, handover_ms * 1e-3, 1e-8);
	assert_int_equal(profile.draw_count, 8 * (SETTLE + STEPS));
	close_to(profile.draws[0].prep_s, 2e-3, 1e-9);
	close_to(profile.draws[0].fetch_s, 28e-3 / SAMPLES, 1e-9);
	assert_int_equal(profile.draws[0].bytes, 2000 / SAMPLES);
	profile_free(&profile);
	session_free(trace);
}

/* Two points off, and more. */
TEST(a_replay_that_is_off_is_not_shown)
{
	struct trace *trace = run_of(8, 1.1); /* .55 ms of 30 */
	struct profile profile;

	analysed(trace, &profile);
	assert_false(isnan(profile.proof.share[STAGE_FETCH]));
	profile_free(&profile);
	session_free(trace);
	trace = run_of(8, 1.3);
	analysed(trace, &profile);
	assert_true(isnan(profile.proof.share[STAGE_FETCH]));
	assert_null(profile.proof.basis);
	profile_free(&profile);
	session_free(trace);
}

TEST(emulated_storage_is_no_fetch_of_its_own)
{
	struct trace *trace = run_of(8, 0);
	struct profile profile;

	trace->loader.storage_latency = 1e-3;
	analysed(trace, &profile);
	assert_true(isnan(profile.draws[0].fetch_s));
	profile_free(&profile);
	session_free(trace);
}

/* Of 30 ms a step computes 10, and waits 19 for its batch and 1 for having it. */
TEST(an_observed_run_has_its_shares_by_it)
{
	struct trace *trace = observed_run();
	struct profile profile;

	analysed(trace, &profile);
	close_to(profile.handover_s, 1e-3, 1e-6);
	close_to(profile.stalls[STAGE_COMPUTE].value, 1. / 3, 1e-3);
	close_to(profile.stalls[STAGE_FETCH].value, .5, 1e-3);
	profile_free(&profile);
	session_free(trace);
}

TEST(what_no_call_shows_is_in_no_record)
{
	static const uint32_t unseen[] = {0, TRACE_MAPPED, TRACE_SOCKET, TRACE_CALLS};

	for (size_t i = 0; i < 4; i++) {
		struct trace *trace = observed_run();
		struct profile profile;

		trace->windows[0].made.unseen = unseen[i];
		analysed(trace, &profile);
		assert_true(isnan(profile.proof.share[STAGE_FETCH]) == (i > 0));
		profile_free(&profile);
		session_free(trace);
	}
}

/* The replay waits a fifth of the time less than the program did. */
TEST(a_replay_that_waits_too_little_proves_nothing)
{
	const struct turn_sums sums = {
		.wall = 1, .blocked = .5, .as_was = .3, .cached = .1, .windows = 1};
	struct turn_proof proof;

	assert_true(turn_proof_of(&sums, &proof));
	assert_false(proof.valid);
}
