/* advice.c - proposes changes, asks the model about each, and ranks them. */
#include "models/whatif/advice.h"
#include "loader/base/error.h"
#include "models/predict/cores.h"
#include "models/predict/model.h"
#include "models/whatif/command.h"

#include <errno.h>
#include <stdio.h>
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
	struct error *err;
};

/* A change that may help, and what is said for it. */
struct candidate {
	struct profile_change change;
	char advice[96];
	double beyond; /* the gain has to be larger than that of these */
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

/* Bounds that reach above the noise are worth it, as bounds. */
static bool is_worth(const struct adviser *adviser,
		     const struct profile_prediction *prediction, double beyond)
{
	const struct interval *speedup = &prediction->speedup;
	double gain = (isnan(speedup->value) ? speedup->high : speedup->low) / beyond;

	return gain - 1 > adviser->noise;
}

/* ---- asking the model ---- */

static int advice_short(const struct adviser *adviser)
{
	return error_sys(adviser->err, ENOMEM, "ranking what would help");
}

/*
 * Adds the prediction of a change to the profile. 1; 0: this run does not show it, and
 * it is left out; -ENOMEM.
 */
static int advice_ask(const struct adviser *adviser,
		      const struct profile_change *change,
		      struct profile_prediction **out)
{
	struct profile_prediction *prediction =
		profile_add_prediction(adviser->profile);
	int result = -ENOMEM;

	if (prediction != NULL)
		result =
			model_predict(adviser->model, change, prediction, adviser->err);
	if (result == -ENODATA || result == -EINVAL) {
		adviser->profile->prediction_count--;
		return 0;
	}
	if (result == 0)
		result = command_verify(change, adviser->run, &prediction->command);
	*out = prediction;
	return result < 0 ? advice_short(adviser) : 1;
}

/* ---- how much of it ---- */

/* Gives *change what removes the stall of a stage: for prep so many cores, for fetch a
 * cache of so many of CACHE_STEPS parts of the data set. */
static void advice_set(const struct adviser *adviser, enum stage stage, unsigned amount,
		       struct profile_change *change)
{
	const struct profile_word *policy = &adviser->profile->cache;

	if (stage == STAGE_PREP) {
		change->cores = amount;
		return;
	}
	change->cache_share = (double)amount / CACHE_STEPS;
	if (profile_word_known(policy) && policy->id != CACHE_MINIO)
		change->cache_policy.id = CACHE_MINIO;
}

/* Whether that much of it leaves no stall: 1 or 0; or -errno. */
static int is_enough(const struct adviser *adviser, enum stage stage, unsigned amount,
		     struct profile_change change)
{
	struct interval stalls[STAGES];
	int result;

	advice_set(adviser, stage, amount, &change);
	result = model_stalls(adviser->model, &change, 1, stalls, adviser->err);
	if (result < 0)
		return result;
	return stalls[stage].value <= GONE;
}

/*
 * Gives *change the least that leaves no stall, when `low` is too little and `high`
 * enough; what is in *change already stays. 0 or -errno.
 */
static int set_least(const struct adviser *adviser, enum stage stage, unsigned low,
		     unsigned high, struct profile_change *change)
{
	while (high > low + 1) {
		unsigned middle = low + (high - low) / 2;
		int enough = is_enough(adviser, stage, middle, *change);

		if (enough < 0)
			return enough;
		if (enough)
			high = middle;
		else
			low = middle;
	}
	advice_set(adviser, stage, high, change);
	return 0;
}

/* The smallest cache that leaves no fetch stall; with all of the data there is none. */
static int advice_find_cache(const struct adviser *adviser,
			     struct profile_change *change)
{
	double share = adviser->profile->cache_share;

