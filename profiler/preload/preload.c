/* preload.c - finds library and hook, makes the page, sets the environment. */
#include "profiler/preload.h"
#include "loader/base/error.h"
#include "profiler/io_page.h"
#include "profiler/preload/kept_files.h"
#include "profiler/preload/prep_parts.h"
#include "profiler/profile.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What ends a path in LD_PRELOAD, or in PYTHONPATH. */
#define SEPARATORS ": \t\n;"

/* The folder that this program lies in, with so much room behind it. */
static int preload_own_folder(char folder[PATH_MAX], size_t room)
{
	ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
	char *slash;

	if (length <= 0)
		return -ENOENT;
	folder[length] = '\0';
	slash = strrchr(folder, '/');
	if (slash == NULL || (size_t)(slash - folder) + room >= PATH_MAX)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

/* In one place, below dsa's own folder. */
static int preload_find_in(struct preload *preload, const char *own, const char *place)
{
	snprintf(preload->library, PATH_MAX, "%.*s%s/libdsa-io.so", PATH_MAX - 64, own,
		 place);
	snprintf(preload->python, PATH_MAX, "%.*s%s/python", PATH_MAX - 64, own, place);
	return access(preload->library, R_OK) == 0 && access(preload->python, X_OK) == 0
		       ? 0
		       : -ENOENT;
}

int preload_find(struct preload *preload, struct error *err)
{
	char own[PATH_MAX];
	int result = preload_own_folder(own, 64);

	*preload = (struct preload){.page = NULL};
	if (result == 0)
		result = preload_find_in(preload, own, "");
	if (result < 0 && own[0] == '/')
		result = preload_find_in(preload, own, "/../lib/dsa");
	if (result < 0)
		return error_set(err, ENOENT,
				 "libdsa-io.so and its hook lie neither beside dsa nor "
				 "in ../lib/dsa");
	if (strpbrk(preload->library, SEPARATORS) != NULL)
		return error_set(
			err, EINVAL,
			"a path with a colon or a space can't be preloaded: %s",
			preload->library);
	return 0;
}

/* ---- the page ---- */

static void preload_name(char path[PATH_MAX], const char *folder)
{
	snprintf(path, PATH_MAX, "%.*s/io", PATH_MAX - 8, folder);
}

void preload_forget(const char *folder)
{
	char path[PATH_MAX];

	preload_name(path, folder);
	unlink(path);
}

int preload_open(struct preload *preload, const char *folder,
		 const struct preload_wishes *wishes, struct error *err)
{
	preload_forget(folder);
	preload_name(preload->path, folder);
	preload->page = io_page_create(preload->path, err);
	if (preload->page == NULL)
		return -EIO;
	preload->ends_data = wishes->ends_data;
	preload->page->storage_bandwidth = wishes->bandwidth;
	preload->page->storage_latency = wishes->latency;
	preload->page->prep_delay = wishes->prep_delay;
	return wishes->overwrites ? 0 : kept_files_open(preload->page, folder, err);
}

void preload_close(struct preload *preload)
{
	if (preload->page == NULL)
		return;
	if (preload->page->kept_folder[0] != '\0')
		rmdir(preload->page->kept_folder); /* where nothing was kept */
	io_page_unmap(preload->page);
	preload->page = NULL;
	*strrchr(preload->path, '/') = '\0';
	preload_forget(preload->path);
}

/* True of the session and the page, which lie in one folder. */
static bool preload_is_own(const struct preload *preload, const char *path)
{
	size_t folder = (size_t)(strrchr(preload->path, '/') - preload->path);

	return strncmp(path, preload->path, folder + 1) == 0;
}

/* Those that are still there. */
static int preload_written(const struct preload *preload, struct profile *profile)
{
	const struct io_page *page = preload->page;
	uint64_t count = page->written_count;
	size_t used = 0;

	if (count > IO_WRITTEN)
		count = IO_WRITTEN;
	if (count == 0)
		return 0;
	if (count > IO_WRITTEN)
		count = IO_WRITTEN;
	profile_free_texts(profile->files_written);
	profile->files_written = calloc(count + 1, sizeof(char *));
	if (profile->files_written == NULL)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		const struct io_written *file = &page->written[i];

		if (file->number != i + 1 || preload_is_own(preload, file->path) ||
		    access(file->path, F_OK) < 0)
			continue;
		if (profile_text(&profile->files_written[used++], "%s", file->path) < 0)
			return -ENOMEM;
	}
	return 0;
}

int preload_result(const struct preload *preload, struct profile *profile)
{
	const struct io_page *page = preload->page;
	double seen, all;
	int result;

	if (page == NULL)
		return 0;
	result = kept_files_close(page, profile);
	if (result == 0)
		result = prep_parts_add(page, profile);
	if (result < 0)
		return result;
	seen = (double)io_page_total(page, IO_seen_bytes);
	all = (double)io_page_total(page, IO_proc_bytes);
	if (all > 0)
		profile->coverage = fmin(1, seen / all);
	return preload_written(preload, profile);
}

/* ---- the environment ---- */

/* Puts `word` before or behind what the variable has. */
static int preload_join(const char *variable, const char *word, bool before)
{
	const char *old = getenv(variable);
	char *both;
	int result;

	if (old == NULL || *old == '\0')
		return setenv(variable, word, 1);
	if (asprintf(&both, "%s:%s", before ? word : old, before ? old : word) < 0)
		return -1;
	result = setenv(variable, both, 1);
	free(both);
	return result;
}

int preload_set_environment(const struct preload *preload)
{
	if (setenv("DSA_IO", preload->path, 1) < 0 ||
	    (preload->ends_data && setenv("DSA_END", "data", 1) < 0) ||
	    preload_join("LD_PRELOAD", preload->library, false) < 0)
		return -1;
	return preload_join("PYTHONPATH", preload->python, true);
}
