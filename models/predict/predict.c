/* predict.c - predicts the effect of one change. */
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/base/math/quadrature.h"
#include "models/predict/cost.h"
#include "models/predict/model_state.h"
#include "models/predict/rates.h"
#include "models/predict/recipes.h"
#include "models/predict/sharing.h"

#include <errno.h>

#define STALL 0.01 /* below that it is none */
#define FULL  1.01 /* the cores have nothing left when prep has all it wants */
#define CLOSE 0.02 /* bounds so close together are a value */

/* ---- does it make sense ---- */

static int predict_check_numbers(const struct profile_change *change, struct error *err)
{
	if (change->cores > LIMIT_CORES)
		return sharing_refuse(err, "cores are " LIMIT_RANGE(LIMIT_CORES));
	if (change->workers > LIMIT_WORKERS)
		return sharing_refuse(err, "workers are " LIMIT_RANGE(LIMIT_WORKERS));
	if (change->batch > LIMIT_BATCH)
		return sharing_refuse(
			err, "a batch holds " LIMIT_RANGE(LIMIT_BATCH) " samples");
	if (change->cache_share < 0 || change->cache_share > 1)
		return sharing_refuse(err, "a cache holds 0% to 100% of the data set");
	if (change->gpu_speed < .001 || change->gpu_speed > 1000)
		return sharing_refuse(
			err, "an accelerator's speed is 0.001 to 1000 times what "
			     "it was");
	if (change->storage_bandwidth < 0 || isinf(change->storage_bandwidth))
		return sharing_refuse(err,
				      "a bandwidth is a number of bytes/s, or none");
	if (change->storage_latency_s < 0 || change->storage_latency_s > 3600)
		return sharing_refuse(err, "a latency is a time up to 1h, or none");
	if (change->bucket_latency_s < 0 || change->bucket_latency_s > 3600 ||
	    change->bucket_per_s <= 0)
		return sharing_refuse(err,
				      "a bucket has a latency up to 1h, and a rate "
				      "above 0");
	if (profile_change_has_bucket(change) && !isnan(change->storage_latency_s))
		return sharing_refuse(err, "a bucket has a latency of its own");
	if (change->fetch_depth > LIMIT_FETCH_DEPTH)
		return sharing_refuse(
			err, LIMIT_RANGE(LIMIT_FETCH_DEPTH) " reads are in flight");
	if (change->cache_policy.other != NULL)
		return error_set(err, EINVAL, "no such change: no cache policy '%s'",
				 change->cache_policy.other);
	return 0;
}

/* Or slower: another accelerator than the run's. */
static bool is_faster(const struct profile_change *change)
{
	double speed = isnan(change->gpu_speed) ? 1 : change->gpu_speed;

	for (unsigned i = 0; i < PROFILE_SPEEDS; i++)
		if (speed * sharing_speed(change, i) != 1)
			return true;
	return false;
}

/* Of a program's own loader: what it can't do, and what libdsa's would do in its place. */
static int check_loader(const struct model *model, const struct profile_change *change,
			struct error *err)
{
	const struct inputs *inputs = &model->inputs;

	if (change->libdsa &&
	    !(inputs->in_turn && model->profile->own_recipe.cpu_s.value > 0))
		return error_set(err, ENODATA,
				 "the run did not measure libdsa's prep of what the "
				 "program's own loader prepares");
	if (inputs->in_turn && change->fetch_depth > 0)
		return error_set(err, ENODATA,
				 "the program's own loader reads by its workers: "
				 "--workers changes how many reads are in flight");
	if (inputs->in_turn && (change->share || change->cache_policy.id > CACHE_NONE))
		return error_set(err, ENODATA,
				 "the program's own loader has no cache policies and "
				 "can't be shared: libdsa's can");
	return 0;
}

static const char files_in_memory[] =
	"the run had all its files in memory: what they take from storage, it has not "
	"seen";

/* True where the change is of storage, or of what is kept in front of it. */
static bool predict_asks_storage(const struct profile_change *change)
{
	return profile_change_has_bucket(change) || !isnan(change->cache_share) ||
	       !isnan(change->storage_bandwidth) || !isnan(change->storage_latency_s);
}

