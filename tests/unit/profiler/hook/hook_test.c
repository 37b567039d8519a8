/*
 * hook_test.c - a loader that the program brought in the windows of a session: what its
 * hook is asked for, what is done to its files, and what proves its windows.
 */
#include "loader/base/clock.h"
#include "profiler/hook/hook.h"
#include "profiler/io/dsa_io.h"
#include "profiler/session/window.h"
#include "tests/lib/driven.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	WORKERS = 2,
	SAMPLES = 1000,
	STEPS_EPOCH = 125,
	FILE_BYTES = 100000, /* of a batch, which reads one file */
	LISTED = 7,          /* key of the first batch of the list */
	OWN = 10000,         /* and of what comes from the stream */
};

static struct fake {
	struct io_page *page;
	char log[1024];
	int source, last_source;
	uint32_t listed, next;
	uint64_t storage;  /* bytes of a batch that come from storage */
	uint64_t more;     /* bytes that a batch reads beyond what it did first */
	uint64_t resident; /* of the list's bytes: per mille */
	uint32_t flags;    /* of batches */
	const char *fails; /* the call that does */
	int still;         /* what that returns */
	unsigned stills;
	uint32_t list_room; /* batches of an epoch; 0: enough */
} fake;

static void said(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void said(const char *format, ...)
{
	size_t length = strlen(fake.log);
	va_list args;

	va_start(args, format);
	vsnprintf(fake.log + length, sizeof(fake.log) - length, format, args);
	va_end(args);
}

/* ---- in place of the preload ---- */

struct io_page *dsa_io_page(void)
{
	return fake.page;
}

int dsa_io_list_read(double share, uint64_t seed)
{
	(void)seed;
	said(" read%.0f", 100 * share);
	return 0;
}

int dsa_io_list_evict(double share, uint64_t seed)
{
	(void)seed;
	said(" evict%.0f", 100 * share);
	return 0;
}

int dsa_io_list_resident(uint64_t *bytes, uint64_t *resident)
{
	*bytes = (uint64_t)fake.listed * FILE_BYTES;
	*resident = *bytes * fake.resident / 1000;
	return 0;
}

void dsa_io_list_clear(void)
{
	said(" clear");
}

/* A process makes a batch. */
static void make(uint64_t key)
{
	uint64_t at = fake.page->batch_count;
	struct io_batch *batch = &fake.page->batches[at % IO_BATCHES];

	batch->key = key;
	batch->begin_ns = clock_now();
	batch->end_ns = batch->begin_ns + 10;
	batch->io_ns = 5;
	batch->digest = key * 3;
	batch->bytes = FILE_BYTES + (fake.page->listing ? 0 : fake.more);
	batch->storage_bytes = fake.storage;
	batch->opens = 1;
	batch->samples = DRIVEN_BATCH;
	batch->pid = 42;
	batch->flags = fake.flags;
	fake.page->slots[0].counters[IO_samples] += DRIVEN_BATCH;
	fake.page->slots[0].counters[IO_bytes] += batch->bytes;
	batch->number = at + 1;
	fake.page->batch_count = at + 1;
}

/* ---- in place of Python ---- */

static int fake_does(const char *what, int result)
{
	said(" %s", what);
	return fake.fails != NULL && strcmp(fake.fails, what) == 0 ? -1 : result;
}

static int fake_drain(void)
{
	fake.source = -1;
	return fake_does("drain", 0);
}

static int fake_list(uint32_t batches)
{
	if (driven.trace->loader.no_list[0] != '\0')
		return fake_does("copy", 0);
	assert_true(fake.page->listing);
	assert_false(fake.page->throttled);
	fake.listed = batches;
	for (uint32_t i = 0; i < batches; i++)
		make(LISTED + i);
	return fake_does("list", fake.list_room > 0 ? 0 : (int)batches);
}

static int fake_start(uint32_t source)
{
	static const char *const names[] = {"stream", "list!", "pool", "loaded"};

	assert_int_equal(fake.source, -1);
	fake.source = (int)source;
	fake.next = 0;
	return fake_does(names[source], 0);
}

static int fake_still(void)
{
	fake.stills++;
	return fake.still;
}

/* As many batches as there are samples for; each reads a file. */
static int fake_count(uint32_t samples)
{
	assert_int_equal(fake.source, -1);
	for (uint32_t i = 0; i < samples; i += DRIVEN_BATCH) {
		make(OWN + i);
		fake.page->slots[0].counters[IO_opens]++;
		fake.page->slots[0].counters[IO_reads] += 2;
		dsa_hook_counted(DRIVEN_BATCH);
	}
	return fake_does("count", 0);
}

/* As an own one and a copy of it, of which there are 4 workers at the most. */
static int fake_make(uint32_t workers, uint64_t ns)
{
	(void)ns;
	if (workers > 4)
		return fake_does("make!", 1);
	for (uint32_t i = 0; i < 4; i++)
		make(LISTED + i);
	said(" make%u", workers);
	return 0;
}

static const struct hook_calls fake_calls = {fake_drain, fake_list,  fake_start,
					     fake_still, fake_count, fake_make};
static const struct hook_about fake_about = {
	.kind = TRACE_TORCH,
	.dataset = "/pictures",
	.source = "torch 1.13",
	.samples = SAMPLES,
	.steps_per_epoch = STEPS_EPOCH,
	.batch = DRIVEN_BATCH,
	.workers = WORKERS,
	.prefetch = 2,
};

/* The program's step; false: it is to end. */
static bool fake_step(void)
{
	if (dsa_hook_request(clock_now()) == 0)
		return false;
	if (fake.source == HOOK_LIST)
		make(LISTED + fake.next++ % fake.listed);
	if (fake.source == HOOK_STREAM)
		make(OWN + fake.next++);
	dsa_hook_delivered(DRIVEN_BATCH, 1);
	return true;
}

static void fake_train(const struct trace_window *window)
{
	for (int i = 0; i < 100000 && window->state < TRACE_DONE; i++)
		assert_true(fake_step());
	assert_true(window->state >= TRACE_DONE);
}

static int begin(void **state)
{
	if (driven_setup(state) < 0)
		return -1;
	fake = (struct fake){.page = calloc(1, sizeof(*fake.page)),
			     .source = HOOK_STREAM,
			     .resident = 1000};
	if (fake.page == NULL)
		return -1;
	make(1);
	make(2);
	return dsa_hook_open(&fake_about, &fake_calls);
}

static int end(void **state)
{
	dsa_hook_close();
	free(fake.page);
	return driven_teardown(state);
}

static struct trace_window *asked(enum trace_kind kind, uint32_t block, uint32_t flags)
{
	struct trace_window *window = driven_ask(kind);

	window->block = block;
	window->flags = flags;
	return window;
}

static bool proven(const struct trace_window *raw, const char **why)
{
	static struct window window;

	window_measure(driven.trace, (unsigned)(raw - driven.trace->windows), &window);
	if (why != NULL)
		*why = window.why;
	if (!window.certified)
		print_message("%s\n", window.why);
	return window.certified;
}

/* Of the hook and of the preload; what comes behind the last window is no matter. */
static void assert_asked(const char *log)
{
	fake.log[strlen(log)] = '\0';
	assert_string_equal(fake.log, log);
}

/* ---- tests ---- */

static void describes_what_it_loads(void **state)
{
	const struct trace_loader *about = &driven.trace->loader;

	(void)state;
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

static void three_kinds_of_two_blocks_have_one_list(void **state)
{
	struct trace_window *synthetic = asked(TRACE_SYNTHETIC, 2, 0);
	struct trace_window *cached = asked(TRACE_CACHED, 2, 0);
	struct trace_window *real = asked(TRACE_REAL, 3, TRACE_WARM);

	(void)state;
	fake_train(real);
	assert_asked(" drain clear list pool drain read100 list! drain "
		     "read100 list!");
	assert_int_equal(synthetic->made.batches, 0);
	assert_true(cached->made.batches >= 8 + 2 * WORKERS);
	assert_int_equal(cached->made.other, 0);
	assert_int_equal(cached->made.bytes,
			 (uint64_t)cached->made.batches * FILE_BYTES);
	assert_int_equal(cached->batch_records, cached->made.batches);
	assert_int_equal(driven.trace->batches[cached->first_batch].worker, 42);
	assert_true(proven(synthetic, NULL) && proven(cached, NULL) &&
		    proven(real, NULL));
}

/* Again, by a loader whose batches were seen to be of mapped files. */
static void batches_that_do_not_come_again_are_of_the_stream(void **state)
{
	struct trace_window *synthetic, *cached, *real;

	(void)state;
	dsa_hook_close();
	driven.trace->driver = 0;
	driven.trace->driver_done = 0;
	driven.trace->window_now = driven.trace->window_count = 0;
	fake.flags = IO_MAPPED | IO_LISTED;
	fake.log[0] = '\0';
	make(3);
	assert_int_equal(dsa_hook_open(&fake_about, &fake_calls), 0);
	assert_string_equal(driven.trace->loader.no_list, "mapped files");
	assert_false(driven.trace->loader.memory);
	synthetic = asked(TRACE_SYNTHETIC, 2, 0);
	cached = asked(TRACE_CACHED, 2, 0);
	asked(TRACE_SYNTHETIC, 5, 0);
	real = asked(TRACE_REAL, 5, 0);
	fake_train(real);
	assert_asked(" drain copy pool drain drain pool drain stream");
	assert_int_equal(cached->state, TRACE_REFUSED);
	assert_int_equal(real->made.unseen, TRACE_MAPPED);
	assert_true(real->batch_records > 0);
	assert_true(proven(synthetic, NULL) && proven(real, NULL));
}

static void windows_are_whole_rounds(void **state)
{
	struct trace_window *cached = asked(TRACE_CACHED, 0, 0);

	(void)state;
	cached->min_steps = 1;
	cached->settle = 1;
	cached->length_ns = 1;
	fake_train(cached);
	assert_int_equal(cached->steps, 4 * WORKERS);
	assert_int_equal(cached->made.batches, (4 + 2) * WORKERS);
}

static void a_warm_up_is_the_program_as_it_began(void **state)
{
	struct trace_window *window = asked(TRACE_REAL, UINT32_MAX, TRACE_WARMUP);

	(void)state;
	fake_train(window);
	assert_asked(" drain stream");
	assert_true(proven(window, NULL));
}

static void drawn_hits_evict_the_rest(void **state)
{
	struct trace_window *real = asked(TRACE_REAL, 0, TRACE_DRAW);
	const char *why;

	(void)state;
	real->hit = .25;
	real->min_steps = 60;
	real->length_ns = UINT64_C(3600000000000);
	fake.storage = FILE_BYTES * 3 / 4;
	fake.resident = 250;
	fake_train(real);
	assert_asked(" drain clear list read100 evict75 list!");
	/* no batch comes twice, as it would lie in memory then */
	assert_int_equal(real->most_steps, fake.listed - 2 * WORKERS);
	assert_int_equal(real->steps, real->most_steps);
	assert_true(proven(real, &why));
	real->made.storage_bytes /= 3;
	assert_false(proven(real, &why));
	assert_non_null(strstr(why, "were evicted"));
}

static void of_an_epoch_without_a_list_nothing_is_drawn(void **state)
{
	struct trace_window *real = asked(TRACE_REAL, 0, TRACE_DRAW);

	(void)state;
	fake.list_room = 5;
	fake_train(real);
	assert_asked(" drain clear list read100 list!");
	assert_int_equal(real->flags, TRACE_WARM);
}

static void batches_that_read_something_else_are_void(void **state)
{
	struct trace_window *cached = asked(TRACE_CACHED, 0, 0);
	const char *why;

	(void)state;
	fake.more = 1;
	fake_train(cached);
	assert_int_equal(cached->made.other, cached->made.batches);
	assert_false(proven(cached, &why));
	assert_non_null(strstr(why, "something else than the first time"));
}

static void cached_windows_that_read_from_storage_are_void(void **state)
{
	struct trace_window *cached = asked(TRACE_CACHED, 0, 0);

	(void)state;
	fake.storage = FILE_BYTES / 50;
	fake_train(cached);
	assert_false(proven(cached, NULL));
}

static void synthetic_windows_with_a_batch_are_void(void **state)
{
	struct trace_window *synthetic = asked(TRACE_SYNTHETIC, 0, 0);

	(void)state;
	while (synthetic->steps < 3)
		assert_true(fake_step());
	make(OWN);
	fake_train(synthetic);
	assert_int_equal(synthetic->made.batches, 1);
	assert_false(proven(synthetic, NULL));
}

static void copying_too_much_is_void(void **state)
{
	struct trace_window *synthetic = asked(TRACE_SYNTHETIC, 0, 0);
	const char *why;

	(void)state;
	assert_true(fake_step());
	dsa_hook_renewed(1000000000);
	fake_train(synthetic);
	assert_false(proven(synthetic, &why));
	assert_non_null(strstr(why, "copying what the program had changed"));
}

static void devices_are_waited_for_at_both_ends(void **state)
{
	struct trace_window *synthetic = asked(TRACE_SYNTHETIC, 0, 0);
	const char *why;

	(void)state;
	fake.still = TRACE_AWAITED;
	fake_train(synthetic);
	assert_int_equal(fake.stills, 2);
	assert_true(proven(synthetic, NULL));
	assert_int_equal(synthetic->made.devices, TRACE_AWAITED);
	fake.still = TRACE_CAPTURED;
	synthetic = asked(TRACE_SYNTHETIC, 0, 0);
	fake_train(synthetic);
	assert_false(proven(synthetic, &why));
	assert_non_null(strstr(why, "recorded a graph"));
}

static void lost_records_are_void(void **state)
{
	struct trace_window *cached = asked(TRACE_CACHED, 0, 0);

	(void)state;
	while (cached->steps < 1)
		assert_true(fake_step());
	fake.page->batches[(fake.page->batch_count - 1) % IO_BATCHES].number = 0;
	fake_train(cached);
	assert_int_equal(cached->made.lost, 1);
	assert_false(proven(cached, NULL));
}

static void only_real_windows_are_throttled(void **state)
{
	const struct trace_window *cached = asked(TRACE_CACHED, 0, 0);
	const struct trace_window *real = asked(TRACE_REAL, 0, 0);

	(void)state;
	while (cached->steps < 1)
		assert_true(fake_step());
	assert_false(fake.page->throttled);
	while (real->steps < 1)
		assert_true(fake_step());
	assert_true(fake.page->throttled);
}

static void workers_make_as_many_in_loaded_windows(void **state)
{
	struct trace_window *loaded = asked(TRACE_LOADED, UINT32_MAX, 0);
	const char *why;

	(void)state;
	while (loaded->steps < 3)
		assert_true(fake_step());
	assert_int_equal(fake.page->loaded, WORKERS * 2);
	assert_true(fake.page->given >= 3);
	make(LISTED);
	fake_train(loaded);
	assert_asked(" drain clear list read100 loaded");
	assert_int_equal(fake.page->loaded, 0);
	assert_true(proven(loaded, &why));
	assert_non_null(strstr(why, "1 batches made beside it"));
	loaded->made.batches = 0;
	assert_false(proven(loaded, NULL));
}

/* The program took longer for a step than they wait. */
static void workers_that_give_up_void_a_loaded_window(void **state)
{
	struct trace_window *real = asked(TRACE_REAL, UINT32_MAX, 0);
	struct trace_window *loaded = asked(TRACE_LOADED, UINT32_MAX, 0);
	const char *why;

	(void)state;
	fake_train(real);
	while (loaded->steps < 3)
		assert_true(fake_step());
	assert_true(fake.page->step_ns > 0);
	make(LISTED);
	fake.page->loaded = 0;
	fake_train(loaded);
	assert_false(proven(loaded, &why));
	assert_non_null(strstr(why, "beside all of it"));
}

static void prep_alone_is_by_any_number_of_workers(void **state)
{
	struct trace_window *own = asked(TRACE_PREP, UINT32_MAX, 0);
	struct trace_window *fewer = asked(TRACE_PREP, UINT32_MAX, 0);
	struct trace_window *more = asked(TRACE_PREP, UINT32_MAX, 0);

	(void)state;
	fewer->workers = 1;
	more->workers = 5;
	fake_train(more);
	assert_asked(" drain clear list read100 make0 make0 drain"
		     " drain read100 make1 make1 drain"
		     " drain read100 make! make! drain");
	assert_int_equal(own->made.batches, 4); /* of the measured part */
	assert_int_equal(own->samples, 4 * DRIVEN_BATCH);
	assert_true(proven(own, NULL) && proven(fewer, NULL));
	assert_false(proven(more, NULL));
}

static void what_it_cannot_do_is_refused(void **state)
{
	const struct trace_window *fetch = asked(TRACE_FETCH, UINT32_MAX, 0);

	(void)state;
	fake_train(fetch);
	assert_int_equal(fetch->state, TRACE_REFUSED);
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

static void a_drain_that_fails_ends_it(void **state)
{
	(void)state;
	fails("drain");
}

static void a_list_that_fails_ends_it(void **state)
{
	(void)state;
	fails("list");
}

static void a_start_that_fails_ends_it(void **state)
{
	(void)state;
	fails("list!");
}

static void another_epoch_refuses_the_window(void **state)
{
	struct trace_window *cached = asked(TRACE_CACHED, 0, 0), *again;
	const char *why;

	(void)state;
	while (cached->steps < 1)
		assert_true(fake_step());
	dsa_hook_cut();
	fake.source = HOOK_STREAM;
	assert_int_equal(cached->state, TRACE_REFUSED);
	assert_false(proven(cached, &why));
	assert_string_equal(why, "void: the program began another epoch");
	again = asked(TRACE_CACHED, 0, 0);
	fake_train(again);
	assert_true(proven(again, NULL));
}

static void a_step_outside_is_in_no_window(void **state)
{
	struct trace_window *cached = asked(TRACE_CACHED, 0, 0);
	uint32_t steps;

	(void)state;
	while (cached->steps < 3)
		assert_true(fake_step());
	steps = cached->steps;
	dsa_hook_outside(clock_now());
	assert_true(fake_step());
	assert_int_equal(cached->steps, steps);
	assert_true(cached->outside_ns > 0);
}

static void the_end_is_told(void **state)
{
	(void)state;
	assert_true(fake_step());
	driven.trace->stop = 1;
	assert_false(fake_step());
	assert_false(dsa_hook_left());
	assert_int_equal(driven.trace->processes[0].counters[TRACE_delivered_batches],
			 1);
}

static void a_second_loader_is_refused(void **state)
{
	(void)state;
	assert_int_equal(dsa_hook_open(&fake_about, &fake_calls), -EBUSY);
}

static void a_program_with_libdsa_is_its_own(void **state)
{
	(void)state;
	dsa_hook_close();
	assert_int_equal(driven.trace->driver, 1);
	assert_int_equal(dsa_hook_open(&fake_about, &fake_calls), -EBUSY);
}

static void why_it_goes_on_without_dsa_is_kept(void **state)
{
	(void)state;
	assert_false(dsa_hook_observes());
	dsa_hook_refuse("no _task_info");
	dsa_hook_refuse("something else");
	assert_int_equal(driven.trace->unmeasured, 1);
	assert_string_equal(driven.trace->unmeasured_why, "no _task_info");
}

static uint64_t counted(enum trace_counter counter)
{
	return trace_driver(driven.trace)->counters[counter];
}

static void what_samples_take_is_counted_from_rest_to_rest(void **state)
{
	(void)state;
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
static void observed_programs_stay_throttled(void **state)
{
	(void)state;
	driven.trace->observe = 1;
	fake.page->throttled = 1;
	assert_int_equal(dsa_hook_observes(), 1);
	driven_ask(TRACE_REAL);
	for (int i = 0; i < 20; i++)
		assert_true(fake_step());
	dsa_hook_close();
	assert_true(fake.page->throttled);
}

static void one_of_several_programs_is_refused(void **state)
{
	(void)state;
	dsa_hook_close();
	driven.trace->driver = 0;
	fake.page->several = 1;
	assert_int_equal(dsa_hook_open(&fake_about, &fake_calls), -EBUSY);
	assert_int_equal(driven.trace->unmeasured, 1);
	assert_non_null(strstr(driven.trace->unmeasured_why, "several programs"));
}

static void starts_of_epochs_add_up(void **state)
{
	(void)state;
	dsa_hook_epoch(5);
	dsa_hook_epoch(7);
	assert_int_equal(driven.trace->epoch_starts, 2);
	assert_int_equal(driven.trace->epoch_start_ns, 12);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(describes_what_it_loads),
		TEST(three_kinds_of_two_blocks_have_one_list),
		TEST(batches_that_do_not_come_again_are_of_the_stream),
		TEST(windows_are_whole_rounds),
		TEST(a_warm_up_is_the_program_as_it_began),
		TEST(drawn_hits_evict_the_rest),
		TEST(of_an_epoch_without_a_list_nothing_is_drawn),
		TEST(batches_that_read_something_else_are_void),
		TEST(cached_windows_that_read_from_storage_are_void),
		TEST(synthetic_windows_with_a_batch_are_void),
		TEST(copying_too_much_is_void),
		TEST(devices_are_waited_for_at_both_ends),
		TEST(lost_records_are_void),
		TEST(only_real_windows_are_throttled),
		TEST(workers_make_as_many_in_loaded_windows),
		TEST(workers_that_give_up_void_a_loaded_window),
		TEST(prep_alone_is_by_any_number_of_workers),
		TEST(what_it_cannot_do_is_refused),
		TEST(a_drain_that_fails_ends_it),
		TEST(a_list_that_fails_ends_it),
		TEST(a_start_that_fails_ends_it),
		TEST(another_epoch_refuses_the_window),
		TEST(a_step_outside_is_in_no_window),
		TEST(the_end_is_told),
		TEST(a_second_loader_is_refused),
		TEST(a_program_with_libdsa_is_its_own),
		TEST(why_it_goes_on_without_dsa_is_kept),
		TEST(starts_of_epochs_add_up),
		TEST(what_samples_take_is_counted_from_rest_to_rest),
		TEST(observed_programs_stay_throttled),
		TEST(one_of_several_programs_is_refused),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("hook", tests, NULL, NULL);
}
