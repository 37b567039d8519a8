/* store.c - opens the folder, reads and writes objects. */
#include "loader/disk/store.h"
#include "loader/base/blob.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/io.h"
#include "loader/base/name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STORE_MAGIC "dsaDisk1"
#define STORE_PAGE  "dsa-cache"
#define STORE_NEW   "new"

enum { PAGE_BYTES = 4096, IDLE = 64 << 20, TRIES = 3, OPENINGS = 100 };

/* What only keeps looks at the age of what nobody reads any more: for it a use is worth noting
 * once a day. Who goes by the time of writing leaves that as it is, and notes it as the time of
 * access. */
#define NOTED_NS (INT64_C(86400) * 1000000000)

static int64_t store_ns(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

int64_t store_time(const struct store *store, const struct stat *status)
{
	int64_t modified = store_ns(&status->st_mtim);
	int64_t used = store_ns(&status->st_atim);

	return store->order == STORE_KEEPS && used > modified ? used : modified;
}

/* ---- the folder ---- */

static int store_open_folder(const char *path, struct error *err)
{
	char shown[NAME_SHOWN];
	struct stat status;
	int fd;

	name_escape(path, shown, sizeof(shown));
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_sys(err, errno, "cannot make the cache's folder '%s'",
				 shown);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0) {
		int code = errno;

		if (fd >= 0)
			close(fd);
		return error_sys(err, code, "cannot open the cache's folder '%s'",
				 shown);
	}
	if (status.st_uid == geteuid() && (status.st_mode & 022) == 0)
		return fd;
	close(fd);
	return error_set(err, EPERM,
			 "others may write into the cache's folder '%s': name one of "
			 "your own, or chmod 700 it",
			 shown);
}

static bool store_folder_empty(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	bool empty = dir != NULL;

	while (empty && (entry = readdir(dir)) != NULL)
		empty = strcmp(entry->d_name, ".") == 0 ||
			strcmp(entry->d_name, "..") == 0 ||
			strcmp(entry->d_name, STORE_PAGE) == 0;
	if (dir != NULL)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return empty;
}

/* A folder of ours; what else has its name, as a link, is removed. */
static int store_make_folder(const struct store *store, const char *name)
{
	struct stat status;

	if (fstatat(store->folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISDIR(status.st_mode))
			return 0;
		unlinkat(store->folder, name, 0);
	}
	return mkdirat(store->folder, name, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int store_make_folders(const struct store *store)
{
	int result = store_make_folder(store, STORE_NEW);

	for (int i = 0; i < STORED_FOLDERS && result == 0; i++) {
		char name[4];

		snprintf(name, sizeof(name), "%02x", (unsigned)i);
		result = store_make_folder(store, name);
	}
	return result;
}

/* What killed processes had begun. */
static void store_clear_new(const struct store *store)
{
	int fd = openat(store->folder, STORE_NEW,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir)) != NULL)
		unlinkat(fd, entry->d_name, 0); /* which spares folders */
	closedir(dir);
}

/* ---- the shared page ---- */

/* Whether the page was ever filled. -errno: the folder is not ours, or not ready for those
 * who are not first. */
