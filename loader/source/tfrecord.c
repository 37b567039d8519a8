/*
 * tfrecord.c - TFRecord files whose records are tf.train.Examples, with a picture or
 * recording in one feature and a label in another.
 *
 * One pass over a file finds where its records are, and in each its label; pictures are
 * skipped. A sample's place is the whole record, so that whoever reads it can compare the
 * checksum, and finds the picture in it by walking the Example again: that costs less
 * than a page, and an index that needs no more than where records are.
 */
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/source/index/file_kind.h"
#include "loader/source/shard/example.h"
#include "loader/source/shard/record_reader.h"
#include "loader/source/shard_kinds.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- names of files ---- */

/* "-00000-of-00128", and with "{00000..00127}" for the first number. */
static bool tfrecord_counted(const char *name)
{
	const char *of = NULL;
	const char *at;

	for (at = strstr(name, "-of-"); at != NULL; at = strstr(at + 1, "-of-"))
		of = at;
	at = of;
	if (of == NULL || of[4] == '\0' || of[4 + strspn(of + 4, "0123456789")] != '\0')
		return false;
	while (at > name && (isdigit((unsigned char)at[-1]) || at[-1] == '.' ||
			     at[-1] == '{' || at[-1] == '}'))
		at--;
	return at < of && at > name && at[-1] == '-';
}

static bool tfrecord_plain(const char *name)
{
	static const char *const endings[] = {".tfrecord", ".tfrecords", ".tfrec"};
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t size = strlen(endings[i]);

		if (length > size && strcasecmp(name + length - size, endings[i]) == 0)
			return true;
	}
	return tfrecord_counted(name);
}

static bool tfrecord_claims(const char *dataset, const struct stat *status,
			    const struct source_config *config)
{
	return shards_claim(dataset, status, config, tfrecord_plain);
}

/* ---- names of features ---- */

/* What programs that write pictures and recordings call them; the first that is there is
 * meant. */
static const char *const tfrecord_images[] = {"image/encoded", "image",   "image_raw",
					      "image_bytes",   "encoded", "jpg",
					      "jpeg",          NULL};
static const char *const tfrecord_recordings[] = {
	"audio/encoded", "audio", "audio_raw", "audio_bytes",
	"encoded",       "wav",   "flac",      NULL};
static const char *const tfrecord_labels[] = {
	"image/class/label", "label", "class", "cls", "target",
	"image/class/text",  NULL};

static size_t tfrecord_rank(const char *const *names, const char *name)
{
	size_t rank = 0;

	while (names[rank] != NULL && strcmp(names[rank], name) != 0)
		rank++;
	return rank;
}

/* ---- records of a file ---- */

/* A file that is walked through, and why it could not be read. */
struct tfrecord_walk {
	struct record_reader records;
	int result;
	const struct shard_features *features;
	struct example_feature image, label;
	bool has_image, has_label;
};

static const unsigned char *tfrecord_get(void *context, uint64_t at, size_t size)
{
	struct tfrecord_walk *walk = context;

	return shard_window_get(&walk->records.window, at, size, &walk->result);
}

static bool tfrecord_is(const char *wanted, const struct example_feature *feature)
{
	return wanted[0] != '\0' && strcmp(feature->name, wanted) == 0;
}

/* Where the first record has no label, any that a later one has. */
static bool tfrecord_is_label(const struct shard_features *features,
			      const struct example_feature *feature)
{
	if (features->label[0] != '\0')
		return feature->kind != EXAMPLE_NONE &&
		       tfrecord_is(features->label, feature);
	return (feature->kind == EXAMPLE_BYTES || feature->kind == EXAMPLE_INT64) &&
	       tfrecord_labels[tfrecord_rank(tfrecord_labels, feature->name)] != NULL;
}

/* Finds the two features: 0, -EBADMSG or -EIO. */
static int tfrecord_find(struct tfrecord_walk *walk, const struct example_bytes *bytes,
			 uint64_t at, uint64_t size)
{
	struct example_feature feature;
	struct example example;
	int result;

	walk->has_image = walk->has_label = false;
	example_begin(&example, bytes, at, size);
	while ((result = example_next(&example, &feature)) > 0) {
		if (feature.kind == EXAMPLE_BYTES &&
		    tfrecord_is(walk->features->image, &feature)) {
			walk->has_image = true;
			walk->image = feature;
		} else if (tfrecord_is_label(walk->features, &feature)) {
			walk->has_label = true;
			walk->label = feature;
		}
	}
	return result;
}

