/* shard_form.h - the kinds of shards that are made: what a file of them is called, and how
 * a sample and its class stand in it. */
#ifndef DSA_SHARD_FORM_H
#define DSA_SHARD_FORM_H

#include "profiler/dataset/archive/archive.h"

enum { SHARD_PATH = 32 }; /* bytes of the longest name of a file, and its end */

/* Bytes of samples in a shard. */
#define SHARD_USUAL   32e6 /* where nothing else is asked for */
#define SHARD_LARGEST 1e9

struct shard_form {
	const char *ending; /* ".tar" */

	/* 0; -ENOMEM; or -ENAMETOOLONG. */
	int (*add)(struct archive *archive, const struct shard_sample *sample);
	/* After the last one: 0 or -ENOMEM. */
	int (*end)(struct archive *archive);
};

extern const struct shard_form shard_form_tar, shard_form_tfrecord;

/* "shard-000012.tar". */
void shard_form_path(const struct shard_form *form, uint32_t file,
		     char path[SHARD_PATH]);

#endif
