/* dataset.c - dsa dataset: makes or converts a data set, or says what one holds. */
#include "cmd/dataset/dataset.h"
#include "cmd/common/argument.h"
#include "cmd/common/cmd.h"
#include "loader/base/number.h"
#include "profiler/dataset/archive/shard_form.h"
#include "profiler/host/machine.h"

#include <math.h>

unsigned dataset_threads(void)
{
	struct machine machine;

	machine_read(&machine, "");
	return (unsigned)ceil(machine.cores);
}

void dataset_set_shard(struct argp_state *state, void *size, const char *value)
{
	uint64_t bytes;

	if (!number_size(value, &bytes) || bytes == 0 || (double)bytes > SHARD_LARGEST)
		argument_error(state, "--shard-size is 1 to 1G, not '%s'", value);
	else
		*(double *)size = (double)bytes;
}

static const struct command *const below[] = {&command_dataset_convert,
					      &command_dataset_inspect,
					      &command_dataset_make, NULL};

const struct command command_dataset = {
	.name = "dataset",
	.summary = "make or convert a data set, or say what one holds",
	.below = below,
};
