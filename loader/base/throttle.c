/* throttle.c - a token bucket without a lock. */
#include "loader/base/throttle.h"
#include "loader/base/clock.h"

#include <stdatomic.h>
#include <stdlib.h>

struct throttle {
	double ns_per_byte;
	uint64_t latency_ns;
	atomic_uint_fast64_t passed; /* when it let the last read pass; 0: never */
	atomic_uint_fast64_t reads, bytes, busy_ns, delay_ns;
};

struct throttle *throttle_new(double bandwidth, double latency)
{
	struct throttle *throttle = calloc(1, sizeof(*throttle));

	if (throttle == NULL)
		return NULL;
	throttle->ns_per_byte = bandwidth > 0 ? 1e9 / bandwidth : 0;
	throttle->latency_ns = (uint64_t)(latency * 1e9 + 0.5);
	return throttle;
}

void throttle_free(struct throttle *throttle)
{
	free(throttle);
}

/*
 * The bucket's own clock: reads pass at least their own transfer time apart. What is
 * saved up while the bucket lies idle is at most one such time: the burst. Wall time
 * has no say, so that what a caller oversleeps is caught up.
 */
static uint64_t throttle_pass(struct throttle *throttle, uint64_t start,
			      uint64_t transfer_ns)
{
	uint_fast64_t last = throttle->passed;
	uint_fast64_t next;

	do {
		next = last != 0 && last + transfer_ns > start ? last + transfer_ns
							       : start;
	} while (!atomic_compare_exchange_weak(&throttle->passed, &last, next));
	return next;
}

uint64_t throttle_release(struct throttle *throttle, uint64_t start, uint64_t bytes)
{
	uint64_t transfer_ns = (uint64_t)((double)bytes * throttle->ns_per_byte + 0.5);
	uint64_t due = start + throttle->latency_ns;
	uint64_t now = clock_now();

	if (transfer_ns > 0) {
		uint64_t passed = throttle_pass(throttle, start, transfer_ns);

		if (due < passed)
			due = passed;
	}
	throttle->reads++;
	throttle->bytes += bytes;
	throttle->busy_ns += transfer_ns;
	throttle->delay_ns += due > now ? due - now : 0;
	return due;
}

void throttle_reset(struct throttle *throttle)
{
	throttle->passed = 0;
}

void throttle_stats(const struct throttle *throttle, struct throttle_stats *stats)
{
	stats->reads = throttle->reads;
	stats->bytes = throttle->bytes;
	stats->busy_ns = throttle->busy_ns;
	stats->delay_ns = throttle->delay_ns;
}
