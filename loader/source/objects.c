/* objects.c - opens the index of a data set of objects, and answers from it. */
#include "loader/source/objects.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/net.h"
#include "loader/source/index/file_kind.h"
#include "loader/source/shard_kinds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 32 };

int objects_ask(struct objects *objects, struct net_get *get, struct error *err)
{
	int result;

	get->remote = objects->remote;
	get->deadline = net_remote_deadline(objects->remote);
	get->first = true;
	result = net_call(objects->net, get, err);
	objects->requests += 1 + get->retries;
	return result;
}

/* The index that was kept, if it may be used and was listed after that time: 1; else 0, or
 * -errno. */
static int objects_kept(struct objects *objects, const struct objects_how *how,
			int64_t after_ns, struct error *err)
{
	int64_t listed_ns;
	int result;

	if (!index_cache_read(&objects->cache, &objects->index))
		return 0;
	listed_ns = objects->index.folders[0].stamp.modified_ns;
	if (listed_ns <= after_ns) {
		index_free(&objects->index);
		return 0;
	}
	objects->listed_ns = listed_ns;
	result = index_has_etags(&objects->index) ? how->check(objects, err) : 1;
	if (result != 0) {
		index_free(&objects->index);
		return result < 0 ? result : 0;
	}
	objects->kept = true;
	return 1;
}

static int objects_list(struct objects *objects, const struct objects_how *how,
			const struct source_config *config, struct error *err)
{
	int result;

	objects->listed_ns = (int64_t)clock_real();
	result = how->list(objects, config, err);
	if (result < 0)
		return result;
	objects->index.folders[0].stamp.modified_ns = objects->listed_ns;
	result = index_finish(&objects->index, err);
	if (result == 0)
		index_cache_keep(&objects->cache, &objects->index);
	return result;
}

/* What tells its index from all others. */
static void objects_describe(const struct objects *objects,
			     const struct source_config *config, char place[PATH_MAX])
{
	const char *named[] = {objects->shards, config->image_feature,
			       config->label_feature};
	int used =
		snprintf(place, PATH_MAX, "%s %s %s", net_remote_url(objects->remote),
			 objects->prefix, file_kind_of(config->prep)->prep);

	for (size_t i = 0; i < 3 && used < PATH_MAX; i++)
		if (named[i] != NULL && named[i][0] != '\0')
			used += snprintf(place + used, (size_t)(PATH_MAX - used),
					 " %.*s%s", (int)i, "||", named[i]);
}

/* Which features the records of an index have. */
static int objects_learned(struct objects *objects, struct error *err)
{
	const char *image = index_features(&objects->index);

	if (image == NULL)
		return 0;
	objects->features = calloc(1, sizeof(*objects->features));
	if (objects->features == NULL)
		return error_sys(err, ENOMEM, "cannot open the data set");
	snprintf(objects->features->image, EXAMPLE_NAME, "%s", image);
	snprintf(objects->features->label, EXAMPLE_NAME, "%s",
		 image + strlen(image) + 1);
	shard_features_tell(objects->features);
	return 0;
}

/* Lists it, unless another loader just did. */
static int objects_list_once(struct objects *objects, const struct objects_how *how,
			     const struct source_config *config, int64_t after_ns,
			     struct error *err)
{
	int lock = index_cache_lock(&objects->cache);
	int result = objects_kept(objects, how, after_ns, err);

	if (result == 0)
		result = objects_list(objects, how, config, err);
	index_cache_unlock(lock);
	return result;
}

static int objects_index(struct objects *objects, const struct objects_how *how,
			 const struct source_config *config, struct error *err)
{
	int64_t after_ns = config->relist ? (int64_t)clock_real() : 0;
	char place[PATH_MAX];
	int result;

	objects_describe(objects, config, place);
	index_cache_open_remote(&objects->cache, config->index_dir, place);
	result = objects_kept(objects, how, after_ns, err);
	if (result == 0 && objects->listed_ns > after_ns)
		after_ns = objects->listed_ns; /* that one is refused */
	if (result == 0)
		result = objects_list_once(objects, how, config, after_ns, err);
	return result < 0 ? result : objects_learned(objects, err);
}

static void objects_facts(const struct objects *objects, struct source_facts *facts)
{
	const struct index_head *head = objects->index.head;
	double age_s = (double)((int64_t)clock_real() - objects->listed_ns) * 1e-9;

	*facts = (struct source_facts){
		.count = head->samples,
		.classes = head->classes,
		.bytes = head->bytes,
		.ignored = head->ignored,
		.digest = head->digest,
		.remote = true,
		.requests = objects->requests,
		.listing_age_s = objects->kept && age_s > 0 ? age_s : 0,
		.features = objects->features != NULL ? objects->features->told : NULL,
	};
}

void *objects_open(const char *dataset, const struct objects_where *where,
		   const struct objects_how *how, const struct source_config *config,
		   struct source_facts *facts, struct error *err)
{
	const struct net_config connections = {.most = AT_ONCE, .seed = clock_now()};
	struct objects *objects = calloc(1, sizeof(*objects));
	int result = -1;

