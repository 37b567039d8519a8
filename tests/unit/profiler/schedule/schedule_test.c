/* schedule_test.c - which window is asked for next, and when there are enough. */
#include "profiler/analysis/statistics.h"
#include "profiler/schedule/schedule_state.h"
#include "tests/lib/close_to.h"
#include "tests/lib/nomem.h"
#include "tests/lib/performer.h"
#include "tests/lib/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void stops_when_precise_after_eight_blocks(void **state)
{
	struct performer performer = performer_new(&performer_usual);
	const struct shares *shares;

	(void)state;
	assert_int_equal(performer_run(&performer), SCHEDULE_DONE);
	shares = schedule_shares(performer.schedule);
	assert_in_range(shares->blocks, 8, 20);
	assert_true(shares_half(shares) <= .01);
	assert_true(performer_elapsed(&performer) < 60);
	performer_free(&performer);
}

static void the_first_window_warms_up(void **state)
{
	struct performer performer = performer_new(&performer_usual);
	struct trace_window ask;

	(void)state;
	assert_int_equal(schedule_next(performer.schedule, performer.trace, 0, &ask),
			 SCHEDULE_ASK);
	assert_int_equal(ask.kind, TRACE_REAL);
	assert_int_equal(ask.flags, TRACE_WARMUP);
	assert_true(ask.min_steps >= 4);
	performer.trace->windows[performer.trace->window_count++] = ask;
	assert_int_equal(schedule_next(performer.schedule, performer.trace, 0, &ask),
			 SCHEDULE_WAIT);
	performer_free(&performer);
}

static void noise_takes_more_blocks_and_then_the_budget(void **state)
{
	struct performer performer = performer_new(&performer_usual);

	(void)state;
	performer.noise = .1;
	assert_int_equal(performer_run(&performer), SCHEDULE_OUT);
	assert_true(schedule_shares(performer.schedule)->blocks > 10);
	assert_true(performer_elapsed(&performer) <= 60.5 &&
		    performer_elapsed(&performer) > 50);
	performer_free(&performer);
}

/* Mean length that was asked of the kind in blocks from the tenth on. */
static double length_of(const struct trace *trace, enum trace_kind kind)
{
	double seconds = 0, count = 0;

	for (unsigned i = 0; i < trace->window_count; i++) {
		const struct trace_window *window = &trace->windows[i];

		if (window->kind != kind || window->block >= TRACE_WINDOWS ||
		    window->block < 10)
			continue;
		seconds += (double)window->length_ns * 1e-9;
		count++;
	}
	return seconds / count;
}

static void kinds_that_scatter_have_more_of_the_time(void **state)
{
	struct performer performer = performer_new(&performer_usual);
	double of[3];

	(void)state;
	performer.noise = .1;
	performer.steady[TRACE_SYNTHETIC] = performer.steady[TRACE_REAL] = true;
	assert_int_equal(performer_run(&performer), SCHEDULE_OUT);
	for (int kind = 0; kind < 3; kind++)
		of[kind] = length_of(performer.trace, (enum trace_kind)kind);
	close_to(of[TRACE_CACHED], .8, .1);
	close_to(of[TRACE_REAL], .4, .02); /* not shorter */
	close_to(of[TRACE_SYNTHETIC], .2, .05);
	performer_free(&performer);
}

static void kinds_are_balanced_and_orders_mirrored(void **state)
{
	struct performer performer = performer_new(&performer_usual);
	double place[3] = {0};
	unsigned at = 0;

	(void)state;
	performer_run(&performer);
	for (unsigned i = 0; i < performer.trace->window_count; i++) {
		const struct trace_window *window = &performer.trace->windows[i];

		if (window->block >= 6)
			continue;
		assert_int_equal(window->settle, 2);
		assert_int_equal(window->min_steps, 8);
		place[window->kind] += at++ % 3;
	}
	/* In 6 blocks each kind stands first, second and third twice. */
	for (int kind = 0; kind < 3; kind++)
		assert_int_equal(place[kind], 6);
	performer_free(&performer);
}

/* Copied windows, too, at each place as often, and after each other kind; blocks in pairs
 * of an order and its mirror. */
