#include "loader/base/error.h"
#include "loader/base/random.h"
#include "profiler/analysis/analyse.h"
#include "profiler/analysis/proof.h"
#include "profiler/analysis/shares.h"
#include "profiler/session/disturbance.h"
#include "profiler/session/epoch_parts.h"
#include "profiler/session/run_metadata.h"
#include "tests/lib/close_to.h"
#include "tests/lib/nomem.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"
#include "tests/lib/trials.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32, STEPS = 20 };

static const enum trace_kind orders[6][3] = {
	{TRACE_SYNTHETIC, TRACE_CACHED, TRACE_REAL},
	{TRACE_REAL, TRACE_CACHED, TRACE_SYNTHETIC},
	{TRACE_CACHED, TRACE_REAL, TRACE_SYNTHETIC},
	{TRACE_SYNTHETIC, TRACE_REAL, TRACE_CACHED},
	{TRACE_REAL, TRACE_SYNTHETIC, TRACE_CACHED},
	{TRACE_CACHED, TRACE_SYNTHETIC, TRACE_REAL},
};

/* 10 ms of compute, 15 with prep, 20 with fetch; `slower` times as long. */
static struct session_window ask(enum trace_kind kind, int block, double slower)
{
	struct session_window window = {
		.kind = kind,
		.block = block,
		.steps = STEPS,
		.samples = BATCH,
		.step_ms = 10 * slower,
	};

	if (kind == TRACE_CACHED || kind == TRACE_REAL) {
		window.step_ms = 15 * slower;
		window.blocked_ms = 5 * slower;
		window.prepared = STEPS * BATCH;
	}
	if (kind == TRACE_REAL) {
		window.step_ms = 20 * slower;
		window.blocked_ms = 10 * slower;
		window.fetched = STEPS * BATCH;
	}
	return window;
}

/* Blocks in mirrored orders; each window is `drift` slower than the one before. */
static struct trace *run_of(unsigned blocks, double drift)
{
	struct trace *trace = session_new();
	unsigned number = 0;

	for (unsigned block = 0; block < blocks; block++)
		for (unsigned i = 0; i < 3; i++) {
			struct session_window window = ask(
				orders[block % 6][i], (int)block, 1 + drift * number++);

			session_add(trace, &window);
		}
	return trace;
}

static void analysed(const struct trace *trace, struct profile *profile)
{
	struct error err = {0};

	profile_init(profile);
	if (analyse(&trace, 1, profile, &err) < 0)
		fail_msg("%s", err.message);
}

TEST(shares_and_rates_are_the_constructed_ones)
{
	struct trace *trace = run_of(8, 0);
	struct profile profile;

	analysed(trace, &profile);
	assert_true(analyse_complete(&profile));
	assert_int_equal(profile.blocks, 8);
	close_to(profile.stalls[STAGE_COMPUTE].value, .5, 1e-9);
	close_to(profile.stalls[STAGE_PREP].value, .25, 1e-9);
	close_to(profile.stalls[STAGE_FETCH].value, .25, 1e-9);
	close_to(profile.rates[TRACE_REAL].value, BATCH / 20e-3, 1e-6);
	close_to(profile.rates[TRACE_CACHED].value, BATCH / 15e-3, 1e-6);
	close_to(profile.rates[TRACE_SYNTHETIC].value, BATCH / 10e-3, 1e-6);
	/* Blocks without spread leave the systematic floor alone. */
	close_to(interval_half(profile.stalls[STAGE_FETCH]), profile.overhead_floor,
		 1e-9);
	assert_true(profile.overhead_floor > 0 && profile.overhead_floor < .005);
	assert_int_equal(profile.limit.id, STAGE_FETCH);
	for (size_t i = 0; i < profile.window_count; i++)
		assert_true(profile.windows[i].used && profile.windows[i].certified);
	profile_free(&profile);
	session_free(trace);
}

