#include "loader/base/error.h"
#include "reports/common/file.h"
#include "tests/lib/test.h"
#include "tests/lib/tree.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_SIZE = TREE_PATH + 16 };

static int put_text(FILE *out, const void *context, struct error *err)
{
	(void)err;
	fputs(context, out);
	return 0;
}

static int put_much(FILE *out, const void *context, struct error *err)
{
	(void)err;
	for (size_t i = 0; i < *(const size_t *)context; i++)
		putc('x', out);
	return 0;
}

static int put_half(FILE *out, const void *context, struct error *err)
{
	fputs("half", out);
	return error_set(err, EPROTO, "%s", (const char *)context);
}

static size_t files_in(const char *folder)
{
	DIR *dir = opendir(folder);
	size_t count = 0;

	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count - 2;
}

static void holds(const char *path, const char *text)
{
	char held[64] = "";
	FILE *in = fopen(path, "r");

	assert_non_null(in);
	assert_true(fread(held, 1, sizeof(held) - 1, in) > 0);
	fclose(in);
	assert_string_equal(held, text);
}

TEST(a_file_is_replaced_whole)
{
	char root[TREE_PATH], path[PATH_SIZE];
	struct stat about;

	tree_make(root);
	snprintf(path, sizeof(path), "%s/run.json", root);
	assert_int_equal(file_save(path, put_text, "first", NULL), 0);
	assert_int_equal(file_save(path, put_text, "second", NULL), 0);
	holds(path, "second");
	assert_int_equal(files_in(root), 1);
	assert_int_equal(stat(path, &about), 0);
	assert_true(about.st_mode & S_IRUSR);
	tree_remove(root);
}

TEST(a_failure_leaves_the_old_file_and_nothing_else)
{
	char root[TREE_PATH], path[PATH_SIZE], line[256];
	struct error err = {0};

	tree_make(root);
	snprintf(path, sizeof(path), "%s/run.json", root);
	assert_int_equal(file_save(path, put_text, "first", NULL), 0);
	assert_int_equal(file_save(path, put_half, "no more", &err), -EPROTO);
	snprintf(line, sizeof(line), "%s: no more", path);
	assert_string_equal(err.message, line);
	holds(path, "first");
	assert_int_equal(files_in(root), 1);
	tree_remove(root);
}

TEST(what_a_killed_writer_left_is_replaced)
{
	char root[TREE_PATH], path[PATH_SIZE], left[64];

	tree_make(root);
	snprintf(path, sizeof(path), "%s/run.json", root);
	snprintf(left, sizeof(left), "/.run.json.%ld.tmp", (long)getpid());
	tree_put(root, left, "half of a longer file");
	assert_int_equal(file_save(path, put_text, "whole", NULL), 0);
	holds(path, "whole");
	assert_int_equal(files_in(root), 1);
	tree_remove(root);
}

TEST(a_device_is_written_to_and_not_replaced)
{
	struct error err = {0};
	struct stat about;

	assert_int_equal(file_save("/dev/null", put_text, "text", NULL), 0);
	assert_int_equal(file_save("/dev/full", put_text, "text", &err), -ENOSPC);
	assert_string_equal(err.message,
			    "/dev/full: can't write: No space left on device");
	assert_int_equal(stat("/dev/full", &about), 0);
	assert_true(S_ISCHR(about.st_mode));
}

TEST(a_folder_that_is_not_there_is_named)
{
	struct error err = {0};

	assert_int_equal(file_save("/nowhere/run.json", put_text, "", &err), -ENOENT);
	assert_string_equal(err.message, "/nowhere/run.json: can't write: No such file "
					 "or directory");
	assert_int_equal(file_save("/tmp", put_text, "", &err), -EISDIR);
}

/* In a child: limits stay with it. Exit status 0: nothing half-written is left. */
static int save_too_much(const char *root, const char *path, int code)
{
	size_t much = 1 << 20;
	int result = file_save(path, put_much, &much, NULL);

	if (result != -code)
		return 1;
	if (files_in(root) != 1)
		return 2;
	holds(path, "first");
	return 0;
}

static int status_of(pid_t child)
{
	int status = -1;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST(a_file_too_large_is_taken_back)
{
	char root[TREE_PATH], path[PATH_SIZE];
	pid_t child;

	tree_make(root);
	snprintf(path, sizeof(path), "%s/run.json", root);
	assert_int_equal(file_save(path, put_text, "first", NULL), 0);
	child = fork();
	if (child == 0) {
		struct rlimit limit = {65536, 65536};

		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		_exit(save_too_much(root, path, EFBIG));
	}
	assert_int_equal(status_of(child), 0);
	tree_remove(root);
}

enum { NO_MOUNT = 77 };

TEST(a_full_disk_is_taken_back)
{
	char root[TREE_PATH], path[PATH_SIZE];
	pid_t child;
	int status;

	tree_make(root);
	snprintf(path, sizeof(path), "%s/run.json", root);
	child = fork();
	if (child == 0) {
		if (unshare(CLONE_NEWNS) < 0 ||
		    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("none", root, "tmpfs", 0, "size=64k") < 0)
			_exit(NO_MOUNT);
		if (file_save(path, put_text, "first", NULL) < 0)
			_exit(3);
		_exit(save_too_much(root, path, ENOSPC));
	}
	status = status_of(child);
	tree_remove(root);
	if (status == NO_MOUNT)
		skip();
	assert_int_equal(status, 0);
}

TEST(what_is_in_the_way_is_found_before)
{
	char folder[TREE_PATH], path[PATH_SIZE];
	struct error err = {0};

	tree_make(folder);
	snprintf(path, sizeof(path), "%s/a", folder);
	assert_int_equal(file_check(path, &err), 0);
	assert_int_equal(files_in(folder), 0);
	assert_int_equal(file_check("/dev/null", &err), 0);
	assert_int_equal(file_check(folder, &err), -EISDIR);
	snprintf(path, sizeof(path), "%s/b/a", folder);
	assert_int_equal(file_check(path, &err), -ENOENT);
	assert_non_null(strstr(err.message, path));
	tree_remove(folder);
}