/* What the run saw of its storage, and what the change wants of it. */
static int check_known_storage(const struct model *model,
			       const struct profile_change *change, struct error *err)
{
	const struct inputs *inputs = &model->inputs;
	bool lifted = (change->storage_bandwidth == 0 &&
		       model->profile->storage_bandwidth > 0) ||
		      (change->storage_latency_s == 0 &&
		       model->profile->storage_latency_s > 0);

	if (inputs_from_memory(model->profile) && predict_asks_storage(change))
		return error_set(err, ENODATA, "%s",
				 model->profile->split.id == SPLIT_MEMORY
					 ? "no file is read for the program's batches: "
					   "storage and caches change nothing"
					 : files_in_memory);
	if (inputs_is_stream(model->profile) &&
	    (profile_change_has_bucket(change) || !isnan(change->cache_share)))
		return error_set(
			err, ENODATA,
			"the program reads its data as a stream: what a cache or "
			"a bucket would give of it is not known");
	if (profile_change_has_bucket(change))
		return 0;
	if (lifted && !inputs->storage.native)
		return error_set(err, ENODATA,
				 "the run saw its storage only slowed: what it gives "
				 "without, is not known");
	if (inputs->in_turn && inputs->storage.native &&
	    !(inputs->storage.latency_s > 0) && change->cache_share < inputs->share)
		return error_set(err, ENODATA, "%s", files_in_memory);
	if (change->fetch_depth > 0 && inputs->storage.native &&
	    isnan(storage_rate(&inputs->storage, change->fetch_depth, INFINITY, 0)))
		return error_set(err, ENODATA,
				 "fewer reads at once than the run had: what one "
				 "alone takes, was not measured");
	return 0;
}

/* What this run has not shown, no model makes up. */
static int check_known(const struct model *model, const struct profile_change *change,
		       struct error *err)
{
	const struct inputs *inputs = &model->inputs;
	struct recipe_effect effect;

	if (is_faster(change) && inputs_on_cpu(inputs) &&
	    isnan(profile_kernel_part(model->profile)))
		return error_set(
			err, ENODATA,
			"this run computes on the CPU: there is no accelerator "
			"that could be faster");
	if (check_known_storage(model, change, err) < 0)
		return -ENODATA;
	if (inputs->on_disk && profile_word_known(&change->cache_policy) &&
	    change->cache_policy.id != CACHE_MINIO &&
	    change->cache_policy.id != CACHE_LRU &&
	    change->cache_policy.id != CACHE_FIFO)
		return error_set(err, EINVAL,
				 "no such change: a cache on disk is minio, lru or "
				 "fifo");
	if (recipes_effect(model->profile, change, &effect, err) < 0)
		return -ENODATA;
	if (check_loader(model, change, err) < 0)
		return -ENODATA;
	if (change->cache_policy.id > CACHE_NONE && isnan(change->cache_share) &&
	    inputs->share <= 0)
		return error_set(err, EINVAL,
				 "no such change: how large is the %s cache? (--cache)",
				 profile_caches[change->cache_policy.id]);
	return 0;
}

bool model_is_bounded(const struct model *model, unsigned cores)
{
	const struct cores *have = &model->inputs.cores;

	return cores > have->have && isnan(cores_rate(have, cores, NULL).value);
}

/* True where the run gives bounds, and no value between them. */
static bool is_bounded(const struct model *model, const struct profile_change *change)
{
	const struct inputs *inputs = &model->inputs;
	bool other_batch = change->batch > 0 && change->batch != model->profile->batch;

	if (model_is_bounded(model, change->cores) ||
	    sim_setup_storage_is_bounded(model, change) ||
	    sim_setup_hits_are_bounded(model, change))
		return true;
	return other_batch && isnan(model->profile->emulated_per_s) &&
	       !inputs_on_cpu(inputs);
}

/* ---- rates ---- */

/* The gain over the run. What the model has wrong of a loader is in both rates, but for
 * one whose place another takes: that is held against what was measured. */
static struct interval predict_gain(const struct model *model,
				    const struct profile_change *change, double per_s,
				    const double all[MODEL_OFF])
{
	struct interval own = model_measured(model->profile);
	double half = interval_half(own) / own.value, gains[MODEL_OFF];

	for (int i = 0; i < MODEL_OFF; i++)
		gains[i] = all[i] / (change->libdsa ? own.value : model->bases[i]);
	if (!change->libdsa)
		return model_spread(per_s / model->base, gains, model->half);
	return model_spread(per_s / own.value, gains,
			    quadrature(model->half, isfinite(half) ? half : 0));
}

/* The interval at one side of bounds, and the same of the gain over the run. */
static int predict_side(const struct model *model, const struct profile_change *change,
			int side, struct interval *per_s, struct interval *speedup,
			struct error *err)
{
	const struct aspect aspect = {-1, 1, side};
	struct simulation_outcome outcome;
	double all[MODEL_OFF];
	int result = model_rate(model, change, &aspect, STAGE_REAL, &outcome, err);

