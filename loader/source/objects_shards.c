/*
 * objects_shards.c - shards that are objects of a server: reads them by ranges.
 *
 * Each range is one request, which costs its latency. So of members that are small the
 * whole shard is read, and only what is larger than GAP is passed over.
 */
#include "loader/source/objects_shards.h"
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/net.h"
#include "loader/source/shard_kinds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 256 << 10, LEAST = 64 << 10 };

struct objects_shards {
	const struct objects *objects;
	const struct objects_shard *all;
	atomic_uint_fast64_t requests;
};

/* ---- one shard ---- */

struct objects_ranges {
	struct objects_shards *shards;
	const struct objects_shard *shard;
	struct net *net;
	struct error error; /* of the request that failed */
	char path[PATH_MAX];
};

static ssize_t objects_ranges_read(void *state, void *to, size_t size, uint64_t from)
{
	struct objects_ranges *ranges = state;
	uint64_t left = from < ranges->shard->size ? ranges->shard->size - from : 0;
	struct net_get get = {
		.remote = ranges->shards->objects->remote,
		.path = ranges->path,
		.etag = ranges->shard->etag,
		.body = to,
		.room = size < left ? size : (size_t)left,
		.from = from,
		.part = true,
		.exact = true,
		.first = true,
		.deadline = net_remote_deadline(ranges->shards->objects->remote),
	};
	int result;

	if (get.room == 0)
		return 0;
	result = net_call(ranges->net, &get, &ranges->error);
	ranges->shards->requests += 1 + get.retries;
	return result < 0 ? result : (ssize_t)get.got;
}

static int objects_shard_use(void *context, size_t number, const struct shard_use *use,
			     struct error *err)
{
	struct objects_shards *shards = context;
	const struct net_config connection = {.most = 1, .seed = number};
	struct objects_ranges *ranges = calloc(1, sizeof(*ranges));
	struct shard_object object = {
		.state = ranges,
		.size = shards->all[number].size,
		.gap = GAP,
		.least = LEAST,
		.read = objects_ranges_read,
	};
	int result = -ENOENT;

	if (ranges == NULL)
		return error_sys(err, ENOMEM, "cannot be read");
	ranges->shards = shards;
	ranges->shard = &shards->all[number];
	snprintf(ranges->path, sizeof(ranges->path), "%s%s", shards->objects->prefix,
		 ranges->shard->name);
	ranges->net = net_open(&connection, err);
	if (ranges->net != NULL)
		result = shard_use_object(use, &object, err);
	if (ranges->error.code != 0 && err != NULL)
		*err = ranges->error;
	net_close(ranges->net);
	free(ranges);
	return result;
}

static const char *objects_shard_etag(const void *context, size_t number)
{
	const struct objects_shards *shards = context;

	return shards->all[number].etag;
}

/* ---- all of them ---- */

static int objects_shards_check(const struct shard_kind *kind, const char *name,
				struct error *err)
{
	char shown[NAME_SHOWN];

	if (kind->named(name))
		return 0;
	if (kind->any(name))
		return kind->refuse(name, err);
	return error_set(err, EINVAL, "'%s' is no %s shard, as others are",
			 name_escape(name, shown, sizeof(shown)), kind->shown);
}

static int objects_shards_paths(const struct shard_kind *kind,
				const struct objects_shard *all, size_t count,
				struct shards *shards, struct error *err)
{
	shards->paths = calloc(count + 1, sizeof(*shards->paths));
	if (shards->paths == NULL)
		return error_sys(err, ENOMEM, "cannot index the shards");
	for (size_t i = 0; i < count; i++) {
		const char *name = all[i].name;
		int result = objects_shards_check(kind, name, err);

		if (result < 0)
			return result;
		shards->paths[i] = name != NULL ? strdup(name) : NULL;
		if (shards->paths[i] == NULL)
			return error_sys(err, ENOMEM, "cannot index the shards");
		shards->count++;
	}
	return 0;
}

/* What the shards are, and how they are read. */
struct objects_all {
	struct shard_features features;
	struct shard_kind kind;
	struct objects_shards of;
	struct shards_elsewhere elsewhere;
	struct shards shards;
};

static int objects_shards_prepare(struct objects_all *all, size_t count,
				  const struct index_origin *origin,
				  const struct source_config *config, struct error *err)
{
	const struct shard_use use = {
		.kind = &all->kind, .config = config, .features = &all->features};
	int result = shard_refuse_prep(config->prep, err);

	all->kind.context = file_kind_of(config->prep);
	if (result == 0)
		result = objects_shards_paths(&all->kind, all->of.all, count,
					      &all->shards, err);
	if (result < 0 || all->kind.learn == NULL)
		return result;
	all->kind.context = all->elsewhere.features = &all->features;
	return shard_learn(origin, &all->shards, &use, err);
}

