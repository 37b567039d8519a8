/* drift.c - finds which of its parts the machine's drift is of, and lets that drift. */
#include "models/predict/drift.h"
#include "loader/base/math/quadrature.h"
#include "models/predict/model_state.h"

#define MOST  .5  /* of the drift is explained by what it is put down to */
#define LEAST .05 /* it is looked for by no less, or the simulation's own steps show */

enum { STORAGE, CORES, ACCELERATOR, PARTS };

static bool drift_may(const struct model *model, int part)
{
	const struct inputs *inputs = &model->inputs;

	if (part == STORAGE)
		return inputs->fetched;
	return part == CORES ||
	       (isnan(model->profile->emulated_per_s) && !inputs_on_cpu(inputs));
}

static bool drift_is_part(const struct inputs *inputs, int part, int input)
{
	switch (input) {
	case INPUT_STORAGE:
		return part == STORAGE;
	case INPUT_PREP:
	case INPUT_FETCH:
		return part == CORES;
	case INPUT_COMPUTE:
		return part == (inputs_on_cpu(inputs) ? CORES : ACCELERATOR);
	default:
		return false;
	}
}

static void drift_set(struct model *model, int part, double times)
{
	for (int i = 0; i < INPUTS; i++)
		model->drift[i] = drift_is_part(&model->inputs, part, i) ? times : 1;
}

/* The unchanged run, as the model is. */
static int drift_rate(const struct model *model, double *per_s, struct error *err)
{
	const struct profile_change none = PROFILE_NO_CHANGE;
	struct simulation_outcome real;
	int result = model_rate(model, &none, &ASPECT_PLAIN, STAGE_REAL, &real, err);

	*per_s = real.per_s;
	return result;
}

/* How much of a drift comes out, as a share of its logarithm, when all times of a part go
 * with it. */
static int drift_explained(struct model *model, int part, double drift, double *share,
			   struct error *err)
{
	double probe = drift < 1 ? fmin(drift, 1 - LEAST) : fmax(drift, 1 + LEAST);
	double per_s;
	int result;

	drift_set(model, part, 1 / probe);
	result = drift_rate(model, &per_s, err);
	*share = log(per_s / model->base) / log(probe);
	return result;
}

static int drift_find(struct model *model, double drift, int *best, double *most,
		      struct error *err)
{
	int result = 0;

	*best = PARTS;
	*most = MOST;
	for (int part = 0; part < PARTS && result == 0; part++) {
		double share;

		if (!drift_may(model, part))
			continue;
		result = drift_explained(model, part, drift, &share, err);
		if (result == 0 && share > *most) {
			*best = part;
			*most = share;
		}
	}
	return result;
}

/* Its own error is one of the inputs that it is put down to. */
static void drift_widen(struct model *model, int part, double half)
{
	double *halves = model->inputs.half;

	for (int i = 0; i < INPUTS && isfinite(half); i++)
		if (drift_is_part(&model->inputs, part, i))
			halves[i] = quadrature(halves[i], half);
}

int drift_follow(struct model *model, struct interval drift, struct error *err)
{
	const struct profile_change none = PROFILE_NO_CHANGE;
	double share;
	int part, result;

	result = drift_find(model, drift.value, &part, &share, err);
	drift_set(model, part, pow(drift.value, -1 / share));
	drift_widen(model, part, interval_half(drift) / drift.value / share);
	if (result == 0)
		result = drift_rate(model, &model->base, err);
	if (result == 0)
		result = model_rates(model, &none, 0, model->base, model->bases, err);
	return result;
}
