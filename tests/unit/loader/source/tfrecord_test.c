#include "loader/base/bytes/crc32c.h"
#include "loader/base/error.h"
#include "loader/source.h"
#include "profiler/dataset/archive/record_archive.h"
#include "tests/lib/nomem.h"
#include "tests/lib/scratch.h"
#include "tests/lib/source_opened.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct archive archive;

static int tfrecord_setup(void **state)
{
	archive = (struct archive){0};
	return scratch_setup(state);
}

static int tfrecord_teardown(void **state)
{
	free(archive.bytes);
	return scratch_teardown(state);
}

static void add(const char *picture, uint32_t label, const char *class)
{
	const struct shard_sample sample = {.bytes = picture,
					    .size = strlen(picture),
					    .label = label,
					    .class = class,
					    .ending = "jpg"};

	assert_int_equal(record_archive_add(&archive, &sample), 0);
}

/* Writes what was added, and begins anew. */
static void write_to(const char *path)
{
	FILE *file;

	scratch_file(path, 0);
	file = fopen(path, "w");
	assert_int_equal(fwrite(archive.bytes, 1, archive.size, file), archive.size);
	assert_int_equal(fclose(file), 0);
	archive.size = 0;
}

static const struct source_config plain = {.index_dir = ""};

static struct source *opened(const char *dataset, const char *image, const char *label)
{
	const struct source_config config = {.threads = 4,
					     .index_dir = "",
					     .image_feature = image,
					     .label_feature = label};
	struct source *source = source_opened(dataset, &config);

	assert_string_equal(source_kind(source), "tfrecord");
	assert_true(source_sealed(source));
	return source;
}

/* "class picture", as whoever reads the place of a sample finds it; or why not. */
static const char *sample_text(const struct source *source, uint32_t sample)
{
	static char text[256];
	struct source_place place;
	struct source_part part;
	const char *why = NULL;
	unsigned char bytes[1024];
	char path[PATH_MAX];
	int fd;

	source_place(source, sample, path, &place);
	assert_true(place.part);
	assert_in_range(place.size, 1, sizeof(bytes));
	fd = openat(place.dir, place.path, O_RDONLY);
	assert_int_equal(pread(fd, bytes, place.size, (off_t)place.offset), place.size);
	close(fd);
	part.size = place.size;
	if (source_unseal(source, sample, bytes, &part, &why) < 0)
		return why;
	snprintf(text, sizeof(text), "%s %.*s",
		 source_class(source, source_label(source, sample)), (int)part.size,
		 bytes + part.skip);
	return text;
}

TEST_WITH(records_are_samples, tfrecord_setup, tfrecord_teardown)
{
	char name[64];
	struct source *source;

	add("one", 3, "dog");
	add("two", 1, "cat");
	write_to("x.tfrecord");
	source = opened("x.tfrecord", NULL, NULL);
	assert_int_equal(source_count(source), 2);
	assert_int_equal(source_facts(source)->classes, 4);
	assert_string_equal(source_facts(source)->features,
			    "image/encoded, image/class/label");
	assert_string_equal(sample_text(source, 0), "3 one");
	assert_string_equal(sample_text(source, 1), "1 two");
	assert_string_equal(source_name(source, 1, name, sizeof(name)), "x.tfrecord/1");
	source_close(source);
}

/* Another feature is another data set, also where an index is kept. */
TEST_WITH(features_can_be_named, tfrecord_setup, tfrecord_teardown)
{
	struct source *source;

	add("one", 3, "dog");
	write_to("x.tfrec");
	source = opened("x.tfrec", NULL, "image/class/text");
	assert_string_equal(sample_text(source, 0), "dog one");
	source_close(source);
	source = opened("x.tfrec", "image/format", "");
	assert_string_equal(sample_text(source, 0), "3 jpeg");
	source_close(source);
}

TEST_WITH(files_that_are_counted_are_shards, tfrecord_setup, tfrecord_teardown)
{
	static const char *const names[] = {"s", "s/t-{00000..00001}-of-00002"};

	add("one", 0, "a");
	write_to("s/t-00000-of-00002");
	add("two", 1, "b");
	write_to("s/t-00001-of-00002");
	for (int i = 0; i < 2; i++) {
		struct source *source = opened(names[i], NULL, NULL);

		assert_int_equal(source_count(source), 2);
		assert_string_equal(sample_text(source, 1), "1 two");
		source_close(source);
	}
}

