/* kept_files.c - makes the folder of kept files, and tells what lies in it. */
#include "profiler/preload/kept_files.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/number.h"
#include "profiler/io_page.h"
#include "profiler/profile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT_FOLDERS = 1000 };

/* "kept", "kept.2" ...; false: that is too long. */
static bool kept_files_name(char path[PATH_MAX], const char *folder, int number)
{
	return snprintf(path, PATH_MAX, number == 1 ? "%s/kept" : "%s/kept.%d", folder,
			number) < IO_PATH;
}

/* What runs before kept, and nobody put back, stays where it is. */
int kept_files_open(struct io_page *page, const char *folder, struct error *err)
{
	char path[PATH_MAX];
	int result = -EEXIST;

	for (int i = 1; result == -EEXIST && i < KEPT_FOLDERS; i++) {
		if (!kept_files_name(path, folder, i))
			return error_sys(err, ENAMETOOLONG, "cannot keep files in %s",
					 folder);
		rmdir(path); /* one in which nothing lies */
		result = mkdir(path, 0700) == 0 ? 0 : -errno;
	}
	if (result < 0)
		return error_sys(err, -result, "cannot make the folder %s", path);
	snprintf(page->kept_folder, sizeof(page->kept_folder), "%.*s", IO_PATH - 1,
		 path);
	page->began = clock_real();
	return 0;
}

/* The script, which the program wrote; false: it could not. */
static bool kept_files_script(char path[PATH_MAX], const char *folder)
{
	snprintf(path, PATH_MAX, "%.*s/put-back", PATH_MAX - 16, folder);
	return access(path, R_OK) == 0;
}

static int kept_files_name_script(const char *folder, struct profile *profile)
{
	char path[PATH_MAX];

	return kept_files_script(path, folder)
		       ? profile_text(&profile->put_back, "%s", path)
		       : 0;
}

/* Those that have names; the program's processes write the page. */
static int kept_files_name_lost(const struct io_page *page, struct profile *profile)
{
	size_t used = 0;

	profile_free_texts(profile->lost_files);
	profile->lost_files = calloc(IO_LOST + 1, sizeof(char *));
	if (profile->lost_files == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < IO_LOST; i++)
		if (page->lost[i].number == i + 1 &&
		    profile_text(&profile->lost_files[used++], "%.*s", IO_PATH - 1,
				 page->lost[i].path) < 0)
			return -ENOMEM;
	return 0;
}

/* What lies in the folder, called by a number; 0: nothing, or there is none. */
static uint64_t kept_files_there(const char *folder)
{
	DIR *kept = opendir(folder);
	const struct dirent *entry;
	uint64_t count = 0, number;

	while (kept != NULL && (entry = readdir(kept)) != NULL)
		count += number_whole(entry->d_name, UINT64_MAX, &number);
	if (kept != NULL)
		closedir(kept);
	return count;
}

/* One that was added to and then overwritten has two numbers, and one file there. */
static uint64_t kept_files_count(const struct io_page *page)
{
	uint64_t lost = page->lost_count, all = page->kept_count;
	uint64_t most = all > lost ? all - lost : 0;
	uint64_t there = kept_files_there(page->kept_folder);

	return there < most ? there : most;
}

int kept_files_close(const struct io_page *page, struct profile *profile)
{
	uint64_t lost = page->lost_count;

	if (page->kept_folder[0] == '\0')
		return 0;
	profile->files_kept = kept_files_count(page);
	profile->files_lost = lost;
	if (lost > 0 && kept_files_name_lost(page, profile) < 0)
		return -ENOMEM;
	if (profile->files_kept > 0)
		return kept_files_name_script(page->kept_folder, profile);
	rmdir(page->kept_folder);
	return 0;
}

/* Those of the last run lie in the last folder. */
int kept_files_recover(const char *folder, struct profile *profile)
{
	char path[PATH_MAX], last[PATH_MAX] = "";
	uint64_t count;

	for (int i = 1; i < KEPT_FOLDERS && kept_files_name(path, folder, i) &&
			access(path, F_OK) == 0;
	     i++)
		memcpy(last, path, sizeof(last));
	count = kept_files_there(last);
	if (count == 0)
		return 0;
	profile->files_kept = count;
	return kept_files_name_script(last, profile);
}

/* It asks nobody anything. */
static void kept_files_run(char *script)
{
	char shell[] = "sh", *words[] = {shell, script, NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return;
	if (posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
					     O_RDONLY, 0) == 0 &&
	    posix_spawnp(&pid, shell, &actions, NULL, words, environ) == 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	posix_spawn_file_actions_destroy(&actions);
}

int kept_files_put_back(const struct io_page *page, struct error *err)
{
	const char *folder = page->kept_folder;
	uint64_t lost = page->lost_count, left;
	char path[PATH_MAX];

	if (kept_files_script(path, folder))
		kept_files_run(path);
	left = kept_files_there(folder);
	if (left > 0)
		return error_set(err, EIO,
				 "%" PRIu64 " of the files that the program overwrote "
				 "can't be put back: see %s/put-back",
				 left, folder);
	unlink(path);
	rmdir(folder);
	return lost == 0 ? 0
			 : error_set(err, EIO,
				     "%" PRIu64 " of the files that the program "
				     "overwrote could not be kept",
				     lost);
}
