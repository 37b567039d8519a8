/* sweep_changes.c - every combination of a sweep's values, as changes of one run. */
#include "loader/base/error.h"
#include "models/predict/recipes.h"
#include "models/whatif/sweep.h"
#include "models/whatif/without.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What a result file makes of it. */
static double sweep_changes_kept(double number)
{
	char text[32];

	snprintf(text, sizeof(text), "%.9g", number);
	return strtod(text, NULL);
}

static int sweep_changes_set_cache(struct profile_change *change,
				   const struct sweep_value *value,
				   const struct profile *profile, struct error *err)
{
	double bytes = (double)profile->dataset_bytes;

	if (!value->bytes || value->number == 0) {
		change->cache_share = sweep_changes_kept(value->number);
		return 0;
	}
	if (profile->dataset_bytes == UNKNOWN || profile->dataset_bytes == 0)
		return error_set(err, ENODATA,
				 "the result does not say the size of its data set: "
				 "give the cache as a share of it");
	change->cache_share = sweep_changes_kept(fmin(1, value->number / bytes));
	return 0;
}

/* So many bytes hold another share of samples that are stored as others. */
static void sweep_changes_scale_cache(struct profile_change *change,
				      const struct sweep_value *value,
				      const struct profile *profile)
{
	struct recipe_effect effect;

	if (!value->bytes || !(change->cache_share > 0) || !recipes_asked(change) ||
	    recipes_effect(profile, change, &effect, NULL) < 0)
		return;
	change->cache_share = sweep_changes_kept(fmin(
		1, value->number / ((double)profile->dataset_bytes * effect.bytes)));
}

static int set_member(struct profile_change *change, int which,
		      const struct sweep_value *value, const struct profile *profile,
		      struct error *err)
{
	unsigned *const counts[SWEEP_KEYS] = {
		[SWEEP_CORES] = &change->cores,   [SWEEP_WORKERS] = &change->workers,
		[SWEEP_BATCH] = &change->batch,   [SWEEP_JOBS] = &change->jobs,
		[SWEEP_RESIZE] = &change->resize, [SWEEP_DEPTH] = &change->fetch_depth,
	};
	double *const numbers[SWEEP_KEYS] = {
		[SWEEP_SPEED] = &change->gpu_speed,
		[SWEEP_BANDWIDTH] = &change->storage_bandwidth,
		[SWEEP_LATENCY] = &change->storage_latency_s,
		[SWEEP_BUCKET] = &change->bucket_latency_s,
	};

	if (which == SWEEP_WITHOUT)
		return without_set(change, value->name, profile, err);
	if (which == SWEEP_CACHE)
		return sweep_changes_set_cache(change, value, profile, err);
	if (which == SWEEP_POLICY)
		change->cache_policy.id = (int)value->number;
	if (which == SWEEP_BUCKET)
		change->bucket_per_s = sweep_changes_kept(value->rate);
	if (which == SWEEP_BLOCKS) {
		change->block_fetch = (unsigned)value->block[0];
		change->block_threshold = (unsigned)value->block[1];
		change->block_capacity = (unsigned)value->block[2];
	}
	if (which == SWEEP_TYPE)
		change->type.id = (int)value->number;
	if (which == SWEEP_SHARE)
		change->share = value->number == 1;
	if (which == SWEEP_DECODED)
		change->decoded = value->number == 1;
	if (counts[which] != NULL)
		*counts[which] = (unsigned)value->number;
	if (numbers[which] != NULL)
		*numbers[which] = sweep_changes_kept(value->number);
	for (int i = 0; which == SWEEP_JOBS && i < PROFILE_SPEEDS; i++)
		change->job_speed[i] = sweep_changes_kept(value->job_speed[i]);
	return 0;
}

/* Which jobs share. */
static int normalise_jobs(struct profile_change *change, const struct profile *profile,
			  struct error *err)
{
	if (!change->share || change->jobs > 0)
		return 0;
	if (profile->job_count < 2)
		return error_set(err, EINVAL,
				 "how many jobs share a loader? the run had one: give "
				 "jobs too, such as 4");
	change->jobs = (unsigned)fmin((double)profile->job_count, UINT16_MAX);
	return 0;
}

