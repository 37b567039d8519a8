/* apply.c - checks a change, and writes it as settings of the loader. */
#include "profiler/run/apply.h"
#include "loader/base/choice.h"
#include "loader/base/error.h"
#include "loader/base/io.h"
#include "loader/base/number.h"
#include "loader/base/variants.h"
#include "profiler/dataset/convert.h"
#include "profiler/host/machine.h"
#include "profiler/run/conductor/barrier.h"
#include "profiler/run/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPEED_KEY "gpu_speed="

unsigned apply_cores(void)
{
	struct machine machine;

	machine_read(&machine, "");
	return (unsigned)fmax(1, machine.cores);
}

/* ---- what can't be done ---- */

static int check_run(const struct profile *profile, struct error *err)
{
	if (profile->command == NULL || profile->command[0] == NULL)
		return error_set(err, ENOTSUP,
				 "the result does not say which program ran");
	if (!profile_can_repeat(profile))
		return error_set(
			err, ENOTSUP,
			"the program's arguments are not all UTF-8, so that the "
			"result could not keep them: it can't be run again");
	if (profile_loader(profile) != LOADER_DSA &&
	    profile_loader(profile) != LOADER_TORCH)
		return error_set(err, ENOTSUP,
				 "nothing can be tried yet on a program with a loader "
				 "of its own but torch's");
	if (profile->directory == NULL)
		return error_set(err, ENOTSUP,
				 "the result does not say in which folder its program "
				 "ran: measure it again with this dsa");
	return 0;
}

/* What a loader that the program brought can't be brought to do; NULL: it can. */
static const char *apply_refused(const struct profile_change *change)
{
	if (change->batch > 0)
		return "batch";
	if (!isnan(change->cache_share))
		return "cache";
	if (profile_word_known(&change->cache_policy))
		return "cache-policy";
	if (!isnan(change->gpu_speed))
		return "gpu-speed";
	if (change->jobs > 0 || change->job_speed[0] > 0)
		return "jobs";
	if (change->fetch_depth > 0)
		return "fetch-depth";
	if (change->share)
		return "share";
	if (change->resize > 0)
		return "resize";
	if (profile_word_known(&change->type))
		return "type";
	return change->decoded ? "decoded" : NULL;
}

static int check_own_loader(const struct profile *profile,
			    const struct profile_change *change, struct error *err)
{
	const char *refused = apply_refused(change);

	if (profile_loader(profile) == LOADER_DSA || refused == NULL)
		return 0;
	return error_set(err, ENOTSUP,
			 "--%s can't be tried: it is libdsa's, and this program brings "
			 "its own loader",
			 refused);
}

static int check_cores(const struct profile *profile,
		       const struct profile_change *change, unsigned cores,
		       struct error *err)
{
	if (change->cores > cores)
		return error_set(
			err, ENOTSUP, "%u cores can't be tried here: there %s %u",
			change->cores, cores == 1 ? "is only" : "are only", cores);
	if (change->cores == 0 && profile->cores != UNKNOWN && profile->cores > cores)
		return error_set(err, ENOTSUP,
				 "the run had %llu cores and can't be repeated here: "
				 "there %s %u",
				 (unsigned long long)profile->cores,
				 cores == 1 ? "is only" : "are only", cores);
	return 0;
}

static int check_cache(const struct profile_change *change, struct error *err)
{
	const char *policy = profile_word(profile_caches, &change->cache_policy);
	char names[CHOICE_TEXT];

	if (policy == NULL)
		return 0;
	if (choice_find(LOADER_CACHE_POLICY_NAMES, policy) < 0)
		return error_set(
			err, ENOTSUP,
			"cache-policy %s can't be tried: the loader has %s", policy,
			choice_list(LOADER_CACHE_POLICY_NAMES, " and ", names));
	if (change->cache_policy.id == CACHE_PAGE && change->cache_share > 0)
		return error_set(err, ENOTSUP,
				 "a page cache of a given size can't be tried: the "
				 "kernel's is as large as memory lets it be");
	return 0;
}

/* What has no emulation here, or would undo what others rely on. */
static int check_storage(const struct profile *profile,
			 const struct profile_change *change, struct error *err)
{
	bool cache = !isnan(change->cache_share) ||
		     profile_word_known(&change->cache_policy);

	if (change->block_fetch > 0)
		return error_set(err, ENOTSUP,
				 "fetching in blocks can't be tried: it is DELI's way, "
				 "and not libdsa's");
	if (!isnan(change->bucket_per_s))
		return error_set(err, ENOTSUP,
				 "a bucket's rate can't be tried: nothing here refuses "
				 "requests as it does");
	if (cache && profile->disk_cache.hits != UNKNOWN)
		return error_set(
			err, ENOTSUP,
			"another cache on disk can't be tried: that would empty "
			"the one there is. Run it with another --cache-dir");
	return 0;
}