int objects_shards_index(struct objects *objects, const struct objects_shard *shards,
			 size_t count, uint64_t ignored,
			 const struct source_config *config, struct error *err)
{
	struct objects_all all = {
		.kind = *shard_kind_of(shards[0].name),
		.of = {.objects = objects, .all = shards},
		.elsewhere = {.context = &all.of,
			      .use = objects_shard_use,
			      .etag = objects_shard_etag},
		.shards = {.elsewhere = &all.elsewhere,
			   .ignored = ignored,
			   .folder = true},
	};
	const struct index_origin origin = {
		.dataset = objects->shards != NULL ? objects->shards : all.kind.shown,
		.base_path = ".",
		.dataset_fd = -1,
		.base = -1,
		.threads = config->threads,
	};
	int result = objects_shards_prepare(&all, count, &origin, config, err);

	if (result == 0)
		result = shard_build(&origin, &all.kind, &all.shards, &objects->index,
				     err);
	objects->requests += all.of.requests;
	shards_free(&all.shards);
	return result;
}

/* ---- of keys ---- */

static void objects_shard_set(struct objects_shard *shard, const struct keys *keys,
			      const struct keys_sample *key)
{
	*shard = (struct objects_shard){
		.name = keys->text + key->name,
		.etag = keys->text + key->etag,
		.size = key->size,
	};
}

/* The key of a name, by bisection. */
static const struct keys_sample *objects_shard_find(const struct keys *keys,
						    const char *name)
{
	size_t low = 0, high = keys->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct keys_sample *key = &keys->samples[middle];
		int order = strcmp(keys->text + key->name, name);

		if (order == 0)
			return key;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Those that have a name or a pattern of names, all of which must be there. */
static int objects_shards_named(struct objects *objects, const struct keys *keys,
				const struct source_config *config, struct error *err)
{
	struct shards wanted = {0};
	struct objects_shard *all = NULL;
	int result = shards_of_name(objects->shards, &wanted, err);

	if (result == 0)
		all = calloc(wanted.count, sizeof(*all));
	if (result == 0 && all == NULL)
		result = error_sys(err, ENOMEM, "cannot index the shards");
	for (size_t i = 0; i < wanted.count && result == 0; i++) {
		const struct keys_sample *key =
			objects_shard_find(keys, wanted.paths[i]);
		char shown[NAME_SHOWN];

		if (key == NULL)
			result = error_set(
				err, ENOENT, "there is no shard '%s'",
				name_escape(wanted.paths[i], shown, sizeof(shown)));
		else
			objects_shard_set(&all[i], keys, key);
	}
	if (result == 0)
		result = objects_shards_index(objects, all, wanted.count, 0, config,
					      err);
	shards_free(&wanted);
	free(all);
	return result;
}

static const char *objects_key(const struct keys *keys, size_t number)
{
	return keys->text + keys->samples[number].name;
}

/* The kind of the first that can be read. NULL: none can. */
static const struct shard_kind *objects_keys_kind(const struct keys *keys)
{
	for (size_t i = 0; i < keys->count; i++) {
		const char *name = objects_key(keys, i);
		const struct shard_kind *kind = shard_kind_of(name);

		if (kind != NULL && kind->named(name))
			return kind;
	}
	return NULL;
}

int objects_shards_of_keys(struct objects *objects, const struct keys *keys,
			   const struct source_config *config, struct error *err)
{
	const struct shard_kind *kind = objects_keys_kind(keys);
	struct objects_shard *all;
	size_t count = 0;
	int result;

	if (objects->shards != NULL)
		return objects_shards_named(objects, keys, config, err);
	if (kind == NULL)
		return shard_kind_of(objects_key(keys, 0))
			->refuse(objects_key(keys, 0), err);
	all = calloc(keys->count, sizeof(*all));
	if (all == NULL)
		return error_sys(err, ENOMEM, "cannot index the shards");
	for (size_t i = 0; i < keys->count; i++)
		if (kind->named(objects_key(keys, i)))
			objects_shard_set(&all[count++], keys, &keys->samples[i]);
	result = objects_shards_index(objects, all, count,
				      keys->ignored + keys->count - count, config, err);
	free(all);
	return result;
}
