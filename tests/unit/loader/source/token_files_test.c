/* token_files_test.c - windows of tokens: where they are, and what is no file of them. */
#include "loader/base/error.h"
#include "loader/source.h"
#include "loader/source/token_files.h"
#include "tests/lib/nomem.h"
#include "tests/lib/scratch.h"
#include "tests/lib/source_opened.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct source_config config = {
	.threads = 2, .index_dir = "", .prep = "tokens", .length = 10};

static struct source *open_source(const char *dataset, const struct source_config *how)
{
	struct source *source = source_opened(dataset, how);

	assert_string_equal(source_kind(source), "tokens");
	return source;
}

/* "path offset+size class|" of every window. */
static const char *listing(const char *dataset, const struct source_config *how)
{
	struct source *source = open_source(dataset, how);
	static char text[4096];
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < source_count(source); i++) {
		char buffer[PATH_MAX];
		struct source_place place;

		source_place(source, i, buffer, &place);
		assert_true(place.part);
		assert_int_equal(place.size, source_size(source, i));
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s %u+%u %s|", place.path,
					 (unsigned)place.offset, place.size,
					 source_class(source, source_label(source, i)));
		assert_true(used < sizeof(text));
	}
	source_close(source);
	return text;
}

TEST_WITH(a_window_begins_with_the_last_token_of_the_one_before, scratch_setup,
	  scratch_teardown)
{
	scratch_file("a.bin", 2 * 31);
	assert_string_equal(listing("a.bin", &config),
			    "a.bin 0+22 .|a.bin 20+22 .|a.bin 40+22 .|");
	scratch_file("b.u16", 2 * 30); /* one too few for the third */
	assert_string_equal(listing("b.u16", &config), "b.u16 0+22 .|b.u16 20+22 .|");
	scratch_file("t/c.bin", 2 * 11);
	assert_string_equal(listing("t/c.bin", &config), "c.bin 0+22 .|");
}

TEST_WITH(names_and_settings_say_how_wide_tokens_are, scratch_setup, scratch_teardown)
{
	struct source_config wide = config;

	scratch_file("a.u32", 4 * 11);
	scratch_file("a.bin", 4 * 11);
	scratch_file("a.u16", 2 * 11);
	assert_string_equal(listing("a.u32", &config), "a.u32 0+44 .|");
	assert_string_equal(listing("a.bin", &config), "a.bin 0+22 .|a.bin 20+22 .|");
	wide.token_bits = 32;
	assert_string_equal(listing("a.bin", &wide), "a.bin 0+44 .|");
	assert_string_equal(listing("a.u16", &wide), "a.u16 0+22 .|");
}

TEST_WITH(windows_do_not_cross_files_and_have_their_labels, scratch_setup,
	  scratch_teardown)
{
	struct source *source;

	scratch_file("t/code/a.bin", 2 * 21);
	scratch_file("t/code/b.bin", 2 * 10); /* no window */
	scratch_file("t/prose/deep/c.u32", 4 * 11);
	scratch_file("t/prose/notes.txt", 100);
	assert_string_equal(listing("t", &config),
			    "code/a.bin 0+22 code|code/a.bin 20+22 code|"
			    "prose/deep/c.u32 0+44 prose|");
	source = open_source("t", &config);
	assert_int_equal(source_facts(source)->ignored, 2);
	assert_int_equal(source_facts(source)->bytes, 22 + 22 + 44);
	assert_int_equal(source_facts(source)->classes, 2);
	source_close(source);
	scratch_text("list", "t/code/a.bin 3\nt/prose/deep/c.u32 1\n");
	assert_string_equal(listing("list", &config),
			    "t/code/a.bin 0+22 3|t/code/a.bin 20+22 3|"
			    "t/prose/deep/c.u32 0+44 1|");
}

TEST_WITH(a_window_has_a_name, scratch_setup, scratch_teardown)
{
	struct source *source;
	char name[64];

	scratch_file("t/x/a.u32", 4 * 31);
	source = open_source("t", &config);
	assert_string_equal(source_name(source, 2, name, sizeof(name)),
			    "x/a.u32 at token 20");
	source_close(source);
}

/* Also where the folder's index is kept, which pictures of the same folder have, too. */
TEST_WITH(a_file_that_grew_has_more_windows, scratch_setup, scratch_teardown)
{
	struct source_config kept = config;
	struct source *source;
	uint64_t digest;

	kept.index_dir = "kept";
	scratch_file("t/x/a.bin", 2 * 11);
	source = open_source("t", &kept);
	assert_int_equal(source_count(source), 1);
	digest = source_facts(source)->digest;
	source_close(source);
	assert_return_code(truncate("t/x/a.bin", 2 * 21), 0);
	source = open_source("t", &kept);
	assert_int_equal(source_count(source), 2);
	assert_true(source_facts(source)->digest != digest);
	source_close(source);
}

TEST_WITH(what_has_no_tokens_is_refused, scratch_setup, scratch_teardown)
{
	scratch_file("odd.bin", 101);
	source_refused(
		"odd.bin", &config, EINVAL,
		"'odd.bin' has 101 bytes, which are no whole number of tokens of "
		"16 bits");
	scratch_file("short.u32", 40);
	source_refused("short.u32", &config, EINVAL,
		       "no file has the 11 tokens of a window: make length smaller");
	scratch_file("t/a/1.jpg", 100);
	source_refused("t", &config, ENODATA,
		       "no tokens in 't' (1 other files): it needs a folder per class "
		       "with .bin, .u16 or .u32 files in it");
	scratch_text("list", "t/a/1.jpg x\ngone.bin y\n");
	source_refused(
		"list", &config, ENOENT,
		"cannot open the tokens of 'gone.bin': No such file or directory");
	source_refused(
		"synthetic:5", &config, EINVAL,
		"a synthetic data set has pictures, and no tokens: name a folder "
		"or file for prep=tokens");
	source_refused(
		"nowhere", &config, ENOENT,
		"there is no data set 'nowhere': give a folder, a list file, tar or "
		"TFRecord shards, s3://BUCKET/PREFIX, https://HOST/LIST or "
		"synthetic[:COUNT]");
}

TEST(more_windows_than_samples_can_be_are_refused)
{
	struct token_file file[] = {{.size = UINT64_C(4) << 32, .shift = 1},
				    {.size = UINT64_C(1) << 62, .shift = 2}};
	struct token_files files = {.files = file, .count = 1, .length = 1};
	struct error err = {0};
	uint64_t offset;

	assert_int_equal(token_files_lay_out(&files, &err), -EOVERFLOW);
	assert_string_equal(err.message, "there are more than 4294967295 windows of 1 "
					 "tokens: make length larger");
	files.length = 3;
	assert_int_equal(token_files_lay_out(&files, NULL), 0);
	assert_int_equal(files.windows, 2863311530u);
	assert_ptr_equal(token_files_find(&files, files.windows - 1, &offset), file);
	assert_int_equal(offset, (files.windows - 1) * UINT64_C(6));
	files.count = 2;
	assert_int_equal(token_files_lay_out(&files, NULL), -EOVERFLOW);
}

TEST_WITH(they_say_so_when_memory_runs_out, scratch_setup, scratch_teardown)
{
	struct source *source = NULL;

	scratch_file("a.bin", 2 * 31);
	for (unsigned nth = 1; source == NULL; nth++) {
		struct error err = {0};

		nomem_at(nth);
		source = source_open("a.bin", &config, &err);
		nomem_at(0);
		assert_int_equal(err.code, source == NULL ? ENOMEM : 0);
		assert_true(nth < 20);
	}
	source_close(source);
}
