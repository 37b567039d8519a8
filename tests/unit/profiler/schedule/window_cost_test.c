/* window_cost_test.c - what windows that ended say of those to come. */
#include "profiler/schedule/window_cost.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <stdint.h>

/* As many samples as real windows took, which were faster by chance: steps of 10 ms in a
 * second, two more, and 30 % of them; and 6 slots. */
TEST(cached_windows_have_samples_for_the_faster_pace)
{
	const struct window_cost pace = {
		.step_s = {[TRACE_CACHED] = .02, [TRACE_REAL] = .01}};
	const struct trace_loader loader = {
		.dataset_samples = 1000000, .batch = 32, .workers = 4, .slots = 6};

	assert_int_equal(window_cost_stage(&pace, &loader, TRACE_CACHED, 1, UINT64_MAX),
			 (uint32_t)((1.3 * 102 + 6) * 32));
}

/* Which has no stages to switch between yet. */
TEST(the_switch_to_a_warm_up_is_no_measure_of_others)
{
	const struct session_window warmup = {.kind = TRACE_REAL,
					      .flags = TRACE_WARMUP,
					      .block = -1,
					      .steps = 10,
					      .samples = 32,
					      .step_ms = 20};
	struct trace *trace = session_new();
	struct window_cost pace = {.switches = 0};
	struct window window;

	session_add(trace, &warmup);
	window_measure(trace, 0, &window);
	window_cost_learn(&pace, &window);
	assert_int_equal(pace.switches, 0);
	session_free(trace);
}
