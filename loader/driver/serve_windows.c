/* serve_windows.c - windows of a loader that several jobs share, on its own side. */
#include "loader/base/clock.h"
#include "loader/driver/driver_state.h"

#define REPEAT_NS (MS / 5) /* between two looks at whether there is room */

static void keep_up(struct driver *driver)
{
	if (driver->synthetic)
		driver->parts.repeat(driver->parts.context, driver->turn);
	clock_sleep_until(clock_now() + (driver->synthetic ? REPEAT_NS : MS));
}

static void serve_wait(struct driver *driver, enum trace_progress progress,
		       const _Atomic uint32_t *passed)
{
	while (!in_step_passed(driver, progress, passed) && !driver_stopped(driver))
		keep_up(driver);
}

static void serve_window(struct driver *driver)
{
	struct trace *trace = driver->trace;

	driver->window->turn = driver->turn;
	serve_wait(driver, TRACE_SETTLED, &trace->may_begin);
	driver_begin_measuring(driver);
	serve_wait(driver, TRACE_ENOUGH, &trace->may_end);
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