static int tfrecord_bad(const struct tfrecord_walk *walk, uint64_t at, int result,
			struct error *err)
{
	if (result == -EIO)
		return error_sys(err, -walk->result,
				 "cannot read the record at byte %llu",
				 (unsigned long long)at);
	return error_set(err, EBADMSG, "the record at byte %llu is no tf.train.Example",
			 (unsigned long long)at);
}

/* Writes the label as text. */
static int tfrecord_label(struct tfrecord_walk *walk, uint64_t at,
			  char text[SHARD_LABEL], struct error *err)
{
	const struct example_feature *label = &walk->label;
	const unsigned char *bytes;

	if (label->kind == EXAMPLE_INT64) {
		snprintf(text, SHARD_LABEL, "%" PRId64, label->number);
		return 0;
	}
	if (label->kind != EXAMPLE_BYTES || label->size == 0 ||
	    label->size >= SHARD_LABEL)
		return error_set(err, EINVAL,
				 "the record at byte %llu: '%s' is no label: that is a "
				 "whole number, or text of at most 255 bytes",
				 (unsigned long long)at, walk->features->label);
	bytes = tfrecord_get(walk, label->at, (size_t)label->size);
	if (bytes == NULL)
		return tfrecord_bad(walk, at, -EIO, err);
	memcpy(text, bytes, (size_t)label->size);
	text[label->size] = '\0';
	return 0;
}

/* A record, whose bytes are the `size` at `at`. */
static int tfrecord_add(struct tfrecord_walk *walk, uint64_t at, uint64_t size,
			struct shard_found *found, struct error *err)
{
	const struct example_bytes bytes = {walk, tfrecord_get};
	const uint64_t place[2] = {at, size + RECORD_TAIL};
	char name[32], label[SHARD_LABEL];
	int result = tfrecord_find(walk, &bytes, at, size);

	if (result < 0)
		return tfrecord_bad(walk, at - RECORD_HEAD, result, err);
	if (!walk->has_image) {
		found->ignored++;
		return 0;
	}
	if (walk->has_label && walk->features->label[0] == '\0')
		result = error_set(err, EINVAL,
				   "the record at byte %llu has a label, '%s', and the "
				   "first one has none: all have one, or none has",
				   (unsigned long long)(at - RECORD_HEAD),
				   walk->label.name);
	else if (walk->has_label)
		result = tfrecord_label(walk, at - RECORD_HEAD, label, err);
	if (result < 0)
		return result;
	snprintf(name, sizeof(name), "%" PRIu64, found->count + found->ignored);
	return shard_found_add(found, name, walk->has_label ? label : NULL, place, err);
}

static int tfrecord_read(const void *features, const struct shard_object *object,
			 struct shard_found *found, struct error *err)
{
	struct tfrecord_walk walk = {.features = features};
	uint64_t at, size;
	int result;

	if (record_reader_init(&walk.records, object) < 0)
		return error_sys(err, ENOMEM, "cannot be indexed");
	while ((result = record_reader_next(&walk.records, &at, &size, err)) > 0) {
		result = tfrecord_add(&walk, at, size, found, err);
		if (result < 0)
			break;
	}
	record_reader_fini(&walk.records);
	return result;
}

/* ---- which features ---- */

/* Chooses among the features of an Example, unless they are named already; their names
 * are added to the list. */
static int tfrecord_choose(struct example *example, struct shard_features *features,
			   char *list, size_t room)
{
	const char *const *images =
		features->audio ? tfrecord_recordings : tfrecord_images;
	size_t image = tfrecord_rank(images, ""), used = 0;
	size_t label = tfrecord_rank(tfrecord_labels, "");
	bool named_image = features->image[0] != '\0';
	bool named_label = features->label[0] != '\0';
	struct example_feature feature;
	int result;

	list[0] = '\0';
	while ((result = example_next(example, &feature)) > 0) {
		size_t rank = tfrecord_rank(images, feature.name);

		if (used < room)
			used += (size_t)snprintf(list + used, room - used, "%s%s",
						 used > 0 ? ", " : "", feature.name);
		if (!named_image && feature.kind == EXAMPLE_BYTES && rank < image) {
			image = rank;
			strcpy(features->image, feature.name);
		}
		rank = tfrecord_rank(tfrecord_labels, feature.name);
		if (!named_label && rank < label &&
		    (feature.kind == EXAMPLE_BYTES || feature.kind == EXAMPLE_INT64)) {
			label = rank;
			strcpy(features->label, feature.name);
		}
	}
	return result;
}

