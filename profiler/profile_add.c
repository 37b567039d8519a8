/* profile_add.c - appends elements to a profile's arrays, their numbers unknown. */
#include "profiler/profile.h"
#include "profiler/profile_fields.h"
#include "profiler/profile_prediction.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Appends a copy of `fresh` to *array. Returns where it lies; NULL: no memory. */
static void *profile_append(void *array, size_t *count, const void *fresh, size_t size)
{
	void *old, *grown;

	memcpy(&old, array, sizeof(old));
	grown = reallocarray(old, *count + 1, size);
	if (grown == NULL)
		return NULL;
	memcpy(array, &grown, sizeof(grown));
	return memcpy((char *)grown + (*count)++ * size, fresh, size);
}

/* Defines profile_add_NAME(); the last arguments initialise what is not 0 in a new
 * element. */
#define ADD(name, structure, array, count, ...)                                        \
	struct structure *profile_add_##name(struct profile *profile)                  \
	{                                                                              \
		const struct structure fresh = {__VA_ARGS__};                          \
		return profile_append(&profile->array, &profile->count, &fresh,        \
				      sizeof(fresh));                                  \
	}

#define POINT                                                                          \
	.per_s = INTERVAL_UNKNOWN, .bytes_per_s = NAN, .cpu_s_per_sample = NAN,        \
	.read_s = NAN
#define CHANGE .change = PROFILE_NO_CHANGE
#define RATES  .rates = {TRACE_RATED(PROFILE_UNKNOWN)}
#define STALLS .stalls = {STAGE_TABLE(PROFILE_UNKNOWN)}

ADD(window, profile_window, windows, window_count, PROFILE_WINDOW(UNKNOWN_OF))
ADD(prep_point, profile_point, prep_curve, prep_points, POINT)
ADD(fetch_point, profile_point, fetch_curve, fetch_points, POINT)
ADD(epoch, profile_epoch, epochs, epoch_count, .hits = UNKNOWN, .misses = UNKNOWN,
    .miss_bytes = UNKNOWN)
ADD(skip, profile_skip, skips, skip_count, 0)
ADD(counter, profile_counter, counters, counter_count, .per_sample = NAN,
    .running = NAN)
ADD(process, profile_process, processes, process_count, .cpu_s = NAN,
    .read_bytes = UNKNOWN, .samples = UNKNOWN, .threads = UNKNOWN, .batches = UNKNOWN)
ADD(device, profile_device, devices, device_count, .pid = UNKNOWN, .device = UNKNOWN,
    .kind = PROFILE_NO_WORD, .length_s = NAN, .busy_s = NAN, .copy_s = NAN,
    .data_s = NAN, .host_s = NAN, .overlap_s = NAN, .collective_s = NAN)
ADD(rank, profile_rank, ranks, rank_count, .communicator = UNKNOWN, .rank = UNKNOWN,
    .ranks = UNKNOWN, .pid = UNKNOWN, .compared = UNKNOWN, .inside_s = NAN,
    .waited_s = NAN, .last = UNKNOWN, .last_s = NAN)
ADD(fact, profile_fact, environment, fact_count, .key = NULL)
ADD(part, profile_part, parts, part_count, .calls = UNKNOWN, .mean_s = NAN,
    .share = NAN)
ADD(slow, profile_slow, slowest, slow_count, .sample = UNKNOWN, .prep_s = NAN)
ADD(draw, profile_draw, draws, draw_count, .bytes = UNKNOWN, .fetch_s = NAN,
    .prep_s = NAN)
ADD(recipe, profile_recipe, recipes, recipe_count, CHANGE,
    .prep_ratio = INTERVAL_UNKNOWN, .bytes_ratio = NAN, .samples = UNKNOWN)
ADD(job, profile_job, jobs, job_count, RATES, STALLS, .target_status = -1,
    .blocked_share = NAN, .ahead_batches = NAN)
ADD(prediction, profile_prediction, predictions, prediction_count, CHANGE, STALLS,
    .limit = PROFILE_NO_WORD, .per_s = INTERVAL_UNKNOWN, .per_job = INTERVAL_UNKNOWN,
    .speedup = INTERVAL_UNKNOWN, .cost = INTERVAL_UNKNOWN,
    .traffic = PROFILE_NO_TRAFFIC, .hit_ratio = NAN, .memory_bytes = NAN,
    .read_bytes_per_s = NAN, .prep_cores = NAN, .rank = UNKNOWN)
ADD(verification, profile_verification, verifications, verification_count, CHANGE,
    .predicted = INTERVAL_UNKNOWN, .measured = INTERVAL_UNKNOWN, .error = NAN,
    .drift = NAN, .covered = -1, .hit_ratio = NAN, .hit_ratio_predicted = NAN)

int profile_set_fact(struct profile *profile, const char *key, const char *value)
{
	struct profile_fact *fact = profile_add_fact(profile);

	if (fact != NULL && profile_text(&fact->key, "%s", key) == 0 &&
	    profile_text(&fact->value, "%s", value) == 0)
		return 0;
	if (fact != NULL) {
		free(fact->key);
		profile->fact_count--;
	}
	return -ENOMEM;
}
