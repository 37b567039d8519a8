/* written_files.c - which files are kept, and when. */
#include "profiler/io/kept/written_files.h"
#include "loader/base/clock.h"
#include "loader/base/random.h"
#include "profiler/io/base/attach.h"
#include "profiler/io/base/data_path.h"
#include "profiler/io/base/raw.h"
#include "profiler/io/kept/put_back.h"
#include "profiler/io/kept/written_appended.h"
#include "profiler/io/kept/written_copy.h"
#include "profiler/io/kept/written_names.h"

#include <errno.h>
#include <limits.h>

/* Times of files are those of the kernel's last tick. */
#define TICK_NS    10000000
#define AWAITED_NS 60000000000u /* at the most, for another thread that keeps a file */

/* It is the user's, and nobody has changed its length, its name or its permissions since
 * files are kept. */
static bool written_is_old(const struct io_page *page, const struct written_file *file)
{
	const struct timespec *changed = &file->status.st_ctim;

	return (uint64_t)changed->tv_sec * 1000000000 + (uint64_t)changed->tv_nsec +
			       TICK_NS <
		       page->keeping &&
	       !written_is_new(page, file);
}

/* The first time that this file is asked for, whatever it is called. */
static bool written_is_first(struct io_page *page, const struct written_file *file)
{
	uint64_t hash =
		random_mix(file->status.st_ino + random_mix(file->status.st_dev));
	bool first;

	return written_mark(page, hash / WRITTEN_STATES * WRITTEN_STATES, WRITTEN_OWN,
			    &first) != NULL &&
	       first;
}

/* True if it is to be kept, by the caller. What is old is the user's, also where the program
 * has given it another's name, by that of its folder. */
static bool written_claim(struct io_page *page, struct written_file *file)
{
	bool first, claimed, old = written_is_old(page, file);
	uint64_t hash = written_hash(file->path), there = hash | WRITTEN_THERE;
	_Atomic uint64_t *mark = written_mark(page, hash, WRITTEN_OWN, &first);

	if (mark == NULL)
		return old;
	if (first)
		written_name(page, file->path);
	claimed = first ? !written_is_new(page, file)
			: atomic_compare_exchange_strong(
				  mark, &there, there - WRITTEN_THERE + WRITTEN_OWN);
	file->again = old && written_is_first(page, file) && !claimed;
	return claimed || file->again;
}

/* So much is left of what is kept when that is put back, in place of what has its name. */
static uint64_t written_most(struct io_page *page, const struct written_file *file)
{
	const struct io_appended *appended = written_appended(page, file->path);
	char place[IO_PATH];

	if (appended == NULL || appended->told == 0 ||
	    appended->inode != file->status.st_ino)
		return UINT64_MAX;
	if (written_place(page, appended->told, place))
		syscall(SYS_unlinkat, AT_FDCWD, place, 0);
	return appended->size;
}

/* The line first, as the program may be killed in between. Without one the file is still
 * better there than overwritten, but nothing puts it back. */
static bool written_store(struct io_page *page, const struct written_file *file,
			  const char *place, written_way *way)
{
	const struct put_back back = {
		.kept = place,
		.path = file->path,
		.again = file->again,
		.names = file->status.st_nlink,
		.most = written_most(page, file),
	};
	bool named = put_back_add(page->kept_folder, &back);

	return ((way != NULL && way(file, place)) || written_copy(file, place)) &&
	       named;
}

static void written_keep(struct io_page *page, struct written_file *file,
			 written_way *way)
{
	char place[IO_PATH];

	if (written_claim(page, file) &&
	    (!written_place(page, atomic_fetch_add(&page->kept_count, 1) + 1, place) ||
	     !written_store(page, file, place, way)))
		written_lose(page, file->path);
}

/* One at a time: another thread may be at the same file, which is to stay as it is until it
 * is kept. One that was killed has no more use for its place; who would wait for itself, as in
 * a signal's handler, or for too long, copies. */
static void written_keep_alone(struct io_page *page, struct written_file *file,
			       written_way *way)
{
	uint32_t self = (uint32_t)syscall(SYS_gettid), holder = 0;
	uint64_t end = clock_now() + AWAITED_NS;

	while (!atomic_compare_exchange_strong(&page->keeps, &holder, self)) {
		if (holder == self || clock_now() >= end) {
			written_keep(page, file, NULL);
			return;
		}
		if (syscall(SYS_kill, holder, 0) < 0)
			continue;
		clock_sleep_until(clock_now() + TICK_NS / 10);
		holder = 0;
	}
	written_keep(page, file, way);
	atomic_store(&page->keeps, 0);
}

