/* objects.h - what the sources that are made of a server's objects have in common. */
#ifndef DSA_SOURCE_OBJECTS_H
#define DSA_SOURCE_OBJECTS_H

#include "loader/source/index_cache.h"
#include "loader/source/indexed.h"
#include "loader/source/keys/keys.h"

struct net;
struct net_get;
struct shard_features;

/* The state of such a source. */
struct objects {
	struct index index; /* first: see indexed.h */
	struct net_remote *remote;
	char *prefix; /* of all names in the index: "train/", "" */
	char *shards; /* the name or pattern of shards below it, or the name of the one file of tokens;
		* NULL: what is there */
	struct shard_features *features; /* of records; NULL: they are none */
	char shown[160];                 /* the data set, as errors name it */
	struct index_cache cache;
	struct net *net;   /* while it opens */
	uint64_t requests; /* that this took */
	int64_t listed_ns; /* CLOCK_REALTIME */
	bool kept;         /* that listing was */
};

/*
 * Takes remote, prefix and shards, also when it fails: then NULL. `list` asks for all of it and
 * makes the index; `check` asks once, whether *index, which was kept, may be used: 0, 1
 * (no longer), or -errno.
 */
struct objects_how {
	int (*list)(struct objects *objects, const struct source_config *config,
		    struct error *err);
	int (*check)(struct objects *objects, struct error *err);
};

struct objects_where {
	struct net_remote *remote;
	char *prefix; /* NULL: there was no memory for it */
	char *shards; /* as in struct objects */
};

void *objects_open(const char *dataset, const struct objects_where *where,
		   const struct objects_how *how, const struct source_config *config,
		   struct source_facts *facts, struct error *err);

/* A request of a source that opens. */
int objects_ask(struct objects *objects, struct net_get *get, struct error *err);

/* Makes the index, unfinished, of a bucket's keys; samples that are of this kind. */
int objects_of_keys(const struct keys *keys, const struct file_kind *kind,
		    struct index *index, struct error *err);

/* These are members of struct source_variant. */
#define OBJECTS                                                                        \
	.close = objects_close, .size = indexed_size, .label = indexed_label,          \
	.place = objects_place, .class = indexed_class, .name = objects_name,          \
	.unseal = objects_unseal, .outdated = objects_outdated

void objects_close(void *state);
void objects_place(const void *state, uint32_t sample, char *buffer,
		   struct source_place *place);
const char *objects_name(const void *state, uint32_t sample, char *buffer, size_t size);
int objects_unseal(const void *state, uint32_t sample, const void *bytes,
		   struct source_part *part, const char **why);
bool objects_outdated(const void *state, uint32_t sample);

#endif
