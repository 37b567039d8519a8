#include "models/compare/amount_text.h"
#include "models/compare/causes.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

static struct profile base, now;
static struct causes causes;

static void count(struct profile *profile)
{
	profile->counted = (struct profile_counted){
		.samples = 1000,
		.opens = 1000,
		.reads = 1000,
		.read_bytes = 1000 * 128 * 1024,
		.hits = 0,
		.decoded_pixels = 1000 * 50176,
		.skipped = 0,
	};
}

static void fill(struct profile *profile)
{
	profile_init(profile);
	profile->dataset = strdup("/data/shards/");
	profile->digest = strdup("xxh3:1");
	profile_word_set(&profile->engine, profile_engines, "uring");
	profile->dataset_samples = 1000;
	profile->dataset_bytes = 1000 * 128 * 1024;
	profile->workers = 4;
	profile->batch = 64;
	profile->stalls[STAGE_COMPUTE] = (struct interval){.60, .595, .605};
	profile->stalls[STAGE_PREP] = (struct interval){.20, .195, .205};
	profile->stalls[STAGE_FETCH] = (struct interval){.20, .195, .205};
	profile->rates[TRACE_SYNTHETIC] = (struct interval){1000, 995, 1005};
	profile->rates[TRACE_REAL] = (struct interval){600, 597, 603};
	count(profile);
}

static int setup(void **state)
{
	(void)state;
	fill(&base);
	fill(&now);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	profile_free(&base);
	profile_free(&now);
	return 0;
}

/* A stage of `now` takes `ms` more of each sample. */
static void slow(double fetch_ms, double prep_ms, double compute_ms)
{
	double compute = .6 / 600 + compute_ms / 1000, prep = .2 / 600 + prep_ms / 1000,
	       fetch = .2 / 600 + fetch_ms / 1000, step = compute + prep + fetch;

	now.stalls[STAGE_COMPUTE] = (struct interval){
		compute / step, compute / step - .005, compute / step + .005};
	now.stalls[STAGE_PREP] =
		(struct interval){prep / step, prep / step - .005, prep / step + .005};
	now.stalls[STAGE_FETCH] = (struct interval){fetch / step, fetch / step - .005,
						    fetch / step + .005};
	now.rates[TRACE_SYNTHETIC] =
		(struct interval){1 / compute, .995 / compute, 1.005 / compute};
	now.rates[TRACE_REAL] = (struct interval){1 / step, .995 / step, 1.005 / step};
}

static void without_time(struct profile *profile)
{
	profile->stalls[STAGE_COMPUTE] = profile->stalls[STAGE_PREP] =
		profile->stalls[STAGE_FETCH] = INTERVAL_UNKNOWN;
	profile->rates[TRACE_SYNTHETIC] = profile->rates[TRACE_REAL] = INTERVAL_UNKNOWN;
}

static void are(unsigned count, const char *const *texts)
{
	causes_find(&base, &now, &causes);
	for (unsigned i = 0; i < count && i < causes.count; i++)
		assert_string_equal(causes.text[i], texts[i]);
	assert_int_equal(causes.count, count);
}

#define ARE(...)                                                                       \
	are(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),               \
	    (const char *const[]){__VA_ARGS__})

TEST_WITH(nothing_changed_and_nothing_is_said, setup, teardown)
{
	are(0, NULL);
	profile_word_set(&now.engine, profile_engines,
			 "pread"); /* the one change there is */
	ARE("fetch engine changed from uring to pread");
}

/* Such runs say nothing of how far apart two that are alike would be. */
TEST_WITH(of_observed_runs_it_is_told_that_no_interval_is_known, setup, teardown)
{
	slow(.5, 0, 0);
	for (int i = 0; i < 2; i++) {
		struct profile *one = i == 0 ? &base : &now;

		profile_word_set(&one->protocol, profile_protocols, "observe");
		for (int stage = 0; stage < STAGES; stage++)
			one->stalls[stage].low = one->stalls[stage].high = NAN;
		one->rates[TRACE_REAL].low = one->rates[TRACE_REAL].high = NAN;
		one->rates[TRACE_SYNTHETIC] = INTERVAL_UNKNOWN;
	}
	causes_find(&base, &now, &causes);
	assert_non_null(strstr(causes.text[0], "points (no interval is known): "));
	assert_non_null(
		strstr(causes.text[causes.count - 1], "%, no interval is known): "));
}