	if (result == 0)
		result = model_rates(model, change, side, outcome.per_s, all, err);
	if (result < 0)
		return result;
	*per_s = model_spread(outcome.per_s, all, model->half);
	*speedup = predict_gain(model, change, outcome.per_s, all);
	return 0;
}

/* True where the change takes nothing away that the run had. */
static bool predict_only_adds(const struct model *model,
			      const struct profile_change *change)
{
	const struct profile *profile = model->profile;
	bool cache = isnan(change->cache_share) ||
		     change->cache_share >= model->inputs.share;
	int policy = change->cache_policy.id;

	return !recipes_asked(change) && !change->libdsa &&
	       change->cores >= profile->cores &&
	       profile_change_workers(profile, change) >= profile->workers && cache &&
	       (policy < 0 || policy == CACHE_MINIO) && change->batch == 0 &&
	       (change->fetch_depth == 0 ||
		change->fetch_depth >= profile->fetch_depth) &&
	       change->jobs == 0 && isnan(change->gpu_speed) &&
	       !profile_change_has_bucket(change) && !(change->storage_bandwidth > 0) &&
	       !(change->storage_latency_s > 0);
}

/* One interval of two: with a value where they hardly differ. */
static struct interval predict_join(struct interval slow, struct interval fast)
{
	struct interval all = {NAN, fmin(slow.low, fast.low),
			       fmax(slow.high, fast.high)};

	if (fabs(fast.value / slow.value - 1) <= CLOSE)
		all.value = (slow.value + fast.value) / 2;
	return all;
}

static int predict_rate(const struct model *model, const struct profile_change *change,
			struct profile_prediction *out, struct error *err)
{
	struct interval slow[2], fast[2];
	int result;

	if (!is_bounded(model, change))
		return predict_side(model, change, 0, &out->per_s, &out->speedup, err);
	result = predict_side(model, change, -1, &slow[0], &slow[1], err);
	if (result == 0)
		result = predict_side(model, change, 1, &fast[0], &fast[1], err);
	if (result < 0)
		return result;
	out->per_s = predict_join(slow[0], fast[0]);
	out->speedup = predict_join(slow[1], fast[1]);
	if (predict_only_adds(model, change)) {
		out->per_s.low = fmax(out->per_s.low, model->base);
		out->speedup.low = fmax(out->speedup.low, 1);
	}
	return 0;
}

/* ---- what remains ---- */

/* What limits: a stall by its cause; and of prep, whether the cores have more to
 * give. */
static int limit_of(const struct model *model, const struct profile_change *change,
		    const struct interval *stalls)
{
	int limit = STAGE_COMPUTE;
	struct sim_setup setup;
	struct rates rates;

	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++)
		if (stalls[i].value > STALL &&
		    (limit == STAGE_COMPUTE || stalls[i].value >= stalls[limit].value))
			limit = i;
	if (limit != STAGE_PREP || change->block_fetch > 0)
		return limit; /* of blocks one thread prepares, whatever the cores */
	sim_setup_set(model, change, &ASPECT_PLAIN, &setup);
	if (setup.load.makers == MAKERS_TRAINER &&
	    setup.load.jobs <= sim_setup_cores(model, change))
		return limit; /* a thread of each job does all of it */
	rates_of(&setup.load, &rates);
	return rates.cores <= FULL * rates.prep ? LIMITED_BY_CORES : STAGE_PREP;
}

static int find_stalls(const struct model *model, const struct profile_change *change,
		       int side, struct interval *stalls,
		       struct simulation_outcome *real, struct error *err)
{
	const struct aspect aspect = {-1, 1, side};
	double times[STAGES], shares[STAGES];
	int result = 0;

	real->hit_ratio = NAN;
	for (int i = 0; i < STAGES && result == 0; i++) {
		times[i] = NAN;
		if (!profile_has_stage(model->profile, i))
			continue;
		result = model_rate(model, change, &aspect, (enum stage)i, real, err);
		times[i] = 1 / real->per_s;
	}
	if (result < 0)
		return result;
	stage_split(times, shares);
	for (int i = 0; i < STAGES; i++)
		stalls[i].value = shares[i];
	return 0;
}

static int predict_stalls(const struct model *model,
			  const struct profile_change *change,
			  struct profile_prediction *out,
			  struct simulation_outcome *real, struct error *err)
{
	int result = find_stalls(model, change, is_bounded(model, change), out->stalls,
				 real, err);

