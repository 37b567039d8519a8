/* shared_epoch_state.h - the inside of a shared epoch, for shared_epoch.c and its state as bytes. */
#ifndef DSA_SHARED_EPOCH_STATE_H
#define DSA_SHARED_EPOCH_STATE_H

#include "loader/share/schedule/shared_epoch.h"

/* The samples from a cut to the next one; its number is the cut's. Saved as it is. */
struct shared_epoch_part {
	uint64_t epoch; /* of its next lap */
	uint64_t
		began; /* its last lap, or the one that is to begin with it; UINT64_MAX: n/a */
	uint32_t length;
	uint32_t owners;
	uint32_t next; /* the part behind it */
	uint32_t live;
};

/* Saved as it is. */
struct shared_epoch_lap {
	uint64_t first; /* global position */
	uint64_t epoch;
	uint32_t length;
	uint32_t entry; /* it began at; of the newest lap it is live */
};

struct shared_epoch {
	struct plan plan; /* first: a plan is its shared epoch */
	struct shared_epoch_config config;
	struct shared_epoch_part parts[SHARED_EPOCH_ENTRIES];
	unsigned at;   /* the part whose lap is laid out next */
	uint64_t laid; /* laps so far: the newest is laid - 1 */
	struct shared_epoch_lap
		laps[SHARED_EPOCH_LAPS]; /* lap L in L % SHARED_EPOCH_LAPS */
	uint32_t *stream;                /* sample of a global position % room */
	uint64_t room;
	uint32_t *row; /* permutation of an epoch */
	uint64_t row_epoch;
	bool row_filled;
	uint8_t *part_of; /* of each sample */
};

/* Positions that are kept. */
uint64_t shared_epoch_room(const struct shared_epoch_config *config);

/* One without parts. */
struct shared_epoch *shared_epoch_blank(const struct shared_epoch_config *config,
					struct error *err);

#endif
