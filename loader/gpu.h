/*
 * gpu.h - batches on a device: every slot of a ring has a twin there.
 *
 *	slot	samples, labels  -- copy -->  samples, labels		transfer=output
 *	slot	bytes, labels    -- copy -->  bytes, labels		transfer=uint8
 *				 -- convert -->  numbers, before them
 *
 * Copies go to one stream of the loader, conversions to another, each in the order in
 * which slots are published: a batch is converted while the next one is copied. A full
 * slot is one copy: its twin has the labels where the slot has them.
 *
 *	gpu_twins_copy()	the stream of copies waits for the twin's last release;
 *				copies, converts, and marks the twin ready
 *	gpu_twins_wait()	a stream of the program waits until it is
 *	gpu_twins_release()	the twin is free once that stream has come so far
 *	gpu_twins_finish()	the caller waits until the twin was ready: then the slot
 *				may be written again
 *
 * The host waits in gpu_twins_finish(), but not for the program's kernels on this batch;
 * and in gpu_twins_release() for those on the batch that was released so many releases
 * before as the ring has slots. Its twin is written again only then, too: so far ahead of
 * its device may a program be, also in batches that are not copied again. Each call leaves
 * the thread's current context as it found it.
 * A twin belongs to one thread at a time, as its slot does.
 */
#ifndef DSA_GPU_H
#define DSA_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct gpu;
struct gpu_mirror;
struct gpu_twins;
struct prep_config;
struct trace_process;

/* The process outlives the device. */
struct gpu_config {
	int ordinal;                   /* -1: of the current context, else 0 */
	uint32_t batch;                /* samples of a slot, at the most */
	uint32_t slots;                /* of the ring that batches come from */
	size_t sample_bytes;           /* of a slot */
	struct trace_process *process; /* counters go here */
	/* What the program gets of slots that hold uint8 NHWC; NULL: what they hold. */
	const struct prep_config *converted;
};

/* Opens the device in the thread's current context, which outlives it if it is not the
 * device's primary one, or in that. NULL and one line. Closed after its twins. */
struct gpu *gpu_open(const struct gpu_config *config, struct error *err);
void gpu_close(struct gpu *gpu);

struct gpu_facts {
	char name[16];            /* "cuda:0" */
	bool unpinned;            /* some memory could not be registered */
	bool converts;            /* bytes are copied, and converted there */
	size_t sample_bytes;      /* that the program gets of a sample, */
	size_t copied_per_sample; /* and that are copied for it: its label, too */
};

struct gpu_facts gpu_facts(const struct gpu *gpu);

/*
 * Waits until the devices that the program uses have done what they were given: those of
 * the thread's current context; where it has none, of each device's primary one that is
 * active. Where a stream of it is captured nothing can be waited for, and to try
 * invalidates the capture of one that does not wait for the default stream, in whatever
 * mode. Returns an enum trace_devices: none where the program has not opened the driver,
 * or does not use it.
 */
uint32_t gpu_idle(void);

/*
 * The same of a program whose batches the device copies, for what it did with them: the
 * stream that it asks for the next one on, the streams on which it gave the last ones
 * back, and that which the driver has by default. No capture is invalidated. Copies go on,
 * as they would: a device that had them all done would have none to do until the next
 * batch is prepared.
 */
uint32_t gpu_idle_but_copies(const struct gpu *gpu);

/* The stream of the call that is asking for a batch; NULL: none is, or the default one. */
void gpu_set_asking(struct gpu *gpu, void *stream);

/* What lies on a device begins at a multiple of it. */
enum { GPU_ALIGNED = 256 };

/* The slots of a ring. Each has behind its samples room for the labels: int64. */
struct gpu_slots {
	void *start;       /* of the first */
	size_t slot_bytes; /* from slot to slot */
	size_t labels;     /* where they begin in a slot: a multiple of GPU_ALIGNED */
	uint32_t count;
};

/* Makes the twins, and registers the slots' memory, which outlives them. NULL and one
 * line. */
