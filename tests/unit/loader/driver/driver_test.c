/* driver_test.c - what each kind of window delivers, and where the stream is then. */
#include "tests/lib/driven.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

TEST_WITH(a_real_window_is_measured_after_it_settled, driven_setup, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_REAL);
	struct driven_audit audit = {0};

	driven_open("");
	driven_train(window, &audit, 10000);
	assert_int_equal(window->state, TRACE_DONE);
	assert_true(window->steps >= 8);
	assert_int_equal(window->samples,
			 driven_counted(window, TRACE_delivered_samples));
	assert_true(window->begin.time_ns > window->switch_ns);
	assert_int_equal(driven.trace->steps[window->first_step].request_ns,
			 window->begin.time_ns);
	assert_true(driven.trace->first_request_ns <= window->switch_ns);
	assert_string_equal(driven.trace->loader.source, "tree");
	assert_int_equal(driven.trace->loader.batch, DRIVEN_BATCH);
}

TEST_WITH(synthetic_batches_repeat_and_leave_the_stream_where_it_was, driven_setup,
	  driven_teardown)
{
	struct trace_window *first = driven_ask(TRACE_REAL);
	struct trace_window *synthetic = driven_ask(TRACE_SYNTHETIC);
	struct driven_audit real = {0}, audit = {0};
	struct dsa_stats before, after;

	driven_open("");
	driven_train(first, &real, 10000);
	dsa_stats(driven.loader, &before);
	driven_train(synthetic, &audit, 10000);
	dsa_stats(driven.loader, &after);
	assert_int_equal(synthetic->state, TRACE_DONE);
	assert_int_equal(driven_counted(synthetic, TRACE_prepared_samples), 0);
	assert_true(audit.repeated >= 8);
	assert_true(after.step <= before.step + 1);
}

TEST_WITH(a_program_that_holds_batches_is_told_and_never_waits_for_itself, driven_setup,
	  driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_SYNTHETIC);
	struct dsa_batch batch[80];
	unsigned count = 0;

	window->min_steps = 1000;
	driven_open("prefetch=64,batch=1");
	while (count < 80 && dsa_next(driven.loader, &batch[count]) == 1)
		count++;
	assert_int_equal(window->state, TRACE_RUNNING);
	assert_int_equal(count, 65); /* those ahead and the current one */
	assert_int_equal(dsa_next(driven.loader, &batch[count]), -EBUSY);
	while (count > 0)
		assert_int_equal(dsa_release(driven.loader, &batch[--count]), 0);
	assert_int_equal(dsa_next(driven.loader, &batch[0]), 1);
}

TEST_WITH(cached_windows_read_nothing, driven_setup, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);
	struct driven_audit audit = {0};

	driven_open("");
	driven_train(window, &audit, 10000);
	assert_int_equal(window->state, TRACE_DONE);
	assert_int_equal(window->staged, 30 * DRIVEN_BATCH);
	assert_int_equal(driven_counted(window, TRACE_fetched_samples), 0);
	assert_true(driven_counted(window, TRACE_prepared_samples) > 0);
}

TEST_WITH(cached_windows_repeat_when_the_staged_samples_run_out, driven_setup,
	  driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);
	struct driven_audit audit = {0};

	window->stage = 2 * DRIVEN_BATCH;
	window->min_steps = 20;
	driven_open("");
	driven_train(window, &audit, 10000);
	assert_int_equal(window->state, TRACE_DONE);
	assert_true(window->staged_repeats >= 18 * DRIVEN_BATCH);
	for (unsigned i = 0; i < DRIVEN_SAMPLES; i++)
		assert_true(audit.seen[i] <= 1);
}

TEST_WITH(prep_and_fetch_windows_deliver_nothing, driven_setup, driven_teardown)
{
	struct trace_window *prep = driven_ask(TRACE_PREP),
			    *fetch = driven_ask(TRACE_FETCH);
	struct trace_window *real = driven_ask(TRACE_REAL);
	struct driven_audit audit = {0};

	prep->workers = 1;
	prep->length_ns = fetch->length_ns = 200000000;
	driven_open("");
	driven_train(real, &audit, 10000);
	assert_int_equal(prep->state, TRACE_DONE);
	assert_int_equal(driven_counted(prep, TRACE_delivered_samples), 0);
	assert_true(prep->samples > 0);
	assert_int_equal(fetch->state, TRACE_DONE);
	assert_int_equal(driven_counted(fetch, TRACE_prepared_samples), 0);
	assert_true(fetch->samples > 0);
	assert_int_equal(real->state, TRACE_DONE);
}

