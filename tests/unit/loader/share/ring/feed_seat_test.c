/* Who reads the feed, who must not, and what is left when one side goes. */
#include "loader/base/error.h"
#include "loader/share/ring/feed.h"
#include "tests/lib/feeder.h"
#include "tests/lib/nomem.h"

#include <errno.h>
#include <linux/memfd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static void the_slowest_reader_holds_the_writer_back(void **state)
{
	struct feed *feed = feed_open(&feeder_config, NULL);
	struct feed_reader *fast = feeder_join(feed, 0, false, NULL);
	struct feed_reader *slow = feeder_join(feed, 0, false, NULL);
	struct feed_batch batch, first, second;
	uint32_t published = 0;

	(void)state;
	while (feeder_put(feed, published, FEEDER_BATCH, 0, false))
		published += FEEDER_BATCH;
	assert_int_equal(published, FEEDER_PLACES);
	assert_true(feed_full_since(feed) > 0);
	while (feeder_take(fast, FEEDER_BATCH, &batch) == 1)
		feed_release(fast, &batch);
	assert_false(feeder_put(feed, published, FEEDER_BATCH, 0, false));
	assert_int_equal(feeder_take(slow, FEEDER_BATCH, &first), 1);
	assert_int_equal(feeder_take(slow, FEEDER_BATCH, &second), 1);
	assert_int_equal(feed_release(slow, &second), 0);
	assert_int_equal(feed_release(slow, &second), -EINVAL);
	assert_false(feeder_put(feed, published, FEEDER_BATCH, 0,
				false)); /* the first is held */
	assert_int_equal(feed_release(slow, &first), 0);
	assert_int_equal(feed_tail(feed), second.end);
	assert_true(feeder_put(feed, published, FEEDER_BATCH, 0, false));
	assert_int_equal(feed_full_since(feed), 0);
	feed_leave(slow); /* what it held is free at once */
	assert_int_equal(feed_tail(feed), feed_next(fast));
	feed_leave(fast);
	feed_close(feed);
}

static void a_dropped_reader_keeps_what_it_holds(void **state)
{
	struct feed *feed = feed_open(&feeder_config, NULL);
	uint32_t seat, published = 0, seen = 12;
	struct feed_reader *stopped = feeder_join(feed, 0, false, &seat);
	struct feed_reader *other = feeder_join(feed, 0, false, NULL);
	struct feed_seat_state said;
	struct feed_batch held, batch;

	(void)state;
	assert_true(feeder_put(feed, 0, FEEDER_BATCH, 0, false));
	assert_true(feeder_put(feed, FEEDER_BATCH, FEEDER_BATCH, 0, false));
	published = 2 * FEEDER_BATCH;
	assert_int_equal(feeder_take(stopped, 5, &held), 1);
	assert_int_equal(feeder_take(other, 12, &batch), 1);
	feed_release(other, &batch);
	feed_drop(feed, seat);
	feed_seat_state(feed, seat, &said);
	assert_true(said.dropped);
	assert_int_equal(said.released, 0);
	assert_int_equal(said.taken, 5);
	for (int round = 0; round < 100; round++) { /* many times round */
		while (feeder_put(feed, published, FEEDER_BATCH, 0, false))
			published += FEEDER_BATCH;
		assert_int_equal(feeder_take(other, 7, &batch), 1);
		assert_int_equal(feeder_samples[0], seen);
		feed_release(other, &batch);
		seen += batch.count;
	}
	for (uint32_t i = 0; i < held.count; i++)
		feeder_samples[i] = i;
	feeder_check(stopped, &held);
	assert_int_equal(feeder_take(stopped, 5, &batch), -ENOLINK);
	assert_int_equal(feed_next(stopped), 5);
	feed_leave(stopped);
	feed_leave(other);
	feed_close(feed);
}

