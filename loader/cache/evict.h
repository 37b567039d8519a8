/*
 * evict.h - a cache that evicts: what LRU and FIFO have in common, all but the order.
 *
 *	cache_get   -> entry_get (no lock) -> order->touch
 *	cache_offer -> lock, order->pop until the blob fits, entry_fill, order->push
 */
#ifndef DSA_CACHE_EVICT_H
#define DSA_CACHE_EVICT_H

#include "loader/cache/policy.h"

#include <stdint.h>

struct evict_order {
	void *(*open)(uint32_t samples); /* NULL: out of memory */
	void (*close)(void *order);

	/* A resident sample was read. Any thread, without the lock. May be NULL. */
	void (*touch)(void *order, uint32_t sample);

	/* Called under the lock: a sample became resident; the next one to go. */
	void (*push)(void *order, uint32_t sample);
	uint32_t (*pop)(void *order);
};

/* A policy of this name and order. */
#define EVICT_POLICY(policy_name, policy_order)                                        \
	{                                                                              \
		.name = (policy_name), .open = evict_open, .close = evict_close,       \
		.get = evict_get, .has = evict_has, .offer = evict_offer,              \
		.held = evict_held, .order = (policy_order),                           \
	}

/* These are the members of struct cache_policy. */
void *evict_open(const struct cache_policy *policy, size_t samples, size_t capacity);
void evict_close(void *state);
struct blob *evict_get(void *state, size_t sample);
bool evict_has(const void *state, size_t sample);
bool evict_offer(void *state, size_t sample, struct blob *blob);
void evict_held(const void *state, struct cache_stats *stats);

#endif
