/* written_appended.c - logs: notes them in the page, and who has them open. */
#include "profiler/io/kept/written_appended.h"
#include "profiler/io/base/data_path.h"
#include "profiler/io/base/raw.h"
#include "profiler/io/kept/put_back.h"
#include "profiler/io/kept/written_copy.h"
#include "profiler/io/kept/written_names.h"

#include <limits.h>
#include <string.h>

enum { DESCRIPTORS = 256 }; /* of a process, that are looked at */

struct io_appended *written_appended(struct io_page *page, const char *path)
{
	for (uint64_t i = 0; i < page->appended_count && i < IO_APPENDED; i++)
		if (page->appended[i].number == i + 1 &&
		    strcmp(page->appended[i].path, path) == 0)
			return &page->appended[i];
	return NULL;
}

void written_tell(struct io_page *page, struct io_appended *appended)
{
	char place[IO_PATH];
	const struct put_back back = {
		.kept = place,
		.path = appended->path,
		.most = appended->size,
		.inode = appended->inode,
	};
	int fd = -1;

	if (appended->told > 0)
		return;
	appended->told = atomic_fetch_add(&page->kept_count, 1) + 1;
	if (written_place(page, appended->told, place))
		fd = (int)syscall(SYS_openat, AT_FDCWD, place,
				  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || !put_back_cut(page->kept_folder, &back))
		written_lose(page, appended->path);
	raw_close(fd);
}

/* NULL: there is no room, or the path is too long. */
static struct io_appended *written_append(struct io_page *page,
					  const struct written_file *file)
{
	struct io_appended *appended = written_appended(page, file->path);
	uint64_t number;

	if (appended != NULL || strlen(file->path) >= IO_PATH)
		return appended;
	number = atomic_fetch_add(&page->appended_count, 1);
	if (number >= IO_APPENDED)
		return NULL;
	appended = &page->appended[number];
	appended->size = (uint64_t)file->status.st_size;
	appended->inode = file->status.st_ino;
	io_copy_text(appended->path, IO_PATH, file->path);
	atomic_store(&appended->number, number + 1);
	return appended;
}

static bool written_adds(struct io_page *page, struct written_file *file)
{
	return (syscall(SYS_fcntl, file->fd, F_GETFL) & O_APPEND) != 0 &&
	       page->kept_folder[0] != '\0' && written_look_open(file, 0) &&
	       !written_is_new(page, file);
}

bool written_is_open(const struct io_appended *appended)
{
	char path[PATH_MAX];

	for (int fd = 0; appended->pid != 0 && fd < DESCRIPTORS; fd++)
		if (data_path_there(appended->pid, fd, path, sizeof(path)) > 0 &&
		    strcmp(path, appended->path) == 0)
			return true;
	return false;
}

static void written_note_opener(struct io_appended *appended)
{
	if (appended != NULL && !written_is_open(appended))
		appended->pid = (uint32_t)getpid();
}

void written_opens_to_add(struct io_page *page, int fd, bool first)
{
	struct written_file file = {.fd = fd};
	struct io_appended *appended;

	if ((page->keeping > 0 && !first) || !written_adds(page, &file))
		return;
	appended = written_append(page, &file);
	if (page->keeping == 0)
		written_note_opener(appended);
	else if (appended == NULL)
		written_lose(page, file.path);
	else
		written_tell(page, appended);
}
