/* kept_files.c - makes the folder of kept files, and the script in it. */
#include "profiler/preload/kept_files.h"
#include "loader/base/error.h"
#include "loader/base/text/shell_word.h"
#include "profiler/io_page.h"
#include "profiler/profile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEPT_FOLDERS = 1000 };

/* What runs before kept, and nobody put back, stays where it is. */
int kept_files_open(struct io_page *page, const char *folder, struct error *err)
{
	char path[PATH_MAX];
	int result = -EEXIST;

	for (int i = 1; result == -EEXIST && i < KEPT_FOLDERS; i++) {
		if (snprintf(path, sizeof(path), i == 1 ? "%s/kept" : "%s/kept.%d",
			     folder, i) >= IO_PATH)
			return error_sys(err, ENAMETOOLONG, "cannot keep files in %s",
					 folder);
		rmdir(path); /* one in which nothing lies */
		result = mkdir(path, 0700) == 0 ? 0 : -errno;
	}
	if (result < 0)
		return error_sys(err, -result, "cannot make the folder %s", path);
	snprintf(page->kept_folder, sizeof(page->kept_folder), "%.*s", IO_PATH - 1,
		 path);
	return 0;
}

static uint64_t kept_files_count(const struct io_page *page, uint32_t kept)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < page->written_count && i < IO_WRITTEN; i++)
		count += page->written[i].number == i + 1 &&
			 page->written[i].kept == kept;
	return count;
}

/* A line for each. */
static void kept_files_write(FILE *to, const struct io_page *page)
{
	char kept[PATH_MAX];

	fputs("#!/bin/sh\n# Puts back what the program overwrote while dsa measured "
	      "it.\n",
	      to);
	for (uint64_t i = 0; i < page->written_count && i < IO_WRITTEN; i++) {
		if (page->written[i].number != i + 1 ||
		    page->written[i].kept != IO_KEPT)
			continue;
		snprintf(kept, sizeof(kept), "%s/%llu", page->kept_folder,
			 (unsigned long long)i + 1);
		fputs("mv -- ", to);
		shell_word(to, kept);
		putc(' ', to);
		shell_word(to, page->written[i].path);
		putc('\n', to);
	}
}

static int kept_files_script(const struct io_page *page, struct profile *profile)
{
	char path[PATH_MAX];
	FILE *to;
	int result;

	snprintf(path, sizeof(path), "%s/put-back", page->kept_folder);
	to = fopen(path, "wxe");
	if (to == NULL)
		return -errno;
	kept_files_write(to, page);
	result = ferror(to) != 0 ? -EIO : 0;
	if (fclose(to) != 0)
		result = -errno;
	return result < 0 ? result : profile_text(&profile->put_back, "%s", path);
}

int kept_files_close(const struct io_page *page, struct profile *profile)
{
	if (page->kept_folder[0] == '\0')
		return 0;
	profile->files_kept = kept_files_count(page, IO_KEPT);
	profile->files_lost = kept_files_count(page, IO_LOST);
	if (profile->files_kept > 0)
		return kept_files_script(page, profile);
	rmdir(page->kept_folder);
	return 0;
}
