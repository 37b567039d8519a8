/* window_run.c - begins and ends windows; runs those that deliver nothing. */
#include "loader/base/clock.h"
#include "loader/driver/driver_state.h"

#define SETTLE_NS (60 * MS) /* of a window that delivers nothing */
#define LEARNS    .25       /* of what one window's end is off by */

enum { PATIENCE = 8 }; /* nothing came for such a part of a window: nothing will */

static uint64_t driver_counted(const struct trace_window *window,
			       enum trace_counter counter)
{
	return window->end.counters[counter] - window->begin.counters[counter];
}

static void publish_state(struct trace_window *window, enum trace_state state)
{
	atomic_store_explicit(&window->state, state, memory_order_release);
}

/* No window is on any more. */
static void driver_close_window(struct driver *driver, enum trace_state state)
{
	publish_state(driver->window, state);
	driver->window = NULL;
	driver->measuring = false;
}

void driver_await_devices(struct driver *driver)
{
	uint32_t devices = 0;

	if (driver->ops->still != NULL && !driver->trace->observe)
		devices = driver->ops->still(driver->loader);
	if (devices > driver->window->made.devices)
		driver->window->made.devices = devices;
}

/* Of batches that come in rounds whole ones, 2 at the least. */
static uint32_t driver_settle_steps(const struct driver *driver, uint32_t asked)
{
	uint32_t round = driver->round, rounds = (asked + round - 1) / round;

	if (round > 1 && rounds < DRIVER_SETTLE_ROUNDS)
		rounds = DRIVER_SETTLE_ROUNDS;
	return rounds * round;
}

/* Real windows and cached ones: others prepare nothing that they deliver. */
static bool driver_runs_ahead(const struct driver *driver)
{
	uint32_t kind = driver->window->kind;

	return driver->ops->ahead != NULL && !driver->trace->observe &&
	       (kind == TRACE_REAL || kind == TRACE_CACHED);
}

/* Batches of a list that were thrown away beyond those asked for are not measured: rounds. */
static void driver_note_beyond(struct driver *driver)
{
	struct trace_window *window = driver->window;
	uint32_t asked = driver_settle_steps(driver, window->settle), beyond;

	if (driver->batches <= asked)
		return;
	beyond = (driver->batches - asked + driver->round - 1) / driver->round *
		 driver->round;
	if (beyond > driver->beyond)
		driver->beyond = beyond;
	if (window->most_steps > beyond)
		window->most_steps -= beyond;
	else if (window->most_steps > 0)
		window->most_steps = driver->round;
}

void driver_begin_measuring(struct driver *driver)
{
	driver_await_devices(driver);
	driver_note_beyond(driver);
	driver->measuring = true;
	driver->window->settled = driver->batches;
	if (driver_runs_ahead(driver))
		driver->ahead = driver->ops->ahead(driver->loader);
	record_snapshot(driver, &driver->window->begin);
	atomic_store(&driver->window->progress, TRACE_MEASURING);
}

void driver_catch_up(struct driver *driver)
{
	struct trace_window *window = driver->window;
	uint64_t began = clock_now(), came = began, now = began, ahead, wanted;

	if (!driver->rested || !driver_runs_ahead(driver))
		return;
	driver->rested = false;
	ahead = driver->ops->ahead(driver->loader);
	wanted = ahead + (uint64_t)driver->more[window->kind];
	while (ahead < wanted && now - came < window->length_ns / PATIENCE &&
	       now - began < window->length_ns / 2 && !driver_stopped(driver)) {
		uint64_t before = ahead;

		clock_sleep_until(now + MS);
		now = clock_now();
		ahead = driver->ops->ahead(driver->loader);
		if (ahead > before)
			came = now;
	}
	window->catch_up_ns = now - began;
}