static void with_a_device_there_are_four_kinds(void **state)
{
	struct performer performer = performer_new(&performer_usual);
	unsigned place[4][4] = {{0}}, after[4][4] = {{0}}, order[16], at = 0;

	(void)state;
	strcpy(performer.trace->loader.device, "cuda:0");
	performer.trace->loader.device_sample_bytes = PERFORMER_SENT;
	performer.noise = 0;
	assert_int_equal(performer_run(&performer), SCHEDULE_DONE);
	for (unsigned i = 0; i < performer.trace->window_count && at < 16; i++) {
		const struct trace_window *window = &performer.trace->windows[i];

		if (window->block >= 4)
			continue;
		assert_in_range(window->kind, TRACE_REAL, TRACE_COPIED);
		order[at] = window->kind;
		place[window->kind][at % 4]++;
		if (at % 4 > 0)
			after[order[at - 1]][window->kind]++;
		at++;
	}
	for (unsigned i = 0; i < 16; i++) {
		assert_int_equal(place[i / 4][i % 4], 1);
		assert_int_equal(after[i / 4][i % 4], i / 4 != i % 4);
		assert_int_equal(order[i], order[i / 8 * 8 + 7 - i % 8]);
	}
	assert_true(schedule_shares(performer.schedule)->blocks >= 8);
	performer_free(&performer);
}

/* Two kinds in turning orders, both as often first. */
static void batches_that_do_not_come_again_have_no_cached_windows(void **state)
{
	struct performer performer = performer_new(&performer_usual);
	unsigned first[3] = {0}, at = 0;

	(void)state;
	strcpy(performer.trace->loader.no_list, "an IterableDataset");
	assert_int_equal(performer_run(&performer), SCHEDULE_DONE);
	assert_int_equal(performer_count(performer.trace, TRACE_CACHED), 0);
	for (unsigned i = 0; i < performer.trace->window_count; i++) {
		const struct trace_window *window = &performer.trace->windows[i];

		if (window->block >= 6)
			continue;
		assert_int_equal(window->flags, 0);
		first[window->kind] += at++ % 2 == 0;
	}
	assert_int_equal(first[TRACE_SYNTHETIC], 3);
	assert_int_equal(first[TRACE_REAL], 3);
	assert_in_range(schedule_shares(performer.schedule)->blocks, 8, 20);
	performer_free(&performer);
}

/* Its list is given up while the second block is measured. */
static void batches_that_turn_out_others_begin_anew_without_cached_windows(void **state)
{
	struct performer performer = performer_new(&performer_usual);
	struct trace *trace = performer.trace;
	const struct shares *shares = schedule_shares(performer.schedule);
	unsigned cached, prep;

	(void)state;
	trace->loader.kind = TRACE_TORCH;
	while (trace->window_now < 5)
		performer_next(&performer);
	for (unsigned i = 0; i < trace->window_now; i++)
		trace->windows[i].made.listed_bytes = 1;
	strcpy(trace->loader.no_list, "a data set that reads other files each time");
	cached = performer_count(trace, TRACE_CACHED);
	prep = performer_count(trace, TRACE_PREP);
	assert_int_equal(performer_run(&performer), SCHEDULE_DONE);
	assert_int_equal(performer_count(trace, TRACE_CACHED), cached);
	assert_int_equal(performer_count(trace, TRACE_PREP), prep);
	assert_in_range(shares->blocks, 8, 20);
	assert_true(isnan(shares->rates[STAGE_PREP].value));
	assert_true(fabs(shares->stalls[STAGE_COMPUTE].value - .5) < .01);
	performer_free(&performer);
}

/* Twice what slows the step, and prep; once with fewer workers. */
static void of_a_loader_of_the_programs_own_there_is_prep(void **state)
{
	struct performer performer = performer_new(&performer_usual);
	unsigned workers = 0;

	(void)state;
	performer.trace->loader.kind = TRACE_TORCH;
	performer.trace->loader.workers = 4;
	performer_run(&performer);
	for (unsigned i = 0; i < performer.trace->window_count; i++)
		if (performer.trace->windows[i].kind == TRACE_PREP)
			workers |= 1u << performer.trace->windows[i].workers;
	assert_int_equal(workers, 1u << 0 | 1u << 1 | 1u << 2);
	assert_int_equal(performer_count(performer.trace, TRACE_LOADED), 2);
	assert_int_equal(performer_count(performer.trace, TRACE_PREP), 4);
	assert_int_equal(performer_count(performer.trace, TRACE_FETCH), 0);
	performer_free(&performer);
}

