#include "loader/base/error.h"
#include "loader/source.h"
#include "tests/lib/nomem.h"
#include "tests/lib/scratch.h"
#include "tests/lib/source_opened.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jpeglib.h>

static const struct source_config config = {.threads = 4, .index_dir = ""};

/* "path size class|" of every sample. */
static const char *listing(const struct source *source)
{
	static char text[4096];
	size_t used = 0;

	for (uint32_t i = 0; i < source_count(source); i++) {
		char buffer[PATH_MAX];
		struct source_place place;

		source_place(source, i, buffer, &place);
		assert_null(place.memory);
		assert_int_equal(place.size, source_size(source, i));
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %u %s|",
					 place.path, place.size,
					 source_class(source, source_label(source, i)));
		assert_true(used < sizeof(text));
	}
	return text;
}

TEST_WITH(a_tree_is_in_path_order, scratch_setup, scratch_teardown)
{
	struct source *source;

	scratch_file("t/b/2.jpg", 20);
	scratch_file("t/b/10.jpg", 10);
	scratch_file("t/b.x/1.JPEG", 3);
	scratch_file("t/b/in/deep/er.jpe", 4);
	scratch_file("t/b/in.jfif", 5);
	scratch_file("t/b/in-.JPG", 6);
	source = source_opened("t", &config);
	assert_string_equal(source_kind(source), "tree");
	assert_string_equal(listing(source),
			    "b.x/1.JPEG 3 b.x|b/10.jpg 10 b|b/2.jpg 20 b|b/in-.JPG 6 b|"
			    "b/in.jfif 5 b|b/in/deep/er.jpe 4 b|");
	assert_int_equal(source_facts(source)->bytes, 48);
	assert_int_equal(source_facts(source)->classes, 2);
	/* By name "b" comes first, though "b.x/" is before "b/". */
	assert_string_equal(source_class(source, 0), "b");
	assert_null(source_class(source, 2));
	source_close(source);
}

TEST_WITH(what_is_no_picture_is_ignored_and_counted, scratch_setup, scratch_teardown)
{
	struct source *source;

	scratch_file("t/a/1.jpg", 1);
	scratch_file("t/a/1.jpg.txt", 1);
	scratch_file("t/a/jpg", 1);
	scratch_file("t/a/._1.jpg", 1);
	scratch_file("t/.git/2.jpg", 1);
	scratch_file("t/lost+found/2.jpg", 1);
	scratch_file("t/stray.jpg", 1);
	assert_int_equal(mkfifo("t/a/pipe.jpg", 0600), 0);
	source = source_opened("t", &config);
	assert_string_equal(listing(source), "a/1.jpg 1 a|");
	assert_int_equal(source_facts(source)->ignored, 7);
	source_close(source);
}

TEST_WITH(an_empty_class_keeps_its_label, scratch_setup, scratch_teardown)
{
	struct source *source;

	scratch_file("t/c/1.jpg", 1);
	scratch_file("t/a/1.jpg", 1);
	mkdir("t/b", 0755);
	source = source_opened("t/", &config);
	assert_int_equal(source_facts(source)->classes, 3);
	assert_int_equal(source_label(source, 1), 2);
	source_close(source);
}

TEST_WITH(a_flat_folder_is_one_class, scratch_setup, scratch_teardown)
{
	struct source *source;

	scratch_file("t/2.jpg", 2);
	scratch_file("t/1.jpg", 1);
	mkdir("t/empty", 0755);
	source = source_opened("t", &config);
	assert_string_equal(listing(source), "1.jpg 1 .|2.jpg 2 .|");
	assert_int_equal(source_facts(source)->classes, 1);
	source_close(source);
}

TEST_WITH(links_are_followed, scratch_setup, scratch_teardown)
{
	struct source *source;

	scratch_file("elsewhere/1.jpg", 7);
	scratch_file("t/a/2.jpg", 1);
	assert_int_equal(symlink("../../elsewhere/1.jpg", "t/a/1.jpg"), 0);
	assert_int_equal(symlink("../elsewhere", "t/b"), 0);
	assert_int_equal(symlink("../elsewhere", "t/c"), 0);
	assert_int_equal(symlink("nowhere", "t/a/gone"), 0);
	assert_int_equal(symlink("nowhere.jpg", "t/a/gone.jpg"), 0);
	source = source_opened("t", &config);
	assert_string_equal(listing(source),
			    "a/1.jpg 7 a|a/2.jpg 1 a|a/gone.jpg 0 a|b/1.jpg 7 b|"
			    "c/1.jpg 7 c|");
	assert_int_equal(source_facts(source)->ignored, 1);
	source_close(source);
}

