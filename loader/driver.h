/*
 * driver.h - executes the windows of a `dsa run` where batches are asked for.
 *
 * The one loader that delivers the training batches drives the session: at each request
 * it closes the step before, and at a window's end it switches to the next window in
 * the list, all inside dsa_next() and outside of what is measured:
 *
 *	request 0        1        2                            n
 *	 |switch|---------|--------|----------------------------|switch|---
 *	        settling: thrown away   begin ....measured.... end
 *
 * It does not wait for dsa: when no window is queued, the loader does what the program
 * asked for, and when dsa is gone it does so for good. When several jobs run in step it
 * stays in its last window, unmeasured, until the slowest job catches up; where that
 * window delivers nothing, and before the first one, it waits inside dsa_next().
 *
 * What is here is the same for every loader: which window is next, when it begins, ends
 * or is refused, steps and counters. How a loader gets into the state that a window
 * wants its operations say; those of libdsa's pipeline are in loader/windows.h. Needs
 * loader/base/ alone and takes no memory and no lock, so that it also runs inside a
 * program that brings its own loader.
 *
 * All calls from the thread that asks for batches.
 */
#ifndef DSA_DRIVER_H
#define DSA_DRIVER_H

#include "loader/base/trace.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * What a loader does for its driver; the first argument is driver_parts.loader. Those
 * that may take long return soon when driver_stopped().
 *
 *	            drain           enter
 *	any state --------> at rest ------> as the window wants, also after its end
 *	                       |   resume
 *	                       +----------> as the program asked: there is no window
 */
struct driver_ops {
	/* Stops what the loader does: nothing is under way then, nothing lies ready,
	 * and what was not delivered is to come again. Of one that shares what another
	 * loader makes: throws away what is published. */
	void (*drain)(void *loader);

	/* From rest into the state that the window wants; of TRACE_FILL, to rest again
	 * when it is done. Sets the window's `staged`. Returns 0; 1: it is what the
	 * program asked for, the stream as it comes; -errno: the loader can't, and the
	 * window is refused. NULL: another loader makes the batches, and enters it. */
	int (*enter)(void *loader, struct trace_window *window);

	/* From rest to what the program asked for. */
	void (*resume)(void *loader);

	/* In a window that delivers nothing: works for length_ns, or until it has no
	 * samples left. Before the measured part it leaves most of them for that. */
	void (*work)(void *loader, const struct trace_window *window,
		     uint64_t length_ns, bool measured);

	/*
	 * Samples that are prepared and that the program has not taken. Windows begin with
	 * so many more than they have from rest that those of a kind end, on average, with
	 * as many: what fills the stages would count as their steps' own. NULL: nobody
	 * knows.
	 */
	uint64_t (*ahead)(void *loader);

	/* The measured part of a window is about to begin or to end: waits until devices
	 * have done what the program gave them, or what the loader copies. Returns an
	 * enum trace_devices. NULL: nobody does. Not called where the training is left as
	 * it is. */
	uint32_t (*still)(void *loader);

	/* Sets the counters of what it counts itself, by driver_count(). NULL: none. */
	void (*count)(void *loader);

	/* Sets cache_bytes, which is 0 before, and what is known of bytes that the
	 * loader and the program read. NULL: nothing. */
	void (*look)(void *loader, struct trace_snapshot *snapshot);

	/* The measured part is over, the state is still that of the window, which gets
	 * what only the loader knows of it. NULL: nothing. */
	void (*leave)(void *loader, struct trace_window *window);

	/* Of a loader that others do alike, in processes that meet in each step: whether all of
	 * them can change their states at this request. False: it is asked again at the next
	 * ones, where a window that is to end goes on, in whole rounds of `round` batches.
	 * NULL: there are no others. */
	bool (*agree)(void *loader, uint32_t round);

	/* driver_serve() alone, between two looks at the session: what the jobs need
	 * meanwhile. Sleeps for a moment. */
	void (*keep_up)(void *loader);
};

/* Of a loader whose batches come in rounds: thrown away, and measured at the least. */
enum { DRIVER_SETTLE_ROUNDS = 2, DRIVER_ROUNDS = 4 };

/* Trace, process, operations and loader outlive the driver. */
struct driver_parts {
	struct trace *trace;           /* the session, mapped to be written */
	struct trace_process *process; /* the loader's slot in it */
	const struct driver_ops *ops;
	void *loader;
	const struct trace_loader *about; /* what it loads and how, */
	bool same;      /* which is what the session describes already */
	bool resumed;   /* it does what the program asked for already */
	uint64_t epoch; /* of its next batch */
	uint32_t round; /* batches that come together: windows are whole rounds */
};

/* System calls that read, and what they brought. */
struct driver_reads {
	uint64_t count, bytes;
};

