/*
 * driver.h - executes the windows of a `dsa run` where batches are asked for.
 *
 * The one loader that delivers the training batches drives the session: at each request
 * it closes the step before, and at a window's end it switches the pipeline to the next
 * window in the list, all inside dsa_next() and outside of what is measured:
 *
 *	request 0        1        2                            n
 *	 |switch|---------|--------|----------------------------|switch|---
 *	        settling: thrown away   begin ....measured.... end
 *
 * It does not wait for dsa: when no window is queued, the driver runs the real
 * pipeline, and when dsa is gone it does so for good. When several jobs run in step it
 * stays in its last window, unmeasured, until the slowest job catches up; where that
 * window delivers nothing, and before the first one, it waits inside dsa_next().
 *
 * All calls from the thread that calls dsa_next().
 */
#ifndef DSA_DRIVER_H
#define DSA_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

struct cache;
struct driver;
struct error;
struct options;
struct pipeline;
struct ring;
struct ring_reader;
struct ring_shape;
struct source;
struct throttle;
struct trace;
struct trace_process;

/*
 * All outlive the driver. Of a shared loader ring and reader are NULL; of a consumer,
 * whose batches such a one makes, source and all that belongs to a pipeline too.
 */
struct driver_parts {
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

	/* A shared loader publishes again what it published, as far as there is room; a
	 * consumer discards what was published. */
	void (*repeat)(void *context, uint32_t turn);
	void (*drain)(void *context);
	void *context;
};

/* Makes this loader the session's driver; driver_close() ends that. 0, with *opened NULL
 * where there is no session or another loader drives it; or -errno, *opened is NULL. */
int driver_open(const struct driver_parts *parts, struct driver **opened,
		struct error *err);
void driver_close(struct driver *driver);

/*
 * Call when the program asks for a batch. May take long: switches and windows that
 * deliver nothing run in here. Returns 1, or 0 when dsa has seen enough.
 */
int driver_request(struct driver *driver);

/* True when dsa has seen enough: for a reader that waits. */
bool driver_stopped(const struct driver *driver);

/* The pool of synthetic batches, with one ready, if the next batch comes from it; NULL:
 * it comes from the loader's own ring. */
struct ring_reader *driver_pool(struct driver *driver);
struct ring *driver_pool_ring(const struct driver *driver);

/* The pool's reader, whether a window uses it or not; NULL: there is no pool. */
struct ring_reader *driver_pool_reader(const struct driver *driver);

/* The batch in the slot was taken after a wait inside dsa_next(). */
void driver_delivered(struct driver *driver, uint32_t slot, uint32_t samples,
		      uint64_t blocked_ns);

/* dsa_compute() was busy from the delivery on; rate in samples/s. */
void driver_emulated(struct driver *driver, double rate);

/* ---- a loader that several jobs share ---- */

/*
 * Executes windows until dsa is gone or has seen enough, or driver_end(); in a thread
 * of its own.
 */
void driver_serve(struct driver *driver);
void driver_end(struct driver *driver); /* from any thread */

/* Of a consumer: the turn whose batches the current window accepts; 0: any. */
uint32_t driver_turn(const struct driver *driver);

/*
 * Enters a sample that could not be used into the session; the first TRACE_SKIPS with
 * name and reason. One thread at a time.
 */
void driver_skip(struct trace *trace, const struct source *source, uint32_t sample,
		 int code, const char *reason);

#endif
