/*
 * repack.h - a copy of any data set of pictures or recordings in another form: a folder per
 * class, or shards.
 *
 *	TO/bricks/000007.jpg	or	TO/shard-000000.tar	or	TO/shard-000000.tfrecord
 *
 * Each file is written under another name, brought to the disk, read again and compared
 * before it gets its name. A file .dsa-convert in the folder says what is made there, and
 * which samples are left out; as long as it is there, the same call goes on where the last
 * one ended, however it did. Files that are there then are taken for whole.
 */
#ifndef DSA_REPACK_H
#define DSA_REPACK_H

#include "profiler/dataset/convert.h"

#include <stdbool.h>

struct shard_form;

struct repack_config {
	const char *from; /* as source.h reads data sets */
	const char *to;   /* is made, is empty, or was begun by the same call */
	const char *prep; /* "image" or "audio"; NULL: what the data set has */
	const char *image_feature,
		*label_feature;        /* as struct source_config has them */
	const struct shard_form *form; /* NULL: a folder per class */
	double shard_size;             /* bytes of a shard, about */
	unsigned threads;              /* at least 1 */

	/* As those of struct convert_config. */
	const atomic_bool *stop;
	void (*progress)(void *arg, size_t done, size_t all);
	void *arg;
};

/*
 * 0 and *result, which convert_result_free() ends: `resized` counts the samples that were
 * there already, and those that can't be read are left out, counted and named, as are
 * recordings whose header can't be, or that are cut short; or -errno: -ENOTSUP of tokens,
 * -ENOTEMPTY when there is something else in `to`, -ECANCELED when stopped. What was made
 * stays.
 */
int repack_run(const struct repack_config *config, struct convert_result *result,
	       struct error *err);

#endif
