#include "loader/base/clock.h"
#include "loader/base/trace.h"
#include "loader/loader.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SAMPLES = 300, BATCH = 8 };

static char session[64];
static struct trace *trace;
static struct dsa_loader *loader;

static int make_session(void **state)
{
	(void)state;
	snprintf(session, sizeof(session), "/tmp/dsa-driver-%d", (int)getpid());
	trace = trace_create(session, 7, NULL);
	setenv("DSA_SESSION", session, 1);
	return trace != NULL ? 0 : -1;
}

static int drop_session(void **state)
{
	(void)state;
	dsa_close(loader);
	loader = NULL;
	trace_unmap(trace);
	unlink(session);
	unsetenv("DSA_SESSION");
	return 0;
}

static void open_loader(const char *settings)
{
	const struct dsa_config config = {.dataset = "synthetic:300",
					  .batch = BATCH,
					  .workers = 2,
					  .prefetch = 3,
					  .size = 16,
					  .seed = 5};
	char why[DSA_WHY] = "";

	setenv("DSA_LOADER", settings, 1);
	if (dsa_open(&config, &loader, why) < 0)
		fail_msg("%s", why);
	unsetenv("DSA_LOADER");
}

static struct trace_window *ask(enum trace_kind kind)
{
	uint32_t at = trace->window_count;
	struct trace_window *window = &trace->windows[at];

	window->kind = kind;
	window->settle = 2;
	window->min_steps = 8;
	window->length_ns = 1000000;
	window->stage = 30 * BATCH;
	window->block = UINT32_MAX;
	atomic_store(&trace->window_count, at + 1);
	return window;
}

struct audit {
	unsigned seen[SAMPLES]; /* times a sample came, repeats left out */
	unsigned batches, repeated;
	uint64_t epoch;
};

/* Takes batches until the window is over or `most` came; counts what was delivered. */
static void train(const struct trace_window *window, struct audit *audit, unsigned most)
{
	struct dsa_batch batch;

	for (unsigned i = 0; i < most; i++) {
		if (window != NULL && atomic_load(&window->state) >= TRACE_DONE)
			return;
		if (dsa_next(loader, &batch) <= 0)
			return;
		audit->batches++;
		audit->repeated += batch.repeated;
		audit->epoch = batch.epoch;
		for (uint32_t s = 0; s < batch.count && !batch.repeated; s++)
			audit->seen[batch.samples[s]]++;
		assert_int_equal(dsa_release(loader, &batch), 0);
	}
}

static uint64_t counted(const struct trace_window *window, enum trace_counter counter)
{
	return window->end.counters[counter] - window->begin.counters[counter];
}

static double samples_per_ns(const struct trace_window *window)
{
	return (double)window->samples /
	       (double)(window->end.time_ns - window->begin.time_ns);
}

static void a_real_window_is_measured_after_it_settled(void **state)
{
	struct trace_window *window = ask(TRACE_REAL);
	struct audit audit = {0};

	(void)state;
	open_loader("");
	train(window, &audit, 10000);
	assert_int_equal(window->state, TRACE_DONE);
	assert_true(window->steps >= 8);
	assert_int_equal(window->samples, counted(window, TRACE_delivered_samples));
	assert_true(window->begin.time_ns > window->switch_ns);
	assert_int_equal(trace->steps[window->first_step].request_ns,
			 window->begin.time_ns);
	assert_true(trace->first_request_ns <= window->switch_ns);
	assert_string_equal(trace->loader.source, "synthetic");
	assert_int_equal(trace->loader.batch, BATCH);
}

