/* model.c - simulates the run itself, and measures how far off that is. */
#include "models/predict/model.h"
#include "loader/base/error.h"
#include "loader/base/math/quadrature.h"
#include "models/predict/model_state.h"
#include "models/predict/recipes.h"
#include "models/predict/sharing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	SAMPLES = 12288, /* simulated for a rate, at the least */
	WAIT_STEPS = 10, /* to find what workers wait */
};

/* What the model may be off by: nor is an answer surer than that. */
#define SAME .02

/* So much of a rate is no difference. */
#define NOTHING .001

/* ---- rates ---- */

/* The fewer cores, the likelier is it that a thread that was woken takes the consumer's. That
 * it is rarer on more cores than the run had, it has not shown. */
static double model_handover(const struct model *model,
			     const struct profile_change *change,
			     const struct aspect *aspect)
{
	double factor = aspect->input == INPUT_HANDOVER ? aspect->factor : 1;
	double likelier =
		(double)model->profile->cores / sim_setup_cores(model, change);

	if (aspect->side < 0)
		likelier = fmax(1, likelier);
	return factor * model->handover_s * likelier;
}

int model_rate(const struct model *model, const struct profile_change *change,
	       const struct aspect *aspect, enum stage stage,
	       struct simulation_outcome *outcome, struct error *err)
{
	struct sim_setup setup;

	sim_setup_set(model, change, aspect, &setup);
	setup.load.all_hits = stage == STAGE_PREP;
	if (setup.load.all_hits)
		setup.load.hit_s = 0; /* they are staged in memory */
	setup.load.no_prep = stage == STAGE_COMPUTE || stage == STAGE_COPY;
	if (stage == STAGE_COMPUTE)
		setup.load.copy_s = 0;
	if (change->block_fetch > 0 && !setup.load.no_prep)
		return blocks_rate(&setup, change, stage == STAGE_PREP, outcome, err);
	if (!setup.load.no_prep) {
		sim_setup_delay(&setup, model_handover(model, change, aspect));
		if (!change->libdsa) /* it is that of the program's own loader */
			sim_setup_hand_over(&setup,
					    sim_setup_takes_over(model, change, aspect,
								 setup.load.batch));
	}
	return simulate(&setup.load, SAMPLES, outcome, err);
}

static struct aspect aspect_of(const struct model *model,
			       const struct profile_change *change, int i, int side)
{
	double half = model->inputs.half[i / 2];
	struct recipe_effect effect;

	recipes_effect(model->profile, change, &effect, NULL);
	if (i / 2 == INPUT_RECIPE && change->libdsa)
		half = interval_half(model->profile->own_recipe.cpu_s) /
		       model->profile->own_recipe.cpu_s.value;
	else if (i / 2 == INPUT_RECIPE)
		half = effect.half;
	else if (i / 2 == INPUT_FETCH)
		half = quadrature(half, effect.fetch_half);
	else if (i / 2 == INPUT_HANDOVER && !(model->handover_s > 0))
		half = 0;
	return (struct aspect){i / 2, i % 2 == 0 ? 1 + half : 1 / (1 + half), side};
}

/* Where an input that is slower, as i - 1 is, changes nothing, it limits nothing: nor does it
 * when it is faster, as i is. */
static bool is_idle(int i, double per_s, const double all[MODEL_OFF])
{
	return i % 2 == 1 && all[i - 1] >= per_s * (1 - NOTHING);
}

int model_rates(const struct model *model, const struct profile_change *change,
		int side, double per_s, double all[MODEL_OFF], struct error *err)
{
	for (int i = 0; i < MODEL_OFF; i++) {
		struct aspect aspect = aspect_of(model, change, i, side);
		struct simulation_outcome outcome = {.per_s = per_s};
		int result = 0;

		if (aspect.factor != 1 && !is_idle(i, per_s, all))
			result = model_rate(model, change, &aspect, STAGE_REAL,
					    &outcome, err);
		if (result < 0)
			return result;
		all[i] = outcome.per_s;
	}
	return 0;
}

struct interval model_spread(double value, const double all[MODEL_OFF], double half)
{
	double low = half * half, high = low;

	for (int i = 0; i < INPUTS; i++) {
		double a = all[2 * i] / value - 1, b = all[2 * i + 1] / value - 1;
		double down = fmin(0, fmin(a, b)), up = fmax(0, fmax(a, b));

		low += down * down;
		high += up * up;
	}
	return (struct interval){value, value * (1 - fmin(1, sqrt(low))),
				 value * (1 + sqrt(high))};
}