struct gpu_twins *gpu_twins_open(struct gpu *gpu, const struct gpu_slots *slots,
				 struct error *err);

/* Waits for the copies, and for all that the program had put on its streams when it
 * released twins. */
void gpu_twins_close(struct gpu_twins *twins);

/* Copies the first `count` samples of a slot, and their labels. What fails is said by
 * gpu_twins_wait(). */
void gpu_twins_copy(struct gpu_twins *twins, uint32_t slot, uint32_t count);

/* The same with samples that lie elsewhere in a row: until gpu_twins_finish(), in memory
 * that is registered. */
void gpu_twins_copy_from(struct gpu_twins *twins, uint32_t slot, const void *samples,
			 uint32_t count);

/* The same with samples that are there already, from `offset` of a mirror on; behind its
 * end they go on at its begin. Until gpu_twins_finish(). */
void gpu_twins_take(struct gpu_twins *twins, uint32_t slot,
		    const struct gpu_mirror *mirror, size_t offset, uint32_t count);

/*
 * Memory of the device that several processes map: one makes it and copies to it what lies
 * in its own memory, on the loader's stream of copies.
 */
struct gpu_uuid {
	char bytes[16]; /* all 0: of no device */
};
struct gpu_uuid gpu_uuid(const struct gpu *gpu);

/* Makes the mirror of `bytes` of memory at `start`, which outlives it and is registered.
 * NULL and one line. */
struct gpu_mirror *gpu_mirror_make(struct gpu *gpu, void *start, size_t bytes,
				   struct error *err);
int gpu_mirror_fd(const struct gpu_mirror *mirror); /* for others; the mirror's */

/* Maps one of `bytes` that another process made, read-only where the driver can. The
 * descriptor stays the caller's. NULL: it can't be mapped. */
struct gpu_mirror *gpu_mirror_map(struct gpu *gpu, int fd, size_t bytes);
bool gpu_mirror_read_only(const struct gpu_mirror *mirror);
void gpu_mirror_close(struct gpu_mirror *mirror);

/* Of who made it. Copies what lies at `offset`; then calls when all copies so far are
 * done, in a thread of the driver's: no call of the driver may be made there. What fails
 * is said by gpu_mirror_check(). */
void gpu_mirror_copy(struct gpu_mirror *mirror, size_t offset, size_t bytes);
void gpu_mirror_call(struct gpu_mirror *mirror, void (*call)(void *context),
		     void *context);

/* Whether all went well so far; the latter once all is done. 0, or -errno and one line. */
int gpu_mirror_check(const struct gpu_mirror *mirror, struct error *err);
int gpu_mirror_finish(const struct gpu_mirror *mirror, struct error *err);

/* Registers memory that this process may only read, for copies from it. False: the
 * driver can't. Unregistered when all copies from it are done. */
bool gpu_register_read_only(const struct gpu *gpu, const void *start, size_t bytes);
void gpu_unregister(const struct gpu *gpu, const void *start);

/* Device addresses. */
struct gpu_batch {
	uint64_t data, labels;
};

/* stream: a CUstream; NULL is one, too. 0, or -errno and one line. */
int gpu_twins_wait(struct gpu_twins *twins, uint32_t slot, void *stream,
		   struct gpu_batch *batch, struct error *err);
int gpu_twins_release(struct gpu_twins *twins, uint32_t slot, void *stream,
		      struct error *err);

void gpu_twins_finish(struct gpu_twins *twins, uint32_t slot);

/*
 * What a copy can be at best: from memory of the driver's own to the device, `count` of
 * `bytes` one after another on the loader's stream of copies. Waits for them, *ns: how
 * long that took. 0, or -errno and one line.
 */
struct gpu_buffer;
struct gpu_buffer *gpu_buffer_open(struct gpu *gpu, size_t bytes, struct error *err);
int gpu_buffer_copy(struct gpu_buffer *buffer, unsigned count, uint64_t *ns,
		    struct error *err);
void gpu_buffer_close(struct gpu_buffer *buffer);

#endif
