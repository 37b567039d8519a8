/* schedule_hits_test.c - real windows with a cache: filled, warm, drawn, whole epochs. */
#include "profiler/schedule/schedule_state.h"
#include "tests/lib/performer.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A run with a cache of this policy and size, which gets so full. */
static struct trace *with_cache(const char *policy, double share, double filled)
{
	struct performer performer = performer_new(&performer_usual);
	struct trace *trace = performer.trace;

	strcpy(trace->loader.cache, policy);
	trace->loader.cache_capacity = (uint64_t)(share * 1e8);
	performer.filled = filled;
	performer_run(&performer);
	schedule_free(performer.schedule);
	return trace;
}

static double mean_hit(const struct trace *trace, unsigned flag)
{
	double sum = 0;

	for (unsigned i = 0; i < trace->window_count; i++) {
		const struct trace_window *window = &trace->windows[i];

		if (window->kind != TRACE_REAL || window->block >= 8)
			continue;
		assert_int_equal(window->flags, flag);
		sum += window->hit / 8;
	}
	return sum;
}

TEST(minio_is_filled_and_used)
{
	struct trace *trace = with_cache("minio", .35, .35);

	assert_int_equal(performer_count(trace, TRACE_FILL), 1);
	mean_hit(trace, 0);
	session_free(trace);
}

TEST(minio_that_does_not_fill_in_time_is_drawn)
{
	struct trace *trace = with_cache("minio", .35, .1);

	assert_true(fabs(mean_hit(trace, TRACE_DRAW) - .35) < 1e-9);
	session_free(trace);
}

TEST(lru_is_drawn_over_the_epoch)
{
	struct trace *trace = with_cache("lru", .5, 0);

	assert_int_equal(performer_count(trace, TRACE_FILL), 0);
	/* Eight strata stand for the mean x + (1-x) ln(1-x). */
	assert_true(fabs(mean_hit(trace, TRACE_DRAW) - .153) < .005);
	session_free(trace);
}

TEST(a_page_cache_that_fits_is_warmed)
{
	struct trace *trace = with_cache("page", 0, 0);

	mean_hit(trace, TRACE_WARM);
	session_free(trace);
}

/* A rate alone, with half of the data set in a cache of this policy. */
static struct trace *rate_with(const char *policy, unsigned steps_per_epoch,
			       enum schedule_step word)
{
	struct schedule_config config = performer_usual;
	struct performer performer;
	struct trace *trace;

	config.only = TRACE_REAL;
	config.rate = true;
	performer = performer_new(&config);
	performer.filled = .5;
	trace = performer.trace;
	strcpy(trace->loader.cache, policy);
	trace->loader.cache_capacity = strcmp(policy, "none") == 0 ? 0 : 50000000;
	trace->loader.steps_per_epoch = steps_per_epoch;
	assert_int_equal(performer_run(&performer), word);
	schedule_free(performer.schedule);
	return trace;
}

/* Windows with exactly these flags and, if `counts`, of a block. */
static unsigned with_flags(const struct trace *trace, unsigned flags, bool counts)
{
	unsigned count = 0;

	for (unsigned i = 0; i < trace->window_now; i++) {
		const struct trace_window *window = &trace->windows[i];

		count += window->kind == TRACE_REAL && window->flags == flags &&
			 (window->block < TRACE_WINDOWS) == counts;
	}
	return count;
}

TEST(a_rate_is_of_whole_epochs_where_they_fit)
{
	static const struct {
		const char *policy;
		unsigned fills, warm;
	} cases[] = {{"none", 0, 0}, {"minio", 1, 0}, {"lru", 0, 1}, {"fifo", 0, 1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* Of .2 s, five a window; and of a second. */
		for (unsigned steps = 10; steps <= 50; steps += 40) {
			struct trace *trace =
				rate_with(cases[i].policy, steps, SCHEDULE_DONE);

			assert_int_equal(performer_count(trace, TRACE_FILL),
					 cases[i].fills);
			assert_int_equal(
				with_flags(trace, TRACE_EPOCH | TRACE_WARMUP, false),
				cases[i].warm);
			assert_in_range(with_flags(trace, TRACE_EPOCH, true), 4, 12);
			assert_int_equal(with_flags(trace, TRACE_WARMUP, false), 1);
			assert_int_equal(performer_count(trace, TRACE_CACHED), 0);
			for (unsigned j = 0; j < trace->window_now; j++)
				if (trace->windows[j].flags == TRACE_EPOCH)
					assert_in_range(trace->windows[j].steps, 50,
							100);
			session_free(trace);
		}
	}
}

TEST(a_rate_of_long_epochs_is_of_windows_with_drawn_hits)
{
	struct trace *trace = rate_with("lru", 1000, SCHEDULE_DONE);

	assert_int_equal(with_flags(trace, TRACE_EPOCH, true), 0);
	assert_in_range(with_flags(trace, TRACE_DRAW, true), 8, 30);
	session_free(trace);
}

/* How real windows get at the kernel's cache, of which half or twice the data fit. */
TEST(what_is_slowed_is_slowed_in_memory_too)
{
	for (uint64_t share = 1; share <= 4; share += 3) {
		struct schedule_config config = performer_usual;
		struct trace *trace = session_new();
		struct schedule *schedule;

		(void)state;
		config.cache_bytes = share * trace->loader.dataset_bytes / 2;
		schedule = schedule_new(&config);
		strcpy(trace->loader.cache, "page");
		schedule_choose_cache(schedule, trace);
		assert_true(schedule->warm == (share > 1));
		trace->loader.storage_latency = 1000000;
		schedule_choose_cache(schedule, trace);
		assert_true(schedule->drawn && !schedule->warm);
		trace->loader.memory = 1;
		schedule->drawn = false;
		schedule_choose_cache(schedule, trace);
		assert_true(schedule->drawn);
		schedule_free(schedule);
		session_free(trace);
	}
}

TEST(a_cache_that_holds_all_is_full_with_less_than_its_room)
{
	struct schedule *schedule = schedule_new(&performer_usual);
	struct trace *trace = session_new();
	const struct session_window fill = {.kind = TRACE_FILL,
					    .block = -1,
					    .steps = 1,
					    .samples = 1,
					    .step_ms = 1};

	strcpy(trace->loader.cache, "minio");
	trace->loader.cache_capacity = 2 * trace->loader.dataset_bytes;
	session_add(trace, &fill)->end.cache_bytes = trace->loader.dataset_bytes;
	assert_int_equal(schedule_look(schedule, trace), 0);
	assert_true(schedule->filled && !schedule->drawn);
	schedule_free(schedule);
	session_free(trace);
}