static int store_page_known(const struct store *store, bool first)
{
	struct store_page page = {.bytes = 0};
	struct stat status;

	if (fstat(store->page_file, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -ENOTEMPTY;
	if (status.st_size == PAGE_BYTES &&
	    pread(store->page_file, &page, sizeof(page), 0) == (ssize_t)sizeof(page) &&
	    memcmp(page.magic, STORE_MAGIC, sizeof(page.magic)) == 0)
		return first || !page.counting ? 1 : -ENOTEMPTY;
	return first && page.magic[0] == '\0' && store_folder_empty(store->folder)
		       ? 0
		       : -ENOTEMPTY;
}

static int store_map(struct store *store)
{
	void *page;
	int result = io_allocate(store->page_file, PAGE_BYTES);

	if (result < 0)
		return result;
	page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		    store->page_file, 0);
	if (page == MAP_FAILED)
		return -errno;
	store->page = page;
	return 0;
}

/* Adds up what there is, and passes it on. */
struct store_sum {
	const struct store_scan *scan;
	uint64_t bytes, entries;
};

static int store_sum_each(void *context, const struct stored_key *key, int64_t time_ns)
{
	struct store_sum *sum = context;

	sum->bytes += stored_charge(key->size);
	sum->entries++;
	return sum->scan->each(sum->scan->context, key, time_ns);
}

/* Nobody else has the folder open. */
static int store_open_first(struct store *store, const struct store_scan *scan)
{
	struct store_sum sum = {.scan = scan};
	const struct store_scan summing = {.each = store_sum_each, .context = &sum};
	int known = store_page_known(store, true);
	int result = known < 0 ? known : store_map(store);

	if (result < 0)
		return result;
	if (known == 0)
		memset(store->page, 0, sizeof(*store->page));
	store->page->counting = true;
	if (known == 0) /* from now on the folder is known as ours */
		memcpy(store->page->magic, STORE_MAGIC, sizeof(store->page->magic));
	result = store_make_folders(store);
	if (result < 0)
		return result;
	store_clear_new(store);
	result = store_list(store, &summing);
	if (result < 0)
		return result;
	store->page->bytes = sum.bytes;
	store->page->entries = sum.entries;
	store->page->counting = false;
	return flock(store->page_file, LOCK_SH) < 0 ? -errno : 0;
}

static int store_open_more(struct store *store, const struct store_scan *scan)
{
	int result = flock(store->page_file, LOCK_SH) < 0 ? -errno : 0;

	if (result == 0)
		result = store_page_known(store, false);
	if (result >= 0)
		result = store_map(store);
	return result < 0 ? result : store_list(store, scan);
}

/* The one who was first may be killed before it is done: then another one is, of those who
 * waited for it, as soon as none of them has the lock. */
static int store_open_locked(struct store *store, const struct store_scan *scan)
{
	int result = -ENOTEMPTY;

	for (int i = 0; i < OPENINGS && result == -ENOTEMPTY; i++) {
		if (flock(store->page_file, LOCK_EX | LOCK_NB) == 0)
			return store_open_first(store, scan);
		result = errno == EWOULDBLOCK ? store_open_more(store, scan) : -errno;
		if (result == -ENOTEMPTY)
			flock(store->page_file, LOCK_UN);
	}
	return result;
}

static int store_open_page(struct store *store, const struct store_scan *scan)
{
	store->page_file =
		openat(store->folder, STORE_PAGE,
		       O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (store->page_file < 0)
		return errno == ELOOP || errno == EISDIR ? -ENOTEMPTY : -errno;
	return store_open_locked(store, scan);
}

int store_open(struct store *store, const char *folder, const struct store_scan *scan,
	       struct error *err)
{
	char shown[NAME_SHOWN];
	int result;

	store->page_file = -1;
	store->page = NULL;
	store->folder = store_open_folder(folder, err);
	if (store->folder < 0)
		return store->folder;
	store->direct = true;
	pthread_mutex_init(&store->lock, NULL);
	store->pool = blob_pool_new(STORED_BLOCK, IDLE);
	result = store->pool != NULL ? store_open_page(store, scan) : -ENOMEM;
	if (result >= 0)
		return 0;
	store_close(store);
	name_escape(folder, shown, sizeof(shown));
	if (result == -ENOTEMPTY)
		return error_set(err, ENOTEMPTY,
				 "'%s' is no cache of dsa, but there are files in it: "
				 "name an empty folder",
				 shown);
	return error_sys(err, -result, "cannot open the cache in '%s'", shown);
}

void store_close(struct store *store)
{
	if (store->page != NULL)
		munmap(store->page, PAGE_BYTES);
	if (store->page_file >= 0)
		close(store->page_file);
	close(store->folder);
	blob_pool_free(store->pool);
	free(store->victims.list);
	pthread_mutex_destroy(&store->lock);
}

/* ---- objects ---- */

bool store_remove(struct store *store, const struct stored_key *key)
{
	char path[STORED_NAME];

	stored_path(key, path);
	if (unlinkat(store->folder, path, 0) < 0)
		return false;
	store_release(store, stored_charge(key->size));
	store->page->entries--;
	return true;
}

void store_remove_stale(struct store *store, const struct stored_key *key)
{
	if (store_remove(store, key))
		store->stale++;
}

/* An object that is not what it should be. */
static int store_drop(struct store *store, const struct stored_key *key, int result)
{
	if (result == -ESTALE) {
		store_remove_stale(store, key);
	} else if (store_remove(store, key)) {
		store->dropped++;
		store->page->dropped++;
	}
	return result;
}

static int store_open_file(struct store *store, const struct stored_key *key)
{
	int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	char path[STORED_NAME];
	int fd;

	stored_path(key, path);
	if (store->direct) {
		fd = openat(store->folder, path, flags | O_DIRECT);
		if (fd >= 0 || errno != EINVAL)
			return fd < 0 ? -errno : fd;
		store->direct = false;
	}
	fd = openat(store->folder, path, flags);
	return fd < 0 ? -errno : fd;
}

/* All of a file, up to its end or the blob's: bytes, or -errno. */
static ssize_t store_fill(struct store *store, int fd, const struct blob *blob)
{
	size_t got = 0;

	while (got < blob->size) {
		ssize_t more;

		store->reads_begun++;
		more = pread(fd, blob->data + got, blob->size - got, (off_t)got);
		store->reads++;
		store->read_bytes += more > 0 ? (uint64_t)more : 0;
		if (more < 0 && errno == EINVAL && store->direct) {
			store->direct = false; /* it wants another alignment */
			fcntl(fd, F_SETFL, O_RDONLY);
			continue;
		}
		if (more < 0 && errno != EINTR)
			return -errno;
		if (more == 0)
			break;
		got += more > 0 ? (size_t)more : 0;
	}
	if (!store->direct)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return (ssize_t)got;
}

static void store_note_use(const struct store *store, int fd, const struct stat *status)
{
	int64_t now = (int64_t)clock_real();
	bool modified = store->order != STORE_OLDEST_WRITTEN;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}};

	times[modified] = (struct timespec){.tv_sec = now / 1000000000,
					    .tv_nsec = now % 1000000000};
	if (store->order == STORE_OLDEST_READ ||
	    now - store_ns(modified ? &status->st_mtim : &status->st_atim) > NOTED_NS)
		futimens(fd, times);
}

