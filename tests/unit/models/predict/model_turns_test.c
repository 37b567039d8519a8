/* model_turns_test.c - predictions of made-up runs of a loader whose workers make whole
 * batches, as torch's does. */
#include "loader/base/error.h"
#include "models/predict/model.h"
#include "tests/lib/close_to.h"
#include "tests/lib/known_run.h"
#include "tests/lib/test.h"
#include "tests/lib/torch_run.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

TEST(predicts_other_numbers_of_workers)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	torch_run_expect(&torch_run_sleeper, &change, 200);
	change.workers = 1;
	torch_run_expect(&torch_run_sleeper, &change, 100);
	change.workers = 3;
	torch_run_expect(&torch_run_sleeper, &change, 300);
	change.workers = 8; /* more than there are cores */
	torch_run_expect(&torch_run_sleeper, &change, 300);
	change.gpu_speed = 4;
	torch_run_expect(&torch_run_sleeper, &change, 800);
}

/* The program says how many workers it has, on however many cores. */
TEST(workers_do_not_follow_the_cores)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	change.cores = 1;
	torch_run_expect(&torch_run_sleeper, &change, 200);
}

TEST(predicts_storage_for_workers)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	change.storage_latency_s = 18 * MS;
	torch_run_expect(&torch_run_sleeper, &change, 100);
	change.storage_latency_s = 2 * MS;
	torch_run_expect(&torch_run_sleeper, &change, 300);
	change = PROFILE_NO_CHANGE;
	change.storage_bandwidth = 10e6; /* of them all together */
	torch_run_expect(&torch_run_sleeper, &change, 100);
}

TEST(predicts_cores_for_workers)
{
	const struct torch_run worker = {
		.workers = 2, .cpu_s = 5 * MS, .latency_s = .01 * MS};
	struct profile_change change = PROFILE_NO_CHANGE;

	torch_run_expect(&worker, &change, 300);
	change.cores = 1; /* and still two workers */
	torch_run_expect(&worker, &change, 200);
	change.workers = 4;
	torch_run_expect(&worker, &change, 200);
	change.cores = 2;
	change.gpu_speed = 2;
	torch_run_expect(&worker, &change, 400);
}

/* Half of a step is kernels: the other half, launches and copies, stays. */
TEST(only_kernels_get_faster)
{
	struct torch_run run = torch_run_sleeper;
	struct profile_change change = PROFILE_NO_CHANGE;

	run.kernels = .5;
	change.workers = 8;
	change.gpu_speed = 2;
	torch_run_expect(&run, &change, TORCH_RUN_RATE / .75);
	change.gpu_speed = 1000;
	torch_run_expect(&run, &change, TORCH_RUN_RATE / .5);
}

TEST(the_hand_over_takes_the_trainers_time)
{
	struct torch_run run = torch_run_sleeper;
	struct profile_change change = PROFILE_NO_CHANGE;
	const double step_s = 1. / TORCH_RUN_RATE + 10 * MS / TORCH_RUN_BATCH;

	run.handover_s = 10 * MS;
	change.workers = 8;
	torch_run_expect(&run, &change, 1 / step_s);
	change.gpu_speed = 2;
	torch_run_expect(&run, &change, 1 / (step_s - .5 / TORCH_RUN_RATE));
}

/* Beside its workers, on one core. */
TEST(the_hand_over_is_work)
{
	const struct torch_run run = {.workers = 1,
				      .cpu_s = 5 * MS,
				      .latency_s = .01 * MS,
				      .handover_s = 20 * MS,
				      .alone = true};
	struct profile_change change = PROFILE_NO_CHANGE;

	change.workers = 2;
	torch_run_expect(
		&run, &change,
		1 / (1. / TORCH_RUN_RATE + 20 * MS / TORCH_RUN_BATCH + 5 * MS));
}

/* Their CPU time differs by a third, as small ones do: their sleep is as long. */
TEST(workers_that_sleep_are_known_by_how_long_they_take)
{
	const struct torch_run run = {.workers = 2,
				      .cpu_s = .5 * MS,
				      .sleep_s = 9.5 * MS,
				      .latency_s = .01 * MS};
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile profile;

	torch_run_make(&profile, &run);
	for (size_t i = 0; i < profile.window_count; i++)
		if (profile.windows[i].workers == 1)
			profile.windows[i].prep_cpu_s *= 4. / 3;
	assert_true(fabs(known_run_predict(&profile, &change)->per_s.value / 200 - 1) <
		    .02);
	change.workers = 1;
	assert_true(fabs(known_run_predict(&profile, &change)->per_s.value / 100 - 1) <
		    .02);
	profile_free(&profile);
}

