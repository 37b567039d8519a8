/* Who reads the ring, who must not, and what is left when one side goes. */
#include "loader/base/error.h"
#include "loader/share/ring/bcast_reader.h"
#include "loader/share/ring/bcast_ring.h"
#include "tests/lib/feeder.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <linux/memfd.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

TEST(the_slowest_reader_holds_the_writer_back)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_reader *fast = feeder_join(ring, 0, false, NULL);
	struct bcast_reader *slow = feeder_join(ring, 0, false, NULL);
	struct bcast_batch batch, first, second;
	uint32_t published = 0;

	while (feeder_put(ring, published, FEEDER_BATCH, 0, false))
		published += FEEDER_BATCH;
	assert_int_equal(published, FEEDER_PLACES);
	assert_true(bcast_full_since(ring) > 0);
	while (feeder_take(fast, FEEDER_BATCH, &batch) == 1)
		bcast_release(fast, &batch);
	assert_false(feeder_put(ring, published, FEEDER_BATCH, 0, false));
	assert_int_equal(feeder_take(slow, FEEDER_BATCH, &first), 1);
	assert_int_equal(feeder_take(slow, FEEDER_BATCH, &second), 1);
	assert_int_equal(bcast_release(slow, &second), 0);
	assert_int_equal(bcast_release(slow, &second), -EINVAL);
	assert_false(feeder_put(ring, published, FEEDER_BATCH, 0,
				false)); /* the first is held */
	assert_int_equal(bcast_release(slow, &first), 0);
	assert_int_equal(bcast_tail(ring), second.end);
	assert_true(feeder_put(ring, published, FEEDER_BATCH, 0, false));
	assert_int_equal(bcast_full_since(ring), 0);
	bcast_reader_close(slow); /* what it held is free at once */
	assert_int_equal(bcast_tail(ring), fast->next);
	bcast_reader_close(fast);
	bcast_close(ring);
}

TEST(a_dropped_reader_keeps_what_it_holds)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	uint32_t slot, published = 0, seen = 12;
	struct bcast_reader *stopped = feeder_join(ring, 0, false, &slot);
	struct bcast_reader *other = feeder_join(ring, 0, false, NULL);
	struct bcast_reader_state said;
	struct bcast_batch held, batch;

	assert_true(feeder_put(ring, 0, FEEDER_BATCH, 0, false));
	assert_true(feeder_put(ring, FEEDER_BATCH, FEEDER_BATCH, 0, false));
	published = 2 * FEEDER_BATCH;
	assert_int_equal(feeder_take(stopped, 5, &held), 1);
	assert_int_equal(feeder_take(other, 12, &batch), 1);
	bcast_release(other, &batch);
	bcast_drop(ring, slot);
	bcast_reader_state(ring, slot, &said);
	assert_true(said.dropped);
	assert_int_equal(said.released, 0);
	assert_int_equal(said.taken, 5);
	for (int round = 0; round < 100; round++) { /* many times round */
		while (feeder_put(ring, published, FEEDER_BATCH, 0, false))
			published += FEEDER_BATCH;
		assert_int_equal(feeder_take(other, 7, &batch), 1);
		assert_int_equal(feeder_samples[0], seen);
		bcast_release(other, &batch);
		seen += batch.count;
	}
	for (uint32_t i = 0; i < held.count; i++)
		feeder_samples[i] = i;
	feeder_check(stopped, &held);
	assert_int_equal(feeder_take(stopped, 5, &batch), -ENOLINK);
	assert_int_equal(stopped->next, 5);
	bcast_reader_close(stopped);
	bcast_reader_close(other);
	bcast_close(ring);
}

TEST(an_island_is_gone_when_it_is_given_back)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	uint32_t slot, published = 0;
	struct bcast_reader *stopped = feeder_join(ring, 0, false, &slot);
	struct bcast_reader *other = feeder_join(ring, 0, false, NULL);
	struct bcast_batch held, batch;

	for (int round = 0; round < 60; round++) {
		while (feeder_put(ring, published, FEEDER_BATCH, 0, false))
			published += FEEDER_BATCH;
		if (round == 1) {
			assert_int_equal(feeder_take(stopped, 5, &held), 1);
			bcast_drop(ring, slot);
		}
		if (round == 30) {
			assert_int_equal(feeder_gaps(ring), 5);
			assert_int_equal(bcast_release(stopped, &held), 0);
		}
		assert_int_equal(feeder_take(other, 7, &batch), 1);
		bcast_release(other, &batch);
	}
	assert_int_equal(feeder_gaps(ring), 0);
	bcast_reader_close(stopped);
	bcast_reader_close(other);
	bcast_close(ring);
}

