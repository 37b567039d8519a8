#include "models/whatif/advice.h"
#include "loader/base/error.h"
#include "models/predict/cores.h"
#include "models/predict/model.h"
#include "models/whatif/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_STEPS = 20, MOST_CORES_TRIED = 128 };

#define GONE   .01 /* a stall below that is removed */
#define NOISE  .01 /* a gain below that is none, whatever the precision */
#define FASTER 2.  /* the accelerator that is asked about */

struct adviser {
	struct profile *profile;
	const struct model *model;
	const char *run;
	double noise; /* a gain has to be larger */
};

static bool advice_stalled(const struct adviser *adviser, struct interval share)
{
	return share.value > GONE && !(share.low <= 0) &&
	       share.value > adviser->noise / 2;
}

/* By what they are ranked: of mere bounds only the lower end is certain. */
static double advice_likely(const struct profile_prediction *prediction)
{
	const struct interval *speedup = &prediction->speedup;

	return isnan(speedup->value) ? speedup->low : speedup->value;
}

/* Bounds that reach above the noise are told, as bounds. */
static bool is_worth(const struct adviser *adviser,
		     const struct profile_prediction *prediction, double beyond)
{
	const struct interval *speedup = &prediction->speedup;
	double gain = (isnan(speedup->value) ? speedup->high : speedup->low) / beyond;

	return gain - 1 > adviser->noise;
}

/* ---- asking the model ---- */

/*
 * Adds the prediction of a change to the profile. 1; 0: this run can't tell, and it is
 * left out; -ENOMEM.
 */
static int advice_ask(const struct adviser *adviser,
		      const struct profile_change *change,
		      struct profile_prediction **out, struct error *err)
{
	struct profile_prediction *prediction =
		profile_add_prediction(adviser->profile);
	int result = -ENOMEM;

	if (prediction != NULL)
		result = model_predict(adviser->model, change, prediction, err);
	if (result == -ENODATA || result == -EINVAL) {
		adviser->profile->prediction_count--;
		return 0;
	}
	if (result == 0)
		result = command_verify(change, adviser->run, &prediction->command);
	if (result < 0) {
		error_sys(err, ENOMEM, "ranking what would help");
		return -ENOMEM;
	}
	*out = prediction;
	return 1;
}

/* ---- how much of it ---- */

static void advice_set_cache(const struct adviser *adviser, unsigned twentieths,
			     struct profile_change *change)
{
	const char *policy = adviser->profile->cache;

	change->cache_share = (double)twentieths / CACHE_STEPS;
	if (policy != NULL && strcmp(policy, "minio") != 0)
		change->cache_policy = (char *)(uintptr_t) "minio";
}

static void advice_set_cores(const struct adviser *adviser, unsigned cores,
			     struct profile_change *change)
{
	(void)adviser;
	change->cores = cores;
}

/* What a stall is removed with, in whole numbers, and which. */
struct remedy {
	void (*set)(const struct adviser *adviser, unsigned amount,
		    struct profile_change *change);
	enum stage stage; /* whose stall it is to remove */
};

static const struct remedy cache_remedy = {advice_set_cache, STAGE_FETCH};
static const struct remedy cores_remedy = {advice_set_cores, STAGE_PREP};

/* Whether that much of it leaves no stall: 1 or 0; or -errno. */
static int is_enough(const struct adviser *adviser, const struct remedy *remedy,
		     unsigned amount, struct profile_change change, struct error *err)
{
	struct interval stalls[STAGES];
	int result;

	remedy->set(adviser, amount, &change);
	result = model_stalls(adviser->model, &change, 1, stalls, err);
	if (result < 0)
		return result;
	return stalls[remedy->stage].value <= GONE;
}

/*
 * Gives *change the least that leaves no stall, when `low` is too little and `high`
 * enough; what is in *change already stays. 0 or -errno.
 */
static int set_least(const struct adviser *adviser, const struct remedy *remedy,
		     unsigned low, unsigned high, struct profile_change *change,
		     struct error *err)
{
	while (high > low + 1) {
		unsigned middle = low + (high - low) / 2;
		int enough = is_enough(adviser, remedy, middle, *change, err);

		if (enough < 0)
			return enough;
		if (enough)
			high = middle;
		else
			low = middle;
	}
	remedy->set(adviser, high, change);
	return 0;
}

/* The smallest cache that leaves no fetch stall; with all of the data there is none. */
static int advice_find_cache(const struct adviser *adviser,
			     struct profile_change *change, struct error *err)
{
	double share = adviser->profile->cache_share;

	share = isnan(share) ? 0 : fmax(0, fmin(share, 1));
	return set_least(adviser, &cache_remedy, (unsigned)(share * CACHE_STEPS),
			 CACHE_STEPS, change, err);
}

/* The fewest cores that leave no prep stall, at best. -ENODATA: so many make no difference. */
static int find_cores(const struct adviser *adviser, struct profile_change *change,
		      struct error *err)
{
	unsigned low = (unsigned)adviser->profile->cores, high = low;
	int enough = 0;

