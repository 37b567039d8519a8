/*
 * shards.h - the files that a data set of shards is: one, those of a folder in the order
 * of their names, or those that a pattern counts: "train-{000..127}.tar". Those of a
 * server are found in objects_shards.c.
 */
#ifndef DSA_SOURCE_SHARDS_H
#define DSA_SOURCE_SHARDS_H

#include "loader/source/index/index.h"
#include "loader/source/indexed.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct error;
struct stat;

/* Is a file of this name, without its folder, such a shard? */
typedef bool (*shards_named)(const char *name);

/* True if a data set is one, many or a pattern of these: of a folder, if they are in it
 * and neither folders nor files that are samples are. */
bool shards_claim(const char *dataset, const struct stat *status,
		  const struct source_config *config, shards_named named);

struct shard_features;
struct shard_use;

/* What reads shards that are no files. */
struct shards_elsewhere {
	void *context;
	/* shard_use_object() of the shard with this number. Any thread. */
	int (*use)(void *context, size_t number, const struct shard_use *use,
		   struct error *err);
	const char *(*etag)(const void *context, size_t number);
	const struct shard_features *features; /* to keep with the index; NULL: none */
};

struct shards {
	const struct shards_elsewhere *elsewhere; /* NULL: files */
	char **paths;                             /* relative to origin.base_path */
	size_t count;
	uint64_t ignored; /* other files of the folder */
	bool folder;      /* the data set is one, and its stamp counts */
};

/* Fills the paths of *origin; buffer: PATH_MAX. */
void shards_origin(const char *dataset, char *buffer, struct index_origin *origin);

/* Lists them: 0 or -errno; to be freed in either case. */
int shards_list(const struct index_origin *origin, shards_named named,
		struct shards *shards, struct error *err);
void shards_free(struct shards *shards);

/* Those that a name without folders counts or is; as shards_list(). */
int shards_of_name(const char *name, struct shards *shards, struct error *err);

/* Where in the name the shards that it counts begin to differ: the bytes before. */
size_t shards_common(const char *name);

/* "cannot read the shard 'NAME'" and the like: what shards_shown() gives. */
const char *shards_shown(const struct index_origin *origin, const char *path,
			 char *buffer, size_t size);

#endif
