/*
 * shard_build.h - makes an index of the samples in shards: each shard is read by one
 * thread, several at once; then labels are numbered over all of them, in their order.
 */
#ifndef DSA_SOURCE_SHARD_BUILD_H
#define DSA_SOURCE_SHARD_BUILD_H

#include "loader/source/shard/example.h"
#include "loader/source/shard/shard_reader.h"
#include "loader/source/shards.h"

#include <stdatomic.h>

enum { SHARD_LABEL = 256 }; /* bytes of the longest label and its 0 */

/* Which features of records are meant; label "": none is. */
struct shard_features {
	char image[EXAMPLE_NAME], label[EXAMPLE_NAME];
	bool audio;                      /* "image" is a recording */
	char told[2 * EXAMPLE_NAME + 2]; /* both: of struct source_facts */
};

/* What a shard holds, as it is found. */
struct shard_found {
	char *text;                         /* names and labels, each with a 0 */
	size_t text_room, text_used, names; /* bytes; so many of these are names */
	struct shard_sample {
		uint64_t offset;
		uint32_t size, name, label; /* in the text; label: or SHARD_NO_LABEL */
	} * samples;
	size_t room;
	uint32_t count, labelled;
	uint64_t ignored;
	struct index_stamp stamp; /* of a file */
};

#define SHARD_NO_LABEL UINT32_MAX

/* Adds a sample, its bytes at (offset, size); label may be NULL. 0 or -errno, and err. */
int shard_found_add(struct shard_found *found, const char *name, const char *label,
		    const uint64_t place[2], struct error *err);

/* How the shards of a kind are read. */
struct shard_kind {
	const char *shown;  /* "*.tar" */
	shards_named any;   /* called as one */
	shards_named named; /* as one that can be read */
	/* Says why one that is called otherwise can't be; -errno. NULL: all can. */
	int (*refuse)(const char *name, struct error *err);
	/* Finds the features that the user does not name in the first record: 1; 0: the
	 * shard has none, so the next one is asked; or -errno. NULL: such shards have no
	 * features. */
	int (*learn)(const struct source_config *config,
		     const struct shard_object *object, struct shard_features *features,
		     struct error *err);
	const void *context; /* features where there are any; else the kind of files
			      * that samples are */
	/* Adds what an object holds; any thread. Errors are without the shard's name. */
	int (*read)(const void *context, const struct shard_object *object,
		    struct shard_found *found, struct error *err);
	const char *wanted; /* for "no samples in 'x': ...": what there should be */
	const char *label;  /* for "'7.jpg' has no label beside it": where labels are */
};

/* What is done with a shard: it is read where there is `found`, else its features are
 * learnt. */
struct shard_use {
	const struct shard_kind *kind;
	struct shard_found *found;
	const struct source_config *config;
	struct shard_features *features;
};

/* Calls kind->read() or kind->learn(). */
int shard_use_object(const struct shard_use *use, const struct shard_object *object,
		     struct error *err);

/* Learns features of the first shard that has any: 0 or -errno, and err names the shard. */
int shard_learn(const struct index_origin *origin, const struct shards *shards,
		const struct shard_use *use, struct error *err);

/* Fills *index from the shards; 0 or -errno, and err names shard and place. */
int shard_build(const struct index_origin *origin, const struct shard_kind *kind,
		struct shards *shards, struct index *index, struct error *err);

#endif
