/* dataset.h - what the commands below dsa dataset share. */
#ifndef DSA_DATASET_H
#define DSA_DATASET_H

extern const struct command command_dataset_make, command_dataset_inspect;

/* Threads that this machine can keep busy for us. */
unsigned dataset_threads(void);

#endif