/* ---- the run itself ---- */

static double model_off(double modelled, struct interval measured)
{
	return modelled / measured.value - 1;
}

/* How far model and run may be apart, which are off independently of each other. */
static double model_allowed(struct interval measured)
{
	double half = interval_half(measured) / measured.value;

	return isfinite(half) ? quadrature(half, SAME) : SAME;
}

struct interval model_a_job(struct interval all, double jobs)
{
	return (struct interval){all.value / jobs, all.low / jobs, all.high / jobs};
}

struct interval model_measured(const struct profile *profile)
{
	if (profile->job_count < 2 || isnan(profile->together.value))
		return profile->rates[TRACE_REAL];
	return model_a_job(profile->together, (double)profile->job_count);
}

static void model_judge(struct model *model)
{
	struct profile_model *self = &model->self;
	struct interval real = model_measured(model->profile);

	self->real_error = model_off(self->real.value, real);
	self->cached_error =
		model_off(self->cached.value, model->profile->rates[TRACE_CACHED]);
	if (fabs(self->real_error) <= model_allowed(real))
		return;
	snprintf(model->why, sizeof(model->why),
		 "no predictions: dsa's model of this run is %.1f%% off (%.1f%% "
		 "allowed); the machine may have been busy%s",
		 100 * fabs(self->real_error), 100 * model_allowed(real),
		 model->profile->reads_ahead ? ", or the threads of the program slow "
					       "each other"
		 : model->profile->world != UNKNOWN
			 ? ", or ranks wait for one that loads more slowly"
			 : "");
	self->why = model->why;
}

/*
 * When a step gives its batch back it wakes threads, and these may take its core before
 * it asks for the next one: that is not shared evenly, as the simulation has it. Of
 * what cached windows were slowed and the simulation does not explain, half: the other
 * half is as likely theirs alone, for all of their bytes come from memory.
 */
static int find_handover(struct model *model, struct error *err)
{
	double batch = (double)model->profile->batch, simulated;
	struct simulation_outcome cached, synthetic;
	const struct profile_change none = PROFILE_NO_CHANGE;
	int result;

	result = model_rate(model, &none, &ASPECT_PLAIN, STAGE_PREP, &cached, err);
	if (result == 0)
		result = model_rate(model, &none, &ASPECT_PLAIN, STAGE_COMPUTE,
				    &synthetic, err);
	if (result < 0)
		return result;
	batch *= sharing_jobs(model->profile, &none);
	simulated = batch / cached.per_s * (1 - cached.blocked) -
		    batch / synthetic.per_s - model->inputs.handover_s;
	if (model->inputs.slowed_s > simulated)
		model->handover_s = (model->inputs.slowed_s - simulated) / 2;
	return 0;
}

/* What a sample takes in cached windows of the run, if it waits so long, too. */
static int model_made(struct model *model, double wait_s, double *made_s,
		      struct error *err)
{
	const struct profile_change none = PROFILE_NO_CHANGE;
	struct simulation_outcome cached;
	int result;

	inputs_set_wait(&model->inputs, wait_s);
	result = model_rate(model, &none, &ASPECT_PLAIN, STAGE_PREP, &cached, err);
	*made_s = cached.prep_busy / cached.prep_per_s;
	return result;
}

/*
 * Workers that were only seen beside the training step: of what a sample took them
 * beyond their work, the simulation has what they waited for a core.
 */
static int find_wait(struct model *model, struct error *err)
{
	double low = 0, high = model->inputs.made_s - model->inputs.prep_s, made_s;
	int result = 0;

	if (!(high > 0))
		return 0;
	for (int i = 0; result == 0 && i < WAIT_STEPS && low < high; i++) {
		double middle = i == 0 ? high : (low + high) / 2;

		result = model_made(model, middle, &made_s, err);
		*(made_s <= model->inputs.made_s ? &low : &high) = middle;
	}
	inputs_set_wait(&model->inputs, low);
	return result;
}

/* Simulates the run as it was, and how far that is off. */
static int model_try(struct model *model, struct error *err)
{
	struct simulation_outcome real, cached;
	const struct profile_change none = PROFILE_NO_CHANGE;
	int result = model_rate(model, &none, &ASPECT_PLAIN, STAGE_REAL, &real, err);

	if (result == 0)
		result = model_rate(model, &none, &ASPECT_PLAIN, STAGE_PREP, &cached,
				    err);
	if (result == 0)
		result = model_rates(model, &none, 0, real.per_s, model->bases, err);
	if (result < 0)
		return result;
	model->base = real.per_s;
	model->blocked = real.blocked;
	model->self.real = model_a_job(model_spread(real.per_s, model->bases, SAME),
				       sharing_jobs(model->profile, &none));
	model->self.cached = (struct interval){
		cached.per_s / sharing_jobs(model->profile, &none), NAN, NAN};
	model_judge(model);
	model->half = quadrature(SAME, model->self.real_error);
	return 0;
}

