/* preload.c - finds library and hook, makes the page, sets the environment. */
#include "profiler/preload.h"
#include "loader/base/error.h"
#include "profiler/io_page.h"
#include "profiler/preload/emulated_storage.h"
#include "profiler/preload/kept_files.h"
#include "profiler/preload/own_loader.h"
#include "profiler/preload/prep_parts.h"
#include "profiler/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const preload_choices[] = {"auto", "dsa", "torch", "none", NULL};

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

int preload_find_file(const char *name, char path[PATH_MAX])
{
	static const char *const places[] = {"", "/../lib/dsa"};
	char own[PATH_MAX];

	if (preload_own_folder(own, 64) < 0)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, PATH_MAX, "%.*s%s/%.40s", PATH_MAX - 64, own, places[i],
			 name);
		if (access(path, R_OK) == 0)
			return 0;
	}
	return -ENOENT;
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

/* In memory that goes with dsa, where the program finds that by /proc. */
static bool preload_in_memory(struct preload *preload)
{
	int found;

	preload->page = io_page_memory(&preload->memory);
	if (preload->page == NULL)
		return false;
	snprintf(preload->path, PATH_MAX, "/proc/%d/fd/%d", (int)getpid(),
		 preload->memory);
	found = open(preload->path, O_RDWR | O_CLOEXEC);
	if (found >= 0) {
		close(found);
		return true;
	}
	io_page_unmap(preload->page);
	close(preload->memory);
	preload->memory = 0;
	return false;
}

static int preload_make_page(struct preload *preload, struct error *err)
{
	preload_forget(preload->folder);
	if (preload_in_memory(preload))
		return 0;
	preload_name(preload->path, preload->folder);
	preload->page = io_page_create(preload->path, err);
	return preload->page != NULL ? 0 : -EIO;
}

static int preload_fill(struct preload *preload, const struct preload_wishes *wishes,
			struct error *err)
{
	struct io_page *page = preload->page;

	preload->asked = wishes->asked;
	preload->ends_data = wishes->ends_data;
	emulated_storage_read(wishes->asked, page);
	page->several = wishes->several;
	atomic_store(&page->throttled, wishes->observes);
	if (wishes->overwrites || wishes->several)
		return 0;
	return kept_files_open(page, preload->folder, err);
}

static int preload_make(struct preload *preload, const struct preload_wishes *wishes,
			struct error *err)
{
	int result = preload_find(preload, err);

	if (result == 0)
		result = preload_make_page(preload, err);
	if (result == 0)
		result = preload_fill(preload, wishes, err);
	if (result < 0)
		preload_close(preload);
	return result;
}

int preload_open(struct preload *preload, const char *folder,
		 const struct preload_wishes *wishes, struct error *err)
{
	*preload = (struct preload){.page = NULL};
	if (wishes->choice == PRELOAD_DSA || wishes->choice == PRELOAD_NONE)
		return 0;
	if (realpath(folder, preload->folder) == NULL)
		return error_sys(err, errno, "cannot use the folder %s", folder);
	if (wishes->choice == PRELOAD_TORCH && wishes->several)
		return error_set(err, ENOTSUP,
				 "several programs at once are measured with libdsa's "
				 "loader alone");
	if (wishes->choice == PRELOAD_TORCH)
		return preload_make(preload, wishes, err);
	preload_make(preload, wishes, NULL); /* or libdsa's is measured alone */
	return 0;
}

int preload_put_back(const struct preload *preload, struct error *err)
{
	if (preload->page == NULL || preload->page->kept_folder[0] == '\0')
		return 0;
	return kept_files_put_back(preload->page, err);
}

void preload_close(struct preload *preload)
{
	if (preload->page == NULL)
		return;
	if (preload->page->kept_folder[0] != '\0')
		rmdir(preload->page->kept_folder); /* where nothing was kept */
	io_page_unmap(preload->page);
	preload->page = NULL;
	if (preload->memory > 0)
		close(preload->memory);
	preload_forget(preload->folder);
}

/* True of session and page, and of what is kept. */
static bool preload_is_own(const struct preload *preload, const char *path)
{
	size_t length = strlen(preload->folder);

	return strncmp(path, preload->folder, length) == 0 && path[length] == '/';
}

/* Those that are still there. */
static int preload_written(const struct preload *preload, struct profile *profile)
{
	const struct io_page *page = preload->page;
	uint64_t count = page->written_count;
	size_t used = 0;

	profile->files_written_more = page->dropped_written;
	if (count > IO_WRITTEN)
		count = IO_WRITTEN;
	if (count == 0)
		return 0;
	profile_free_texts(profile->files_written);
	profile->files_written = calloc(count + 1, sizeof(char *));
	if (profile->files_written == NULL)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		const struct io_written *file = &page->written[i];
		char path[IO_PATH]; /* the program's processes write the page */

		snprintf(path, sizeof(path), "%.*s", IO_PATH - 1, file->path);
		if (file->number != i + 1 || preload_is_own(preload, path) ||
		    access(path, F_OK) < 0)
			continue;
		if (profile_text(&profile->files_written[used++], "%s", path) < 0)
			return -ENOMEM;
	}
	return 0;
}

int preload_result(const struct preload *preload, struct profile *profile)
{
	const struct io_page *page = preload->page;
	int result;

	if (page == NULL || page->several)
		return 0;
	result = kept_files_close(page, profile);
	if (result == 0)
		result = prep_parts_add(page, profile);
	if (result == 0)
		result = own_loader_add(page, profile);
	return result < 0 ? result : preload_written(preload, profile);
}

int preload_recover(const char *folder, struct profile *profile)
{
	return kept_files_recover(folder, profile);
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
	    setenv("DSA_ASKED", preload->asked != NULL ? preload->asked : "", 1) < 0 ||
	    (preload->ends_data && setenv("DSA_END", "data", 1) < 0) ||
	    preload_join("LD_PRELOAD", preload->library, false) < 0)
		return -1;
	return preload_join("PYTHONPATH", preload->python, true);
}