/* It was tried out each time, and both are about as fast. */
TEST_WITH(an_engine_that_was_chosen_is_no_cause, setup, teardown)
{
	profile_text(&base.engine_reason, "uring: 655 MB/s against pread 621");
	profile_word_set(&now.engine, profile_engines, "pread");
	profile_text(&now.engine_reason, "pread: 640 MB/s against uring 633");
	are(0, NULL);
	slow(1, 0, 0);
	causes_find(&base, &now, &causes);
	assert_non_null(strstr(causes.text[0], "fetch engine changed from uring to "
					       "pread (640 MB/s against"));
}

/* A baseline does not say why; what was asked does. */
TEST_WITH(an_engine_that_nobody_asked_a_baseline_for_is_no_cause, setup, teardown)
{
	profile_text(&base.loader, "workers=2,prefetch=3");
	profile_word_set(&now.engine, profile_engines, "pread");
	profile_text(&now.engine_reason, "pread: 640 MB/s against uring 633");
	are(0, NULL);
	profile_text(&base.loader, "fetch=uring,fetch=auto,prefetch=3");
	are(0, NULL);
	profile_text(&base.loader, "fetch=auto,workers=2,fetch=uring");
	ARE("fetch engine changed from uring to pread (640 MB/s against uring 633)");
}

/* As many as requests took, each time. */
TEST_WITH(reads_in_flight_that_were_found_are_no_cause, setup, teardown)
{
	base.fetch_depth = 16;
	now.fetch_depth = 24;
	ARE("reads in flight grew from 16 to 24");
	base.fetch_depth_auto = now.fetch_depth_auto = true;
	are(0, NULL);
}

TEST_WITH(small_reads_explain_a_fetch_stall, setup, teardown)
{
	now.counted.reads = 32000;
	slow(1, 0, 0);
	profile_word_set(&now.engine, profile_engines, "pread");
	profile_text(&now.engine_reason, "pread: as asked");
	now.workers = 2; /* does not touch fetch */
	ARE("fetch stall +30.0 points: mean read fell from 128 KiB to 4 KiB in "
	    "shards/; fetch engine changed from uring to pread (as asked)",
	    "prep stall -7.5 points: 333 us a sample after 333 us, of a longer step",
	    "600 -> 375 samples/s (-37.5%): 1 ms a sample longer, all of it in the "
	    "fetch stall");
}

TEST_WITH(counts_alone_are_told_with_what_they_come_to, setup, teardown)
{
	without_time(&base);
	without_time(&now);
	now.counted.reads = 32000;
	now.counted.opens = 2000;
	now.counted.decoded_pixels *= 4;
	ARE("mean read fell from 128 KiB to 4 KiB in shards/: 32 times as many reads",
	    "decoded pixels per sample grew from 50176 to 200704",
	    "files opened or GETs per sample grew from 1 to 2");
}

TEST_WITH(files_opened_again_are_no_smaller_reads, setup, teardown)
{
	without_time(&now);
	now.counted.opens++;
	now.counted.reads++;
	ARE("files opened or GETs per sample grew from 1 to 1.001");
	assert_true(causes.slows[0]);
	now.counted.reads = 4000;
	ARE("mean read fell from 128 KiB to 32 KiB in shards/: 4 times as many reads",
	    "files opened or GETs per sample grew from 1 to 1.001");
}

TEST_WITH(more_bytes_are_no_smaller_reads, setup, teardown)
{
	without_time(&now);
	now.counted.reads = 4000;
	now.counted.read_bytes *= 2;
	ARE("reads per sample grew from 1 to 4",
	    "bytes read per sample grew from 128 KiB to 256 KiB");
}

TEST_WITH(a_change_for_the_better_is_no_cause_of_a_stall, setup, teardown)
{
	slow(0, 1, 0);
	now.workers = 8;
	now.fetch_depth = 1; /* of fetch */
	causes_find(&base, &now, &causes);
	assert_string_equal(causes.text[0], "prep stall +30.0 points: nothing that was "
					    "counted explains it");
	now.workers = 2;
	causes_find(&base, &now, &causes);
	assert_string_equal(causes.text[0],
			    "prep stall +30.0 points: workers fell from 4 to 2");
}

