#include "loader/base/error.h"
#include "models/whatif/sweep.h"
#include "profiler/profile_prediction.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct sweep sweep;
static struct profile profile;
static struct sweep_list list;
static struct error err;

static int setup(void **state)
{
	(void)state;
	memset(&sweep, 0, sizeof(sweep));
	profile_init(&profile);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sweep_list_free(&list);
	profile_free(&profile);
	return 0;
}

static int set(const char *key, const char *values)
{
	err = (struct error){0};
	return sweep_set(&sweep, key, values, &err);
}

static int expand(void)
{
	err = (struct error){0};
	sweep_list_free(&list);
	return sweep_changes(&sweep, &profile, &list, &err);
}

static void assert_values(const char *key, const char *text, size_t count,
			  const double *wanted)
{
	const struct sweep_values *values = NULL;

	memset(&sweep, 0, sizeof(sweep));
	assert_int_equal(set(key, text), 0);
	for (int i = 0; i < SWEEP_KEYS; i++)
		if (sweep.keys[i].count > 0)
			values = &sweep.keys[i];
	assert_non_null(values);
	assert_int_equal(values->count, count);
	for (size_t i = 0; i < count; i++)
		assert_true(fabs(values->value[i].number - wanted[i]) <=
			    1e-9 * wanted[i]);
}

#define ASSERT_VALUES(key, text, ...)                                                  \
	do {                                                                           \
		static const double wanted[] = {__VA_ARGS__};                          \
		assert_values(key, text, sizeof(wanted) / sizeof(wanted[0]), wanted);  \
	} while (0)

TEST_WITH(a_value_a_list_or_a_range, setup, teardown)
{
	ASSERT_VALUES("cores", "3", 3);
	ASSERT_VALUES("cores", "1,2,4", 1, 2, 4);
	ASSERT_VALUES("cores", "1..3,8", 1, 2, 3, 8);
	ASSERT_VALUES("gpu-speed", "2x", 2);
	ASSERT_VALUES("gpu-speed", "0.5", .5);
	ASSERT_VALUES("storage-bandwidth", "none,500M,1G/s", 0, 5e8, 1e9);
	ASSERT_VALUES("storage-latency", "none,5ms", 0, .005);
	ASSERT_VALUES("storage-bucket", "latency=5ms,latency=30ms,rate=3500", .005,
		      .03);
	ASSERT_VALUES("fetch-depth", "4,8..10", 4, 8, 9, 10);
	ASSERT_VALUES("cache-policy", "minio,lru", 2, 3);
}

TEST_WITH(blocks_are_as_deli_calls_them, setup, teardown)
{
	static const uint64_t wanted[3][3] = {{512, 0, 0}, {64, 8, 0}, {9, 0, 7}};
	const struct sweep_values *values = &sweep.keys[SWEEP_BLOCKS];

	assert_int_equal(set("block-fetch", "f=512,f=64,q=8,f=9,k=7"), 0);
	assert_int_equal(values->count, 3);
	for (int i = 0; i < 3; i++)
		assert_memory_equal(values->value[i].block, wanted[i],
				    sizeof(wanted[i]));
}

TEST_WITH(ranges_take_as_many_values_as_they_need, setup, teardown)
{
	ASSERT_VALUES("cores", "1..16", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
		      15, 16);
	ASSERT_VALUES("workers", "1..128", 1, 2, 4, 8, 16, 32, 64, 128);
	ASSERT_VALUES("batch", "100..200", 100, 119, 141, 168, 200);
	ASSERT_VALUES("cache", "0%..100%", 0, .1, .2, .3, .4, .5, .6, .7, .8, .9, 1);
	ASSERT_VALUES("cache", "5%..20%", .05, .15, .2);
	ASSERT_VALUES("cache", "0..400K", 0, 1e5, 2e5, 3e5, 4e5);
	ASSERT_VALUES("gpu-speed", "1..16", 1, 2, 4, 8, 16);
	ASSERT_VALUES("storage-bandwidth", "10M..1G", 1e7, 3.16e7, 1e8, 3.16e8, 1e9);
	ASSERT_VALUES("storage-latency", "0..4ms", 0, .001, .002, .003, .004);
}

