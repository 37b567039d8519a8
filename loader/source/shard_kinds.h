/* shard_kinds.h - the kinds of shards, on disk or on a server. */
#ifndef DSA_SOURCE_SHARD_KINDS_H
#define DSA_SOURCE_SHARD_KINDS_H

#include "loader/source/shard_build.h"

extern const struct shard_kind shard_tar, shard_tfrecord;

/* The kind that a file of this name, or those of a pattern, is of, though it may be one
 * that can't be read: kind->named() tells. NULL: it is no shard. */
const struct shard_kind *shard_kind_of(const char *name);

/* struct source_variant.open of shards that are files. What is learnt of them is the
 * indexed_own() of the state. */
void *shard_kind_open(const struct shard_kind *kind, const char *dataset,
		      const struct source_config *config, struct source_facts *facts,
		      struct error *err);

/* 0; or -EINVAL: samples of this op are not in shards. */
int shard_refuse_prep(const char *prep, struct error *err);

/* Sets features->told, of those that it has. */
void shard_features_tell(struct shard_features *features);

/* source_unseal() of a record whose picture is in this feature. */
int shard_record_unseal(const struct shard_features *features, const void *bytes,
			struct source_part *part, const char **why);

#endif
