/* shard_kinds.c - the table of kinds; the first that has a name for itself is meant. */
#include "loader/source/shard_kinds.h"
#include "loader/base/error.h"
#include "loader/source/index/file_kind.h"

#include <errno.h>
#include <stddef.h>

static const struct shard_kind *const shard_kinds[] = {&shard_tar, &shard_tfrecord};
enum { SHARD_KINDS = sizeof(shard_kinds) / sizeof(shard_kinds[0]) };

const struct shard_kind *shard_kind_of(const char *name)
{
	for (size_t i = 0; i < SHARD_KINDS; i++)
		if (shard_kinds[i]->any(name))
			return shard_kinds[i];
	return NULL;
}

int shard_refuse_prep(const char *prep, struct error *err)
{
	if (file_kind_of(prep) != file_kind_of("tokens"))
		return 0;
	return error_set(
		err, EINVAL,
		"shards hold pictures or recordings: name a folder or file for "
		"prep=%s",
		prep);
}