	share = isnan(share) ? 0 : fmax(0, fmin(share, 1));
	return set_least(adviser, STAGE_FETCH, (unsigned)(share * CACHE_STEPS),
			 CACHE_STEPS, change);
}

/* The fewest cores that leave no prep stall, at best. -ENODATA: they change nothing. */
static int find_cores(const struct adviser *adviser, struct profile_change *change)
{
	unsigned low = (unsigned)adviser->profile->cores, high = low;
	int enough = 0;

	while (enough == 0 && high < MOST_CORES_TRIED) {
		low = high;
		high *= 2;
		enough = is_enough(adviser, STAGE_PREP, high, *change);
	}
	if (enough < 0)
		return enough;
	return enough == 0 ? -ENODATA
			   : set_least(adviser, STAGE_PREP, low, high, change);
}

/* ---- candidates ---- */

/* Adds the prediction of a candidate; advised if it gains enough. */
static int advice_propose(const struct adviser *adviser,
			  const struct candidate *candidate)
{
	const char *unless = candidate->beyond > 1 ? "a part of it gains as much"
						   : "what it gains is below the noise";
	struct profile_prediction *prediction;
	int result = advice_ask(adviser, &candidate->change, &prediction);

	if (result <= 0)
		return result;
	result = profile_text(&prediction->advice, "%s", candidate->advice);
	if (is_worth(adviser, prediction, candidate->beyond))
		prediction->rank = 0; /* gets its place later */
	else if (result == 0 && prediction->why == NULL)
		result = profile_text(&prediction->why, "%s", unless);
	return result < 0 ? advice_short(adviser) : 0;
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

/* Fills a candidate, whose change is none yet. 1; 0: there is none; -errno. */
typedef int advice_make(const struct adviser *adviser, struct candidate *candidate);

static int advice_make_cache(const struct adviser *adviser, struct candidate *candidate)
{
	int result = advice_find_cache(adviser, &candidate->change);

	snprintf(candidate->advice, sizeof(candidate->advice),
		 "a minio cache of %.0f%% removes the fetch stall",
		 100 * candidate->change.cache_share);
	return result < 0 ? result : 1;
}

/* Cores beyond the run's are counted as if each gave as much as those. */
static const char *at_least(const struct adviser *adviser, unsigned cores)
{
	return model_is_bounded(adviser->model, cores) ? "at least " : "";
}

static int make_cores(const struct adviser *adviser, struct candidate *candidate)
{
	struct profile_change *change = &candidate->change;
	int result = find_cores(adviser, change);

	snprintf(candidate->advice, sizeof(candidate->advice),
		 "%s%u cores remove the prep stall", at_least(adviser, change->cores),
		 change->cores);
	return result < 0 ? result : 1;
}

/* More cores want more data: first the cores as if all of it were in memory. */
static int make_both(const struct adviser *adviser, struct candidate *candidate)
{
	struct profile_change *change = &candidate->change;
	int result;

	advice_set(adviser, STAGE_FETCH, CACHE_STEPS, change);
	result = find_cores(adviser, change);
	if (result == 0)
		result = advice_find_cache(adviser, change);
	if (result < 0)
		return result;
	snprintf(candidate->advice, sizeof(candidate->advice),
		 "%s%u cores and a minio cache of %.0f%% remove both stalls",
		 at_least(adviser, change->cores), change->cores,
		 100 * change->cache_share);
	candidate->beyond = best_of(adviser->profile);
	/* Where any cache would do, the cores alone are what helps. */
	return change->cache_share > 1. / CACHE_STEPS;
}

/* Fewer workers than cores leave cores idle. */
static int make_workers(const struct adviser *adviser, struct candidate *candidate)
{
	unsigned cores = (unsigned)adviser->profile->cores;

	candidate->change.workers = cores;
	snprintf(candidate->advice, sizeof(candidate->advice),
		 "a prep worker for each of the %u cores", cores);
	return adviser->profile->workers < adviser->profile->cores;
}

/* A cache that keeps what it has beats those that evict, at the same size. */
static int make_policy(const struct adviser *adviser, struct candidate *candidate)
{
	int policy = adviser->profile->cache.id;

	candidate->change.cache_policy.id = CACHE_MINIO;
	strcpy(candidate->advice, "the same cache never evicts (minio)");
	return adviser->profile->cache_share > 0 &&
	       (policy == CACHE_LRU || policy == CACHE_FIFO);
}

/* What every job prepares for itself now. */
static int make_sharing(const struct adviser *adviser, struct candidate *candidate)
{
	unsigned jobs = (unsigned)adviser->profile->job_count;

	candidate->change.jobs = jobs;
	candidate->change.share = true;
	snprintf(candidate->advice, sizeof(candidate->advice),
		 "one loader prepares each sample once for all %u jobs", jobs);
	return jobs >= 2 && !adviser->profile->shared;
}

/* Emulated storage, lifted. */
static int make_storage(const struct adviser *adviser, struct candidate *candidate)
{
	bool bandwidth = adviser->profile->storage_bandwidth > 0;
	bool latency = adviser->profile->storage_latency_s > 0;

	candidate->change.storage_bandwidth = bandwidth ? 0 : NAN;
	candidate->change.storage_latency_s = latency ? 0 : NAN;
	strcpy(candidate->advice, "the storage itself, not slowed down");
	return bandwidth || latency;
}

/* No advice, but always asked: a faster accelerator. */
static int look_at_gpu(const struct adviser *adviser)
{
	struct profile_prediction *prediction;
	struct profile_change change = PROFILE_NO_CHANGE;
	bool wasted;
	int result;

	change.gpu_speed = FASTER;
	result = advice_ask(adviser, &change, &prediction);
	if (result <= 0)
		return result;
	wasted = advice_likely(prediction) - 1 <= adviser->noise;
	if (profile_text(&prediction->advice, "an accelerator %.0fx as fast%s", FASTER,
			 wasted ? " would be wasted" : "") < 0 ||
	    profile_text(&prediction->why, "%s",
			 wasted ? "it would wait for data all the time that it saves"
				: "no stall is removed by it: it computes faster") < 0)
		return advice_short(adviser);
	return 0;
}

/* What can be saved without a loss: half of the cores. */
static int look_at_less(const struct adviser *adviser)
{
	const struct profile *profile = adviser->profile;
	struct profile_prediction *prediction;
	struct profile_change change = PROFILE_NO_CHANGE;
	int result;

	if (profile->cores < 2)
		return 0;
	change.cores = (unsigned)profile->cores / 2;
	result = advice_ask(adviser, &change, &prediction);
	if (result <= 0)
		return result;
	return profile_text(&prediction->why, "%s",
			    advice_likely(prediction) > 1 - adviser->noise
				    ? "half of the cores would do as well"
				    : "half of the cores would not do") < 0
		       ? advice_short(adviser)
		       : 0;
}

/* What the run does not show is left out. */
static int propose_made(const struct adviser *adviser, advice_make *make)
{
	struct candidate candidate = {.change = PROFILE_NO_CHANGE, .beyond = 1};
	int result;

	result = make(adviser, &candidate);
	if (result == -ENODATA || result == -EINVAL)
		return 0;
	return result <= 0 ? result : advice_propose(adviser, &candidate);
}

/* In this order, as the last ones have to gain more than those before them. */
static int propose_all(const struct adviser *adviser)
{
	const struct interval *stalls = adviser->profile->stalls;
	bool fetch = advice_stalled(adviser, stalls[STAGE_FETCH]);
	bool prep = advice_stalled(adviser, stalls[STAGE_PREP]);
	const struct {
		bool helps;
		advice_make *make;
	} all[] = {
		{fetch || prep, make_sharing}, {fetch, advice_make_cache},
		{fetch, make_policy},          {fetch, make_storage},
		{prep, make_workers},          {prep, make_cores},
		{fetch && prep, make_both},
	};
	int result = 0;

	for (size_t i = 0; result == 0 && i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].helps)
			result = propose_made(adviser, all[i].make);
	if (result == 0)
		result = look_at_gpu(adviser);
	return result < 0 ? result : look_at_less(adviser);
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
	const struct adviser adviser = {
		.profile = profile,
		.model = model,
		.run = run,
		.noise = fmax(NOISE, profile->precision), /* NAN: NOISE */
		.err = err,
	};
	int result;

	profile_drop_predictions(profile);
	if (model_note(model, profile) < 0)
		return advice_short(&adviser);
	if (profile->model.why != NULL)
		return 0;
	result = propose_all(&adviser);
	if (result == 0)
		advice_rank(profile);
	return result;
}
