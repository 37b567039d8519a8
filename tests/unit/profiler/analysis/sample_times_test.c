#include "profiler/analysis/sample_times.h"
#include "tests/lib/nomem.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int make_session(void **state)
{
	*state = session_new();
	return *state != NULL ? 0 : -1;
}

static int drop_session(void **state)
{
	session_free(*state);
	return 0;
}

/* A window with `records` samples of 1000, 2000, .. bytes, the largest first; of each
 * thousand bytes prep and fetch take so long. */
static void add(struct trace *trace, const struct session_window *asked,
		unsigned records, uint32_t fetch_ns, uint32_t prep_ns)
{
	struct trace_window *window = session_add(trace, asked);

	window->first_sample = trace->sample_count;
	window->sample_records = records;
	for (unsigned size = records; size > 0; size--)
		trace->samples[trace->sample_count++] = (struct trace_sample){
			.window = (uint32_t)(window - trace->windows),
			.bytes = 1000 * size,
			.fetch_ns = fetch_ns * size,
			.prep_ns = prep_ns * size,
		};
}

static const struct session_window cached = {.kind = TRACE_CACHED,
					     .steps = 10,
					     .samples = 32,
					     .step_ms = 10,
					     .prepared = 320};

static struct session_window fetch(unsigned depth, unsigned flags)
{
	return (struct session_window){.kind = TRACE_FETCH,
				       .block = -1,
				       .flags = flags,
				       .depth = depth,
				       .steps = 10,
				       .samples = 32,
				       .step_ms = 10,
				       .fetched = 320};
}

/* The profile's draws of the session's windows. */
static int draw(const struct trace *trace, struct profile *profile)
{
	static struct window windows[TRACE_WINDOWS];
	unsigned count = window_count(trace);

	for (unsigned i = 0; i < count; i++)
		window_measure(trace, i, &windows[i]);
	profile_init(profile);
	return sample_times_add(windows, count, profile);
}

TEST_WITH(sizes_join_what_was_measured_apart, make_session, drop_session)
{
	const struct session_window one = fetch(1, 0), two = fetch(2, 0);
	struct trace *trace = *state;
	struct profile profile;

	add(trace, &cached, 100, 0, 50);
	add(trace, &one, 400, 7, 0);
	add(trace, &two, 400, 900, 0);
	assert_int_equal(draw(trace, &profile), 0);
	assert_int_equal(profile.draw_count, 100);
	for (unsigned i = 0; i < 100; i++) {
		const struct profile_draw *got = &profile.draws[i];

		assert_int_equal(got->bytes, 1000 * (i + 1));
		assert_true(fabs(got->prep_s - 50e-9 * (i + 1)) < 1e-12);
		/* The middle of four as large a share of their list. */
		assert_true(fabs(got->fetch_s - 7e-9 * (4 * i + 3)) < 1e-12);
	}
	profile_free(&profile);
}

TEST_WITH(many_are_thinned_and_keep_their_law, make_session, drop_session)
{
	struct trace *trace = *state;
	struct profile profile;
	double sum = 0;

	for (int i = 0; i < 5; i++) {
		struct session_window window = cached;

		window.block = i;
		add(trace, &window, 512, 0, 50);
	}
	assert_int_equal(draw(trace, &profile), 0);
	assert_int_equal(profile.draw_count, SAMPLE_TIMES);
	for (size_t i = 0; i < SAMPLE_TIMES; i++) {
		assert_true(isnan(profile.draws[i].fetch_s));
		sum += (double)profile.draws[i].bytes / SAMPLE_TIMES;
	}
	assert_true(fabs(sum / 256500 - 1) < .002);
	profile_free(&profile);
}

TEST_WITH(an_emulated_storage_is_left_out, make_session, drop_session)
{
	const struct session_window with = fetch(1, 0);
	const struct session_window without = fetch(1, TRACE_UNTHROTTLED);
	struct trace *trace = *state;
	struct profile profile;

	trace->loader.storage_bandwidth = 1e6;
	add(trace, &cached, 10, 0, 50);
	add(trace, &with, 10, 1000, 0);
	assert_int_equal(draw(trace, &profile), 0);
	assert_true(isnan(profile.draws[0].fetch_s));
	profile_free(&profile);
	add(trace, &without, 10, 7, 0);
	assert_int_equal(draw(trace, &profile), 0);
	assert_true(fabs(profile.draws[0].fetch_s - 7e-9) < 1e-12);
	profile_free(&profile);
}

