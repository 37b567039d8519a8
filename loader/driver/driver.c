/* driver.c - what happens at each request of the program for a batch. */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/driver/driver_state.h"
#include "loader/pipeline.h"
#include "loader/ring.h"
#include "loader/session_join.h"

#include <errno.h>
#include <stdlib.h>

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

static void find_edge(struct driver *driver)
{
	uint64_t epoch, step;

	if (follows(driver))
		return; /* no windows of whole epochs in step */
	pipeline_position(driver->parts.pipeline, &epoch, &step);
	driver->edge = epoch != driver->epoch;
	driver->epoch = epoch;
}

/* All that dsa wants counted was delivered: no batch more, even if dsa checks late. */
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

/* Drives where nobody does yet; or after one that closed, in whose slot counters and
 * the one window of --observe go on. */
static bool driver_claim(const struct driver_parts *parts)
{
	struct trace *trace = parts->trace;
	uint32_t none = 0, slot;
	uint64_t done;

	if (trace == NULL)
		return false;
	slot = (uint32_t)(parts->process - trace->processes) + 1;
	if (atomic_compare_exchange_strong(&trace->driver, &none, slot))
		return true;
	done = atomic_load(&trace->driver_done);
	if (done == 0 || (trace->observe && trace->driver != slot) ||
	    !session_join_succeeds(trace, parts->options) ||
	    !atomic_compare_exchange_strong(&trace->driver_done, &done, 0))
		return false;
	atomic_store(&trace->driver, slot);
	return true;
}

int driver_open(const struct driver_parts *parts, struct driver **opened,
		struct error *err)
{
	struct trace *trace = parts->trace;
	struct driver *driver;

	*opened = NULL;
	if (!driver_claim(parts))
		return 0;
	driver = calloc(1, sizeof(*driver));
	if (driver == NULL)
		return error_sys(err, ENOMEM, "cannot drive the session");
	driver->parts = *parts;
	driver->trace = trace;
	driver->process = parts->process;
	for (int i = 0; i < TRACE_COUNT; i++)
		driver->before[i] = driver->process->counters[i];
	driver->real = parts->reader != NULL;
	find_edge(driver);
	trace_thread(driver->process, TRACE_STAGE_CONSUMER);
	if (trace->loader_ready == 0 || !session_join_is_same(trace, parts->options)) {
		atomic_store(&trace->loader_ready, 0);
		describe_loader(driver);
	}
	if (trace->observe && trace->window_now > 0)
		driver_resume_window(driver);
	atomic_store_explicit(&trace->loader_ready, 1, memory_order_release);
	*opened = driver;
	return 0;
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
