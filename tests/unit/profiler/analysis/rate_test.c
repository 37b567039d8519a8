#include "profiler/analysis/rate.h"
#include "profiler/analysis/shares.h"
#include "profiler/session/window.h"
#include "tests/lib/close_to.h"
#include "tests/lib/nomem.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdint.h>
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

/* A window of 31 steps, 992 samples: about an epoch of the 1000 there are. */
static struct trace_window *add(struct trace *trace, unsigned flags, int block,
				double step_ms)
{
	const struct session_window window = {.kind = TRACE_REAL,
					      .flags = flags,
					      .block = block,
					      .steps = 31,
					      .samples = 32,
					      .step_ms = step_ms,
					      .fetched = 992,
					      .prepared = 992};

	return session_add(trace, &window);
}

TEST_WITH(whole_epochs_give_their_rate_and_its_scatter, make_session, drop_session)
{
	struct trace *trace = *state;
	struct measure_rate rate;

	add(trace, TRACE_WARMUP, -1, 90);
	add(trace, TRACE_EPOCH | TRACE_WARMUP, -1, 50);
	for (int i = 0; i < 4; i++)
		add(trace, TRACE_EPOCH, i, i % 2 == 0 ? 19 : 21);
	assert_int_equal(rate_measure(trace, &rate), 0);
	assert_int_equal(rate.windows, 4);
	assert_true(fabs(rate.per_s.value - 32 / .020) < 1);
	/* t of 3 degrees of freedom, and a standard error of 1.15 ms / 2. */
	assert_true(fabs(interval_half(rate.per_s) / rate.per_s.value -
			 3.18 * 1.1547 / 2 / 20) < .002);
	assert_true(isnan(rate.hit_ratio));
	assert_non_null(strstr(rate.why, "4 whole epochs in 4 windows"));
}

TEST_WITH(hits_are_the_loader_s_own, make_session, drop_session)
{
	struct trace *trace = *state;
	struct measure_rate rate;

	strcpy(trace->loader.cache, "lru");
	trace->loader.cache_capacity = 1000000;
	for (int i = 0; i < 4; i++)
		add(trace, TRACE_EPOCH, i, 20)->end.counters[TRACE_hit_samples] += 248;
	assert_int_equal(rate_measure(trace, &rate), 0);
	assert_true(fabs(rate.hit_ratio - .25) < 1e-9);
	trace->loader.shared = 1; /* and of other jobs */
	assert_int_equal(rate_measure(trace, &rate), 0);
	assert_true(isnan(rate.hit_ratio));
}

TEST_WITH(of_the_kernel_s_cache_hits_are_what_did_not_come_from_storage, make_session,
	  drop_session)
{
	struct trace *trace = *state;
	struct measure_rate rate;

	strcpy(trace->loader.cache, "page");
	for (int i = 0; i < 4; i++) {
		struct trace_window *window = add(trace, TRACE_EPOCH, i, 20);

		window->end.read_bytes =
			window->begin.read_bytes +
			window_counted(window, TRACE_fetched_bytes) / 4;
	}
	assert_int_equal(rate_measure(trace, &rate), 0);
	assert_int_equal(rate.windows, 4);
	assert_true(fabs(rate.hit_ratio - .75) < 1e-9);
	trace->windows[0].end.read_bytes = UINT64_MAX;
	assert_int_equal(rate_measure(trace, &rate), 0);
	assert_true(isnan(rate.hit_ratio));
}

TEST_WITH(drawn_windows_stand_for_equal_parts_of_an_epoch, make_session, drop_session)
{
	static const double step_ms[] = {10, 30};
	struct trace *trace = *state;
	struct measure_rate rate;

	strcpy(trace->loader.cache, "lru");
	trace->loader.cache_capacity = 1000000;
	for (int i = 0; i < 8; i++) {
		/* Where steps are short there are more of them. */
		const struct session_window drawn = {.kind = TRACE_REAL,
						     .flags = TRACE_DRAW,
						     .block = i,
						     .hit = i % 2 == 0 ? .5 : 0,
						     .steps = i % 2 == 0 ? 60 : 20,
						     .samples = 32,
						     .step_ms = step_ms[i % 2],
						     .fetched = 600};
		struct trace_window *window = session_add(trace, &drawn);

		window->end.counters[TRACE_hit_samples] += i % 2 == 0 ? 960 : 0;
	}
	assert_int_equal(rate_measure(trace, &rate), 0);
	assert_true(fabs(rate.per_s.value - 32 / .020) < 1);
	assert_true(fabs(rate.hit_ratio - .25) < 1e-9);
	assert_non_null(strstr(rate.why, "8 windows, hits drawn"));
	/* Windows of one position are alike: that positions differ is no scatter. */
	assert_true(fabs(interval_half(rate.per_s) - .0025 * rate.per_s.value) < 1e-6);
}

TEST_WITH(void_windows_do_not_count, make_session, drop_session)
{
	struct trace *trace = *state;
	struct measure_rate rate;

	add(trace, TRACE_EPOCH, 0, 20);
	add(trace, TRACE_EPOCH, 1, 20)->state = TRACE_REFUSED;
	trace->loader.direct = 1;
	add(trace, TRACE_EPOCH, 2, 20)->end.read_bytes = 0;
	assert_int_equal(rate_measure(trace, &rate), 0);
	assert_int_equal(rate.windows, 1);
	assert_string_equal(rate.why, "1 whole epoch in 1 window");
	assert_true(isnan(rate.per_s.low));
}

TEST_WITH(nothing_measured_is_no_rate, make_session, drop_session)
{
	struct measure_rate rate;

	assert_int_equal(rate_measure(*state, &rate), 0);
	assert_int_equal(rate.windows, 0);
	assert_true(isnan(rate.per_s.value));
	nomem_at(1);
	assert_true(rate_measure(*state, &rate) < 0);
	nomem_at(0);
}

TEST_WITH(windows_without_scatter_settle_all_the_same, make_session, drop_session)
{
	struct measure_rate rate;

	for (int i = 0; i < 8; i++)
		add(*state, 0, i, 20);
	assert_int_equal(rate_measure(*state, &rate), 0);
	close_to(interval_half(rate.per_s) / rate.per_s.value, SHARES_SETTLE, 1e-9);
}
