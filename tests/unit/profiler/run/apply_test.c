#include "loader/base/error.h"
#include "loader/options.h"
#include "profiler/run/apply.h"
#include "profiler/run/conductor/barrier.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { HERE = 2 }; /* cores */

static struct profile profile;
static struct profile_change change;
static struct apply apply;
static struct options options; /* what the loader makes of it */
static struct error err;

/* A run of `train` on 2 cores with as many workers and a minio cache of 35 %. */
static int setup(void **state)
{
	(void)state;
	err = (struct error){0};
	profile_init(&profile);
	change = PROFILE_NO_CHANGE;
	profile.command = calloc(2, sizeof(*profile.command));
	profile.command[0] = strdup("train");
	profile.cores = profile.workers = HERE;
	profile.emulated_per_s = 1000;
	profile_text(&profile.directory, "/");
	profile.cache.id = CACHE_MINIO;
	profile_text(&profile.loader, "dataset=a%%2Cb,workers=2,cache=minio,"
				      "cache_size=35%%,storage_bandwidth=5000000");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	apply_fini(&apply);
	profile_change_free(&change);
	profile_free(&profile);
	return 0;
}

static int try(void)
{
	apply_fini(&apply);
	return apply_change(&profile, &change, HERE, &apply, &err);
}

static void assert_applied(void)
{
	const struct dsa_config config = {.batch = 64};

	assert_int_equal(try(), 0);
	assert_int_equal(options_resolve(&options, &config, apply.loader, NULL), 0);
	assert_string_equal(options.dataset, "a,b");
}

static void assert_refused(const char *why)
{
	assert_int_equal(try(), -ENOTSUP);
	assert_non_null(strstr(err.message, why));
}

TEST_WITH(what_does_not_change_stays, setup, teardown)
{
	assert_applied();
	assert_int_equal(apply.cores, 0);
	assert_int_equal(options.workers, 2);
	assert_string_equal(options.cache, "minio");
	assert_true(fabs(options.cache_share - .35) < 1e-12);
	assert_true(options.storage_bandwidth == 5e6);
	assert_int_equal(options.batch, 64);
}

TEST_WITH(a_change_overrides_the_run, setup, teardown)
{
	change.workers = 5;
	change.batch = 32;
	change.cache_share = .333333333;
	change.cache_policy.id = CACHE_LRU;
	change.storage_bandwidth = 2.5e10;
	change.storage_latency_s = .00175;
	change.fetch_depth = 9;
	assert_applied();
	assert_int_equal(options.workers, 5);
	assert_int_equal(options.batch, 32);
	assert_int_equal(options.fetch_depth, 9);
	assert_string_equal(options.cache, "lru");
	assert_true(fabs(options.cache_share - .333333333) < 1e-12);
	assert_true(options.storage_bandwidth == 2.5e10);
	assert_true(fabs(options.storage_latency - .00175) < 1e-12);
}

TEST_WITH(smaller_pictures_leave_the_cache_its_memory, setup, teardown)
{
	profile.cache_share = .35;
	profile.dataset_bytes = 1000000;
	change.resize = 128;
	assert_applied();
	assert_int_equal(options.cache_bytes, 350000);
	change.cache_share = .5;
	assert_applied();
	assert_true(options.cache_share == .5);
}

TEST_WITH(a_bucket_is_emulated_by_its_latency_alone, setup, teardown)
{
	change.bucket_latency_s = .03;
	assert_applied();
	assert_true(options.storage_latency == .03 && options.storage_bandwidth == 0);
	change.bucket_per_s = 3500;
	assert_refused("a bucket's rate can't be tried");
}

TEST_WITH(a_cache_on_disk_stays_as_it_is, setup, teardown)
{
	profile.disk_cache.hits = 7;
	assert_applied();
	change.cache_share = .2;
	assert_refused("that would empty the one there is");
}

TEST_WITH(only_folders_of_pictures_can_be_made_smaller, setup, teardown)
{
	change.resize = 128;
	profile_text(&profile.source, "tree");
	assert_applied();
	profile_text(&profile.source, "tar");
	assert_refused("this is a tar data set");
}