	if (objects == NULL || where->prefix == NULL) {
		error_sys(err, ENOMEM, "cannot open the data set");
		net_remote_close(where->remote);
		free(where->prefix);
		free(where->shards);
		free(objects);
		return NULL;
	}
	objects->remote = where->remote;
	net_remote_set_deadline(objects->remote, config->deadline_s);
	objects->prefix = where->prefix;
	objects->shards = where->shards;
	name_escape(dataset, objects->shown, sizeof(objects->shown));
	objects->net = net_open(&connections, err);
	if (objects->net != NULL)
		result = objects_index(objects, how, config, err);
	net_close(objects->net);
	objects->net = NULL;
	if (result >= 0) {
		objects_facts(objects, facts);
		return objects;
	}
	objects_close(objects);
	return error_null(error_within(err, result, "%s", dataset));
}

struct objects_rank {
	const char *name;
	uint32_t class;
};

static int objects_compare(const void *a, const void *b)
{
	return strcmp(((const struct objects_rank *)a)->name,
		      ((const struct objects_rank *)b)->name);
}

/* Classes by name, as a tree numbers them. NULL: no memory. */
static struct objects_rank *objects_rank(const struct keys *keys)
{
	struct objects_rank *ranks = calloc(keys->class_count + 1, sizeof(*ranks));

	if (ranks == NULL)
		return NULL;
	for (size_t i = 0; i < keys->class_count; i++)
		ranks[i] = (struct objects_rank){keys->text + keys->classes[i],
						 (uint32_t)i};
	qsort(ranks, keys->class_count, sizeof(*ranks), objects_compare);
	return ranks;
}

static uint32_t objects_bytes(uint64_t size)
{
	return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

static void objects_fill(const struct keys *keys, bool classes, const uint32_t *labels,
			 struct index *index)
{
	const struct index_stamp stamp = {0};

	index_add_folder(index, "", &stamp);
	for (size_t i = 0; i < keys->count; i++) {
		const struct keys_sample *sample = &keys->samples[i];
		struct index_sample added = {.size = objects_bytes(sample->size)};

		if (classes && sample->class == KEYS_NO_CLASS)
			continue;
		if (classes)
			added.label = labels[sample->class];
		index_add_sample(index, keys->text + sample->name, &added);
		index_add_etag(index, keys->text + sample->etag);
	}
}

static int objects_refuse(const struct keys *keys, const struct file_kind *kind,
			  struct error *err)
{
	return error_set(err, ENODATA,
			 "no %s (%llu other objects): it needs a folder per class with "
			 "%s objects in it",
			 kind->words, (unsigned long long)keys->ignored, kind->shown);
}

int objects_of_keys(const struct keys *keys, const struct file_kind *kind,
		    struct index *index, struct error *err)
{
	bool classes = keys->count > keys->plain;
	struct index_plan plan = {
		.folders = 1,
		.samples = classes ? keys->count - keys->plain : keys->count,
		.classes = classes ? keys->class_count : 1,
		.text = keys->used + sizeof("") + sizeof("."),
	};
	struct objects_rank *ranks = objects_rank(keys);
	uint32_t *labels = calloc(keys->class_count + 1, sizeof(*labels));
	int result = -ENOMEM;

	if (keys->count == 0)
		result = objects_refuse(keys, kind, err);
	else if (ranks == NULL || labels == NULL)
		error_sys(err, ENOMEM, "cannot index it");
	else
		result = index_new(index, &plan, err);
	if (result < 0)
		goto out;
	for (size_t i = 0; classes && i < keys->class_count; i++) {
		labels[ranks[i].class] = (uint32_t)i;
		index_add_class(index, ranks[i].name);
	}
	if (!classes)
		index_add_class(index, ".");
	objects_fill(keys, classes, labels, index);
	index->head->ignored = keys->ignored + (classes ? keys->plain : 0);
out:
	free(ranks);
	free(labels);
	return result;
}

void objects_close(void *state)
{
	struct objects *objects = state;

	index_free(&objects->index);
	net_remote_close(objects->remote);
	free(objects->prefix);
	free(objects->shards);
	free(objects->features);
	free(objects);
}

void objects_place(const void *state, uint32_t sample, char *buffer,
		   struct source_place *place)
{
	const struct objects *objects = state;
	const struct index *index = &objects->index;
	const struct index_sample *at = &index->samples[sample];
	bool part = index->head->offsets > 0;

	snprintf(buffer, PATH_MAX, "%s%s", objects->prefix,
		 index->text + (part ? index->folders[at->folder].path : at->name));
	*place = (struct source_place){
		.dir = -1,
		.remote = objects->remote,
		.object = buffer,
		.etag = index_etag(index, sample),
		.offset = part ? index->offsets[sample] : 0,
		.size = at->size,
		.part = part,
	};
}

const char *objects_name(const void *state, uint32_t sample, char *buffer, size_t size)
{
	const struct objects *objects = state;
	char path[PATH_MAX];

	return name_escape(index_path(&objects->index, sample, path), buffer, size);
}

int objects_unseal(const void *state, uint32_t sample, const void *bytes,
		   struct source_part *part, const char **why)
{
	const struct objects *objects = state;

	(void)sample;
	return objects->features != NULL
		       ? shard_record_unseal(objects->features, bytes, part, why)
		       : 0;
}

bool objects_outdated(const void *state, uint32_t sample)
{
	const struct objects *objects = state;

	(void)sample;
	return index_cache_drop(&objects->cache);
}
