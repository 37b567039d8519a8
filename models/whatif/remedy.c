/* remedy.c - how many cores, how large a cache, and what else takes away a stall. */
#include "models/whatif/remedy.h"
#include "loader/base/limits.h"
#include "models/predict/model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { CACHE_STEPS = 20, MOST_CORES_TRIED = 128, WORKERS_A_CORE = 4 };

#define KNEE    .9   /* of the gain of the most of it, */
#define ROUNDED 1e-6 /* but for what a simulation is rounded by */
#define STALLED .01  /* of a step's time: less is no stall */

/* ---- how much of it ---- */

typedef void remedy_set(const struct remedy_context *context, unsigned amount,
			struct profile_change *change);

static void remedy_set_cores(const struct remedy_context *context, unsigned amount,
			     struct profile_change *change)
{
	(void)context;
	change->cores = amount;
}

/* So many of CACHE_STEPS parts of the data set, never evicted. */
static void remedy_set_cache(const struct remedy_context *context, unsigned amount,
			     struct profile_change *change)
{
	const struct profile_word *policy = &context->profile->cache;

	change->cache_share = (double)amount / CACHE_STEPS;
	if (profile_word_known(policy) && policy->id != CACHE_MINIO)
		change->cache_policy.id = CACHE_MINIO;
}

/* The gain of so much of it, on top of what is in `change` already. */
static int remedy_gain(const struct remedy_context *context, remedy_set *set,
		       unsigned amount, struct profile_change change, double *gain,
		       struct error *err)
{
	set(context, amount, &change);
	return model_gain(context->model, &change, gain, err);
}

/*
 * Gives *change the knee between `low`, which the run has, and `most`; what is in *change
 * already stays. 0 or -errno.
 */
static int remedy_set_knee(const struct remedy_context *context, remedy_set *set,
			   unsigned low, unsigned most, struct profile_change *change,
			   struct error *err)
{
	double none = 0, all = 0, gain = 0;
	unsigned high = most;
	int result = remedy_gain(context, set, low, *change, &none, err);

	if (result == 0)
		result = remedy_gain(context, set, most, *change, &all, err);
	while (result == 0 && high > low + 1) {
		unsigned middle = low + (high - low) / 2;

		result = remedy_gain(context, set, middle, *change, &gain, err);
		if (gain - none >= KNEE * (all - none) - ROUNDED)
			high = middle;
		else
			low = middle;
	}
	set(context, high, change);
	return result;
}

static int remedy_find_cores(const struct remedy_context *context,
			     struct profile_change *change, struct error *err)
{
	unsigned cores = (unsigned)context->profile->cores;

	return remedy_set_knee(context, remedy_set_cores, cores,
			       cores < MOST_CORES_TRIED ? MOST_CORES_TRIED : cores + 1,
			       change, err);
}

static int remedy_find_cache(const struct remedy_context *context,
			     struct profile_change *change, struct error *err)
{
	double share = context->profile->cache_share;

	share = isnan(share) ? 0 : fmax(0, fmin(share, 1));
	return remedy_set_knee(context, remedy_set_cache,
			       (unsigned)(share * CACHE_STEPS), CACHE_STEPS, change,
			       err);
}

/* ---- the least of it that leaves no fetch stall ---- */

static int remedy_stall(const struct remedy_context *context, remedy_set *set,
			unsigned amount, double *share, struct error *err)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	set(context, amount, &change);
	return model_fetch_stall(context->model, &change, share, err);
}

/* *least: above `low`, up to `most`; 0: there is none. 0 or -errno. */
static int remedy_find_least(const struct remedy_context *context, remedy_set *set,
			     unsigned low, unsigned most, unsigned *least,
			     struct error *err)
{
	double share = 1;
	int result = remedy_stall(context, set, most, &share, err);

	*least = result == 0 && share < STALLED ? most : 0;
	while (result == 0 && *least > low + 1) {
		unsigned middle = low + (*least - low) / 2;

		result = remedy_stall(context, set, middle, &share, err);
		if (share < STALLED)
			*least = middle;
		else
			low = middle;
	}
	return result;
}

