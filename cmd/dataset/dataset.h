/* dataset.h - what the commands below dsa dataset share. */
#ifndef DSA_DATASET_H
#define DSA_DATASET_H

#include <argp.h>

extern const struct command command_dataset_convert, command_dataset_inspect,
	command_dataset_make;

/* Threads that this machine can keep busy for us. */
unsigned dataset_threads(void);

/* Sets a double to bytes of a shard, of --shard-size; ends the process with one line where
 * there can be none so large. */
void dataset_set_shard(struct argp_state *state, void *size, const char *value);

#endif
