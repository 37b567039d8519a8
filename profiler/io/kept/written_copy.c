/* written_copy.c - by system calls alone. */
#include "profiler/io/kept/written_copy.h"
#include "profiler/io/base/coverage.h"
#include "profiler/io/base/data_path.h"
#include "profiler/io/base/raw.h"

#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

enum { PIECE = 1 << 16, PART_PATH = IO_PATH + RAW_DIGITS + 1 };

static bool written_is_kept(const struct stat *status)
{
	return S_ISREG(status->st_mode) || S_ISLNK(status->st_mode);
}

bool written_look_open(struct written_file *file, off_t length)
{
	return fstat(file->fd, &file->status) == 0 && written_is_kept(&file->status) &&
	       file->status.st_size > length &&
	       data_path_of(file->fd, file->path, sizeof(file->path)) > 0 &&
	       data_path(file->path);
}

bool written_look(struct written_file *file, int at, const char *path, int flags,
		  off_t length)
{
	file->again = false;
	file->fd = (int)syscall(SYS_openat, at, path, O_PATH | O_CLOEXEC | flags, 0);
	if (file->fd < 0)
		return false;
	if (written_look_open(file, length))
		return true;
	raw_close(file->fd);
	return false;
}

/* Adds a sign and a number. */
static void written_add(char *path, char sign, uint64_t number)
{
	char digits[RAW_DIGITS + 1], *digit = digits + sizeof(digits) - 1;

	*digit = '\0';
	digit = raw_number(digit, number);
	*--digit = sign;
	memcpy(path + strlen(path), digit, strlen(digit) + 1);
}

bool written_place(const struct io_page *page, uint64_t number, char place[IO_PATH])
{
	size_t length = strlen(page->kept_folder);

	if (length + RAW_DIGITS >= IO_PATH)
		return false;
	memcpy(place, page->kept_folder, length + 1);
	written_add(place, '/', number);
	return true;
}

/* By the kernel alone, or piece by piece between file systems that can't. */
static long written_piece(int from, int to, char bytes[PIECE])
{
	long done = syscall(SYS_copy_file_range, from, NULL, to, NULL, 1 << 30, 0);

	if (done >= 0)
		return done;
	done = syscall(SYS_read, from, bytes, PIECE);
	for (long at = 0, now; at < done; at += now) {
		now = syscall(SYS_write, to, bytes + at, done - at);
		if (now <= 0)
			return -1;
	}
	return done;
}

/* An empty file with the owner and the permissions of another. */
static int written_make(const char *path, const struct stat *status)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path,
			      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0) {
		syscall(SYS_fchown, fd, status->st_uid, status->st_gid);
		syscall(SYS_fchmod, fd, status->st_mode & 07777);
	}
	return fd;
}

static bool written_copy_to(const char *path, const struct stat *status,
			    const char *copy)
{
	int from = raw_open(path, O_RDONLY);
	int to = written_make(copy, status);
	char *bytes = raw_memory(PIECE);
	struct timespec times[] = {status->st_atim, status->st_mtim};
	long done = from < 0 || to < 0 || bytes == NULL ? -1 : 1;
	uint64_t sum = 0;

	while (done > 0) {
		done = written_piece(from, to, bytes);
		sum += done > 0 ? (uint64_t)done : 0;
	}
	raw_unmap(bytes, PIECE);
	coverage_own(sum);
	raw_close(from);
	syscall(SYS_utimensat, to, NULL, times, 0);
	raw_close(to);
	return done == 0 && sum == (uint64_t)status->st_size;
}

/* Where a thread makes a file that gets another name once it is whole. */
static void written_part(const char place[IO_PATH], char part[PART_PATH])
{
	memcpy(part, place, strlen(place) + 1);
	written_add(part, '.', (uint64_t)syscall(SYS_gettid));
}

static bool written_copy_link(const struct written_file *file, const char *place)
{
	char target[PATH_MAX];
	long length = syscall(SYS_readlinkat, AT_FDCWD, file->path, target, PATH_MAX);

	if (length < 0 || length >= PATH_MAX)
		return false;
	target[length] = '\0';
	return syscall(SYS_symlinkat, target, AT_FDCWD, place) == 0;
}

bool written_copy_file(const char *path, const struct stat *status, const char *place)
{
	char part[PART_PATH];

	written_part(place, part);
	if (written_copy_to(path, status, part) &&
	    syscall(SYS_renameat2, AT_FDCWD, part, AT_FDCWD, place, 0) == 0)
		return true;
	syscall(SYS_unlinkat, AT_FDCWD, part, 0);
	return false;
}

bool written_copy(const struct written_file *file, const char *place)
{
	return S_ISLNK(file->status.st_mode)
		       ? written_copy_link(file, place)
		       : written_copy_file(file->path, &file->status, place);
}

bool written_is_at(int fd, const char *path)
{
	struct stat status, there;

	return fstat(fd, &status) == 0 &&
	       syscall(SYS_newfstatat, AT_FDCWD, path, &there, AT_SYMLINK_NOFOLLOW) ==
		       0 &&
	       there.st_ino == status.st_ino && there.st_dev == status.st_dev;
}

/* An overlay of several file systems may have the second name for another file. */
bool written_link(const struct written_file *file, const char *place)
{
	if (syscall(SYS_linkat, AT_FDCWD, file->path, AT_FDCWD, place, 0) != 0)
		return false;
	if (written_is_at(file->fd, place))
		return true;
	syscall(SYS_unlinkat, AT_FDCWD, place, 0);
	return false;
}

/* An empty file as the one that is there. */
static bool written_empty(const struct written_file *file, const char *path)
{
	int fd = written_make(path, &file->status);

	raw_close(fd);
	return fd >= 0;
}

/* At once: whoever looks, or kills the program in between, finds one of the two. */
bool written_move(const struct written_file *file, const char *place)
{
	char part[PART_PATH];

	written_part(place, part);
	if (!written_link(file, place))
		return false;
	if (written_empty(file, part) &&
	    syscall(SYS_renameat2, AT_FDCWD, part, AT_FDCWD, file->path, 0) == 0)
		return true;
	syscall(SYS_unlinkat, AT_FDCWD, part, 0);
	syscall(SYS_unlinkat, AT_FDCWD, place, 0);
	return false;
}

/* Where a file of the user's is copied, and seems to be made anew, by a chmod(), too. */
static bool written_on_overlay(const struct written_file *file)
{
	struct statfs system;

	return syscall(SYS_fstatfs, file->fd, &system) == 0 &&
	       system.f_type == OVERLAYFS_SUPER_MAGIC;
}

bool written_is_new(const struct io_page *page, const struct written_file *file)
{
	struct statx status;

	return !written_on_overlay(file) &&
	       syscall(SYS_statx, file->fd, "", AT_EMPTY_PATH, STATX_BTIME, &status) ==
		       0 &&
	       (status.stx_mask & STATX_BTIME) != 0 &&
	       (uint64_t)status.stx_btime.tv_sec * 1000000000 +
			       status.stx_btime.tv_nsec >=
		       page->began;
}
