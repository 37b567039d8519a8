/* shard_build.c - reads shards in several threads, and puts together what they hold. */
#include "loader/source/shard_build.h"
#include "loader/base/bytes/array.h"
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/base/thread_pool.h"
#include "loader/source/index/labels.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct shard_work {
	const struct index_origin *origin;
	const struct shard_kind *kind;
	const struct shards *shards;
	struct shard_found *found; /* of each shard */
	atomic_uint_fast32_t next; /* shard that nobody has taken yet */
	atomic_bool failed;

	pthread_mutex_t lock; /* guards what follows */
	uint32_t worst;       /* the first shard that failed */
	struct error err;     /* of it */
};

/* ---- one shard ---- */

/* Where the text is now; SHARD_NO_LABEL: there is no room for it. */
static uint32_t shard_found_text(struct shard_found *found, const char *text)
{
	size_t size = strlen(text) + 1;
	uint32_t at = (uint32_t)found->text_used;
	char *moved = NULL;

	if (found->text_used + size < SHARD_NO_LABEL)
		moved = array_grow(found->text, &found->text_room,
				   found->text_used + size, 1);
	if (moved == NULL)
		return SHARD_NO_LABEL;
	found->text = moved;
	memcpy(found->text + at, text, size);
	found->text_used += size;
	return at;
}

int shard_found_add(struct shard_found *found, const char *name, const char *label,
		    const uint64_t place[2], struct error *err)
{
	struct shard_sample *samples = array_grow(found->samples, &found->room,
						  found->count + 1ul, sizeof(*samples));
	struct shard_sample sample = {
		.offset = place[0],
		.size = place[1] > UINT32_MAX ? UINT32_MAX : (uint32_t)place[1],
		.label = SHARD_NO_LABEL,
	};

	if (samples == NULL)
		goto no_memory;
	found->samples = samples;
	sample.name = shard_found_text(found, name);
	if (sample.name == SHARD_NO_LABEL)
		goto no_memory;
	found->names += strlen(name) + 1;
	if (label != NULL) {
		sample.label = shard_found_text(found, label);
		if (sample.label == SHARD_NO_LABEL)
			goto no_memory;
		found->labelled++;
	}
	samples[found->count++] = sample;
	return 0;
no_memory:
	return error_sys(err, ENOMEM, "cannot index it");
}

int shard_use_object(const struct shard_use *use, const struct shard_object *object,
		     struct error *err)
{
	const struct shard_kind *kind = use->kind;

	return use->found != NULL
		       ? kind->read(kind->context, object, use->found, err)
		       : kind->learn(use->config, object, use->features, err);
}

static int shard_use_open(int fd, const struct shard_use *use, struct error *err)
{
	struct shard_object object;
	struct stat status;

	if (fstat(fd, &status) < 0)
		return error_sys(err, errno, "cannot be read");
	if (!S_ISREG(status.st_mode))
		return error_set(err, EINVAL, "is no regular file");
	if (use->found != NULL)
		index_stamp_set(&use->found->stamp, &status);
	shard_object_file(&object, &fd, (uint64_t)status.st_size);
	return shard_use_object(use, &object, err);
}

static int shard_use_file(const char *folder, const char *path,
			  const struct shard_use *use, struct error *err)
{
	char whole[2 * PATH_MAX];
	int fd, result;

	snprintf(whole, sizeof(whole), "%s/%s", folder, path);
	fd = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return error_sys(err, errno, "cannot be opened");
	result = shard_use_open(fd, use, err);
	close(fd);
	return result;
}

static int shard_use_one(const struct index_origin *origin, const struct shards *shards,
			 size_t number, const struct shard_use *use, struct error *err)
{
	const struct shards_elsewhere *elsewhere = shards->elsewhere;
	const char *path = shards->paths[number];
	char shown[NAME_SHOWN];
	int result = elsewhere != NULL
			     ? elsewhere->use(elsewhere->context, number, use, err)
			     : shard_use_file(origin->base_path, path, use, err);

	if (result < 0)
		error_within(err, result, "the shard '%s'",
			     shards_shown(origin, path, shown, sizeof(shown)));
	return result;
}

int shard_learn(const struct index_origin *origin, const struct shards *shards,
		const struct shard_use *use, struct error *err)
{
	int result = 0;

	for (size_t i = 0; result == 0 && i < shards->count; i++)
		result = shard_use_one(origin, shards, i, use, err);
	return result < 0 ? result : 0;
}

