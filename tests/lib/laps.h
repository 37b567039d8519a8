/*
 * laps.h - a plan for tests: laps of any lengths, which can be cut short under way.
 *
 * Global position g holds sample g * 37 % samples, wherever laps end: as long as samples
 * is no multiple of 37, that many positions in a row hold each sample once.
 */
#ifndef DSA_TESTS_LAPS_H
#define DSA_TESTS_LAPS_H

#include "loader/plan.h"

#include <stdatomic.h>

enum { LAPS_MOST = 400 };

struct laps {
	struct plan plan;
	uint32_t samples, count;
	uint64_t end[LAPS_MOST];  /* global position behind each */
	uint64_t asked;           /* highest lap asked for */
	atomic_uint out_of_range; /* positions asked for that no lap has */
};

void laps_init(struct laps *laps, uint32_t samples, const uint32_t *lengths,
	       uint32_t count);

/* With seats: position p is for seat p % 3 and, if even, seat 5. */
void laps_seat(struct laps *laps);
uint64_t laps_seats(uint32_t position);

uint32_t laps_sample(const struct laps *laps, uint64_t position);

/* Ends a lap before this position of it. With the pipeline's lock held. */
void laps_cut(struct laps *laps, uint64_t lap, uint32_t position);

#endif