/* Belongs to the driver; a loader may read trace, and from `window` to `batches`. */
struct driver {
	const struct driver_ops *ops;
	void *loader;
	struct trace *trace;
	struct trace_process *process;
	uint64_t before[TRACE_COUNT]; /* counted there by drivers that closed */
	bool detached;                /* no window any more: dsa is gone */
	bool over;          /* the window is, as soon as all loaders alike can end it */
	bool agrees;        /* they were asked, and could not yet */
	uint64_t looked_ns; /* when that was looked at */
	uint32_t heartbeat; /* of dsa, when it was looked at, */
	unsigned silent;    /* and for how many looks it stands still */
	bool real;          /* the loader does what the program asked for */
	bool delivers;      /* a state is on that does */
	_Atomic bool ended; /* driver_end() */
	uint32_t turn; /* of a job of a shared loader: whose batches it takes; 0: any */
	struct driver_reads looks; /* in /proc, the driver's and, added, its loader's */

	struct trace_window *window; /* NULL: none is on */
	uint32_t index;              /* its number */
	bool measuring;              /* it has settled */
	uint32_t settle;             /* steps still to throw away */
	uint32_t beyond; /* batches thrown away beyond those asked for, at the most */
	bool rested;     /* the window began from rest */
	double more[TRACE_KINDS]; /* samples that one waits for then, */
	uint64_t ahead;           /* and that were ready at its begin */
	uint32_t batches;         /* delivered since the switch */
	uint64_t epoch;           /* of the batch asked for last, */
	bool edge;                /* which is the first of it */
	uint32_t round;           /* steps; at least 1 */
	/* When its last loader was asked last, or a step that is left out began: outside since
	 * then, without what is told by itself; 0: a request came since. */
	uint64_t left_ns;

	/* The step that is under way, and how steps go into records. */
	bool stepping;
	struct trace_step step;
	/* For its first batches, one after the other. */
	uint64_t waits[TRACE_TOGETHER];
	uint32_t merge; /* steps a record */
	bool across;    /* epochs: they are too many to be kept apart */
};

/* True where a loader may drive after one that closed: windows of different loaders
 * are not to be compared, but nothing may have been measured yet. same: as in
 * driver_parts. */
bool driver_succeeds(const struct trace *trace, bool same);

/* Makes this loader the session's driver; driver_close() ends that. False: another one
 * drives it. */
bool driver_open(struct driver *driver, const struct driver_parts *parts);
void driver_close(struct driver *driver);

/*
 * Call when the program asks for a batch, of `epoch`, at `now` (clock_now()). May take
 * long: switches and windows that deliver nothing run in here. Returns 1, or 0 when dsa
 * has seen enough. Where all epochs are called 0 there are no windows of whole ones.
 */
int driver_request(struct driver *driver, uint64_t now, uint64_t epoch);

/* True when dsa has seen enough, or after driver_end(): for a reader that waits. */
bool driver_stopped(const struct driver *driver);

/* The batch that was asked for last does not come, as the data have ended: ends the window
 * that is on, when devices have done what the program gave them, and drives no other. */
void driver_data_ended(struct driver *driver);

/* No batch and no window any more. From any thread. */
void driver_end(struct driver *driver);

/* A batch was taken after a wait inside dsa_next(). epoch: 0 of a repeated one. Several for one
 * request are of a program that takes so many before it computes: they count as steps alike. */
void driver_delivered(struct driver *driver, uint32_t samples, uint64_t epoch,
		      uint64_t blocked_ns);

/* The step under way waited so long for a batch of another loader, too. */
void driver_waited(struct driver *driver, uint64_t blocked_ns);

/*
 * What happened since the batch was delivered, or what the program is about to do, is no
 * step of the loop: the step under way goes into no window, nor does what comes before the
 * next request.
 */
void driver_skip_step(struct driver *driver);

/* So much of that was an epoch's start, which is told by itself, and a step of the loop. */
void driver_skip_epoch(struct driver *driver, uint64_t ns);

/*
 * The program left what the loader was doing and began anew, so that the loader does what
 * the program asked for: the window that is on is refused. One that is only observed goes
 * on, without the step under way.
 */
void driver_cut(struct driver *driver);

/* Of batches that come together so many do. */
void driver_set_round(struct driver *driver, uint32_t round);

/* dsa_compute() was busy from the delivery on; rate in samples/s. */
void driver_emulated(struct driver *driver, double rate);

/* Sets a counter of the process to what the loader counted since driver_open(). */
void driver_count(const struct driver *driver, enum trace_counter counter,
		  uint64_t value);

/*
 * Appends a record of a sample of the batch that is being delivered, before
 * driver_delivered(); or, in leave(), of one that was read alone. Sets window and batch
 * of it. False when the window has `most`, or there is no room for more.
 */
bool driver_record_sample(struct driver *driver, uint32_t most,
			  const struct trace_sample *sample);

/* ---- a loader that several jobs share ---- */

/* Executes windows until dsa is gone or driver_stopped(); in a thread of its own. */
void driver_serve(struct driver *driver);

/* Of a job: the turn whose batches the current window accepts; 0: any. */
uint32_t driver_turn(const struct driver *driver);

#endif
