/*
 * bcast_reader.h - a reader of the ring, and its notes.
 *
 *	released          next        reach       published
 *	---|HHHHHHHHH..HHHHH|===========|-------------|
 *	    held, given back  claimed: looked at now
 */
#ifndef DSA_SHARE_BCAST_READER_H
#define DSA_SHARE_BCAST_READER_H

#include "loader/share/ring/bcast_state.h"

/* Of a place of the ring, the reader's own notes. */
enum {
	HELD = 1,
	OURS = 2
}; /* taken and not given back; and a sample for this reader */

struct bcast_reader {
	struct bcast_layout layout;
	const struct bcast_header *header;
	const struct bcast_place *places;
	const char *samples; /* mapped twice */
	struct bcast_reader_page *page;
	int event;

	uint32_t slot;
	uint64_t token;
	bool audit, partial;
	bool mirrored; /* samples are taken from the mirror */
	uint64_t epoch_places;
	bool (*had)(const void *context, uint32_t sample);
	const void *context;

	uint64_t next, remaining, epoch;
	uint64_t bad; /* BCAST_BAD places gone past, without repeats */
	uint64_t released;
	uint64_t rung;       /* last value of `hungry` that was answered */
	uint8_t *notes;      /* of each place */
	uint64_t *checksums; /* audit: of what is held */
};

/* What lies before it can be taken. */
uint64_t bcast_ready(const struct bcast_reader *reader);

/* Says that all before `released` is given back; wakes a writer that waits for it. */
void bcast_report(struct bcast_reader *reader, uint64_t released);

#endif