TEST(of_a_sampler_without_end_no_length_of_an_epoch_is_told)
{
	struct trace *trace = run_of(4, 0);
	struct profile profile;

	trace->loader.steps_per_epoch = 7;
	analysed(trace, &profile);
	assert_int_equal(profile.steps_per_epoch, 7);
	profile_free(&profile);
	trace->beyond = TRACE_ENDLESS;
	analysed(trace, &profile);
	assert_true(profile.steps_per_epoch == UNKNOWN);
	profile_free(&profile);
	session_free(trace);
}

TEST(linear_drift_cancels_in_mirrored_blocks)
{
	struct trace *trace = run_of(12, .01);
	struct profile profile;

	analysed(trace, &profile);
	/* The last window is 36 % slower than the first. */
	close_to(profile.stalls[STAGE_COMPUTE].value, .5, 1e-6);
	close_to(profile.stalls[STAGE_PREP].value, .25, 1e-6);
	close_to(profile.stalls[STAGE_FETCH].value, .25, 1e-6);
	profile_free(&profile);
	session_free(trace);
}

TEST(negative_estimates_stay_as_they_are)
{
	struct trace *trace = session_new();
	struct profile profile;

	for (int block = 0; block < 8; block++)
		for (int i = 0; i < 3; i++) {
			struct session_window window = ask(orders[0][i], block, 1);

			if (window.kind == TRACE_REAL)
				window.step_ms = 14.9;
			session_add(trace, &window);
		}
	analysed(trace, &profile);
	close_to(profile.stalls[STAGE_FETCH].value, (14.9 - 15) / 14.9, 1e-9);
	close_to(profile.stalls[STAGE_COMPUTE].value +
			 profile.stalls[STAGE_PREP].value +
			 profile.stalls[STAGE_FETCH].value,
		 1, 1e-12);
	assert_int_equal(profile.limit.id, STAGE_PREP);
	profile_free(&profile);
	session_free(trace);
}

TEST(void_windows_are_named_and_not_used)
{
	struct trace *trace = run_of(9, 0);
	struct profile profile;

	for (unsigned i = 0; i < 3; i++) {
		struct trace_window *window = &trace->windows[i];

		if (window->kind == TRACE_CACHED)
			window->end.read_bytes += 4096;
		if (window->kind == TRACE_REAL) /* all came from the page cache */
			window->end.read_bytes = window->begin.read_bytes;
		if (window->kind == TRACE_SYNTHETIC)
			window->end.counters[TRACE_prepared_samples]++;
	}
	analysed(trace, &profile);
	assert_int_equal(profile.blocks, 8);
	for (unsigned i = 0; i < 3; i++) {
		assert_false(profile.windows[i].used || profile.windows[i].certified);
		assert_non_null(strstr(profile.windows[i].why, "void: "));
	}
	close_to(profile.stalls[STAGE_COMPUTE].value, .5, 1e-9);
	profile_free(&profile);
	session_free(trace);
}

TEST(real_windows_may_not_read_more_than_they_fetched)
{
	struct trace *trace = run_of(1, 0);
	struct window window;

	window_measure(trace, 2, &window);
	assert_int_equal(window.kind, TRACE_REAL);
	assert_true(window.certified);
	trace->windows[2].end.read_bytes *= 2;
	window_measure(trace, 2, &window);
	assert_false(window.certified);
	trace->loader.memory = 1;
	window_measure(trace, 2, &window);
	assert_true(window.certified);
	assert_string_equal(window.why, "storage is memory");
	session_free(trace);
}

TEST(unknown_storage_bytes_prove_nothing)
{
	struct trace *trace = run_of(1, 0);
	struct profile profile;

	for (unsigned i = 0; i < 3; i++)
		trace->windows[i].end.read_bytes = UINT64_MAX;
	analysed(trace, &profile);
	assert_false(analyse_complete(&profile));
	assert_true(isnan(profile.rates[TRACE_REAL].value));
	profile_free(&profile);
	session_free(trace);
}