static int check_recipe(const struct profile *profile,
			const struct profile_change *change, struct error *err)
{
	if (change->resize > 0 && profile->source != NULL &&
	    strcmp(profile->source, CONVERT_SOURCE) != 0)
		return error_set(err, ENOTSUP,
				 "resize can't be tried: only folders of pictures can "
				 "be converted, and this is a %s data set",
				 profile->source);
	if (change->without != NULL)
		return error_set(
			err, ENOTSUP,
			"without %.43s can't be tried: the program itself must "
			"leave it out",
			change->without);
	if (!change->libdsa && !change->decoded && !profile_word_known(&change->type))
		return 0;
	return error_set(err, ENOTSUP,
			 "%s can't be tried: the program itself must ask for it",
			 change->libdsa    ? "libdsa's loader"
			 : change->decoded ? "samples stored decoded"
					   : "batches of another type");
}

/* Another accelerator than the run's. */
static bool has_speed(const struct profile_change *change)
{
	return !isnan(change->gpu_speed) || change->job_speed[0] > 0;
}

static unsigned apply_jobs_of(const struct profile *profile,
			      const struct profile_change *change)
{
	if (change->jobs > 0)
		return change->jobs;
	return profile->job_count < BARRIER_JOBS ? (unsigned)profile->job_count
						 : BARRIER_JOBS;
}

/* True when all jobs of the run were copies of its program; -ENOMEM. */
static int are_copies(const struct profile *profile)
{
	for (size_t i = 0; i < profile->job_count; i++) {
		const struct profile_job *job = &profile->jobs[i];
		char *copy = jobs_text(profile->command, (unsigned)job->job);
		bool same = copy != NULL && job->command != NULL &&
			    strcmp(copy, job->command) == 0;

		free(copy);
		if (copy == NULL)
			return -ENOMEM;
		if (!same)
			return 0;
	}
	return 1;
}

static int apply_check_jobs(const struct profile *profile,
			    const struct profile_change *change, struct error *err)
{
	int copies = are_copies(profile);

	if (copies < 0)
		return error_sys(err, ENOMEM, "applying the change");
	if (copies == 0)
		return error_set(err, ENOTSUP,
				 "the run's jobs were different programs: only copies "
				 "of one can be tried");
	if (apply_jobs_of(profile, change) > BARRIER_JOBS)
		return error_set(err, ENOTSUP, "at most %d jobs can be tried at once",
				 BARRIER_JOBS);
	return 0;
}

static int apply_check(const struct profile *profile,
		       const struct profile_change *change, unsigned cores,
		       struct error *err)
{
	int result = check_run(profile, err);

	if (result == 0)
		result = check_own_loader(profile, change, err);
	if (result == 0)
		result = check_cores(profile, change, cores, err);
	if (result == 0)
		result = check_cache(change, err);
	if (result == 0)
		result = check_storage(profile, change, err);
	if (result == 0)
		result = check_recipe(profile, change, err);
	if (result == 0)
		result = apply_check_jobs(profile, change, err);
	if (result == 0 && has_speed(change) && isnan(profile->emulated_per_s))
		result = error_set(err, ENOTSUP,
				   "gpu-speed can't be tried: only an emulated "
				   "accelerator can be made faster or slower, and this "
				   "run's was real");
	return result;
}

/* ---- what the loader is told ---- */

static void put_cache(FILE *to, const struct profile *profile,
		      const struct profile_change *change)
{
	const char *policy = profile_word(profile_caches, &change->cache_policy);

	if (policy == NULL)
		policy = change->cache_share == 0
				 ? profile_caches[CACHE_NONE]
				 : profile_word(profile_caches, &profile->cache);
	/* the kernel keeps nothing of a bucket, which local files stand for */
	if (policy == profile_caches[CACHE_PAGE] && profile_change_has_bucket(change))
		policy = profile_caches[CACHE_NONE];
	/* Also where nothing changes: a default depends on how fast storage is. */
	if (policy != NULL)
		fprintf(to, ",cache=%s", policy);
	if (change->cache_share >= 0)
		fprintf(to, ",cache_size=%.9g%%", 100 * change->cache_share);
	else if (change->resize > 0 && isnan(change->cache_share) &&
		 profile_has_own_cache(profile) && profile->cache_share > 0)
		/* the same memory, which holds more of smaller pictures */
		fprintf(to, ",cache_size=%.0f",
			profile->cache_share * (double)profile->dataset_bytes);
}

/* Of the last word about it; 1 where there is none. */
static double speed_before(const char *loader)
{
	double speed = 1;
	char word[32];

	for (; loader != NULL; loader = strchr(loader, ',')) {
		loader += *loader == ',';
		if (strncmp(loader, SPEED_KEY, strlen(SPEED_KEY)) != 0)
			continue;
		loader += strlen(SPEED_KEY);
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(loader, ","), loader);
		number_real(word, &speed);
	}
	return speed;
}

