/*
 * attach.h - how this process takes part: the page, its slot there, the batch that it
 * makes.
 *
 *	nothing -> page -> slot -> in a batch
 *
 * A process without DSA_IO stays where it is. A child of fork() keeps the page alone. One of
 * another rank of a job than the first has its rank's page, and the first one's.
 */
#ifndef DSA_IO_ATTACH_H
#define DSA_IO_ATTACH_H

#include "profiler/io_page.h"

#include <stdbool.h>

struct attach {
	struct io_page *_Atomic page;
	struct io_page *_Atomic first; /* the same, but in other ranks of a job */
	struct io_slot *_Atomic slot;
	_Atomic uint32_t batch; /* its number in this process; 0: none is made */
	_Atomic uint32_t forks; /* processes that were started; a count for comparing */
};

extern struct attach attach_self;

/* Which file the page is, and which where that can't be opened; NULL or "": there is none. Of
 * which rank this process is; NULL: the first, or of no such job. Before there are threads. */
void attach_begin(const char *path, const char *spare, const char *rank);

/* From now on this process counts into the page of that rank. False: there is none. Before it
 * makes a batch, or starts one that does. */
bool attach_rank(uint32_t rank);

/* The page, mapped; NULL: there is none, or of another version. Keeps errno. */
struct io_page *attach_page(void);

/* What the emulated storage and the files that the program writes are in. Keeps errno. */
struct io_page *attach_first(void);

/* The slot, claimed; NULL: there is no room, or no page. */
struct io_slot *attach_slot(void);

/* Around fork(): in the parent, in the child. */
void attach_forked(void);
void attach_child(void);

static inline void attach_add(struct io_slot *slot, enum io_counter which,
			      uint64_t value)
{
	atomic_fetch_add_explicit(&slot->counters[which], value, memory_order_relaxed);
}

static inline uint64_t attach_count(struct io_slot *slot, enum io_counter which)
{
	return atomic_load_explicit(&slot->counters[which], memory_order_relaxed);
}

#endif