TEST_WITH(what_is_void_or_of_another_kind_is_not_drawn, make_session, drop_session)
{
	struct session_window real = cached, warmup = cached, none = cached;
	struct trace *trace = *state;
	struct profile profile;

	real.kind = TRACE_REAL;
	real.fetched = 320;
	warmup.flags = TRACE_WARMUP;
	none.fetched = 1; /* a cached window must not */
	add(trace, &real, 10, 5, 50);
	add(trace, &warmup, 10, 0, 50);
	add(trace, &none, 10, 0, 50);
	assert_int_equal(draw(trace, &profile), 0);
	assert_int_equal(profile.draw_count, 0);
	profile_free(&profile);
}

/* Windows that all claim the whole of the records are cut, not trusted. */
TEST_WITH(a_damaged_session_does_no_harm, make_session, drop_session)
{
	struct trace *trace = *state;
	struct profile profile;

	add(trace, &cached, 10, 0, 50);
	trace->sample_count = UINT32_MAX;
	for (unsigned i = 1; i < 1000; i++)
		session_add(trace, &cached);
	for (unsigned i = 0; i < 1000; i++) {
		trace->windows[i].first_sample = 0;
		trace->windows[i].sample_records = UINT32_MAX;
	}
	assert_int_equal(draw(trace, &profile), 0);
	assert_int_equal(profile.draw_count, SAMPLE_TIMES);
	profile_free(&profile);
}

TEST_WITH(memory_short_is_told, make_session, drop_session)
{
	const struct session_window one = fetch(1, 0);
	struct trace *trace = *state;
	struct profile profile;
	int result = -ENOMEM;

	add(trace, &cached, 10, 0, 50);
	add(trace, &one, 10, 7, 0);
	for (unsigned nth = 1; result == -ENOMEM; nth++) {
		nomem_at(nth);
		result = draw(trace, &profile);
		nomem_at(0);
		profile_free(&profile);
		assert_true(nth < 100);
	}
	assert_int_equal(result, 0);
}

/* A window with a batch of 8 samples that took 80 ms, `io_ms` of them in I/O. */
static void add_made(struct trace *trace, enum trace_kind kind, unsigned flags,
		     unsigned io_ms)
{
	struct trace_window *window =
		session_add(trace, &(struct session_window){.kind = kind,
							    .flags = flags,
							    .steps = 10,
							    .samples = 8,
							    .step_ms = 10});

	window->first_batch = trace->batch_count;
	window->batch_records = window->made.batches = 1;
	trace->batches[trace->batch_count++] = (struct trace_batch){
		.window = (uint32_t)(window - trace->windows),
		.begin_ns = 1,
		.end_ns = 1 + 80 * 1000000,
		.io_ns = io_ms * UINT64_C(1000000),
		.samples = 8,
	};
}

/* Of batches that can't be given again: what they took but for that. */
TEST_WITH(a_streams_prep_is_what_is_no_io, make_session, drop_session)
{
	struct trace *trace = *state;
	struct profile profile;

	trace->loader.kind = TRACE_TORCH;
	strcpy(trace->loader.no_list, "an IterableDataset");
	add_made(trace, TRACE_SYNTHETIC, 0, 40);
	add_made(trace, TRACE_REAL, 0, 24);
	assert_int_equal(draw(trace, &profile), 0);
	assert_int_equal(profile.draw_count, 1);
	assert_true(fabs(profile.draws[0].prep_s - .007) < 1e-9);
	assert_true(fabs(profile.draws[0].fetch_s - .003) < 1e-9);
	profile_free(&profile);
	trace->loader.storage_latency = 1e-3;
	assert_int_equal(draw(trace, &profile), 0);
	assert_true(fabs(profile.draws[0].prep_s - .007) < 1e-9);
	assert_true(isnan(profile.draws[0].fetch_s));
	profile_free(&profile);
}

/* Unless files were in memory both times. */
TEST_WITH(what_workers_read_longer_than_from_memory_is_fetch, make_session,
	  drop_session)
{
	for (unsigned warm = 0; warm < 2; warm++) {
		struct trace *trace = *state;
		struct profile profile;

		memset(trace->windows, 0, sizeof(trace->windows));
		trace->window_count = trace->batch_count = 0;
		trace->loader.kind = TRACE_TORCH;
		add_made(trace, TRACE_CACHED, 0, 8);
		add_made(trace, TRACE_REAL, warm * TRACE_WARM, 24);
		assert_int_equal(draw(trace, &profile), 0);
		assert_int_equal(profile.draw_count, 1);
		assert_true(fabs(profile.draws[0].prep_s - .01) < 1e-9);
		assert_true(fabs(profile.draws[0].fetch_s - (warm ? 0 : .002)) < 1e-9);
		profile_free(&profile);
	}
}
