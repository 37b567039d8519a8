/* tar.h - tar archives as shards, on disk or on a server. */
#ifndef DSA_SOURCE_TAR_H
#define DSA_SOURCE_TAR_H

#include "loader/source/shard_build.h"

extern const struct shard_kind shard_tar;

/* Is it called as an archive, which shard_tar.named() or else is compressed? */
bool tar_any(const char *name);

/* Both return -errno and the line that says why; the second 0 for pictures. */
int tar_refuse_compressed(const char *dataset, struct error *err);
int tar_refuse_prep(const char *prep, struct error *err);

#endif