/* Voids among the last FEEDER_PLACES numbers. */
static uint32_t islands(const struct feed *feed)
{
	uint64_t end = feed_published(feed);
	uint32_t count = 0;

	for (uint64_t at = end - FEEDER_PLACES; at < end; at++)
		count += feed_place(feed, at)->flags == FEED_ISLAND;
	return count;
}

static void an_island_is_gone_when_it_is_given_back(void **state)
{
	struct feed *feed = feed_open(&feeder_config, NULL);
	uint32_t seat, published = 0;
	struct feed_reader *stopped = feeder_join(feed, 0, false, &seat);
	struct feed_reader *other = feeder_join(feed, 0, false, NULL);
	struct feed_batch held, batch;

	(void)state;
	for (int round = 0; round < 60; round++) {
		while (feeder_put(feed, published, FEEDER_BATCH, 0, false))
			published += FEEDER_BATCH;
		if (round == 1) {
			assert_int_equal(feeder_take(stopped, 5, &held), 1);
			feed_drop(feed, seat);
		}
		if (round == 30) {
			assert_int_equal(islands(feed), 5);
			assert_int_equal(feed_release(stopped, &held), 0);
		}
		assert_int_equal(feeder_take(other, 7, &batch), 1);
		feed_release(other, &batch);
	}
	assert_int_equal(islands(feed), 0);
	feed_leave(stopped);
	feed_leave(other);
	feed_close(feed);
}

static void a_seat_that_was_given_anew_does_not_take_its_old_reader_back(void **state)
{
	struct feed *feed = feed_open(&feeder_config, NULL);
	uint32_t first, second;
	struct feed_reader *old = feeder_join(feed, 0, false, &first), *fresh;
	struct feed_batch batch, held;

	(void)state;
	feeder_put(feed, 0, FEEDER_BATCH, 0, false);
	assert_int_equal(feeder_take(old, 2, &held), 1);
	feed_stand(feed, first);
	feed_stand(feed, first);
	fresh = feeder_join(feed, FEEDER_BATCH, false, &second);
	assert_int_equal(first, second);
	assert_int_equal(feeder_take(old, 2, &batch), -ENOLINK);
	feed_release(old, &held); /* writes to its own page alone */
	assert_int_equal(feed_tail(feed), FEEDER_BATCH);
	feed_leave(old);
	feeder_put(feed, FEEDER_BATCH, FEEDER_BATCH, 0, false);
	assert_int_equal(feed_tail(feed), FEEDER_BATCH);
	assert_int_equal(feeder_take(fresh, 2, &batch), 1);
	feed_leave(fresh);
	feed_close(feed);
}

static void seats_run_out_and_old_numbers_are_refused(void **state)
{
	struct feed *feed = feed_open(&feeder_config, NULL);
	struct feed_seat seat;
	struct error err = {0};

	(void)state;
	for (int i = 0; i < FEED_SEATS; i++)
		assert_int_equal(feed_sit(feed, 0, &seat, &err), i);
	assert_int_equal(feed_sit(feed, 0, &seat, &err), -EBUSY);
	for (uint32_t i = 1; i < FEED_SEATS; i++)
		feed_stand(feed, i);
	feeder_put(feed, 0, FEEDER_BATCH, 0, false);
	feed_stand(feed, 0);
	assert_int_equal(feed_tail(feed), 0); /* it stays where the last one stood */
	assert_int_equal(feed_sit(feed, 0, &seat, &err), 0);
	assert_int_equal(feed_sit(feed, 5, &seat, &err), 1);
	feed_stand(feed, 0);
	assert_int_equal(feed_sit(feed, 4, &seat, &err), -EINVAL);
	assert_int_equal(feed_sit(feed, 1000, &seat, &err), 0); /* later is allowed */
	feed_close(feed);
}

/* With nobody who reads, what is published stays as it is. */
static void a_feed_without_readers_fills_and_stops(void **state)
{
	struct feed *feed = feed_open(&feeder_config, NULL);
	uint32_t published = 0;

	(void)state;
	while (feeder_put(feed, published, FEEDER_BATCH, 0, false))
		published += FEEDER_BATCH;
	assert_int_equal(published, FEEDER_PLACES);
	feed_close(feed);
}