/* The page, if what is overwritten now is to be kept. */
static struct io_page *written_keeping(void)
{
	struct io_page *page = attach_first();

	return page != NULL && page->keeping > 0 && page->kept_folder[0] != '\0' ? page
										 : NULL;
}

static void written_lose_open(struct io_page *page, int fd)
{
	char path[PATH_MAX];

	if (data_path_of(fd, path, sizeof(path)) < 0)
		path[0] = '\0';
	written_lose(page, path);
}

/* Before an open file changes: what is kept of it as another name, beside so many of the
 * program's, becomes a copy. */
static void written_part_from(struct io_page *page, int fd, unsigned names)
{
	struct stat status;
	char place[IO_PATH];

	if (fstat(fd, &status) < 0 || status.st_nlink <= names)
		return;
	for (uint64_t i = 1; i <= page->kept_count; i++)
		if (written_place(page, i, place) && written_is_at(fd, place) &&
		    !written_copy_file(place, &status, place) &&
		    written_is_at(fd, place)) /* nor has another thread copied it */
			written_lose_open(page, fd);
}

/* What the program may not write it will not truncate. */
static bool written_may(const struct written_file *file)
{
	return syscall(SYS_faccessat, AT_FDCWD, file->path, W_OK) == 0;
}

void written_truncates(int at, const char *path)
{
	struct io_page *page = written_keeping();
	struct written_file file;
	int code = errno;

	if (page != NULL && written_look(&file, at, path, 0, 0)) {
		if (written_may(&file)) {
			written_keep_alone(page, &file, written_move);
			if (written_is_at(file.fd, file.path))
				written_part_from(page, file.fd, 1);
		}
		raw_close(file.fd);
	}
	errno = code;
}

/* Those who have it open, or want its beginning, go on with the same file: it is copied. */
void written_shortens(const char *path, off_t length)
{
	struct io_page *page = written_keeping();
	struct written_file file;
	int code = errno;

	if (page != NULL && written_look(&file, AT_FDCWD, path, 0, length)) {
		if (written_may(&file)) {
			written_keep_alone(page, &file, NULL);
			written_part_from(page, file.fd, 1);
		}
		raw_close(file.fd);
	}
	errno = code;
}

/* The program may have removed its name. */
void written_shortens_open(int fd, off_t length)
{
	struct io_page *page = written_keeping();
	struct written_file file = {.fd = fd};
	int code = errno;

	if (page != NULL) {
		bool named = written_look_open(&file, -1);

		if (named && file.status.st_size > length)
			written_keep_alone(page, &file, NULL);
		written_part_from(page, fd, named ? 1 : 0);
	}
	errno = code;
}

void written_begin(struct io_page *page)
{
	uint64_t none = 0;
	bool first;

	if (page->keeping > 0 ||
	    !atomic_compare_exchange_strong(&page->keeping, &none, clock_real()))
		return;
	for (uint64_t i = 0; i < page->appended_count && i < IO_APPENDED; i++) {
		struct io_appended *appended = &page->appended[i];

		if (appended->number != i + 1 || !written_is_open(appended))
			continue;
		written_mark(page, written_hash(appended->path), WRITTEN_THERE, &first);
		written_name(page, appended->path);
		written_tell(page, appended);
	}
	if (page->appended_count > IO_APPENDED)
		written_lose(page, ""); /* there was no room for more */
}

void written_opened(struct io_page *page, int fd)
{
	int code = errno;
	bool first;

	if (page->keeping > 0)
		written_part_from(page, fd, 1);
	first = written_note(page, fd, WRITTEN_THERE);
	written_opens_to_add(page, fd, first);
	errno = code;
}

/* ---- what is renamed and removed ---- */

/* A link is replaced itself, and not what it leads to. */
void written_replaces(int at, const char *path)
{
	struct io_page *page = written_keeping();
	struct written_file file;
	int code = errno;

	if (page != NULL && written_look(&file, at, path, O_NOFOLLOW, 0)) {
		written_keep_alone(page, &file, written_link);
		raw_close(file.fd);
	}
	errno = code;
}

void written_replaced(int at, const char *path)
{
	struct io_page *page = attach_first();
	int code = errno, fd = -1;

	if (page != NULL && page->keeping > 0)
		fd = (int)syscall(SYS_openat, at, path, O_PATH | O_CLOEXEC | O_NOFOLLOW,
				  0);
	if (fd >= 0) {
		written_note(page, fd, WRITTEN_OWN);
		raw_close(fd);
	}
	errno = code;
}
