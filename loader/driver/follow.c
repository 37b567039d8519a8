/* follow.c - windows of a loader that several jobs share: its side, and theirs. */
#include "loader/base/clock.h"
#include "loader/driver/driver_state.h"

#define REPEAT_NS (MS / 5) /* between two looks at whether there is room */

/* ---- a job ---- */

bool follows(const struct driver *driver)
{
	return driver->parts.pipeline == NULL;
}

/* What the loader does is known only where dsa leads it too. */
static bool wants_batches(struct driver *driver)
{
	const struct trace_window *window = driver->window;

	if (window->kind == TRACE_REAL)
		return true;
	return (window->kind == TRACE_CACHED || window->kind == TRACE_SYNTHETIC) &&
	       in_step(driver);
}

/* What was published is nobody's: the loader needs its room, whatever it does next. */
void follow_nothing(const struct driver *driver)
{
	driver->parts.drain(driver->parts.context);
	clock_sleep_until(clock_now() + MS);
}

void follow_window(struct driver *driver)
{
	struct trace_window *window = driver->window;

	driver->delivers = wants_batches(driver);
	if (!driver->delivers) {
		while (!in_step_passed(driver, TRACE_ENOUGH, &driver->trace->may_end) &&
		       !driver_stopped(driver))
			follow_nothing(driver);
		driver_end_window(driver, 0);
		return;
	}
	while (window->turn == 0 && in_step(driver) && !driver_stopped(driver))
		follow_nothing(driver);
	driver->turn = window->turn;
}

uint32_t driver_turn(const struct driver *driver)
{
	return driver->window != NULL ? driver->turn : 0;
}

/* ---- the loader ---- */

static void keep_up(struct driver *driver)
{
	if (driver->synthetic)
		driver->parts.repeat(driver->parts.context, driver->turn);
	clock_sleep_until(clock_now() + (driver->synthetic ? REPEAT_NS : MS));
}

static void follow_wait_for(struct driver *driver, enum trace_progress progress,
			    const _Atomic uint32_t *passed)
{
	while (!in_step_passed(driver, progress, passed) && !driver_stopped(driver))
		keep_up(driver);
}

static void serve_window(struct driver *driver)
{
	struct trace *trace = driver->trace;

	driver->window->turn = driver->turn;
	follow_wait_for(driver, TRACE_SETTLED, &trace->may_begin);
	driver_begin_measuring(driver);
	follow_wait_for(driver, TRACE_ENOUGH, &trace->may_end);
	driver_end_window(driver, 0);
}

void driver_serve(struct driver *driver)
{
	trace_thread(driver->process, TRACE_STAGE_CONSUMER);
	atomic_store(&driver->trace->first_request_ns, clock_now());
	while (!driver_stopped(driver)) {
		driver_next_windows(driver);
		if (driver->window != NULL)
			serve_window(driver);
		else if (!in_step(driver))
			return; /* the real thing goes on */
		keep_up(driver);
	}
}

void driver_end(struct driver *driver)
{
	if (driver != NULL)
		driver->ended = true;
}
