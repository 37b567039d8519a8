#include "loader/base/error.h"
#include "loader/source.h"
#include "loader/source/index_cache.h"
#include "loader/source/indexed.h"
#include "loader/source/list.h"
#include "tests/lib/nomem.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void add_folder(struct index *index, const char *path, const char *real)
{
	struct index_stamp stamp;
	struct stat status;

	assert_int_equal(stat(real, &status), 0);
	index_stamp_set(&stamp, &status);
	index_add_folder(index, path, &stamp);
}

/* The index of t/a/1.jpg, 3 bytes, and t/b/2.jpg, 4 bytes. */
static void make_index(struct index *index)
{
	const struct index_plan plan = {3, 2, 2, 64, false};

	assert_int_equal(index_new(index, &plan, NULL), 0);
	add_folder(index, "", "t");
	add_folder(index, "a", "t/a");
	add_folder(index, "b", "t/b");
	for (uint32_t i = 0; i < 2; i++) {
		const struct index_sample sample = {
			.folder = i + 1,
			.size = i + 3,
			.label = i,
		};

		index_add_sample(index, i == 0 ? "1.jpg" : "2.jpg", &sample);
		index_add_class(index, i == 0 ? "a" : "b");
	}
	assert_int_equal(index_finish(index, NULL), 0);
}

static void make_tree(void)
{
	scratch_file("t/a/1.jpg", 3);
	scratch_file("t/b/2.jpg", 4);
}

static struct index_origin origin(void)
{
	int fd = open("t", O_RDONLY | O_DIRECTORY);

	assert_true(fd >= 0);
	return (struct index_origin){.dataset = "t",
				     .base_path = "t",
				     .dataset_fd = fd,
				     .base = fd,
				     .threads = 2};
}

