/* in_step.c - what dsa asks of the driver: to stop, to wait for the jobs in step. */
#include "loader/base/clock.h"
#include "loader/driver/driver_state.h"

#define LOOK_NS (100 * MS) /* between two looks at whether dsa lives */
#define SILENT  100        /* looks at a heartbeat that stands still */

/* Looks are counted, not time: both may have been stopped together, as by Ctrl-Z. */
static bool driver_hears_dsa(struct driver *driver)
{
	uint32_t heartbeat = atomic_load(&driver->trace->heartbeat);

	driver->silent = heartbeat == driver->heartbeat ? driver->silent + 1 : 0;
	driver->heartbeat = heartbeat;
	return driver->silent < SILENT;
}

bool driver_led(struct driver *driver)
{
	uint64_t now = clock_now();
	enum trace_dsa dsa;
	size_t bytes;

	if (now - driver->looked_ns < LOOK_NS)
		return !driver->detached;
	driver->looked_ns = now;
	dsa = trace_dsa_state(driver->trace, &bytes);
	driver->looks.count += bytes > 0;
	driver->looks.bytes += bytes;
	driver->detached = dsa == TRACE_DSA_GONE ||
			   (dsa == TRACE_DSA_UNSEEN && !driver_hears_dsa(driver));
	return !driver->detached;
}

bool driver_stopped(const struct driver *driver)
{
	return driver->ended ||
	       (!driver->detached && atomic_load(&driver->trace->stop) != 0);
}

void driver_end(struct driver *driver)
{
	driver->ended = true;
}

bool in_step(struct driver *driver)
{
	return atomic_load(&driver->trace->in_step) != 0 && driver_led(driver);
}

bool in_step_passed(struct driver *driver, enum trace_progress progress,
		    const _Atomic uint32_t *passed)
{
	atomic_store(&driver->window->progress, progress);
	return atomic_load(passed) > driver->index || !in_step(driver);
}

void in_step_wait(struct driver *driver, enum trace_progress progress,
		  const _Atomic uint32_t *passed)
{
	while (!in_step_passed(driver, progress, passed) && !driver_stopped(driver))
		clock_sleep_until(clock_now() + MS);
}