TEST_WITH(a_directory_loop_is_refused, scratch_setup, scratch_teardown)
{
	scratch_file("t/a/1.jpg", 1);
	mkdir("t/a/in", 0755);
	assert_int_equal(symlink("../../a", "t/a/in/again"), 0);
	source_refused(
		"t", &config, ELOOP,
		"t/a/in/again leads back to a, which it lies in: remove the link");
	assert_int_equal(unlink("t/a/in/again"), 0);
	assert_int_equal(symlink("../..", "t/a/in/again"), 0);
	source_refused("t", &config, ELOOP,
		       "t/a/in/again leads back to the data set itself, which it lies "
		       "in: remove the link");
}

TEST_WITH(names_may_hold_anything, scratch_setup, scratch_teardown)
{
	struct source *source;

	scratch_file("t/<script>\n/'\"\\ \xff;.jpg", 1);
	source = source_opened("t", &config);
	assert_string_equal(listing(source),
			    "<script>\n/'\"\\ \xff;.jpg 1 <script>\n|");
	source_close(source);
	assert_int_equal(symlink("..", "t/<script>\n/\x1b[2J"), 0);
	source_refused(
		"t", &config, ELOOP,
		"t/<script>\\n/\\x1b[2J leads back to the data set itself, which "
		"it lies in: remove the link");
}

TEST_WITH(what_is_no_data_set_is_refused, scratch_setup, scratch_teardown)
{
	mkdir("empty", 0755);
	scratch_file("docs/a/readme.txt", 1);
	assert_int_equal(mkfifo("pipe", 0600), 0);
	source_refused(
		"nowhere", &config, ENOENT,
		"there is no data set 'nowhere': give a folder, a list file, tar or "
		"TFRecord shards, s3://BUCKET/PREFIX, https://HOST/LIST or "
		"synthetic[:COUNT]");
	source_refused("empty", &config, ENODATA,
		       "no pictures in 'empty' (0 other files): it needs a folder per "
		       "class with .jpg or .jpeg files in it");
	source_refused("docs", &config, ENODATA,
		       "no pictures in 'docs' (1 other files): it needs a folder per "
		       "class with .jpg or .jpeg files in it");
	source_refused("pipe", &config, EINVAL,
		       "the data set 'pipe' is neither a folder nor a file");
	source_refused(
		"pipe/in", &config, ENOTDIR,
		"there is no data set 'pipe/in': give a folder, a list file, tar or "
		"TFRecord shards, s3://BUCKET/PREFIX, https://HOST/LIST or "
		"synthetic[:COUNT]");
}

/* As somebody who may not read everything. */
TEST_WITH(what_may_not_be_read_is_refused, scratch_setup, scratch_teardown)
{
	pid_t child;
	int status;

	scratch_file("t/a/1.jpg", 1);
	scratch_text("list", "t/a/1.jpg 0\n");
	chmod(scratch_path(), 0755);
	chmod("t/a", 0);
	chmod("list", 0);
	child = fork();
	if (child == 0) {
		if (geteuid() == 0 && seteuid(65534) < 0)
			_exit(2);
		source_refused("t", &config, EACCES,
			       "cannot read the folder t/a: Permission denied");
		source_refused("list", &config, EACCES,
			       "cannot read the data set 'list': Permission denied");
		_exit(0);
	}
	waitpid(child, &status, 0);
	chmod("t/a", 0755);
	assert_int_equal(status, 0);
}