static int normalise_cache(struct profile_change *change, const struct profile *profile,
			   struct error *err)
{
	int *policy = &change->cache_policy.id;

	if (change->cache_share == 0 || *policy == CACHE_NONE) {
		*policy = -1;
		change->cache_share = 0;
	} else if (*policy < 0 && !isnan(change->cache_share) &&
		   !profile_has_own_cache(profile) &&
		   profile_loader(profile) == LOADER_DSA) {
		*policy = CACHE_MINIO;
	}
	if (*policy >= 0 && isnan(change->cache_share) && *policy != CACHE_PAGE &&
	    !profile_has_own_cache(profile))
		return error_set(err, EINVAL,
				 "how large is the %s cache? the run had none: give "
				 "cache too, such as 50%%",
				 profile_caches[*policy]);
	return 0;
}

/* Makes one combination: key i has its at[i]-th value. The normalise functions leave
 * one way to say each thing, so that equal changes compare equal. */
static int sweep_changes_combine(const struct sweep *sweep, const size_t *at,
				 const struct profile *profile,
				 struct profile_change *change, struct error *err)
{
	int result = 0;

	*change = PROFILE_NO_CHANGE;
	for (int i = 0; result == 0 && i < SWEEP_KEYS; i++)
		if (sweep->keys[i].count > 0)
			result = set_member(change, i, &sweep->keys[i].value[at[i]],
					    profile, err);
	if (result == 0 && sweep->keys[SWEEP_CACHE].count > 0)
		sweep_changes_scale_cache(
			change, &sweep->keys[SWEEP_CACHE].value[at[SWEEP_CACHE]],
			profile);
	if (result == 0)
		result = normalise_jobs(change, profile, err);
	if (result == 0)
		result = normalise_cache(change, profile, err);
	if (result < 0)
		profile_change_free(change);
	return result;
}

/* The next combination; false after the last. The last key turns fastest. */
static bool sweep_changes_turn(const struct sweep *sweep, size_t *at)
{
	for (int i = SWEEP_KEYS - 1; i >= 0; i--) {
		if (++at[i] < sweep->keys[i].count)
			return true;
		at[i] = 0;
	}
	return false;
}

/* How many combinations; 0: nothing was set. May end early when they are too many. */
static size_t sweep_changes_combinations(const struct sweep *sweep)
{
	size_t product = 1;
	bool any = false;

	for (int i = 0; i < SWEEP_KEYS && product <= SWEEP_CHANGES; i++) {
		if (sweep->keys[i].count == 0)
			continue;
		product *= sweep->keys[i].count;
		any = true;
	}
	return any ? product : 0;
}

/* Takes over the change, unless the list has it. */
static void sweep_changes_keep(struct sweep_list *list, struct profile_change *change)
{
	for (size_t i = 0; i < list->count; i++)
		if (profile_change_equal(&list->changes[i], change)) {
			profile_change_free(change);
			return;
		}
	list->changes[list->count++] = *change;
}

int sweep_changes(const struct sweep *sweep, const struct profile *profile,
		  struct sweep_list *list, struct error *err)
{
	size_t most = sweep_changes_combinations(sweep), at[SWEEP_KEYS] = {0};
	int result = 0;

	*list = (struct sweep_list){0};
	if (most == 0)
		return 0;
	if (most > SWEEP_CHANGES)
		return error_set(err, EINVAL,
				 "more than %d combinations: give fewer values",
				 SWEEP_CHANGES);
	list->changes = calloc(most, sizeof(*list->changes));
	if (list->changes == NULL)
		return error_sys(err, ENOMEM, "reading the changes");
	do {
		struct profile_change change;

		result = sweep_changes_combine(sweep, at, profile, &change, err);
		if (result == 0)
			sweep_changes_keep(list, &change);
	} while (result == 0 && sweep_changes_turn(sweep, at));
	return result;
}

void sweep_list_free(struct sweep_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		profile_change_free(&list->changes[i]);
	free(list->changes);
	*list = (struct sweep_list){0};
}