TEST(a_slot_that_was_given_anew_does_not_take_its_old_reader_back)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	uint32_t first, second;
	struct bcast_reader *old = feeder_join(ring, 0, false, &first), *fresh;
	struct bcast_batch batch, held;

	feeder_put(ring, 0, FEEDER_BATCH, 0, false);
	assert_int_equal(feeder_take(old, 2, &held), 1);
	bcast_detach(ring, first);
	bcast_detach(ring, first);
	fresh = feeder_join(ring, FEEDER_BATCH, false, &second);
	assert_int_equal(first, second);
	assert_int_equal(feeder_take(old, 2, &batch), -ENOLINK);
	bcast_release(old, &held); /* writes to its own page alone */
	assert_int_equal(bcast_tail(ring), FEEDER_BATCH);
	bcast_reader_close(old);
	feeder_put(ring, FEEDER_BATCH, FEEDER_BATCH, 0, false);
	assert_int_equal(bcast_tail(ring), FEEDER_BATCH);
	assert_int_equal(feeder_take(fresh, 2, &batch), 1);
	bcast_reader_close(fresh);
	bcast_close(ring);
}

TEST(slots_run_out_and_old_numbers_are_refused)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_handles slot;
	struct error err = {0};

	for (int i = 0; i < BCAST_READERS; i++)
		assert_int_equal(bcast_attach(ring, 0, &slot, &err), i);
	assert_int_equal(bcast_attach(ring, 0, &slot, &err), -EBUSY);
	for (uint32_t i = 1; i < BCAST_READERS; i++)
		bcast_detach(ring, i);
	feeder_put(ring, 0, FEEDER_BATCH, 0, false);
	bcast_detach(ring, 0);
	assert_int_equal(bcast_tail(ring),
			 0); /* it stays where the last one old_slot */
	assert_int_equal(bcast_attach(ring, 0, &slot, &err), 0);
	assert_int_equal(bcast_attach(ring, 5, &slot, &err), 1);
	bcast_detach(ring, 0);
	assert_int_equal(bcast_attach(ring, 4, &slot, &err), -EINVAL);
	assert_int_equal(bcast_attach(ring, 1000, &slot, &err),
			 0); /* later is allowed */
	bcast_close(ring);
}

/* With nobody who reads, what is published stays as it is. */
TEST(a_feed_without_readers_fills_and_stops)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	uint32_t published = 0;

	while (feeder_put(ring, published, FEEDER_BATCH, 0, false))
		published += FEEDER_BATCH;
	assert_int_equal(published, FEEDER_PLACES);
	bcast_close(ring);
}

TEST(lies_of_a_reader_are_not_believed)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_reader *honest = feeder_join(ring, 0, false, NULL);
	struct bcast_handles slot;
	int number = bcast_attach(ring, 0, &slot, NULL);
	uint64_t *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, slot.page, 0);
	struct bcast_reader_state said;
	struct bcast_batch batch;

	assert_true(page != MAP_FAILED && number >= 0);
	assert_int_equal(ftruncate(slot.page, 0), -1); /* no SIGBUS for the writer */
	feeder_put(ring, 0, FEEDER_BATCH, 0, false);
	memset(page, 0xff, 4096);
	bcast_reader_state(ring, (uint32_t)number, &said);
	assert_int_equal(said.taken, FEEDER_BATCH);
	assert_int_equal(said.released, FEEDER_BATCH);
	memset(page, 0, 4096); /* and back again */
	bcast_reader_state(ring, (uint32_t)number, &said);
	assert_int_equal(said.released, FEEDER_BATCH);
	assert_int_equal(bcast_tail(ring), 0); /* the honest one's */
	assert_int_equal(feeder_take(honest, FEEDER_BATCH, &batch), 1);
	munmap(page, 4096);
	bcast_reader_close(honest);
	bcast_close(ring);
}

TEST(a_reader_cannot_write_to_the_samples)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_reader *reader = feeder_join(ring, 0, false, NULL);
	struct bcast_batch batch;
	void *page;
	int fd = dup(bcast_fd(ring));

	feeder_put(ring, 0, FEEDER_BATCH, 0, false);
	assert_int_equal(feeder_take(reader, 1, &batch), 1);
	page = (void *)((uintptr_t)batch.data / 4096 * 4096);
	assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_WRITE), -1);
	assert_true(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) ==
		    MAP_FAILED);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	close(fd);
	bcast_reader_close(reader);
	bcast_close(ring);
}

