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
	const struct trace_step *records; /* of its steps, those that are looked at */
	size_t record_count;
	struct turn_made *made;     /* their batches as they were given out, */
	struct turn_batch *batches; /* and only what they took */
	size_t batch_count;
	double *compute_s; /* of each step; before `settle` as the first after it */
	size_t steps, settle;
	double wall_s, blocked_s; /* of the steps from `settle` on, but for pauses */
};

/*
 * The window's records, up to a step that was left out; of one that is only observed those of
 * an epoch, as each begins with workers that have nothing; not of the first, which had begun
 * before, where there are others. `at` counts the records that were looked at; begin
 * with 0. 0; -ENOENT: there are no more; -ENODATA: these are too few; -ENOMEM.
 * turn_records_free() in any case.
 */
int turn_records_next(const struct window *window, size_t *at,
		      struct turn_records *records);
void turn_records_free(struct turn_records *records);

/* Adds what a cached window's batches cost. */
void turn_records_cost(const struct turn_records *records, struct turn_costs *costs);

/* As the proof wants them, as long as the records are there. */
struct turn_window turn_records_window(const struct turn_records *records,
				       double handover_s, double pickup_s);

#endif
