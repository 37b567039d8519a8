/* written_files.c - notes paths in the page, and keeps files. */
#include "profiler/io/written_files.h"
#include "loader/base/clock.h"
#include "loader/base/random.h"
#include "profiler/io/attach.h"
#include "profiler/io/coverage.h"
#include "profiler/io/data_path.h"
#include "profiler/io/put_back.h"
#include "profiler/io/raw.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/vfs.h>

/* A file that is there. */
struct written_file {
	int fd; /* opened as a path alone, or by the program */
	struct stat status;
	bool again;          /* another one of this path is kept already */
	char path[PATH_MAX]; /* absolute */
};

/* ---- which paths ---- */

/* The low bits of a mark; above them is the path's hash. */
enum written_state {
	WRITTEN_OWN = 1, /* what it holds the program wrote, or it is kept already */
	WRITTEN_THERE,   /* the program wrote into what was there, to be kept yet */
	WRITTEN_STATES = 4,
};

/* Times of files are those of the kernel's last tick. */
#define TICK_NS    10000000
#define AWAITED_NS 60000000000u /* at the most, for another thread that keeps a file */

enum {
	PROBES = 64,
	PIECE = 1 << 16,
	DESCRIPTORS = 256, /* of a process, that are looked at */
	PART_PATH = IO_PATH + RAW_DIGITS + 1
};

static uint64_t written_hash(const char *path)
{
	uint64_t hash = 0;

	for (; *path != '\0'; path++)
		hash = random_mix(hash + (unsigned char)*path);
	return hash / WRITTEN_STATES * WRITTEN_STATES;
}

/* Marks what has this hash, if it has no mark yet. Returns where that stands; NULL: there is
 * no room. */
static _Atomic uint64_t *written_mark(struct io_page *page, uint64_t hash,
				      enum written_state state, bool *first)
{
	for (unsigned i = 0; i < PROBES; i++) {
		_Atomic uint64_t *mark =
			&page->marks[(hash / WRITTEN_STATES + i) % IO_MARKS];
		uint64_t had = 0;

		*first = atomic_compare_exchange_strong(mark, &had, hash | state);
		if (*first || had / WRITTEN_STATES == hash / WRITTEN_STATES)
			return mark;
	}
	return NULL;
}

/* ---- names ---- */

static void written_name(struct io_page *page, const char *path)
{
	uint64_t number = atomic_fetch_add(&page->written_count, 1);
	size_t length = strlen(path);
	struct io_written *written = &page->written[number % IO_WRITTEN];

	if (number >= IO_WRITTEN || length >= IO_PATH) {
		atomic_fetch_add(&page->dropped_written, 1);
		return;
	}
	memcpy(written->path, path, length + 1);
	atomic_store(&written->number, number + 1);
}

/* `state` where it holds anything by now. One without a mark, as there is no room, counts
 * each time. True: it has its mark since now. */
static bool written_note(struct io_page *page, int fd, enum written_state state)
{
	char path[PATH_MAX];
	struct stat status;
	bool first, room;

	if (page->batch_count == 0 || fstat(fd, &status) < 0 ||
	    !S_ISREG(status.st_mode))
		return false;
	if (data_path_of(fd, path, sizeof(path)) < 0) {
		atomic_fetch_add(&page->dropped_written, 1);
		return false;
	}
	if (!data_path(path))
		return false;
	room = written_mark(page, written_hash(path),
			    status.st_size > 0 ? state : WRITTEN_OWN, &first) != NULL;
	if (!room || first)
		written_name(page, path);
	return room && first;
}

/* ---- what is kept ---- */

static bool written_is_kept(const struct stat *status)
{
	return S_ISREG(status->st_mode) || S_ISLNK(status->st_mode);
}

/* True of a file with a name, or a link, that has more than `length`. */
static bool written_look_open(struct written_file *file, off_t length)
{
	return fstat(file->fd, &file->status) == 0 && written_is_kept(&file->status) &&
	       file->status.st_size > length &&
	       data_path_of(file->fd, file->path, sizeof(file->path)) > 0 &&
	       data_path(file->path);
}

/* False: there is none that has more than `length`. */
static bool written_look(struct written_file *file, int at, const char *path, int flags,
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

/* Writes kept_folder/NUMBER; false: that is too long. */
static bool written_place(const struct io_page *page, uint64_t number,
			  char place[IO_PATH])
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

/* No part of it is ever put back. */
static bool written_copy_file(const char *path, const struct stat *status,
			      const char *place)
{
	char part[PART_PATH];

	written_part(place, part);
	if (written_copy_to(path, status, part) &&
	    syscall(SYS_renameat2, AT_FDCWD, part, AT_FDCWD, place, 0) == 0)
		return true;
	syscall(SYS_unlinkat, AT_FDCWD, part, 0);
	return false;
}

static bool written_copy(const struct written_file *file, const char *place)
{
	return S_ISLNK(file->status.st_mode)
		       ? written_copy_link(file, place)
		       : written_copy_file(file->path, &file->status, place);
}

static bool written_is_at(int fd, const char *path)
{
	struct stat status, there;

	return fstat(fd, &status) == 0 &&
	       syscall(SYS_newfstatat, AT_FDCWD, path, &there, AT_SYMLINK_NOFOLLOW) ==
		       0 &&
	       there.st_ino == status.st_ino && there.st_dev == status.st_dev;
}

/* An overlay of several file systems may have the second name for another file. */
static bool written_link(const struct written_file *file, const char *place)
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

/* An empty file takes its name, at once: whoever looks, or kills the program in between,
 * finds one of the two. */
static bool written_move(const struct written_file *file, const char *place)
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

typedef bool written_way(const struct written_file *file, const char *place);

/* Where a file of the user's is copied, and seems to be made anew, by a chmod(), too. */
static bool written_on_overlay(const struct written_file *file)
{
	struct statfs system;

	return syscall(SYS_fstatfs, file->fd, &system) == 0 &&
	       system.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* It was made since dsa began. False also where the file system does not say. */
static bool written_is_new(const struct io_page *page, const struct written_file *file)
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

/* One that the program opened to add to; NULL: it did not. */
static struct io_appended *written_appended(struct io_page *page, const char *path)
{
	for (uint64_t i = 0; i < page->appended_count && i < IO_APPENDED; i++)
		if (page->appended[i].number == i + 1 &&
		    strcmp(page->appended[i].path, path) == 0)
			return &page->appended[i];
	return NULL;
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

static void written_lose(struct io_page *page, const char *path)
{
	uint64_t number = atomic_fetch_add(&page->lost_count, 1);
	struct io_written *lost = &page->lost[number % IO_LOST];

	if (number >= IO_LOST)
		return;
	io_copy_text(lost->path, sizeof(lost->path), path);
	atomic_store(&lost->number, number + 1);
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
	struct io_page *page = attach_page();

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

/* ---- what is added to ---- */

/* A file of no bytes has its number until what was added is cut off. */
static void written_tell(struct io_page *page, struct io_appended *appended)
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

/* By any descriptor: a shell gives its own another number. */
static bool written_is_open(const struct io_appended *appended)
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

/* Before the first batch nothing is repeated yet: what is open by then counts. */
static void written_opens_to_add(struct io_page *page, int fd, bool first)
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
	struct io_page *page = attach_page();
	int code = errno, fd = -1;

	if (page != NULL && page->batch_count > 0)
		fd = (int)syscall(SYS_openat, at, path, O_PATH | O_CLOEXEC | O_NOFOLLOW,
				  0);
	if (fd >= 0) {
		written_note(page, fd, WRITTEN_OWN);
		raw_close(fd);
	}
	errno = code;
}
