/* shard_kinds.c - the table of kinds; the first that has a name for itself is meant. Opens
 * those that are files. */
#include "loader/source/shard_kinds.h"
#include "loader/base/error.h"
#include "loader/source/index/file_kind.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

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

static int shard_kind_build(const struct index_origin *origin, struct index *index,
			    struct error *err)
{
	struct shard_kind kind = *origin->shards;
	struct shards shards;
	int result = shards_list(origin, kind.named, &shards, err);

	kind.context = origin->own != NULL ? origin->own : (const void *)origin->kind;
	if (result == 0 && kind.refuse != NULL &&
	    (shards.count == 0 || !kind.named(shards.paths[0])))
		result = kind.refuse(origin->dataset, err);
	if (result == 0)
		result = shard_build(origin, &kind, &shards, index, err);
	shards_free(&shards);
	return result;
}

/* An index is one of the features that are meant. */
static int shard_kind_learn(struct index_origin *origin,
			    const struct source_config *config,
			    struct shard_features *features, struct error *err)
{
	const struct shard_use use = {
		.kind = origin->shards, .config = config, .features = features};
	struct shards shards;
	int result = shards_list(origin, origin->shards->named, &shards, err);

	if (result == 0)
		result = shard_learn(origin, &shards, &use, err);
	shards_free(&shards);
	origin->seed = XXH3_64bits(features->told, strlen(features->told));
	return result;
}

void *shard_kind_open(const struct shard_kind *kind, const char *dataset,
		      const struct source_config *config, struct source_facts *facts,
		      struct error *err)
{
	struct shard_features *features = NULL;
	struct index_origin origin = {.shards = kind};
	char folder[PATH_MAX];
	void *state = NULL;
	int result = shard_refuse_prep(config->prep, err);

	if (result < 0)
		return NULL;
	shards_origin(dataset, folder, &origin);
	if (kind->learn != NULL) {
		origin.own = features = calloc(1, sizeof(*features));
		result = features == NULL
				 ? error_sys(err, ENOMEM, "cannot open the data set")
				 : shard_kind_learn(&origin, config, features, err);
	}
	if (result == 0)
		state = indexed_open(&origin, shard_kind_build, config, facts, err);
	if (state == NULL)
		free(features);
	else if (features != NULL)
		facts->features = features->told;
	return state;
}