static void loaded_windows_that_are_void_are_asked_for_again(void **state)
{
	struct performer performer = performer_new(&performer_usual);

	(void)state;
	performer.void_kind = TRACE_LOADED;
	performer.void_every = 2;
	performer_run(&performer);
	assert_int_equal(performer_count(performer.trace, TRACE_LOADED), 5);
	performer_free(&performer);
	performer = performer_new(&performer_usual);
	performer.void_kind = TRACE_LOADED;
	performer.void_every = 1;
	assert_int_equal(performer_run(&performer), SCHEDULE_DONE);
	assert_int_equal(performer_count(performer.trace, TRACE_LOADED), 3 + 3);
	performer_free(&performer);
}

static void extras_take_a_fifth_and_cover_the_curves(void **state)
{
	struct performer performer = performer_new(&performer_usual);
	double seconds = 0;
	unsigned paired = 0, depths = 0, workers = 0;

	(void)state;
	performer_run(&performer);
	for (unsigned i = 1; i < performer.trace->window_count; i++) {
		const struct trace_window *window = &performer.trace->windows[i];

		if (window->block < TRACE_WINDOWS)
			continue;
		seconds += (double)(window->end.time_ns - window->switch_ns) * 1e-9;
		paired += (window->flags & TRACE_PAIRED) != 0;
		depths |= window->kind == TRACE_FETCH ? 1u << window->depth % 32 : 0;
		assert_int_equal(window->flags & TRACE_UNTHROTTLED, 0);
		workers |= window->kind == TRACE_PREP ? 1u << window->workers : 0;
		if (window->kind == TRACE_LOADED)
			assert_true(window->stage >= 1000);
	}
	assert_true(seconds <= 12.5);
	assert_true(paired >= 4);
	assert_true(performer_count(performer.trace, TRACE_LOADED) >= 2);
	assert_int_equal(workers, 1u << 0 | 1u << 1 | 1u << 2);
	/* 0 is as configured, 16; 32 counts as 0 here. */
	assert_int_equal(depths, 1u << 0 | 1u << 1 | 1u << 2 | 1u << 4 | 1u << 8);
	performer_free(&performer);
}

static void what_is_under_an_emulated_storage_is_measured(void **state)
{
	struct performer performer = performer_new(&performer_usual);
	unsigned depths = 0;

	(void)state;
	performer.trace->loader.storage_latency = .005;
	performer_run(&performer);
	for (unsigned i = 1; i < performer.trace->window_count; i++) {
		const struct trace_window *window = &performer.trace->windows[i];

		if (window->flags != TRACE_UNTHROTTLED)
			continue;
		assert_int_equal(window->kind, TRACE_FETCH);
		depths |= 1u << window->depth;
	}
	assert_int_equal(depths, 1u << 0 | 1u << 1);
	performer_free(&performer);
}

/* One answer alone and many at once tell latency and bandwidth apart: before all else that a
 * verdict can do without. */
static void of_servers_three_depths_come_first(void **state)
{
	struct performer performer = performer_new(&performer_usual);
	unsigned fetched = 0, last = 0, first_prep = UINT32_MAX, depths[8];

	(void)state;
	performer.trace->loader.remote = 1;
	performer_run(&performer);
	for (unsigned i = 1; i < performer.trace->window_count; i++) {
		const struct trace_window *window = &performer.trace->windows[i];

		if (window->kind == TRACE_PREP && first_prep == UINT32_MAX)
			first_prep = i;
		if (window->kind != TRACE_FETCH || fetched == 8)
			continue;
		if (fetched < 3)
			last = i;
		depths[fetched++] = window->depth;
	}
	assert_true(fetched >= 3 && last < first_prep);
	assert_int_equal(depths[0], 0);
	assert_int_equal(depths[1], 1);
	assert_int_equal(depths[2], 32);
	for (unsigned i = 3; i < fetched; i++)
		assert_true(depths[i] != 1 && depths[i] < 32);
	performer_free(&performer);
}

static void a_short_budget_shortens_windows(void **state)
{
	struct schedule_config config = performer_usual;
	struct performer performer;

	(void)state;
	config.budget_s = 12;
	performer = performer_new(&config);
	performer.noise = .05;
	assert_int_equal(performer_run(&performer), SCHEDULE_OUT);
	assert_true(schedule_shares(performer.schedule)->blocks >= 8);
	assert_true(performer_elapsed(&performer) <= 12.5);
	for (unsigned i = 1; i < performer.trace->window_count; i++) {
		const struct trace_window *window = &performer.trace->windows[i];

		assert_true(window->block >= TRACE_WINDOWS || window->steps >= 8);
	}
	performer_free(&performer);
}