TEST(predicts_without_windows_of_prep_alone)
{
	struct torch_run run = torch_run_sleeper;
	struct profile_change change = PROFILE_NO_CHANGE;

	run.unmeasured = true;
	change.workers = 1;
	torch_run_expect(&run, &change, 100);
	change.workers = 3;
	torch_run_expect(&run, &change, 300);
	run.cpu_s = 9 * MS;
	run.sleep_s = 0;
	run.latency_s = .01 * MS;
	change = PROFILE_NO_CHANGE;
	change.cores = 1;
	torch_run_expect(&run, &change, 1 / (9 * MS));
}

TEST(workers_that_wait_for_a_core_do_not_sleep)
{
	const struct torch_run run = {.workers = 2,
				      .cpu_s = 5 * MS,
				      .latency_s = .01 * MS,
				      .unmeasured = true,
				      .alone = true};
	struct profile_change change = PROFILE_NO_CHANGE;

	change.workers = 3;
	torch_run_expect(&run, &change, 1 / (1. / TORCH_RUN_RATE + 5 * MS));
}

/* From the same of all reads together to the same for each. */
TEST(gives_bounds_of_storage_that_was_seen_by_its_workers_alone)
{
	const struct torch_run run = {.workers = 2,
				      .cpu_s = .05 * MS,
				      .sleep_s = 1.95 * MS,
				      .native_s = 18 * MS};
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile_prediction *prediction;
	struct profile profile;

	torch_run_expect(&run, &change, 100);
	change.workers = 4;
	torch_run_make(&profile, &run);
	prediction = known_run_predict(&profile, &change);
	assert_true(isnan(prediction->per_s.value));
	assert_true(fabs(prediction->per_s.low / (2 / (18 * MS)) - 1) < .06);
	assert_true(fabs(prediction->per_s.high / 200 - 1) < .06);
	assert_non_null(strstr(prediction->why, "numbers of workers"));
	profile_free(&profile);
}

/* What a batch takes beyond the padding of its samples counts. */
TEST(a_padding_is_as_late_as_its_timers)
{
	static const struct {
		double made_s, truth;
	} cases[] = {{8.4 * MS, 1 / (8.4 * MS)}, {8 * MS, 1 / (8 * MS)}};
	struct profile_change change = PROFILE_NO_CHANGE;

	change.workers = 1;
	for (int i = 0; i < 2; i++) {
		const struct torch_run run = {.workers = 2,
					      .cpu_s = .05 * MS,
					      .sleep_s = cases[i].made_s - .05 * MS};
		struct profile profile;

		torch_run_make(&profile, &run);
		profile.draws[0].fetch_s = 0;
		profile.prep_delay_s = 8 * MS;
		assert_true(fabs(known_run_predict(&profile, &change)->per_s.value /
					 cases[i].truth -
				 1) < .005);
		profile_free(&profile);
	}
}

/* Of the kernel, whose hits need no storage. */
TEST(a_cache_is_the_kernels)
{
	const struct torch_run run = {.workers = 2,
				      .cpu_s = .05 * MS,
				      .sleep_s = 1.95 * MS,
				      .native_s = 18 * MS};
	struct profile_change change = PROFILE_NO_CHANGE;

	change.cache_share = 1;
	torch_run_expect(&run, &change, 300);
	change.cache_share = .5; /* .213 of the reads are hits */
	torch_run_expect(&run, &change, 2 / (2 * MS + (1 - .213) * 18 * MS));
}

/* Whether it works or sleeps; what is handed over is no work of the workers. */
TEST(predicts_prep_without_a_part_of_it)
{
	struct torch_run run = {.workers = 2, .cpu_s = 8 * MS, .latency_s = 2 * MS};
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile_prediction *prediction;
	struct profile profile;

	for (int i = 0; i < 2; i++) {
		torch_run_make(&profile, &run);
		torch_run_add_part(&profile, "Crop", .003);
		torch_run_add_part(&profile, "decode", .001);
		torch_run_add_part(&profile, PROFILE_HANDOVER, .005);
		change.without = profile.parts[0].name;
		prediction = known_run_predict(&profile, &change);
		assert_true(fabs(prediction->per_s.value / TORCH_RUN_RATE - 1) < .02);
		assert_non_null(strstr(prediction->why, "not tried"));
		change.gpu_speed = 10;
		prediction = known_run_predict(&profile, &change);
		assert_true(fabs(prediction->per_s.value / (2 / (4 * MS)) - 1) < .02);
		assert_true(prediction->per_s.high / prediction->per_s.low > 1.05);
		profile_free(&profile);
		change.gpu_speed = NAN;
		run.sleep_s = run.cpu_s - .05 * MS;
		run.cpu_s = .05 * MS;
	}
}

