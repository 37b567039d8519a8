/*
 * hook_test.c - a loader that the program brought: what the session hears of it, when it is
 * refused, what it counts, and how it ends.
 */
#include "tests/lib/test.h"
#include "tests/unit/profiler/hook/fake_loader.h"

TEST_WITH(describes_what_it_loads, begin, end)
{
	const struct trace_loader *about = &driven.trace->loader;

	assert_int_equal(driven.trace->loader_ready, 1);
	assert_int_equal(about->kind, TRACE_TORCH);
	assert_string_equal(about->dataset, "/pictures");
	assert_string_equal(about->source, "torch 1.13");
	assert_string_equal(about->cache, "page");
	assert_int_equal(about->workers, WORKERS);
	assert_int_equal(about->dataset_bytes, (uint64_t)FILE_BYTES * SAMPLES / 8);
	assert_true(about->estimated);
	assert_false(about->memory);
}

static void fails(const char *what)
{
	const struct trace_window *window = asked(TRACE_CACHED, 0, 0);

	fake.fails = what;
	assert_false(fake_step());
	fake.fails = NULL;
	said(" |");
	assert_false(fake_step());
	assert_int_equal(fake.log[strlen(fake.log) - 1], '|'); /* nothing was asked */
	assert_int_equal(window->state, TRACE_REFUSED);
	assert_true(dsa_hook_left());
}

TEST_WITH(a_drain_that_fails_ends_it, begin, end)
{
	fails("drain");
}

TEST_WITH(a_list_that_fails_ends_it, begin, end)
{
	fails("list");
}

TEST_WITH(a_start_that_fails_ends_it, begin, end)
{
	fails("list!");
}

TEST_WITH(another_epoch_refuses_the_window, begin, end)
{
	struct trace_window *cached = asked(TRACE_CACHED, 0, 0), *again;
	const char *why;

	while (cached->steps < 1)
		assert_true(fake_step());
	dsa_hook_cut(0);
	fake.source = HOOK_STREAM;
	assert_int_equal(cached->state, TRACE_REFUSED);
	assert_false(proven(cached, &why));
	assert_string_equal(why, "void: the program began another epoch");
	again = asked(TRACE_CACHED, 0, 0);
	fake_train(again);
	assert_true(proven(again, NULL));
}

TEST_WITH(a_step_outside_is_in_no_window, begin, end)
{
	struct trace_window *cached = asked(TRACE_CACHED, 0, 0);
	uint32_t steps;

	while (cached->steps < 3)
		assert_true(fake_step());
	steps = cached->steps;
	dsa_hook_outside();
	assert_true(fake_step());
	assert_int_equal(cached->steps, steps);
	assert_true(cached->outside_ns > 0);
}

TEST_WITH(the_end_is_told, begin, end)
{
	assert_true(fake_step());
	driven.trace->stop = 1;
	assert_false(fake_step());
	assert_false(dsa_hook_left());
	assert_int_equal(driven.trace->processes[0].counters[TRACE_delivered_batches],
			 1);
}

TEST_WITH(a_second_loader_is_refused, begin, end)
{
	assert_int_equal(dsa_hook_open(&fake_about, &fake_calls), -EBUSY);
}

TEST_WITH(a_program_with_libdsa_is_its_own, begin, end)
{
	dsa_hook_close();
	assert_int_equal(driven.trace->driver, 1);
	driven.trace->loader.kind = TRACE_LIBDSA;
	assert_int_equal(dsa_hook_open(&fake_about, &fake_calls), -EBUSY);
}

TEST_WITH(a_loader_follows_one_of_which_nothing_was_measured, begin, end)
{
	struct trace_window *cached = asked(TRACE_CACHED, 0, 0);

	while (cached->steps < 1)
		assert_true(fake_step());
	dsa_hook_cut(0);
	dsa_hook_close();
	assert_int_equal(dsa_hook_open(&fake_about, &fake_calls), 0);
	assert_int_equal(driven.trace->driver, 1);
	assert_false(dsa_hook_measured());
	fake_train(asked(TRACE_CACHED, 0, 0));
	assert_true(dsa_hook_measured());
	dsa_hook_close();
	assert_int_equal(dsa_hook_open(&fake_about, &fake_calls), -EBUSY);
}

