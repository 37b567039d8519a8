/* shard.h - a source whose samples are parts of one file, as those of a tar shard are. */
#ifndef DSA_TESTS_SHARD_H
#define DSA_TESTS_SHARD_H

#include <stdint.h>

struct source;

struct shard_member {
	uint64_t offset;
	uint32_t size;
};

/* All are of class "shard" and are called PATH[NUMBER]. Fails the test without memory or
 * without a folder to open. */
struct source *shard_open(const char *folder, const char *path,
			  const struct shard_member *members, uint32_t count);

#endif
