/*
 * nccl_events.h - what NCCL tells of collectives -> records of the session.
 *
 * A collective is told before its channels, which may end long after it was enqueued: so
 * many are remembered, the oldest is forgotten, and what comes of it then is lost. Its record
 * is begun by the first channel that ends; others make it longer. Where room in the session
 * ends only every second number of each function is kept, then every fourth: all ranks keep
 * the same ones, but for those under way.
 */
#ifndef DSA_NCCL_EVENTS_H
#define DSA_NCCL_EVENTS_H

#include "loader/base/trace.h"

#include <pthread.h>

enum {
	NCCL_COMMUNICATORS = 64, /* of a process, at once */
	NCCL_GOING = 1 << 12,    /* collectives remembered */
};

struct nccl_communicator {
	uint64_t number;      /* of all of its ranks */
	uint32_t rank, ranks; /* 0, 0: it is free for the next */
};

struct nccl_going {
	uint64_t event; /* its name; 0: none so far */
	struct nccl_communicator communicator;
	char function[TRACE_FUNCTION];
	uint64_t number, start_ns;
	struct trace_collective *record; /* NULL: no channel has ended */
};

/* Begins as zeros, but for the first three. Any thread. */
struct nccl_events {
	struct trace *trace;
	uint32_t pid;
	pthread_mutex_t lock;
	struct nccl_communicator communicators[NCCL_COMMUNICATORS];
	uint64_t begun;
	struct nccl_going going[NCCL_GOING];
};

/* NULL: there is no room for one more. */
struct nccl_communicator *nccl_events_join(struct nccl_events *events, uint64_t number,
					   uint32_t rank, uint32_t ranks);

/* What goes on of its collectives goes on. */
void nccl_events_leave(struct nccl_events *events,
		       struct nccl_communicator *communicator);

/* The names of a collective, and of a channel of one; 0: what it would be told is not
 * wanted. Times of the device. */
uint64_t nccl_events_begin(struct nccl_events *events,
			   const struct nccl_communicator *communicator,
			   const char *function, uint64_t number);
uint64_t nccl_events_channel(struct nccl_events *events, uint64_t collective,
			     uint64_t start_ns);

/* `told_ns`: when that was told, CLOCK_MONOTONIC. */
void nccl_events_ended(struct nccl_events *events, uint64_t channel, uint64_t stop_ns,
		       uint64_t told_ns);

#endif