/* What `job` has: its own speed times that of all. */
static double apply_speed_of(const struct profile_change *change, unsigned job)
{
	double all = isnan(change->gpu_speed) ? 1 : change->gpu_speed;

	return job < PROFILE_SPEEDS && change->job_speed[job] > 0
		       ? all * change->job_speed[job]
		       : all;
}

static void apply_put_workers(FILE *to, unsigned workers)
{
	if (workers > 0)
		fprintf(to, ",workers=%u", workers);
}

/* A bucket is emulated by its latency, and ends what was emulated in the run. */
static void apply_put_storage(FILE *to, const struct profile_change *change)
{
	if (!isnan(change->storage_bandwidth))
		fprintf(to, ",storage_bandwidth=%.0f", change->storage_bandwidth);
	else if (profile_change_has_bucket(change))
		fputs(",storage_bandwidth=0", to);
	if (profile_change_has_bucket(change))
		fprintf(to, ",storage_latency=%.9gs", change->bucket_latency_s);
	if (!isnan(change->storage_latency_s))
		fprintf(to, ",storage_latency=%.9gs", change->storage_latency_s);
}

static void apply_put_all(FILE *to, const struct profile *profile,
			  const struct profile_change *change, unsigned job)
{
	if (profile->loader != NULL)
		fputs(profile->loader, to);
	put_cache(to, profile, change);
	apply_put_workers(to, profile_change_workers(profile, change));
	if (change->batch > 0)
		fprintf(to, ",batch=%u", change->batch);
	if (change->fetch_depth > 0)
		fprintf(to, ",fetch_depth=%u", change->fetch_depth);
	if (has_speed(change))
		fprintf(to, "," SPEED_KEY "%.9g",
			apply_speed_of(change, job) * speed_before(profile->loader));
	apply_put_storage(to, change);
}

/* What a loader that the program brought heeds. */
static char *apply_asked_text(const struct profile *profile,
			      const struct profile_change *change)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (to == NULL)
		return NULL;
	if (profile->asked != NULL)
		fputs(profile->asked, to);
	apply_put_workers(to, change->workers);
	apply_put_storage(to, change);
	return io_text(to, &text);
}

static char *apply_loader_text(const struct profile *profile,
			       const struct profile_change *change, unsigned job)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (to == NULL)
		return NULL;
	apply_put_all(to, profile, change, job);
	return io_text(to, &text);
}

/* For jobs of different speeds. */
static int set_loaders(const struct profile *profile,
		       const struct profile_change *change, struct apply *apply)
{
	if (change->job_speed[0] == 0)
		return 0;
	apply->loaders = calloc(apply->jobs + 1, sizeof(*apply->loaders));
	if (apply->loaders == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < apply->jobs; i++) {
		apply->loaders[i] = apply_loader_text(profile, change, i);
		if (apply->loaders[i] == NULL)
			return -ENOMEM;
	}
	return 0;
}

enum preload_choice apply_choice_named(const char *name)
{
	for (int i = 0; name != NULL && preload_choices[i] != NULL; i++)
		if (strcmp(name, preload_choices[i]) == 0)
			return (enum preload_choice)i;
	return PRELOAD_AUTO;
}

/* The same loader is to be measured again. */
static enum preload_choice apply_choice(const struct profile *profile)
{
	return profile_loader(profile) == LOADER_DSA
		       ? apply_choice_named(profile->loader_choice)
		       : PRELOAD_TORCH;
}

bool apply_own_epochs(const struct profile *profile)
{
	return profile->epoch_ends != NULL && strcmp(profile->epoch_ends, "own") == 0;
}

int apply_change(const struct profile *profile, const struct profile_change *change,
		 unsigned cores, struct apply *apply, struct error *err)
{
	int result = apply_check(profile, change, cores, err);

	*apply = (struct apply){.cores = change->cores,
				.share = change->share ||
					 (change->jobs == 0 && profile->shared)};
	if (result < 0)
		return result;
	if (apply->cores == 0 && profile->cores < cores)
		apply->cores = (unsigned)profile->cores;
	apply->jobs = apply_jobs_of(profile, change);
	apply->choice = apply_choice(profile);
	apply->own_epochs = apply_own_epochs(profile);
	apply->asked = apply_asked_text(profile, change);
	apply->loader = apply_loader_text(profile, change, 0);
	if (apply->loader == NULL || apply->asked == NULL ||
	    set_loaders(profile, change, apply) < 0)
		return error_sys(err, ENOMEM, "applying the change");
	return 0;
}

void apply_fini(struct apply *apply)
{
	profile_free_texts(apply->loaders);
	free(apply->loader);
	free(apply->asked);
	*apply = (struct apply){0};
}