TEST_WITH(an_unthrottled_fetch_window_leaves_the_storage_out, driven_setup,
	  driven_teardown)
{
	struct trace_window *without = driven_ask(TRACE_FETCH),
			    *with = driven_ask(TRACE_FETCH);
	struct trace_window *real = driven_ask(TRACE_REAL);
	struct driven_audit audit = {0};

	without->flags = TRACE_UNTHROTTLED;
	without->length_ns = with->length_ns = 50000000;
	driven_open("storage_latency=20ms,fetch_depth=2");
	driven_train(real, &audit, 10000);
	assert_true(without->samples > 0);
	assert_int_equal(driven_counted(without, TRACE_throttle_reads), 0);
	assert_int_equal(driven_counted(without, TRACE_fetched_samples),
			 without->samples);
	assert_int_equal(driven_counted(without, TRACE_staged_samples), 0);
	assert_true(driven_counted(with, TRACE_throttle_reads) > 0);
}

TEST_WITH(loaded_windows_prepare_as_much_as_they_deliver, driven_setup, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_LOADED);
	struct dsa_batch batch;
	uint64_t before, behind;

	window->min_steps = 30;
	driven_open("");
	while (atomic_load(&window->state) < TRACE_DONE) {
		assert_int_equal(dsa_next(driven.loader, &batch), 1);
		assert_int_equal(dsa_compute(driven.loader, &batch, 400), 0);
		dsa_release(driven.loader, &batch);
	}
	before = driven_counted(window, TRACE_delivered_samples);
	behind = driven_counted(window, TRACE_prepared_samples);
	assert_true(behind > 0 && behind <= before + 2 * DRIVEN_BATCH);
	assert_true(driven.trace->loader.emulated_per_s == 400);
}

TEST_WITH(gpu_speed_is_a_factor_on_the_emulated_rate, driven_setup, driven_teardown)
{
	const _Atomic uint64_t *asked =
		&driven.trace->processes[0].counters[TRACE_emulated_asked_ns];
	struct dsa_batch batch;

	driven_open("gpu_speed=2.5");
	assert_int_equal(dsa_next(driven.loader, &batch), 1);
	assert_int_equal(dsa_compute(driven.loader, &batch, 400), 0);
	assert_true(driven.trace->loader.emulated_per_s == 1000);
	assert_int_equal(*asked, DRIVEN_BATCH * 1000000);
	dsa_release(driven.loader, &batch);
}

TEST_WITH(drawn_hits_come_as_often_as_asked, driven_setup, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_REAL);
	struct driven_audit audit = {0};
	uint64_t hits, all;

	window->flags = TRACE_DRAW;
	window->hit = 0.25;
	window->min_steps = 200;
	driven_open("cache=minio,cache_size=25%");
	driven_train(window, &audit, 10000);
	assert_int_equal(window->state, TRACE_DONE);
	hits = driven_counted(window, TRACE_hit_samples);
	all = driven_counted(window, TRACE_delivered_samples);
	assert_true(hits * 100 > all * 20 && hits * 100 < all * 30);
	assert_true(audit.repeated + 1 >= audit.batches); /* one more closes it */
}

TEST_WITH(a_filled_cache_holds_its_share, driven_setup, driven_teardown)
{
	struct trace_window *fill = driven_ask(TRACE_FILL),
			    *real = driven_ask(TRACE_REAL);
	struct driven_audit audit = {0};
	uint64_t hits, all;

	real->min_steps = 30;
	driven_open("cache=minio,cache_size=50%");
	driven_train(real, &audit, 10000);
	assert_int_equal(fill->state, TRACE_DONE);
	assert_true(fill->end.cache_bytes * 10 >
		    driven.trace->loader.cache_capacity * 8);
	hits = driven_counted(real, TRACE_hit_samples);
	all = driven_counted(real, TRACE_delivered_samples);
	assert_true(hits * 100 > all * 30 && hits * 100 < all * 70);
}

