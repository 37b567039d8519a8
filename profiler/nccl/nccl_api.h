/*
 * nccl_api.h - what NCCL asks of a profiler, in declarations of our own.
 *
 * NCCL 2.27 on looks in the library that NCCL_PROFILER_PLUGIN names for ncclProfiler_v5,
 * then _v4 (2.28.9: v5 .. v1; 2.29: v6 first). Both have the functions below; init() takes
 * the communicator's number elsewhere, and a descriptor's type is of 8 bytes or of one,
 * which is the lowest: what else is read lies at the same places. All answer 0, whatever
 * went wrong: the program's communication does not depend on who watches it.
 *
 *	init	for each communicator: *events says which events it is told, by bits
 *	start	of an event; *event becomes what names it to the other two: a collective,
 *		by the thread that enqueues it; then the channels of its kernel, whose
 *		parent it is, by a thread of NCCL's own, while it runs or later
 *	state	a channel's kernel part has ended, by the timer of the device
 *	stop	a collective was enqueued; a channel is done
 *
 * Before collectives comes the group that they are enqueued in, asked for or not. Where that
 * has no name, 2.27 tells nothing of them, and all later ones leave the number of one that a
 * CUDA graph does again as it was.
 */
#ifndef DSA_NCCL_API_H
#define DSA_NCCL_API_H

#include <stdint.h>

enum {
	NCCL_GROUP = 1 << 0, /* types of events, and bits of *events */
	NCCL_COLLECTIVE = 1 << 1,
	NCCL_CHANNEL = 1 << 6,
	NCCL_CHANNEL_STOP = 22, /* a state; its argument begins with the timer, ns */
};

/* Bytes from the begin of a descriptor. */
enum {
	NCCL_AT_TYPE = 0,
	NCCL_AT_PARENT = 8, /* pointer: the event that it belongs to */
	NCCL_AT_NUMBER =
		24, /* uint64_t, of a collective: counts per communicator and */
	NCCL_AT_FUNCTION = 32, /* text, as "AllReduce" */
	NCCL_AT_TIMER = 32, /* uint64_t, of a channel: its begin, by the device, ns */
};

#define NCCL_REST                                                                      \
	int (*start)(void *context, void **event, const void *descriptor);             \
	int (*stop)(void *event);                                                      \
	int (*state)(void *event, int state, const void *argument);                    \
	int (*finalize)(void *context)

struct nccl_profiler_v4 {
	const char *name;
	int (*init)(void **context, int *events, const char *name,
		    uint64_t communicator, int nodes, int ranks, int rank,
		    void (*log)(void));
	NCCL_REST;
};

struct nccl_profiler_v5 {
	const char *name;
	int (*init)(void **context, uint64_t communicator, int *events,
		    const char *name, int nodes, int ranks, int rank,
		    void (*log)(void));
	NCCL_REST;
};

#undef NCCL_REST

#endif