static void lies_of_a_seat_are_not_believed(void **state)
{
	struct feed *feed = feed_open(&feeder_config, NULL);
	struct feed_reader *honest = feeder_join(feed, 0, false, NULL);
	struct feed_seat seat;
	int number = feed_sit(feed, 0, &seat, NULL);
	uint64_t *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, seat.page, 0);
	struct feed_seat_state said;
	struct feed_batch batch;

	(void)state;
	assert_true(page != MAP_FAILED && number >= 0);
	assert_int_equal(ftruncate(seat.page, 0), -1); /* no SIGBUS for the writer */
	feeder_put(feed, 0, FEEDER_BATCH, 0, false);
	memset(page, 0xff, 4096);
	feed_seat_state(feed, (uint32_t)number, &said);
	assert_int_equal(said.taken, FEEDER_BATCH);
	assert_int_equal(said.released, FEEDER_BATCH);
	memset(page, 0, 4096); /* and back again */
	feed_seat_state(feed, (uint32_t)number, &said);
	assert_int_equal(said.released, FEEDER_BATCH);
	assert_int_equal(feed_tail(feed), 0); /* the honest one's */
	assert_int_equal(feeder_take(honest, FEEDER_BATCH, &batch), 1);
	munmap(page, 4096);
	feed_leave(honest);
	feed_close(feed);
}

static void a_reader_cannot_write_to_the_samples(void **state)
{
	struct feed *feed = feed_open(&feeder_config, NULL);
	struct feed_reader *reader = feeder_join(feed, 0, false, NULL);
	struct feed_batch batch;
	void *page;
	int fd = dup(feed_fd(feed));

	(void)state;
	feeder_put(feed, 0, FEEDER_BATCH, 0, false);
	assert_int_equal(feeder_take(reader, 1, &batch), 1);
	page = (void *)((uintptr_t)batch.data / 4096 * 4096);
	assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_WRITE), -1);
	assert_true(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) ==
		    MAP_FAILED);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	close(fd);
	feed_leave(reader);
	feed_close(feed);
}

static void the_end_comes_after_all_that_was_published(void **state)
{
	struct feed *feed = feed_open(&feeder_config, NULL);
	struct feed_reader *reader = feeder_join(feed, 0, false, NULL);
	struct feed_batch batch;
	struct error err = {0};

	(void)state;
	feeder_put(feed, 0, FEEDER_BATCH, 0, false);
	feed_end(feed, 0, NULL);
	assert_int_equal(feeder_take(reader, 5, &batch), 1);
	assert_int_equal(feeder_take(reader, 5, &batch), 1);
	assert_int_equal(batch.count, 3);
	assert_int_equal(feeder_take(reader, 5, &batch), -ENODATA);
	feed_leave(reader);
	feed_close(feed);

	feed = feed_open(&feeder_config, NULL);
	reader = feeder_join(feed, 0, false, NULL);
	feed_end(feed, EIO, "the disk is gone");
	feed_close(feed); /* its memory outlives it */
	assert_int_equal(
		feed_take(reader, 5, 0, &batch, feeder_labels, feeder_samples, &err),
		-EPIPE);
	assert_string_equal(err.message, "the disk is gone");
	feed_leave(reader);
}

static void an_orphan_takes_what_is_left(void **state)
{
	struct feed *feed = feed_open(&feeder_config, NULL);
	struct feed_reader *reader = feeder_join(feed, 0, false, NULL);
	struct feed_batch batch;

	(void)state;
	feeder_put(feed, 0, FEEDER_BATCH, 0, false);
	assert_int_equal(feeder_take(reader, 5, &batch), 1);
	assert_int_equal(feeder_take(reader, 5, &batch), -EAGAIN);
	feed_orphan(reader);
	assert_int_equal(feeder_take(reader, 5, &batch), 1);
	assert_int_equal(batch.count, 3);
	assert_int_equal(feeder_take(reader, 5, &batch), -EPIPE);
	assert_int_equal(feed_next(reader), feed_published(feed));
	feed_leave(reader);
	feed_close(feed);
}

