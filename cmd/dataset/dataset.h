/* dataset.h - what the commands below dsa dataset share. */
#ifndef DSA_DATASET_H
#define DSA_DATASET_H

extern const struct command command_dataset_convert, command_dataset_inspect,
	command_dataset_make;

/* Threads that this machine can keep busy for us. */
unsigned dataset_threads(void);

#endif