static bool remedy_has_servers(const struct remedy_context *context)
{
	return context->profile->requests.gets != UNKNOWN;
}

static void remedy_set_depth(const struct remedy_context *context, unsigned amount,
			     struct profile_change *change)
{
	(void)context;
	change->fetch_depth = amount;
}

/* Of servers, whose answers take long however many are asked for. */
static int remedy_depth(const struct remedy_context *context, struct remedy *remedy,
			struct error *err)
{
	unsigned depth = (unsigned)context->profile->fetch_depth, least = 0;
	int result;

	if (!remedy_has_servers(context) || depth >= LIMIT_FETCH_DEPTH)
		return 0;
	result = remedy_find_least(context, remedy_set_depth, depth, LIMIT_FETCH_DEPTH,
				   &least, err);
	if (result == 0 && least == 0)
		result = remedy_set_knee(context, remedy_set_depth, depth,
					 LIMIT_FETCH_DEPTH, &remedy->change, err);
	else
		remedy->change.fetch_depth = least;
	snprintf(remedy->advice, sizeof(remedy->advice),
		 least > 0 ? "%u requests at once, the least without a fetch stall"
			   : "%u requests at once: more gain little, and no number of "
			     "them ends the fetch stall",
		 remedy->change.fetch_depth);
	return result < 0 ? result : 1;
}

static const char *remedy_where(const struct remedy_context *context)
{
	return context->profile->disk_cache.hits == UNKNOWN ? "in memory"
							    : "on local disk";
}

static void remedy_set_percent(const struct remedy_context *context, unsigned amount,
			       struct profile_change *change)
{
	remedy_set_cache(context, 0, change);
	change->cache_share = amount / 100.;
}

/* Of servers: what the knee of a cache leaves may be long, too. */
static int remedy_least_cache(const struct remedy_context *context,
			      struct remedy *remedy, struct error *err)
{
	double share = context->profile->cache_share;
	unsigned least = 0;
	int result;

	if (!remedy_has_servers(context))
		return 0;
	result = remedy_find_least(context, remedy_set_percent,
				   share > 0 ? (unsigned)(100 * share) : 0, 100, &least,
				   err);
	remedy_set_percent(context, least > 0 ? least : 100, &remedy->change);
	snprintf(remedy->advice, sizeof(remedy->advice),
		 least == 0 ? "no cache ends the fetch stall, not one of all data"
		 : least < 100
			 ? "keep %u%% of the data %s, the least without a fetch "
			   "stall"
			 : "keep all of the data, %u%%, %s: any less leaves a fetch "
			   "stall",
		 least, remedy_where(context));
	return result < 0 ? result : 1;
}

/* ---- remedies ---- */

static int remedy_cache(const struct remedy_context *context, struct remedy *remedy,
			struct error *err)
{
	int result = remedy_find_cache(context, &remedy->change, err);

	snprintf(remedy->advice, sizeof(remedy->advice),
		 "keep %.0f%% of the data %s, and never evict it",
		 100 * remedy->change.cache_share, remedy_where(context));
	return result < 0 ? result : 1;
}

/* Cores beyond the run's are counted as if each gave as much as those. */
static const char *at_least(const struct remedy_context *context, unsigned cores)
{
	return model_is_bounded(context->model, cores) ? "at least " : "";
}

static int remedy_cores(const struct remedy_context *context, struct remedy *remedy,
			struct error *err)
{
	unsigned cores;
	int result;

	if (context->profile->world != UNKNOWN)
		return 0;
	result = remedy_find_cores(context, &remedy->change, err);
	cores = remedy->change.cores;
	snprintf(remedy->advice, sizeof(remedy->advice),
		 "prepare on %s%u cores: more of them would gain little",
		 at_least(context, cores), cores);
	return result < 0 ? result : 1;
}

/* More cores want more data: first the cores as if all of it were in memory. */
static int remedy_both(const struct remedy_context *context, struct remedy *remedy,
		       struct error *err)
{
	struct profile_change *change = &remedy->change;
	int result;

