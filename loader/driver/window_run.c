/* window_run.c - begins and ends windows; runs those that deliver nothing. */
#include "loader/base/clock.h"
#include "loader/driver/driver_state.h"
#include "loader/pipeline.h"

static uint64_t driver_counted(const struct trace_window *window,
			       enum trace_counter counter)
{
	return window->end.counters[counter] - window->begin.counters[counter];
}

static void publish_state(struct trace_window *window, enum trace_state state)
{
	atomic_store_explicit(&window->state, state, memory_order_release);
}

void driver_begin_measuring(struct driver *driver)
{
	driver->measuring = true;
	record_snapshot(driver, &driver->window->begin);
	atomic_store(&driver->window->progress, TRACE_MEASURING);
}

void driver_end_window(struct driver *driver, uint64_t now)
{
	struct trace_window *window = driver->window;

	if (window == NULL)
		return;
	if (driver->measuring) {
		record_snapshot(driver, &window->end);
		if (now != 0) /* steps end when the next batch is asked for */
			window->end.time_ns = now;
		if (!follows(driver))
			window->staged_repeats =
				(uint32_t)pipeline_repeats(driver->parts.pipeline);
		if (window->kind == TRACE_PREP)
			window->samples =
				driver_counted(window, TRACE_prepared_samples);
		if (window->kind == TRACE_FETCH) {
			window->samples = driver_counted(window, TRACE_fetched_samples);
			record_probes(driver);
		}
	}
	publish_state(window, (driver->measuring && driver_is_whole(driver)) ||
					      window->kind == TRACE_FILL
				      ? TRACE_DONE
				      : TRACE_REFUSED);
	driver->window = NULL;
	driver->measuring = false;
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
	driver->batches = driver->window->steps;
	driver->merge = 1;
	begin = &driver->window->begin;
	end = &driver->window->end;
	io_counts_take(driver, &now);
	driver_skip_reads(&begin->program_reads, end->program_reads, now.program_reads);
	driver_skip_reads(&begin->program_bytes, end->program_bytes, now.program_bytes);
	publish_state(driver->window, TRACE_RUNNING);
}

/*
 * Waits inside dsa_next() while the pipeline delivers nothing: for length_ns, or until
 * it has read `most` samples.
 */
static void sit_out(struct driver *driver, uint64_t length_ns, uint64_t most)
{
	const _Atomic uint64_t *read =
		&driver->process->counters[TRACE_fetched_samples];
	uint64_t end = clock_now() + length_ns, last = *read + most;

	while (clock_now() < end && *read < last && !driver_stopped(driver)) {
		clock_sleep_until(clock_now() + 2 * MS);
		if (pipeline_status(driver->parts.pipeline, NULL) < 0)
			break;
	}
}

static void run_alone(struct driver *driver)
{
	const struct trace_window *window = driver->window;
	uint64_t most = window->kind == TRACE_FETCH ? turn_unread(driver) : UINT32_MAX;

	sit_out(driver, 60 * MS, most / 4);
	driver_begin_measuring(driver);
	sit_out(driver, window->length_ns, most - most / 4);
	driver_end_window(driver, 0);
	turn_end(driver);
}

static void fill_cache(struct driver *driver)
{
	struct trace_window *window = driver->window;
	const struct trace_loader *loader = &driver->trace->loader;

	record_snapshot(driver, &window->begin);
	window->staged = pipeline_fill(driver->parts.pipeline, loader->cache_capacity,
				       window->limit_ns);
	record_snapshot(driver, &window->end);
	driver_end_window(driver, 0);
}

static void open_window(struct driver *driver, uint32_t index)
{
	struct trace_window *window = &driver->trace->windows[index];

	driver->index = index;
	driver->window = window;
	driver->measuring = false;
	driver->batches = 0;
	driver->merge = 1;
	driver->settle = window->settle;
	window->first_step = atomic_load(&driver->trace->step_count);
	window->first_sample = atomic_load(&driver->trace->sample_count);
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

/* True if the pipeline already runs what the window wants. */
static bool runs_on(const struct driver *driver)
{
	return driver->real && driver->window->kind == TRACE_REAL &&
	       (driver->window->flags & TRACE_EPOCH) != 0;
}

/* Executes the next window's switch, and the whole of it if it delivers nothing. */
static void begin_window(struct driver *driver, uint32_t index)
{
	struct pipeline_turn turn = {0};

	open_window(driver, index);
	if (driver->trace->observe || runs_on(driver))
		return; /* the training goes on as it was */
	if (follows(driver)) {
		if (!follow_window(driver))
			driver_end_window(driver, 0);
		return;
	}
	turn_end(driver);
	if (driver->window->kind == TRACE_FILL) {
		fill_cache(driver);
		return;
	}
	if (!stand_back(driver))
		return;
	if (turn_prepare(driver, &turn) < 0) {
		driver_end_window(driver, 0);
		return;
	}
	if (turn.ops != NULL)
		pipeline_start(driver->parts.pipeline, &turn);
	driver->real = turn.ops == &turn_stream;
	driver->synthetic = driver->window->kind == TRACE_SYNTHETIC ||
			    driver->window->kind == TRACE_LOADED;
	driver->metered = turn.metered;
	if (driver_is_alone(driver->window))
		run_alone(driver);
	else
		driver->delivers = true;
}

static bool is_asked(const struct trace *trace, uint32_t window)
{
	return window < TRACE_WINDOWS &&
	       window <
		       atomic_load_explicit(&trace->window_count, memory_order_acquire);
}

/* In step with other jobs it stays in the last window until they catch up, if that
 * delivers and no shared loader is about to switch. */
void driver_next_windows(struct driver *driver)
{
	struct trace *trace = driver->trace;

	while (driver->window == NULL && !driver_stopped(driver)) {
		uint32_t now = atomic_load(&trace->window_now);

		if (driver_led(driver) && is_asked(trace, now)) {
			begin_window(driver, now);
		} else if (!in_step(driver)) {
			turn_real(driver);
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
