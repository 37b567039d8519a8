/*
 * lru.c - least recently used: what was read or admitted longest ago goes.
 *
 * A read only stamps its sample with the time, a count of reads. Eviction, under the
 * lock, keeps the samples in a heap by the stamp it last saw, which is not later than
 * the true one: it brings the top up to date until it is, and then the top is the
 * oldest of all. So the order is exactly LRU for one thread, and as near as threads
 * can agree on an order for several; a read costs the heap at most one step, later.
 */
#include "loader/cache/evict.h"

#include <stdatomic.h>
#include <stdlib.h>

struct seen {
	uint64_t stamp; /* when the heap last looked */
	uint32_t sample;
};

struct lru {
	struct seen *heap; /* the least stamp first */
	uint32_t length;
	_Atomic uint64_t *stamp; /* by sample: its last read */
	_Atomic uint64_t now;
};

static void lru_close(void *state)
{
	struct lru *lru = state;

	free(lru->heap);
	free(lru->stamp);
	free(lru);
}

static void *lru_open(uint32_t samples)
{
	struct lru *lru = calloc(1, sizeof(*lru));

	if (lru == NULL)
		return NULL;
	lru->heap = calloc(samples, sizeof(*lru->heap));
	lru->stamp = calloc(samples, sizeof(*lru->stamp));
	if (lru->heap == NULL || lru->stamp == NULL) {
		lru_close(lru);
		return NULL;
	}
	return lru;
}

/* A read now. Returns its time. */
static uint64_t lru_stamp(struct lru *lru, uint32_t sample)
{
	uint64_t now = atomic_fetch_add_explicit(&lru->now, 1, memory_order_relaxed);

	atomic_store_explicit(&lru->stamp[sample], now, memory_order_relaxed);
	return now;
}

static void lru_touch(void *state, uint32_t sample)
{
	lru_stamp(state, sample);
}

/* Puts `moved` into the heap, whose top is free. */
static void lru_sink(struct seen *heap, uint32_t length, struct seen moved)
{
	uint64_t at = 0;

	for (uint64_t child = 1; child < length; child = 2 * at + 1) {
		if (child + 1 < length && heap[child + 1].stamp < heap[child].stamp)
			child++;
		if (moved.stamp <= heap[child].stamp)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

static void lru_push(void *state, uint32_t sample)
{
	struct lru *lru = state;

	/* No stamp in the heap is as late as this one, so the last place is right. */
	lru->heap[lru->length++] = (struct seen){lru_stamp(lru, sample), sample};
}

static uint32_t lru_pop(void *state)
{
	struct lru *lru = state;
	struct seen top = lru->heap[0];

	for (;;) {
		uint64_t read = atomic_load_explicit(&lru->stamp[top.sample],
						     memory_order_relaxed);

		if (read == top.stamp)
			break;
		top.stamp = read;
		lru_sink(lru->heap, lru->length, top);
		top = lru->heap[0];
	}
	lru->length--;
	lru_sink(lru->heap, lru->length, lru->heap[lru->length]);
	return top.sample;
}

static const struct evict_order order = {
	.open = lru_open,
	.close = lru_close,
	.touch = lru_touch,
	.push = lru_push,
	.pop = lru_pop,
};

const struct cache_policy cache_lru = EVICT_POLICY("lru", &order);
