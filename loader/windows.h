/*
 * windows.h - what a pipeline of ours does in the windows of a session: the operations
 * that driver.h asks of a loader.
 *
 *	window		the pipeline's turn	delivered
 *	real		stream, or drawn	from the ring
 *	cached		staged			from the ring
 *	synthetic	none: it rests		from a pool of batches, made once
 *	copied		none: it rests		from the pool, copied to the device anew
 *	loaded		prep, metered		from the pool
 *	prep, fetch	prep, fetch		nothing
 *
 * All calls from the thread that calls dsa_next().
 */
#ifndef DSA_WINDOWS_H
#define DSA_WINDOWS_H

#include <stdint.h>

struct cache;
struct driver;
struct error;
struct gpu;
struct options;
struct pipeline;
struct ring;
struct ring_reader;
struct ring_shape;
struct source;
struct throttle;
struct trace;
struct trace_process;
struct windows;

/* All outlive the windows. Of a shared loader ring and reader are NULL. */
struct windows_parts {
	struct trace *trace; /* NULL: there is no session */
	struct trace_process *process;
	const struct options *options;
	const struct source *source;
	struct pipeline *pipeline;
	struct cache *cache;
	struct throttle *throttle; /* NULL: none */
	struct ring *ring;
	struct ring_reader *reader;
	const struct ring_shape *shape; /* of the ring */
	const struct gpu *gpu;          /* where the ring has twins; NULL: nowhere */

	/* A shared loader publishes again what it has published, if there is room. */
	void (*repeat)(void *context, uint32_t turn);
	void *context;
};

/* Makes the pipeline's loader the session's driver; windows_close() ends that. 0, with
 * *opened NULL where there is no session or another loader drives it; or -errno,
 * *opened is NULL. */
int windows_open(const struct windows_parts *parts, struct windows **opened,
		 struct error *err);
void windows_close(struct windows *windows);

struct driver *windows_driver(struct windows *windows);

/* driver_request(), now and for the pipeline's next batch. */
int windows_request(struct windows *windows);

/* The pool of synthetic batches, with one ready, if the next batch comes from it; NULL:
 * it comes from the loader's own ring. */
struct ring_reader *windows_pool(struct windows *windows);
struct ring *windows_pool_ring(const struct windows *windows);

/* The pool's reader, whether a window uses it or not; NULL: there is no pool. */
struct ring_reader *windows_pool_reader(const struct windows *windows);

/* The batch in the slot was taken after a wait inside dsa_next(). */
void windows_delivered(struct windows *windows, uint32_t slot, uint32_t samples,
		       uint64_t blocked_ns);

/* A sample that could not be used, and whose loader found that. */
struct windows_skip {
	const struct trace_process *process; /* in the session */
	const struct source *source;
	uint32_t sample;
	int code; /* errno value */
	const char *reason;
};

/* Enters it into the session; the first TRACE_SKIPS with name and reason. */
void windows_skip(struct trace *trace, const struct windows_skip *skip);

#endif
