/* objects_shards.h - shards that are objects of a server. */
#ifndef DSA_SOURCE_OBJECTS_SHARDS_H
#define DSA_SOURCE_OBJECTS_SHARDS_H

#include "loader/source/objects.h"

struct objects_shard {
	const char *name; /* below the prefix */
	const char *etag; /* "": not known */
	uint64_t size;    /* bytes */
};

/*
 * Makes the index, unfinished, of `count` shards in this order, all of the kind of the
 * first: reads them by ranges, several at once. Objects that are `ignored` besides are
 * counted. 0 or -errno, and err.
 */
int objects_shards_index(struct objects *objects, const struct objects_shard *shards,
			 size_t count, uint64_t ignored,
			 const struct source_config *config, struct error *err);

/* The same of the keys below the prefix that are called as shards, which must be those of
 * objects->shards where these have a name. */
int objects_shards_of_keys(struct objects *objects, const struct keys *keys,
			   const struct source_config *config, struct error *err);

#endif