TEST(the_end_comes_after_all_that_was_published)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_reader *reader = feeder_join(ring, 0, false, NULL);
	struct bcast_batch batch;
	struct error err = {0};

	feeder_put(ring, 0, FEEDER_BATCH, 0, false);
	bcast_end(ring, 0, NULL);
	assert_int_equal(feeder_take(reader, 5, &batch), 1);
	assert_int_equal(feeder_take(reader, 5, &batch), 1);
	assert_int_equal(batch.count, 3);
	assert_int_equal(feeder_take(reader, 5, &batch), -ENODATA);
	bcast_reader_close(reader);
	bcast_close(ring);

	ring = bcast_open(&feeder_config, NULL);
	reader = feeder_join(ring, 0, false, NULL);
	bcast_end(ring, EIO, "the disk is gone");
	bcast_close(ring); /* its memory outlives it */
	assert_int_equal(
		bcast_take(reader, 5, 0, &batch, feeder_labels, feeder_samples, &err),
		-EPIPE);
	assert_string_equal(err.message, "the disk is gone");
	bcast_reader_close(reader);
}

static bool is_even(const void *context, uint32_t sample)
{
	(void)context;
	return sample % 2 == 0;
}

/* In the first epoch; and a batch may be longer than the ring then. */
TEST(what_was_had_elsewhere_is_gone_past)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_handles slot;
	struct bcast_reader_config config = {.epoch_places = FEEDER_EPOCH,
					     .remaining = FEEDER_EPOCH,
					     .had = is_even};
	struct bcast_reader *reader;
	struct bcast_batch batch;
	unsigned samples = 0;

	config.slot = (uint32_t)bcast_attach(ring, 0, &slot, NULL);
	config.memory = dup(bcast_fd(ring));
	config.page = dup(slot.page);
	config.event = dup(slot.event);
	reader = bcast_reader_open(&config, NULL);
	for (uint32_t first = 0; first < 24; first += FEEDER_BATCH)
		feeder_put(ring, first, FEEDER_BATCH, 0, false);
	do {
		assert_int_equal(feeder_take(reader, 3, &batch), 1);
		for (uint32_t i = 0; i < batch.count; i++)
			assert_int_equal(feeder_samples[i], 2 * samples++ + 1);
		if (batch.count > 0)
			assert_int_equal(bcast_release(reader, &batch), 0);
	} while (!batch.epoch_ends);
	assert_int_equal(samples, FEEDER_EPOCH / 2);
	assert_int_equal(bcast_bad(reader), 0); /* they are no voids */
	assert_int_equal(feeder_take(reader, 4, &batch), 1);
	assert_int_equal(feeder_samples[0], FEEDER_EPOCH);
	assert_int_equal(feeder_samples[1], FEEDER_EPOCH + 1);
	bcast_reader_close(reader);
	bcast_close(ring);
}

/* Publishes an epoch of 3 samples and voids, as far as there is room. */
static uint32_t put_voids(struct bcast_ring *ring, uint32_t at, uint32_t all)
{
	while (at < all) {
		uint32_t left = all - at;
		uint32_t places = left < FEEDER_BATCH ? left : FEEDER_BATCH;
		uint32_t good = at == 0 ? 3 : 0;

		if (!feeder_put(ring, at, good, places - good, false))
			break;
		at += places;
	}
	return at;
}

/* Samples that such an epoch brings, in batches of 5. UINT32_MAX: it does not end. */
static uint32_t samples_before_voids(uint32_t all)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_reader *reader = feeder_join(ring, 0, false, NULL);
	struct bcast_batch batch = {0};
	uint32_t at = 0, count = 0;

	reader->remaining = reader->epoch_places = all;
	for (int look = 0; look < 8 && !batch.epoch_ends; look++) {
		at = put_voids(ring, at, all);
		if (feeder_take(reader, 5, &batch) != 1)
			continue;
		count += batch.count;
		if (batch.count > 0)
			assert_int_equal(bcast_release(reader, &batch), 0);
	}
	bcast_reader_close(reader);
	bcast_close(ring);
	return batch.epoch_ends ? count : UINT32_MAX;
}

TEST(voids_that_fill_the_window_end_with_their_epoch)
{
	assert_int_equal(samples_before_voids(FEEDER_PLACES), 3);
	assert_int_equal(samples_before_voids(FEEDER_PLACES + 1), 3);
	assert_int_equal(samples_before_voids(4 * FEEDER_PLACES), 3);
}

