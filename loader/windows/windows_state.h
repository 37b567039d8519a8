/* windows_state.h - what the parts of a pipeline's windows share. Private to
 * loader/windows/. */
#ifndef DSA_WINDOWS_STATE_H
#define DSA_WINDOWS_STATE_H

#include "loader/driver.h"
#include "loader/ring.h"
#include "loader/windows.h"

#define MS UINT64_C(1000000)

struct pipeline_turn;

struct windows {
	struct windows_parts parts;
	struct driver driver;
	uint32_t turn;  /* number of the present one */
	bool synthetic; /* batches come from the pool, or are repeated */
	bool metered;   /* each batch delivered lets workers prepare one more */

	struct ring *pool; /* made when the first synthetic batch is asked for */
	struct ring_reader *pool_reader;
	uint32_t pool_slots, pool_next;

	/* Its slots that are copied to the device anew, in order, and not published. */
	bool copies;
	uint32_t ahead[RING_SLOTS], ahead_first, ahead_count;
};

/* describe.c: what is loaded and how. */
void describe_loader(const struct windows_parts *parts, struct trace_loader *about);

/* pool.c: makes the synthetic batches, in a turn that the caller ends. 0 or -errno. */
int pool_make(struct windows *windows);

/* sample_records.c: a batch of the stream was taken in the window that is on. */
void sample_records_add(struct windows *windows, uint32_t slot, uint32_t count);

/* A fetch window is over, its turn is not. */
void sample_records_add_probes(struct windows *windows);

/* window_turn.c: ends the pipeline's turn and discards what it published. */
void turn_end(struct windows *windows);

/* Turns to the stream. */
void turn_real(struct windows *windows);

/* Begins the turn that the window wants, after staging or evicting what that needs. As
 * driver_ops.enter. */
int turn_begin(struct windows *windows, struct trace_window *window);

/* Reads that are sure to be of files that are not in the page cache. */
uint64_t turn_unread(const struct windows *windows);

#endif