static void refuse(struct profile *profile, const struct profile_change *change,
		   const char *words)
{
	struct error err = {0};
	struct profile_prediction *prediction = profile_add_prediction(profile);
	struct model *model = model_new(profile, &err);

	if (model != NULL)
		assert_int_equal(model_predict(model, change, prediction, &err),
				 -ENODATA);
	assert_non_null(strstr(err.message, words));
	model_free(model);
}

/* What is not in the kernel's cache any more comes from a storage that nobody saw. */
TEST(a_run_from_memory_knows_no_storage)
{
	const struct torch_run run = {
		.workers = 2, .cpu_s = .05 * MS, .sleep_s = 9.95 * MS};
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile profile;

	torch_run_make(&profile, &run);
	profile.draws[0].fetch_s = 0;
	change.cache_share = .5;
	refuse(&profile, &change, "all its files in memory");
	change = PROFILE_NO_CHANGE;
	change.workers = 3;
	assert_true(fabs(known_run_predict(&profile, &change)->per_s.value / 300 - 1) <
		    .02);
	profile_free(&profile);
}

/* Real windows show what its samples take, each of which 2 ms and 3 ms of storage; nobody
 * knows how many there are. */
TEST(predicts_a_stream)
{
	const struct torch_run run = {.workers = 2,
				      .cpu_s = .05 * MS,
				      .sleep_s = 1.95 * MS,
				      .native_s = 3 * MS,
				      .unmeasured = true};
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile_prediction *prediction;
	struct profile profile;

	torch_run_make(&profile, &run);
	profile.split.id = SPLIT_REPLAY;
	profile.dataset_samples = profile.dataset_bytes = UNKNOWN;
	profile.hit_ratio = profile.rates[TRACE_CACHED] = INTERVAL_UNKNOWN;
	profile.cache_emulated = false;
	profile.rates[TRACE_SYNTHETIC] = known_about(1000);
	profile.rates[TRACE_REAL] = known_about(400);
	profile.emulated_per_s = NAN;
	for (size_t i = 0; i < profile.window_count; i++)
		if (profile.windows[i].kind.id == TRACE_CACHED)
			profile.windows[i].kind.id = TRACE_REAL;
	prediction = known_run_predict(&profile, &change);
	close_to(prediction->per_s.value, 400, 8);
	close_to(prediction->stalls[STAGE_COMPUTE].value, .4, .01);
	close_to(prediction->stalls[STAGE_FETCH].value, .6, .01);
	change.workers = 4;
	prediction = known_run_predict(&profile, &change);
	assert_true(prediction->per_s.low < 700); /* reads may get no faster */
	close_to(prediction->per_s.high, 800, 30);
	change = PROFILE_NO_CHANGE;
	change.storage_latency_s = 5 * MS; /* in place of those 3 */
	close_to(known_run_predict(&profile, &change)->per_s.value, 2000. / 7, 4);
	change = PROFILE_NO_CHANGE;
	change.cache_share = .5;
	refuse(&profile, &change, "as a stream");
	change = PROFILE_NO_CHANGE;
	change.bucket_latency_s = 5 * MS;
	refuse(&profile, &change, "as a stream");
	profile_free(&profile);
}

/* Jobs that read from memory do not wait for each other's reads, whatever their order. */
TEST(jobs_that_read_from_memory_have_no_fetch_stall)
{
	const struct torch_run run = {
		.workers = 1, .cpu_s = 5 * MS, .sleep_s = 5 * MS, .handover_s = 5 * MS};
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile_prediction *prediction;
	struct profile profile;

	torch_run_make(&profile, &run);
	profile.draws[0] = (struct profile_draw){100000, 0, 8 * MS};
	*profile_add_draw(&profile) = (struct profile_draw){100000, 0, 12 * MS};
	change.jobs = 3;
	prediction = known_run_predict(&profile, &change);
	assert_true(fabs(prediction->stalls[STAGE_FETCH].value) < .005);
	profile_free(&profile);
}

/* Tensors in memory: no file is read, whatever storage is emulated. */
TEST(predicts_a_run_that_reads_no_file)
{
	const struct torch_run run = {
		.workers = 2, .cpu_s = .05 * MS, .sleep_s = 9.95 * MS};
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile_prediction *prediction;
	struct profile profile;

	torch_run_make(&profile, &run);
	profile.split.id = SPLIT_MEMORY;
	profile.dataset_bytes = 0;
	profile.cache_emulated = true;
	profile.hit_ratio = INTERVAL_UNKNOWN;
	profile.storage_latency_s = 8 * MS;
	profile.draws[0] = (struct profile_draw){0, 0, 9 * MS};
	*profile_add_draw(&profile) = (struct profile_draw){0, 0, 11 * MS};
	assert_true(fabs(known_run_predict(&profile, &change)->per_s.value / 200 - 1) <
		    .02);
	change.workers = 3;
	assert_true(fabs(known_run_predict(&profile, &change)->per_s.value / 300 - 1) <
		    .02);
	change = PROFILE_NO_CHANGE;
	change.jobs = 2;
	prediction = known_run_predict(&profile, &change);
	assert_true(fabs(prediction->per_s.value / 400 - 1) < .01);
	assert_null(strstr(prediction->why, "kernel's cache"));
	change = PROFILE_NO_CHANGE;
	change.storage_bandwidth = 1e6;
	refuse(&profile, &change, "no file is read");
	change = PROFILE_NO_CHANGE;
	change.cache_share = 1;
	refuse(&profile, &change, "no file is read");
	profile_free(&profile);
}