TEST(pauses_are_left_out_and_counted)
{
	struct trace *trace = run_of(8, 0);
	struct profile profile;
	struct trace_step *step = &trace->steps[trace->windows[4].first_step + 3];

	/* A checkpoint of 2 s in one step, and the same in a merged record. */
	step->end_ns += 2000000000;
	step->longest_ns += 2000000000;
	step = &trace->steps[trace->windows[7].first_step + 5];
	step->steps = 4;
	step->samples *= 4;
	step->end_ns += 3 * (step->end_ns - step->request_ns) + 2000000000;
	step->blocked_ns *= 4;
	step->longest_ns += 2000000000;
	analysed(trace, &profile);
	close_to(profile.stalls[STAGE_COMPUTE].value, .5, 1e-9);
	close_to(profile.stalls[STAGE_FETCH].value, .25, 1e-9);
	close_to(profile.outside_s, 4, .03);
	profile_free(&profile);
	session_free(trace);
}

TEST(the_second_proof_agrees)
{
	struct trace *trace = run_of(8, 0);
	struct profile profile;

	/* 15 ms of prep a batch over 4 workers: 5 ms more than compute. A batch that was
	 * under way at the end says nothing of that. */
	for (unsigned i = 0; i < trace->window_count; i++) {
		const struct trace_window *window = &trace->windows[i];

		if (window->kind == TRACE_SYNTHETIC)
			continue;
		session_samples(trace, &trace->windows[i], 15. * 4 / BATCH);
		for (unsigned j = 1; window->kind == TRACE_REAL && j <= BATCH; j++)
			trace->samples[trace->sample_count - j].prep_ns = 0;
	}
	analysed(trace, &profile);
	close_to(profile.proof.share[STAGE_PREP], .25, 1e-6);
	close_to(profile.proof.share[STAGE_FETCH], .25, 1e-6);
	close_to(profile.proof_gap, 0, 1e-6);
	assert_non_null(strstr(profile.proof.basis, "replayed"));
	profile_free(&profile);
	session_free(trace);
}

TEST(without_sample_records_cached_windows_prove_prep)
{
	struct trace *trace = run_of(8, 0);
	struct profile profile;

	analysed(trace, &profile);
	close_to(profile.proof.share[STAGE_PREP], .25, 1e-9);
	close_to(profile.proof.share[STAGE_FETCH], .25, 1e-9);
	profile_free(&profile);
	session_free(trace);
}

/* Nor has a thread that reads ahead records of what training waits for; and what it waits for
 * itself proves nothing. */
TEST(a_queue_that_a_thread_fills_proves_what_training_waits_for_it)
{
	struct trace *trace = run_of(8, 0);
	struct window *windows;
	struct proof proof;
	size_t count;

	windows = disturbance_windows(trace, &count);
	assert_non_null(windows);
	for (size_t i = 0; i < count; i++)
		windows[i].blocked_s += 1e-3 * STEPS; /* by the queue itself */
	trace->loader.kind = TRACE_TORCH;
	for (int i = TRACE_NOT_APART; i <= TRACE_QUEUED; i++) {
		trace->loader.apart = (uint32_t)i;
		proof_measure(windows, count, false, &proof);
		assert_int_equal(isnan(proof.share[STAGE_PREP]), i != TRACE_QUEUED);
	}
	close_to(proof.share[STAGE_PREP], .25, 1e-9);
	close_to(proof.share[STAGE_FETCH], .25, 1e-9);
	assert_non_null(strstr(proof.basis, "for a queue"));
	proof_measure(windows, count, true, &proof);
	assert_true(isnan(proof.share[STAGE_PREP]));
	free(windows);
	session_free(trace);
}

/* Of 15 ms with prep, 3 waiting, so that the step itself takes 2 longer, and of real ones'
 * 20 they are 8. Where three quarters of prep are done while it computes it takes 3 longer; of
 * PyTorch's, which have it wait, too, 1. */
static struct trace *slowed_run(uint32_t kind)
{
	bool torch = kind == TRACE_TORCH;
	struct trace *trace = session_new();