/* Shards are taken in order, so the first that fails is the same each time. */
static void shard_read_some(void *context)
{
	struct shard_work *work = context;
	uint32_t number;

	while (!work->failed && (number = (uint32_t)atomic_fetch_add(&work->next, 1)) <
					work->shards->count) {
		const struct shard_use use = {.kind = work->kind,
					      .found = &work->found[number]};
		struct error err = {0};

		if (shard_use_one(work->origin, work->shards, number, &use, &err) == 0)
			continue;
		pthread_mutex_lock(&work->lock);
		if (!work->failed || number < work->worst) {
			work->worst = number;
			work->err = err;
		}
		work->failed = true;
		pthread_mutex_unlock(&work->lock);
	}
}

/* ---- all of them ---- */

/* How many bytes of folders all names begin with. */
static size_t shard_common(const struct shard_work *work)
{
	const char *first = NULL;
	size_t common = 0;

	for (size_t i = 0; i < work->shards->count; i++) {
		const struct shard_found *found = &work->found[i];

		for (uint32_t j = 0; j < found->count; j++) {
			const char *name = found->text + found->samples[j].name;
			size_t same = 0;

			if (first == NULL) {
				first = name;
				common = strlen(name);
			}
			while (same < common && name[same] == first[same])
				same++;
			common = same;
		}
	}
	while (common > 0 && first[common - 1] != '/')
		common--;
	return common;
}

/* No sample has a label beside it: classes are the folders in the shards, below those
 * that all have. A name without one is of the class ".". */
static int shard_label_all(struct shard_found *found, size_t common, struct error *err)
{
	for (uint32_t i = 0; i < found->count; i++) {
		char label[SHARD_LABEL] = ".";
		const char *name = found->text + found->samples[i].name + common;
		const char *slash;
		uint32_t at;

		while (*name == '/')
			name++;
		slash = strchr(name, '/');
		if (slash != NULL && slash - name < SHARD_LABEL) {
			memcpy(label, name, (size_t)(slash - name));
			label[slash - name] = '\0';
		}
		at = shard_found_text(found, label);
		if (at == SHARD_NO_LABEL)
			return error_sys(err, ENOMEM, "cannot index the shards");
		found->samples[i].label = at;
	}
	return 0;
}

static int shard_without_label(const struct shard_work *work, uint32_t number,
			       struct error *err)
{
	const struct shard_found *found = &work->found[number];
	char shard[NAME_SHOWN / 2], name[NAME_SHOWN / 2];
	uint32_t i = 0;

	while (i + 1 < found->count && found->samples[i].label != SHARD_NO_LABEL)
		i++;
	return error_set(
		err, ENODATA,
		"the shard '%s': '%s' has no label beside it, as others have (%s)",
		shards_shown(work->origin, work->shards->paths[number], shard,
			     sizeof(shard)),
		name_escape(found->text + found->samples[i].name, name, sizeof(name)),
		work->kind->label);
}

/* Every sample has one then. */
static int shard_complete_labels(const struct shard_work *work, struct error *err)
{
	uint64_t labelled = 0;
	size_t common;
	int result = 0;

	for (size_t i = 0; i < work->shards->count; i++)
		labelled += work->found[i].labelled;
	common = labelled == 0 ? shard_common(work) : 0;
	for (uint32_t i = 0; i < work->shards->count && result == 0; i++) {
		struct shard_found *found = &work->found[i];

		if (labelled == 0)
			result = shard_label_all(found, common, err);
		else if (found->labelled < found->count)
			result = shard_without_label(work, i, err);
	}
	return result;
}

/* Puts the number of its label in the place of each label's text. */
static int shard_number_labels(const struct shard_work *work, struct labels *labels,
			       struct error *err)
{
	for (size_t i = 0; i < work->shards->count; i++) {
		struct shard_found *found = &work->found[i];

		for (uint32_t j = 0; j < found->count; j++) {
			struct shard_sample *sample = &found->samples[j];
			const char *why = NULL;
			char shard[NAME_SHOWN / 2], name[NAME_SHOWN / 2];
			int64_t number =
				labels_add(labels, found->text + sample->label, &why);

			if (number >= 0)
				sample->label = (uint32_t)number;
			else if (number == -EINVAL)
				return error_set(err, EINVAL,
						 "the shard '%s': '%s' has %s",
						 shards_shown(work->origin,
							      work->shards->paths[i],
							      shard, sizeof(shard)),
						 name_escape(found->text + sample->name,
							     name, sizeof(name)),
						 why);
			else
				return error_sys(err, ENOMEM,
						 "cannot index the shards");
		}
	}
	if (labels_rank(labels) < 0)
		return error_sys(err, ENOMEM, "cannot index the shards");
	return 0;
}

static void shard_plan(const struct shard_work *work, const struct labels *labels,
		       struct index_plan *plan)
{
	const struct shards_elsewhere *elsewhere = work->shards->elsewhere;