/* The window ended with more than it began with, or fewer. */
static void driver_learn_ahead(struct driver *driver)
{
	const struct trace_loader *loader = &driver->trace->loader;
	double *more = &driver->more[driver->window->kind];
	double most = (double)loader->slots * loader->batch;

	if (!driver_runs_ahead(driver))
		return;
	*more += LEARNS *
		 ((double)driver->ops->ahead(driver->loader) - (double)driver->ahead);
	if (!(*more > 0))
		*more = 0;
	if (*more > most)
		*more = most;
}

void driver_end_window(struct driver *driver, uint64_t now)
{
	struct trace_window *window = driver->window;

	if (window == NULL)
		return;
	if (driver->measuring) {
		record_snapshot(driver, &window->end);
		driver_learn_ahead(driver);
		if (now != 0) /* steps end when the next batch is asked for */
			window->end.time_ns = now;
		if (window->kind == TRACE_PREP)
			window->samples =
				driver_counted(window, TRACE_prepared_samples);
		if (window->kind == TRACE_FETCH)
			window->samples = driver_counted(window, TRACE_fetched_samples);
		if (driver->ops->leave != NULL)
			driver->ops->leave(driver->loader, window);
	}
	driver_close_window(driver, (driver->measuring && driver_is_whole(driver)) ||
						    window->kind == TRACE_FILL
					    ? TRACE_DONE
					    : TRACE_REFUSED);
}

void driver_data_ended(struct driver *driver)
{
	uint64_t now = atomic_load(&driver->trace->last_request_ns);

	if (driver->measuring) {
		driver_await_devices(driver);
		if (trace_is_awaited(driver->window->made.devices)) {
			now = clock_now();
			record_extend(driver, now);
		}
	}
	driver->stepping = false;
	driver_end_window(driver, now);
	driver_end(driver);
}

void driver_leave_window(struct driver *driver)
{
	if (driver->measuring && trace_is_awaited(driver->window->made.devices))
		driver_close_window(driver, TRACE_REFUSED);
	else
		driver_end_window(driver, atomic_load(&driver->trace->last_request_ns));
}

void driver_refuse_window(struct driver *driver)
{
	if (driver->window == NULL)
		return;
	driver->window->cut = 1;
	driver_close_window(driver, TRACE_REFUSED);
}

/* What was read between two loaders was for no step of the window. */
static void driver_skip_reads(uint64_t *begin, uint64_t end, uint64_t now)
{
	if (*begin == UINT64_MAX || end == UINT64_MAX || now == UINT64_MAX)
		*begin = UINT64_MAX;
	else
		*begin += now - end;
}

void driver_resume_window(struct driver *driver)
{
	struct trace_snapshot *begin, *end, now;

	driver->index = driver->trace->window_now - 1;
	driver->window = &driver->trace->windows[driver->index];
	driver->measuring = driver->window->begin.time_ns != 0;
	driver->left_ns = driver->window->end.time_ns;
	driver->batches = driver->window->steps;
	driver->merge = 1;
	driver->across = false;
	begin = &driver->window->begin;
	end = &driver->window->end;
	record_look(driver, &now);
	driver_skip_reads(&begin->program_reads, end->program_reads, now.program_reads);
	driver_skip_reads(&begin->program_bytes, end->program_bytes, now.program_bytes);
	publish_state(driver->window, TRACE_RUNNING);
}

/* Brings the loader to rest. */
static void driver_drain(struct driver *driver)
{
	driver->ops->drain(driver->loader);
	driver->real = false;
	driver->delivers = false;
	driver->rested = true;
}

/* Goes on with what the program asked for. */
static void driver_resume(struct driver *driver)
{
	if (driver->real)
		return;
	if (follows(driver)) {
		driver->turn = 0; /* any batch will do */
	} else {
		driver_drain(driver);
		driver->ops->resume(driver->loader);
		driver->delivers = true;
	}
	driver->real = true;
}

static void run_alone(struct driver *driver)
{
	const struct trace_window *window = driver->window;

	driver->ops->work(driver->loader, window, SETTLE_NS, false);
	driver_begin_measuring(driver);
	driver->ops->work(driver->loader, window, window->length_ns, true);
	driver_end_window(driver, 0);
	driver_drain(driver);
}

