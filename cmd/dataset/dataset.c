/* dataset.c - dsa dataset: makes or converts a data set, or says what one holds. */
#include "cmd/dataset/dataset.h"
#include "cmd/common/cmd.h"
#include "profiler/host/machine.h"

#include <math.h>

unsigned dataset_threads(void)
{
	struct machine machine;

	machine_read(&machine, "");
	return (unsigned)ceil(machine.cores);
}

static const struct command *const below[] = {&command_dataset_convert,
					      &command_dataset_inspect,
					      &command_dataset_make, NULL};

const struct command command_dataset = {
	.name = "dataset",
	.summary = "make or convert a data set, or say what one holds",
	.below = below,
};
