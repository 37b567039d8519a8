/* driver.c - the windows of a run, as they look from inside the loader. */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/driver/driver_state.h"
#include "loader/fetch.h"
#include "loader/pipeline.h"
#include "loader/ring.h"
#include "loader/source.h"

#include <errno.h>
#include <stdlib.h>

enum { EVICT = 4096 }; /* files put out of the page cache before a cold window */

static uint64_t driver_counted(const struct trace_window *window,
			       enum trace_counter counter)
{
	return window->end.counters[counter] - window->begin.counters[counter];
}

/* ---- turns ---- */

/* Puts aside what is published and not taken: those samples are the stream's again. */
static void driver_discard(const struct driver *driver)
{
	uint32_t slot;

	if (driver->parts.reader == NULL)
		return; /* it is the jobs' who share it */
	while (ring_take(driver->parts.reader, 0, &slot) == 0)
		ring_release(driver->parts.reader, slot);
}

void driver_stop_turn(struct driver *driver)
{
	pipeline_stop(driver->parts.pipeline);
	driver_discard(driver);
	driver->real = false;
	driver->synthetic = false;
	driver->delivers = false;
	driver->metered = false;
}

static void start_real(struct driver *driver)
{
	const struct pipeline_turn turn = {.ops = &turn_stream,
					   .number = ++driver->turn};

	pipeline_start(driver->parts.pipeline, &turn);
	driver->real = true;
	driver->delivers = true;
}

/* The real pipeline, unless it is on already. */
static void go_real(struct driver *driver)
{
	if (driver->real)
		return;
	driver->turn *= !follows(driver); /* any batch will do */
	driver->real = true;
	if (follows(driver))
		return;
	driver_stop_turn(driver);
	start_real(driver);
}

/* ---- windows ---- */

static uint64_t stage_limit(const struct trace_window *window)
{
	uint64_t limit = 2 * window->length_ns;

	return limit > 2000 * MS ? limit : 2000 * MS;
}

static int driver_stage(struct driver *driver)
{
	struct trace_window *window = driver->window;

	window->staged = pipeline_stage(driver->parts.pipeline, window->stage,
					stage_limit(window));
	return window->staged > 0 ? 0 : -EIO;
}

static void driver_evict(const struct driver *driver)
{
	if (!fetch_direct(pipeline_fetch(driver->parts.pipeline)))
		pipeline_evict(driver->parts.pipeline, EVICT);
}

/* What the window needs before its turn can begin, and the turn. */
static int prepare_real(struct driver *driver, struct pipeline_turn *turn)
{
	struct trace_window *window = driver->window;

	if ((window->flags & TRACE_DRAW) != 0) {
		turn->ops = &turn_drawn;
		turn->hit = window->hit;
		if (driver_stage(driver) < 0)
			return -EIO;
		driver_evict(driver); /* after staging, which reads some of them */
		return 0;
	}
	turn->ops = &turn_stream;
	pipeline_stage(driver->parts.pipeline, 0, 0);
	if ((window->flags & TRACE_WARM) != 0)
		window->staged = pipeline_warm(driver->parts.pipeline, window->stage,
					       stage_limit(window));
	return 0;
}

static int prepare_turn(struct driver *driver, struct pipeline_turn *turn)
{
	struct trace_window *window = driver->window;

	turn->number = ++driver->turn;
	turn->workers = window->workers;
	turn->depth = window->depth;
	switch ((enum trace_kind)window->kind) {
	case TRACE_REAL:
		return prepare_real(driver, turn);
	case TRACE_CACHED:
		turn->ops = &turn_staged;
		return driver_stage(driver);
	case TRACE_LOADED:
		turn->metered = true;
		turn->ops = &turn_prep;
		if (pool_make(driver) < 0)
			return -ENOMEM;
		return driver_stage(driver);
	case TRACE_PREP:
		turn->ops =
			(window->flags & TRACE_PAIRED) != 0 ? &turn_paired : &turn_prep;
		return driver_stage(driver);
	case TRACE_FETCH:
		turn->ops = &turn_fetch;
		turn->unthrottled = (window->flags & TRACE_UNTHROTTLED) != 0;
		driver_evict(driver);
		return 0;
	case TRACE_SYNTHETIC:
		/* A shared loader publishes again what it has. */
		return driver->parts.reader == NULL ? 0 : pool_make(driver);
	case TRACE_FILL:
	case TRACE_KINDS:
		break;
	}
	return -EINVAL;
}