TEST_WITH(no_switch_loses_or_repeats_a_sample, driven_setup, driven_teardown)
{
	static const enum trace_kind kinds[] = {TRACE_REAL,      TRACE_CACHED,
						TRACE_SYNTHETIC, TRACE_LOADED,
						TRACE_PREP,      TRACE_FETCH};
	struct driven_audit audit = {0};
	struct trace_window *last = NULL;
	struct dsa_batch batch;

	for (unsigned i = 0; i < 24; i++) {
		last = driven_ask(kinds[i * 5 % 6]);
		last->min_steps = 3;
		last->stage = 5 * DRIVEN_BATCH;
	}
	driven_open("epochs=6,cache=lru,cache_size=30%");
	driven_train(last, &audit, 100000);
	assert_int_equal(last->state, TRACE_DONE);
	while (dsa_next(driven.loader, &batch) > 0) {
		for (uint32_t s = 0; s < batch.count && !batch.repeated; s++)
			audit.seen[batch.samples[s]]++;
		dsa_release(driven.loader, &batch);
	}
	for (unsigned i = 0; i < DRIVEN_SAMPLES; i++)
		assert_int_equal(audit.seen[i], 6);
}

static struct trace_window *ask_epoch(void)
{
	struct trace_window *window = driven_ask(TRACE_REAL);

	window->flags = TRACE_EPOCH;
	window->settle = 0;
	window->min_steps = 1;
	window->length_ns = 0;
	return window;
}

TEST_WITH(windows_of_an_epoch_follow_one_another_and_hold_each_sample_once,
	  driven_setup, driven_teardown)
{
	struct trace_window *before = driven_ask(TRACE_REAL), *windows[3];
	struct dsa_batch batch;

	for (int i = 0; i < 3; i++)
		windows[i] = ask_epoch();
	driven_open("cache=lru,cache_size=50%");
	while (atomic_load(&windows[2]->state) < TRACE_DONE) {
		assert_int_equal(dsa_next(driven.loader, &batch), 1);
		/* So that all slots are filled. */
		dsa_compute(driven.loader, &batch, 600);
		dsa_release(driven.loader, &batch);
	}
	assert_int_equal(before->state, TRACE_DONE);
	for (int i = 0; i < 3; i++) {
		const struct trace_step *steps =
			&driven.trace->steps[windows[i]->first_step];

		assert_int_equal(windows[i]->state, TRACE_DONE);
		assert_int_equal(windows[i]->samples, DRIVEN_SAMPLES);
		assert_int_equal(windows[i]->steps,
				 (DRIVEN_SAMPLES + DRIVEN_BATCH - 1) / DRIVEN_BATCH);
		assert_int_equal(steps[0].epoch, i + 1);
		assert_int_equal(steps[windows[i]->steps - 1].epoch, i + 1);
		assert_int_equal(driven_counted(windows[i], TRACE_hit_samples),
				 driven.trace->epochs[i + 1].hits);
		assert_true(driven.trace->epochs[i + 1].hits > 0);
	}
	/* What was read ahead was thrown away before the first window, no more: with
	 * what lies ahead at the end twice five batches. */
	assert_true(driven.trace->processes[0].counters[TRACE_prepared_samples] <=
		    driven.trace->processes[0].counters[TRACE_delivered_samples] +
			    11 * DRIVEN_BATCH);
}

TEST_WITH(an_epoch_that_is_cut_counts_for_nothing, driven_setup, driven_teardown)
{
	struct trace_window *window = ask_epoch();
	struct dsa_batch batch;

	driven_open("");
	for (int i = 0; i < 100 && window->steps < 5; i++) {
		assert_int_equal(dsa_next(driven.loader, &batch), 1);
		dsa_release(driven.loader, &batch);
	}
	assert_int_equal(window->steps, 5);
	atomic_store(&driven.trace->stop, 1);
	assert_int_equal(dsa_next(driven.loader, &batch), 0);
	assert_int_equal(window->state, TRACE_REFUSED);
}
