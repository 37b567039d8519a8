/* join_request.c - writes and checks the first message of a client. */
#include "loader/share/wire/join_request.h"
#include "loader/base/error.h"
#include "loader/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool join_request_is_synthetic(const char *dataset)
{
	const char *name = "synthetic";
	size_t length = strlen(name);

	return strncmp(dataset, name, length) == 0 &&
	       (dataset[length] == '\0' || dataset[length] == ':');
}

void join_request_dataset(const char *dataset, char *name, size_t bytes)
{
	char path[PATH_MAX];
	bool found =
		!join_request_is_synthetic(dataset) && realpath(dataset, path) != NULL;

	snprintf(name, bytes, "%s", found ? path : dataset);
}

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
	struct prep *prep;
	int result = join_request_check(options, err);

	if (result < 0)
		return result;
	prep = prep_open(&options->image, err);
	if (prep == NULL)
		return -err->code;
	*hello = (struct protocol_hello){
		.version = PROTOCOL_VERSION,
		.batch = options->batch,
		.in_order = options->in_order,
		.world = options->world,
		.sample_bytes = prep_sample_bytes(prep),
	};
	prep_close(prep);
	prep_output(&options->image, hello->output);
	join_request_dataset(options->dataset, hello->dataset, sizeof(hello->dataset));
	snprintf(hello->job, sizeof(hello->job), "%s", join_request_job_name());
	return 0;
}

bool join_request_decoded(const char *output, uint64_t sample_bytes)
{
	struct prep_config config = prep_defaults;
	char expected[PREP_OUTPUT];
	struct prep *prep;
	bool fits;

	config.op = "decoded";
	prep = prep_open(&config, NULL);
	if (prep == NULL)
		return false;
	prep_output(&config, expected);
	fits = strcmp(output, expected) == 0 && sample_bytes == prep_sample_bytes(prep);
	prep_close(prep);
	return fits;
}
