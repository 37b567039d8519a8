/*
 * driver_state.h - what the parts of the driver share. Private to loader/driver/. All
 * of it belongs to the thread that calls dsa_next().
 */
#ifndef DSA_DRIVER_STATE_H
#define DSA_DRIVER_STATE_H

#include "loader/base/trace.h"
#include "loader/driver.h"

#define MS UINT64_C(1000000)

struct pipeline_turn;

/* System calls that read, and what they brought. */
struct driver_reads {
	uint64_t count, bytes;
};

struct driver {
	struct driver_parts parts;
	struct trace *trace;
	struct trace_process *process;
	uint64_t before[TRACE_COUNT]; /* counted there by drivers that closed */
	bool detached;                /* no window any more: dsa is gone */
	uint64_t looked_ns;           /* when that was looked at */
	uint32_t heartbeat;           /* of dsa, when it was looked at, */
	unsigned silent;              /* and for how many looks it stands still */
	bool real;                    /* the pipeline does what the program asked for */
	bool delivers;                /* a turn is on that does */
	_Atomic bool ended;           /* driver_end() */
	uint32_t turn; /* of a shared loader: number of the present one */
	bool metered;  /* each batch delivered lets workers prepare one more */
	struct driver_reads looks; /* the driver's own, in /proc */

	struct trace_window *window; /* NULL: none is on */
	uint32_t index;              /* its number */
	bool measuring;              /* it has settled */
	uint32_t settle;             /* steps still to throw away */
	uint32_t batches;            /* delivered since the switch */
	uint64_t epoch;              /* of the batch asked for last, */
	bool edge;                   /* which is the first of it */

	/* The step that is under way, and how steps go into records. */
	bool stepping;
	struct trace_step step;
	uint32_t merge; /* steps a record */

	struct ring *pool; /* synthetic batches; made when the first is asked for */
	struct ring_reader *pool_reader;
	uint32_t pool_slots, pool_next;
	bool synthetic;
};

/* record.c: what the process looks like, and what its steps did. */
void record_snapshot(struct driver *driver, struct trace_snapshot *snapshot);

/* io_counts.c: the part of a snapshot that is from /proc/PID/io. */
void io_counts_take(struct driver *driver, struct trace_snapshot *snapshot);

/* Brings what threads, fetch engine and throttle count themselves into the session. */
void record_counters(const struct driver *driver);

/* The next batch is asked for: the step that was under way, if any, is over. */
void record_step(struct driver *driver, uint64_t now);

/* A batch of a real window was taken; of a cached one. */
void record_samples(struct driver *driver, uint32_t slot, uint32_t count);
void record_cached(struct driver *driver, uint32_t slot, uint32_t count);

/* A fetch window is over, its turn is not. */
void record_probes(struct driver *driver);

/* in_step.c: true while dsa lives; checks that every now and then. */
bool driver_led(struct driver *driver);

/* True while dsa keeps this job in step with others. */
bool in_step(struct driver *driver);

/*
 * Reports how far the window is. True when dsa lets it, and the other jobs', go on:
 * *passed is the session's may_begin or may_end; or when nobody keeps them in step.
 */
bool in_step_passed(struct driver *driver, enum trace_progress progress,
		    const _Atomic uint32_t *passed);

/* Waits until in_step_passed(), in a window that delivers nothing, or until the run is
 * stopped. */
void in_step_wait(struct driver *driver, enum trace_progress progress,
		  const _Atomic uint32_t *passed);

/* describe.c: fills trace.loader. */
void describe_loader(const struct driver *driver);

/* pool.c: makes the synthetic batches, in a turn that the caller ends. 0 or -errno. */
int pool_make(struct driver *driver);

/* window_run.c: executes windows until one is on that delivers; with none left, turns to
 * the real pipeline. */
void driver_next_windows(struct driver *driver);
void driver_begin_measuring(struct driver *driver);
void driver_end_window(struct driver *driver, uint64_t now);

/* Goes on with the window that a driver before ended when it closed. */
void driver_resume_window(struct driver *driver);

/* True if the batches come from a shared loader. */
static inline bool follows(const struct driver *driver)
{
	return driver->parts.pipeline == NULL;
}

/* A window of whole epochs may end here, and begin. */
static inline bool driver_is_whole(const struct driver *driver)
{
	return driver->edge || (driver->window->flags & TRACE_EPOCH) == 0;
}

/* follow.c: the window of a shared loader; false: it delivers nothing and is over. */
bool follow_window(struct driver *driver);

/* For a moment. Discards what was published: the shared loader needs the room for its
 * next window. */
void follow_nothing(const struct driver *driver);

/* window_turn.c: ends the pipeline's turn and discards what it published. */
void turn_end(struct driver *driver);

/* Turns to the stream again, unless it is on already. */
void turn_real(struct driver *driver);

/* Fills the turn that the window wants, and stages or evicts what that needs. 0 or
 * -errno. */
int turn_prepare(struct driver *driver, struct pipeline_turn *turn);

/* Reads that are sure to be of files that are not in the page cache. */
uint64_t turn_unread(const struct driver *driver);

#endif
