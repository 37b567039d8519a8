/* calibration.c - scores predictions by their errors and by their order. */
#include "models/whatif/calibration.h"
#include "loader/base/math/median.h"
#include "loader/base/math/quadrature.h"
#include "profiler/profile_prediction.h"

#include <errno.h>
#include <stdlib.h>

enum { LOOKED_AT = 2000 }; /* verifications, for workloads: every pair is compared */

/* Shares are rounded to bytes, so what differs by less is the same. */
#define SAME 1e-3

/* What may be changed alone, such that more is faster. */
enum member { CORES, WORKERS, CACHE, POLICY, GPU, BANDWIDTH, LATENCY, DEPTH, MEMBERS };

/* A setting with nothing left out. */
struct setting {
	double member[MEMBERS];
	bool follow; /* its workers are as many as where none are asked for */
	double batch, jobs;
	bool share;
	const double *job_speed;
	double bucket_latency_s, bucket_per_s;
	const struct profile_word *policy; /* NULL: there is no cache */
	const struct profile_verification *found;
};

static bool has_value(const struct profile_verification *verification)
{
	return verification->predicted.value > 0 && verification->measured.value > 0 &&
	       isfinite(verification->predicted.value) &&
	       isfinite(verification->measured.value) &&
	       !profile_rate_is_vague(verification->measured);
}

/* ---- errors ---- */

/* Counts one, and returns its error. */
static double add_error(const struct profile_verification *verification,
			struct calibration *score)
{
	double error = verification->predicted.value / verification->measured.value - 1;

	score->count++;
	score->bias += error;
	score->mean += fabs(error);
	return fabs(error);
}

static void finish_errors(double *errors, size_t intervals, struct calibration *score)
{
	double count = (double)score->count;

	qsort(errors, score->count, sizeof(*errors), median_ascending);
	score->mean /= count;
	score->bias /= count;
	score->p95 = errors[(size_t)ceil(.95 * count) - 1];
	score->worst = errors[score->count - 1];
	score->covered = intervals > 0 ? score->covered / (double)intervals : NAN;
}

static int score_errors(const struct profile *profile, struct calibration *score)
{
	double *errors = malloc(profile->verification_count * sizeof(*errors));
	size_t intervals = 0;

	if (errors == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < profile->verification_count; i++) {
		const struct profile_verification *verification =
			&profile->verifications[i];
		size_t at = score->count;

		if (!has_value(verification))
			continue;
		errors[at] = add_error(verification, score);
		if (verification->covered >= 0) {
			intervals++;
			score->covered += verification->covered;
		}
	}
	if (score->count > 0)
		finish_errors(errors, intervals, score);
	free(errors);
	return 0;
}

/* ---- settings ---- */

static double number_or(uint64_t changed, uint64_t own)
{
	return changed > 0 ? (double)changed : own == UNKNOWN ? 0 : (double)own;
}

static double value_or(double changed, double own, double none)
{
	double value = isnan(changed) ? own : changed;

	return isnan(value) ? none : value;
}

static double bandwidth_of(const struct profile *profile,
			   const struct profile_change *change)
{
	double value =
		value_or(change->storage_bandwidth, profile->storage_bandwidth, 0);

	return value > 0 ? value : INFINITY;
}

static void take_cache(const struct profile *profile,
		       const struct profile_change *change, struct setting *setting)
{
	const struct profile_word *policy = profile_word_known(&change->cache_policy)
						    ? &change->cache_policy
						    : &profile->cache;

	/* The page cache has no share that is known, and is not without. */
	setting->member[CACHE] =
		value_or(change->cache_share, profile->cache_share, -1);
	if (setting->member[CACHE] == 0 || policy->id == CACHE_NONE ||
	    !profile_word_known(policy)) {
		setting->member[CACHE] = 0;
		return;
	}
	setting->policy = policy;
	setting->member[POLICY] = policy->id == CACHE_MINIO;
}

static bool workers_follow(const struct profile *profile,
			   const struct profile_change *change)
{
	struct profile_change cores = PROFILE_NO_CHANGE;

	cores.cores = change->cores;
	return profile_change_workers(profile, change) ==
	       profile_change_workers(profile, &cores);
}

static struct setting
calibration_setting_of(const struct profile *profile,
		       const struct profile_verification *verification)
{
	const struct profile_change *change = &verification->change;
	struct setting setting = {
		.member = {[CORES] = number_or(change->cores, profile->cores),
			   [WORKERS] = profile_change_workers(profile, change),
			   [GPU] = value_or(change->gpu_speed, 1, 1),
			   [BANDWIDTH] = bandwidth_of(profile, change),
			   [LATENCY] = -value_or(change->storage_latency_s,
						 profile->storage_latency_s, 0),
			   [DEPTH] = number_or(change->fetch_depth,
					       profile->fetch_depth)},
		.follow = workers_follow(profile, change),
		.batch = number_or(change->batch, profile->batch),
		.jobs = number_or(change->jobs, profile->job_count),
		.share = change->share || (change->jobs == 0 && profile->shared),
		.job_speed = change->job_speed,
		.bucket_latency_s = value_or(change->bucket_latency_s, NAN, -1),
		.bucket_per_s = value_or(change->bucket_per_s, NAN, 0),
		.found = verification};

	take_cache(profile, change, &setting);
	return setting;
}

static bool calibration_same(double a, double b)
{
	double difference = fabs(a - b);

	return a == b ||
	       (isfinite(difference) && difference <= SAME * fmax(fabs(a), fabs(b)));
}