TEST_WITH(why_it_goes_on_without_dsa_is_kept, begin, end)
{
	assert_false(dsa_hook_observes());
	fake.page->throttled = 1;
	dsa_hook_refuse("no _task_info");
	assert_false(fake.page->throttled);
	dsa_hook_refuse("something else");
	assert_int_equal(driven.trace->unmeasured, TRACE_SO_FAR);
	assert_string_equal(driven.trace->unmeasured_why, "no _task_info");
}

static uint64_t counted(enum trace_counter counter)
{
	return trace_driver(driven.trace)->counters[counter];
}

TEST_WITH(what_samples_take_is_counted_from_rest_to_rest, begin, end)
{
	driven.trace->observe = 1;
	driven.trace->until_samples = 80;
	assert_int_equal(dsa_hook_observes(), 2);
	assert_false(fake_step());
	assert_string_equal(fake.log, " drain count");
	assert_int_equal(counted(TRACE_delivered_samples), 80);
	assert_int_equal(counted(TRACE_counted_opens), 10);
	assert_int_equal(counted(TRACE_counted_reads), 20);
	assert_int_equal(counted(TRACE_counted_read_bytes), 10 * FILE_BYTES);
	assert_false(fake_step());
}

/* What is observed is throttled by dsa, from the start on. */
TEST_WITH(observed_programs_stay_throttled, begin, end)
{
	driven.trace->observe = 1;
	fake.page->throttled = 1;
	assert_int_equal(dsa_hook_observes(), 1);
	driven_ask(TRACE_REAL);
	for (int i = 0; i < 20; i++)
		assert_true(fake_step());
	dsa_hook_close();
	assert_true(fake.page->throttled);
}

/* Of which there are more than records. */
TEST_WITH(an_observed_run_has_whole_epochs_up_to_its_end, begin, end)
{
	enum { STEPS = TRACE_BATCHES / 4, EPOCHS = 11, KEPT = 3 }; /* 0, 4, 8 */
	const struct trace *trace = driven.trace;
	struct trace_window *window = asked(TRACE_REAL, UINT32_MAX, 0);
	uint32_t batches[EPOCHS] = {0}, steps[EPOCHS] = {0};

	driven.trace->observe = 1;
	window->length_ns = UINT64_MAX / 2;
	for (uint32_t step = 0; step < EPOCHS * STEPS; step++) {
		if (step > 0 && step % STEPS == 0) {
			assert_true(dsa_hook_request(clock_now()));
			dsa_hook_outside();
			dsa_hook_cut(0);
		}
		assert_true(fake_step());
	}
	assert_true(dsa_hook_request(clock_now()));
	dsa_hook_cut(0); /* so that all are counted */
	for (uint32_t i = 0; i < window->batch_records; i++)
		batches[trace->batches[window->first_batch + i].epoch]++;
	for (uint32_t i = 0; i < EPOCHS; i++)
		assert_int_equal(batches[i], i % 4 == 0 ? STEPS : 0);
	assert_int_equal(trace->dropped_batches, (EPOCHS - KEPT) * STEPS);
	for (uint32_t i = 0; i < window->step_records; i++)
		steps[trace->steps[i].epoch] += trace->steps[i].steps;
	for (uint32_t i = 0; i < EPOCHS; i++)
		assert_int_equal(steps[i],
				 i > 0 ? STEPS : window->steps - (EPOCHS - 1) * STEPS);
}

static void make_of(uint64_t loader, int batches)
{
	fake.loader = loader;
	for (int i = 0; i < batches; i++)
		make(OWN);
}

static void begin_epoch_of(uint64_t loader)
{
	dsa_hook_outside();
	dsa_hook_loader(loader);
	dsa_hook_cut(0);
}

/* Each epoch has an iterator of its own; the first is left with 2 batches that it does not
 * want, another loader validates, and one more comes late. */
