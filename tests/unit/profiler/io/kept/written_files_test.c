/* written_files_test.c - what is kept of files before the program overwrites them. */
#include "loader/base/clock.h"
#include "profiler/io/kept/written_files.h"
#include "tests/lib/io_part.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TICK_US = 20000 }; /* files have the time of a tick */

static struct io_page *keeping_page(void)
{
	struct io_page *page = io_part_page();

	snprintf(page->kept_folder, sizeof(page->kept_folder), "%.400s/kept",
		 scratch_path());
	assert_int_equal(mkdir("kept", 0700), 0);
	return page;
}

/* The user's files are there; what is made from now on is the program's. */
static void keep(struct io_page *page)
{
	usleep(TICK_US);
	page->keeping = page->began = clock_real();
	usleep(TICK_US);
}

static void overwrite(const char *name)
{
	written_truncates(AT_FDCWD, name);
	io_part_close(io_part_open(name, O_WRONLY | O_CREAT | O_TRUNC));
}

static void rename_file(const char *from, const char *to)
{
	written_replaces(AT_FDCWD, from);
	written_replaces(AT_FDCWD, to);
	assert_int_equal(rename(from, to), 0);
	written_replaced(AT_FDCWD, to);
}

static void remove_file(const char *path)
{
	written_replaces(AT_FDCWD, path);
	assert_int_equal(unlink(path), 0);
}

static void put_back(void)
{
	assert_int_equal(system("sh kept/put-back"), 0); /* NOLINT(cert-env33-c) */
}

TEST_WITH(the_script_names_what_it_moves_and_asks_nothing, io_part_setup,
	  io_part_teardown)
{
	struct io_page *page = keeping_page();
	char text[4096] = "", line[2048];
	FILE *script;

	scratch_file("model.pt", 100);
	keep(page);
	overwrite("model.pt");
	assert_int_equal(scratch_size("kept/1"), 100);
	script = fopen("kept/put-back", "r");
	assert_non_null(script);
	assert_in_range(fread(text, 1, sizeof(text) - 1, script), 1, sizeof(text));
	fclose(script);
	snprintf(
		line, sizeof(line),
		"\nkept='%s/1' path='%s/model.pt'; mkdir -p -- \"${path%%/*}/\" && if ",
		page->kept_folder, scratch_path());
	assert_non_null(strstr(text, line));
}

static void *watch_model(void *gone)
{
	while (access("over", F_OK) < 0)
		if (access("model.pt", F_OK) < 0)
			atomic_fetch_add((atomic_int *)gone, 1);
	return gone;
}

/* Whoever watches a program's checkpoint, or kills the program, finds it. */
TEST_WITH(what_is_moved_is_never_gone, io_part_setup, io_part_teardown)
{
	enum { TIMES = 100 };
	struct io_page *page = keeping_page();
	atomic_int gone = 0;
	pthread_t thread;

	scratch_file("model.pt", 100);
	page->keeping = page->began = UINT64_MAX; /* all is the user's */
	assert_int_equal(pthread_create(&thread, NULL, watch_model, &gone), 0);
	for (int i = 0; i < TIMES; i++) {
		written_truncates(AT_FDCWD, "model.pt");
		scratch_file("model.pt", 100);
	}
	scratch_file("over", 1);
	pthread_join(thread, NULL);
	assert_int_equal(page->kept_count, TIMES);
	assert_int_equal(gone, 0);
}

TEST_WITH(one_that_the_script_can_not_name_is_told_as_lost, io_part_setup,
	  io_part_teardown)
{
	struct io_page *page = keeping_page();

	assert_int_equal(mkdir("kept/put-back", 0700), 0);
	scratch_file("model.pt", 100);
	keep(page);
	overwrite("model.pt");
	assert_int_equal(page->lost_count, 1);
	assert_int_equal(page->lost[0].number, 1);
	assert_non_null(strstr(page->lost[0].path, "/model.pt"));
	assert_int_equal(scratch_size("kept/1"), 100);
}

