/* bench_ring.c - hands batches over from one thread to another. */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/math/median.h"
#include "loader/options.h"
#include "loader/prep.h"
#include "loader/ring.h"
#include "profiler/bench/bench_work.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 100000, GAPS = 1 << 20 };

struct handover {
	struct ring *ring;
	uint32_t slots;
	uint64_t batches;
	sem_t free;    /* slots */
	double *gap_s; /* before each of the first GAPS batches */
	uint64_t gaps;
};

/* The writer: as soon as a slot is free, it numbers the batch in it and publishes. */
static void *bench_ring_write_all(void *arg)
{
	struct handover *hand = arg;

	pthread_setname_np(pthread_self(), "dsa-writer");
	for (uint64_t number = 0; number < hand->batches; number++) {
		uint32_t slot = (uint32_t)(number % hand->slots);

		while (sem_wait(&hand->free) < 0)
			;
		memcpy(ring_sample(hand->ring, slot, 0), &number, sizeof(number));
		ring_publish(hand->ring, slot);
	}
	return NULL;
}

/* Takes one batch. Returns 0, or -EIO when it is not the one it should be. */
static int read_one(struct handover *hand, struct ring_reader *reader, uint64_t number)
{
	uint64_t found;
	uint32_t slot;

	while (ring_take(reader, 1000000000, &slot) < 0)
		;
	memcpy(&found, ring_sample(hand->ring, slot, 0), sizeof(found));
	ring_release(reader, slot);
	sem_post(&hand->free);
	return found == number ? 0 : -EIO;
}

/* The reader. The writer ends too if a batch is wrong, for its slots come back. */
static int read_all(struct handover *hand, struct ring_reader *reader)
{
	uint64_t before = clock_now(), now;
	int rc = 0;

	for (uint64_t number = 0; number < hand->batches; number++, before = now) {
		int wrong = read_one(hand, reader, number);

		now = clock_now();
		rc = rc < 0 ? rc : wrong;
		if (number < hand->gaps)
			hand->gap_s[number] = (double)(now - before) / 1e9;
	}
	return rc;
}

static int bench_ring_consume(struct handover *hand, struct bench_ring *result,
			      struct error *err)
{
	struct ring_reader *reader = ring_join(hand->ring, err);
	struct bench_work work;
	pthread_t writer;
	int rc;

	if (reader == NULL)
		return -err->code;
	sem_init(&hand->free, 0, hand->slots);
	bench_work_now(&work);
	rc = pthread_create(&writer, NULL, bench_ring_write_all, hand);
	if (rc == 0) {
		rc = read_all(hand, reader);
		pthread_join(writer, NULL);
	}
	bench_work_since(&work);
	sem_destroy(&hand->free);
	ring_leave(reader);
	if (rc != 0)
		return error_set(err, rc < 0 ? -rc : rc,
				 rc < 0 ? "the ring handed over a wrong batch"
					: "cannot start the writer");
	qsort(hand->gap_s, hand->gaps, sizeof(hand->gap_s[0]), median_ascending);
	result->seconds = work.seconds;
	result->cpu_seconds = work.cpu_seconds;
	result->batches_per_s = (double)hand->batches / work.seconds;
	result->p50_s = hand->gap_s[(hand->gaps - 1) / 2];
	result->p99_s = hand->gap_s[(hand->gaps - 1) * 99 / 100];
	return 0;
}

int bench_ring_run(const struct options *options, uint64_t batches,
		   struct bench_ring *result, struct error *err)
{
	struct prep *prep = prep_open(&options->image, err);
	struct ring_shape shape = {.slots = options->prefetch + 1,
				   .batch = options->batch};
	struct handover hand = {.batches = batches > 0 ? batches : BATCHES};
	int rc = -1;

	if (prep == NULL)
		return -err->code;
	shape.sample_bytes = prep_sample_bytes(prep);
	prep_close(prep);
	hand.slots = shape.slots;
	hand.gaps = hand.batches < GAPS ? hand.batches : GAPS;
	hand.gap_s = malloc(hand.gaps * sizeof(hand.gap_s[0]));
	if (hand.gap_s == NULL)
		return error_sys(err, ENOMEM, "cannot keep the times of batches");
	hand.ring = ring_open(&shape, err);
	if (hand.ring != NULL)
		rc = bench_ring_consume(&hand, result, err);
	result->batches = hand.batches;
	result->batch_bytes = shape.sample_bytes * shape.batch;
	result->huge = hand.ring != NULL && ring_huge(hand.ring);
	ring_close(hand.ring);
	free(hand.gap_s);
	return rc;
}
