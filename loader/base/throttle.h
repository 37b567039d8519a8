/*
 * throttle.h - makes reads as slow as a stated storage: bandwidth and latency.
 *
 * A token bucket over payload bytes with a burst of at most one sample, and a latency
 * per read. It never sleeps: it returns the time at which a read may be handed on, so
 * that an engine can have many reads in flight. Any thread may call.
 *
 * Latencies run side by side, transfers one after another: with q reads in flight all
 * the time, reads/s = min(bandwidth / bytes, q / latency) (Little's law).
 */
#ifndef DSA_THROTTLE_H
#define DSA_THROTTLE_H

#include <stdint.h>

struct throttle;

struct throttle_stats {
	uint64_t reads, bytes; /* that passed through */
	uint64_t busy_ns;      /* time the bucket was occupied: bytes / bandwidth */
	uint64_t delay_ns;     /* by which reads were held back, added up */
};

/* Bandwidth in bytes/s, latency in seconds; 0 means unlimited. NULL: no memory. */
struct throttle *throttle_new(double bandwidth, double latency);
void throttle_free(struct throttle *throttle);

/*
 * A read of `bytes` is complete. Returns when it may be handed on, which may lie in
 * the past: then now. Call once a read. `start` is when the read began; where reads
 * queue up, when the read before it in the same place was due: time that the caller
 * overslept is then made up, and the rates above are met exactly.
 */
uint64_t throttle_release(struct throttle *throttle, uint64_t start, uint64_t bytes);

/* Refills the bucket. For the switch between windows. */
void throttle_reset(struct throttle *throttle);

void throttle_stats(const struct throttle *throttle, struct throttle_stats *stats);

#endif
