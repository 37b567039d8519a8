/* join_request.c - writes and checks the first message of a client. */
#include "loader/share/wire/join_request.h"
#include "loader/base/choice.h"
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/base/variants.h"
#include "loader/options.h"
#include "loader/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int join_request_check(const struct options *options, struct error *err)
{
	if (options->world > 1)
		return error_set(err, EINVAL,
				 "DSA_SHARE: a shared loader has no ranks: rank %u of "
				 "world %u loads without it",
				 options->rank, options->world);
	if (options->start_step != 0)
		return error_set(err, EINVAL,
				 "DSA_SHARE: a shared loader can't begin at step %llu "
				 "of an epoch: start_step is 0 with it",
				 (unsigned long long)options->start_step);
	return 0;
}

static const char *join_request_job_name(void)
{
	const char *name = getenv("DSA_JOB");

	return name != NULL && *name != '\0' ? name : program_invocation_short_name;
}

int join_request_fill(struct protocol_hello *hello, const struct options *options,
		      struct error *err)
{
	const struct prep_config *image = &options->image;
	int result = join_request_check(options, err);

	if (result < 0)
		return result;
	*hello = (struct protocol_hello){
		.version = PROTOCOL_VERSION,
		.batch = options->batch,
		.in_order = options->in_order,
		.shuffle = options->shuffle_blocks ? DSA_BLOCKS : DSA_GLOBAL,
		.world = options->world,
		.evaluate = image->evaluate,
		.size = image->size,
		.layout = image->layout == PREP_NHWC ? DSA_NHWC : DSA_NCHW,
		.type = (uint32_t)image->type,
		.length = image->length,
		.token_bits = image->token_bits,
		.rate = image->rate,
		.features = image->features == PREP_LOGMEL ? DSA_LOGMEL : DSA_WAVEFORM,
		.seconds = image->seconds,
	};
	memcpy(hello->mean, image->mean, sizeof(hello->mean));
	memcpy(hello->std, image->std, sizeof(hello->std));
	snprintf(hello->prep, sizeof(hello->prep), "%s", options->prep);
	source_spelling(options->dataset, hello->dataset, sizeof(hello->dataset));
	snprintf(hello->job, sizeof(hello->job), "%s", join_request_job_name());
	return 0;
}

int join_request_config(const struct protocol_hello *hello, struct dsa_config *config,
			struct error *err)
{
	if (hello->size < 1 || hello->size > LIMIT_SIZE || hello->layout > DSA_NHWC ||
	    hello->type > DSA_INT64 || hello->features > DSA_LOGMEL ||
	    hello->shuffle > DSA_BLOCKS || choice_find(PREP_OP_NAMES, hello->prep) < 0)
		return error_set(err, EINVAL,
				 "the job wants samples that nobody makes");
	config->batch = hello->batch;
	config->in_order = hello->in_order != 0;
	config->shuffle = (enum dsa_shuffle)hello->shuffle;
	config->evaluate = hello->evaluate != 0;
	config->size = hello->size;
	config->layout = (enum dsa_layout)hello->layout;
	config->type = (enum dsa_type)hello->type;
	config->length = hello->length;
	config->token_bits = hello->token_bits;
	config->rate = hello->rate;
	config->features = (enum dsa_features)hello->features;
	config->seconds = hello->seconds;
	config->mean = hello->mean;
	config->std = hello->std;
	config->prep = hello->prep;
	return 0;
}

int join_request_image(const struct protocol_hello *hello, struct prep_config *image,
		       struct error *err)
{
	struct dsa_config config = {0};
	int result = join_request_config(hello, &config, err);

	if (result < 0)
		return result;
	options_image(image, &config);
	image->op = hello->prep;
	return 0;
}

static int join_request_makes(const struct prep_config *image, const char *output,
			      uint64_t sample_bytes, struct error *err)
{
	struct prep *prep = prep_open(image, err);
	char expected[PREP_OUTPUT];
	bool makes;

	if (prep == NULL)
		return -err->code;
	prep_output(image, expected);
	makes = strcmp(output, expected) == 0 &&
		sample_bytes == prep_sample_bytes(prep);
	prep_close(prep);
	return makes;
}

int join_request_fits(const struct protocol_hello *hello, const char *output,
		      uint64_t sample_bytes, struct error *err)
{
	struct prep_config image;
	int result = join_request_image(hello, &image, err);

	return result < 0 ? result
			  : join_request_makes(&image, output, sample_bytes, err);
}

int join_request_decoded(const char *output, uint64_t sample_bytes, struct error *err)
{
	struct prep_config image = prep_defaults;

	image.op = "decoded";
	return join_request_makes(&image, output, sample_bytes, err);
}
