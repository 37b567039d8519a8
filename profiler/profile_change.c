/* profile_change.c - copies and compares changes; what follows from one. */
#include "profiler/profile_change.h"
#include "loader/base/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int profile_change_copy(struct profile_change *to, const struct profile_change *from)
{
	*to = *from;
	to->type = PROFILE_NO_WORD;
	to->without = NULL;
	if (profile_word_copy(&to->cache_policy, &from->cache_policy) < 0 ||
	    profile_word_copy(&to->type, &from->type) < 0)
		return -ENOMEM;
	return profile_copy_text(&to->without, from->without);
}

void profile_change_free(struct profile_change *change)
{
	free(change->cache_policy.other);
	free(change->type.other);
	free(change->without);
	*change = PROFILE_NO_CHANGE;
}

static bool change_same_number(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static bool change_same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool change_same_speeds(const double *a, const double *b)
{
	for (int i = 0; i < PROFILE_SPEEDS; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

static bool change_same_storage(const struct profile_change *a,
				const struct profile_change *b)
{
	return change_same_number(a->storage_bandwidth, b->storage_bandwidth) &&
	       change_same_number(a->storage_latency_s, b->storage_latency_s) &&
	       change_same_number(a->bucket_latency_s, b->bucket_latency_s) &&
	       change_same_number(a->bucket_per_s, b->bucket_per_s) &&
	       a->block_fetch == b->block_fetch &&
	       a->block_threshold == b->block_threshold &&
	       a->block_capacity == b->block_capacity;
}

bool profile_change_equal(const struct profile_change *a,
			  const struct profile_change *b)
{
	return a->cores == b->cores && a->workers == b->workers &&
	       a->batch == b->batch &&
	       change_same_number(a->cache_share, b->cache_share) &&
	       profile_word_equal(&a->cache_policy, &b->cache_policy) &&
	       change_same_number(a->gpu_speed, b->gpu_speed) &&
	       change_same_storage(a, b) && a->fetch_depth == b->fetch_depth &&
	       a->jobs == b->jobs && change_same_speeds(a->job_speed, b->job_speed) &&
	       a->share == b->share && a->resize == b->resize &&
	       profile_word_equal(&a->type, &b->type) && a->decoded == b->decoded &&
	       a->libdsa == b->libdsa && change_same_text(a->without, b->without);
}

unsigned profile_change_workers(const struct profile *profile,
				const struct profile_change *change)
{
	if (change->workers > 0)
		return change->workers;
	if (profile->workers == UNKNOWN)
		return 0;
	if (change->cores > 0 && profile->workers == profile->cores &&
	    profile_loader(profile) == LOADER_DSA)
		return change->cores < LIMIT_WORKERS ? change->cores : LIMIT_WORKERS;
	return (unsigned)profile->workers;
}