/* Clocks of file systems may be coarse: what changes from now on has another time. */
static void next_tick(void)
{
	struct stat before, now;

	scratch_file("tick", 1);
	assert_int_equal(stat("tick", &before), 0);
	do {
		scratch_file("tick", 1);
		assert_int_equal(stat("tick", &now), 0);
	} while (now.st_ctim.tv_sec == before.st_ctim.tv_sec &&
		 now.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
}

/* A tree whose index is kept in "kept" as if it were an old one. */
static void keep(struct index_cache *cache)
{
	struct index index;

	make_tree();
	make_index(&index);
	index_cache_open(cache, "kept", "t", "t", 0);
	index_cache_save(cache, &index, INT64_MAX);
	index_free(&index);
	next_tick();
}

static bool loads(const struct index_cache *cache)
{
	struct index_origin from = origin();
	struct index index;
	bool loaded = index_cache_load(cache, &from, &index);

	if (loaded)
		index_free(&index);
	close(from.base);
	return loaded;
}

TEST_WITH(a_kept_index_is_the_one_that_was_made, scratch_setup, scratch_teardown)
{
	struct index made, loaded;
	struct index_origin from;
	struct index_cache cache;
	struct stat status;

	keep(&cache);
	from = origin();
	make_index(&made);
	assert_true(index_cache_load(&cache, &from, &loaded));
	assert_int_equal(index_size(&made), index_size(&loaded));
	assert_memory_equal(made.head, loaded.head, index_size(&made));
	assert_int_equal(stat(cache.path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	index_free(&made);
	index_free(&loaded);
	close(from.base);
}

TEST_WITH(a_changed_tree_does_not_fit, scratch_setup, scratch_teardown)
{
	struct index_cache cache;

	keep(&cache);
	assert_true(loads(&cache));
	scratch_file("t/a/new.jpg", 1);
	assert_false(loads(&cache));
}

TEST_WITH(a_removed_file_does_not_fit, scratch_setup, scratch_teardown)
{
	struct index_cache cache;

	keep(&cache);
	assert_int_equal(unlink("t/b/2.jpg"), 0);
	assert_false(loads(&cache));
}

TEST_WITH(a_removed_folder_does_not_fit, scratch_setup, scratch_teardown)
{
	struct index_cache cache;

	keep(&cache);
	assert_int_equal(rename("t/b", "b"), 0);
	assert_false(loads(&cache));
}

TEST_WITH(another_size_does_not_fit, scratch_setup, scratch_teardown)
{
	struct index_cache cache;

	keep(&cache);
	scratch_file("t/b/2.jpg", 5);
	assert_false(loads(&cache));
	scratch_file("t/b/2.jpg", 4);
	assert_true(loads(&cache));
}

/* Setting times back, as rsync and tar do, does not set back the change time. */
TEST_WITH(a_time_that_was_set_back_does_not_fit, scratch_setup, scratch_teardown)
{
	struct index_cache cache;
	struct timespec times[2];
	struct stat status;

	keep(&cache);
	assert_int_equal(stat("t/a", &status), 0);
	assert_int_equal(rename("t/a/1.jpg", "t/a/0.jpg"), 0);
	assert_int_equal(rename("t/a/0.jpg", "t/a/1.jpg"), 0);
	times[0] = status.st_atim;
	times[1] = status.st_mtim;
	assert_int_equal(utimensat(AT_FDCWD, "t/a", times, 0), 0);
	assert_false(loads(&cache));
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

TEST_WITH(a_tree_that_has_just_changed_is_not_kept, scratch_setup, scratch_teardown)
{
	int64_t before = now_ns(), after;
	struct index_cache cache;
	struct index index;

	make_tree();
	after = now_ns();
	make_index(&index);
	index_cache_open(&cache, "kept", "t", "t", 0);
	index_cache_save(&cache, &index, before + 1000000000);
	assert_int_equal(access(cache.path, F_OK), -1);
	index_cache_save(&cache, &index, after + 3000000000);
	assert_int_equal(access(cache.path, F_OK), 0);
	index_free(&index);
}

TEST_WITH(a_damaged_index_is_refused, scratch_setup, scratch_teardown)
{
	struct index index, other;
	unsigned char *block;
	size_t size;

	make_tree();
	make_index(&index);
	size = index_size(&index);
	block = (unsigned char *)index.head;
	for (size_t i = 0; i < size; i++) {
		block[i] ^= 0x10;
		assert_false(index_adopt(&other, block, size));
		block[i] ^= 0x10;
		assert_false(index_adopt(&other, block, i));
	}
	assert_true(index_adopt(&other, block, size));
	index_free(&other);
}

TEST_WITH(a_file_that_was_cut_is_not_used, scratch_setup, scratch_teardown)
{
	struct index_cache cache;
	struct stat status;

	keep(&cache);
	assert_int_equal(stat(cache.path, &status), 0);
	assert_int_equal(truncate(cache.path, status.st_size - 1), 0);
	assert_false(loads(&cache));
	assert_int_equal(truncate(cache.path, 0), 0);
	assert_false(loads(&cache));
}

TEST_WITH(numbers_that_lead_out_of_an_index_are_refused, scratch_setup,
	  scratch_teardown)
{
	struct index index, other;
	size_t size;

	make_tree();
	make_index(&index);
	size = index_size(&index);
	index.text[index.head->text - 1] = 'x';
	for (int i = 0; i < 7; i++) {
		uint32_t *const number[] = {
			(uint32_t *)(void *)(index.text + index.head->text - 4),
			&index.samples[1].name,
			&index.samples[1].folder,
			&index.samples[1].label,
			&index.samples[1].size,
			&index.folders[2].path,
			&index.classes[1],
		};
		uint32_t before;

		memcpy(&before, number[i], sizeof(before));
		memset(number[i], 0x7f, sizeof(before));
		index_seal(index.head, size);
		assert_false(index_adopt(&other, index.head, size));
		memcpy(number[i], &before, sizeof(before));
		index.text[index.head->text - 1] = '\0';
	}
	index_seal(index.head, size);
	assert_true(index_adopt(&other, index.head, size));
	index_free(&other);
}

/* Both strings of a server's index of records lie in its text. */
TEST_WITH(features_are_kept_with_an_index, scratch_setup, scratch_teardown)
{
	const struct index_plan plan = {1, 1, 1, 12, false};
	const struct index_stamp stamp = {0};
	const struct index_sample sample = {.size = 1};
	struct index index, other;
	size_t size;

	assert_int_equal(index_new(&index, &plan, NULL), 0);
	index_add_folder(&index, "", &stamp);
	index_add_class(&index, ".");
	index_add_sample(&index, "0", &sample);
	assert_null(index_features(&index));
	index_add_features(&index, "jpg", "cl");
	assert_int_equal(index_finish(&index, NULL), 0);
	size = index_size(&index);
	assert_true(index_adopt(&other, index.head, size));
	assert_string_equal(index_features(&other), "jpg");
	assert_string_equal(index_features(&other) + 4, "cl");
	for (uint32_t at = 9; at < 14; at++) {
		index.head->features = at;
		index_seal(index.head, size);
		assert_false(index_adopt(&other, index.head, size));
	}
	index_free(&index);
}

TEST_WITH(an_index_of_another_or_behind_a_link_is_not_used, scratch_setup,
	  scratch_teardown)
{
	struct index_cache cache;

	keep(&cache);
	if (geteuid() == 0) {
		assert_int_equal(chown(cache.path, 65534, 65534), 0);
		assert_false(loads(&cache));
		assert_int_equal(chown(cache.path, 0, 0), 0);
	}
	assert_true(loads(&cache));
	assert_int_equal(rename(cache.path, "index"), 0);
	assert_int_equal(symlink("../index", cache.path), 0);
	assert_false(loads(&cache));
}

TEST_WITH(a_fifo_in_place_of_an_index_is_not_waited_for, scratch_setup,
	  scratch_teardown)
{
	struct index_cache cache;

	keep(&cache);
	assert_int_equal(unlink(cache.path), 0);
	assert_int_equal(mkfifo(cache.path, 0600), 0);
	assert_false(loads(&cache));
}

/* Until there is no room for it the index is kept; then the tree is listed. */
TEST_WITH(a_full_disk_leaves_nothing_behind, scratch_setup, scratch_teardown)
{
	const struct rlimit limit = {100, 100};
	struct index_cache cache;
	int status;

	if (fork() == 0) {
		signal(SIGXFSZ, SIG_IGN);
		make_tree();
		setrlimit(RLIMIT_FSIZE, &limit);
		keep(&cache);
		assert_false(loads(&cache));
		_exit(0);
	}
	wait(&status);
	assert_int_equal(status, 0);
	assert_int_equal(rmdir("kept"), 0);
}

TEST_WITH(what_a_crash_left_is_cleared_in_the_end, scratch_setup, scratch_teardown)
{
	struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct index_cache cache;
	char left[PATH_MAX + 8];

	mkdir("kept", 0700);
	make_tree();
	index_cache_open(&cache, "kept", "t", "t", 0);
	snprintf(left, sizeof(left), "%s.new", cache.path);
	scratch_file(left, 9);
	keep(&cache); /* somebody else may be writing it now */
	assert_int_equal(access(left, F_OK), 0);
	assert_int_equal(utimensat(AT_FDCWD, left, old, 0), 0);
	keep(&cache);
	assert_false(loads(&cache));
	keep(&cache);
	assert_true(loads(&cache));
	assert_int_equal(access(left, F_OK), -1);
}

TEST_WITH(indexes_lie_in_the_users_cache, scratch_setup, scratch_teardown)
{
	char expected[PATH_MAX];
	struct index_cache cache;

	make_tree();
	snprintf(expected, sizeof(expected), "%s/dsa/index-", scratch_path());
	setenv("XDG_CACHE_HOME", scratch_path(), 1);
	index_cache_open(&cache, NULL, "t", "t", 0);
	assert_memory_equal(cache.path, expected, strlen(expected));
	snprintf(expected, sizeof(expected), "%s/.cache/dsa/index-", scratch_path());
	setenv("XDG_CACHE_HOME", "relative", 1);
	setenv("HOME", scratch_path(), 1);
	index_cache_open(&cache, NULL, "t", "t", 0);
	assert_memory_equal(cache.path, expected, strlen(expected));
	unsetenv("HOME");
	index_cache_open(&cache, NULL, "t", "t", 0);
	assert_string_equal(cache.path, "");
}

TEST_WITH(each_list_of_a_folder_has_its_own_index, scratch_setup, scratch_teardown)
{
	struct index_cache one, other, tree;

	make_tree();
	index_cache_open(&one, "kept", "t", "t/one.txt", 0);
	index_cache_open(&other, "kept", "t", "t/other.txt", 0);
	index_cache_open(&tree, "kept", "t", "t", 0);
	assert_string_not_equal(one.path, other.path);
	assert_string_not_equal(one.path, tree.path);
}

static uint64_t digest(const char *dataset)
{
	const struct source_config config = {.threads = 2, .index_dir = "kept"};
	struct source *source = source_open(dataset, &config, NULL);
	uint64_t value;

	assert_non_null(source);
	value = source_facts(source)->digest;
	source_close(source);
	return value;
}

/* The kept index gets a mark, so that it can be told whether it was used. */
TEST_WITH(a_source_opens_the_kept_index_while_it_fits, scratch_setup, scratch_teardown)
{
	struct index_cache cache;
	struct index index;
	uint64_t real;

	make_tree();
	real = digest("t");
	make_index(&index);
	assert_int_equal(index.head->digest, real);
	index.head->digest = 4711;
	index_seal(index.head, index_size(&index));
	index_cache_open(&cache, "kept", "t", "t", 0);
	index_cache_save(&cache, &index, INT64_MAX);
	assert_int_equal(digest("t"), 4711);
	next_tick();
	scratch_file("t/a/3.txt", 0);
	assert_int_equal(digest("t"), real);
	index_free(&index);
}

static void keep_list(uint64_t mark)
{
	char text[] = "a/1.jpg cat\n";
	struct index_stamp stamp;
	struct index_cache cache;
	struct index index;
	struct stat status;

	assert_int_equal(stat("t/list", &status), 0);
	index_stamp_set(&stamp, &status);
	assert_int_equal(list_parse(text, strlen(text), "list", &stamp, &index, NULL),
			 0);
	index.samples[0].size = 3;
	assert_int_equal(index_finish(&index, NULL), 0);
	index.head->digest = mark;
	index_seal(index.head, index_size(&index));
	index_cache_open(&cache, "kept", "t", "t/list", 0);
	index_cache_save(&cache, &index, INT64_MAX);
	index_free(&index);
	next_tick();
}

TEST_WITH(a_list_is_kept_until_it_is_written_again, scratch_setup, scratch_teardown)
{
	make_tree();
	scratch_text("t/list", "a/1.jpg cat\n");
	keep_list(4711);
	assert_int_equal(digest("t/list"), 4711);
	scratch_file("t/a/new.jpg", 1); /* is not in the list */
	assert_int_equal(digest("t/list"), 4711);
	scratch_text("t/list", "a/1.jpg cat\n");
	assert_int_not_equal(digest("t/list"), 4711);
}

TEST_WITH(a_source_opens_where_no_index_can_be_kept, scratch_setup, scratch_teardown)
{
	const struct source_config config = {.threads = 1, .index_dir = "/proc/none"};
	struct source *source;

	make_tree();
	source = source_open("t", &config, NULL);
	assert_non_null(source);
	source_close(source);
}

/* Memory that is short for the kept index may still do for a listing, or not. */
TEST_WITH(loading_survives_when_memory_runs_out, scratch_setup, scratch_teardown)
{
	struct index_cache cache;

	keep(&cache);
	nomem_at(1);
	assert_false(loads(&cache));
	nomem_at(0);
	assert_true(loads(&cache));
}

TEST(an_index_of_more_than_32_bits_is_refused)
{
	const struct index_plan plan = {1, (uint64_t)UINT32_MAX + 1, 1, 1, false};
	struct error err = {0};
	struct index index;

	assert_int_equal(index_new(&index, &plan, &err), -EOVERFLOW);
	assert_string_equal(err.message,
			    "4294967296 samples with 1 bytes of names are more than an "
			    "index holds (4 GiB of each)");
}
