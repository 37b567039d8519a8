#include "loader/base/error.h"
#include "loader/source.h"
#include "tests/lib/nomem.h"
#include "tests/lib/scratch.h"
#include "tests/lib/shard.h"
#include "tests/lib/source_opened.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct source_config config = {.threads = 2, .index_dir = ""};

static struct source *join(const char *a, const char *b)
{
	struct source *const parts[] = {source_opened(a, &config),
					source_opened(b, &config)};
	struct error err = {0};
	struct source *source = source_union(parts, 2, &err);

	if (source == NULL)
		fail_msg("%s", err.message);
	return source;
}

/* "path size parts own-number-in-0 own-number-in-1|" of every sample; - for none. */
static const char *listing(const struct source *source)
{
	static char text[4096];
	size_t used = 0;

	for (uint32_t i = 0; i < source_count(source); i++) {
		char buffer[PATH_MAX];
		struct source_place place;

		source_place(source, i, buffer, &place);
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s %u %d %d %d|", place.path,
			source_size(source, i), (int)source_parts(source)[i],
			(int)source_in_part(source, 0, i),
			(int)source_in_part(source, 1, i));
		assert_true(used < sizeof(text));
	}
	return text;
}

TEST_WITH(a_file_in_both_parts_is_one_sample, scratch_setup, scratch_teardown)
{
	struct source *source;

	scratch_file("a/x/1.jpg", 10);
	scratch_file("a/x/2.jpg", 20);
	scratch_file("b/y/0.jpg", 30);
	scratch_file("b/y/here", 0);
	assert_int_equal(link("a/x/2.jpg", "b/y/9.jpg"), 0);
	assert_int_equal(symlink("../../a/x/1.jpg", "b/y/8.jpg"), 0);
	source = join("a", "b");
	assert_string_equal(listing(source), "x/1.jpg 10 3 0 1|x/2.jpg 20 3 1 2|"
					     "y/0.jpg 30 2 -1 0|");
	assert_int_equal(source_facts(source)->bytes, 60);
	assert_int_equal(source_facts(source)->ignored, 1);
	assert_string_equal(source_class(source, 0), "x");
	assert_string_equal(source_class(source_part(source, 1), 0), "y");
	assert_string_equal(source_kind(source), "union");
	source_close(source);
}

TEST_WITH(a_data_set_with_itself_is_itself, scratch_setup, scratch_teardown)
{
	struct source *source;

	scratch_file("s/x/1.jpg", 10);
	assert_int_equal(link("s/x/1.jpg", "s/x/2.jpg"), 0); /* twice the same file */
	scratch_file("s/x/3.jpg", 5);
	source = join("s", "s");
	assert_string_equal(listing(source),
			    "x/1.jpg 10 3 0 0|x/2.jpg 10 3 1 1|x/3.jpg 5 3 2 2|");
	source_close(source);
	source = join("s", "synthetic:2");
	assert_int_equal(source_count(source), 5);
	assert_int_equal(source_parts(source)[4], 2);
	source_close(source);
}

/* Of one file two parts, one of which both data sets have, and the file itself. */
TEST_WITH(a_part_of_a_file_is_one_sample_by_its_offset, scratch_setup, scratch_teardown)
{
	static const struct shard_member left[] = {{0, 100}, {512, 30}};
	static const struct shard_member right[] = {{512, 30}, {600, 20}};
	struct source *parts[3], *source;
	char name[64];

	scratch_file("t/x/shard.jpg", 1000);
	parts[0] = shard_open("t/x", "shard.jpg", left, 2);
	parts[1] = shard_open("t", "x/shard.jpg", right, 2);
	parts[2] = source_opened("t", &config);
	source = source_union(parts, 3, NULL);
	assert_non_null(source);
	assert_string_equal(listing(source),
			    "shard.jpg 100 1 0 -1|shard.jpg 30 3 1 0|"
			    "x/shard.jpg 20 2 -1 1|x/shard.jpg 1000 4 -1 -1|");
	assert_string_equal(source_name(source, 1, name, sizeof(name)), "shard.jpg[1]");
	assert_string_equal(source_name(source, 3, name, sizeof(name)), "x/shard.jpg");
	source_close(source);
	source = source_opened("synthetic:3", &config);
	assert_string_equal(source_name(source, 2, name, sizeof(name)), "synthetic 2");
	source_close(source);
}

TEST_WITH(no_memory_is_an_error, scratch_setup, scratch_teardown)
{
	struct source *source = NULL;
	unsigned failures = 0;

	scratch_file("m/x/1.jpg", 10);
	while (source == NULL) {
		struct source *const parts[] = {source_opened("m", &config),
						source_opened("m", &config)};
		struct error err = {0};

		nomem_at(failures + 1);
		source = source_union(parts, 2, &err);
		nomem_at(0);
		assert_int_equal(err.code, source == NULL ? ENOMEM : 0);
		failures += source == NULL;
	}
	assert_int_equal(failures, 8);
	source_close(source);
}