TEST_WITH(batches_of_other_loaders_are_not_observed, begin, end)
{
	enum { STEPS = 10 };
	const struct trace *trace = driven.trace;
	struct trace_window *window = asked(TRACE_REAL, UINT32_MAX, 0);
	uint32_t batches[3] = {0};

	driven.trace->observe = 1;
	window->length_ns = UINT64_MAX / 2;
	dsa_hook_loader(11);
	make_of(11, 0);
	for (int i = 0; i < STEPS; i++)
		assert_true(fake_step());
	make_of(11, 2);
	make_of(99, 5);
	make_of(22, 1);
	begin_epoch_of(22);
	make_of(11, 1);
	make_of(22, 0);
	for (int i = 0; i < STEPS; i++)
		assert_true(fake_step());
	begin_epoch_of(33);
	for (uint32_t i = 0; i < window->batch_records; i++)
		batches[trace->batches[window->first_batch + i].epoch]++;
	assert_int_equal(batches[0], STEPS + 2);
	assert_int_equal(batches[1], 1 + STEPS);
	assert_int_equal(batches[2], 0);
	assert_int_equal(window->made.batches, 2 * STEPS + 3);
}

static int open_anew(uint32_t untrained)
{
	struct hook_about about = fake_about;

	about.untrained = untrained;
	fake.source = HOOK_STREAM;
	return dsa_hook_open(&about, &fake_calls);
}

/* In this process or another one; not of what trained, nor for what does not either. */
TEST_WITH(what_only_evaluated_is_forgotten_for_what_trains, begin, end)
{
	enum { STEPS = 30 };
	struct trace *trace = driven.trace;
	const struct trace_window *window = asked(TRACE_REAL, UINT32_MAX, 0);

	dsa_hook_close();
	trace->observe = 1;
	trace->windows[0].length_ns = UINT64_MAX;
	trace->driver = 0;
	assert_int_equal(open_anew(1), 0);
	assert_true(trace->loader.untrained);
	dsa_hook_epoch(5, 0);
	for (int i = 0; i < STEPS; i++)
		assert_true(fake_step());
	fake.page->parts[0].calls = 3;
	dsa_hook_close();
	assert_int_equal(window->state, TRACE_DONE);
	assert_int_equal(open_anew(1), -EBUSY);
	assert_true(window->steps > 0 && trace->batch_count > 0);
	assert_int_equal(open_anew(0), 0);
	assert_false(trace->loader.untrained);
	assert_int_equal(trace->epoch_starts + fake.page->parts[0].calls, 0);
	assert_int_equal(trace->loaders, 1);
	for (int i = 0; i < STEPS / 2; i++)
		assert_true(fake_step());
	dsa_hook_close();
	assert_int_equal(window->state, TRACE_DONE);
	assert_in_range(window->steps, 1, STEPS / 2);
	assert_in_range(window->made.batches, 1, STEPS / 2);
	assert_int_equal(counted(TRACE_delivered_batches), STEPS / 2);
	assert_int_equal(open_anew(0), -EBUSY);
}

TEST_WITH(one_of_several_programs_is_refused, begin, end)
{
	dsa_hook_close();
	driven.trace->driver = 0;
	fake.page->several = 1;
	assert_int_equal(dsa_hook_open(&fake_about, &fake_calls), -EBUSY);
	assert_int_equal(driven.trace->unmeasured, TRACE_NEVER); /* it has no libdsa */
	assert_non_null(strstr(driven.trace->unmeasured_why, "several programs"));
}

TEST_WITH(starts_of_epochs_add_up, begin, end)
{
	dsa_hook_epoch(5, 0);
	dsa_hook_epoch(7, 3);
	assert_int_equal(driven.trace->epoch_starts, 2);
	assert_int_equal(driven.trace->epoch_start_ns, 12);
	assert_int_equal(fake.page->epoch_first_ns, 5);
	dsa_hook_passing(9, 4);
	assert_int_equal(driven.trace->pickle_ns, 9);
	assert_int_equal(driven.trace->unpickle_ns, 4);
}
