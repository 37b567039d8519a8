/*
 * schedule_state.h - what the parts of the schedule share; private to them.
 *
 *	schedule.c	what was done, and what it calls for: another window, or the end
 *	schedule_ask.c	the windows themselves: kind, length, staging, cache
 *	schedule_again.c	those that are void or disturbed, once more
 *	schedule_follow.c	jobs in step
 */
#ifndef DSA_SCHEDULE_STATE_H
#define DSA_SCHEDULE_STATE_H

#include "profiler/schedule/block_order.h"
#include "profiler/schedule/request_budget.h"
#include "profiler/schedule/schedule.h"
#include "profiler/schedule/window_cost.h"

enum {
	SCHEDULE_AGAINS = TRACE_WINDOWS / 4 /* void windows that wait for another try */
};

/*
 * Of a window, if the budget allows; the second of one in a block, which is compared with
 * others beside it: the sooner these come, the less has the speed of the machine changed
 * (measured on a virtual one: neighbours of .65 s correlate by .55). Shorter ones scatter by
 * what is under way at their ends.
 */
#define SCHEDULE_LENGTH_S       1.
#define SCHEDULE_BLOCK_LENGTH_S .4

/*
 * Real windows that last whole epochs.
 *
 *	... warm-up | to the edge | epoch, where a cache is to fill | epoch | epoch ...
 *
 * Each sample comes once in an epoch, so that windows of whole ones always read the
 * same bytes, and a cache of any policy has its hits as it really has them: nothing is
 * drawn. With one reader and a fresh order in each epoch, lru and fifo have their
 * steady state from the second epoch on; the first two never count.
 */
enum { EPOCHS_ENOUGH = 4 }; /* windows before the stop rule may say stop */

struct epochs {
	bool on;        /* windows are whole epochs */
	unsigned warm;  /* still to be asked for, which do not count */
	unsigned asked; /* of those that do */
};

/*
 * The windows beside the blocks: G under interference, the curves P(k) and S(q), what
 * is under an emulated storage, and paired windows that show what the instrumentation
 * costs. They share a part of the budget.
 */
enum { EXTRAS = 40 };

struct curve_windows {
	double budget_s;       /* for all of them */
	double spent_s;        /* on those that ended */
	uint64_t memory_bytes; /* that staged samples may take */
	struct trace_window asks[EXTRAS];
	unsigned count, next;
};

struct schedule {
	struct schedule_config config;
	struct window *windows; /* measured ones, TRACE_WINDOWS of room */
	unsigned seen;          /* windows that ended: those before windows[seen] */
	unsigned asked;
	struct window_cost pace;
	struct request_budget requests;
	bool requests_short; /* they leave less time than the budget does, */
	bool requests_spent; /* or no window that must come next */
	struct shares shares;

	struct trace_window again[SCHEDULE_AGAINS]; /* void, to be asked again */
	unsigned again_count;
	unsigned voids[TRACE_KINDS]; /* in a row */
	unsigned loaded_again;       /* loaded windows that were void */
	char why[160];
	bool disturbed; /* more than half are: it is no use to measure them again */

	bool begun, planned, warmed;
	bool behind;              /* a job in step is not precise yet */
	bool filled;              /* the cache was */
	bool drawn;               /* real windows draw their hits */
	bool warm;                /* or read through a warm page cache */
	struct block_kinds kinds; /* that a block has */
	uint32_t beside; /* trace_loader.beside, as far as that was looked at */
	unsigned blocks, in_block; /* whole ones asked for; windows of the next one */
	struct curve_windows extras;
	unsigned extras_due;
	struct epochs epochs;
	double length_s;             /* of a window, on average over the kinds; */
	double stretch[TRACE_KINDS]; /* of each kind's, over that */
};

/* ---- schedule.c ---- */

/* Takes note of windows that ended. 0 or -ENOMEM. */
int schedule_look(struct schedule *schedule, const struct trace *trace);

bool schedule_precise(const struct schedule *schedule);

static inline bool schedule_is_single(const struct schedule *schedule)
{
	return schedule->config.block_s > 0;
}

/* ---- schedule_again.c ---- */

/* Takes note of a window of a block that is void. */
void schedule_note_void(struct schedule *schedule, const struct window *window);

/* The same of a loaded one, of which there are few. */
void schedule_note_loaded(struct schedule *schedule, const struct window *window);

/* A window to ask for again: one that was void; or one that was disturbed, where there
 * is time and hope. False: there is none. */
bool schedule_ask_again(struct schedule *schedule, const struct trace *trace,
			double left_s, struct trace_window *ask);

/* Adds a disturbed window of a curve to those planned, when all were asked for. */
void schedule_repeat_curve(struct schedule *schedule, const struct trace *trace);

/* True when windows of a kind were void so often that they will not get better. */
bool schedule_given_up(const struct schedule *schedule);

/* ---- schedule_ask.c: all fill a request ---- */

/* Its batches turned out to be others when they are given again: blocks begin anew, without
 * cached windows, and windows of lists are judged once more. */
void schedule_drop_list(struct schedule *schedule, const struct trace *trace);

/* First of all, if the cache's steady state is to be reached by it. */
bool schedule_ask_fill(struct schedule *schedule, const struct trace *trace,
		       struct trace_window *ask);
void schedule_ask_warmup(const struct schedule *schedule, struct trace_window *ask);

/* The next window of the present block. */
void schedule_ask_block(struct schedule *schedule, const struct trace *trace,
			double left_s, struct trace_window *ask);

/* Its length, and all that a window of its kind needs in a block. */
void schedule_set_block(struct schedule *schedule, const struct trace *trace,
			struct trace_window *ask, double left_s);

/* How long a window is if the budget allows. */
double schedule_longest(const struct schedule *schedule);

/* How long a window may be for 8 blocks to fit into what is left, and how that is best
 * divided between the kinds. */
void schedule_set_length(struct schedule *schedule, double left_s);

/* What a window of a block, and a whole one, take by the paces seen. */
double schedule_window_s(const struct schedule *schedule, enum trace_kind kind);
double schedule_block_s(const struct schedule *schedule);

/* How real windows get at the cache in its steady state, and whether by a fill. */
void schedule_choose_cache(struct schedule *schedule, const struct trace *trace);
bool schedule_wants_fill(const struct schedule *schedule, const struct trace *trace);

/* What a real window needs for that. */
void schedule_set_real(const struct schedule *schedule, const struct trace *trace,
		       struct trace_window *ask);

/* Samples to stage for a window of the kind. */
uint32_t schedule_stage(const struct schedule *schedule, const struct trace *trace,
			enum trace_kind kind);

/* The next window beside the blocks, when there is one and time for it. */
bool curve_windows_ask(struct curve_windows *extras, const struct window_cost *pace,
		       const struct trace_loader *loader, double left_s,
		       struct trace_window *ask);

#endif
