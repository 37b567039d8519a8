/* driver.c - what happens at each request of the program for a batch. */
#include "loader/base/clock.h"
#include "loader/driver/driver_state.h"

static bool has_settled(struct driver *driver)
{
	if (driver->settle > 0 || !driver_is_whole(driver))
		return false;
	driver_catch_up(driver);
	return in_step_passed(driver, TRACE_SETTLED, &driver->trace->may_begin);
}

/* Batches that come together end a window together, so that its ends are alike. */
static bool has_rounds(const struct driver *driver, uint32_t steps)
{
	uint32_t round = driver->round;

	return steps % round == 0 && (round == 1 || steps >= DRIVER_ROUNDS * round);
}

/* With the step that is under way. */
static bool has_enough(const struct driver *driver, uint64_t now)
{
	const struct trace_window *window = driver->window;
	uint64_t length = now - window->begin.time_ns;
	uint32_t steps =
		window->steps + (driver->stepping ? driver_step_batches(driver) : 0);

	if (!driver->measuring)
		return false;
	if (window->limit_ns > 0 && length >= window->limit_ns)
		return true;
	if (window->most_steps > 0 && steps >= window->most_steps)
		return true;
	return length >= window->length_ns && steps >= window->min_steps &&
	       has_rounds(driver, steps) && driver_is_whole(driver);
}

static bool window_over(struct driver *driver, uint64_t now)
{
	return driver->window != NULL && has_enough(driver, now) &&
	       in_step_passed(driver, TRACE_ENOUGH, &driver->trace->may_end);
}

/* All that dsa wants counted was delivered: no batch more, even if dsa checks late. */
static bool has_all(const struct driver *driver)
{
	return driver->process->counters[TRACE_delivered_samples] >=
	       trace_end(driver->trace);
}

/* The step under way lasts until devices have done it, too. */
static uint64_t finish_step(struct driver *driver, uint64_t now)
{
	if (driver->ops->still == NULL || driver->trace->observe)
		return now;
	driver_await_devices(driver);
	return clock_now();
}

/* Since the window's last loader left, or the step that was left out began, there was none. */
static void driver_return(struct driver *driver, uint64_t now)
{
	if (driver->left_ns != 0 && now > driver->left_ns && driver->window != NULL &&
	    driver->measuring)
		driver->window->outside_ns += now - driver->left_ns;
	driver->left_ns = 0;
}

/* There is a window to begin, or nobody is there any more who asks for some. */
static bool driver_waits_for_window(struct driver *driver)
{
	return driver->window == NULL &&
	       (!driver->real || !driver_led(driver) || driver_is_asked(driver));
}

/* The training is left as it is, to its end. */
static bool is_watched(const struct trace *trace)
{
	return trace->observe && trace->until_samples == 0;
}

/* True where it can end a window, or all of them, and begin another. */
static bool driver_can_switch(struct driver *driver, bool over, bool ends)
{
	if (driver->ops->agree == NULL || is_watched(driver->trace))
		return true;
	driver->over = driver->window != NULL && (over || driver->over);
	driver->agrees |= driver->over || ends || driver_waits_for_window(driver);
	if (!driver->agrees || !driver->ops->agree(driver->loader, driver->round))
		return false;
	driver->agrees = false;
	return true;
}

/* One step less is still to be thrown away. */
static void driver_settle(struct driver *driver)
{
	uint32_t batches = driver_step_batches(driver);

	if (driver->window != NULL && !driver->measuring)
		driver->settle -= batches < driver->settle ? batches : driver->settle;
}

/* True where the window's measured part begins now. */
static bool driver_begins(struct driver *driver)
{
	if (driver->window == NULL || driver->measuring || !has_settled(driver))
		return false;
	driver_begin_measuring(driver);
	return true;
}

int driver_request(struct driver *driver, uint64_t now, uint64_t epoch)
{
	struct trace *trace = driver->trace;
	bool begins, over, ends, can;

	driver->edge = epoch != driver->epoch;
	driver->epoch = epoch;
	driver_return(driver, now);
	over = window_over(driver, now);
	ends = driver_stopped(driver) || has_all(driver);
	can = driver_can_switch(driver, over, ends);
	over = can && (over || driver->over);
	ends = can && ends;
	if (driver->measuring && (over || ends))
		now = finish_step(driver, now);
	record_step(driver, now);
	if (trace->first_request_ns == 0)
		atomic_store(&trace->first_request_ns, now);
	atomic_store_explicit(&trace->last_request_ns, now, memory_order_relaxed);
	if (ends) {
		driver_end_window(driver, now);
		return 0;
	}
	if (over)
		driver_end_window(driver, now);
	if (driver->window == NULL && can) {
		driver_next_windows(driver);
		if (driver_stopped(driver))
			return 0;
	} else {
		driver_settle(driver);
	}
	begins = driver_begins(driver);
	driver->stepping = true;
	driver->step = (struct trace_step){
		/* it begins where the last one ended */
		.request_ns = begins ? driver->window->begin.time_ns : now,
		.window = driver->index,
	};
	return 1;
}

void driver_delivered(struct driver *driver, uint32_t samples, uint64_t epoch,
		      uint64_t blocked_ns)
{
	if (driver->step.steps < TRACE_TOGETHER)
		driver->waits[driver->step.steps] = blocked_ns;
	driver->step.steps++;
	driver->step.blocked_ns += blocked_ns;
	driver->step.samples += samples;
	driver->step.epoch = (uint32_t)epoch;
	driver->batches++;
}

void driver_waited(struct driver *driver, uint64_t blocked_ns)
{
	driver->step.blocked_ns += blocked_ns;
}

void driver_skip_step(struct driver *driver)
{
	if (driver->stepping && driver->window != NULL && driver->measuring)
		driver->left_ns = driver->step.request_ns;
	driver->stepping = false;
}

void driver_skip_epoch(struct driver *driver, uint64_t ns)
{
	if (driver->left_ns != 0)
		driver->left_ns += ns;
}

void driver_cut(struct driver *driver)
{
	driver->stepping = false;
	if (driver->trace->observe)
		return;
	driver->real = driver->delivers = true;
	driver_refuse_window(driver);
}

void driver_set_round(struct driver *driver, uint32_t round)
{
	driver->round = round > 0 ? round : 1;
}

void driver_emulated(struct driver *driver, double rate)
{
	driver->trace->loader.emulated_per_s = rate;
}

bool driver_open(struct driver *driver, const struct driver_parts *parts)
{
	struct trace *trace = parts->trace;

	if (!claim_driver(parts))
		return false;
	*driver = (struct driver){
		.ops = parts->ops,
		.loader = parts->loader,
		.trace = trace,
		.process = parts->process,
		.real = parts->resumed,
		.epoch = parts->epoch,
	};
	driver_set_round(driver, parts->round);
	for (int i = 0; i < TRACE_COUNT; i++)
		driver->before[i] = driver->process->counters[i];
	trace_thread(driver->process, TRACE_STAGE_CONSUMER);
	if (trace->loader_ready == 0 || !parts->same) {
		atomic_store(&trace->loader_ready, 0);
		trace->loader = *parts->about;
	}
	if (trace->observe && trace->window_now > 0)
		driver_resume_window(driver);
	atomic_store_explicit(&trace->loader_ready, 1, memory_order_release);
	return true;
}

void driver_close(struct driver *driver)
{
	driver_leave_window(driver);
	record_counters(driver);
	atomic_store(&driver->trace->driver_done, clock_now());
}