TEST_WITH(nonsense_is_refused_and_changes_nothing, setup, teardown)
{
	static const char *const pairs[] = {
		"cores=0",
		"storage-bucket=30ms",
		"storage-bucket=rate=3500",
		"storage-bucket=latency=30ms,rate=0",
		"storage-bucket=latency=00000000000000000000000000005ms?",
		"storage-bucket=latency=30ms,rate=x",
		"storage-bucket=latency=30ms,rate=1,rate=2",
		"storage-bucket=latency=1ms..latency=2ms",
		"block-fetch=512",
		"block-fetch=f=0",
		"block-fetch=q=1",
		"block-fetch=f=1,k=0",
		"block-fetch=f=1,k=9,q=1",
		"block-fetch=f=1..f=2",
		"without=",
		"without=Crop,",
		"without=a..b",
		"cores=",
		"cores=-1",
		"cores=1,",
		"cores=,1",
		"cores=4..1",
		"cores=2..2",
		"cores=1..",
		"cores=..4",
		"cores=1..2..3",
		"cores=99999",
		"cores=two",
		"cores= 1",
		"workers=0",
		"workers=129",
		"batch=0",
		"batch=70000",
		"cache=-5",
		"cache=35",
		"cache=300%",
		"cache=1..50%",
		"cache=50%..10%",
		"cache=",
		"cache=many",
		"cache-policy=fast",
		"cache-policy=none..lru",
		"gpu-speed=0",
		"gpu-speed=1e9",
		"gpu-speed=x",
		"gpu-speed=none",
		"storage-bandwidth=0",
		"storage-bandwidth=none..1G",
		"storage-bandwidth=1G..none",
		"storage-latency=2h",
		"storage-latency=-1ms",
		"jobs=0",
		"jobs=65",
		"jobs=1x+",
		"jobs=+1x",
		"jobs=1x+0.05x",
		"jobs=11x",
		"jobs=2x..4",
		"jobs=1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1",
		"jobs=1+0000000000000000000000000000000000001",
		"share=maybe",
		"share=no..yes",
		"colour=red",
		"cores",
		"=1",
		"",
	};

	assert_int_equal(set("cores", "7"), 0);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		err = (struct error){0};
		if (sweep_set_pair(&sweep, pairs[i], &err) != -EINVAL)
			fail_msg("%s was taken", pairs[i]);
		assert_true(strlen(err.message) > 10);
	}
	assert_int_equal(sweep.keys[SWEEP_CORES].count, 1);
	assert_true(sweep.keys[SWEEP_CORES].value[0].number == 7);
	assert_int_equal(sweep.keys[SWEEP_CACHE].count, 0);
}

TEST_WITH(values_have_a_limit, setup, teardown)
{
	char many[3 * SWEEP_VALUES + 3] = "1";

	for (int i = 1; i < SWEEP_VALUES; i++)
		strcat(many, ",1");
	assert_int_equal(set("cores", many), 0);
	strcat(many, ",1");
	assert_int_equal(set("cores", many), -EINVAL);
	assert_non_null(strstr(err.message, "more than 128 values"));
}

TEST_WITH(nothing_set_is_no_change, setup, teardown)
{
	assert_int_equal(expand(), 0);
	assert_int_equal(list.count, 0);
}

TEST_WITH(changes_are_every_combination_once, setup, teardown)
{
	assert_int_equal(set("cores", "1,2,1"), 0);
	assert_int_equal(set("cache", "0%,50%"), 0);
	assert_int_equal(set("cache-policy", "none,minio,lru"), 0);
	assert_int_equal(expand(), 0);
	assert_int_equal(list.count, 2 * 3); /* none, minio 50 %, lru 50 % */
	assert_true(list.changes[0].cache_share == 0);
	assert_int_equal(list.changes[0].cache_policy.id, -1);
	assert_int_equal(list.changes[0].cores, 1);
	assert_int_equal(list.changes[1].cores, 2);
	assert_true(list.changes[2].cache_share == .5);
	assert_int_equal(list.changes[2].cache_policy.id, CACHE_MINIO);
	assert_int_equal(list.changes[5].cache_policy.id, CACHE_LRU);
	assert_true(isnan(list.changes[5].gpu_speed));
	assert_int_equal(list.changes[5].workers, 0);
}

TEST_WITH(combinations_have_a_limit, setup, teardown)
{
	assert_int_equal(set("cores", "1..16"), 0);
	assert_int_equal(set("workers", "1..16"), 0);
	assert_int_equal(set("batch", "1..16"), 0);
	assert_int_equal(expand(), 0);
	assert_int_equal(list.count, SWEEP_CHANGES);
	assert_int_equal(set("gpu-speed", "1,2"), 0);
	assert_int_equal(expand(), -EINVAL);
	assert_non_null(strstr(err.message, "more than 4096 combinations"));
}

TEST_WITH(bytes_of_a_cache_are_a_share_of_the_data, setup, teardown)
{
	assert_int_equal(set("cache", "300K,0,2G"), 0);
	assert_int_equal(expand(), -ENODATA);
	profile.dataset_bytes = 900000;
	assert_int_equal(expand(), 0);
	assert_int_equal(list.count, 3);
	assert_true(list.changes[0].cache_share == .333333333);
	assert_true(list.changes[1].cache_share == 0);
	assert_true(list.changes[2].cache_share == 1);
}

