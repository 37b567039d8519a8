/* dataset.h - what the commands below dsa dataset share. */
#ifndef DSA_DATASET_H
#define DSA_DATASET_H

struct argp_state;

extern const struct command command_dataset_make, command_dataset_inspect;

/* Reads the argument of option --name: 1 to max; ends the program with a line if not.
 */
void dataset_count(struct argp_state *state, const char *arg, const char *name,
		   unsigned max, unsigned *value);

/* Threads that this machine can keep busy for us. */
unsigned dataset_threads(void);

#endif