	remedy_set_cache(context, CACHE_STEPS, change);
	result = remedy_find_cores(context, change, err);
	if (result == 0)
		result = remedy_find_cache(context, change, err);
	if (result < 0)
		return result;
	snprintf(remedy->advice, sizeof(remedy->advice),
		 "prepare on %s%u cores, and keep %.0f%% of the data %s",
		 at_least(context, change->cores), change->cores,
		 100 * change->cache_share, remedy_where(context));
	remedy->beyond = context->best;
	/* Where any cache would do, the cores alone are what helps. */
	return change->cache_share > 1. / CACHE_STEPS;
}

/* Fewer workers than cores leave cores idle. */
static int remedy_workers(const struct remedy_context *context, struct remedy *remedy,
			  struct error *err)
{
	unsigned cores = (unsigned)context->profile->cores;

	(void)err;
	remedy->change.workers = cores;
	snprintf(remedy->advice, sizeof(remedy->advice),
		 "a prep worker for each of the %u cores", cores);
	return context->profile->workers < context->profile->cores;
}

static void remedy_set_workers(const struct remedy_context *context, unsigned amount,
			       struct profile_change *change)
{
	(void)context;
	change->workers = amount;
}

/* Workers that make whole batches: more than cores, where they wait for storage. */
static int remedy_num_workers(const struct remedy_context *context,
			      struct remedy *remedy, struct error *err)
{
	const struct profile *profile = context->profile;
	unsigned workers = (unsigned)profile->workers;
	unsigned most = WORKERS_A_CORE * (unsigned)profile->cores + workers;
	int result;

	if (profile_loader(profile) != LOADER_TORCH)
		return 0;
	result = remedy_set_knee(context, remedy_set_workers, workers,
				 most < LIMIT_WORKERS ? most : LIMIT_WORKERS,
				 &remedy->change, err);
	snprintf(remedy->advice, sizeof(remedy->advice),
		 "num_workers=%u in the DataLoader: more would gain little",
		 remedy->change.workers);
	return result < 0 ? result : 1;
}

/* A cache that keeps what it has beats those that evict, at the same size. */
static int remedy_policy(const struct remedy_context *context, struct remedy *remedy,
			 struct error *err)
{
	int policy = context->profile->cache.id;

	(void)err;
	remedy->change.cache_policy.id = CACHE_MINIO;
	strcpy(remedy->advice, "the same cache, which never evicts");
	return context->profile->cache_share > 0 &&
	       (policy == CACHE_LRU || policy == CACHE_FIFO);
}

/* What every job prepares for itself now. */
static int remedy_sharing(const struct remedy_context *context, struct remedy *remedy,
			  struct error *err)
{
	unsigned jobs = (unsigned)context->profile->job_count;

	(void)err;
	remedy->change.jobs = jobs;
	remedy->change.share = true;
	snprintf(remedy->advice, sizeof(remedy->advice),
		 "one loader prepares each sample once for all %u jobs", jobs);
	return jobs >= 2 && !context->profile->shared;
}

/* Emulated storage, lifted. */
static int remedy_storage(const struct remedy_context *context, struct remedy *remedy,
			  struct error *err)
{
	bool bandwidth = context->profile->storage_bandwidth > 0;
	bool latency = context->profile->storage_latency_s > 0;

	(void)err;
	remedy->change.storage_bandwidth = bandwidth ? 0 : NAN;
	remedy->change.storage_latency_s = latency ? 0 : NAN;
	strcpy(remedy->advice, "the storage without the emulated limit");
	return bandwidth || latency;
}

/* The recipe that the run measured and that is the best of those that `fits`. */
static const struct profile_recipe *
remedy_recipe(const struct remedy_context *context,
	      bool (*fits)(const struct profile_change *change))
{
	const struct profile *profile = context->profile;
	const struct profile_recipe *best = NULL;

	for (size_t i = 0; i < profile->recipe_count; i++) {
		const struct profile_recipe *recipe = &profile->recipes[i];

		if (fits(&recipe->change) &&
		    (best == NULL || recipe->prep_ratio.value < best->prep_ratio.value))
			best = recipe;
	}
	return best;
}

static bool remedy_is_decoded(const struct profile_change *change)
{
	return change->resize == 0 && change->decoded;
}

static bool remedy_is_type(const struct profile_change *change)
{
	return profile_word_known(&change->type);
}

