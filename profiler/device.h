/*
 * device.h - what a device did in a stretch of time, and what it waited for. Pure.
 *
 *	kernels	   =====      ====              ===
 *	copies	       =====       ==
 *	steps	   |           |  blocked   |
 *		   busy   copy busy copy data  busy
 *
 * Of each moment one thing is true: kernels ran; or none did, but copies or memsets; or
 * nothing ran while the program waited for a batch; or nothing ran for another reason,
 * as the host had not asked for anything yet. These four add up to the stretch to the
 * nanosecond.
 *
 * A span may have pauses within it, shorter ones than 20 us while there is room: they
 * count as if they lay evenly in it, and of two kinds of work as if independent of each
 * other.
 */
#ifndef DSA_DEVICE_H
#define DSA_DEVICE_H

#include "loader/base/trace.h"

enum { DEVICES_MOST = 64 }; /* those beyond are left out */

struct device_use {
	uint64_t busy_ns; /* kernels ran */
	uint64_t copy_ns; /* no kernel, but a copy or memset: exposed copies */
	uint64_t data_ns; /* nothing: within [request, request + blocked] of a step */
	uint64_t host_ns; /* nothing: all else */

	uint64_t overlap_ns;    /* of busy: copies ran as well */
	uint64_t collective_ns; /* of busy: kernels that wait for other ranks alone */
};

/* Spans of one kind of work, in order, none in another. */
struct device_track {
	const struct trace_span *spans;
	size_t count;
};

struct device {
	uint32_t pid;
	uint16_t ordinal; /* within the process */
	struct device_track tracks[TRACE_WORKS];
};

struct devices {
	struct trace_span *spans; /* sorted copies */
	size_t count;
	struct device device[DEVICES_MOST];
};

/* Sorts the spans of a session by device; those that are not whole are left out. 0 or
 * -ENOMEM; devices_free() in any case. */
int devices_read(const struct trace *trace, struct devices *devices);
void devices_free(struct devices *devices);

/*
 * Adds what the device did in [begin_ns, end_ns) to *use, which begins as zeros.
 * `steps` are those of the stretch, in order. Of a record of several steps it is not
 * known when each was blocked: the device is taken to wait for data in them for as long
 * as it did nothing, up to the time that they were blocked together.
 */
void device_use(const struct device *device, uint64_t begin_ns, uint64_t end_ns,
		const struct trace_step *steps, size_t count, struct device_use *use);

/* All four together. */
uint64_t device_use_total(const struct device_use *use);

#endif