TEST_WITH(one_that_was_added_to_is_kept_later, io_part_setup, io_part_teardown)
{
	struct io_page *page = keeping_page();

	scratch_file("data", 10);
	scratch_file("log", 100);
	keep(page);
	io_part_batch(1, "data");
	io_part_close(io_part_open("log", O_WRONLY));
	io_part_close(io_part_open("new", O_WRONLY | O_CREAT));
	assert_int_equal(page->kept_count, 0);
	scratch_file("new", 5);
	for (int i = 0; i < 2; i++) {
		overwrite("log");
		overwrite("new");
		scratch_file("log", 5);
	}
	assert_int_equal(page->written_count, 2);
	assert_int_equal(page->kept_count, 1);
	assert_int_equal(scratch_size("kept/1"), 100);
}

static int add_to(const char *name)
{
	int fd = io_part_open(name, O_WRONLY | O_CREAT | O_APPEND);

	assert_int_equal(write(fd, "row", 3), 3);
	return fd;
}

/* Of logs: what is open when the first batch was made, and what is opened later. */
TEST_WITH(what_was_added_is_cut_off, io_part_setup, io_part_teardown)
{
	struct io_page *page = keeping_page();
	int held;

	scratch_file("data", 10);
	scratch_file("before", 100);
	scratch_file("held", 100);
	scratch_file("later", 100);
	keep(page);
	page->keeping = 0;
	io_part_close(add_to("before"));
	io_part_close(add_to("held"));
	held = add_to("held");
	io_part_batch(1, "data");
	assert_int_equal(write(held, "row", 3), 3);
	io_part_close(held);
	io_part_close(add_to("later"));
	io_part_close(add_to("later"));
	io_part_close(add_to("new"));
	assert_int_equal(page->kept_count, 2);
	assert_int_equal(scratch_size("held"), 109);
	for (int i = 0; i < 2; i++) {
		put_back();
		assert_int_equal(scratch_size("before"), 103);
		assert_int_equal(scratch_size("held"), 100 + i * 3);
		assert_int_equal(scratch_size("later"), 100);
		assert_int_equal(scratch_size("new"), 3);
		io_part_close(add_to("held")); /* after the run */
		assert_int_equal(access("kept/1", F_OK), -1);
		assert_int_equal(access("kept/2", F_OK), -1);
	}
}

TEST_WITH(a_log_that_is_rotated_is_whole, io_part_setup, io_part_teardown)
{
	struct io_page *page = keeping_page();

	scratch_file("data", 10);
	scratch_file("log", 100);
	scratch_file("other", 200);
	keep(page);
	io_part_batch(1, "data");
	io_part_close(add_to("log"));
	rename_file("log", "log.1");
	assert_int_equal(symlink("other", "log"), 0);
	put_back();
	assert_int_equal(scratch_size("log"), 100);
	assert_int_equal(scratch_size("other"), 200);
}

TEST_WITH(another_log_of_that_name_stays, io_part_setup, io_part_teardown)
{
	struct io_page *page = keeping_page();

	scratch_file("data", 10);
	scratch_file("last/log", 100);
	scratch_file("best/log", 200);
	keep(page);
	io_part_batch(1, "data");
	io_part_close(add_to("last/log"));
	assert_int_equal(rename("last", "first"), 0);
	assert_int_equal(rename("best", "last"), 0);
	put_back();
	assert_int_equal(scratch_size("last/log"), 200);
	assert_int_equal(access("kept/1", F_OK), -1);
}

static void *overwrite_it(void *name)
{
	overwrite(name);
	return NULL;
}

