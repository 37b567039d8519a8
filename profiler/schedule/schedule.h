/*
 * schedule.h - which window next. Pure: it looks at the session and at a clock given.
 *
 *	fill | warm-up | block  extras  block  extras ... until precise, or the end
 *	                 {synthetic, cached, real}, and {copied} where the loader has a
 *	                 device, in turning and mirrored orders
 *
 * Extras are the curves, G under interference and the overhead: a few after each block,
 * for at most a fifth of the budget. Void windows are asked for again. Where batches can't
 * be given again (trace_loader.no_list) a block has no cached window.
 *
 * For a rate alone it is real windows only, in whole epochs where they fit.
 *
 * A single block is one after a short warm-up, in an order that turns with the seed,
 * and half of its time is the real window's. There are no extras.
 */
#ifndef DSA_SCHEDULE_H
#define DSA_SCHEDULE_H

#include "profiler/analysis/shares.h"
#include "profiler/session/window.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct schedule_config {
	double budget_s;  /* from the first request on */
	double precision; /* half-width of a share to stop at */
	double block_s;   /* a single block, whose windows together are about so long,
			   * whatever budget and precision are; 0: not so */
	uint64_t seed;
	int only;     /* separate launches: the one kind; -1: all */
	bool rate;    /* only is TRACE_REAL, precision is relative to its rate */
	bool in_step; /* with other jobs: no whole epochs, which end when they do */
	uint64_t memory_bytes; /* that staged samples may take */
	uint64_t cache_bytes;  /* that the kernel's page cache may grow to */
};

enum schedule_step {
	SCHEDULE_ASK,  /* *ask is to be asked for */
	SCHEDULE_WAIT, /* for windows that were asked for */
	SCHEDULE_DONE, /* precise enough */
	SCHEDULE_OUT,  /* the budget has no room for another block */
	SCHEDULE_REQUESTS, /* another window might ask for more objects than trace.most_gets */
	SCHEDULE_VOID, /* windows of a kind are void again and again: schedule_why() */
};

struct schedule;

/* NULL: memory is short. */
struct schedule *schedule_new(const struct schedule_config *config);
void schedule_free(struct schedule *schedule);

/*
 * What to do next, when the program asked for its first batch `elapsed_s` ago (0: it
 * has not). A window in *ask must be appended to the session before the next call.
 */
enum schedule_step schedule_next(struct schedule *schedule, const struct trace *trace,
				 double elapsed_s, struct trace_window *ask);

/*
 * Of several jobs in step one schedule leads. The others follow: each turns the window
 * that the leader asked for into the same for its own job, whose cache, pace and room
 * may be others. What a follower saw counts for the leader: it asks again for windows
 * that were void to one, and is not done before all are precise; but for one whose
 * windows are void again and again.
 */
void schedule_follow(struct schedule *schedule, const struct trace *trace,
		     const struct trace_window *lead, struct trace_window *ask);
void schedule_heed(struct schedule *leader, struct schedule *const *followers,
		   size_t count);

/* Shares so far, for a progress line; unknown before there is a block. */
const struct shares *schedule_shares(const struct schedule *schedule);

/* Why the last window was void. */
const char *schedule_why(const struct schedule *schedule);

#endif
