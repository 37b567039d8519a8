/* advice.c - proposes changes, asks the model about each, and ranks them. */
#include "models/whatif/advice.h"
#include "loader/base/error.h"
#include "models/predict/model.h"
#include "models/whatif/command.h"
#include "models/whatif/remedy.h"

#include <errno.h>

#define NOISE  .01 /* a gain below that is none, whatever the precision */
#define FASTER 2.  /* the accelerator that is asked about */

struct adviser {
	struct profile *profile;
	const struct model *model;
	const char *run;
	double noise; /* a gain has to be larger */
	struct error *err;
};

static bool advice_stalled(const struct adviser *adviser, struct interval share)
{
	return share.value > fmax(STAGE_NOTICED, adviser->noise / 2);
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
 * Adds the prediction of a change to the profile. 1; 0: this run does not show it, and only
 * why is known; -ENOMEM.
 */
static int advice_ask(const struct adviser *adviser,
		      const struct profile_change *change,
		      struct profile_prediction **out)
{
	struct profile_prediction *prediction =
		profile_add_prediction(adviser->profile);
	struct error why = {0};
	int result = prediction == NULL
			     ? -ENOMEM
			     : model_predict(adviser->model, change, prediction, &why);

	*out = prediction;
	if (result == -ENODATA || result == -EINVAL)
		return profile_change_copy(&prediction->change, change) < 0 ||
				       profile_text(&prediction->why, "%s",
						    why.message) < 0
			       ? advice_short(adviser)
			       : 0;
	if (result == 0 && !change->libdsa)
		result = command_verify(change, adviser->run, &prediction->command);
	return result < 0 ? advice_short(adviser) : 1;
}

/* ---- remedies ---- */

/* Why it does not pay: what would limit all the same. */
static int advice_write_why(struct profile_prediction *prediction,
			    const struct profile *profile, double beyond)
{
	int limit = prediction->limit.id;

	if (beyond > 1)
		return profile_text(&prediction->why, "a part of it gains as much");
	if (limit == LIMITED_BY_CORES)
		return profile_text(&prediction->why, "the cores would still limit");
	if (limit > STAGE_COMPUTE && limit < STAGES)
		return profile_text(&prediction->why, "%s would %s limit",
				    stage_table[limit].cause,
				    limit == profile->limit.id ? "still" : "then");
	return profile_text(&prediction->why, "what it gains is below the noise");
}

/* Adds the prediction of a remedy; advised if it gains enough. */
static int advice_propose(const struct adviser *adviser, const struct remedy *remedy)
{
	struct profile_prediction *prediction;
	int result = advice_ask(adviser, &remedy->change, &prediction);

	if (result <= 0)
		return result;
	result = profile_text(&prediction->advice, "%s", remedy->advice);
	if (is_worth(adviser, prediction, remedy->beyond))
		prediction->rank = 0; /* gets its place later */
	else if (result == 0)
		result = advice_write_why(prediction, adviser->profile, remedy->beyond);
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

/* A remedy that can't even be sized is asked about as it is, so that the reason is kept. */
static int advice_consider(const struct adviser *adviser, remedy_make *make)
{
	const struct remedy_context context = {adviser->profile, adviser->model,
					       best_of(adviser->profile)};
	struct remedy remedy = {.change = PROFILE_NO_CHANGE, .beyond = 1};
	int result = make(&context, &remedy, NULL);

	if (result == -ENOMEM)
		return advice_short(adviser);
	return result == 0 ? 0 : advice_propose(adviser, &remedy);
}

static int advice_consider_all(const struct adviser *adviser)
{
	const struct interval *stalls = adviser->profile->stalls;
	bool fetch = advice_stalled(adviser, stalls[STAGE_FETCH]);
	bool prep = advice_stalled(adviser, stalls[STAGE_PREP]);
	bool libdsa = profile_loader(adviser->profile) == LOADER_DSA;
	int result = 0;

	for (int i = 0; result == 0 && i < REMEDIES; i++) {
		const struct remedy_kind *kind = &remedy_table[i];

		if (kind->libdsa && !libdsa)
			continue;
		if ((kind->fetch && fetch) || (kind->prep && prep) ||
		    (kind->both && fetch && prep))
			result = advice_consider(adviser, kind->make);
	}
	return result;
}

/* As advice_ask(), but leaves out what this run does not show. */
static int advice_look(const struct adviser *adviser,
		       const struct profile_change *change,
		       struct profile_prediction **out)
{
	int result = advice_ask(adviser, change, out);

	if (result == 0) {
		profile_prediction_free(*out);
		adviser->profile->prediction_count--;
	}
	return result;
}

/* No advice, but always asked: a faster accelerator. */
static int look_at_gpu(const struct adviser *adviser)
{
	struct profile_prediction *prediction;
	struct profile_change change = PROFILE_NO_CHANGE;
	bool wasted;
	int result;

	change.gpu_speed = FASTER;
	result = advice_look(adviser, &change, &prediction);
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

	if (profile->cores < 2 || profile->world != UNKNOWN)
		return 0;
	change.cores = (unsigned)profile->cores / 2;
	result = advice_look(adviser, &change, &prediction);
	if (result <= 0)
		return result;
	return profile_text(&prediction->why, "%s",
			    advice_likely(prediction) > 1 - adviser->noise
				    ? "half of the cores would do as well"
				    : "with half the cores it would be slower") < 0
		       ? advice_short(adviser)
		       : 0;
}

/* ---- ranks ---- */

/* Advised ones first, the likeliest gain in front, to the digits that are shown; the others
 * stay in their order. */
static bool goes_before(const struct profile_prediction *a,
			const struct profile_prediction *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return a->rank == 0 &&
	       round(100 * advice_likely(a)) > round(100 * advice_likely(b));
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
	result = advice_consider_all(&adviser);
	if (result == 0)
		result = look_at_gpu(&adviser);
	if (result == 0)
		result = look_at_less(&adviser);
	if (result == 0)
		advice_rank(profile);
	return result;
}