/* Files of the user's, each by all threads at once: under its name, or under a new one. */
static void all_overwrite(const char *new_name)
{
	enum { TIMES = 50, THREADS = 4 };
	struct io_page *page = keeping_page();
	pthread_t threads[THREADS];
	char old[16], name[16];

	for (int i = 0; i < TIMES; i++) {
		snprintf(old, sizeof(old), "old%d", i);
		scratch_file(old, 100000);
	}
	keep(page);
	io_part_batch(1, "old0");
	for (int i = 0; i < TIMES; i++) {
		snprintf(old, sizeof(old), "old%d", i);
		snprintf(name, sizeof(name), "%s", new_name == NULL ? old : new_name);
		if (new_name != NULL)
			rename_file(old, new_name);
		for (int j = 0; j < THREADS; j++)
			assert_int_equal(
				pthread_create(&threads[j], NULL, overwrite_it, name),
				0);
		for (int j = 0; j < THREADS; j++)
			pthread_join(threads[j], NULL);
	}
	assert_int_equal(page->lost_count, 0);
	put_back();
	for (int i = 0; i < TIMES; i++) {
		snprintf(old, sizeof(old), "old%d", i);
		assert_int_equal(scratch_size(old), 100000);
	}
}

TEST_WITH(threads_may_overwrite_at_once, io_part_setup, io_part_teardown)
{
	all_overwrite("model.pt");
}

/* One of them keeps it. */
TEST_WITH(threads_may_overwrite_a_file_first_at_once, io_part_setup, io_part_teardown)
{
	all_overwrite(NULL);
}

/* Programs have such threads. */
TEST_WITH(a_small_stack_is_enough, io_part_setup, io_part_teardown)
{
	enum { STACK = 48 * 1024 };
	char name[] = "model.pt";
	pthread_attr_t small;
	pthread_t thread;

	scratch_file(name, 100);
	keep(keeping_page());
	pthread_attr_init(&small);
	assert_int_equal(pthread_attr_setstacksize(&small, STACK), 0);
	assert_int_equal(pthread_create(&thread, &small, overwrite_it, name), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&small);
	assert_int_equal(scratch_size("kept/1"), 100);
}

static void dump(const char *what, unsigned count)
{
	char name[16];

	for (unsigned i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s%u", what, i);
		overwrite(name);
	}
}

/* A program that dumps pictures, and saves over the user's old file at the end. */
TEST_WITH(keeping_needs_no_room_for_names, io_part_setup, io_part_teardown)
{
	enum { MORE = 44 };
	struct io_page *page = keeping_page();

	scratch_file("data", 10);
	scratch_file("last.pt", 100);
	keep(page);
	io_part_batch(1, "data");
	dump("picture", IO_WRITTEN + MORE);
	scratch_file("picture280", 5);
	for (int i = 0; i < 2; i++) {
		overwrite("last.pt");
		overwrite("picture280");
		scratch_file("last.pt", 7);
	}
	assert_int_equal(page->kept_count, 1);
	assert_int_equal(page->lost_count, 0);
	assert_int_equal(scratch_size("kept/1"), 100);
	assert_int_equal(page->written_count, IO_WRITTEN + MORE + 1);
	assert_int_equal(page->dropped_written, MORE + 1);
}

/* Then what nobody has changed since files are kept is the user's. */
TEST_WITH(neither_does_it_room_for_marks, io_part_setup, io_part_teardown)
{
	struct io_page *page = keeping_page();

	scratch_file("last.pt", 100);
	page->keeping = page->began = clock_real() + 1000000000;
	memset(page->marks, 0xff, sizeof(page->marks));
	overwrite("last.pt");
	assert_int_equal(scratch_size("kept/1"), 100);
	scratch_file("last.pt", 5);
	page->keeping = 1;
	overwrite("last.pt");
	assert_int_equal(page->kept_count, 1);
}

/* Longer than any that the page has room for. */
TEST_WITH(neither_is_a_path_too_long, io_part_setup, io_part_teardown)
{
	struct io_page *page = keeping_page();
	char path[900], script[16384] = "";
	FILE *file;

	memset(path, 'd', sizeof(path));
	for (unsigned i = 200; i < sizeof(path); i += 200)
		path[i] = '/';
	path[sizeof(path) - 1] = '\0';
	scratch_file(path, 100);
	keep(page);
	overwrite(path);
	assert_int_equal(page->lost_count, 0);
	assert_int_equal(page->dropped_written, 1);
	assert_int_equal(scratch_size("kept/1"), 100);
	file = fopen("kept/put-back", "r");
	assert_non_null(file);
	assert_true(fread(script, 1, sizeof(script) - 1, file) > sizeof(path));
	fclose(file);
	assert_non_null(strstr(script, path));
}