TEST(checksums_find_what_was_changed)
{
	struct bcast_config config = feeder_config;
	struct bcast_ring *ring;
	struct bcast_reader *reader;
	struct bcast_batch batch, held;
	uint32_t *word;

	config.audit = true;
	ring = bcast_open(&config, NULL);
	reader = feeder_join(ring, 0, true, NULL);
	feeder_put(ring, 0, FEEDER_BATCH, 0, false);
	/* the slot's places are where they were: this is the fault to be found */
	word = bcast_sink(ring)->ops->sample(bcast_sink(ring), 0, 6);
	assert_int_equal(feeder_take(reader, 4, &batch), 1);
	assert_int_equal(bcast_release(reader, &batch), 0);
	*word ^= 1;
	assert_int_equal(
		bcast_take(reader, 4, 0, &batch, feeder_labels, feeder_samples, NULL),
		-EBADMSG);
	*word ^= 1;
	feeder_put(ring, FEEDER_BATCH, FEEDER_BATCH, 0, false);
	assert_int_equal(feeder_take(reader, 4, &held), 1);
	word = bcast_sink(ring)->ops->sample(bcast_sink(ring), 0, 1);
	*word ^= 1;
	assert_int_equal(bcast_release(reader, &held), -EBADMSG);
	bcast_reader_close(reader);
	bcast_close(ring);
}

TEST(a_reader_of_no_feed_is_refused)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_handles slot;
	struct bcast_reader_config config = {.epoch_places = 1, .remaining = 1};
	struct error err = {0};
	int pipes[2];

	assert_int_equal(bcast_attach(ring, 0, &slot, NULL), 0);
	config.memory = dup(bcast_fd(ring));
	config.page = dup(slot.page);
	config.event = dup(slot.event);
	config.audit = true; /* it has none */
	assert_null(bcast_reader_open(&config, &err));
	assert_int_equal(err.code, EINVAL);
	config.audit = false;
	config.memory = dup(slot.page); /* not sealed as a ring is */
	config.page = dup(slot.page);
	config.event = dup(slot.event);
	assert_null(bcast_reader_open(&config, &err));
	assert_int_equal(err.code, EBADMSG);
	config.memory = memfd_create("empty", MFD_ALLOW_SEALING);
	config.page = dup(slot.page);
	config.event = dup(slot.event);
	assert_null(bcast_reader_open(&config, &err));
	assert_int_equal(err.code, EBADMSG);
	config.memory = dup(bcast_fd(ring));
	config.page = memfd_create("page", MFD_ALLOW_SEALING); /* may shrink: SIGBUS */
	config.event = dup(slot.event);
	assert_int_equal(ftruncate(config.page, sizeof(struct bcast_reader_page)), 0);
	assert_null(bcast_reader_open(&config, &err));
	assert_int_equal(err.code, EBADMSG);
	assert_int_equal(pipe(pipes), 0); /* could kill with SIGPIPE */
	config.memory = dup(bcast_fd(ring));
	config.page = dup(slot.page);
	config.event = pipes[1];
	assert_null(bcast_reader_open(&config, &err));
	assert_int_equal(err.code, EBADMSG);
	close(pipes[0]);
	bcast_close(ring);
}

TEST(impossible_feeds_are_refused)
{
	struct bcast_config bad[5];
	struct error err = {0};

	for (int i = 0; i < 5; i++)
		bad[i] = feeder_config;
	bad[0].places = FEEDER_BATCH - 1;
	bad[1].slots = 0;
	bad[2].sample_bytes = 0;
	bad[3].sample_bytes = SIZE_MAX / 4;
	bad[4].places = UINT32_MAX / 2;
	for (int i = 0; i < 5; i++) {
		assert_null(bcast_open(&bad[i], &err));
		assert_int_equal(err.code, EINVAL);
	}
}

TEST(memory_that_runs_out_is_an_error)
{
	struct bcast_config config = feeder_config;
	struct bcast_ring *ring = NULL;
	struct bcast_reader *reader;
	struct error err = {0};
	unsigned nth = 1;

	config.audit = true;
	for (; ring == NULL; nth++) {
		nomem_at(nth);
		ring = bcast_open(&config, &err);
		nomem_at(0);
		assert_true(ring != NULL || err.code == ENOMEM);
	}
	assert_true(nth > 4);
	for (nth = 1, reader = NULL; reader == NULL; nth++) {
		nomem_at(nth);
		reader = feeder_join(ring, 0, true, NULL);
		nomem_at(0);
	}
	assert_true(nth > 3);
	bcast_reader_close(reader);
	bcast_close(ring);
}