static void has_fact(struct profile *profile, const char *key, const char *value)
{
	struct profile_fact *fact = profile_add_fact(profile);

	profile_text(&fact->key, "%s", key);
	profile_text(&fact->value, "%s", value);
}

TEST_WITH(the_kernel_is_named_where_nothing_else_is, setup, teardown)
{
	has_fact(&base, "kernel", "Linux 6.1");
	has_fact(&now, "kernel", "Linux 6.2");
	are(0, NULL);
	slow(0, 1, 0);
	causes_find(&base, &now, &causes);
	assert_string_equal(causes.text[0], "prep stall +30.0 points: kernel changed "
					    "from Linux 6.1 to Linux 6.2");
	now.prep_delay_s = .008;
	causes_find(&base, &now, &causes);
	assert_string_equal(causes.text[0],
			    "prep stall +30.0 points: emulated delay of "
			    "prep grew from none to 8 ms");
}

TEST_WITH(another_gpu_explains_a_slower_step_and_no_prep, setup, teardown)
{
	has_fact(&base, "gpu", "Large");
	has_fact(&base, "gpu_count", "2");
	has_fact(&now, "gpu", "Small");
	has_fact(&now, "gpu_count", "1");
	slow(-.3, -.1, .6);
	causes_find(&base, &now, &causes);
	assert_string_equal(
		causes.text[0],
		"the training step itself got slower: 1000 -> 625 samples/s "
		"without any loading: GPU changed from Large to Small; "
		"number of GPUs changed from 2 to 1");
	slow(0, 1, 0);
	causes_find(&base, &now, &causes);
	assert_null(strstr(causes.text[0], "GPU"));
}

TEST_WITH(the_driver_of_a_gpu_is_named_where_nothing_else_is, setup, teardown)
{
	has_fact(&base, "gpu_driver", "580.1");
	has_fact(&now, "gpu_driver", "570.2");
	slow(-.3, -.1, .6);
	causes_find(&base, &now, &causes);
	assert_non_null(strstr(causes.text[0], "any loading: driver of the GPU changed "
					       "from 580.1 to 570.2"));
}

TEST_WITH(a_machine_without_a_gpu_is_another_one, setup, teardown)
{
	has_fact(&base, "cpu", "the same");
	has_fact(&now, "cpu", "the same");
	has_fact(&base, "gpu", "Large");
	has_fact(&base, "gpu_count", "2");
	slow(-.3, -.1, .6);
	causes_find(&base, &now, &causes);
	assert_non_null(strstr(causes.text[0], "GPU changed from Large to none"));
	assert_null(strstr(causes.text[0], "number of GPUs"));
}

TEST_WITH(a_slower_step_hides_loading, setup, teardown)
{
	slow(-.3, -.1, .6);
	ARE("the training step itself got slower: 1000 -> 625 samples/s without any "
	    "loading; nothing that was counted explains it",
	    "fetch stall -18.2 points: slower compute hides more of it",
	    "prep stall -7.5 points: slower compute hides more of it",
	    "600 -> 536 samples/s (-10.7%): 200 us a sample longer, all of it in the "
	    "step itself");
}

TEST_WITH(the_program_s_own_reads_slow_its_step, setup, teardown)
{
	base.program_reads_per_sample = base.program_bytes_per_sample = 0;
	now.program_reads_per_sample = 2;
	now.program_bytes_per_sample = 8192;
	slow(0, 0, 1);
	causes_find(&base, &now, &causes);
	assert_string_equal(
		causes.text[0],
		"the training step itself got slower: 1000 -> 500 samples/s "
		"without any loading: the program's own reads per sample grew from "
		"none to 2");
	base.program_reads_per_sample = 2;
	base.program_bytes_per_sample = 4096;
	causes_find(&base, &now, &causes);
	assert_non_null(strstr(causes.text[0], "the program's own bytes read per "
					       "sample grew from 4 KiB to 8 KiB"));
}

TEST_WITH(a_small_effect_explains_no_large_one, setup, teardown)
{
	slow(-.3, 0, .02);
	causes_find(&base, &now, &causes);
	assert_string_equal(causes.text[0], "fetch stall -17.6 points: nothing that "
					    "was counted explains it");
	slow(-.3, .4, 0);
	causes_find(&base, &now, &causes);
	assert_string_equal(causes.text[1], "fetch stall -18.1 points: slower prep "
					    "hides more of it");
}

