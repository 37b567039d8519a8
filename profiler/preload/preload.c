/* preload.c - finds library and hook, makes the page, sets the environment. */
#include "profiler/preload.h"
#include "loader/base/error.h"
#include "loader/base/host/own_folder.h"
#include "profiler/io_page.h"
#include "profiler/preload/emulated_storage.h"
#include "profiler/preload/kept_files.h"
#include "profiler/preload/own_loader.h"
#include "profiler/preload/prep_parts.h"
#include "profiler/preload/rank_loads.h"
#include "profiler/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const preload_choices[] = {"auto", "dsa", "torch", "none", NULL};

/* What ends a path in LD_PRELOAD, or in PYTHONPATH. */
#define SEPARATORS ": \t\n;"

/* Links to what lies at such a path. */
#define LINK_LIBRARY "io.libdsa-io.so"
#define LINK_PYTHON  "io.python"

int preload_find(struct preload *preload, struct error *err)
{
	char *library = preload->library, *python = preload->python;

	if (own_folder_find("libdsa-io.so", library) &&
	    snprintf(python, PATH_MAX, "%.*spython",
		     (int)(strrchr(library, '/') + 1 - library), library) < PATH_MAX &&
	    access(python, X_OK) == 0)
		return 0;
	return error_set(err, ENOENT,
			 "libdsa-io.so and its hook lie neither beside dsa nor "
			 "in ../lib/dsa");
}

/* ---- links ---- */

static void preload_name(char path[PATH_MAX], const char *folder, const char *name)
{
	snprintf(path, PATH_MAX, "%.*s/%s", PATH_MAX - 32, folder, name);
}

/* In the run's folder, or in one of their own where that has such a name itself. */
static int preload_make_links(struct preload *preload, struct error *err)
{
	char own[] = "/tmp/dsa-XXXXXX", path[PATH_MAX];
	bool named = strpbrk(preload->folder, SEPARATORS) == NULL;
	const char *folder = named ? preload->folder : mkdtemp(own);

	if (folder == NULL)
		return error_sys(err, errno, "cannot make the folder %s", own);
	memcpy(preload->links, folder, strlen(folder) + 1);
	preload_name(path, folder, LINK_LIBRARY);
	if (symlink(preload->library, path) == 0) {
		memcpy(preload->library, path, sizeof(path));
		preload_name(path, folder, LINK_PYTHON);
		if (symlink(preload->python, path) == 0) {
			memcpy(preload->python, path, sizeof(path));
			return 0;
		}
	}
	return error_sys(err, errno,
			 "what lies at a path with a colon or a space is preloaded by "
			 "a link: cannot make %s",
			 path);
}

static void preload_remove_links(const char *folder)
{
	static const char *const names[] = {LINK_LIBRARY, LINK_PYTHON};
	char path[PATH_MAX];
	struct stat found;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		preload_name(path, folder, names[i]);
		if (lstat(path, &found) == 0 && S_ISLNK(found.st_mode))
			unlink(path);
	}
}

/* ---- the page ---- */

void preload_forget(const char *folder)
{
	char path[PATH_MAX];

	preload_remove_links(folder);
	preload_name(path, folder, "io");
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
	char file[PATH_MAX];

	preload_name(file, preload->folder, "io");
	if (preload_in_memory(preload)) {
		preload->spare = io_page_create(file, IO_SPARSE, NULL);
		return 0;
	}
	memcpy(preload->path, file, sizeof(file));
	preload->page = io_page_create(file, IO_WHOLE, err);
	return preload->page != NULL ? 0 : -EIO;
}

/* The one that the program's processes write: both, if some of them find the memory, but
 * those that make batches are of one kind. */
const struct io_page *preload_page(const struct preload *preload)
{
	const struct io_page *spare = preload->spare;

	return spare != NULL && spare->batch_count > preload->page->batch_count
		       ? preload->spare
		       : preload->page;
}

bool preload_was_hooked(const struct preload *preload)
{
	const struct io_page *spare = preload->spare;

	return preload->page->hooked != 0 || (spare != NULL && spare->hooked != 0);
}

static void preload_fill_page(struct io_page *page, const struct preload_wishes *wishes)
{
	emulated_storage_read(wishes->asked, page);
	page->several = wishes->several;
	atomic_store(&page->throttled, wishes->observes);
}

static int preload_fill(struct preload *preload, const struct preload_wishes *wishes,
			struct error *err)
{
	struct io_page *page = preload->page, *spare = preload->spare;
	int result = 0;

	preload->asked = wishes->asked;
	preload->ends_data = wishes->ends_data;
	preload->own_epochs = wishes->own_epochs;
	preload_fill_page(page, wishes);
	if (!wishes->overwrites && !wishes->several)
		result = kept_files_open(page, preload->folder, err);
	if (spare != NULL) {
		preload_fill_page(spare, wishes);
		spare->began = page->began;
		memcpy(spare->kept_folder, page->kept_folder,
		       sizeof(page->kept_folder));
	}
	return result;
}

static int preload_make(struct preload *preload, const struct preload_wishes *wishes,
			struct error *err)
{
	int result = preload_find(preload, err);

	preload_forget(preload->folder);
	if (result == 0 && (strpbrk(preload->library, SEPARATORS) != NULL ||
			    strpbrk(preload->python, SEPARATORS) != NULL))
		result = preload_make_links(preload, err);
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
	struct error why = {0};

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
	if (preload_make(preload, wishes, &why) < 0) /* libdsa's is measured alone */
		memcpy(preload->why, why.message, sizeof(preload->why));
	return 0;
}

int preload_put_back(const struct preload *preload, struct error *err)
{
	if (preload->page == NULL || preload->page->kept_folder[0] == '\0')
		return 0;
	return kept_files_put_back(preload_page(preload), err);
}

void preload_close(struct preload *preload)
{
	if (preload->links[0] != '\0') {
		preload_remove_links(preload->links);
		if (strcmp(preload->links, preload->folder) != 0)
			rmdir(preload->links);
		preload->links[0] = '\0';
	}
	if (preload->page == NULL)
		return;
	if (preload->page->kept_folder[0] != '\0')
		rmdir(preload->page->kept_folder); /* where nothing was kept */
	io_page_unmap(preload->page);
	io_page_unmap(preload->spare);
	preload->page = preload->spare = NULL;
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
	const struct io_page *page = preload_page(preload);
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
	const struct io_page *page;
	int result;

	if (preload->page == NULL || preload->page->several)
		return 0;
	page = preload_page(preload);
	result = kept_files_close(page, profile);
	if (result == 0)
		result = prep_parts_add(page, profile);
	if (result == 0)
		result = own_loader_add(page, profile);
	if (result == 0)
		result = rank_loads_add(page, profile);
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
	char file[PATH_MAX] = "";

	if (preload->spare != NULL)
		preload_name(file, preload->folder, "io");
	if (setenv("DSA_IO", preload->path, 1) < 0 ||
	    setenv("DSA_IO_FILE", file, 1) < 0 ||
	    setenv("DSA_ASKED", preload->asked != NULL ? preload->asked : "", 1) < 0 ||
	    (preload->ends_data && setenv("DSA_END", "data", 1) < 0) ||
	    (preload->own_epochs && setenv("DSA_EPOCHS", "own", 1) < 0) ||
	    preload_join("LD_PRELOAD", preload->library, false) < 0)
		return -1;
	return preload_join("PYTHONPATH", preload->python, true);
}