static void step_records_fill_the_window_without_gaps(void **state)
{
	struct trace_window *window = ask(TRACE_SYNTHETIC);
	struct audit audit = {0};
	const struct trace_step *steps;
	uint64_t sum = 0;

	(void)state;
	window->length_ns = 1;
	window->min_steps = 3000; /* more than there are records: they merge */
	open_loader("");
	train(window, &audit, 10000);
	assert_int_equal(window->state, TRACE_DONE);
	assert_true(window->step_records <= TRACE_WINDOW_STEPS);
	steps = &trace->steps[window->first_step];
	for (uint32_t i = 0; i < window->step_records; i++)
		sum += steps[i].steps;
	assert_int_equal(sum, window->steps);
	assert_int_equal(steps[window->step_records - 1].end_ns, window->end.time_ns);
	assert_true(trace->dropped_steps == 0);
}

static void synthetic_batches_repeat_and_leave_the_stream_where_it_was(void **state)
{
	struct trace_window *first = ask(TRACE_REAL);
	struct trace_window *synthetic = ask(TRACE_SYNTHETIC);
	struct audit real = {0}, audit = {0};
	struct dsa_stats before, after;

	(void)state;
	open_loader("");
	train(first, &real, 10000);
	dsa_stats(loader, &before);
	train(synthetic, &audit, 10000);
	dsa_stats(loader, &after);
	assert_int_equal(synthetic->state, TRACE_DONE);
	assert_int_equal(counted(synthetic, TRACE_prepared_samples), 0);
	assert_true(audit.repeated >= 8);
	assert_true(after.step <= before.step + 1);
}

static void
a_program_that_holds_batches_is_told_and_never_waits_for_itself(void **state)
{
	struct trace_window *window = ask(TRACE_SYNTHETIC);
	struct dsa_batch batch[80];
	unsigned count = 0;

	(void)state;
	window->min_steps = 1000;
	open_loader("prefetch=64,batch=1");
	while (count < 80 && dsa_next(loader, &batch[count]) == 1)
		count++;
	assert_int_equal(window->state, TRACE_RUNNING);
	assert_int_equal(count, 65); /* those ahead and the current one */
	assert_int_equal(dsa_next(loader, &batch[count]), -EBUSY);
	while (count > 0)
		assert_int_equal(dsa_release(loader, &batch[--count]), 0);
	assert_int_equal(dsa_next(loader, &batch[0]), 1);
}

static void cached_windows_read_nothing(void **state)
{
	struct trace_window *window = ask(TRACE_CACHED);
	struct audit audit = {0};

	(void)state;
	open_loader("");
	train(window, &audit, 10000);
	assert_int_equal(window->state, TRACE_DONE);
	assert_int_equal(window->staged, 30 * BATCH);
	assert_int_equal(counted(window, TRACE_fetched_samples), 0);
	assert_true(counted(window, TRACE_prepared_samples) > 0);
}

static void cached_windows_repeat_when_the_staged_samples_run_out(void **state)
{
	struct trace_window *window = ask(TRACE_CACHED);
	struct audit audit = {0};

	(void)state;
	window->stage = 2 * BATCH;
	window->min_steps = 20;
	open_loader("");
	train(window, &audit, 10000);
	assert_int_equal(window->state, TRACE_DONE);
	assert_true(window->staged_repeats >= 18 * BATCH);
	for (unsigned i = 0; i < SAMPLES; i++)
		assert_true(audit.seen[i] <= 1);
}

static void prep_and_fetch_windows_deliver_nothing(void **state)
{
	struct trace_window *prep = ask(TRACE_PREP), *fetch = ask(TRACE_FETCH);
	struct trace_window *real = ask(TRACE_REAL);
	struct audit audit = {0};

	(void)state;
	prep->workers = 1;
	prep->length_ns = fetch->length_ns = 200000000;
	open_loader("");
	train(real, &audit, 10000);
	assert_int_equal(prep->state, TRACE_DONE);
	assert_int_equal(counted(prep, TRACE_delivered_samples), 0);
	assert_true(prep->samples > 0);
	assert_int_equal(fetch->state, TRACE_DONE);
	assert_int_equal(counted(fetch, TRACE_prepared_samples), 0);
	assert_true(fetch->samples > 0);
	assert_int_equal(real->state, TRACE_DONE);
}

