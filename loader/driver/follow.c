/* follow.c - windows of a loader that several jobs share, on the side of a job. */
#include "loader/base/clock.h"
#include "loader/driver/driver_state.h"

static bool follow_is_staged(uint32_t kind)
{
#define FOLLOW_OR_IS(id, name) || kind == TRACE_##id
	return false TRACE_STAGED(FOLLOW_OR_IS);
#undef FOLLOW_OR_IS
}

/* Only where dsa keeps the shared loader in step is it known to run the same window. */
static bool wants_batches(struct driver *driver)
{
	uint32_t kind = driver->window->kind;

	return kind == TRACE_REAL || (follow_is_staged(kind) && in_step(driver));
}

void follow_nothing(const struct driver *driver)
{
	driver->ops->drain(driver->loader);
	clock_sleep_until(clock_now() + MS);
}

bool follow_window(struct driver *driver)
{
	struct trace_window *window = driver->window;

	driver->delivers = wants_batches(driver);
	if (!driver->delivers) {
		while (!in_step_passed(driver, TRACE_ENOUGH, &driver->trace->may_end) &&
		       !driver_stopped(driver))
			follow_nothing(driver);
		return false;
	}
	while (window->turn == 0 && in_step(driver) && !driver_stopped(driver))
		follow_nothing(driver);
	driver->turn = window->turn;
	return true;
}

uint32_t driver_turn(const struct driver *driver)
{
	return driver->window != NULL ? driver->turn : 0;
}