/*
 * Too fast: beside so many threads that read and prepare, steps may have been slower than
 * the simulation has them, even where none waited for a batch. That is measured; it is
 * taken for a hand-over, which is as unsure as it is large.
 */
static int know_self(struct model *model, struct error *err)
{
	const struct profile *profile = model->profile;
	const struct profile_change none = PROFILE_NO_CHANGE;
	double batch = (double)profile->batch, slowed;
	int result = find_wait(model, err);

	if (result == 0)
		result = find_handover(model, err);
	if (result == 0)
		result = model_try(model, err);
	if (result < 0 || model->self.why == NULL || model->self.real_error < 0 ||
	    sharing_jobs(profile, &none) > 1)
		return result;
	slowed = model->inputs.slowed_real_s -
		 (batch / model->base * (1 - model->blocked) -
		  batch / profile->rates[TRACE_SYNTHETIC].value);
	if (!(slowed > 0))
		return 0;
	model->handover_s += slowed;
	model->self.why = NULL;
	return model_try(model, err);
}

static int model_check(const struct profile *profile, struct error *err)
{
	if (profile->shared)
		return error_set(err, ENODATA,
				 "the jobs share a loader, whose parts can't be told "
				 "apart: measure one job alone, and ask what --jobs "
				 "would do");
	if (profile_loader(profile) != LOADER_DSA &&
	    profile_loader(profile) != LOADER_TORCH)
		return error_set(err, ENODATA,
				 "no predictions: dsa has no model of this program's "
				 "loader");
	if (profile->beside != UNKNOWN)
		return error_set(
			err, ENODATA,
			"no predictions: dsa has no model of several loaders in "
			"each step");
	if (profile_word_known(&profile->split) &&
	    isnan(profile->rates[inputs_staged(profile)].value))
		return error_set(
			err, ENODATA,
			"no predictions: how fast batches are prepared from "
			"memory was not measured, as they can't be given again");
	if (isnan(profile->rates[TRACE_REAL].value))
		return error_set(err, ENODATA,
				 "too little was measured to predict anything");
	return 0;
}

struct model *model_new(const struct profile *profile, struct error *err)
{
	struct model *model = calloc(1, sizeof(*model));
	int result;

	if (model == NULL)
		return error_null(error_sys(err, ENOMEM, "making a model of the run"));
	model->profile = profile;
	for (int i = 0; i < INPUTS; i++)
		model->drift[i] = 1;
	result = model_check(profile, err);
	if (result == 0)
		result = inputs_of(profile, &model->inputs, err);
	if (result == 0)
		result = know_self(model, err);
	if (result == 0)
		return model;
	model_free(model);
	return NULL;
}

void model_free(struct model *model)
{
	if (model != NULL)
		inputs_free(&model->inputs);
	free(model);
}

void model_price(struct model *model, const struct prices *prices)
{
	model->prices = prices;
}

/* What an epoch costs, and asks of servers, when nothing changes. 0 or -ENOMEM. */
static int note_cost(const struct model *model, struct profile *profile)
{
	struct profile_prediction same = {
		.rank = UNKNOWN,
		.cost = INTERVAL_UNKNOWN,
		.traffic = PROFILE_NO_TRAFFIC,
	};
	const struct profile_change none = PROFILE_NO_CHANGE;
	int result;

	profile->cost = INTERVAL_UNKNOWN;
	profile->traffic = PROFILE_NO_TRAFFIC;
	if (model->prices == NULL && profile->requests.gets == UNKNOWN)
		return 0;
	result = model_predict(model, &none, &same, NULL);
	if (result == 0) {
		profile->cost = same.cost;
		profile->traffic = same.traffic;
	}
	profile_prediction_free(&same);
	return result == -ENOMEM ? result : 0;
}

int model_note(const struct model *model, struct profile *profile)
{
	free(profile->model.why);
	profile->model = model->self;
	profile->model.why = NULL;
	if (model->self.why != NULL &&
	    profile_text(&profile->model.why, "%s", model->self.why) < 0)
		return -ENOMEM;
	return note_cost(model, profile);
}