TEST_WITH(what_gets_shorter_is_kept_as_it_was, io_part_setup, io_part_teardown)
{
	struct io_page *page = keeping_page();
	int fd;

	scratch_file("a", 100);
	scratch_file("b", 100);
	keep(page);
	written_shortens("a", 100);
	written_shortens("a", 200);
	assert_int_equal(page->kept_count, 0);
	written_shortens("a", 40);
	assert_int_equal(truncate("a", 40), 0);
	fd = open("b", O_RDWR | O_CLOEXEC);
	written_shortens_open(fd, 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	written_shortens_open(fd, 0);
	assert_int_equal(page->kept_count, 2);
	assert_int_equal(scratch_size("kept/1"), 100);
	assert_int_equal(scratch_size("kept/2"), 100);
	assert_int_equal(write(fd, "new", 3), 3);
	assert_int_equal(scratch_size("b"), 3);
	close(fd);
}

/* What is kept without a copy is the same file. */
TEST_WITH(what_is_kept_stays_as_it_was_under_other_names, io_part_setup,
	  io_part_teardown)
{
	struct io_page *page = keeping_page();
	int fd;

	scratch_file("a", 100);
	scratch_file("b", 100);
	scratch_file("c", 100);
	scratch_file("d", 100);
	assert_int_equal(mkdir("folder", 0700), 0);
	keep(page);
	io_part_batch(1, "a");
	rename_file("a", "new");
	overwrite("new");
	written_replaces(AT_FDCWD, "b");
	assert_int_equal(rename("b", "folder"), -1);
	written_shortens("b", 1);
	assert_int_equal(truncate("b", 1), 0);
	fd = open("c", O_RDWR | O_CLOEXEC);
	remove_file("c");
	written_shortens_open(fd, 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	close(fd);
	rename_file("d", "newer");
	fd = io_part_open("newer", O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "row", 3), 3);
	io_part_close(fd);
	assert_int_equal(page->kept_count, 4);
	put_back();
	for (const char *name = "abcd"; *name != '\0'; name++)
		assert_int_equal(scratch_size((char[]){*name, '\0'}), 100);
	assert_int_equal(scratch_size("newer"), 103);
	assert_int_equal(page->lost_count, 0);
}

TEST_WITH(what_gets_its_name_back_is_there, io_part_setup, io_part_teardown)
{
	struct io_page *page = keeping_page();

	scratch_file("model.pt", 100);
	assert_int_equal(symlink("model.pt", "latest"), 0);
	keep(page);
	io_part_batch(1, "model.pt");
	rename_file("model.pt", "aside");
	rename_file("aside", "model.pt");
	rename_file("latest", "aside");
	rename_file("aside", "latest");
	assert_int_equal(page->kept_count, 2);
	put_back();
	assert_int_equal(scratch_size("model.pt"), 100);
	assert_int_equal(scratch_size("latest"), 100);
	assert_int_equal(access("kept/1", F_OK), -1);
	assert_int_equal(access("kept/2", F_OK), -1);
}

static uint64_t names_of(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_nlink;
}

/* Or the next one to overwrite the one would overwrite the other, too. */
TEST_WITH(what_keeps_its_new_name_is_another_file, io_part_setup, io_part_teardown)
{
	struct io_page *page = keeping_page();

	scratch_file("last.pt", 100);
	scratch_file("linked.pt", 50);
	assert_int_equal(link("linked.pt", "again.pt"), 0);
	keep(page);
	io_part_batch(1, "last.pt");
	rename_file("last.pt", "prev.pt");
	scratch_file("last.pt", 7);
	overwrite("linked.pt");
	put_back();
	assert_int_equal(scratch_size("last.pt"), 100);
	assert_int_equal(scratch_size("prev.pt"), 100);
	assert_int_equal(names_of("last.pt"), 1);
	assert_int_equal(scratch_size("linked.pt"), 50);
	assert_int_equal(names_of("linked.pt"), 2);
}

/* Whatever new files of the program may have. */
TEST_WITH(a_copy_has_permissions_and_times, io_part_setup, io_part_teardown)
{
	const struct timespec times[] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct stat status;

	scratch_file("a", 100);
	assert_int_equal(chmod("a", 0666), 0);
	assert_int_equal(utimensat(AT_FDCWD, "a", times, 0), 0);
	keep(keeping_page());
	written_shortens("a", 0);
	assert_int_equal(stat("kept/1", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0666);
	assert_int_equal(status.st_mtime, 1000);
}

/* What was the last one becomes the one before, which is overwritten next time. */
TEST_WITH(checkpoints_that_are_rotated_are_kept, io_part_setup, io_part_teardown)
{
	struct io_page *page = keeping_page();

	scratch_file("last.pt", 100);
	scratch_file("prev.pt", 50);
	keep(page);
	for (int i = 0; i < 3; i++) {
		rename_file("last.pt", "prev.pt");
		scratch_file("last.pt", 7);
	}
	assert_int_equal(page->kept_count, 2);
	put_back();
	assert_int_equal(scratch_size("last.pt"), 100);
	assert_int_equal(scratch_size("prev.pt"), 50);
}

TEST_WITH(the_first_batch_begins_it, io_part_setup, io_part_teardown)
{
	struct io_page *page = keeping_page();

	scratch_file("data", 10);
	scratch_file("log", 100);
	scratch_file("model.pt", 100);
	page->began = UINT64_MAX;
	overwrite("log");
	assert_int_equal(page->kept_count, 0);
	io_part_batch(1, "data");
	overwrite("model.pt");
	assert_int_equal(scratch_size("kept/1"), 100);
}

/* Made before the first batch, since when files are kept. */
TEST_WITH(what_the_program_made_before_its_first_batch_is_its_own, io_part_setup,
	  io_part_teardown)
{
	struct io_page *page = keeping_page();

	scratch_file("best.pt", 100);
	keep(page);
	scratch_file("last.pt", 50);
	scratch_file("log", 50);
	usleep(TICK_US);
	page->keeping = clock_real();
	rename_file("last.pt", "prev.pt");
	overwrite("prev.pt");
	overwrite("log");
	overwrite("best.pt");
	assert_int_equal(page->kept_count, 1);
}

/* As what it was called before is not known, beside the one that it replaced; the program's
 * own are not. */
TEST_WITH(folders_that_are_rotated_are_kept, io_part_setup, io_part_teardown)
{
	struct io_page *page = keeping_page();

	scratch_file("last/a", 100);
	scratch_file("prev/a", 50);
	keep(page);
	for (int i = 0; i < 3; i++) {
		remove_file("prev/a");
		assert_int_equal(rmdir("prev"), 0);
		assert_int_equal(rename("last", "prev"), 0);
		scratch_file("last/a", 7);
	}
	assert_int_equal(page->kept_count, 2);
	remove_file("prev/a");
	assert_int_equal(rmdir("prev"), 0);
	assert_int_equal(page->kept_count, 2);
	put_back();
	assert_int_equal(scratch_size("prev/a"), 50);
	assert_int_equal(scratch_size("prev/a.2"), 100);
}

TEST_WITH(links_are_kept, io_part_setup, io_part_teardown)
{
	struct io_page *page = keeping_page();
	char target[8] = "";

	scratch_file("good.pt", 100);
	assert_int_equal(symlink("good.pt", "latest"), 0);
	keep(page);
	for (int i = 0; i < 2; i++) {
		remove_file("latest");
		assert_int_equal(symlink("kept", "latest"), 0); /* a folder */
	}
	assert_int_equal(page->kept_count, 1);
	put_back();
	assert_int_equal(readlink("latest", target, sizeof(target)), 7);
	assert_memory_equal(target, "good.pt", 7);
}