	trace->loader.kind = kind;
	for (unsigned block = 0; block < 8; block++)
		for (unsigned i = 0; i <= 3; i++) {
			struct session_window window =
				ask(i == 3 ? TRACE_LOADED : orders[block % 6][i],
				    i == 3 ? -1 : (int)block, 1);
			struct trace_window *added;

			if (window.kind == TRACE_REAL)
				window.blocked_ms = 8;
			if (window.kind == TRACE_CACHED)
				window.blocked_ms = 3;
			if (window.kind == TRACE_LOADED) {
				window.step_ms = torch ? 15 : 13;
				window.blocked_ms = torch ? 4 : 0;
				window.prepared = STEPS * BATCH * 3 / 4;
			}
			if (torch)
				window.fetched = window.prepared = 0;
			added = session_add(trace, &window);
			if (torch && window.kind != TRACE_SYNTHETIC)
				added->made =
					(struct trace_made){.batches = 1, .bytes = 1};
		}
	return trace;
}

TEST(the_time_outside_of_its_loader_splits_prep)
{
	struct trace *trace = slowed_run(TRACE_LIBDSA);
	struct session_window prep = {TRACE_PREP,     .block = -1,
				      .steps = STEPS, .samples = BATCH,
				      .step_ms = 10,  .prepared = STEPS * BATCH};
	struct profile profile;

	session_add(trace, &prep);
	analysed(trace, &profile);
	close_to(profile.rates[TRACE_LOADED].value, BATCH / 13e-3, 1e-6);
	close_to(profile.prep_contention, 2 / 20., 1e-9);
	close_to(profile.prep_waiting, 3 / 20., 1e-9);
	/* While prep blocks it 3 of 10 of a batch are prepared, while fetch does a quarter. */
	close_to(profile.proof.share[STAGE_PREP], 3 / 20. + (1 - 3 / 10.) * 4 / 20.,
		 1e-9);
	close_to(profile.proof.share[STAGE_FETCH], 5 / 20. - 5 / 20. * 4 / 20., 1e-9);
	profile_free(&profile);
	session_free(trace);
}

/* A sample may take longer than a window: the second proof is what real ones wait. */
TEST(loaded_windows_that_prepare_nothing_prove_nothing)
{
	struct trace *trace = run_of(8, 0);
	struct session_window window = ask(TRACE_LOADED, -1, 1.2);
	struct profile profile;

	session_add(trace, &window);
	analysed(trace, &profile);
	close_to(profile.prep_contention, 0, 1e-9);
	close_to(profile.proof.share[STAGE_PREP], .25, 1e-9);
	profile_free(&profile);
	session_free(trace);
}

TEST(of_torch_the_time_outside_its_loader_splits_prep)
{
	struct trace *trace = slowed_run(TRACE_TORCH);
	struct profile profile;

	analysed(trace, &profile);
	close_to(profile.rates[TRACE_LOADED].value, BATCH / 11e-3, 1e-6);
	close_to(profile.prep_contention, 2 / 20., 1e-9);
	close_to(profile.prep_waiting, 3 / 20., 1e-9);
	profile_free(&profile);
	session_free(trace);
}

/* What a device has not computed yet is no time of the step's. */
TEST(of_torch_on_a_device_loaded_windows_split_prep)
{
	struct trace *trace = slowed_run(TRACE_TORCH);
	struct profile profile;

	for (unsigned i = 0; i < trace->window_count; i++)
		trace->windows[i].made.devices = TRACE_AWAITED;
	analysed(trace, &profile);
	close_to(profile.prep_contention, 1 / 20., 1e-9);
	profile_free(&profile);
	session_free(trace);
}

/* Of servers it is also told what an answer took, from its request on. */
TEST(of_servers_a_point_has_the_time_of_an_answer)
{
	struct trace *trace = run_of(2, 0);
	struct session_window fetch = {TRACE_FETCH,   .block = -1,      .depth = 4,
				       .steps = 10,   .samples = BATCH, .step_ms = 40,
				       .fetched = 320};
	struct profile profile;

	session_add(trace, &fetch)->end.counters[TRACE_fetch_ns] += 6400000000;
	for (unsigned remote = 0; remote < 2; remote++) {
		trace->loader.remote = remote;
		analysed(trace, &profile);
		assert_int_equal(profile.fetch_points, 1);
		if (remote)
			close_to(profile.fetch_curve[0].read_s, .02, 1e-9);
		else
			assert_true(isnan(profile.fetch_curve[0].read_s));
		profile_free(&profile);
	}
	session_free(trace);
}