TEST_WITH(storage_without_emulation_keeps_the_cache, setup, teardown)
{
	profile.cache.id = CACHE_NONE;
	profile_text(&profile.loader, "dataset=a%%2Cb,storage_bandwidth=5000000");
	change.storage_bandwidth = 0;
	change.storage_latency_s = 0;
	assert_applied();
	assert_true(options.storage_bandwidth == 0 && options.storage_latency == 0);
	assert_string_equal(options.cache, "none");
}

TEST_WITH(no_cache_is_none, setup, teardown)
{
	change.cache_share = 0;
	assert_applied();
	assert_string_equal(options.cache, "none");
}

TEST_WITH(workers_follow_the_cores_where_they_did, setup, teardown)
{
	change.cores = 1;
	assert_applied();
	assert_int_equal(apply.cores, 1);
	assert_int_equal(options.workers, 1);
	profile.workers = 3;
	assert_applied();
	assert_int_equal(options.workers, 3);
	change.workers = 4;
	assert_applied();
	assert_int_equal(options.workers, 4);
}

TEST_WITH(a_run_on_fewer_cores_stays_there, setup, teardown)
{
	profile.cores = 1;
	assert_applied();
	assert_int_equal(apply.cores, 1);
}

TEST_WITH(an_accelerator_is_faster_than_it_was, setup, teardown)
{
	change.gpu_speed = 2;
	assert_int_equal(try(), 0);
	assert_non_null(strstr(apply.loader, ",gpu_speed=2"));
	profile_text(&profile.loader, "gpu_speed=3,gpu_speed=1.5,batch=8");
	assert_int_equal(try(), 0);
	assert_non_null(strstr(apply.loader, ",gpu_speed=3"));
	assert_non_null(strstr(strstr(apply.loader, "batch=8"), "gpu_speed=3"));
}

TEST_WITH(jobs_are_as_many_as_asked_or_as_they_were, setup, teardown)
{
	assert_applied();
	assert_int_equal(apply.jobs, 0);
	assert_null(apply.loaders);
	change.jobs = 3;
	assert_applied();
	assert_int_equal(apply.jobs, 3);
	change.jobs = BARRIER_JOBS + 1;
	assert_refused("at most 32 jobs");
	change.jobs = 0;
	for (uint64_t i = 0; i < 2; i++) {
		struct profile_job *job = profile_add_job(&profile);

		job->job = i;
		profile_text(&job->command, "train");
	}
	assert_applied();
	assert_int_equal(apply.jobs, 2);
	profile_text(&profile.jobs[1].command, "other");
	assert_refused("different programs");
	profile_text(&profile.jobs[1].command, "train --seed 1");
	free(profile.command[0]);
	profile.command[0] = strdup("train --seed {job}"); /* a word with blanks */
	assert_refused("different programs");
}

TEST_WITH(jobs_have_speeds_of_their_own, setup, teardown)
{
	profile_text(&profile.loader, "gpu_speed=3");
	change.jobs = 2;
	change.job_speed[0] = 1;
	change.job_speed[1] = .5;
	change.gpu_speed = 2;
	assert_int_equal(try(), 0);
	assert_non_null(strstr(apply.loaders[0], ",gpu_speed=6"));
	assert_non_null(strstr(apply.loaders[1], ",gpu_speed=3"));
	assert_null(apply.loaders[2]);
	change.gpu_speed = NAN;
	profile.emulated_per_s = NAN;
	assert_refused("only an emulated accelerator");
}

TEST_WITH(what_can_t_be_done_here_is_refused, setup, teardown)
{
	change.cores = HERE + 1;
	assert_refused("3 cores can't be tried here: there are only 2");
	change.cores = 0;
	change.cache_policy.id = CACHE_NEXTUSE;
	assert_refused("cache-policy nextuse can't be tried");
	change.cache_policy.id = CACHE_PAGE;
	assert_int_equal(try(), 0);
	change.cache_share = .5;
	assert_refused("a page cache of a given size");
	profile_change_free(&change);
	change.gpu_speed = 2;
	profile.emulated_per_s = NAN;
	assert_refused("only an emulated accelerator");
}