	while (enough == 0 && high < MOST_CORES_TRIED) {
		low = high;
		high *= 2;
		enough = is_enough(adviser, &cores_remedy, high, *change, err);
	}
	if (enough < 0)
		return enough;
	return enough == 0 ? -ENODATA
			   : set_least(adviser, &cores_remedy, low, high, change, err);
}

/* ---- candidates ---- */

static int advice_say(struct profile_prediction *prediction, const char *advice,
		      bool worth, const char *unless)
{
	if (profile_text(&prediction->advice, "%s", advice) < 0)
		return -ENOMEM;
	if (worth)
		prediction->rank = 0; /* gets its place later */
	else if (prediction->why == NULL)
		return profile_text(&prediction->why, "%s", unless);
	return 0;
}

/* A candidate that helps where there is a stall; it has to gain more than `beyond`. */
static int advice_propose(struct adviser *adviser, const struct profile_change *change,
			  const char *advice, double beyond, struct error *err)
{
	struct profile_prediction *prediction;
	int result = advice_ask(adviser, change, &prediction, err);

	if (result <= 0)
		return result;
	if (advice_say(prediction, advice, is_worth(adviser, prediction, beyond),
		       beyond > 1 ? "a part of it gains as much"
				  : "what it gains is below the noise") < 0)
		return error_sys(err, ENOMEM, "ranking what would help");
	return 0;
}

/* The largest certain gain so far; 1: none. */
static double best_of(const struct profile *profile)
{
	double best = 1;

	for (size_t i = 0; i < profile->prediction_count; i++)
		if (profile->predictions[i].rank == 0)
			best = fmax(best, advice_likely(&profile->predictions[i]));
	return best;
}

/* What the run can't tell is left out. */
static int unless_unknown(int result)
{
	return result == -ENODATA || result == -EINVAL ? 0 : result;
}

static int propose_cache(struct adviser *adviser, struct error *err)
{
	struct profile_change change;
	char advice[96];
	int result;

	profile_change_init(&change);
	result = advice_find_cache(adviser, &change, err);
	if (result < 0)
		return unless_unknown(result);
	snprintf(advice, sizeof(advice),
		 "a minio cache of %.0f%% removes the fetch stall",
		 100 * change.cache_share);
	return advice_propose(adviser, &change, advice, 1, err);
}

/* Cores beyond the run's are counted as if each gave as much as those. */
static const char *at_least(const struct adviser *adviser, unsigned cores)
{
	return model_is_bounded(adviser->model, cores) ? "at least " : "";
}

static int propose_cores(struct adviser *adviser, struct error *err)
{
	struct profile_change change;
	char advice[96];
	int result;

	profile_change_init(&change);
	result = find_cores(adviser, &change, err);
	if (result < 0)
		return unless_unknown(result);
	snprintf(advice, sizeof(advice), "%s%u cores remove the prep stall",
		 at_least(adviser, change.cores), change.cores);
	return advice_propose(adviser, &change, advice, 1, err);
}

/* More cores want more data: first the cores as if all of it were in memory. */
static int propose_both(struct adviser *adviser, struct error *err)
{
	struct profile_change change;
	char advice[96];
	int result;

	profile_change_init(&change);
	advice_set_cache(adviser, CACHE_STEPS, &change);
	result = find_cores(adviser, &change, err);
	if (result == 0)
		result = advice_find_cache(adviser, &change, err);
	if (result < 0)
		return unless_unknown(result);
	if (change.cache_share <= 1. / CACHE_STEPS)
		return 0; /* any cache would do: the cores alone are what helps */
	snprintf(advice, sizeof(advice),
		 "%s%u cores and a minio cache of %.0f%% remove both stalls",
		 at_least(adviser, change.cores), change.cores,
		 100 * change.cache_share);
	return advice_propose(adviser, &change, advice, best_of(adviser->profile), err);
}

/* Fewer workers than cores leave cores idle. */
static int propose_workers(struct adviser *adviser, struct error *err)
{
	struct profile_change change;
	char advice[96];

	if (adviser->profile->workers >= adviser->profile->cores)
		return 0;
	profile_change_init(&change);
	change.workers = (unsigned)adviser->profile->cores;
	snprintf(advice, sizeof(advice), "a prep worker for each of the %u cores",
		 change.workers);
	return advice_propose(adviser, &change, advice, 1, err);
}

/* A cache that keeps what it has beats those that evict, at the same size. */
static int propose_policy(struct adviser *adviser, struct error *err)
{
	const char *policy = adviser->profile->cache;
	struct profile_change change;

	if (policy == NULL || !(adviser->profile->cache_share > 0) ||
	    (strcmp(policy, "lru") != 0 && strcmp(policy, "fifo") != 0))
		return 0;
	profile_change_init(&change);
	change.cache_policy = (char *)(uintptr_t) "minio";
	return advice_propose(adviser, &change, "the same cache never evicts (minio)",
			      1, err);
}