static int remedy_set_recipe(const struct remedy_context *context,
			     bool (*fits)(const struct profile_change *change),
			     struct remedy *remedy)
{
	const struct profile_recipe *recipe = remedy_recipe(context, fits);

	if (recipe == NULL)
		return 0;
	return profile_change_copy(&remedy->change, &recipe->change) < 0 ? -ENOMEM : 1;
}

/* The gain of a recipe; 0: it is not of pictures stored smaller, or not known. */
static int remedy_resize_gain(const struct remedy_context *context, size_t i,
			      double *gain, struct error *err)
{
	const struct profile_change *change = &context->profile->recipes[i].change;

	int result;

	*gain = 0;
	if (change->resize == 0 || change->decoded)
		return 0;
	result = model_gain(context->model, change, gain, err);
	return result == -ENODATA ? 0 : result;
}

/* The largest of the sizes that were measured with what the best of them gains, nearly. */
static int remedy_resize(const struct remedy_context *context, struct remedy *remedy,
			 struct error *err)
{
	const struct profile *profile = context->profile;
	double best = 1, gain = 0;
	int result = 0;

	for (size_t i = 0; result == 0 && i < profile->recipe_count; i++) {
		result = remedy_resize_gain(context, i, &gain, err);
		best = fmax(best, gain);
	}
	for (size_t i = 0; result == 0 && i < profile->recipe_count; i++) {
		unsigned size = profile->recipes[i].change.resize;

		result = remedy_resize_gain(context, i, &gain, err);
		if (gain > 0 && gain - 1 >= KNEE * (best - 1) &&
		    size > remedy->change.resize)
			remedy->change.resize = size;
	}
	snprintf(remedy->advice, sizeof(remedy->advice),
		 "a copy of the data with smaller pictures: dsa dataset convert "
		 "--resize %u",
		 remedy->change.resize);
	return result < 0 ? result : remedy->change.resize > 0;
}

static int remedy_decoded(const struct remedy_context *context, struct remedy *remedy,
			  struct error *err)
{
	(void)err;
	strcpy(remedy->advice, "a copy of the data that is decoded already");
	return remedy_set_recipe(context, remedy_is_decoded, remedy);
}

static int remedy_type(const struct remedy_context *context, struct remedy *remedy,
		       struct error *err)
{
	int result = remedy_set_recipe(context, remedy_is_type, remedy);

	(void)err;
	snprintf(remedy->advice, sizeof(remedy->advice),
		 "batches of %s, which the training step normalises",
		 result > 0 ? profile_word(profile_types, &remedy->change.type) : "");
	return result;
}

/* In place of the program's own loader, where it has all that this does. */
static int remedy_libdsa(const struct remedy_context *context, struct remedy *remedy,
			 struct error *err)
{
	(void)err;
	remedy->change.libdsa = true;
	strcpy(remedy->advice,
	       "prepare with libdsa: dsa.Loader in the DataLoader's place");
	return profile_loader(context->profile) == LOADER_TORCH &&
	       context->profile->world == UNKNOWN &&
	       context->profile->own_recipe.cpu_s.value > 0;
}

const struct remedy_kind remedy_table[REMEDIES] = {
	{.prep = true, .fetch = true, .libdsa = true, .make = remedy_sharing},
	{.fetch = true, .libdsa = true, .make = remedy_depth},
	{.fetch = true, .libdsa = true, .make = remedy_cache},
	{.fetch = true, .libdsa = true, .make = remedy_least_cache},
	{.fetch = true, .libdsa = true, .make = remedy_policy},
	{.fetch = true, .make = remedy_storage},
	{.prep = true, .libdsa = true, .make = remedy_workers},
	{.prep = true, .fetch = true, .make = remedy_num_workers},
	{.prep = true, .make = remedy_cores},
	{.both = true, .libdsa = true, .make = remedy_both},
	{.prep = true, .fetch = true, .libdsa = true, .make = remedy_resize},
	{.prep = true, .libdsa = true, .make = remedy_decoded},
	{.prep = true, .libdsa = true, .make = remedy_type},
	{.prep = true, .fetch = true, .make = remedy_libdsa},
};