TEST_WITH(bytes_of_a_cache_are_a_share_of_what_is_stored, setup, teardown)
{
	struct profile_recipe *recipe = profile_add_recipe(&profile);

	assert_non_null(recipe);
	recipe->change.decoded = true;
	recipe->prep_ratio = (struct interval){.1, .09, .11};
	recipe->bytes_ratio = 5;
	profile.dataset_bytes = 1000000;
	assert_int_equal(set("cache", "1M,50%"), 0);
	assert_int_equal(set("decoded", "yes"), 0);
	assert_int_equal(expand(), 0);
	assert_true(list.changes[0].cache_share == .2);
	assert_true(list.changes[1].cache_share == .5);
}

TEST_WITH(a_cache_without_a_policy_is_as_the_run_s, setup, teardown)
{
	assert_int_equal(set("cache", "50%"), 0);
	profile.cache.id = CACHE_PAGE;
	assert_int_equal(expand(), 0);
	assert_int_equal(list.changes[0].cache_policy.id, CACHE_MINIO);
	profile.cache.id = CACHE_LRU;
	assert_int_equal(expand(), 0);
	assert_int_equal(list.changes[0].cache_policy.id, -1);
}

TEST_WITH(a_policy_alone_needs_a_cache_in_the_run, setup, teardown)
{
	profile.cache.id = CACHE_NONE;
	assert_int_equal(set("cache-policy", "lru"), 0);
	assert_int_equal(expand(), -EINVAL);
	assert_non_null(strstr(err.message, "how large is the lru cache"));
	assert_int_equal(set("cache-policy", "page,none"), 0);
	assert_int_equal(expand(), 0);
	assert_int_equal(list.count, 2);
	profile.cache.id = CACHE_MINIO;
	assert_int_equal(set("cache-policy", "lru"), 0);
	assert_int_equal(expand(), 0);
	assert_true(isnan(list.changes[0].cache_share));
}

TEST_WITH(jobs_are_a_number_or_their_speeds, setup, teardown)
{
	assert_int_equal(set("jobs", "2..3,2x+0.5,1x+1x"), 0);
	assert_int_equal(set("share", "no,yes"), 0);
	assert_int_equal(expand(), 0);
	assert_int_equal(list.count, 6); /* jobs of the same speed are just jobs */
	assert_int_equal(list.changes[0].jobs, 2);
	assert_false(list.changes[0].share);
	assert_true(list.changes[3].share);
	assert_int_equal(list.changes[3].jobs, 3);
	assert_int_equal(list.changes[4].jobs, 2);
	assert_true(list.changes[4].job_speed[0] == 2);
	assert_true(list.changes[4].job_speed[1] == .5);
	assert_true(list.changes[4].job_speed[2] == 0);
}

TEST_WITH(jobs_that_share_are_those_of_the_run, setup, teardown)
{
	assert_int_equal(set("share", "yes"), 0);
	assert_int_equal(expand(), -EINVAL);
	assert_non_null(strstr(err.message, "how many jobs"));
	for (int i = 0; i < 3; i++)
		assert_non_null(profile_add_job(&profile));
	assert_int_equal(expand(), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.changes[0].jobs, 3);
}

static void add_part(const char *name)
{
	struct profile_part *part = profile_add_part(&profile);

	assert_non_null(part);
	assert_int_equal(profile_text(&part->name, "%s", name), 0);
	part->mean_s = .001;
}

TEST_WITH(parts_are_called_by_name, setup, teardown)
{
	assert_int_equal(set("without", "Crop,Flip"), 0);
	assert_int_equal(expand(), -EINVAL);
	assert_non_null(strstr(err.message, "loader of its own"));
	for (int i = 0; i < 30; i++)
		add_part(i == 0 ? "Crop" : i == 1 ? "hand-over" : "RandomSomething");
	assert_int_equal(expand(), -EINVAL);
	assert_non_null(strstr(err.message, "'Flip'; there are Crop, RandomS"));
	add_part("Flip");
	assert_int_equal(expand(), 0);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.changes[1].without, "Flip");
	assert_int_equal(set("without", "Flup"), 0);
	assert_int_equal(expand(), -EINVAL);
	assert_non_null(strstr(err.message, "'Flup'; did you mean Flip; there"));
	assert_int_equal(set("without", "hand-over"), 0);
	assert_int_equal(expand(), -EINVAL);
	assert_int_equal(set("without", "Flip,Flip"), 0);
	assert_int_equal(expand(), 0);
	assert_int_equal(list.count, 1);
}

TEST_WITH(memory_may_be_short, setup, teardown)
{
	int result = -ENOMEM;

	profile.dataset_bytes = 10000;
	add_part("Crop");
	for (unsigned n = 1; result == -ENOMEM; n++) {
		nomem_at(n);
		result = set("cache", "10%,2K");
		if (result == 0)
			result = set("cache-policy", "minio,lru");
		if (result == 0)
			result = set("without", "Crop");
		if (result == 0)
			result = expand();
		nomem_at(0);
		assert_true(result == 0 || result == -ENOMEM);
		assert_true(n < 20);
	}
	assert_int_equal(list.count, 4);
}