static void another_writer_goes_on_where_one_ended(void **state)
{
	struct feed_config later = feeder_config;
	struct feed *feed = feed_open(&feeder_config, NULL);
	struct feed_wreck wreck;
	struct feed_reader *reader;
	struct feed_batch batch;

	(void)state;
	feeder_put(feed, 0, FEEDER_BATCH, 0, false);
	feed_save(feed, "first", 6);
	feed_save(feed, "second state", 13);
	feed_save(feed, "too long", 101); /* not taken */
	assert_int_equal(feed_wreck_open(feed_fd(feed), &wreck, NULL), 0);
	feed_close(feed);
	assert_int_equal(wreck.state_bytes, 13);
	assert_string_equal(wreck.state, "second state");
	assert_int_equal(wreck.published, FEEDER_BATCH);
	assert_int_equal(wreck.last.lap, 7);
	assert_int_equal(wreck.last.position, FEEDER_BATCH);
	later.sequence = wreck.published;
	feed_wreck_close(&wreck);

	feed = feed_open(&later, NULL);
	assert_int_equal(feed_tail(feed), FEEDER_BATCH);
	assert_null(feed_place(feed, FEEDER_BATCH - 1));
	assert_int_equal(feed_wreck_open(feed_fd(feed), &wreck, NULL), 0);
	assert_null(wreck.state);
	assert_int_equal(wreck.last.sequence, 0);
	feed_wreck_close(&wreck);
	reader = feeder_join(feed, FEEDER_BATCH, false, NULL);
	feeder_put(feed, 40, FEEDER_BATCH, 0, false);
	assert_int_equal(feeder_take(reader, 3, &batch), 1);
	assert_int_equal(batch.first, FEEDER_BATCH);
	assert_int_equal(feeder_samples[0], 40);
	feed_leave(reader);
	feed_close(feed);
}

static void checksums_find_what_was_changed(void **state)
{
	struct feed_config config = feeder_config;
	struct feed *feed;
	struct feed_reader *reader;
	struct feed_batch batch, held;
	uint32_t *word;

	(void)state;
	config.audit = true;
	feed = feed_open(&config, NULL);
	reader = feeder_join(feed, 0, true, NULL);
	feeder_put(feed, 0, FEEDER_BATCH, 0, false);
	/* the slot's places are where they were: this is the fault to be found */
	word = feed_outlet(feed)->ops->sample(feed_outlet(feed), 0, 6);
	assert_int_equal(feeder_take(reader, 4, &batch), 1);
	assert_int_equal(feed_release(reader, &batch), 0);
	*word ^= 1;
	assert_int_equal(
		feed_take(reader, 4, 0, &batch, feeder_labels, feeder_samples, NULL),
		-EBADMSG);
	*word ^= 1;
	feeder_put(feed, FEEDER_BATCH, FEEDER_BATCH, 0, false);
	assert_int_equal(feeder_take(reader, 4, &held), 1);
	word = feed_outlet(feed)->ops->sample(feed_outlet(feed), 0, 1);
	*word ^= 1;
	assert_int_equal(feed_release(reader, &held), -EBADMSG);
	feed_leave(reader);
	feed_close(feed);
}

