/*
 * ranks.h - brings the ranks of one job into the same windows, before the same batch.
 *
 * The ranks of a job meet in each step, so that none is further than a batch or a few from
 * another. The first one drives the windows, and what it does to its loader the others do to
 * theirs: it tells them, in the page that all of them share (io_page.h).
 *
 *	first rank	agree: before batch 12   tell(drain) tell(list) tell(start) tell(go)
 *	                    |                        |
 *	others		... batch 11, batch 12:   wait, drain, list, start, go: batch 12
 *
 * Nobody has asked for the batch that is agreed on yet. A rank that has come there does no more
 * until it is told what, and the first one tells that once all have done what came before. So
 * windows begin and end in all of them together, whatever each takes for it.
 *
 * When a rank is gone, or does not come, or can't go on, it is over: each goes on by itself.
 * Nothing here takes memory or a lock. Calls of a process from the thread that asks for batches.
 */
#ifndef DSA_RANKS_H
#define DSA_RANKS_H

#include "profiler/io_page.h"

#include <stdbool.h>
#include <stdint.h>

enum ranks_task {
	RANKS_DRAIN,
	RANKS_LIST, /* `number` batches */
	RANKS_FILES, /* of the list into memory, `share` of them out of it; ns: the seed */
	RANKS_START, /* from `number`, an enum hook_source; ns: of a step in a real window */
	RANKS_MAKE,  /* by `number` workers for ns */
	RANKS_GO,    /* on, with the batch that was asked for */
	RANKS_LEAVE, /* the same; dsa is gone, and each goes on by itself */
	RANKS_END,   /* there are no more batches */
};

struct ranks_order {
	enum ranks_task task;
	uint32_t number;
	uint64_t ns;
	double share;
};

/* Batches that windows may take beyond what their ends ask for, until all can switch. */
enum { RANKS_BEYOND = 8 };

/* This process is that rank, from 0 on. False: another one is, and lives. */
bool ranks_join(struct io_ranks *ranks, uint32_t rank);

/* It is not any more. */
void ranks_quit(struct io_ranks *ranks, uint32_t rank);

/* So many have joined. */
uint32_t ranks_joined(const struct io_ranks *ranks);

/* It is over, for this reason, if it was not before. */
void ranks_end(struct io_ranks *ranks, const char *why);

/* Why; NULL: it is not. */
const char *ranks_over(const struct io_ranks *ranks);

/* The rank asked for its batch of that number, from 1 on; others may be left out, as of a program
 * that takes several in a step. True: all switch before it. */
bool ranks_come(struct io_ranks *ranks, uint32_t batch);

/* Of the first rank, which is to switch: true where all do before this batch. False: they do
 * before a later one that was agreed on, or that is now, which is a multiple of `round` away. */
bool ranks_agree(struct io_ranks *ranks, uint32_t batch, uint32_t round);

/* Of the first rank, once all switch. False: it is over. */
bool ranks_tell(struct io_ranks *ranks, const struct ranks_order *order);

/* Of another one that came to where all switch: what it is to do next; ranks_did() says that it
 * has. False: it is over. */
bool ranks_await(struct io_ranks *ranks, uint32_t rank, struct ranks_order *order);
void ranks_did(struct io_ranks *ranks, uint32_t rank);

#endif