static int store_read_file(struct store *store, const struct stored_key *key, int fd,
			   struct blob **blob)
{
	struct blob *read;
	ssize_t got;
	int result;

	read = blob_pool_take(store->pool, stored_charge(key->size));
	if (read == NULL)
		return -ENOMEM;
	got = store_fill(store, fd, read);
	result = got < 0 ? (int)got : stored_check(key, read->data, (size_t)got);
	if (result < 0) {
		blob_put(read);
		return result;
	}
	blob_cut(read, STORED_HEAD, (size_t)got - STORED_HEAD);
	*blob = read;
	return 0;
}

/* Is it a file of ours of the right size? */
static bool store_fits(const struct stored_key *key, const struct stat *status)
{
	return S_ISREG(status->st_mode) && status->st_uid == geteuid() &&
	       status->st_size > STORED_HEAD &&
	       status->st_size <= (off_t)key->size + STORED_HEAD;
}

int store_read(struct store *store, const struct stored_key *key, bool use,
	       struct blob **blob)
{
	int fd = store_open_file(store, key), result;
	struct stat status;

	if (fd == -ELOOP)
		return store_drop(store, key, -EBADMSG);
	if (fd < 0)
		return fd;
	if (fstat(fd, &status) < 0)
		result = -errno;
	else if (!store_fits(key, &status))
		result = -EBADMSG;
	else
		result = store_read_file(store, key, fd, blob);
	if (result == 0 && use)
		store_note_use(store, fd, &status);
	close(fd);
	return result == -EBADMSG || result == -ESTALE ? store_drop(store, key, result)
						       : result;
}

/* What will not go away: the disk is full or broken. */
static bool store_lasts(int result)
{
	return result == -ENOSPC || result == -EDQUOT || result == -EFBIG ||
	       result == -EROFS || result == -EIO || result == -EACCES ||
	       result == -EPERM;
}

static int store_fill_new(int fd, const struct stored_key *key, const void *bytes,
			  uint32_t length)
{
	unsigned char head[STORED_HEAD];
	int64_t now = (int64_t)clock_real();
	const struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = now / 1000000000, .tv_nsec = now % 1000000000},
	};
	int result;

	stored_make_head(key, bytes, length, head);
	result = io_write(fd, head, sizeof(head));
	if (result == 0)
		result = io_write(fd, bytes, length);
	if (result == 0 && futimens(fd, times) < 0)
		result = -errno;
	if (close(fd) < 0 && result == 0)
		result = -errno;
	return result;
}

static int store_rename(const struct store *store, const char *from, const char *to)
{
	if (renameat2(store->folder, from, store->folder, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	/* Not on this file system. A file that is replaced after all is counted twice,
	 * until the folder is opened anew. */
	if (faccessat(store->folder, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(store->folder, from, store->folder, to) < 0 ? -errno : 0;
}

static int store_write_new(struct store *store, const struct stored_key *key,
			   const void *bytes, uint32_t length)
{
	char new[64], path[STORED_NAME];
	int fd, result;

	stored_path(key, path);
	snprintf(new, sizeof(new), STORE_NEW "/%d-%u-%016" PRIx64, (int)getpid(),
		 store->number++, clock_real());
	fd = openat(store->folder, new,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	result = store_fill_new(fd, key, bytes, length);
	if (result == 0)
		result = store_rename(store, new, path);
	if (result < 0)
		unlinkat(store->folder, new, 0);
	return result;
}

/* The disk has no more room than what it holds of ours: from now on that is the bound, for
 * an order that evicts. */
static bool store_gives_way(struct store *store, int result)
{
	uint64_t held = store->page->bytes;

	if (store->order == STORE_KEEPS || (result != -ENOSPC && result != -EDQUOT))
		return false;
	store->full = -result;
	if (held < store->bound)
		store->bound = held;
	return true;
}

int store_write(struct store *store, const struct stored_key *key, const void *bytes,
		uint32_t length)
{
	uint64_t charge = stored_charge(key->size);
	int result = -EDQUOT;

	if (store->stopped != 0)
		return -store->stopped;
	for (int tries = 0; tries < TRIES; tries++) {
		if (!store_reserve(store, charge))
			return -EDQUOT;
		result = store_write_new(store, key, bytes, length);
		if (result == 0)
			store->page->entries++;
		else
			store_release(store, charge);
		if (!store_lasts(result))
			return result;
		if (!store_gives_way(store, result)) {
			store->full = store->stopped = -result;
			return result;
		}
	}
	return result;
}
