/* written_files.c - notes paths in the page, and keeps files. */
#include "profiler/io/written_files.h"
#include "profiler/io/attach.h"
#include "profiler/io/coverage.h"
#include "profiler/io/data_path.h"
#include "profiler/io/put_back.h"
#include "profiler/io/raw.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* A file that is there. */
struct written_file {
	int fd; /* opened as a path alone */
	struct stat status;
	char path[IO_PATH]; /* absolute */
};

/* ---- the page ---- */

static struct io_written *written_find(struct io_page *page, const char *path)
{
	uint64_t count = page->written_count;

	for (uint64_t i = 0; i < count && i < IO_WRITTEN; i++)
		if (page->written[i].number > 0 &&
		    strcmp(page->written[i].path, path) == 0)
			return &page->written[i];
	return NULL;
}

/* NULL: there is no room. */
static struct io_written *written_add(struct io_page *page, const char *path,
				      uint32_t kept)
{
	uint64_t number = atomic_fetch_add(&page->written_count, 1);
	struct io_written *written = &page->written[number % IO_WRITTEN];

	if (number >= IO_WRITTEN) {
		atomic_fetch_add(&page->dropped_written, 1);
		return NULL;
	}
	memcpy(written->path, path, strlen(path) + 1);
	atomic_store(&written->kept, kept);
	atomic_store(&written->number, number + 1);
	return written;
}

/* `kept` where it holds anything by now. */
static void written_note(struct io_page *page, int fd, uint32_t kept)
{
	char path[IO_PATH];
	struct stat status;

	if (page->batch_count == 0 || fstat(fd, &status) < 0 ||
	    !S_ISREG(status.st_mode))
		return;
	if (data_path_of(fd, path, sizeof(path)) < 0)
		atomic_fetch_add(&page->dropped_written, 1);
	else if (data_path(path) && written_find(page, path) == NULL)
		written_add(page, path, status.st_size > 0 ? kept : IO_NEW);
}

void written_opened(struct io_page *page, int fd)
{
	int code = errno;

	written_note(page, fd, IO_THERE);
	errno = code;
}

/* ---- what is kept ---- */

/* False: there is none that holds anything, or it has no place in the page. */
static bool written_look(struct written_file *file, int at, const char *path, int flags)
{
	file->fd = (int)syscall(SYS_openat, at, path, O_PATH | O_CLOEXEC | flags, 0);
	if (file->fd < 0)
		return false;
	if (fstat(file->fd, &file->status) == 0 && S_ISREG(file->status.st_mode) &&
	    file->status.st_size > 0 &&
	    data_path_of(file->fd, file->path, sizeof(file->path)) > 0 &&
	    data_path(file->path))
		return true;
	raw_close(file->fd);
	return false;
}