/* Of a mapped file, whose pages are in memory: real windows show what prep takes. */
TEST(predicts_a_run_whose_mapped_files_are_in_memory)
{
	const struct torch_run run = {.workers = 2,
				      .cpu_s = .05 * MS,
				      .sleep_s = 9.95 * MS,
				      .unmeasured = true};
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile profile;

	torch_run_make(&profile, &run);
	profile.split.id = SPLIT_STORAGE;
	profile.dataset_bytes = 0;
	profile.hit_ratio = profile.rates[TRACE_CACHED] = INTERVAL_UNKNOWN;
	profile.draw_count = 0;
	for (size_t i = 0; i < profile.window_count; i++)
		if (profile.windows[i].kind.id == TRACE_CACHED)
			profile.windows[i].kind.id = TRACE_REAL;
	change.workers = 1;
	assert_true(fabs(known_run_predict(&profile, &change)->per_s.value / 100 - 1) <
		    .02);
	change.workers = 3;
	assert_true(fabs(known_run_predict(&profile, &change)->per_s.value / 300 - 1) <
		    .02);
	change.workers = 0;
	change.jobs = 2;
	assert_null(strstr(known_run_predict(&profile, &change)->why, "storage"));
	change = PROFILE_NO_CHANGE;
	change.storage_latency_s = 1 * MS;
	refuse(&profile, &change, "all its files in memory");
	profile_free(&profile);
}

/* Prep that is all work, on both cores; of each read libdsa waits for 16 at once. */
TEST(predicts_libdsa_in_their_place)
{
	static const struct torch_run worker = {
		.workers = 2, .cpu_s = 16 * MS, .latency_s = 8 * MS};
	static const double own_s[] = {10 * MS, 1 * MS},
			    truth[] = {200, TORCH_RUN_RATE};
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile_prediction *prediction;
	struct profile profile;

	change.libdsa = true;
	for (int i = 0; i < 2; i++) {
		torch_run_make(&profile, &worker);
		profile.own_recipe.cpu_s = known_about(own_s[i]);
		prediction = known_run_predict(&profile, &change);
		assert_true(fabs(prediction->per_s.value / truth[i] - 1) <= .02);
		assert_true(prediction->per_s.low < truth[i] &&
			    truth[i] < prediction->per_s.high);
		assert_true(prediction->speedup.value ==
			    prediction->per_s.value / profile.rates[TRACE_REAL].value);
		assert_non_null(strstr(prediction->why, "ms of CPU a sample instead"));
		profile_free(&profile);
	}
}

TEST(libdsa_is_not_predicted_unmeasured)
{
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile_prediction prediction = {.rank = UNKNOWN};
	struct error err = {0};
	struct profile profile;
	struct model *model;

	change.libdsa = true;
	torch_run_make(&profile, &torch_run_sleeper);
	model = model_new(&profile, &err);
	assert_non_null(model);
	assert_int_equal(model_predict(model, &change, &prediction, &err), -ENODATA);
	assert_non_null(strstr(err.message, "libdsa's prep"));
	profile_prediction_free(&prediction);
	model_free(model);
	profile_free(&profile);
}

TEST(what_such_a_loader_cannot_do_is_refused)
{
	struct profile_change change = PROFILE_NO_CHANGE;
	struct torch_run run = torch_run_sleeper;
	struct profile profile;

	torch_run_make(&profile, &run);
	change.cache_policy.id = CACHE_MINIO;
	change.cache_share = .5;
	refuse(&profile, &change, "own loader");
	change = PROFILE_NO_CHANGE;
	change.jobs = 2;
	change.share = true;
	refuse(&profile, &change, "can't be shared");
	profile.loader_kind.id = LOADER_WATCH;
	refuse(&profile, &change, "no model of this program's loader");
	profile_free(&profile);

	run.real = 180; /* the rules do not tell what it did */
	torch_run_make(&profile, &run);
	change = PROFILE_NO_CHANGE;
	change.workers = 4;
	refuse(&profile, &change, "11.1% off (");
	profile_free(&profile);
}
