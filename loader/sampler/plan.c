/* plan.c - the stream of a loader of its own: an epoch is a pass. */
#include "loader/plan.h"
#include "loader/base/error.h"
#include "loader/sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct epochs {
	struct plan plan;
	struct sampler *sampler;
	uint32_t length, spare;
	uint64_t end_epoch;
	uint32_t *rest; /* NULL: none; else the samples of one pass, */
	uint32_t rest_length, rest_spare;
	uint64_t rest_pass;
};

static bool is_rest(const struct epochs *epochs, uint64_t pass)
{
	return epochs->rest != NULL && pass == epochs->rest_pass;
}

static void epochs_pass(struct plan *plan, uint64_t pass, struct plan_pass *out)
{
	const struct epochs *epochs = (const struct epochs *)plan;
	uint32_t whole = epochs->length + epochs->spare;

	out->epoch = pass;
	out->first = pass * whole;
	if (epochs->rest != NULL && pass > epochs->rest_pass)
		out->first -= whole - epochs->rest_length - epochs->rest_spare;
	if (pass >= epochs->end_epoch)
		return;
	out->length = is_rest(epochs, pass) ? epochs->rest_length : epochs->length;
	out->spare = is_rest(epochs, pass) ? epochs->rest_spare : epochs->spare;
}

static uint32_t epochs_sample(struct plan *plan, uint64_t pass, uint32_t position)
{
	struct epochs *epochs = (struct epochs *)plan;

	return is_rest(epochs, pass) ? epochs->rest[position]
				     : sampler_sample(epochs->sampler, pass, position);
}

static void epochs_free(struct plan *plan)
{
	struct epochs *epochs = (struct epochs *)plan;

	sampler_close(epochs->sampler);
	free(epochs->rest);
	free(epochs);
}

static const struct plan_ops ops = {
	.pass = epochs_pass,
	.sample = epochs_sample,
	.free = epochs_free,
};

struct plan *plan_epochs(const struct sampler_config *config, uint32_t batch,
			 uint64_t end_epoch, struct error *err)
{
	struct epochs *epochs = calloc(1, sizeof(*epochs));

	if (epochs == NULL)
		return error_null(error_sys(err, ENOMEM, "cannot plan epochs"));
	epochs->plan.ops = &ops;
	epochs->end_epoch = end_epoch;
	epochs->sampler = sampler_open(config, err);
	if (epochs->sampler == NULL) {
		epochs_free(&epochs->plan);
		return NULL;
	}
	epochs->length = sampler_length(epochs->sampler);
	epochs->spare = batch > 0 ? epochs->length % batch : 0;
	epochs->length -= epochs->spare;
	return &epochs->plan;
}

static int keep_rest(struct epochs *epochs, const struct sampler_config *config,
		     uint32_t batch, const struct plan_rest *rest, struct error *err)
{
	size_t bytes = rest->count * sizeof(*rest->samples);

	for (uint32_t i = 0; i < rest->count; i++)
		if (rest->samples[i] >= config->count)
			return error_set(
				err, EBADMSG,
				"sample %u of an epoch's rest is not one of %u",
				rest->samples[i], config->count);
	epochs->rest_spare = batch > 0 ? rest->count % batch : 0;
	epochs->rest_length = rest->count - epochs->rest_spare;
	if (epochs->rest_length == 0)
		return error_set(err, EINVAL, "an epoch's rest has no samples");
	epochs->rest = malloc(bytes);
	if (epochs->rest == NULL)
		return error_sys(err, ENOMEM, "cannot plan the rest of an epoch");
	memcpy(epochs->rest, rest->samples, bytes);
	epochs->rest_pass = rest->epoch;
	return 0;
}

struct plan *plan_after(const struct sampler_config *config, uint32_t batch,
			uint64_t end_epoch, const struct plan_rest *rest,
			struct error *err)
{
	struct plan *plan = plan_epochs(config, batch, end_epoch, err);

	if (plan == NULL)
		return NULL;
	if (keep_rest((struct epochs *)plan, config, batch, rest, err) == 0)
		return plan;
	plan_free(plan);
	return NULL;
}

void plan_free(struct plan *plan)
{
	if (plan != NULL)
		plan->ops->free(plan);
}