/* Both have the same policy, or one has no cache. */
static bool same_policy(const struct setting *a, const struct setting *b)
{
	return a->policy == NULL || b->policy == NULL ||
	       profile_word_equal(a->policy, b->policy);
}

/* How samples are stored, read and made: `a` stays equal with that of `b`. */
static bool same_samples(const struct profile_change *a, const struct profile_change *b)
{
	struct profile_change both = *a;

	both.resize = b->resize;
	both.type = b->type;
	both.decoded = b->decoded;
	both.libdsa = b->libdsa;
	both.without = b->without;
	both.block_fetch = b->block_fetch;
	both.block_threshold = b->block_threshold;
	both.block_capacity = b->block_capacity;
	return profile_change_equal(a, &both);
}

/* What has no faster side, so that a change of it is no step. */
static bool same_rest(const struct setting *a, const struct setting *b)
{
	for (int i = 0; i < PROFILE_SPEEDS; i++)
		if (!calibration_same(a->job_speed[i], b->job_speed[i]))
			return false;
	return calibration_same(a->bucket_latency_s, b->bucket_latency_s) &&
	       calibration_same(a->bucket_per_s, b->bucket_per_s) &&
	       a->batch == b->batch && a->jobs == b->jobs && a->share == b->share &&
	       same_samples(&a->found->change, &b->found->change);
}

static bool calibration_equal(const struct setting *a, const struct setting *b)
{
	for (int i = 0; i < MEMBERS; i++)
		if (!calibration_same(a->member[i], b->member[i]))
			return false;
	return same_rest(a, b) && same_policy(a, b);
}

/* The member in which alone `to` is on the faster side of `from`; MEMBERS: no step. */
static enum member calibration_step(const struct setting *from,
				    const struct setting *to)
{
	bool cacheless = from->policy == NULL || to->policy == NULL;
	enum member changed = MEMBERS;

	for (enum member i = 0; i < MEMBERS; i++) {
		if (calibration_same(from->member[i], to->member[i]) ||
		    (i == POLICY && cacheless) ||
		    (i == WORKERS && from->follow && to->follow))
			continue;
		if (changed != MEMBERS || to->member[i] < from->member[i])
			return MEMBERS;
		changed = i;
	}
	if (!same_rest(from, to) || (changed != POLICY && !same_policy(from, to)))
		return MEMBERS;
	return changed;
}

/* ---- workloads ---- */

/* Of two steps in one member the smaller; of equal ones the one predicted faster. */
static bool calibration_nearer(const struct setting *step, const struct setting *than,
			       enum member member)
{
	if (than == NULL)
		return true;
	if (!calibration_same(step->member[member], than->member[member]))
		return step->member[member] < than->member[member];
	return step->found->predicted.value > than->found->predicted.value;
}

static double half_of(const struct setting *setting)
{
	double half = interval_half(setting->found->measured);

	return isnan(half) ? 0 : half;
}

/* Counts a workload by its steps, one of each member at most. */
static void calibration_judge(const struct setting *const steps[MEMBERS],
			      struct calibration *score)
{
	const struct setting *first = NULL, *best = NULL;
	size_t count = 0;

	for (int i = 0; i < MEMBERS; i++) {
		if (steps[i] == NULL)
			continue;
		count++;
		if (first == NULL ||
		    steps[i]->found->predicted.value > first->found->predicted.value)
			first = steps[i];
		if (best == NULL ||
		    steps[i]->found->measured.value > best->found->measured.value)
			best = steps[i];
	}
	if (count < 2)
		return;
	score->workloads++;
	if (first == best)
		score->first_right++;
	if (first == best ||
	    best->found->measured.value - first->found->measured.value <=
		    quadrature(half_of(first), half_of(best)))
		score->first_within++;
}

static void judge_from(const struct setting *from, const struct setting *settings,
		       size_t count, struct calibration *score)
{
	const struct setting *steps[MEMBERS] = {NULL};

	for (size_t i = 0; i < count; i++) {
		enum member member = calibration_step(from, &settings[i]);

		if (member != MEMBERS && has_value(settings[i].found) &&
		    calibration_nearer(&settings[i], steps[member], member))
			steps[member] = &settings[i];
	}
	calibration_judge(steps, score);
}

/* Adds it, or takes the place of an earlier one. Returns how many there are. */
static size_t calibration_put(struct setting *settings, size_t count,
			      struct setting setting)
{
	for (size_t i = 0; i < count; i++)
		if (calibration_equal(&settings[i], &setting)) {
			settings[i] = setting;
			return count;
		}
	settings[count] = setting;
	return count + 1;
}

static int score_workloads(const struct profile *profile, struct calibration *score)
{
	size_t all = profile->verification_count;
	size_t begin = all > LOOKED_AT ? all - LOOKED_AT : 0, count = 0;
	struct setting *settings = malloc((all - begin) * sizeof(*settings));

	if (settings == NULL)
		return -ENOMEM;
	for (size_t i = begin; i < all; i++)
		if (!profile_rate_is_vague(profile->verifications[i].measured))
			count = calibration_put(
				settings, count,
				calibration_setting_of(profile,
						       &profile->verifications[i]));
	for (size_t i = 0; i < count; i++)
		judge_from(&settings[i], settings, count, score);
	free(settings);
	return 0;
}

int calibration_measure(const struct profile *profile, struct calibration *score)
{
	*score = (struct calibration){.count = 0};
	if (profile->verification_count > 0 &&
	    (score_errors(profile, score) < 0 || score_workloads(profile, score) < 0))
		return -ENOMEM;
	if (score->count == 0)
		score->mean = score->p95 = score->worst = score->bias = score->covered =
			NAN;
	return 0;
}