/* Writes kept_folder/NUMBER; false: that is too long. */
static bool written_place(const struct io_page *page, uint64_t number,
			  char place[IO_PATH])
{
	size_t length = strlen(page->kept_folder);
	char digits[24], *digit = digits + sizeof(digits) - 1;

	*digit = '\0';
	do {
		*--digit = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	*--digit = '/';
	if (length + strlen(digit) >= IO_PATH)
		return false;
	memcpy(place, page->kept_folder, length);
	memcpy(place + length, digit, strlen(digit) + 1);
	return true;
}

/* By the kernel alone, or piece by piece between file systems that can't. */
static long written_piece(int from, int to)
{
	long done = syscall(SYS_copy_file_range, from, NULL, to, NULL, 1 << 30, 0);
	char bytes[1 << 16];

	if (done >= 0)
		return done;
	done = syscall(SYS_read, from, bytes, sizeof(bytes));
	for (long at = 0, now; at < done; at += now) {
		now = syscall(SYS_write, to, bytes + at, done - at);
		if (now < 0)
			return -1;
	}
	return done;
}

static bool written_copy_to(const struct written_file *file, const char *path)
{
	int from = raw_open(file->path, O_RDONLY);
	int to = (int)syscall(SYS_openat, AT_FDCWD, path,
			      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			      file->status.st_mode & 07777);
	long done = from < 0 || to < 0 ? -1 : 1;
	uint64_t sum = 0;

	while (done > 0) {
		done = written_piece(from, to);
		sum += done > 0 ? (uint64_t)done : 0;
	}
	coverage_own(sum);
	raw_close(from);
	raw_close(to);
	return done == 0 && sum == (uint64_t)file->status.st_size;
}

/* It has its name once it is whole: no part of it is ever put back. */
static bool written_copy(const struct written_file *file, const char *place)
{
	static const char end[] = ".part";
	char part[IO_PATH + sizeof(end)];
	size_t length = strlen(place);

	memcpy(part, place, length);
	memcpy(part + length, end, sizeof(end));
	if (written_copy_to(file, part) &&
	    syscall(SYS_renameat2, AT_FDCWD, part, AT_FDCWD, place, 0) == 0)
		return true;
	syscall(SYS_unlinkat, AT_FDCWD, part, 0);
	return false;
}

/* An empty file as the one that was there. */
static bool written_stand_in(const struct written_file *file)
{
	const struct stat *status = &file->status;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, file->path,
			      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return false;
	syscall(SYS_fchown, fd, status->st_uid, status->st_gid);
	syscall(SYS_fchmod, fd, status->st_mode & 07777);
	raw_close(fd);
	return true;
}

static bool written_move(const struct written_file *file, const char *place)
{
	if (syscall(SYS_renameat2, AT_FDCWD, file->path, AT_FDCWD, place, 0) < 0)
		return false;
	if (written_stand_in(file))
		return true;
	syscall(SYS_renameat2, AT_FDCWD, place, AT_FDCWD, file->path, 0);
	return false;
}

static bool written_link(const struct written_file *file, const char *place)
{
	return syscall(SYS_linkat, AT_FDCWD, file->path, AT_FDCWD, place, 0) == 0;
}

typedef bool written_way(const struct written_file *file, const char *place);

/* NULL: nothing is to be kept of it, or there is no room. */
static struct io_written *written_claim(struct io_page *page, const char *path)
{
	struct io_written *written = written_find(page, path);
	uint32_t there = IO_THERE;

	if (written == NULL)
		return written_add(page, path, IO_KEPT);
	return atomic_compare_exchange_strong(&written->kept, &there, IO_KEPT) ? written
									       : NULL;
}

/* The line first, as the program may be killed in between. Without one the file is still
 * better there than overwritten, but nothing puts it back. */
static bool written_store(const struct io_page *page, const struct written_file *file,
			  const char *place, written_way *way)
{
	bool named = put_back_add(page->kept_folder, place, file->path);

	return ((way != NULL && way(file, place)) || written_copy(file, place)) &&
	       named;
}

static void written_keep(struct io_page *page, const struct written_file *file,
			 written_way *way)
{
	struct io_written *written = written_claim(page, file->path);
	char place[IO_PATH];

	if (written != NULL && (!written_place(page, written->number, place) ||
				!written_store(page, file, place, way)))
		atomic_store(&written->kept, IO_LOST);
}

/* One at a time; who can't wait, or would wait for one that was killed, copies. */
static void written_keep_alone(struct io_page *page, const struct written_file *file,
			       written_way *way)
{
	uint32_t free = 0;

	if (!atomic_compare_exchange_strong(&page->keeps, &free, 1)) {
		written_keep(page, file, NULL);
		return;
	}
	written_keep(page, file, way);
	atomic_store(&page->keeps, 0);
}

/* The page, if what is overwritten now is to be kept. */
static struct io_page *written_keeping(void)
{
	struct io_page *page = attach_page();

	return page != NULL && page->keeping && page->kept_folder[0] != '\0' ? page
									     : NULL;
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

	if (page != NULL && written_look(&file, at, path, 0)) {
		if (written_may(&file))
			written_keep_alone(page, &file, written_move);
		raw_close(file.fd);
	}
	errno = code;
}

/* A link is replaced itself, and not what it leads to. */
void written_replaces(int at, const char *path)
{
	struct io_page *page = written_keeping();
	struct written_file file;
	int code = errno;

	if (page != NULL && written_look(&file, at, path, O_NOFOLLOW)) {
		written_keep_alone(page, &file, written_link);
		raw_close(file.fd);
	}
	errno = code;
}

void written_replaced(int at, const char *path)
{
	struct io_page *page = attach_page();
	int code = errno, fd = -1;

	if (page != NULL && page->batch_count > 0)
		fd = (int)syscall(SYS_openat, at, path, O_PATH | O_CLOEXEC | O_NOFOLLOW,
				  0);
	if (fd >= 0) {
		written_note(page, fd, IO_NEW);
		raw_close(fd);
	}
	errno = code;
}