	if (result < 0)
		return result;
	if (!inputs_from_memory(model->profile))
		out->hit_ratio = real->hit_ratio;
	out->limit.id = limit_of(model, change, out->stalls);
	return 0;
}

/* What a thousand keys took, if the run listed them; what they will, by their number. */
static double predict_listing(const struct profile *profile)
{
	const struct profile_requests *requests = &profile->requests;

	return requests->listing != UNKNOWN && isnan(requests->listing_age_s)
		       ? (double)requests->listing
		       : ceil(profile_quotient(profile->dataset_samples, 1) /
			      MODEL_LISTED);
}

static int predict_cost(const struct model *model, const struct profile_change *change,
			struct profile_prediction *out, struct error *err)
{
	struct recipe_effect effect;
	struct sim_setup setup;
	double missed = inputs_from_memory(model->profile) ? 0 : 1 - out->hit_ratio;
	double samples = profile_quotient(model->profile->dataset_samples, 1);
	struct cost_use use;
	int result = 0;

	recipes_effect(model->profile, change, &effect, NULL);
	sim_setup_set(model, change, &ASPECT_PLAIN, &setup);
	use = (struct cost_use){
		.samples = samples,
		.dataset_bytes = profile_quotient(model->profile->dataset_bytes, 1) *
				 effect.bytes,
		.cores = sim_setup_cores(model, change),
		.traffic = {.reads = samples * missed,
			    .listing = predict_listing(model->profile)},
	};
	use.traffic.out_bytes = use.dataset_bytes * missed;
	use.cache_bytes =
		model->inputs.on_disk ? 0 : setup.load.share * use.dataset_bytes;
	sharing_split(&setup, &use);
	if (change->block_fetch > 0) {
		use.cache_bytes =
			use.dataset_bytes * blocks_held(model->profile, change);
		result = blocks_traffic(&setup, change, &use.traffic, err);
	}
	if (model->profile->requests.gets != UNKNOWN ||
	    profile_change_has_bucket(change))
		out->traffic = use.traffic;
	if (model->prices == NULL || result < 0)
		return result;
	out->cost = cost_interval(
		model->prices, &use,
		sharing_is_asked(model->profile, change) ? out->per_job : out->per_s);
	return 0;
}

static int predict_check(const struct model *model, const struct profile_change *change,
			 struct error *err)
{
	int result = predict_check_numbers(change, err);

	if (result == 0)
		result = sharing_check(model->profile, change, err);
	if (result == 0)
		result = blocks_check(model->profile, change, err);
	if (result == 0 && model->self.why != NULL)
		result = error_set(err, ENODATA, "%s", model->self.why);
	return result < 0 ? result : check_known(model, change, err);
}

int model_gain(const struct model *model, const struct profile_change *change,
	       double *gain, struct error *err)
{
	double more = sim_setup_cores(model, change) / (double)model->profile->cores;
	/* what its law gives back on more cores is taken again */
	const struct aspect best = {INPUT_HANDOVER, fmax(1, more),
				    is_bounded(model, change)};
	struct simulation_outcome real;
	int result = predict_check(model, change, err);

	if (result == 0)
		result = model_rate(model, change, &best, STAGE_REAL, &real, err);
	if (result == 0)
		*gain = real.per_s / model->base;
	return result;
}

int model_fetch_stall(const struct model *model, const struct profile_change *change,
		      double *share, struct error *err)
{
	struct interval stalls[STAGES];
	struct simulation_outcome real;
	int result = predict_check(model, change, err);

	if (result == 0)
		result = find_stalls(model, change, is_bounded(model, change), stalls,
				     &real, err);
	if (result == 0)
		*share = stalls[STAGE_FETCH].value;
	return result;
}

int model_predict(const struct model *model, const struct profile_change *change,
		  struct profile_prediction *out, struct error *err)
{
	struct simulation_outcome real;
	int result = predict_check(model, change, err);

	if (result == 0)
		result = predict_rate(model, change, out, err);
	if (result == 0)
		result = predict_stalls(model, change, out, &real, err);
	if (result < 0)
		return result;
	if (sharing_is_asked(model->profile, change))
		out->per_job =
			model_a_job(out->per_s, sharing_jobs(model->profile, change));
	result = predict_cost(model, change, out, err);
	if (result < 0)
		return result;
	if (profile_change_copy(&out->change, change) < 0 ||
	    predict_write_why(model, change, &real, out) < 0)
		return error_sys(err, ENOMEM, "predicting");
	return 0;
}