/* Also where features are named, as labels are learnt then. */
TEST_WITH(shards_may_be_empty, tfrecord_setup, tfrecord_teardown)
{
	struct source *source;

	scratch_file("s/a.tfrecord", 0);
	add("one", 3, "dog");
	write_to("s/b.tfrecord");
	scratch_file("s/c.tfrecord", 0);
	for (int i = 0; i < 2; i++) {
		source = opened("s", i == 0 ? NULL : "image/encoded", NULL);
		assert_int_equal(source_count(source), 1);
		assert_string_equal(sample_text(source, 0), "3 one");
		source_close(source);
	}
}

/* Of any byte of a record, but its length's. */
TEST_WITH(a_changed_byte_is_found_when_it_is_read, tfrecord_setup, tfrecord_teardown)
{
	struct source *source;
	size_t size;

	add("one", 0, "a");
	size = archive.size;
	add("two", 0, "a");
	for (size_t at = 0; at < size; at++) {
		int fd;

		write_to("x.tfrecord");
		source = opened("x.tfrecord", NULL, NULL);
		archive.bytes[at] ^= 0x40;
		fd = open("x.tfrecord", O_WRONLY);
		assert_int_equal(pwrite(fd, archive.bytes + at, 1, (off_t)at), 1);
		close(fd);
		assert_string_equal(sample_text(source, 0),
				    at < 12 ? "0 one"
					    : "the record does not match its checksum");
		assert_string_equal(sample_text(source, 1), "0 two");
		source_close(source);
		archive.bytes[at] ^= 0x40;
		archive.size = 2 * size;
	}
}

TEST_WITH(what_is_no_tfrecord_is_refused, tfrecord_setup, tfrecord_teardown)
{
	size_t size;

	add("one", 0, "a");
	size = archive.size;
	add("two", 0, "a");
	archive.bytes[size + 3] ^= 1;
	write_to("x.tfrecord");
	source_refused(
		"x.tfrecord", &plain, EBADMSG,
		"the shard 'x.tfrecord': at byte 124: no record begins there, or "
		"the checksum of its length is wrong");
	archive.size = size - 1;
	write_to("x.tfrecord");
	source_refused("x.tfrecord", &plain, ENODATA,
		       "the shard 'x.tfrecord': at byte 0: a record ends behind the "
		       "file, which is cut short");
	archive.size = size + 5;
	write_to("x.tfrecord");
	source_refused("x.tfrecord", &plain, ENODATA,
		       "the shard 'x.tfrecord': at byte 124: the file is cut short "
		       "there");
	write_to("x.tfrecord");
	source_refused("x.tfrecord", &plain, ENODATA,
		       "no samples in 'x.tfrecord' (0 others): it needs records with a "
		       "picture or recording (DSA_LOADER=image_feature=NAME)");
}

TEST_WITH(a_picture_must_be_found, tfrecord_setup, tfrecord_teardown)
{
	const struct source_config other = {.index_dir = "", .image_feature = "pixels"};
	const struct source_config audio = {.index_dir = "", .prep = "audio"};
	struct error err = {0};

	add("one", 0, "a");
	write_to("x.tfrecord");
	assert_null(source_open("x.tfrecord", &other, &err));
	assert_string_equal(
		err.message,
		"the shard 'x.tfrecord': which feature of its records is "
		"the picture (DSA_LOADER=image_feature=NAME)? The first one "
		"has image/class/label, image/class/text, image/encoded, "
		"image/format");
	assert_null(source_open("x.tfrecord", &audio, &err));
	assert_string_equal(
		err.message,
		"the shard 'x.tfrecord': which feature of its records is "
		"the recording (DSA_LOADER=image_feature=NAME)? The first one "
		"has image/class/label, image/class/text, image/encoded, "
		"image/format");
}

TEST_WITH(no_memory_is_said, tfrecord_setup, tfrecord_teardown)
{
	const struct source_config one = {.threads = 1, .index_dir = ""};
	struct source *source = NULL;
	unsigned failures = 0;

	add("one", 0, "a");
	write_to("x.tfrecord");
	while (source == NULL) {
		struct error err = {0};

		nomem_at(failures + 1);
		source = source_open("x.tfrecord", &one, &err);
		nomem_at(0);
		assert_int_equal(err.code, source == NULL ? ENOMEM : 0);
		failures += source == NULL;
	}
	source_close(source);
	assert_in_range(failures, 8, 20);
}
