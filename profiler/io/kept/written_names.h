/* written_names.h - what the page says of files that the program writes: a mark of each, its
 * name, and which could not be kept. From any thread of any process. */
#ifndef DSA_WRITTEN_NAMES_H
#define DSA_WRITTEN_NAMES_H

#include "profiler/io_page.h"

#include <stdbool.h>

/* The low bits of a mark; above them is the path's hash. */
enum written_state {
	WRITTEN_OWN = 1, /* what it holds the program wrote, or it is kept already */
	WRITTEN_THERE,   /* the program wrote into what was there, to be kept yet */
	WRITTEN_STATES = 4,
};

/* Its low bits are 0. */
uint64_t written_hash(const char *path);

/* Marks what has this hash, if it has no mark yet. Returns where that stands; NULL: there is
 * no room. */
_Atomic uint64_t *written_mark(struct io_page *page, uint64_t hash,
			       enum written_state state, bool *first);

/* Adds the name, or counts it as one that there is no room for. */
void written_name(struct io_page *page, const char *path);

/* Marks an open file of data and adds its name, if it has no mark yet and batches are made:
 * `state` where it holds anything by now. One without a mark, as there is no room, counts
 * each time. True: it has its mark since now. */
bool written_note(struct io_page *page, int fd, enum written_state state);

/* It could not be kept. */
void written_lose(struct io_page *page, const char *path);

#endif