TEST(curves_have_a_point_each)
{
	struct trace *trace = run_of(2, 0);
	struct profile profile;

	for (unsigned x = 8; x > 0; x /= 2) {
		struct session_window prep = {TRACE_PREP,       .block = -1,
					      .workers = x,     .steps = 10,
					      .samples = BATCH, .step_ms = 80. / x};
		struct session_window fetch = {TRACE_FETCH,          .block = -1,
					       .depth = 2 * x,       .steps = 10,
					       .samples = BATCH,     .step_ms = 40. / x,
					       .fetched = 10 * BATCH};

		session_add(trace, &prep);
		session_add(trace, &fetch);
		session_add(trace, &fetch);
		fetch.flags = TRACE_UNTHROTTLED;
		fetch.step_ms = 1;
		if (x == 8)
			session_add(trace, &fetch);
	}
	analysed(trace, &profile);
	assert_int_equal(profile.prep_points, 4);
	assert_int_equal(profile.fetch_points, 5);
	assert_int_equal(profile.fetch_curve[4].x, 16);
	assert_true(profile.fetch_curve[4].unthrottled);
	close_to(profile.fetch_curve[4].per_s.value, 32000, 1e-3);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(profile.prep_curve[i].x, 1 << i);
		close_to(profile.prep_curve[i].per_s.value, 400 << i, 1e-6);
		assert_true(isnan(profile.prep_curve[i].per_s.low));
		assert_int_equal(profile.fetch_curve[i].x, 2 << i);
		assert_false(profile.fetch_curve[i].unthrottled);
		close_to(profile.fetch_curve[i].per_s.low, 800 << i, 1e-3);
		close_to(profile.fetch_curve[i].bytes_per_s, 8e7 * (1 << i), 1);
	}
	/* Four workers and depth 16 are the configured ones. */
	close_to(profile.rates[TRACE_PREP].value, 1600, 1e-6);
	close_to(profile.rates[TRACE_FETCH].value, 6400, 1e-6);
	close_to(profile.first_epoch_per_s, profile.rates[TRACE_CACHED].value, 1e-9);
	profile_free(&profile);
	session_free(trace);
}

TEST(overhead_compares_the_same_samples)
{
	struct trace *trace = run_of(2, 0);
	struct profile profile;

	for (int i = 0; i < 6; i++) {
		struct session_window prep = {TRACE_PREP, .block = -1, .steps = 10,
					      .samples = BATCH, .step_ms = 20};
		struct trace_window *window;

		prep.flags = TRACE_PAIRED;
		window = session_add(trace, &prep);
		window->end.counters[TRACE_bare_cpu_ns] += 1000000;
		window->end.counters[TRACE_full_cpu_ns] += 1005000;
	}
	analysed(trace, &profile);
	close_to(profile.overhead.value, 5 / 1005., 1e-9);
	assert_int_equal(profile.prep_points, 0); /* no point of P(k) */
	profile_free(&profile);
	session_free(trace);
}