static void an_unthrottled_fetch_window_leaves_the_storage_out(void **state)
{
	struct trace_window *without = ask(TRACE_FETCH), *with = ask(TRACE_FETCH);
	struct trace_window *real = ask(TRACE_REAL);
	struct audit audit = {0};

	(void)state;
	without->flags = TRACE_UNTHROTTLED;
	without->length_ns = with->length_ns = 50000000;
	open_loader("storage_latency=20ms,fetch_depth=2");
	train(real, &audit, 10000);
	assert_true(samples_per_ns(without) > 10 * samples_per_ns(with));
	assert_int_equal(counted(without, TRACE_throttle_reads), 0);
	assert_int_equal(counted(without, TRACE_fetched_samples), without->samples);
	assert_int_equal(counted(without, TRACE_staged_samples), 0);
	assert_true(counted(with, TRACE_throttle_reads) > 0);
}

static void some_samples_of_cached_windows_are_recorded(void **state)
{
	struct trace_window *window = ask(TRACE_CACHED);
	const struct trace_sample *samples;
	struct audit audit = {0};

	(void)state;
	window->min_steps = 400;
	window->length_ns = 0;
	open_loader("");
	train(window, &audit, 10000);
	/* One of four of 402 batches, until the room ends. */
	assert_int_equal(window->sample_records, 512);
	samples = &trace->samples[window->first_sample];
	for (unsigned i = 0; i < window->sample_records; i++) {
		assert_true(samples[i].batch >= window->settle);
		assert_int_equal(samples[i].batch % 4, 0);
		assert_true(samples[i].prep_ns > 0 && samples[i].bytes > 0);
		assert_int_equal(samples[i].fetch_ns, 0);
	}
	assert_true(trace->dropped_samples == 0);
}

static void reads_one_at_a_time_are_recorded_evenly(void **state)
{
	struct trace_window *one = ask(TRACE_FETCH), *two = ask(TRACE_FETCH);
	struct trace_window *real = ask(TRACE_REAL);
	const struct trace_sample *samples;
	struct audit audit = {0};

	(void)state;
	one->depth = 1;
	one->length_ns = two->length_ns = 300000000;
	open_loader("fetch_depth=2");
	train(real, &audit, 10000);
	assert_int_equal(two->sample_records, 0);
	assert_in_range(one->sample_records, 1, 512);
	/* All, or spread over all: never fewer than half of the room. */
	assert_true(one->sample_records >= 256 || one->sample_records >= one->samples);
	samples = &trace->samples[one->first_sample];
	for (unsigned i = 0; i < one->sample_records; i++) {
		assert_true(samples[i].fetch_ns > 0 && samples[i].bytes > 0);
		assert_int_equal(samples[i].window, 0);
	}
}

static void the_last_sample_s_cpu_time_counts_in_its_window(void **state)
{
	struct trace_window *prep = ask(TRACE_PREP), *real = ask(TRACE_REAL);
	struct audit audit = {0};
	uint64_t prepared, cpu_ns, prep_ns;

	(void)state;
	prep->length_ns = 200000000;
	open_loader("prep_delay=20ms"); /* a few samples in each worker */
	train(real, &audit, 10000);
	prepared = counted(prep, TRACE_prepared_samples);
	cpu_ns = counted(prep, TRACE_prep_cpu_ns);
	prep_ns = counted(prep, TRACE_prep_ns);
	assert_true(prepared > 0);
	assert_true(cpu_ns > 1000 * prepared && cpu_ns < prep_ns);
}

