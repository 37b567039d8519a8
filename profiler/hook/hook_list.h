/*
 * hook_list.h - what the batches of a list took when they were made first, and whether
 * those of a window took the same.
 */
#ifndef DSA_HOOK_LIST_H
#define DSA_HOOK_LIST_H

#include "loader/base/trace.h"
#include "profiler/io_page.h"

enum { HOOK_LIST_BATCHES = 4096 };

struct hook_listed {
	uint64_t key, digest, bytes;
	uint32_t opens;
};

/* Begins all 0: empty. */
struct hook_list {
	uint64_t first; /* of the ring: of the pass that is being recorded */
	uint32_t count;
	bool whole;        /* none of its records was lost */
	uint64_t dropped;  /* parts of files there was no room for before it, */
	uint32_t unlisted; /* and of it */
	struct hook_listed batches[HOOK_LIST_BATCHES];
};

/* Forgets what it had; what is made from now on is of the list. */
void hook_list_begin(struct hook_list *list, struct io_page *page);

/* All of it is made. */
void hook_list_end(struct hook_list *list, struct io_page *page);

/* True if the batch opened and read what it did when it was made first. */
bool hook_list_agrees(const struct hook_list *list, const struct io_batch *batch);

/* The batch with a number of the ring; false: it is overwritten, or not written. */
bool hook_list_record(const struct io_page *page, uint64_t number, struct io_batch *to);

#endif