/* 1; or 0: it has no record. */
static int tfrecord_look(const struct shard_object *object,
			 struct shard_features *features, struct error *err)
{
	struct tfrecord_walk walk = {.features = features};
	const struct example_bytes bytes = {&walk, tfrecord_get};
	char list[NAME_SHOWN], shown[NAME_SHOWN];
	struct example example;
	uint64_t at, size;
	int result;

	if (record_reader_init(&walk.records, object) < 0)
		return error_sys(err, ENOMEM, "cannot be indexed");
	result = record_reader_next(&walk.records, &at, &size, err);
	if (result <= 0)
		goto out;
	example_begin(&example, &bytes, at, size);
	result = tfrecord_choose(&example, features, list, sizeof(list));
	if (result == 0)
		result = tfrecord_find(&walk, &bytes, at, size);
	if (result < 0) {
		tfrecord_bad(&walk, at - RECORD_HEAD, result, err);
	} else if (!walk.has_image || (features->label[0] != '\0' && !walk.has_label)) {
		name_escape(list, shown, sizeof(shown));
		result = error_set(err, walk.has_image ? EINVAL : ENODATA,
				   "which feature of its records is the %s "
				   "(DSA_LOADER=%s_feature=NAME)? The first one has %s",
				   walk.has_image    ? "label"
				   : features->audio ? "recording"
						     : "picture",
				   walk.has_image ? "label" : "image", shown);
	} else {
		result = 1;
	}
out:
	record_reader_fini(&walk.records);
	return result;
}

/* Those that the user names, and what the first record says of the others: 1; or 0: there is
 * none. */
static int tfrecord_learn(const struct source_config *config,
			  const struct shard_object *object,
			  struct shard_features *features, struct error *err)
{
	int result;

	features->audio = file_kind_of(config->prep) == file_kind_of("audio");
	if (config->image_feature != NULL)
		snprintf(features->image, EXAMPLE_NAME, "%s", config->image_feature);
	if (config->label_feature != NULL)
		snprintf(features->label, EXAMPLE_NAME, "%s", config->label_feature);
	result = tfrecord_look(object, features, err);
	shard_features_tell(features);
	return result;
}

void shard_features_tell(struct shard_features *features)
{
	snprintf(features->told, sizeof(features->told), "%s%s%s", features->image,
		 features->label[0] != '\0' ? ", " : "", features->label);
}

/* ---- the data set ---- */

const struct shard_kind shard_tfrecord = {
	.shown = "*.tfrecord",
	.any = tfrecord_plain,
	.named = tfrecord_plain,
	.learn = tfrecord_learn,
	.read = tfrecord_read,
	.wanted = "records with a picture or recording "
		  "(DSA_LOADER=image_feature=NAME)",
	.label = "the label feature",
};

static void *tfrecord_open(const char *dataset, const struct source_config *config,
			   struct source_facts *facts, struct error *err)
{
	return shard_kind_open(&shard_tfrecord, dataset, config, facts, err);
}

int shard_record_unseal(const struct shard_features *features, const void *bytes,
			struct source_part *part, const char **why)
{
	const unsigned char *memory = bytes;
	struct tfrecord_walk walk = {.features = features};
	struct example_bytes walked;
	size_t size = part->size > RECORD_TAIL ? part->size - RECORD_TAIL : 0;

	example_bytes_of(&walked, &memory);
	*why = "the record does not match its checksum";
	if (size == 0 || !record_matches(memory, size))
		return -EBADMSG;
	*why = "the record has no sample in it";
	if (tfrecord_find(&walk, &walked, 0, size) < 0 || !walk.has_image ||
	    walk.image.size == 0)
		return -EBADMSG;
	*part = (struct source_part){(size_t)walk.image.at, (size_t)walk.image.size};
	return 0;
}

static int tfrecord_unseal(const void *state, uint32_t sample, const void *bytes,
			   struct source_part *part, const char **why)
{
	(void)sample;
	return shard_record_unseal(indexed_own(state), bytes, part, why);
}

const struct source_variant source_tfrecord = {.kind = "tfrecord",
					       .claims = tfrecord_claims,
					       .open = tfrecord_open,
					       .name = indexed_part_name,
					       .unseal = tfrecord_unseal,
					       INDEXED};
