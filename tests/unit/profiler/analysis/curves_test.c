#include "profiler/analysis/curves.h"
#include "profiler/session/disturbance.h"
#include "tests/lib/close_to.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <stdlib.h>

enum { SAMPLES = 640 };

/* In 0.4 s two workers prepare so many, of 120,000 bytes where the data set has 100,000. Of the
 * recorded ones prep grows by 10 us from `least_us` on. */
static double rate_of_large_ones(uint32_t recorded, bool alike, uint32_t least_us)
{
	const struct session_window large = {.kind = TRACE_PREP,
					     .block = -1,
					     .workers = 2,
					     .steps = 10,
					     .samples = SAMPLES / 10,
					     .step_ms = 40,
					     .prepared = SAMPLES,
					     .sample_bytes = 120000};
	struct trace *trace = session_new();
	struct trace_window *window;
	struct profile profile;
	struct window *windows;
	size_t count;
	double rate;

	window = session_add(trace, &large);
	for (uint32_t i = 0; i < recorded; i++)
		trace->samples[i] =
			(struct trace_sample){.bytes = 50000 + (alike ? 0 : 1000 * i),
					      .prep_ns = 1000 * (least_us + 10 * i)};
	trace->sample_count = window->sample_records = recorded;
	windows = disturbance_windows(trace, &count);
	assert_non_null(windows);
	profile_init(&profile);
	assert_int_equal(curves_add(windows, count, &profile), 0);
	assert_int_equal(profile.prep_points, 1);
	rate = profile.prep_curve[0].per_s.value;
	profile_free(&profile);
	free(windows);
	session_free(trace);
	return rate;
}

/* Samples of a fifth more bytes take a fifth longer, and no more, if the recorded ones say so. */
TEST(points_are_of_samples_as_the_data_set_has_them)
{
	close_to(rate_of_large_ones(100, false, 500), 1.2 * SAMPLES / .4, 1e-6);
	close_to(rate_of_large_ones(100, true, 500), SAMPLES / .4, 1e-6);
	close_to(rate_of_large_ones(50, false, 500), SAMPLES / .4, 1e-6);
	close_to(rate_of_large_ones(0, false, 500), SAMPLES / .4, 1e-6);
	close_to(rate_of_large_ones(100, false, 100), 1.2 * SAMPLES / .4, 1e-6);
}
