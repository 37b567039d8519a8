#include "loader/base/error.h"
#include "loader/ring.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

enum { SLOTS = 4, BATCH = 3, SAMPLE = 40, ROUNDS = 20000 };

static const struct ring_shape shape = {
	.slots = SLOTS, .batch = BATCH, .sample_bytes = SAMPLE};

static void publish(struct ring *ring, uint32_t slot)
{
	ring_batch(ring, slot)->count = BATCH;
	ring_publish(ring, slot);
}

TEST(batches_come_in_the_order_they_were_published)
{
	struct ring *ring = ring_open(&shape, NULL);
	struct ring_reader *reader = ring_join(ring, NULL);
	static const uint32_t order[] = {2, 0, 3, 1};
	uint32_t slot;

	assert_int_equal(ring_take(reader, 0, &slot), -EAGAIN);
	for (int i = 0; i < SLOTS; i++)
		publish(ring, order[i]);
	for (int i = 0; i < SLOTS; i++) {
		assert_int_equal(ring_take(reader, 0, &slot), 0);
		assert_int_equal(slot, order[i]);
		assert_int_equal(ring_batch(ring, slot)->number, i + 1);
	}
	assert_int_equal(ring_held(reader), SLOTS);
	ring_leave(reader);
	ring_close(ring);
}

TEST(a_slot_is_free_only_when_its_batch_was_given_back)
{
	struct ring *ring = ring_open(&shape, NULL);
	struct ring_reader *reader = ring_join(ring, NULL);
	uint32_t first, second;

	assert_true(ring_free(ring, 0));
	publish(ring, 0);
	publish(ring, 1);
	assert_false(ring_free(ring, 0));
	ring_take(reader, 0, &first);
	ring_take(reader, 0, &second);
	assert_int_equal(ring_release(reader, second), 0); /* in any order */
	assert_true(ring_free(ring, second));
	assert_false(ring_free(ring, first));
	assert_int_equal(ring_release(reader, second), -EINVAL);
	assert_int_equal(ring_release(reader, SLOTS), -EINVAL);
	assert_int_equal(ring_release(reader, first), 0);
	assert_int_equal(ring_held(reader), 0);
	ring_leave(reader);
	ring_close(ring);
}

/* A program under "ulimit -f 1" is told, and not ended by SIGXFSZ. */
TEST(memory_beyond_the_limit_of_files_is_an_error)
{
	struct rlimit limit, before;
	struct error err = {0};

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 1024;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_null(ring_open(&shape, &err));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(err.code, EFBIG);
}

TEST(slots_are_page_aligned_and_do_not_overlap)
{
	struct ring *ring = ring_open(&shape, NULL);

	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		assert_int_equal((uintptr_t)ring_sample(ring, slot, 0) % 4096, 0);
		memset(ring_sample(ring, slot, 0), (int)slot + 1, BATCH * SAMPLE);
		for (int i = 0; i < BATCH; i++)
			ring_labels(ring, slot)[i] = ring_samples(ring, slot)[i] = slot;
	}
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		const unsigned char *bytes = ring_sample(ring, slot, 0);

		for (int i = 0; i < BATCH * SAMPLE; i++)
			assert_int_equal(bytes[i], slot + 1);
		assert_int_equal(ring_labels(ring, slot)[BATCH - 1], slot);
		assert_int_equal(ring_samples(ring, slot)[0], slot);
	}
	ring_close(ring);
}

TEST(impossible_shapes_are_refused)
{
	static const struct ring_shape bad[] = {
		{.slots = 0, .batch = 1, .sample_bytes = 1},
		{.slots = RING_SLOTS + 1, .batch = 1, .sample_bytes = 1},
		{.slots = 1, .batch = 0, .sample_bytes = 1},
		{.slots = 256, .batch = 65536, .sample_bytes = SIZE_MAX / 8},
	};
	struct error err = {0};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_null(ring_open(&bad[i], &err));
		assert_int_equal(err.code, EINVAL);
	}
}

/* Writes each batch's number all over its slot as soon as a slot is free. */
static void *write_all(void *context)
{
	struct ring *ring = context;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t slot = round % SLOTS;

		while (!ring_free(ring, slot))
			sched_yield();
		for (int i = 0; i < BATCH; i++)
			memcpy(ring_sample(ring, slot, (uint32_t)i), &round,
			       sizeof(round));
		publish(ring, slot);
	}
	return NULL;
}

TEST(a_reader_sees_every_batch_whole_and_none_twice)
{
	struct ring *ring = ring_open(&shape, NULL);
	struct ring_reader *reader = ring_join(ring, NULL);
	pthread_t writer;

	pthread_create(&writer, NULL, write_all, ring);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t slot, value;

		while (ring_take(reader, 1000000000, &slot) < 0)
			;
		for (int i = 0; i < BATCH; i++) {
			memcpy(&value, ring_sample(ring, slot, (uint32_t)i),
			       sizeof(value));
			assert_int_equal(value, round);
		}
		ring_release(reader, slot);
	}
	pthread_join(writer, NULL);
	ring_leave(reader);
	ring_close(ring);
}

TEST(memory_that_runs_out_is_an_error)
{
	struct ring *ring = NULL;
	struct error err = {0};

	for (unsigned nth = 1; nth <= 4; nth++) {
		nomem_at(nth);
		assert_null(ring_open(&shape, &err));
		nomem_at(0);
		assert_int_equal(err.code, ENOMEM);
	}
	ring = ring_open(&shape, NULL);
	nomem_at(1);
	assert_null(ring_join(ring, &err));
	nomem_at(0);
	ring_close(ring);
}
