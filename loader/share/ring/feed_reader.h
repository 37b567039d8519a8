/*
 * feed_reader.h - a job's side of the feed, its notes.
 *
 *	released          next        reach       published
 *	---|HHHHHHHHH..HHHHH|===========|-------------|
 *	    held, given back  claimed: looked at now
 */
#ifndef DSA_SHARE_FEED_READER_H
#define DSA_SHARE_FEED_READER_H

#include "loader/share/ring/feed_state.h"

/* Of a place of the ring, the reader's own notes. */
enum {
	HELD = 1,
	OURS = 2
}; /* taken and not given back; and a sample for this reader */

struct feed_reader {
	struct feed_layout layout;
	const struct feed_header *header;
	const struct feed_place *places;
	const char *samples; /* mapped twice */
	struct feed_page *page;
	int event;

	uint32_t seat;
	uint64_t pass;
	bool audit, orphan, partial;
	uint64_t epoch_places;

	uint64_t next, remaining, epoch;
	uint64_t released;
	uint64_t rung;       /* what the writer was last told it may have */
	uint8_t *notes;      /* of each place */
	uint64_t *checksums; /* audit: of what is held */
};

/* Says that all before `released` is given back; wakes the writer if it waits for that. */
void feed_tell(struct feed_reader *reader, uint64_t released);

#endif