TEST_WITH(a_data_set_has_one_spelling, scratch_setup, scratch_teardown)
{
	static const char *const spelled[][2] = {
		{"s3://b", "s3://b/"},
		{"s3://b//", "s3://b/"},
		{"s3://b/a/c", "s3://b/a/c/"},
		{"s3://b/a/c/", "s3://b/a/c/"},
		{"s3://b//a/x-{0..9}.tar", "s3://b/a/x-{0..9}.tar"},
		{"https://Host:443/List.txt", "https://host/List.txt"},
		{"http://host:443/a", "http://host:443/a"},
		{"http://host:80/a:80", "http://host/a:80"},
		{"synthetic:9", "synthetic:9"},
		{"nowhere/at/all", "nowhere/at/all"},
		{"", ""},
	};
	char name[PATH_MAX], wanted[PATH_MAX];

	for (size_t i = 0; i < sizeof(spelled) / sizeof(spelled[0]); i++) {
		source_spelling(spelled[i][0], name, sizeof(name));
		assert_string_equal(name, spelled[i][1]);
	}
	assert_int_equal(mkdir("d", 0777), 0);
	source_spelling(".", wanted, sizeof(wanted));
	strcat(wanted, "/d");
	source_spelling("./d/../d/", name, sizeof(name));
	assert_string_equal(name, wanted);
	strcat(wanted, "/x-{0..9}.tar");
	source_spelling("d//x-{0..9}.tar", name, sizeof(name));
	assert_string_equal(name, wanted);
}

TEST_WITH(the_order_does_not_depend_on_threads, scratch_setup, scratch_teardown)
{
	static const unsigned threads[] = {1, 0, 1000};
	struct source *source;

	for (int i = 0; i < 300; i++) {
		char path[64];

		snprintf(path, sizeof(path), "t/%d/%d/%d.jpg", i % 7, i % 11, i);
		scratch_file(path, (size_t)i % 5);
	}
	source = source_opened("t", &config);
	assert_int_equal(source_count(source), 300);
	for (int i = 0; i < 3; i++) {
		struct source_config other = {.threads = threads[i], .index_dir = ""};
		struct source *again = source_open("t", &other, NULL);

		assert_int_equal(source_facts(source)->digest,
				 source_facts(again)->digest);
		source_close(again);
	}
	source_close(source);
}

/* Pinned: results of different machines and versions are compared by it. */
TEST_WITH(a_digest_is_the_same_everywhere, scratch_setup, scratch_teardown)
{
	struct source *source;
	uint64_t digest;

	scratch_file("t/a/1.jpg", 300);
	scratch_file("t/b/1.jpg", 2);
	source = source_opened("t", &config);
	digest = source_facts(source)->digest;
	source_close(source);
	assert_int_equal(digest, 0x5fbfaab729e0894f);
	scratch_file("t/b/1.jpg", 3);
	source = source_opened("t", &config);
	assert_int_not_equal(source_facts(source)->digest, digest);
	source_close(source);
}

TEST_WITH(a_list_keeps_its_order, scratch_setup, scratch_teardown)
{
	struct source *source;

	scratch_file("set/b/2 of 3.jpg", 2);
	scratch_file("set/a/1.jpg", 1);
	scratch_text("set/train.txt", "# chosen by hand\n"
				      "b/2 of 3.jpg dog\r\n"
				      "\n"
				      "a/1.jpg\t \tcat  \n"
				      "gone.jpg dog");
	source = source_opened("set/train.txt", &config);
	assert_string_equal(source_kind(source), "list");
	assert_string_equal(listing(source),
			    "b/2 of 3.jpg 2 dog|a/1.jpg 1 cat|gone.jpg 0 dog|");
	assert_int_equal(source_label(source, 0), 1);
	assert_int_equal(source_facts(source)->classes, 2);
	source_close(source);
}

TEST_WITH(a_label_of_a_list_may_be_a_number, scratch_setup, scratch_teardown)
{
	struct source *source;

	scratch_file("1.jpg", 1);
	scratch_text("list", "1.jpg 12\n1.jpg 3\n");
	source = source_opened("list", &config);
	assert_int_equal(source_facts(source)->classes, 13);
	assert_int_equal(source_label(source, 0), 12);
	assert_string_equal(source_class(source, 7), "7");
	source_close(source);
}

