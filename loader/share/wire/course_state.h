/* course_state.h - the inside of a course, for course.c and its state as bytes. */
#ifndef DSA_SHARE_COURSE_STATE_H
#define DSA_SHARE_COURSE_STATE_H

#include "loader/share/wire/course.h"

/* The samples from a cut to the next one; its number is the cut's. Saved as it is. */
struct course_part {
	uint64_t epoch; /* of its next lap */
	uint64_t
		began; /* its last lap, or the one that is to begin with it; UINT64_MAX: n/a */
	uint32_t length;
	uint32_t owners;
	uint32_t next; /* the part behind it */
	uint32_t live;
};

/* Saved as it is. */
struct course_lap {
	uint64_t first; /* global position */
	uint64_t epoch;
	uint32_t length;
	uint32_t cut; /* it began at; of the newest lap it is live */
};

struct course {
	struct plan plan; /* first: a plan is its course */
	struct course_config config;
	struct course_part parts[COURSE_CUTS];
	unsigned at;                         /* the part whose lap is laid out next */
	uint64_t laid;                       /* laps so far: the newest is laid - 1 */
	struct course_lap laps[COURSE_LAPS]; /* lap L in L % COURSE_LAPS */
	uint32_t *stream;                    /* sample of a global position % room */
	uint64_t room;
	uint32_t *row; /* permutation of an epoch */
	uint64_t row_epoch;
	bool row_filled;
	uint8_t *part_of; /* of each sample */
};

/* Positions that are kept. */
uint64_t course_room(const struct course_config *config);

/* One without parts. */
struct course *course_blank(const struct course_config *config, struct error *err);

#endif