static void paired_windows_prepare_each_sample_with_and_without_counting(void **state)
{
	struct trace_window *paired = ask(TRACE_PREP), *real = ask(TRACE_REAL);
	struct audit audit = {0};
	uint64_t bare, full, prepared;

	(void)state;
	paired->flags = TRACE_PAIRED;
	paired->length_ns = 400000000;
	open_loader("");
	train(real, &audit, 10000);
	bare = counted(paired, TRACE_bare_cpu_ns);
	full = counted(paired, TRACE_full_cpu_ns);
	prepared = counted(paired, TRACE_prepared_samples);
	assert_int_equal(paired->state, TRACE_DONE);
	assert_true(prepared > 0 && bare > 0 && full > 0);
	assert_true(bare < 2 * full && full < 2 * bare);
	/* Each of the two counts as one that was prepared. */
	assert_true(10 * counted(paired, TRACE_prep_cpu_ns) > 9 * (bare + full));
	assert_int_equal(prepared % 2, 0);
	assert_int_equal(counted(real, TRACE_bare_cpu_ns), 0);
}

static void loaded_windows_prepare_as_much_as_they_deliver(void **state)
{
	struct trace_window *window = ask(TRACE_LOADED);
	struct dsa_batch batch;
	uint64_t before, behind;

	(void)state;
	window->min_steps = 30;
	open_loader("");
	while (atomic_load(&window->state) < TRACE_DONE) {
		assert_int_equal(dsa_next(loader, &batch), 1);
		assert_int_equal(dsa_compute(loader, &batch, 400), 0);
		dsa_release(loader, &batch);
	}
	before = counted(window, TRACE_delivered_samples);
	behind = counted(window, TRACE_prepared_samples);
	assert_true(behind > 0 && behind <= before + 2 * BATCH);
	assert_true(trace->loader.emulated_per_s == 400);
}

static void gpu_speed_is_a_factor_on_the_emulated_rate(void **state)
{
	const _Atomic uint64_t *asked =
		&trace->processes[0].counters[TRACE_emulated_asked_ns];
	struct dsa_batch batch;

	(void)state;
	open_loader("gpu_speed=2.5");
	assert_int_equal(dsa_next(loader, &batch), 1);
	assert_int_equal(dsa_compute(loader, &batch, 400), 0);
	assert_true(trace->loader.emulated_per_s == 1000);
	assert_int_equal(*asked, BATCH * 1000000);
	dsa_release(loader, &batch);
}

static void drawn_hits_come_as_often_as_asked(void **state)
{
	struct trace_window *window = ask(TRACE_REAL);
	struct audit audit = {0};
	uint64_t hits, all;

	(void)state;
	window->flags = TRACE_DRAW;
	window->hit = 0.25;
	window->min_steps = 200;
	open_loader("cache=minio,cache_size=25%");
	train(window, &audit, 10000);
	assert_int_equal(window->state, TRACE_DONE);
	hits = counted(window, TRACE_hit_samples);
	all = counted(window, TRACE_delivered_samples);
	assert_true(hits * 100 > all * 20 && hits * 100 < all * 30);
	assert_true(audit.repeated + 1 >= audit.batches); /* one more closes it */
}

static void a_filled_cache_holds_its_share(void **state)
{
	struct trace_window *fill = ask(TRACE_FILL), *real = ask(TRACE_REAL);
	struct audit audit = {0};
	uint64_t hits, all;

	(void)state;
	real->min_steps = 30;
	open_loader("cache=minio,cache_size=50%");
	train(real, &audit, 10000);
	assert_int_equal(fill->state, TRACE_DONE);
	assert_true(fill->end.cache_bytes * 10 > trace->loader.cache_capacity * 8);
	hits = counted(real, TRACE_hit_samples);
	all = counted(real, TRACE_delivered_samples);
	assert_true(hits * 100 > all * 30 && hits * 100 < all * 70);
}