static void publish_state(struct trace_window *window, enum trace_state state)
{
	atomic_store_explicit(&window->state, state, memory_order_release);
}

void driver_begin_measuring(struct driver *driver)
{
	driver->measuring = true;
	record_snapshot(driver, &driver->window->begin);
}

/* A window of whole epochs may end here, and begin. */
static bool driver_is_whole(const struct driver *driver)
{
	return driver->edge || (driver->window->flags & TRACE_EPOCH) == 0;
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

/*
 * Waits inside dsa_next() while the pipeline works for nobody: so long, or until it has
 * read `most` samples.
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

/* Reads that are sure to be of files that are not in the page cache. */
static uint64_t driver_unread(const struct driver *driver)
{
	uint64_t count = source_count(driver->parts.source);

	if (fetch_direct(pipeline_fetch(driver->parts.pipeline)))
		return UINT32_MAX;
	return (count < EVICT ? count : EVICT) * 3 / 4;
}

static void run_alone(struct driver *driver)
{
	const struct trace_window *window = driver->window;
	bool fetch = window->kind == TRACE_FETCH;
	uint64_t most = fetch ? driver_unread(driver) : UINT32_MAX;

	sit_out(driver, 60 * MS, most / 4);
	driver_begin_measuring(driver);
	sit_out(driver, window->length_ns, most - most / 4);
	driver_end_window(driver, 0);
	driver_stop_turn(driver);
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
 * Of jobs in step one does what delivers nothing, while the others wait. False: this is
 * one of the others, and it is over.
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

/* True when the pipeline does already what the window wants. */
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
		follow_window(driver);
		return;
	}
	driver_stop_turn(driver);
	if (driver->window->kind == TRACE_FILL) {
		fill_cache(driver);
		return;
	}
	if (!stand_back(driver))
		return;
	if (prepare_turn(driver, &turn) < 0) {
		driver_end_window(driver, 0);
		return;
	}
	driver->synthetic = driver->window->kind == TRACE_SYNTHETIC ||
			    driver->window->kind == TRACE_LOADED;
	if (driver->window->kind != TRACE_SYNTHETIC)
		pipeline_start(driver->parts.pipeline, &turn);
	driver->real = turn.ops == &turn_stream && !driver->synthetic;
	driver->metered = turn.metered;
	if (driver_is_alone(driver->window))
		run_alone(driver);
	else
		driver->delivers = true;
}

static bool has_settled(struct driver *driver)
{
	return driver->settle == 0 && driver_is_whole(driver) &&
	       in_step_passed(driver, TRACE_SETTLED, &driver->trace->may_begin);
}

static bool has_enough(const struct driver *driver, uint64_t now)
{
	const struct trace_window *window = driver->window;
	uint64_t length = now - window->begin.time_ns;

	if (!driver->measuring)
		return false;
	if (window->limit_ns > 0 && length >= window->limit_ns)
		return true;
	return length >= window->length_ns && window->steps >= window->min_steps &&
	       driver_is_whole(driver);
}

static bool window_over(struct driver *driver, uint64_t now)
{
	return has_enough(driver, now) &&
	       in_step_passed(driver, TRACE_ENOUGH, &driver->trace->may_end);
}

static bool is_asked(const struct trace *trace, uint32_t window)
{
	return window < TRACE_WINDOWS &&
	       window <
		       atomic_load_explicit(&trace->window_count, memory_order_acquire);
}

/*
 * Begins windows until one is on that delivers batches; none left: the real thing. In
 * step with other jobs it goes on as it did in the last one, until they are as far; but
 * a loader that they share may be about to deliver nothing.
 */
