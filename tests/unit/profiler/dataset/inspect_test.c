#include "loader/base/error.h"
#include "loader/jpeg.h"
#include "loader/source.h"
#include "profiler/dataset/inspect.h"
#include "tests/lib/nomem.h"
#include "tests/lib/picture.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_file(const char *path, const void *bytes, size_t size)
{
	FILE *file;

	scratch_file(path, 0);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
}

static size_t put(const char *path, const struct picture *picture, size_t less)
{
	size_t size;
	unsigned char *bytes = picture_jpeg(picture, &size);

	write_file(path, bytes, size - less);
	free(bytes);
	return size - less;
}

static struct inspect look(const char *dataset, bool full)
{
	struct inspect_config config = {.dataset = dataset, .threads = 3, .full = full};
	struct inspect result;
	struct error err = {0};

	if (inspect_run(&config, &result, &err) != 0)
		fail_msg("%s", err.message);
	return result;
}

TEST_WITH(every_kind_is_counted, scratch_setup, scratch_teardown)
{
	static const struct picture kinds[] = {
		{.width = 40, .height = 30},
		{.width = 50, .height = 30, .h = 2, .v = 2},
		{.width = 60, .height = 30, .h = 2, .v = 1},
		{.width = 70, .height = 30, .h = 1, .v = 2, .restart = 1},
		{.width = 80, .height = 30, .color = PICTURE_GRAY},
		{.width = 90, .height = 30, .color = PICTURE_CMYK},
		{.width = 99, .height = 31, .h = 2, .v = 2, .progressive = true}};
	struct inspect result;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < 7; i++) {
		char path[32];

		snprintf(path, sizeof(path), "set/%s/%u.jpg", i < 3 ? "one" : "two", i);
		bytes += put(path, &kinds[i], 0);
	}
	result = look("set", true);
	assert_int_equal(result.count, 7);
	assert_int_equal(result.bytes, bytes);
	assert_int_equal(result.classes, 2);
	assert_int_equal(result.per_class[0], 3);
	assert_int_equal(result.per_class[1], 4);
	assert_int_equal(result.broken, 0);
	assert_int_equal(result.sampling[JPEG_420], 2);
	assert_int_equal(result.sampling[JPEG_422], 1);
	assert_int_equal(result.sampling[JPEG_440], 1);
	assert_int_equal(result.sampling[JPEG_444], 2); /* CMYK too */
	assert_int_equal(result.gray, 1);
	assert_int_equal(result.cmyk, 1);
	assert_int_equal(result.progressive, 1);
	assert_int_equal(result.restarts, 1);
	assert_int_equal(result.width.quantile[0], 40);
	assert_int_equal(result.width.quantile[3], 70);
	assert_int_equal(result.width.quantile[6], 99);
	assert_true(result.height.mean > 30.14 && result.height.mean < 30.15);
	inspect_free(&result);
}

static const struct inspect_broken *broken(const struct inspect *result,
					   const char *name)
{
	for (uint32_t i = 0; i < result->broken; i++) {
		char shown[128];

		source_name(result->source, result->first[i].sample, shown,
			    sizeof(shown));
		if (strcmp(shown, name) == 0)
			return &result->first[i];
	}
	return NULL;
}

static void assert_why(const struct inspect *result, const char *name, const char *why)
{
	const struct inspect_broken *found = broken(result, name);

	if (found == NULL)
		fail_msg("%s is not broken", name);
	else if (strstr(found->why, why) == NULL)
		fail_msg("%s: %s", name, found->why);
}

TEST_WITH(broken_files_are_named_with_the_reason, scratch_setup, scratch_teardown)
{
	const struct picture picture = {.width = 200, .height = 100};
	struct inspect result;

	put("set/a/whole.jpg", &picture, 0);
	put("set/a/cut.jpg", &picture, 2000);
	write_file("set/a/no\njpeg.jpg", "hello", 5);
	write_file("set/a/empty.jpg", "", 0);
	write_file("set/b/head.jpg", "\xff\xd8\xff\xe0\x00\x10JFIF", 10);
	result = look("set", false);
	assert_int_equal(result.count, 5);
	assert_int_equal(result.readable, 2);
	assert_int_equal(result.broken, 4);
	assert_why(&result, "a/cut.jpg", "truncated");
	assert_why(&result, "a/no\\njpeg.jpg", "not a JPEG");
	assert_why(&result, "a/empty.jpg", "ends within its header");
	assert_why(&result, "b/head.jpg", "ends within its header");
	inspect_free(&result);
}

TEST_WITH(only_a_full_look_finds_damage_inside, scratch_setup, scratch_teardown)
{
	const struct picture picture = {.width = 300, .height = 200};
	struct inspect result;
	unsigned char *bytes;
	size_t size;

	bytes = picture_jpeg(&picture, &size);
	memset(bytes + size / 2, 0xff, 64); /* in the middle of the scan */
	write_file("set/a/damaged.jpg", bytes, size);
	free(bytes);
	result = look("set", false);
	assert_int_equal(result.broken, 0);
	inspect_free(&result);
	result = look("set", true);
	assert_int_equal(result.broken, 1);
	inspect_free(&result);
}

