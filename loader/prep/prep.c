/* prep.c - finds an op by its name, and calls it. */
#include "loader/prep.h"
#include "loader/base/choice.h"
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/prep/op.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct prep {
	const struct prep_op *op;
	struct prep_config config;
	size_t sample_bytes;
};

struct prep_worker {
	const struct prep_op *op;
	void *state;
};

const struct prep_config prep_defaults = {
	.op = "image",
	.size = 224,
	.resize = 256,
	.layout = PREP_NCHW,
	.type = PREP_F32,
	.scale = {.08, 1},
	.ratio = {3. / 4, 4. / 3},
	.flip = .5,
	.length = 1024,
	.seconds = 5,
	.rate = 16000,
	.mean = {.485f, .456f, .406f},
	.std = {.229f, .224f, .225f},
};

#define PREP_ADDRESS(name) &prep_##name,
static const struct prep_op *const ops[] = {PREP_OPS(PREP_ADDRESS)};

static bool is_range(const double range[2])
{
	return range[0] > 0 && range[0] <= range[1] && isfinite(range[1]);
}

static bool is_normalisation(const struct prep_config *config)
{
	for (int c = 0; c < 3; c++)
		if (!isfinite(config->mean[c]) || !isnormal(config->std[c]))
			return false;
	return true;
}

static int prep_check_picture(const struct prep_config *config, struct error *err)
{
	if (config->type > PREP_U8)
		return error_set(err, EINVAL, "a picture's numbers are no %s",
				 prep_type_names[config->type]);
	if (config->size < 1 || config->size > LIMIT_SIZE)
		return error_set(err, EINVAL, "prep size %u is not from 1 to %d",
				 config->size, LIMIT_SIZE);
	if (config->evaluate &&
	    (config->resize < config->size || config->resize > 2 * LIMIT_SIZE))
		return error_set(err, EINVAL,
				 "prep cannot crop %u pixels out of a short side of %u",
				 config->size, config->resize);
	if (!is_range(config->scale) || !is_range(config->ratio))
		return error_set(err, EINVAL,
				 "prep scale and ratio need 0 < lowest <= highest");
	if (!(config->flip >= 0 && config->flip <= 1))
		return error_set(err, EINVAL, "prep flip %g is no probability",
				 config->flip);
	if (!is_normalisation(config))
		return error_set(err, EINVAL,
				 "prep mean and std must be finite and std not 0");
	return 0;
}

static const struct prep_op *prep_find(const struct prep_config *config)
{
	int at = choice_find(&PREP_OPS(VARIANT_OP)[1], config->op);

	return at >= 0 ? ops[at] : NULL;
}

struct prep_shape prep_shape(const struct prep_config *config)
{
	const struct prep_op *op = prep_find(config);

	return (op->shape != NULL ? op->shape : prep_picture_shape)(config);
}

struct prep *prep_open(const struct prep_config *config, struct error *err)
{
	const struct prep_op *op = prep_find(config);
	struct prep_shape shape;
	char names[CHOICE_TEXT];
	struct prep *prep;

	if (op == NULL)
		return error_null(error_set(
			err, EINVAL, "no prep op is called '%.40s': %s are", config->op,
			choice_list(PREP_OP_NAMES, " and ", names)));
	if ((op->check != NULL ? op->check : prep_check_picture)(config, err) < 0)
		return NULL;
	shape = prep_shape(config);
	prep = malloc(sizeof(*prep));
	if (prep == NULL)
		return error_null(
			error_sys(err, ENOMEM, "cannot open prep %s", op->name));
	prep->op = op;
	prep->config = *config;
	prep->config.op = op->name;
	prep->sample_bytes = prep_shape_bytes(&shape);
	return prep;
}

void prep_close(struct prep *prep)
{
	free(prep);
}

size_t prep_sample_bytes(const struct prep *prep)
{
	return prep->sample_bytes;
}

struct prep_worker *prep_worker_new(const struct prep *prep)
{
	struct prep_worker *worker = malloc(sizeof(*worker));

	if (worker == NULL)
		return NULL;
	worker->op = prep->op;
	worker->state = prep->op->state_new(&prep->config);
	if (worker->state == NULL) {
		free(worker);
		return NULL;
	}
	return worker;
}

void prep_worker_free(struct prep_worker *worker)
{
	if (worker == NULL)
		return;
	worker->op->state_free(worker->state);
	free(worker);
}

int prep_run(struct prep_worker *worker, const void *bytes, size_t size, uint64_t seed,
	     void *out, struct error *err)
{
	const struct prep_sample sample = {bytes, size, seed};

	return worker->op->run(worker->state, &sample, out, err);
}

uint64_t prep_pixels(const struct prep_worker *worker)
{
	return worker->op->pixels != NULL ? worker->op->pixels(worker->state) : 0;
}
