/* made_up.c - notes what its driver asks of it, and is asked by a program. */
#include "tests/lib/made_up.h"
#include "loader/base/clock.h"
#include "tests/lib/driven.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct made_up made_up;

static void noted(const char *what)
{
	size_t length = strlen(made_up.log);

	snprintf(made_up.log + length, sizeof(made_up.log) - length, "%s%s",
		 length > 0 ? " " : "", what);
}

/* ---- what a loader does ---- */

static void made_up_drain(void *loader)
{
	assert_ptr_equal(loader, &made_up);
	noted("drain");
	made_up.at_rest = true;
	made_up.delivers = false;
}

static int made_up_enter(void *loader, struct trace_window *window)
{
	static const char *const names[] = {
#define MADE_UP_NAME(id, name) name,
		TRACE_RATED(MADE_UP_NAME)
#undef MADE_UP_NAME
			"fill"};

	(void)loader;
	assert_true(made_up.at_rest);
	noted(names[window->kind]);
	if (made_up.refuses & 1u << window->kind)
		return -ENOTSUP;
	made_up.at_rest = window->kind == TRACE_FILL;
	made_up.delivers = window->kind < TRACE_PREP;
	window->staged = MADE_UP_STAGED;
	window->most_steps = made_up.most;
	return window->kind == TRACE_REAL;
}

static void made_up_resume(void *loader)
{
	(void)loader;
	assert_true(made_up.at_rest);
	noted("resume");
	made_up.at_rest = false;
	made_up.delivers = true;
}

static void made_up_work(void *loader, const struct trace_window *window,
			 uint64_t length_ns, bool measured)
{
	(void)loader;
	assert_int_equal(window->begin.time_ns != 0, measured);
	assert_true(length_ns > 0);
	noted(measured ? "work" : "settle");
	made_up.prepared += measured ? 1000 : 10;
	if (made_up.stops)
		atomic_store(&driven.trace->stop, 1);
}

static uint32_t made_up_still(void *loader)
{
	(void)loader;
	made_up.stills++;
	made_up.still_ns = clock_now();
	return made_up.devices;
}

static uint64_t made_up_ahead(void *loader)
{
	(void)loader;
	return made_up.ahead += made_up.comes;
}

static void made_up_count(void *loader)
{
	(void)loader;
	driver_count(&made_up.driver, TRACE_prepared_samples, made_up.prepared);
}

static void made_up_look(void *loader, struct trace_snapshot *snapshot)
{
	(void)loader;
	assert_int_equal(snapshot->cache_bytes, 0);
	snapshot->cache_bytes = MADE_UP_CACHED_BYTES;
	snapshot->read_bytes = MADE_UP_READ_BYTES;
}

static void made_up_leave(void *loader, struct trace_window *window)
{
	const struct trace_sample sample = {.sample = 3, .bytes = 100, .fetch_ns = 5};

	(void)loader;
	assert_false(made_up.at_rest);
	noted("leave");
	window->staged_repeats = 1;
	driver_record_sample(&made_up.driver, 1, &sample);
}

static const struct driver_ops made_up_ops = {
	.drain = made_up_drain,
	.enter = made_up_enter,
	.resume = made_up_resume,
	.work = made_up_work,
	.ahead = made_up_ahead,
	.still = made_up_still,
	.count = made_up_count,
	.look = made_up_look,
	.leave = made_up_leave,
};

/* ---- a program with it ---- */

struct driver_parts made_up_parts(struct trace_process *process)
{
	return (struct driver_parts){
		.trace = driven.trace,
		.process = process,
		.ops = &made_up_ops,
		.loader = &made_up,
		.about = &made_up.about,
		.resumed = true,
	};
}

int made_up_begin(void **state)
{
	struct driver_parts parts;

	if (driven_setup(state) < 0)
		return -1;
	made_up = (struct made_up){.about = {.batch = DRIVEN_BATCH, .slots = 5},
				   .delivers = true};
	parts = made_up_parts(trace_claim(driven.trace, "", false));
	return driver_open(&made_up.driver, &parts) ? 0 : -1;
}

bool made_up_step(void)
{
	uint64_t epoch = made_up.steps / MADE_UP_EPOCH_STEPS;

	if (driver_request(&made_up.driver, clock_now(), epoch) == 0)
		return false;
	assert_true(made_up.delivers);
	driver_delivered(&made_up.driver, DRIVEN_BATCH, epoch, 0);
	made_up.steps++;
	return true;
}

void made_up_train(const struct trace_window *window)
{
	while (window->state < TRACE_DONE)
		assert_true(made_up_step());
}
