/*
 * hook_state.h - the driver of a loader that the program brought. Private to profiler/hook/:
 * hook.c opens it and tells it of steps, hook_windows.c brings the loader into the windows'
 * states, hook_made.c adds up what its batches took, and hook_forget.c takes that back.
 */
#ifndef DSA_HOOK_STATE_H
#define DSA_HOOK_STATE_H

#include "loader/driver.h"
#include "profiler/hook/hook.h"
#include "profiler/hook/hook_describe.h"
#include "profiler/hook/hook_list.h"

#include <sys/types.h>

struct hook {
	pid_t pid; /* that opened it */
	struct driver driver;
	struct hook_calls calls;
	struct trace *trace;
	struct io_page *page;
	struct trace_process *process;
	struct hook_list list;
	uint32_t pair;   /* of blocks that the list is of; UINT32_MAX: of none */
	uint32_t listed; /* batches of it before it begins anew; 0: all the time */
	uint64_t
		counted; /* batches of the ring that are in a window's proof, or before */
	bool no_list;    /* batches can't be given again */
	uint32_t odd;    /* listed windows most of whose batches, */
	uint32_t partly_odd; /* or any, were others than when they were listed, */
	uint32_t alike;      /* and those of which all were the same */
	uint32_t ahead;      /* batches that its workers are */
	bool compares;       /* the window's batches are those of the list */
	bool begun;          /* what is made counts for the window, if there is one */
	bool watched;        /* it may have threads and processes of its own */
	uint32_t blind; /* batches of the window for which no read was seen, but storage
			 * waited for */
	struct hook_seen seen; /* when the window began, */
	uint64_t io_ns;        /* and time in I/O of all of them; */
	uint64_t own_io_ns;    /* in it, the thread that asks for batches */
	uint64_t step_ns;      /* of the last real window, */
	uint64_t batch_ns;     /* and of what it made, counted or not */

	/* Of a program that is observed: the epoch under way, of how many one is recorded,
	 * when the last batch came, and from when on batches are of the epoch after it. */
	uint32_t epoch, stride;
	uint64_t delivered_ns, next_ns;
	uint64_t loader, before; /* whose batches they are, and were; 0: anybody's */
	uint64_t beside[HOOK_BESIDE]; /* and of loaders beside it; 0: nobody's */

	struct io_ranks *ranks; /* that follow this one; NULL: it is none of several */
	bool agreed;            /* all of them switch before it */
};

extern const struct driver_ops hook_windows; /* of a struct hook */

/* A call of the hook in Python has this result. What it could not do it tells the program
 * itself. */
bool hook_done(struct hook *hook, int result);

/* From now on real windows have the stream as it comes, since batches of `why` can't be given
 * again. */
void hook_drop_list(struct hook *hook, const char *why);

/* Brings the loader to rest. */
void hook_drain(void *hook);

/* Adds the batches that were made since the last call to the window. */
void hook_add_batches(struct hook *hook, struct trace_window *window);

/* Where the loader that was observed has closed, and no backward() ever followed a batch of
 * it: as if none had driven, for one that trains. */
void hook_forget_untrained(struct trace *trace, struct io_page *page);

/* What was told of a loader that closed before anything was measured, and in whose place
 * another drives now. */
void hook_forget_left(struct trace *trace, struct io_page *page);

/* The program has begun another epoch, while it is observed. */
void hook_begin_epoch(struct hook *hook);

/* From now on time in I/O is the window's; to there. */
void hook_begin_io(struct hook *hook);
void hook_end_io(struct hook *hook, struct trace_made *made);

/* False: of batches that other threads read nobody knows how long the asking one waited for
 * that. */
bool hook_tells_io(const struct hook *hook, const struct trace_window *window);

#endif