	*plan = (struct index_plan){
		.folders = work->shards->count + work->shards->folder,
		.classes = labels->classes,
		.text = labels_text(labels) + work->shards->folder,
		.parts = true,
	};
	for (size_t i = 0; i < work->shards->count; i++) {
		plan->samples += work->found[i].count;
		plan->text += work->found[i].names + strlen(work->shards->paths[i]) + 1;
		if (elsewhere != NULL)
			plan->text +=
				strlen(elsewhere->etag(elsewhere->context, i)) + 1;
	}
	if (elsewhere != NULL && elsewhere->features != NULL)
		plan->text += strlen(elsewhere->features->image) +
			      strlen(elsewhere->features->label) + 2;
}

/* Of the folder; of what is none, nothing. */
static int shard_stamp(const struct shard_work *work, struct index_stamp *stamp,
		       struct error *err)
{
	struct stat status;

	*stamp = (struct index_stamp){0};
	if (!work->shards->folder || work->shards->elsewhere != NULL)
		return 0;
	if (fstat(work->origin->dataset_fd, &status) < 0)
		return error_sys(err, errno, "cannot read the folder of shards");
	index_stamp_set(stamp, &status);
	return 0;
}

static int shard_fill(const struct shard_work *work, const struct labels *labels,
		      struct index *index, struct error *err)
{
	const struct shards_elsewhere *elsewhere = work->shards->elsewhere;
	struct index_plan plan;
	struct index_stamp stamp;
	int result = shard_stamp(work, &stamp, err);

	if (result < 0)
		return result;
	shard_plan(work, labels, &plan);
	result = index_new(index, &plan, err);
	if (result < 0)
		return result;
	labels_add_classes(labels, index);
	index->head->ignored = work->shards->ignored;
	if (work->shards->folder)
		index_add_folder(index, "", &stamp);
	for (size_t i = 0; i < work->shards->count; i++) {
		const struct shard_found *found = &work->found[i];
		uint32_t folder =
			index_add_folder(index, work->shards->paths[i], &found->stamp);

		if (elsewhere != NULL)
			index_add_etag(index, elsewhere->etag(elsewhere->context, i));
		index->head->ignored += found->ignored;
		for (uint32_t j = 0; j < found->count; j++) {
			const struct index_sample sample = {
				.folder = folder,
				.size = found->samples[j].size,
				.label = labels_final(labels, found->samples[j].label),
			};

			index_add_offset(index, found->samples[j].offset);
			index_add_sample(index, found->text + found->samples[j].name,
					 &sample);
		}
	}
	if (elsewhere != NULL && elsewhere->features != NULL)
		index_add_features(index, elsewhere->features->image,
				   elsewhere->features->label);
	return 0;
}

static int shard_refuse_empty(const struct shard_work *work, struct error *err)
{
	char shown[NAME_SHOWN];
	uint64_t ignored = work->shards->ignored;

	for (size_t i = 0; i < work->shards->count; i++)
		ignored += work->found[i].ignored;
	return error_set(err, ENODATA, "no samples in '%s' (%llu others): it needs %s",
			 name_escape(work->origin->dataset, shown, sizeof(shown)),
			 (unsigned long long)ignored, work->kind->wanted);
}

static int shard_put_together(const struct shard_work *work, struct index *index,
			      struct error *err)
{
	struct labels labels = {0};
	uint64_t samples = 0;
	int result;

	for (size_t i = 0; i < work->shards->count; i++)
		samples += work->found[i].count;
	if (samples == 0)
		return shard_refuse_empty(work, err);
	result = shard_complete_labels(work, err);
	if (result == 0)
		result = shard_number_labels(work, &labels, err);
	if (result == 0)
		result = shard_fill(work, &labels, index, err);
	labels_fini(&labels);
	return result;
}

int shard_build(const struct index_origin *origin, const struct shard_kind *kind,
		struct shards *shards, struct index *index, struct error *err)
{
	struct shard_work work = {
		.origin = origin,
		.kind = kind,
		.shards = shards,
		.found = calloc(shards->count, sizeof(*work.found)),
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	int result;

	if (work.found == NULL)
		return error_sys(err, ENOMEM, "cannot index the shards");
	thread_pool_run(shards->count > 1 ? origin->threads : 1, shard_read_some,
			&work);
	if (work.failed)
		result = error_set(err, work.err.code, "%s", work.err.message);
	else
		result = shard_put_together(&work, index, err);
	for (size_t i = 0; i < shards->count; i++) {
		free(work.found[i].text);
		free(work.found[i].samples);
	}
	free(work.found);
	return result;
}
