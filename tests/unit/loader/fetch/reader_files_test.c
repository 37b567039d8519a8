/* reader_files_test.c - which files stay open, and how many. */
#include "loader/base/thread_pool.h"
#include "loader/fetch/reader_files.h"
#include "loader/source.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHARDS = 10, THREADS = 4 };

static struct source_place part_of(int dir, const char *path)
{
	return (struct source_place){.dir = dir, .path = path, .part = true};
}

TEST_WITH(a_shard_is_opened_once, scratch_setup, scratch_teardown)
{
	struct reader_files *files = reader_files_new(O_RDONLY | O_CLOEXEC);
	struct source_place a = part_of(AT_FDCWD, "a"), b = part_of(AT_FDCWD, "b");
	struct stat status;
	int fd, folder;

	scratch_file("a", 1);
	scratch_file("f/a", 2);
	folder = open("f", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = reader_files_get(files, &a);
	assert_true(fd >= 0);
	assert_int_equal(unlink("a"), 0);
	assert_int_equal(reader_files_get(files, &a), fd);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_size, 1);
	a.dir = folder; /* another file */
	assert_int_equal(fstat(reader_files_get(files, &a), &status), 0);
	assert_int_equal(status.st_size, 2);
	assert_int_equal(reader_files_get(files, &b), -1);
	scratch_file("b", 3); /* it is there by now */
	assert_int_equal(fstat(reader_files_get(files, &b), &status), 0);
	assert_int_equal(status.st_size, 3);
	reader_files_free(files);
	assert_int_equal(fstat(fd, &status), -1);
	close(folder);
}

TEST_WITH(a_shard_with_another_in_its_place_is_found_out, scratch_setup,
	  scratch_teardown)
{
	struct reader_files *files = reader_files_new(O_RDONLY | O_CLOEXEC);
	struct source_place a = part_of(AT_FDCWD, "a"), b = part_of(AT_FDCWD, "b");

	scratch_file("a", 1);
	scratch_file("b", 1);
	assert_false(reader_files_replaced(files, &a)); /* it is not open yet */
	assert_true(reader_files_get(files, &a) >= 0);
	assert_true(reader_files_get(files, &b) >= 0);
	assert_false(reader_files_replaced(files, &a));
	scratch_file("new", 1);
	assert_int_equal(rename("new", "a"), 0);
	assert_int_equal(unlink("b"), 0);
	assert_true(reader_files_replaced(files, &a));
	assert_true(reader_files_replaced(files, &b));
	reader_files_free(files);
}

TEST_WITH(whole_files_do_not_stay_open, scratch_setup, scratch_teardown)
{
	struct reader_files *files = reader_files_new(O_RDONLY | O_CLOEXEC);
	struct source_place whole = {.dir = AT_FDCWD, .path = "a"};
	struct source_place a = part_of(AT_FDCWD, "a");

	scratch_file("a", 1);
	assert_int_equal(reader_files_get(files, &whole), -1);
	assert_int_equal(reader_files_get(NULL, &a), -1);
	reader_files_free(files);
	reader_files_free(NULL);
}

TEST_WITH(a_quarter_of_the_descriptors_is_the_most, scratch_setup, scratch_teardown)
{
	struct rlimit limit, low;
	struct reader_files *files;
	unsigned open_now = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = 32;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	files = reader_files_new(O_RDONLY | O_CLOEXEC);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int i = 0; i < SHARDS; i++) {
		char path[16];
		struct source_place place = part_of(AT_FDCWD, path);

		snprintf(path, sizeof(path), "s%d", i);
		scratch_file(path, 1);
		open_now += reader_files_get(files, &place) >= 0;
	}
	assert_int_equal(open_now, 32 / 4);
	reader_files_free(files);
}

struct opened {
	struct reader_files *files;
	_Atomic int fds[SHARDS];
	atomic_uint others;
};

static void open_all(void *context)
{
	struct opened *opened = context;

	for (int i = 0; i < SHARDS; i++) {
		char path[16];
		struct source_place place = part_of(AT_FDCWD, path);
		int fd, first = -1;

		snprintf(path, sizeof(path), "s%d", i);
		fd = reader_files_get(opened->files, &place);
		if (!atomic_compare_exchange_strong(&opened->fds[i], &first, fd))
			opened->others += fd != first;
	}
}

TEST_WITH(threads_get_the_same_ones, scratch_setup, scratch_teardown)
{
	struct opened opened = {.files = reader_files_new(O_RDONLY | O_CLOEXEC)};

	for (int i = 0; i < SHARDS; i++) {
		char path[16];

		snprintf(path, sizeof(path), "s%d", i);
		scratch_file(path, 1);
		opened.fds[i] = -1;
	}
	thread_pool_run(THREADS, open_all, &opened);
	assert_int_equal(opened.others, 0);
	for (int i = 0; i < SHARDS; i++)
		assert_true(opened.fds[i] >= 0);
	reader_files_free(opened.files);
}