static void void_windows_are_repeated(void **state)
{
	struct performer performer = performer_new(&performer_usual);

	(void)state;
	performer.void_every = 3;
	performer.void_kind = TRACE_CACHED;
	assert_int_equal(performer_run(&performer), SCHEDULE_DONE);
	assert_true(schedule_shares(performer.schedule)->blocks >= 8);
	assert_true(performer_count(performer.trace, TRACE_CACHED) >
		    performer_count(performer.trace, TRACE_REAL));
	performer_free(&performer);
}

static void what_is_always_void_is_given_up(void **state)
{
	struct performer performer = performer_new(&performer_usual);

	(void)state;
	performer.void_every = 1;
	performer.void_kind = TRACE_CACHED;
	assert_int_equal(performer_run(&performer), SCHEDULE_VOID);
	assert_non_null(strstr(schedule_why(performer.schedule), "came from storage"));
	assert_true(performer_count(performer.trace, TRACE_CACHED) < 12);
	performer_free(&performer);
}

static void one_kind_alone_is_measured_alone(void **state)
{
	struct schedule_config config = performer_usual;
	struct performer performer;

	(void)state;
	config.only = TRACE_CACHED;
	performer = performer_new(&config);
	assert_int_equal(performer_run(&performer), SCHEDULE_DONE);
	for (unsigned i = 1; i < performer.trace->window_count; i++) {
		assert_int_equal(performer.trace->windows[i].kind, TRACE_CACHED);
		assert_int_equal(performer.trace->windows[i].block, i - 1);
	}
	assert_true(performer.trace->window_count > 8);
	performer_free(&performer);
}

/* Sixteen windows of 20 ms a step, give or take .55: known to 1.5 %. */
static void a_rate_is_precise_at_twice_what_a_share_may_be_off_by(void **state)
{
	for (int rate = 0; rate < 2; rate++) {
		struct schedule_config config = performer_usual;
		struct trace *trace = session_new();
		struct schedule *schedule;

		(void)state;
		config.precision = .02;
		config.only = TRACE_REAL;
		config.rate = rate;
		schedule = schedule_new(&config);
		for (int i = 0; i < 16; i++) {
			const struct session_window did = {.kind = TRACE_REAL,
							   .block = i,
							   .steps = 10,
							   .samples = 32,
							   .step_ms = i % 2 ? 20.55
									    : 19.45,
							   .fetched = 320,
							   .prepared = 320};

			session_add(trace, &did);
		}
		assert_int_equal(schedule_look(schedule, trace), 0);
		assert_int_equal(schedule_precise(schedule), rate);
		schedule_free(schedule);
		session_free(trace);
	}
}

static void memory_short_is_told(void **state)
{
	(void)state;
	for (unsigned nth = 1; nth <= 3; nth++) {
		nomem_at(nth);
		assert_null(schedule_new(&performer_usual));
		nomem_at(0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stops_when_precise_after_eight_blocks),
		cmocka_unit_test(the_first_window_warms_up),
		cmocka_unit_test(noise_takes_more_blocks_and_then_the_budget),
		cmocka_unit_test(kinds_that_scatter_have_more_of_the_time),
		cmocka_unit_test(kinds_are_balanced_and_orders_mirrored),
		cmocka_unit_test(with_a_device_there_are_four_kinds),
		cmocka_unit_test(batches_that_do_not_come_again_have_no_cached_windows),
		cmocka_unit_test(
			batches_that_turn_out_others_begin_anew_without_cached_windows),
		cmocka_unit_test(of_a_loader_of_the_programs_own_there_is_prep),
		cmocka_unit_test(loaded_windows_that_are_void_are_asked_for_again),
		cmocka_unit_test(extras_take_a_fifth_and_cover_the_curves),
		cmocka_unit_test(what_is_under_an_emulated_storage_is_measured),
		cmocka_unit_test(of_servers_three_depths_come_first),
		cmocka_unit_test(a_short_budget_shortens_windows),
		cmocka_unit_test(void_windows_are_repeated),
		cmocka_unit_test(what_is_always_void_is_given_up),
		cmocka_unit_test(one_kind_alone_is_measured_alone),
		cmocka_unit_test(a_rate_is_precise_at_twice_what_a_share_may_be_off_by),
		cmocka_unit_test(memory_short_is_told),
	};

	return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