TEST_WITH(settings_come_before_what_came_of_them, setup, teardown)
{
	base.counted.samples = now.counted.samples = UNKNOWN;
	base.counted.read_bytes = now.counted.read_bytes = UNKNOWN;
	base.hit_ratio = (struct interval){.5, .49, .51};
	now.hit_ratio = (struct interval){.1, .09, .11};
	base.cache_capacity_bytes = 1000000;
	now.cache_capacity_bytes = 500000;
	slow(1, 0, 0);
	causes_find(&base, &now, &causes);
	assert_string_equal(causes.text[0],
			    "fetch stall +30.0 points: capacity of the cache fell from "
			    "1 MB to 500 KB; hit ratio of the cache fell from 50% to "
			    "10%");
}

TEST_WITH(what_is_within_the_interval_of_both_is_not_told, setup, teardown)
{
	now.stalls[STAGE_FETCH] = (struct interval){.209, .204, .214};
	are(0, NULL);
	now.stalls[STAGE_FETCH] = (struct interval){.211, .206, .216};
	causes_find(&base, &now, &causes);
	assert_int_equal(causes.count, 1);
	/* Without intervals half a point. */
	base.stalls[STAGE_FETCH] = (struct interval){.2, NAN, NAN};
	now.stalls[STAGE_FETCH] = (struct interval){.2049, NAN, NAN};
	are(0, NULL);
	now.stalls[STAGE_FETCH].value = .206;
	causes_find(&base, &now, &causes);
	assert_int_equal(causes.count, 1);
}

TEST_WITH(other_data_is_told_by_the_size_of_its_samples, setup, teardown)
{
	without_time(&now);
	profile_text(&now.dataset, "/data/more");
	profile_text(&now.digest, "xxh3:2");
	now.dataset_bytes *= 2;
	ARE("mean size of a sample grew from 128 KiB to 256 KiB",
	    "the data in more/ is other data than that in shards/");
}

/* Another loader's samples are taken to be as large as those that were read. */
TEST_WITH(an_estimated_size_is_no_cause, setup, teardown)
{
	base.loader_kind.id = now.loader_kind.id = LOADER_TORCH;
	now.dataset_bytes += now.dataset_bytes / 5;
	are(0, NULL);
	now.dataset_bytes *= 2;
	ARE("mean size of a sample grew from 131 KB to 315 KB");
}

TEST_WITH(counts_of_other_samples_are_no_cause, setup, teardown)
{
	now.counted.decoded_pixels += 1000 * 5000;
	ARE("decoded pixels per sample grew from 50176 to 55176");
	now.seed = 1;
	base.seed = 0;
	are(0, NULL);
	now.counted.reads = 32000; /* no other seed makes that */
	ARE("mean read fell from 128 KiB to 4 KiB in shards/: 32 times as many reads");
}

/* Where nothing better explains it. */
TEST_WITH(other_programs_explain, setup, teardown)
{
	base.busy.others_cpu_share = .01;
	now.busy.others_cpu_share = .05;
	slow(0, 0, .5);
	causes_find(&base, &now, &causes);
	assert_non_null(strstr(causes.text[0], "nothing that was counted explains it"));
	now.busy.others_cpu_share = .9;
	causes_find(&base, &now, &causes);
	assert_non_null(strstr(causes.text[0], ": CPU time of other programs grew from "
					       "1% to 90%"));
	now.cores = 1;
	base.cores = 2;
	causes_find(&base, &now, &causes);
	assert_null(strstr(causes.text[0], "other programs"));
}

/* A part tells where, and what may be why stands beside it; alone it is no cause. */
TEST_WITH(the_transform_that_takes_longer_is_named, setup, teardown)
{
	struct profile_part was[] = {{(char[]){"ToTensor"}, 32, .001, .5},
				     {(char[]){"RandomCrop"}, 32, .001, .5}};
	struct profile_part is[] = {{(char[]){"GaussianBlur"}, 32, .006, .6},
				    {(char[]){"ToTensor"}, 32, .003, .3},
				    {(char[]){"RandomCrop"}, 32, .002, .2}};
	struct causes back;

	base.parts = was;
	base.part_count = 2;
	now.parts = is;
	now.part_count = 3;
	causes_find(&base, &now, &causes);
	assert_int_equal(causes.count, 0);
	slow(0, 1, 0);
	base.busy.others_cpu_share = .01;
	now.busy.others_cpu_share = .9;
	causes_find(&base, &now, &causes);
	causes_find(&now, &base, &back);
	base.parts = now.parts = NULL; /* they are the test's */
	base.part_count = now.part_count = 0;
	assert_non_null(strstr(back.text[0],
			       ": GaussianBlur fell from 6 ms to none a sample; "));
	assert_string_equal(
		causes.text[0],
		"prep stall +30.0 points: GaussianBlur grew from none to 6 ms a "
		"sample; ToTensor grew from 1 ms to 3 ms a sample; CPU time of other "
		"programs "
		"grew from 1% to 90%");
}