TEST_WITH(a_result_without_its_program_is_refused, setup, teardown)
{
	profile.cores = HERE + 1;
	assert_refused("the run had 3 cores");
	free(profile.directory);
	profile.directory = NULL;
	assert_refused("in which folder");
	free(profile.command[0]);
	profile.command[0] = NULL;
	assert_refused("which program");
}

TEST_WITH(a_program_whose_arguments_were_lost_is_refused, setup, teardown)
{
	free(profile.command[0]);
	profile.command[0] = strdup("caf" PROFILE_LOST);
	assert_refused("not all UTF-8");
}

TEST_WITH(a_program_with_torch_is_asked_what_it_was_asked_before, setup, teardown)
{
	profile.loader_kind.id = LOADER_TORCH;
	profile_text(&profile.asked, "prep_delay=2000000ns");
	assert_applied();
	assert_string_equal(apply.asked, "prep_delay=2000000ns");
	assert_int_equal(apply.choice, PRELOAD_TORCH);
	change.workers = 3;
	change.storage_bandwidth = 5e6;
	change.storage_latency_s = .002;
	assert_applied();
	assert_string_equal(apply.asked, "prep_delay=2000000ns,workers=3,"
					 "storage_bandwidth=5000000,"
					 "storage_latency=0.002s");
	change = PROFILE_NO_CHANGE;
	change.fetch_depth = 8;
	assert_refused("--fetch-depth can't be tried");
	change = PROFILE_NO_CHANGE;
	change.cores = 1; /* its workers do not follow */
	assert_applied();
	assert_string_equal(apply.asked, "prep_delay=2000000ns");
	assert_int_equal(apply.cores, 1);
}

TEST_WITH(what_is_libdsa_s_alone_is_refused_of_others, setup, teardown)
{
	profile.loader_kind.id = LOADER_TORCH;
	change.batch = 3;
	assert_refused("--batch can't be tried");
	change = PROFILE_NO_CHANGE;
	change.cache_share = 0;
	assert_refused("--cache can't be tried");
	change = PROFILE_NO_CHANGE;
	change.cache_policy.id = CACHE_NONE;
	assert_refused("--cache-policy can't be tried");
	change = PROFILE_NO_CHANGE;
	change.gpu_speed = 2;
	assert_refused("--gpu-speed can't be tried");
	change = PROFILE_NO_CHANGE;
	change.jobs = 2;
	assert_refused("--jobs can't be tried");
	change = PROFILE_NO_CHANGE;
	change.resize = 64;
	assert_refused("--resize can't be tried");
	change = PROFILE_NO_CHANGE;
	change.decoded = true;
	assert_refused("--decoded can't be tried");
	change = PROFILE_NO_CHANGE;
	profile.loader_kind.id = LOADER_WATCH;
	assert_refused("nothing can be tried");
}

TEST_WITH(the_same_loader_is_measured_again, setup, teardown)
{
	assert_applied();
	assert_int_equal(apply.choice, PRELOAD_AUTO);
	profile_text(&profile.loader_choice, "none");
	assert_applied();
	assert_int_equal(apply.choice, PRELOAD_NONE);
	assert_false(apply.own_epochs);
	profile_text(&profile.epoch_ends, "own");
	assert_applied();
	assert_true(apply.own_epochs);
	assert_int_equal(apply_choice_named("torch"), PRELOAD_TORCH);
	assert_int_equal(apply_choice_named("another"), PRELOAD_AUTO);
	assert_int_equal(apply_choice_named(NULL), PRELOAD_AUTO);
}

TEST_WITH(memory_may_be_short, setup, teardown)
{
	int result = -ENOMEM;

	change.jobs = 2;
	change.job_speed[0] = change.job_speed[1] = .5;
	profile_text(&profile_add_job(&profile)->command, "train");
	for (unsigned n = 1; result == -ENOMEM; n++) {
		nomem_at(n);
		result = try();
		nomem_at(0);
		assert_true(n < 40);
	}
	assert_int_equal(result, 0);
}