static void no_switch_loses_or_repeats_a_sample(void **state)
{
	static const enum trace_kind kinds[] = {TRACE_REAL,      TRACE_CACHED,
						TRACE_SYNTHETIC, TRACE_LOADED,
						TRACE_PREP,      TRACE_FETCH};
	struct audit audit = {0};
	struct trace_window *last = NULL;
	struct dsa_batch batch;

	(void)state;
	for (unsigned i = 0; i < 24; i++) {
		last = ask(kinds[i * 5 % 6]);
		last->min_steps = 3;
		last->stage = 5 * BATCH;
	}
	open_loader("epochs=6,cache=lru,cache_size=30%");
	train(last, &audit, 100000);
	assert_int_equal(last->state, TRACE_DONE);
	while (dsa_next(loader, &batch) > 0) {
		for (uint32_t s = 0; s < batch.count && !batch.repeated; s++)
			audit.seen[batch.samples[s]]++;
		dsa_release(loader, &batch);
	}
	for (unsigned i = 0; i < SAMPLES; i++)
		assert_int_equal(audit.seen[i], 6);
}

static struct trace_window *ask_epoch(void)
{
	struct trace_window *window = ask(TRACE_REAL);

	window->flags = TRACE_EPOCH;
	window->settle = 0;
	window->min_steps = 1;
	window->length_ns = 0;
	return window;
}

static void
windows_of_an_epoch_follow_one_another_and_hold_each_sample_once(void **state)
{
	struct trace_window *before = ask(TRACE_REAL), *windows[3];
	struct dsa_batch batch;

	(void)state;
	for (int i = 0; i < 3; i++)
		windows[i] = ask_epoch();
	open_loader("cache=lru,cache_size=50%");
	while (atomic_load(&windows[2]->state) < TRACE_DONE) {
		assert_int_equal(dsa_next(loader, &batch), 1);
		dsa_compute(loader, &batch, 600); /* so that all slots are filled */
		dsa_release(loader, &batch);
	}
	assert_int_equal(before->state, TRACE_DONE);
	for (int i = 0; i < 3; i++) {
		const struct trace_step *steps = &trace->steps[windows[i]->first_step];

		assert_int_equal(windows[i]->state, TRACE_DONE);
		assert_int_equal(windows[i]->samples, SAMPLES);
		assert_int_equal(windows[i]->steps, (SAMPLES + BATCH - 1) / BATCH);
		assert_int_equal(steps[0].epoch, i + 1);
		assert_int_equal(steps[windows[i]->steps - 1].epoch, i + 1);
		assert_int_equal(counted(windows[i], TRACE_hit_samples),
				 trace->epochs[i + 1].hits);
		assert_true(trace->epochs[i + 1].hits > 0);
	}
	/* What was read ahead was thrown away before the first window, no more: with
	 * what lies ahead at the end twice five batches. */
	assert_true(trace->processes[0].counters[TRACE_prepared_samples] <=
		    trace->processes[0].counters[TRACE_delivered_samples] + 11 * BATCH);
}

static void an_epoch_that_is_cut_counts_for_nothing(void **state)
{
	struct trace_window *window = ask_epoch();
	struct dsa_batch batch;

	(void)state;
	open_loader("");
	for (int i = 0; i < 100 && window->steps < 5; i++) {
		assert_int_equal(dsa_next(loader, &batch), 1);
		dsa_release(loader, &batch);
	}
	assert_int_equal(window->steps, 5);
	atomic_store(&trace->stop, 1);
	assert_int_equal(dsa_next(loader, &batch), 0);
	assert_int_equal(window->state, TRACE_REFUSED);
}

static void the_stop_flag_ends_the_data(void **state)
{
	struct trace_window *window = ask(TRACE_REAL);
	struct dsa_batch batch;

	(void)state;
	window->length_ns = UINT64_MAX / 2;
	open_loader("");
	for (int i = 0; i < 20; i++) {
		assert_int_equal(dsa_next(loader, &batch), 1);
		dsa_release(loader, &batch);
	}
	atomic_store(&trace->stop, 1);
	assert_int_equal(dsa_next(loader, &batch), 0);
	assert_int_equal(window->state, TRACE_DONE);
	assert_true(window->steps > 0);
}