static void fill_cache(struct driver *driver)
{
	struct trace_window *window = driver->window;
	int result;

	record_snapshot(driver, &window->begin);
	result = driver->ops->enter(driver->loader, window);
	record_snapshot(driver, &window->end);
	if (result < 0)
		driver_close_window(driver, TRACE_REFUSED);
	else
		driver_end_window(driver, 0);
}

static void open_window(struct driver *driver, uint32_t index)
{
	struct trace_window *window = &driver->trace->windows[index];

	driver->index = index;
	driver->window = window;
	driver->measuring = driver->over = false;
	driver->batches = 0;
	driver->merge = 1;
	driver->across = false;
	driver->settle = driver_settle_steps(driver, window->settle);
	window->first_step = atomic_load(&driver->trace->step_count);
	window->first_sample = atomic_load(&driver->trace->sample_count);
	window->first_batch = atomic_load(&driver->trace->batch_count);
	window->switch_ns = clock_now();
	publish_state(window, TRACE_RUNNING);
	atomic_store_explicit(&driver->trace->window_now, index + 1,
			      memory_order_release);
}

static bool driver_is_alone(const struct trace_window *window)
{
	return window->kind == TRACE_PREP || window->kind == TRACE_FETCH;
}

/*
 * Of jobs in step, one runs a window that delivers nothing, while the others wait.
 * False: this job was one of the others, and the window is over.
 */
static bool stand_back(struct driver *driver)
{
	const struct trace *trace = driver->trace;

	if (driver->window->flags & TRACE_ASIDE) {
		in_step_wait(driver, TRACE_ENOUGH, &trace->may_end);
		driver_end_window(driver, 0);
		return false;
	}
	if (driver_is_alone(driver->window))
		in_step_wait(driver, TRACE_SETTLED, &trace->may_begin);
	return true;
}

/* True if the loader already does what the window wants. */
static bool runs_on(const struct driver *driver)
{
	return driver->real && driver->window->kind == TRACE_REAL &&
	       (driver->window->flags & TRACE_EPOCH) != 0;
}

/* Brings the loader into the window's state, and through all of it if that delivers
 * nothing. */
static void driver_switch(struct driver *driver)
{
	struct trace_window *window = driver->window;
	int result;

	driver_drain(driver);
	if (window->kind == TRACE_FILL) {
		fill_cache(driver);
		return;
	}
	if (!stand_back(driver))
		return;
	result = driver->ops->enter(driver->loader, window);
	if (result < 0) {
		driver_end_window(driver, 0);
		return;
	}
	driver->real = result > 0;
	if (driver_is_alone(window))
		run_alone(driver);
	else
		driver->delivers = true;
}

static void begin_window(struct driver *driver, uint32_t index)
{
	open_window(driver, index);
	if (driver->trace->observe || runs_on(driver))
		return; /* the training goes on as it was */
	if (!follows(driver))
		driver_switch(driver);
	else if (!follow_window(driver))
		driver_end_window(driver, 0);
}

bool driver_is_asked(const struct driver *driver)
{
	const struct trace *trace = driver->trace;
	uint32_t window = atomic_load(&trace->window_now);

	return window < TRACE_WINDOWS &&
	       window <
		       atomic_load_explicit(&trace->window_count, memory_order_acquire);
}

/* In step with other jobs it stays in the last window until they catch up, if that
 * delivers and no shared loader is about to switch. */
void driver_next_windows(struct driver *driver)
{
	while (driver->window == NULL && !driver_stopped(driver)) {
		if (driver_led(driver) && driver_is_asked(driver)) {
			begin_window(driver, driver->trace->window_now);
		} else if (!in_step(driver)) {
			driver_resume(driver);
			return;
		} else if (follows(driver)) {
			follow_nothing(driver);
		} else if (driver->delivers) {
			return;
		} else {
			clock_sleep_until(clock_now() + MS);
		}
	}
}