TEST_WITH(a_path_of_a_list_may_be_absolute, scratch_setup, scratch_teardown)
{
	char text[PATH_MAX], buffer[PATH_MAX];
	struct source_place place;
	struct source *source;
	int fd;

	scratch_file("set/1.jpg", 9);
	mkdir("lists", 0755);
	snprintf(text, sizeof(text), "%s/set/1.jpg 0\n", scratch_path());
	scratch_text("lists/list", text);
	source = source_opened("lists/list", &config);
	assert_int_equal(source_facts(source)->bytes, 9);
	source_place(source, 0, buffer, &place);
	fd = openat(place.dir, place.path, O_RDONLY);
	assert_true(fd >= 0);
	close(fd);
	source_close(source);
}

TEST_WITH(a_bad_list_is_refused_with_its_line, scratch_setup, scratch_teardown)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{"", "the list 'list' names no samples: it needs lines 'path label'"},
		{"# only\n\n", "the list 'list' names no samples: it needs lines 'path "
			       "label'"},
		{"1.jpg 0\n1.jpg\n", "list:2: no label: a line is 'path label', with a "
				     "blank between"},
		{" 7\n",
		 "list:1: no label: a line is 'path label', with a blank between"},
		{"1.jpg 0\n1.jpg dog\n",
		 "list:2: a word among labels that are numbers"},
		{"1.jpg dog\n1.jpg 0\n",
		 "list:2: a number among labels that are words"},
		{"1.jpg 0\n1.jpg 1048576\n", "list:2: a label above 1048575"},
		{"1.jpg 99999999999999999999\n",
		 "none of the files in 'list' is there; "
		 "paths start at its folder; the first "
		 "is '1.jpg': No such file or directory"},
		{"1.jpg 0\n",
		 "none of the files in 'list' is there; paths start at its "
		 "folder; the first is '1.jpg': No such file or directory"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error err = {0};

		scratch_text("list", bad[i].text);
		assert_null(source_open("list", &config, &err));
		assert_string_equal(err.message, bad[i].message);
	}
}

TEST_WITH(words_are_ranked_however_many, scratch_setup, scratch_teardown)
{
	enum { WORDS = 1000 };
	FILE *file = fopen("list", "w");
	struct source *source;

	scratch_file("1.jpg", 1);
	for (unsigned i = 0; i < 3 * WORDS; i++)
		fprintf(file, "1.jpg w%03u\n", i * 7 % WORDS);
	fclose(file);
	source = source_opened("list", &config);
	assert_int_equal(source_facts(source)->classes, WORDS);
	for (uint32_t i = 0; i < 3 * WORDS; i++)
		assert_int_equal(source_label(source, i), i * 7 % WORDS);
	assert_string_equal(source_class(source, 42), "w042");
	source_close(source);
}

TEST_WITH(a_path_that_cannot_be_opened_is_refused, scratch_setup, scratch_teardown)
{
	enum { LEVELS = 17, LENGTH = 255 };
	char name[LENGTH + 1], text[PATH_MAX + 8];
	struct error err = {0};

	memset(text, 'x', PATH_MAX);
	strcpy(text + PATH_MAX, " 0\n");
	scratch_text("list", text);
	source_refused("list", &config, EINVAL, "list:1: the path is too long");

	memset(name, 'x', LENGTH);
	name[LENGTH] = '\0';
	for (int i = 0; i < LEVELS; i++)
		assert_true(mkdir(name, 0755) == 0 && chdir(name) == 0);
	assert_int_equal(chdir(scratch_path()), 0);
	assert_null(source_open(".", &config, &err));
	assert_int_equal(err.code, ENAMETOOLONG);
	assert_non_null(strstr(err.message, "a path is longer than 4095 bytes: move"));
	for (int i = 1; i < LEVELS; i++)
		assert_int_equal(chdir(name), 0);
	for (int i = 0; i < LEVELS; i++)
		assert_true(rmdir(name) == 0 && (i == LEVELS - 1 || chdir("..") == 0));
}

TEST_WITH(a_binary_file_is_no_list, scratch_setup, scratch_teardown)
{
	FILE *file = fopen("list", "w");

	fwrite("1.jpg 0\n\0\0\0", 1, 11, file);
	fclose(file);
	source_refused("list", &config, EINVAL,
		       "list:2: a 0 byte: this is no list of lines 'path label'");
}

