/* driver_state.h - what the parts of the driver share. Private to loader/driver/. */
#ifndef DSA_DRIVER_STATE_H
#define DSA_DRIVER_STATE_H

#include "loader/driver.h"

#define MS UINT64_C(1000000)

/* claim.c: true where this loader drives from now on. */
bool claim_driver(const struct driver_parts *parts);

/* record.c: what the process looks like, and what its steps did. */
void record_snapshot(struct driver *driver, struct trace_snapshot *snapshot);

/* The part of a snapshot that only the loader knows. */
void record_look(struct driver *driver, struct trace_snapshot *snapshot);

/* Brings what the loader counts itself into the session. */
void record_counters(const struct driver *driver);

/* The next batch is asked for: the step that was under way, if any, is over. */
void record_step(struct driver *driver, uint64_t now);

/* The step that was recorded last, of the window that is on, lasted until now. */
void record_extend(const struct driver *driver, uint64_t now);

/* in_step.c: true while dsa lives; checks that every now and then. */
bool driver_led(struct driver *driver);

/* Batches of the step that is under way, or was last. */
static inline uint32_t driver_step_batches(const struct driver *driver)
{
	return driver->step.steps > 0 ? driver->step.steps : 1;
}

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

/* window_run.c: executes windows until one is on that delivers; with none left, resumes
 * what the program asked for. */
void driver_next_windows(struct driver *driver);

/* dsa asks for a window more than there were. */
bool driver_is_asked(const struct driver *driver);
void driver_begin_measuring(struct driver *driver);

/* Once in a window that began from rest: waits until so many more samples are ready, as long
 * as some come, and for no more than half of its length. */
void driver_catch_up(struct driver *driver);
void driver_end_window(struct driver *driver, uint64_t now);

/* Before the window's measured part begins or ends. */
void driver_await_devices(struct driver *driver);

/* The loader closes: ends the window that is on at the last request. One whose devices may
 * still be at work then, which nobody can wait for any more, is refused. */
void driver_leave_window(struct driver *driver);

/* Ends a window, if one is on, that the program left in its middle. */
void driver_refuse_window(struct driver *driver);

/* Goes on with the window that a driver before ended when it closed. */
void driver_resume_window(struct driver *driver);

/* True if the batches come from a shared loader. */
static inline bool follows(const struct driver *driver)
{
	return driver->ops->enter == NULL;
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

#endif
