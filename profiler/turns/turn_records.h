/*
 * turn_records.h - a window of a session as the replay wants it: its batches in the
 * order in which they were given out, and its steps.
 */
#ifndef DSA_TURN_RECORDS_H
#define DSA_TURN_RECORDS_H

#include "profiler/session/window.h"
#include "profiler/turns/turn_proof.h"

struct turn_records {
	const struct window *window;
	struct turn_made *made;     /* as they were given out, */
	struct turn_batch *batches; /* and only what they took */
	size_t batch_count;
	double *compute_s; /* of each step; before `settle` as the first after it */
	size_t steps, settle;
	double covered; /* share of the window's measured steps that these are */
};

/* 0; -ENODATA: it has no such records; -ENOMEM. turn_records_free() in any case. */
int turn_records_of(const struct window *window, struct turn_records *records);
void turn_records_free(struct turn_records *records);

/* Adds what a cached window's batches cost. */
void turn_records_cost(const struct turn_records *records, struct turn_costs *costs);

/* The window as the proof wants it, as long as the records are there. */
struct turn_window turn_records_window(const struct turn_records *records,
				       double handover_s);

#endif