TEST(a_synthetic_sample_is_a_picture)
{
	struct source *source = source_opened("synthetic:35", &config);
	struct jpeg_decompress_struct jpeg;
	struct jpeg_error_mgr manager;
	uint64_t bytes = 0;

	jpeg.err = jpeg_std_error(&manager);
	jpeg_create_decompress(&jpeg);
	for (uint32_t i = 0; i < 35; i++) {
		struct source_place place;

		source_place(source, i, NULL, &place);
		assert_null(place.path);
		jpeg_mem_src(&jpeg, place.memory, place.size);
		jpeg_read_header(&jpeg, TRUE);
		assert_in_range(jpeg.image_width, 375, 500);
		assert_in_range(place.size, 40000, 200000);
		assert_true(source_label(source, i) < source_facts(source)->classes);
		assert_non_null(source_class(source, source_label(source, i)));
		jpeg_abort_decompress(&jpeg);
		bytes += place.size;
	}
	jpeg_destroy_decompress(&jpeg);
	assert_int_equal(source_count(source), 35);
	assert_int_equal(source_facts(source)->bytes, bytes);
	assert_in_range(bytes / 35, 100000, 120000); /* 110 KB as ImageNet's */
	source_close(source);
}

TEST(synthetic_pictures_depend_on_the_seed_alone)
{
	static const uint64_t seed[] = {1, 1, 2};
	uint64_t digest[3];

	for (int i = 0; i < 3; i++) {
		struct source_config seeded = {.threads = 1u + i, .seed = seed[i]};
		struct source *source = source_open("synthetic", &seeded, NULL);

		assert_int_equal(source_count(source), 10000);
		digest[i] = source_facts(source)->digest;
		source_close(source);
	}
	assert_int_equal(digest[0], digest[1]);
	assert_int_not_equal(digest[0], digest[2]);
}

TEST(few_synthetic_samples_are_the_first_of_many)
{
	struct source *few = source_opened("synthetic:2", &config);
	struct source *many = source_opened("synthetic:35", &config);
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < 2; i++) {
		struct source_place place[2];

		source_place(few, i, NULL, &place[0]);
		source_place(many, i, NULL, &place[1]);
		assert_int_equal(place[0].size, place[1].size);
		assert_memory_equal(place[0].memory, place[1].memory, place[0].size);
		bytes += place[0].size;
	}
	assert_int_equal(source_facts(few)->bytes, bytes);
	assert_int_not_equal(source_facts(few)->digest, source_facts(many)->digest);
	source_close(few);
	source_close(many);
}

TEST(a_bad_synthetic_count_is_refused)
{
	source_refused("synthetic:0", &config, EINVAL,
		       "'synthetic:0' is no synthetic data set: give synthetic:COUNT, "
		       "COUNT from 1 to 4294967295");
	source_refused("synthetic:", &config, EINVAL,
		       "'synthetic:' is no synthetic data set: give synthetic:COUNT, "
		       "COUNT from 1 to 4294967295");
}

/* With one thread, so that the nth allocation is the same one each time. */
static unsigned failures_until_open(const char *dataset)
{
	struct source_config one = {.threads = 1, .index_dir = ""};
	struct source *source = NULL;
	unsigned failures = 0;

	while (source == NULL) {
		struct error err = {0};

		nomem_at(failures + 1);
		source = source_open(dataset, &one, &err);
		nomem_at(0);
		assert_int_equal(err.code, source == NULL ? ENOMEM : 0);
		failures += source == NULL;
	}
	source_close(source);
	return failures;
}

TEST_WITH(source_open_says_so_when_memory_runs_out, scratch_setup, scratch_teardown)
{
	scratch_file("t/a/1.jpg", 1);
	scratch_file("t/b/1.jpg", 1);
	scratch_text("words", "t/a/1.jpg cat\n");
	scratch_text("numbers", "t/a/1.jpg 1\n");
	assert_in_range(failures_until_open("t"), 8, 20);
	assert_in_range(failures_until_open("words"), 7, 12);
	assert_in_range(failures_until_open("numbers"), 4, 8);
	assert_int_equal(failures_until_open("synthetic"), 2);
}