/* Of four parts of the epoch there are two windows each. */
TEST(drawn_windows_weigh_alike_over_the_epoch)
{
	struct trace *trace = session_new();
	struct profile profile;

	for (int block = 0; block < 12; block++)
		for (int i = 0; i < 3; i++) {
			struct session_window window = ask(orders[0][i], block, 1);
			unsigned part = epoch_part(trace->seed, (unsigned)block);

			if (window.kind == TRACE_REAL) {
				/* The fast end of the epoch gets more steps in. */
				window.flags = TRACE_DRAW;
				window.hit = part / 8.;
				window.step_ms = 30 - 10. * part / 7;
				window.blocked_ms = window.step_ms - 10;
				window.steps = 20 + part * 5;
				window.hits =
					(unsigned)(window.hit * window.steps * BATCH);
				window.fetched = window.steps * BATCH - window.hits;
				window.prepared = window.steps * BATCH;
			}
			session_add(trace, &window);
		}
	analysed(trace, &profile);
	assert_true(profile.cache_emulated);
	close_to(profile.rates[TRACE_REAL].value, BATCH / 25e-3, 1e-3);
	close_to(profile.stalls[STAGE_COMPUTE].value, .4, 1e-6);
	close_to(profile.proof.share[STAGE_FETCH], .4, 1e-6);
	close_to(profile.hit_ratio.value, 3.5 / 8, 1e-3);
	/* Blocks differ by 33 %, but smoothly. */
	close_to(interval_half(profile.stalls[STAGE_FETCH]), profile.overhead_floor,
		 1e-3);
	assert_true(interval_half(profile.hit_ratio) < 1e-3);
	profile_free(&profile);
	session_free(trace);
}

/* Four times as many for half of the interval. */
TEST(of_servers_it_says_how_many_objects_a_precision_takes)
{
	struct trace *trace = run_of(8, 0);
	const struct trace *sessions[] = {trace};
	struct error err = {0};
	struct profile profile;

	trace->loader.remote = 1;
	trace->processes[0].counters[TRACE_wanted_gets] = 100000;
	profile_init(&profile);
	profile.precision = .001;
	assert_int_equal(analyse(sessions, 1, &profile, &err), 0);
	assert_true(profile.overhead_floor > .0011);
	close_to((double)profile.requests.needed,
		 100000 * pow(profile.overhead_floor / .001, 2), 2);
	profile_free(&profile);
	session_free(trace);
}

/* Of a loader that others follow in its slot, of another rank, and of other data. */
TEST(skipped_samples_are_those_of_the_measured_data)
{
	struct trace *trace = run_of(1, 0);
	struct profile profile;

	trace->processes[0].counters[TRACE_skipped_samples] = 3;
	trace->processes[0].skipped_before = 2;
	trace->processes[1].counters[TRACE_skipped_samples] = 32;
	trace->processes[2].counters[TRACE_skipped_samples] = 4;
	for (int i = 0; i < 3; i++)
		snprintf(trace->processes[i].dataset, TRACE_DATASET, "%s",
			 i == 1 ? "other" : "set");
	trace->skip_count = 5;
	for (uint32_t i = 0; i < trace->skip_count; i++) {
		trace->skips[i].slot = (uint32_t[]){2, 1, 0, 3, TRACE_PROCESSES + 1}[i];
		trace->skips[i].sample = i;
	}
	analysed(trace, &profile);
	assert_int_equal(profile.skipped, 1 + 4);
	assert_int_equal(profile.skip_count, 2);
	assert_int_equal(profile.skips[0].sample, 1);
	assert_int_equal(profile.skips[1].sample, 3);
	profile_free(&profile);
	session_free(trace);
}

TEST(a_dead_target_leaves_what_was_measured)
{
	struct trace *trace = run_of(3, 0);
	struct profile profile;

	trace->windows[8].state = TRACE_RUNNING;
	analysed(trace, &profile);
	assert_int_equal(profile.blocks, 2);
	assert_true(analyse_complete(&profile));
	profile_free(&profile);
	/* Not one block is whole, but each kind was measured: values, no bounds. */
	trace->window_count = 5;
	for (unsigned i = 0; i < 5; i++)
		trace->windows[i].state = TRACE_RUNNING;
	trace->windows[0].state = trace->windows[1].state = TRACE_DONE;
	trace->windows[3].state = TRACE_DONE;
	analysed(trace, &profile);
	assert_int_equal(profile.blocks, 0);
	assert_true(analyse_complete(&profile));
	close_to(profile.stalls[STAGE_FETCH].value, .25, 1e-9);
	assert_true(isnan(profile.stalls[STAGE_FETCH].low));
	profile_free(&profile);
	session_free(trace);
}