TEST_WITH(a_header_of_any_length_is_read, scratch_setup, scratch_teardown)
{
	static const unsigned char comment[] = {0xff, 0xfe, 0xea, 0x60};
	const struct picture picture = {.width = 64, .height = 48};
	struct inspect result;
	unsigned char *bytes, *longer;
	size_t size, extra = 2 * (size_t)60002;

	bytes = picture_jpeg(&picture, &size);
	longer = calloc(1, size + extra);
	memcpy(longer, bytes, 2);
	for (size_t at = 2; at < 2 + extra; at += 60002) /* two comments of 60,000 */
		memcpy(longer + at, comment, sizeof(comment));
	memcpy(longer + 2 + extra, bytes + 2, size - 2);
	write_file("set/a/long.jpg", longer, size + extra);
	free(bytes);
	free(longer);
	result = look("set", true);
	assert_int_equal(result.broken, 0);
	assert_int_equal(result.width.quantile[0], 64);
	inspect_free(&result);
}

/* Writes the picture with these bytes behind its first marker. */
static void put_with(const char *path, const void *extra, size_t length)
{
	const struct picture picture = {.width = 64, .height = 48};
	unsigned char *bytes, *longer;
	size_t size;

	bytes = picture_jpeg(&picture, &size);
	longer = malloc(size + length);
	assert_non_null(longer);
	memcpy(longer, bytes, 2);
	memcpy(longer + 2, extra, length);
	memcpy(longer + 2 + length, bytes + 2, size - 2);
	write_file(path, longer, size + length);
	free(bytes);
	free(longer);
}

/* The decoder is the loader's: what it delivers is no broken file. */
TEST_WITH(headers_that_the_loader_accepts_are_accepted, scratch_setup, scratch_teardown)
{
	struct inspect result;

	put_with("set/a/junk.jpg", "some text", 9);
	put_with("set/a/zero.jpg", "\xff\x00\x00", 3);
	put_with("set/a/fill.jpg", "\xff\xff\xff", 3);
	put_with("set/a/app1-short.jpg", "\xff\xe1\x00\x00", 4);
	put_with("set/a/app14-cut.jpg",
		 "\xff\xee\x00\x06"
		 "Adobe\x00",
		 10);
	put_with("set/a/twice.jpg", "\xff\xd8", 2); /* which libjpeg refuses */
	for (int full = 0; full < 2; full++) {
		result = look("set", full != 0);
		assert_int_equal(result.count, 6);
		assert_int_equal(result.width.quantile[0], 64);
		assert_int_equal(result.broken, 1);
		assert_why(&result, "a/twice.jpg", "two SOI markers");
		inspect_free(&result);
	}
}

/* The loader refuses it, and it may not fit into memory. */
TEST_WITH(a_file_beyond_what_the_loader_reads_is_not_read, scratch_setup,
	  scratch_teardown)
{
	const struct picture picture = {.width = 16, .height = 16};
	struct inspect result;

	put("set/a/x.jpg", &picture, 0);
	write_file("set/a/sparse.jpg", "\xff\xd8", 2);
	assert_int_equal(truncate("set/a/sparse.jpg", ((off_t)1 << 30) + 1), 0);
	result = look("set", false);
	assert_int_equal(result.broken, 1);
	assert_why(&result, "a/sparse.jpg", "larger than 1 GiB");
	inspect_free(&result);
}

TEST_WITH(what_is_not_there_is_said_in_a_line, scratch_setup, scratch_teardown)
{
	struct inspect_config config = {.dataset = "none", .threads = 1};
	struct inspect result;
	struct error err = {0};

	assert_int_equal(inspect_run(&config, &result, &err), -ENOENT);
	assert_non_null(strstr(err.message, "'none'"));
}

TEST_WITH(tokens_are_all_looked_at, scratch_setup, scratch_teardown)
{
	struct inspect_config config = {
		.dataset = "set", .threads = 2, .length = 4, .prep = "tokens"};
	uint16_t narrow[700] = {0};
	uint32_t wide[9] = {0};
	struct inspect result;
	struct error err = {0};

	narrow[696] = 60000; /* of the last window */
	narrow[699] = 65535; /* of none */
	write_file("set/a/1.u16", narrow, sizeof(narrow));
	assert_int_equal(inspect_run(&config, &result, &err), 0);
	assert_int_equal(result.count, 174);
	assert_int_equal(result.tokens.tokens, 697);
	assert_int_equal(result.tokens.bits, 16);
	assert_int_equal(result.tokens.files, 1);
	assert_int_equal(result.tokens.largest, 60000);
	inspect_free(&result);
	wide[0] = 70000;
	write_file("set/b/2.u32", wide, sizeof(wide));
	assert_int_equal(inspect_run(&config, &result, &err), 0);
	assert_int_equal(result.count, 176);
	assert_int_equal(result.per_class[1], 2);
	assert_int_equal(result.tokens.bits, 0);
	assert_int_equal(result.tokens.files, 2);
	assert_int_equal(result.tokens.largest, 70000);
	inspect_free(&result);
}

TEST_WITH(inspect_says_so_when_memory_runs_out, scratch_setup, scratch_teardown)
{
	const struct picture picture = {.width = 16, .height = 16};
	struct inspect_config config = {.dataset = "set", .threads = 1};
	unsigned failures = 0;
	int status = -ENOMEM;

	put("set/a/x.jpg", &picture, 0);
	while (status != 0 && failures < 1000) {
		struct inspect result;
		struct error err = {0};

		nomem_at(failures + 1);
		status = inspect_run(&config, &result, &err);
		nomem_at(0);
		if (status == 0) {
			inspect_free(&result);
			break;
		}
		assert_int_equal(status, -ENOMEM);
		assert_int_not_equal(err.message[0], '\0');
		failures++;
	}
	assert_in_range(failures, 5, 999);
}

static int keep_no_index(void **state)
{
	(void)state;
	return setenv("XDG_CACHE_HOME", "/dev/null", 1);
}

TEST_GROUP(keep_no_index, NULL);
