/* serve_windows.c - windows of a loader that several jobs share, on its own side. */
#include "loader/base/clock.h"
#include "loader/driver/driver_state.h"

static void serve_wait(struct driver *driver, enum trace_progress progress,
		       const _Atomic uint32_t *passed)
{
	while (!in_step_passed(driver, progress, passed) && !driver_stopped(driver))
		driver->ops->keep_up(driver->loader);
}

static void serve_window(struct driver *driver)
{
	struct trace *trace = driver->trace;

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
		driver->ops->keep_up(driver->loader);
	}
}