static void a_reader_of_no_feed_is_refused(void **state)
{
	struct feed *feed = feed_open(&feeder_config, NULL);
	struct feed_seat seat;
	struct feed_reader_config config = {.epoch_places = 1, .remaining = 1};
	struct error err = {0};
	int pipes[2];

	(void)state;
	assert_int_equal(feed_sit(feed, 0, &seat, NULL), 0);
	config.memory = dup(feed_fd(feed));
	config.page = dup(seat.page);
	config.event = dup(seat.event);
	config.audit = true; /* it has none */
	assert_null(feed_read(&config, &err));
	assert_int_equal(err.code, EINVAL);
	config.audit = false;
	config.memory = dup(seat.page); /* not sealed as a feed is */
	config.page = dup(seat.page);
	config.event = dup(seat.event);
	assert_null(feed_read(&config, &err));
	assert_int_equal(err.code, EBADMSG);
	config.memory = memfd_create("empty", MFD_ALLOW_SEALING);
	config.page = dup(seat.page);
	config.event = dup(seat.event);
	assert_null(feed_read(&config, &err));
	assert_int_equal(err.code, EBADMSG);
	assert_int_equal(pipe(pipes), 0); /* could kill with SIGPIPE */
	config.memory = dup(feed_fd(feed));
	config.page = dup(seat.page);
	config.event = pipes[1];
	assert_null(feed_read(&config, &err));
	assert_int_equal(err.code, EBADMSG);
	close(pipes[0]);
	feed_close(feed);
}

static void impossible_feeds_are_refused(void **state)
{
	struct feed_config bad[6];
	struct error err = {0};

	(void)state;
	for (int i = 0; i < 6; i++)
		bad[i] = feeder_config;
	bad[0].places = FEEDER_BATCH - 1;
	bad[1].slots = 0;
	bad[2].sample_bytes = 0;
	bad[3].sample_bytes = SIZE_MAX / 4;
	bad[4].state_bytes = SIZE_MAX / 4;
	bad[5].places = UINT32_MAX / 2;
	for (int i = 0; i < 6; i++) {
		assert_null(feed_open(&bad[i], &err));
		assert_int_equal(err.code, EINVAL);
	}
}

static void memory_that_runs_out_is_an_error(void **state)
{
	struct feed_config config = feeder_config;
	struct feed *feed = NULL;
	struct feed_reader *reader;
	struct feed_wreck wreck;
	struct error err = {0};
	unsigned nth = 1;

	(void)state;
	config.audit = true;
	for (; feed == NULL; nth++) {
		nomem_at(nth);
		feed = feed_open(&config, &err);
		nomem_at(0);
		assert_true(feed != NULL || err.code == ENOMEM);
	}
	assert_true(nth > 4);
	for (nth = 1, reader = NULL; reader == NULL; nth++) {
		nomem_at(nth);
		reader = feeder_join(feed, 0, true, NULL);
		nomem_at(0);
	}
	assert_true(nth > 3);
	feed_save(feed, "state", 6);
	nomem_at(1);
	assert_int_equal(feed_wreck_open(feed_fd(feed), &wreck, &err), -ENOMEM);
	nomem_at(0);
	feed_leave(reader);
	feed_close(feed);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_slowest_reader_holds_the_writer_back),
		cmocka_unit_test(a_dropped_reader_keeps_what_it_holds),
		cmocka_unit_test(an_island_is_gone_when_it_is_given_back),
		cmocka_unit_test(
			a_seat_that_was_given_anew_does_not_take_its_old_reader_back),
		cmocka_unit_test(seats_run_out_and_old_numbers_are_refused),
		cmocka_unit_test(a_feed_without_readers_fills_and_stops),
		cmocka_unit_test(lies_of_a_seat_are_not_believed),
		cmocka_unit_test(a_reader_cannot_write_to_the_samples),
		cmocka_unit_test(the_end_comes_after_all_that_was_published),
		cmocka_unit_test(an_orphan_takes_what_is_left),
		cmocka_unit_test(another_writer_goes_on_where_one_ended),
		cmocka_unit_test(checksums_find_what_was_changed),
		cmocka_unit_test(a_reader_of_no_feed_is_refused),
		cmocka_unit_test(impossible_feeds_are_refused),
		cmocka_unit_test(memory_that_runs_out_is_an_error),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("feed_seat", tests, NULL, NULL);
}