void driver_next_windows(struct driver *driver)
{
	struct trace *trace = driver->trace;

	while (driver->window == NULL && !driver_stopped(driver)) {
		uint32_t now = atomic_load(&trace->window_now);

		if (driver_led(driver) && is_asked(trace, now)) {
			begin_window(driver, now);
		} else if (!in_step(driver)) {
			go_real(driver);
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

bool driver_stopped(const struct driver *driver)
{
	return driver->ended ||
	       (!driver->detached && atomic_load(&driver->trace->stop) != 0);
}

static void find_edge(struct driver *driver)
{
	uint64_t epoch, step;

	if (follows(driver))
		return; /* no windows of whole epochs in step */
	pipeline_position(driver->parts.pipeline, &epoch, &step);
	driver->edge = epoch != driver->epoch;
	driver->epoch = epoch;
}

/* What dsa wants counted was delivered: not a batch more, however late it looks. */
static bool has_all(const struct driver *driver)
{
	return driver->process->counters[TRACE_delivered_samples] >=
	       trace_end(driver->trace);
}

int driver_request(struct driver *driver)
{
	uint64_t now = clock_now();
	struct trace *trace = driver->trace;

	record_step(driver, now);
	find_edge(driver);
	if (trace->first_request_ns == 0)
		atomic_store(&trace->first_request_ns, now);
	atomic_store_explicit(&trace->last_request_ns, now, memory_order_relaxed);
	if (driver_stopped(driver) || has_all(driver)) {
		driver_end_window(driver, now);
		return 0;
	}
	if (driver->window != NULL && window_over(driver, now))
		driver_end_window(driver, now);
	if (driver->window == NULL) {
		driver_next_windows(driver);
		if (driver_stopped(driver))
			return 0;
	} else if (!driver->measuring && driver->settle > 0) {
		driver->settle--;
	}
	if (driver->window != NULL && !driver->measuring && has_settled(driver))
		driver_begin_measuring(driver);
	driver->stepping = true;
	driver->step = (struct trace_step){
		.request_ns = driver->measuring && driver->window->steps == 0
				      ? driver->window->begin.time_ns
				      : clock_now(),
		.window = driver->index,
		.steps = 1,
	};
	return 1;
}

void driver_delivered(struct driver *driver, uint32_t slot, uint32_t samples,
		      uint64_t blocked_ns)
{
	struct trace_window *window = driver->window;

	driver->step.blocked_ns = blocked_ns;
	driver->step.samples = samples;
	if (driver->metered)
		pipeline_credit(driver->parts.pipeline);
	if (!driver->synthetic && !follows(driver)) {
		driver->step.epoch =
			(uint32_t)ring_batch(driver->parts.ring, slot)->epoch;
		if (window != NULL && window->kind == TRACE_REAL)
			record_samples(driver, slot, samples);
		if (window != NULL && window->kind == TRACE_CACHED)
			record_cached(driver, slot, samples);
	}
	driver->batches++;
}

void driver_emulated(struct driver *driver, double rate)
{
	driver->trace->loader.emulated_per_s = rate;
}

struct driver *driver_open(const struct driver_parts *parts, struct error *err)
{
	struct trace *trace = parts->trace;
	uint32_t none = 0, self = (uint32_t)(parts->process - trace->processes) + 1;
	struct driver *driver;

	if (!atomic_compare_exchange_strong(&trace->driver, &none, self))
		return NULL;
	driver = calloc(1, sizeof(*driver));
	if (driver == NULL) {
		error_sys(err, ENOMEM, "cannot drive the session");
		return NULL;
	}
	driver->parts = *parts;
	driver->trace = trace;
	driver->process = parts->process;
	driver->process->role = 1;
	driver->real = parts->reader != NULL;
	find_edge(driver);
	trace_thread(driver->process, TRACE_STAGE_CONSUMER);
	describe_loader(driver);
	atomic_store_explicit(&trace->loader_ready, 1, memory_order_release);
	return driver;
}

void driver_close(struct driver *driver)
{
	if (driver == NULL)
		return;
	driver_end_window(driver, atomic_load(&driver->trace->last_request_ns));
	record_counters(driver);
	atomic_store(&driver->trace->driver_done, clock_now());
	ring_leave(driver->pool_reader);
	ring_close(driver->pool);
	free(driver);
}