TEST(a_damaged_session_is_read_within_its_bounds)
{
	struct trace *trace = run_of(3, 0);
	struct random random = {5};
	struct profile profile;

	for (int i = 0; i < TRIALS_OF(200); i++) {
		unsigned char *bytes = (unsigned char *)trace->windows;

		for (int j = 0; j < 40; j++)
			bytes[random_below(&random, 10 * sizeof(trace->windows[0]))] =
				(unsigned char)random_next(&random);
		trace->window_count = i % 2 == 0 ? UINT32_MAX : 9;
		trace->step_count = i % 3 == 0 ? UINT32_MAX : 180;
		trace->sample_count = UINT32_MAX;
		memset(trace->loader.dataset, 'x', sizeof(trace->loader.dataset));
		analysed(trace, &profile);
		profile_free(&profile);
	}
	session_free(trace);
}

TEST(about_comes_back)
{
	struct trace *trace = run_of(1, 0);
	struct profile out, in;
	struct profile_fact *fact;
	char *command[] = {(char[]){"./train"}, (char[]){"--x=\"1\""},
			   (char[]){"na\xefve.ini"}, NULL};

	profile_init(&out);
	out.protocol.id = MEASURE_INTERLEAVED;
	profile_text(&out.loader, "dataset=a%%2Cb,workers=2");
	profile_text(&out.directory, "/home/someone");
	out.command = command;
	out.precision = .01;
	out.cores = 2;
	fact = profile_add_fact(&out);
	profile_text(&fact->key, "cpu");
	profile_text(&fact->value, "fast");
	assert_int_equal(run_metadata_write(&out, trace->about, TRACE_ABOUT), 0);
	out.command = NULL;
	analysed(trace, &in);
	assert_int_equal(in.protocol.id, MEASURE_INTERLEAVED);
	assert_string_equal(in.loader, "dataset=a%2Cb,workers=2");
	assert_string_equal(in.directory, "/home/someone");
	assert_string_equal(in.command[1], "--x=\"1\"");
	assert_string_equal(in.command[2], "na" PROFILE_LOST "ve.ini");
	assert_null(in.command[3]);
	assert_false(profile_can_repeat(&in));
	close_to(in.precision, .01, 0);
	assert_true(isnan(in.budget_s));
	assert_int_equal(in.cores, 2);
	assert_string_equal(in.environment[0].value, "fast");
	profile_free(&in);
	/* Too long for the room: the environment goes first, loader last. */
	assert_int_equal(run_metadata_write(&out, trace->about, 130), 0);
	assert_null(strstr(trace->about, "fast"));
	assert_non_null(strstr(trace->about, "workers=2"));
	assert_int_equal(run_metadata_write(&out, trace->about, 96), 0);
	assert_null(strstr(trace->about, "workers=2"));
	assert_non_null(strstr(trace->about, "someone"));
	assert_int_equal(run_metadata_write(&out, trace->about, 8), -ENOMEM);
	profile_free(&out);
	session_free(trace);
}

TEST(a_broken_about_is_told)
{
	struct trace *trace = run_of(1, 0);
	const struct trace *sessions[] = {trace};
	struct error err = {0};
	struct profile profile;

	memcpy(trace->about, "{\"version\"", 11);
	profile_init(&profile);
	assert_int_equal(analyse(sessions, 1, &profile, &err), -EBADMSG);
	profile_free(&profile);
	session_free(trace);
}

TEST(running_out_of_memory_is_told)
{
	struct trace *trace = run_of(2, 0);
	const struct trace *sessions[] = {trace};
	int result = -1, failures = 0;

	for (unsigned nth = 1; nth < 40; nth++) {
		struct error err = {0};
		struct profile profile;

		profile_init(&profile);
		nomem_at(nth);
		result = analyse(sessions, 1, &profile, &err);
		nomem_at(0);
		failures += result < 0;
		if (result < 0)
			assert_true(err.code == ENOMEM && err.message[0] != '\0');
		profile_free(&profile);
	}
	assert_int_equal(result, 0);
	assert_true(failures >= 2);
	session_free(trace);
}