/* What every job prepares for itself now. */
static int propose_sharing(struct adviser *adviser, struct error *err)
{
	const struct profile *profile = adviser->profile;
	struct profile_change change;
	char advice[96];

	if (profile->job_count < 2 || profile->shared)
		return 0;
	profile_change_init(&change);
	change.jobs = (unsigned)profile->job_count;
	change.share = true;
	snprintf(advice, sizeof(advice),
		 "one loader prepares each sample once for all %u jobs", change.jobs);
	return advice_propose(adviser, &change, advice, 1, err);
}

/* Emulated storage, lifted. */
static int propose_storage(struct adviser *adviser, struct error *err)
{
	const struct profile *profile = adviser->profile;
	struct profile_change change;

	profile_change_init(&change);
	if (profile->storage_bandwidth > 0)
		change.storage_bandwidth = 0;
	if (profile->storage_latency_s > 0)
		change.storage_latency_s = 0;
	if (isnan(change.storage_bandwidth) && isnan(change.storage_latency_s))
		return 0;
	return advice_propose(adviser, &change, "the storage itself, not slowed down",
			      1, err);
}

/* No advice, but always asked: a faster accelerator. */
static int look_at_gpu(struct adviser *adviser, struct error *err)
{
	struct profile_prediction *prediction;
	struct profile_change change;
	bool wasted;
	int result;

	profile_change_init(&change);
	change.gpu_speed = FASTER;
	result = advice_ask(adviser, &change, &prediction, err);
	if (result <= 0)
		return result;
	wasted = advice_likely(prediction) - 1 <= adviser->noise;
	if (profile_text(&prediction->advice, "an accelerator %.0fx as fast%s", FASTER,
			 wasted ? " would be wasted" : "") < 0 ||
	    profile_text(&prediction->why, "%s",
			 wasted ? "it would wait for data all the time that it saves"
				: "no stall is removed by it: it computes faster") < 0)
		return error_sys(err, ENOMEM, "ranking what would help");
	return 0;
}

/* What can be saved without a loss: half of the cores. */
static int look_at_less(struct adviser *adviser, struct error *err)
{
	const struct profile *profile = adviser->profile;
	struct profile_prediction *prediction;
	struct profile_change change;
	int result;

	if (profile->cores < 2)
		return 0;
	profile_change_init(&change);
	change.cores = (unsigned)profile->cores / 2;
	result = advice_ask(adviser, &change, &prediction, err);
	if (result <= 0)
		return result;
	return profile_text(&prediction->why, "%s",
			    advice_likely(prediction) > 1 - adviser->noise
				    ? "half of the cores would do as well"
				    : "half of the cores would not do") < 0
		       ? error_sys(err, ENOMEM, "ranking what would help")
		       : 0;
}

static int propose_all(struct adviser *adviser, struct error *err)
{
	const struct interval *stalls = adviser->profile->stalls;
	bool fetch = advice_stalled(adviser, stalls[STAGE_FETCH]);
	bool prep = advice_stalled(adviser, stalls[STAGE_PREP]);
	int result = 0;

	if (fetch || prep)
		result = propose_sharing(adviser, err);
	if (result == 0 && fetch)
		result = propose_cache(adviser, err);
	if (result == 0 && fetch)
		result = propose_policy(adviser, err);
	if (result == 0 && fetch)
		result = propose_storage(adviser, err);
	if (result == 0 && prep)
		result = propose_workers(adviser, err);
	if (result == 0 && prep)
		result = propose_cores(adviser, err);
	if (result == 0 && fetch && prep)
		result = propose_both(adviser, err);
	if (result == 0)
		result = look_at_gpu(adviser, err);
	return result < 0 ? result : look_at_less(adviser, err);
}

/* ---- ranks ---- */

/* Advised ones first, the likeliest gain in front; the others stay in their order. */
static bool goes_before(const struct profile_prediction *a,
			const struct profile_prediction *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return a->rank == 0 && advice_likely(a) > advice_likely(b);
}

static void advice_rank(struct profile *profile)
{
	struct profile_prediction *all = profile->predictions;
	uint64_t next = 1;

	for (size_t i = 1; i < profile->prediction_count; i++)
		for (size_t j = i; j > 0 && goes_before(&all[j], &all[j - 1]); j--) {
			struct profile_prediction swap = all[j];

			all[j] = all[j - 1];
			all[j - 1] = swap;
		}
	for (size_t i = 0; i < profile->prediction_count; i++)
		if (all[i].rank == 0)
			all[i].rank = next++;
}

int advise(struct profile *profile, const struct model *model, const char *run,
	   struct error *err)
{
	struct adviser adviser = {
		.profile = profile,
		.model = model,
		.run = run,
		.noise =
			fmax(NOISE, isnan(profile->precision) ? 0 : profile->precision),
	};
	int result;

	profile_drop_predictions(profile);
	if (model_note(model, profile) < 0)
		return error_sys(err, ENOMEM, "ranking what would help");
	if (profile->model.why != NULL)
		return 0;
	result = propose_all(&adviser, err);
	if (result == 0)
		advice_rank(profile);
	return result;
}