static void the_data_end_with_the_batch_that_reaches_the_samples(void **state)
{
	struct audit audit = {0};
	struct dsa_batch batch;

	(void)state;
	trace->until_samples = 100;
	open_loader("");
	train(NULL, &audit, 10000);
	assert_int_equal(audit.batches, 13);
	assert_int_equal(dsa_next(loader, &batch), 0); /* nor does it begin again */
	assert_int_equal(trace->stop, 0);
}

static void the_data_may_end_with_the_data_set(void **state)
{
	struct audit audit = {0};

	(void)state;
	trace->until_samples = 4096;
	trace->until_once = 1;
	open_loader("");
	train(NULL, &audit, 10000);
	assert_int_equal(audit.batches, (SAMPLES + BATCH - 1) / BATCH);
	for (unsigned i = 0; i < SAMPLES; i++)
		assert_int_equal(audit.seen[i], 1);
}

static void without_dsa_the_program_goes_on_and_no_window_is_begun(void **state)
{
	struct trace_window *window = ask(TRACE_SYNTHETIC);
	struct audit audit = {0};

	(void)state;
	trace->dsa_start++; /* nobody has that pid and that start */
	open_loader("epochs=1");
	train(NULL, &audit, 100000);
	assert_int_equal(window->state, TRACE_ASKED);
	for (unsigned i = 0; i < SAMPLES; i++)
		assert_int_equal(audit.seen[i], 1);
}

static void a_session_of_another_version_is_refused_by_name(void **state)
{
	const struct dsa_config config = {.dataset = "synthetic:8"};
	char why[DSA_WHY];

	(void)state;
	trace->version = 999;
	assert_true(dsa_open(&config, &loader, why) < 0);
	assert_non_null(strstr(why, "version 999"));
	assert_non_null(strstr(why, "this is version 3"));
	loader = NULL;
}

#define WITH_SESSION(test)                                                             \
	cmocka_unit_test_setup_teardown(test, make_session, drop_session)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH_SESSION(a_real_window_is_measured_after_it_settled),
		WITH_SESSION(step_records_fill_the_window_without_gaps),
		WITH_SESSION(
			synthetic_batches_repeat_and_leave_the_stream_where_it_was),
		WITH_SESSION(
			a_program_that_holds_batches_is_told_and_never_waits_for_itself),
		WITH_SESSION(cached_windows_read_nothing),
		WITH_SESSION(cached_windows_repeat_when_the_staged_samples_run_out),
		WITH_SESSION(prep_and_fetch_windows_deliver_nothing),
		WITH_SESSION(an_unthrottled_fetch_window_leaves_the_storage_out),
		WITH_SESSION(some_samples_of_cached_windows_are_recorded),
		WITH_SESSION(reads_one_at_a_time_are_recorded_evenly),
		WITH_SESSION(the_last_sample_s_cpu_time_counts_in_its_window),
		WITH_SESSION(
			paired_windows_prepare_each_sample_with_and_without_counting),
		WITH_SESSION(loaded_windows_prepare_as_much_as_they_deliver),
		WITH_SESSION(gpu_speed_is_a_factor_on_the_emulated_rate),
		WITH_SESSION(drawn_hits_come_as_often_as_asked),
		WITH_SESSION(a_filled_cache_holds_its_share),
		WITH_SESSION(no_switch_loses_or_repeats_a_sample),
		WITH_SESSION(
			windows_of_an_epoch_follow_one_another_and_hold_each_sample_once),
		WITH_SESSION(an_epoch_that_is_cut_counts_for_nothing),
		WITH_SESSION(the_stop_flag_ends_the_data),
		WITH_SESSION(the_data_end_with_the_batch_that_reaches_the_samples),
		WITH_SESSION(the_data_may_end_with_the_data_set),
		WITH_SESSION(without_dsa_the_program_goes_on_and_no_window_is_begun),
		WITH_SESSION(a_session_of_another_version_is_refused_by_name),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("driver", tests, NULL, NULL);
}
