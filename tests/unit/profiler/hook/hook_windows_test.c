/*
 * hook_windows_test.c - a loader that the program brought in the windows of a session: what
 * its hook is asked for, what is done to its files, and what proves its windows.
 */
#include "tests/lib/test.h"
#include "tests/unit/profiler/hook/fake_loader.h"

TEST_WITH(three_kinds_of_two_blocks_have_one_list, begin, end)
{
	struct trace_window *synthetic = asked(TRACE_SYNTHETIC, 2, 0);
	struct trace_window *cached = asked(TRACE_CACHED, 2, 0);
	struct trace_window *real = asked(TRACE_REAL, 3, TRACE_WARM);

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
TEST_WITH(batches_that_do_not_come_again_are_of_the_stream, begin, end)
{
	struct trace_window *synthetic, *cached, *real;

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

/* What is read is other than when it was listed, in two windows. */
TEST_WITH(lists_that_do_not_come_again_are_given_up, begin, end)
{
	struct trace_window *cached = asked(TRACE_CACHED, 0, 0), *real, *stream;
	const char *why;

	real = asked(TRACE_REAL, 0, TRACE_WARM);
	fake.more = 1;
	fake_train(cached);
	assert_string_equal(driven.trace->loader.no_list, "");
	fake_train(real);
	assert_string_equal(driven.trace->loader.no_list,
			    "a data set that reads other files each time");
	assert_false(proven(cached, &why));
	assert_non_null(strstr(why, "can't be given again"));
	assert_false(proven(real, NULL));
	cached = asked(TRACE_CACHED, 1, 0);
	stream = asked(TRACE_REAL, 1, TRACE_DRAW);
	fake.log[0] = '\0';
	fake_train(stream);
	assert_asked(" drain drain stream");
	assert_int_equal(cached->state, TRACE_REFUSED);
	assert_int_equal(stream->flags & TRACE_DRAW, 0);
	assert_true(proven(stream, NULL));
}

/* As those of which one is not: what a program keeps of a data base leaves no window proven. */
TEST_WITH(lists_of_which_a_part_does_not_come_again_are_given_up_later, begin, end)
{
	fake.more = 1;
	fake.more_of = LISTED;
	for (unsigned i = 0; i < 4; i++) {
		assert_string_equal(driven.trace->loader.no_list, "");
		fake_train(asked(TRACE_CACHED, 0, 0));
	}
	assert_string_equal(driven.trace->loader.no_list,
			    "a data set that reads other files each time");
}

/* As of a program that changed its data once. */
TEST_WITH(lists_that_mostly_come_again_are_kept, begin, end)
{
	struct trace_window *cached;

	for (unsigned i = 0; i < 6; i++) {
		cached = asked(TRACE_CACHED, 0, 0);
		fake.more = i % 2;
		fake_train(cached);
	}
	assert_string_equal(driven.trace->loader.no_list, "");
}

/* A loader beside the one that drives begins an epoch with another iterator. */
TEST_WITH(what_begins_an_epoch_beside_is_no_batch_of_a_window, begin, end)
{
	struct trace_window *synthetic = asked(TRACE_SYNTHETIC, 0, 0);

	dsa_hook_loader(1);
	dsa_hook_loader_beside(0, 2);
	assert_true(fake_step()); /* the window has begun, and settles */
	fake.loader = 3;
	make(OWN);
	dsa_hook_loader_beside(0, 3);
	while (synthetic->steps < 3)
		assert_true(fake_step());
	fake.loader = 4;
	make(OWN);
	dsa_hook_loader_beside(0, 4);
	fake_train(synthetic);
	assert_true(proven(synthetic, NULL));
	synthetic = asked(TRACE_SYNTHETIC, 1, 0);
	while (synthetic->steps < 3)
		assert_true(fake_step());
	make(OWN);
	fake_train(synthetic);
	assert_false(proven(synthetic, NULL));
}

TEST_WITH(windows_are_whole_rounds, begin, end)
{
	struct trace_window *cached = asked(TRACE_CACHED, 0, 0);

	cached->min_steps = 1;
	cached->settle = 1;
	cached->length_ns = 1;
	fake_train(cached);
	assert_int_equal(cached->steps, 4 * WORKERS);
	assert_int_equal(cached->made.batches, (4 + 2) * WORKERS);
}

TEST_WITH(a_warm_up_is_the_program_as_it_began, begin, end)
{
	struct trace_window *window = asked(TRACE_REAL, UINT32_MAX, TRACE_WARMUP);

	fake_train(window);
	assert_asked(" drain stream");
	assert_true(proven(window, NULL));
}

TEST_WITH(drawn_hits_evict_the_rest, begin, end)
{
	struct trace_window *real = asked(TRACE_REAL, 0, TRACE_DRAW);
	const char *why;

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

TEST_WITH(so_they_do_of_others_files, begin, end)
{
	struct trace_window *real = asked(TRACE_REAL, 0, TRACE_DRAW);

	real->hit = .25;
	fake.storage = FILE_BYTES * 3 / 4;
	fake.others = true;
	fake_train(real);
	assert_true(proven(real, NULL));
	real->made.storage_bytes = 0;
	assert_false(proven(real, NULL));
}

/* As many as cached ones, where as few steps are asked for. */
TEST_WITH(drawn_windows_are_whole_rounds_too, begin, end)
{
	struct trace_window *real = asked(TRACE_REAL, 0, TRACE_DRAW);

	real->min_steps = 1;
	real->length_ns = 1;
	dsa_hook_round(7);
	fake_train(real);
	assert_int_equal(real->most_steps % 7, 0);
	assert_int_equal(real->steps, 4 * 7);
}

/* Of batches that open many files a list has fewer. */
TEST_WITH(a_list_has_room_for_its_files, begin, end)
{
	enum { OPENS = 1000 };
	struct trace_window *cached = asked(TRACE_CACHED, 0, 0);
	const char *why;

	fake.page->slots[0].counters[IO_batches] = 2;
	fake.page->slots[0].counters[IO_opens] = 2 * OPENS;
	cached->min_steps = 1000;
	while (cached->steps < 1)
		assert_true(fake_step());
	assert_in_range(fake.listed, 80, IO_RANGES / OPENS);
	fake_train(cached);
	assert_true(proven(cached, &why));
	fake.page->dropped_ranges = 3;
	fake.unlisted = 5;
	cached = asked(TRACE_CACHED, 2, 0);
	fake_train(cached);
	assert_false(proven(cached, &why));
	assert_non_null(strstr(why, "no room for 5 parts"));
}

TEST_WITH(reads_that_are_not_seen_are_told, begin, end)
{
	struct trace_window *cached = asked(TRACE_CACHED, 0, 0);
	const char *why;

	while (cached->steps < 1)
		assert_true(fake_step());
	fake.page->slots[0].counters[IO_proc_bytes] += UINT64_C(100000000000);
	fake.page->slots[0].counters[IO_seen_bytes] += UINT64_C(90000000000);
	fake_train(cached);
	assert_false(proven(cached, &why));
	assert_non_null(strstr(why, "90000000000 of 100000000000 seen"));
}

/* Nothing that was read is seen, but batches wait for storage. */
TEST_WITH(so_are_batches_that_wait_for_storage_alone, begin, end)
{
	struct trace_window *real = asked(TRACE_REAL, 0, TRACE_WARM);
	const char *why;

	fake.blind = true;
	fake.storage = 4096;
	fake_train(real);
	assert_int_equal(real->made.unseen, TRACE_CALLS);
	assert_false(proven(real, &why));
	assert_non_null(strstr(why, "calls that are not seen"));
}

TEST_WITH(of_an_epoch_without_a_list_nothing_is_drawn, begin, end)
{
	struct trace_window *real = asked(TRACE_REAL, 0, TRACE_DRAW);

	fake.list_room = 5;
	fake_train(real);
	assert_asked(" drain clear list read100 list!");
	assert_int_equal(real->flags, TRACE_WARM);
}

TEST_WITH(batches_that_read_something_else_are_void, begin, end)
{
	struct trace_window *cached = asked(TRACE_CACHED, 0, 0);
	const char *why;

	fake.more = 1;
	fake_train(cached);
	assert_int_equal(cached->made.other, cached->made.batches);
	assert_false(proven(cached, &why));
	assert_non_null(strstr(why, "something else than the first time"));
}

TEST_WITH(cached_windows_that_read_from_storage_are_void, begin, end)
{
	struct trace_window *cached = asked(TRACE_CACHED, 0, 0);

	fake.storage = FILE_BYTES / 50;
	fake_train(cached);
	assert_false(proven(cached, NULL));
}

TEST_WITH(synthetic_windows_with_a_batch_are_void, begin, end)
{
	struct trace_window *synthetic = asked(TRACE_SYNTHETIC, 0, 0);

	while (synthetic->steps < 3)
		assert_true(fake_step());
	make(OWN);
	fake_train(synthetic);
	assert_int_equal(synthetic->made.batches, 1);
	assert_false(proven(synthetic, NULL));
}

TEST_WITH(copying_too_much_is_void, begin, end)
{
	struct trace_window *synthetic = asked(TRACE_SYNTHETIC, 0, 0);
	const char *why;

	assert_true(fake_step());
	dsa_hook_renewed(1000000000);
	fake_train(synthetic);
	assert_false(proven(synthetic, &why));
	assert_non_null(strstr(why, "copying what the program had changed"));
}

TEST_WITH(devices_are_waited_for_at_both_ends, begin, end)
{
	struct trace_window *synthetic = asked(TRACE_SYNTHETIC, 0, 0);
	const char *why;

	fake.still = TRACE_AWAITED;
	fake_train(synthetic);
	assert_int_equal(fake.stills, 2);
	assert_true(proven(synthetic, NULL));
	assert_int_equal(synthetic->made.devices, TRACE_AWAITED);
	fake.still = TRACE_CAPTURED;
	synthetic = asked(TRACE_SYNTHETIC, 0, 0);
	fake_train(synthetic);
	assert_false(proven(synthetic, &why));
	assert_non_null(strstr(why, "CUDA graph was being recorded"));
}

TEST_WITH(so_they_are_where_dsa_stops_the_data, begin, end)
{
	struct trace_window *synthetic = asked(TRACE_SYNTHETIC, 0, 0);

	fake.still = TRACE_AWAITED;
	synthetic->length_ns = UINT64_MAX / 2;
	while (synthetic->steps < 3)
		assert_true(fake_step());
	atomic_store(&driven.trace->stop, 1);
	assert_false(fake_step());
	assert_int_equal(fake.stills, 2);
}

TEST_WITH(lost_records_are_void, begin, end)
{
	struct trace_window *cached = asked(TRACE_CACHED, 0, 0);

	while (cached->steps < 1)
		assert_true(fake_step());
	fake.page->batches[(fake.page->batch_count - 1) % IO_BATCHES].number = 0;
	fake_train(cached);
	assert_int_equal(cached->made.lost, 1);
	assert_false(proven(cached, NULL));
}

TEST_WITH(records_beyond_their_room_are_counted, begin, end)
{
	struct trace_window *cached = asked(TRACE_CACHED, 0, 0);

	driven.trace->batch_count = TRACE_BATCHES - 1;
	fake_train(cached);
	assert_int_equal(cached->batch_records, 1);
	assert_int_equal(driven.trace->dropped_batches, cached->made.batches - 1);
}

TEST_WITH(only_real_windows_are_throttled, begin, end)
{
	const struct trace_window *cached = asked(TRACE_CACHED, 0, 0);
	const struct trace_window *real = asked(TRACE_REAL, 0, 0);

	while (cached->steps < 1)
		assert_true(fake_step());
	assert_false(fake.page->throttled);
	while (real->steps < 1)
		assert_true(fake_step());
	assert_true(fake.page->throttled);
}

TEST_WITH(workers_make_as_many_in_loaded_windows, begin, end)
{
	struct trace_window *loaded = asked(TRACE_LOADED, UINT32_MAX, 0);
	const char *why;

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

/* So it has as many cores as it has otherwise, and computes after as long a rest. */
TEST_WITH(a_loaded_step_waits_for_what_is_made_beside_it, begin, end)
{
	struct trace_window *loaded = asked(TRACE_LOADED, UINT32_MAX, 0);
	uint64_t given;

	while (loaded->steps < 3)
		assert_true(fake_step());
	given = fake.page->given;
	assert_int_equal(fake.page->loaded_from, fake.page->batch_count);
	for (uint64_t i = 0; i <= given; i++)
		make(LISTED);
	dsa_io_await_made(); /* returns, as one more is there */
	assert_int_equal(fake.page->loaded, WORKERS * 2);
	fake.page->batch_count--;
	fake.page->loaded = 0;
	dsa_io_await_made(); /* nobody makes it any more */
}

/* The program took longer for a step than they wait. */
TEST_WITH(workers_that_give_up_void_a_loaded_window, begin, end)
{
	struct trace_window *real = asked(TRACE_REAL, UINT32_MAX, 0);
	struct trace_window *loaded = asked(TRACE_LOADED, UINT32_MAX, 0);
	const char *why;

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

TEST_WITH(prep_alone_is_by_any_number_of_workers, begin, end)
{
	struct trace_window *own = asked(TRACE_PREP, UINT32_MAX, 0);
	struct trace_window *fewer = asked(TRACE_PREP, UINT32_MAX, 0);
	struct trace_window *more = asked(TRACE_PREP, UINT32_MAX, 0);

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

TEST_WITH(what_it_cannot_do_is_refused, begin, end)
{
	const struct trace_window *fetch = asked(TRACE_FETCH, UINT32_MAX, 0);

	fake_train(fetch);
	assert_int_equal(fetch->state, TRACE_REFUSED);
}