TEST_WITH(jobs_beside_explain, setup, teardown)
{
	slow(1, 0, 0);
	profile_add_job(&now);
	profile_add_job(&now);
	causes_find(&base, &now, &causes);
	assert_string_equal(causes.text[0],
			    "fetch stall +30.0 points: jobs at once grew from 1 to 2");
}

TEST_WITH(a_rate_alone_is_explained_by_anything, setup, teardown)
{
	without_time(&base);
	without_time(&now);
	base.rates[TRACE_REAL] = (struct interval){600, 590, 610};
	now.rates[TRACE_REAL] = (struct interval){500, 490, 510};
	now.workers = 2;
	now.counted.hits = 1; /* would be faster */
	ARE("600 -> 500 samples/s (-16.7%): workers fell from 4 to 2",
	    "hit ratio of the cache grew from none to 0.1%");
}

TEST_WITH(long_names_are_cut_between_characters, setup, teardown)
{
	char name[1200] = "", *at = name;

	for (int i = 0; i < 300; i++)
		at = stpcpy(at, "日");
	profile_word_set(&now.engine, profile_engines, name);
	profile_word_set(&now.cache, profile_caches, name);
	profile_word_set(&base.cache, profile_caches, strcat(name, "x"));
	*strchr(name, 'x') = '\0';
	profile_text(&now.dataset, "/%s", name);
	slow(1, 0, 0);
	now.counted.reads = 32000;
	causes_find(&base, &now, &causes);
	assert_true(strlen(causes.text[0]) < CAUSE_TEXT);
	at = strstr(causes.text[0], "...");
	assert_non_null(at);
	assert_memory_equal(at - 3, "日", 3);
}

static void as(enum amount_unit unit, double from, double to, const char *first,
	       const char *second)
{
	struct amount_text_pair pair;

	amount_text_pair(&pair, unit, from, to);
	assert_string_equal(pair.from, first);
	assert_string_equal(pair.to, second);
}

TEST_WITH(amounts_read_well, setup, teardown)
{
	as(AMOUNT_BYTES, 131072, 4096, "128 KiB", "4 KiB");
	as(AMOUNT_BYTES, 131072, 110300, "131 KB", "110 KB");
	as(AMOUNT_BYTES, 1001, 1002, "1.001 KB", "1.002 KB");
	as(AMOUNT_SECONDS, 0, .0085, "none", "8.5 ms");
	as(AMOUNT_BYTES_PER_S, INFINITY, 2e8, "unlimited", "200 MB/s");
	as(AMOUNT_SHARE, .351, 0, "35.1%", "none");
	as(AMOUNT_COUNT, 1.0625, 1.0626, "1.062", "1.063");
	as(AMOUNT_COUNT, 0, 0, "0", "0");
	as(AMOUNT_SECONDS, 999.7e-6, 2e-3, "1 ms", "2 ms");
	as(AMOUNT_BYTES, 999900, 3e6, "1 MB", "3 MB");
	as(AMOUNT_SAMPLES_PER_S, 4000, 3500, "4000 samples/s", "3500 samples/s");
	as(AMOUNT_COUNT, 1e300, -1e300, "1e+300", "-1e+300");
}

TEST_WITH(where_two_stalls_grew_the_larger_part_is_told, setup, teardown)
{
	bool told = false;

	slow(.6, .4, 0);
	causes_find(&base, &now, &causes);
	for (unsigned i = 0; i < causes.count; i++)
		told |= strstr(causes.text[i], "1 ms a sample longer, 600 us of it in "
					       "the fetch stall") != NULL;
	assert_true(told);
}
