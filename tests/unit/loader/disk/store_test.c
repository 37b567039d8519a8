#include "loader/base/blob.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/random.h"
#include "loader/disk/store.h"
#include "tests/lib/nomem.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 5000, CHARGE = 8192, OBJECTS = 12 };

/* The calls that change files, of which the nth, counted before and after each, is the
 * last one. 0: none is. */
static unsigned kill_at, calls;
static int kill_signal = SIGKILL;

static void call_counted(void)
{
	if (kill_at > 0 && ++calls == kill_at)
		raise(kill_signal);
}

#define COUNTED(type, call)                                                            \
	type result;                                                                   \
                                                                                       \
	call_counted();                                                                \
	result = (type)(call);                                                         \
	call_counted();                                                                \
	return result

/* A disk that has room for so many bytes of the store's; 0: for all. */
static uint64_t disk_room;
static const struct store *disk_of;

ssize_t write(int fd, const void *bytes, size_t size)
{
	if (disk_room > 0 && disk_of->page->bytes > disk_room) {
		errno = ENOSPC;
		return -1;
	}
	COUNTED(ssize_t, syscall(SYS_write, fd, bytes, size));
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to,
	      unsigned flags)
{
	COUNTED(int, syscall(SYS_renameat2, from_dir, from, to_dir, to, flags));
}

int unlinkat(int dir, const char *path, int flags)
{
	COUNTED(int, syscall(SYS_unlinkat, dir, path, flags));
}

int mkdirat(int dir, const char *path, mode_t mode)
{
	COUNTED(int, syscall(SYS_mkdirat, dir, path, mode));
}

int futimens(int fd, const struct timespec times[2])
{
	COUNTED(int, syscall(SYS_utimensat, fd, NULL, times, 0));
}

/* A process that is killed by whoever is about to wait for its lock. 0: none is. */
static pid_t locker;

int flock(int fd, int operation)
{
	if (operation == LOCK_SH && locker > 0) {
		kill(locker, SIGKILL);
		assert_int_equal(waitpid(locker, NULL, 0), locker);
		locker = 0;
	}
	return (int)syscall(SYS_flock, fd, operation);
}

/* What a folder has, as a scan tells. */
struct found {
	unsigned count;
	uint64_t bytes;
};

static int found_each(void *context, const struct stored_key *key, int64_t time_ns)
{
	struct found *found = context;

	(void)time_ns;
	found->count++;
	found->bytes += stored_charge(key->size);
	return 0;
}

static struct found opened(struct store *store, uint64_t bound)
{
	struct found found = {0};
	const struct store_scan scan = {.each = found_each, .context = &found};
	struct error err = {0};

	if (store_open(store, "cache", &scan, &err) < 0)
		fail_msg("%s", err.message);
	store->bound = bound;
	return found;
}

static struct found opened_as(struct store *store, enum store_order order,
			      uint64_t bound)
{
	*store = (struct store){.order = order};
	return opened(store, bound);
}

/* The nth object; its names lie in different folders. */
static struct stored_key object(unsigned n)
{
	struct random random = {n + 1};
	uint64_t high = random_next(&random), low = random_next(&random);

	return (struct stored_key){.id = {high, low}, .version = 7, .size = SIZE};
}

static void object_bytes(unsigned n, unsigned char bytes[SIZE])
{
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (unsigned char)(n * 31 + i * 7);
}

static int put(struct store *store, unsigned n)
{
	const struct stored_key key = object(n);
	unsigned char bytes[SIZE];

	object_bytes(n, bytes);
	return store_write(store, &key, bytes, SIZE);
}

/* What reading it gives; fails if that is another object. */
static int get(struct store *store, unsigned n)
{
	const struct stored_key key = object(n);
	unsigned char bytes[SIZE];
	struct blob *blob = NULL;
	int result = store_read(store, &key, true, &blob);

	if (result < 0) {
		assert_null(blob);
		return result;
	}
	object_bytes(n, bytes);
	assert_int_equal(blob->size, SIZE);
	assert_memory_equal(blob->data, bytes, SIZE);
	blob_put(blob);
	return 0;
}

static const char *path_of(unsigned n)
{
	static char path[STORED_NAME + 8];
	const struct stored_key key = object(n);

	strcpy(path, "cache/");
	stored_path(&key, path + 6);
	return path;
}

TEST_WITH(what_is_written_is_read_in_the_next_run, scratch_setup, scratch_teardown)
{
	struct store store;
	struct stat status;

	assert_int_equal(opened_as(&store, STORE_KEEPS, 1 << 20).count, 0);
	for (unsigned i = 0; i < OBJECTS; i++)
		assert_int_equal(put(&store, i), 0);
	assert_int_equal(put(&store, 3), -EEXIST);
	assert_int_equal(store.page->bytes, OBJECTS * CHARGE);
	store_close(&store);
	assert_int_equal(opened_as(&store, STORE_KEEPS, 1 << 20).count, OBJECTS);
	for (unsigned i = 0; i < OBJECTS; i++)
		assert_int_equal(get(&store, i), 0);
	assert_int_equal(get(&store, OBJECTS), -ENOENT);
	assert_int_equal(store.page->entries, OBJECTS);
	assert_int_equal(stat("cache", &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);
	assert_int_equal(stat(path_of(0), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	store_close(&store);
}

TEST_WITH(another_version_is_removed, scratch_setup, scratch_teardown)
{
	struct stored_key key = object(1);
	struct blob *blob = NULL;
	struct store store;

	opened_as(&store, STORE_KEEPS, 1 << 20);
	assert_int_equal(put(&store, 1), 0);
	key.version++;
	assert_int_equal(store_read(&store, &key, true, &blob), -ESTALE);
	assert_int_equal(store.stale, 1);
	assert_int_equal(store.dropped, 0);
	assert_int_equal(store.page->bytes, 0);
	assert_int_equal(get(&store, 1), -ENOENT);
	assert_int_equal(put(&store, 1), 0);
	store_close(&store);
}

static void change_byte(const char *path, off_t at)
{
	int fd = open(path, O_RDWR);
	unsigned char byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

/* Each way in which a file may be spoilt. */
static void spoil(unsigned how, const char *path)
{
	switch (how) {
	case 0:
		assert_int_equal(truncate(path, 3000), 0);
		break;
	case 1:
		assert_int_equal(truncate(path, 0), 0);
		break;
	case 2:
		assert_int_equal(truncate(path, STORED_HEAD + SIZE + 1), 0);
		break;
	case 3: /* another file's bytes */
		assert_int_equal(unlink(path), 0);
		scratch_file(path, STORED_HEAD + SIZE);
		break;
	case 4:
		assert_int_equal(unlink(path), 0);
		assert_int_equal(symlink("../../outside", path), 0);
		break;
	case 5: /* another object's */
		assert_int_equal(unlink(path), 0);
		{
			char other[64];

			snprintf(other, sizeof(other), "%s", path_of(100));
			assert_int_equal(link(other, path), 0);
		}
		break;
	default:
		change_byte(path, how - 6 < STORED_HEAD ? how - 6 : 3000);
	}
}

TEST_WITH(what_is_torn_or_foreign_is_dropped_and_counted, scratch_setup,
	  scratch_teardown)
{
	enum { WAYS = 6 + STORED_HEAD + 1 };
	struct store store;

	scratch_file("outside", 10);
	opened_as(&store, STORE_KEEPS, 1 << 20);
	assert_int_equal(put(&store, 100), 0);
	for (unsigned how = 0; how < WAYS; how++) {
		char path[64];

		assert_int_equal(put(&store, how), 0);
		snprintf(path, sizeof(path), "%s", path_of(how));
		spoil(how, path);
		assert_int_equal(get(&store, how), -EBADMSG);
		assert_int_equal(store.dropped, how + 1);
		assert_int_equal(get(&store, how), -ENOENT);
		assert_int_equal(store.page->bytes, CHARGE);
	}
	assert_int_equal(get(&store, 100), 0);
	assert_int_equal(scratch_size("outside"), 10);
	store_close(&store);
}

TEST_WITH(opening_drops_what_is_not_ours_and_follows_no_link, scratch_setup,
	  scratch_teardown)
{
	struct store store;
	struct found found;

	opened_as(&store, STORE_KEEPS, 1 << 20);
	assert_int_equal(put(&store, 1), 0);
	store_close(&store);
	scratch_file("outside/mine", 10);
	scratch_file("cache/00/hello", 10);
	scratch_file("cache/01/0011223344556677889900112233445500000010", 10);
	scratch_file("cache/02/ff112233445566778899001122334455-00000010", 10);
	scratch_file("cache/03/03112233445566778899001122334455-00000000", 10);
	scratch_file("cache/new/1-1-1", 10);
	assert_int_equal(symlink("../../outside/mine", "cache/04/link"), 0);
	assert_int_equal(rmdir("cache/05"), 0);
	assert_int_equal(symlink("../outside", "cache/05"), 0);
	found = opened_as(&store, STORE_KEEPS, 1 << 20);
	assert_int_equal(found.count, 1);
	assert_int_equal(store.page->bytes, CHARGE);
	assert_int_equal(store.dropped, 5);
	assert_int_equal(scratch_size("outside/mine"), 10);
	assert_int_equal(access("cache/new/1-1-1", F_OK), -1);
	assert_int_equal(get(&store, 1), 0);
	store_close(&store);
}

static void refused(const char *folder, int code, const char *words)
{
	struct found found = {0};
	const struct store_scan scan = {.each = found_each, .context = &found};
	struct store store = {.order = STORE_KEEPS};
	struct error err = {0};

	assert_int_equal(store_open(&store, folder, &scan, &err), -code);
	if (strstr(err.message, words) == NULL)
		fail_msg("%s", err.message);
}

TEST_WITH(folders_that_are_not_ours_are_refused, scratch_setup, scratch_teardown)
{
	scratch_file("full/ab/picture", 10);
	scratch_file("file", 10);
	scratch_file("zeros/dsa-cache", 4096);
	refused("full", ENOTEMPTY, "name an empty folder");
	assert_int_equal(scratch_size("full/ab/picture"), 10);
	refused("file", ENOTDIR, "file");
	refused("no/where", ENOENT, "no/where");
	refused("zeros", ENOTEMPTY, "no cache of dsa");
	assert_int_equal(mkdir("open", 0700), 0);
	assert_int_equal(chmod("open", 0777), 0);
	refused("open", EPERM, "chmod 700");
	assert_int_equal(chmod("open", 0770), 0); /* of its group, too */
	refused("open", EPERM, "chmod 700");
}

TEST_WITH(what_keeps_refuses_beyond_its_bound, scratch_setup, scratch_teardown)
{
	struct store store;

	opened_as(&store, STORE_KEEPS, 3 * CHARGE + CHARGE - 1);
	for (unsigned i = 0; i < OBJECTS; i++)
		assert_int_equal(put(&store, i), i < 3 ? 0 : -EDQUOT);
	for (unsigned i = 0; i < OBJECTS; i++)
		assert_int_equal(get(&store, i), i < 3 ? 0 : -ENOENT);
	assert_int_equal(store.stopped, 0);
	store_close(&store);
}

/* Neither written nor read for so long. */
static void age(unsigned n, int hours)
{
	const struct timespec then = {.tv_sec = (int64_t)clock_real() / 1000000000 -
						hours * 3600};
	const struct timespec times[2] = {then, then};

	assert_int_equal(utimensat(AT_FDCWD, path_of(n), times, 0), 0);
}

TEST_WITH(what_keeps_gives_up_what_nobody_read_for_a_week, scratch_setup,
	  scratch_teardown)
{
	struct store store;

	opened_as(&store, STORE_KEEPS, 3 * CHARGE);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(put(&store, i), 0);
	age(0, 8 * 24 - 1); /* it may have been read a day after that was noted */
	age(1, 8 * 24 + 1);
	age(2, 8 * 24 + 1);
	assert_int_equal(get(&store, 2), 0); /* which is noted */
	assert_int_equal(put(&store, 3), 0);
	assert_int_equal(put(&store, 4), -EDQUOT);
	assert_int_equal(get(&store, 0), 0);
	assert_int_equal(get(&store, 1), -ENOENT);
	assert_int_equal(get(&store, 2), 0);
	assert_int_equal(store.page->evicted, 1);
	store_close(&store);
}

TEST_WITH(a_read_by_what_evicts_is_one, scratch_setup, scratch_teardown)
{
	struct stat before, after;
	struct store store;

	opened_as(&store, STORE_OLDEST_WRITTEN, 3 * CHARGE);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(put(&store, i), 0);
		age(i, 9 * 24);
	}
	assert_int_equal(stat(path_of(0), &before), 0);
	assert_int_equal(get(&store, 0), 0);
	assert_int_equal(stat(path_of(0), &after), 0);
	assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim));
	store_close(&store);
	opened_as(&store, STORE_OLDEST_READ, 3 * CHARGE);
	assert_int_equal(get(&store, 1), 0);
	store_close(&store);
	opened_as(&store, STORE_KEEPS, 3 * CHARGE);
	assert_int_equal(put(&store, 3), 0);
	assert_int_equal(put(&store, 4), -EDQUOT);
	assert_int_equal(get(&store, 0), 0);
	assert_int_equal(get(&store, 1), 0);
	assert_int_equal(get(&store, 2), -ENOENT);
	store_close(&store);
}

/* The order of eviction, by a replay over several sweeps: a list of what is there, the
 * oldest first, beside the store. */
static void evicts_in_order(enum store_order order)
{
	enum { ROOM = 70, NUMBERS = 100, STEPS = 500 };
	unsigned there[ROOM] = {0}, count = 0;
	struct random random = {order};
	struct store store;

	opened_as(&store, order, ROOM * CHARGE);
	for (int step = 0; step < STEPS; step++) {
		unsigned n = (unsigned)random_below(&random, NUMBERS), at = 0;

		while (at < count && there[at] != n)
			at++;
		assert_int_equal(get(&store, n), at < count ? 0 : -ENOENT);
		if (at == count) {
			assert_int_equal(put(&store, n), 0);
			at = 0;
			if (count < ROOM)
				there[count++] = n;
			else
				there[0] = n;
			if (count < ROOM || there[0] != n)
				at = count - 1;
		} else if (order == STORE_OLDEST_WRITTEN) {
			continue;
		}
		memmove(&there[at], &there[at + 1],
			(count - at - 1) * sizeof(there[0]));
		there[count - 1] = n;
	}
	assert_int_equal(store.page->bytes, ROOM * CHARGE);
	assert_int_equal(store.page->entries, ROOM);
	store_close(&store);
}

TEST_WITH(lru_evicts_what_was_read_longest_ago, scratch_setup, scratch_teardown)
{
	evicts_in_order(STORE_OLDEST_READ);
}

TEST_WITH(fifo_evicts_what_was_written_longest_ago, scratch_setup, scratch_teardown)
{
	evicts_in_order(STORE_OLDEST_WRITTEN);
}

TEST_WITH(a_full_disk_ends_writing_and_not_reading, scratch_setup, scratch_teardown)
{
	struct rlimit before, less;
	struct store store;

	opened_as(&store, STORE_OLDEST_READ, 1 << 20);
	assert_int_equal(put(&store, 1), 0);
	getrlimit(RLIMIT_FSIZE, &before);
	less = (struct rlimit){.rlim_cur = 4096, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
	assert_int_equal(put(&store, 2), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(store.stopped, EFBIG);
	assert_int_equal(put(&store, 3), -EFBIG);
	assert_int_equal(get(&store, 1), 0);
	assert_int_equal(get(&store, 2), -ENOENT);
	assert_int_equal(store.page->bytes, CHARGE);
	store_close(&store);
	assert_int_equal(opened_as(&store, STORE_KEEPS, 1 << 20).count, 1);
	store_close(&store);
}

TEST_WITH(what_evicts_goes_on_within_what_a_full_disk_has, scratch_setup,
	  scratch_teardown)
{
	struct store store;

	opened_as(&store, STORE_OLDEST_WRITTEN, 1 << 20);
	disk_of = &store;
	disk_room = 3 * CHARGE;
	for (unsigned i = 0; i < OBJECTS; i++)
		assert_int_equal(put(&store, i), 0);
	assert_int_equal(store.full, ENOSPC);
	assert_int_equal(store.stopped, 0);
	for (unsigned i = 0; i < OBJECTS; i++)
		assert_int_equal(get(&store, i), i + 3 < OBJECTS ? -ENOENT : 0);
	disk_room = CHARGE; /* others take more of it */
	assert_int_equal(put(&store, 0), 0);
	assert_int_equal(store.page->bytes, CHARGE);
	assert_int_equal(get(&store, 0), 0);
	disk_room = 1; /* and all */
	assert_true(put(&store, 1) < 0);
	assert_true(put(&store, 2) < 0);
	disk_room = 0;
	assert_int_equal(store.page->bytes, 0);
	assert_int_equal(store.stopped, 0);
	store_close(&store);
	opened_as(&store, STORE_KEEPS, 1 << 20);
	disk_room = CHARGE;
	assert_int_equal(put(&store, 1), 0);
	assert_int_equal(put(&store, 2), -ENOSPC);
	assert_int_equal(put(&store, 3), -ENOSPC);
	assert_int_equal(store.stopped, ENOSPC);
	assert_int_equal(get(&store, 1), 0);
	disk_room = 0;
	store_close(&store);
}

/* A child that fills the cache, from its opening on, with what must be evicted for it. */
static void fill_until_killed(unsigned nth)
{
	struct store store = {.order = STORE_OLDEST_WRITTEN};
	struct found found = {0};
	const struct store_scan scan = {.each = found_each, .context = &found};

	calls = 0;
	kill_at = nth;
	if (store_open(&store, "cache", &scan, NULL) < 0)
		_exit(1);
	store.bound = 4 * CHARGE;
	for (unsigned i = 0; i < 8; i++) {
		int result = put(&store, i); /* it may be there, from before the kill */

		if ((result < 0 && result != -EEXIST) || get(&store, i) < 0)
			_exit(1);
	}
	store_close(&store);
	_exit(0);
}

/* Kills it before or after a call that changes files. True if it got so far. */
static bool killed_at(unsigned nth)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		fill_until_killed(nth);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status))
		assert_int_equal(WEXITSTATUS(status), 0);
	return !WIFEXITED(status);
}

/* Whatever lies there then is whole, within the bound, and counted rightly. */
static void check_after_kill(void)
{
	struct store store;
	struct found found = opened_as(&store, STORE_OLDEST_WRITTEN, 4 * CHARGE);
	unsigned there = 0;

	for (unsigned i = 0; i < 8; i++) {
		int result = get(&store, i);

		assert_true(result == 0 || result == -ENOENT);
		there += result == 0;
	}
	assert_int_equal(store.dropped, 0);
	assert_int_equal(there, found.count);
	assert_true(found.bytes <= 4 * CHARGE);
	assert_int_equal(store.page->bytes, found.bytes);
	assert_int_equal(store.page->entries, found.count);
	assert_int_equal(rmdir("cache/new"), 0); /* nothing is left in it */
	store_close(&store);
}

/* SOAK: at every one. */
TEST_WITH(a_kill_at_any_call_leaves_a_sound_cache, scratch_setup, scratch_teardown)
{
	unsigned step = getenv("SOAK") != NULL ? 1 : 13;

	for (unsigned nth = 1; killed_at(nth); nth += step)
		check_after_kill();
	check_after_kill();
}

/* It has made some of the folders. */
TEST_WITH(whoever_waits_for_one_that_is_killed_opens_the_folder, scratch_setup,
	  scratch_teardown)
{
	struct store store;
	pid_t child = fork();
	int status;

	if (child == 0) {
		kill_signal = SIGSTOP;
		fill_until_killed(40);
	}
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
	locker = child;
	assert_int_equal(opened_as(&store, STORE_KEEPS, 1 << 20).count, 0);
	assert_int_equal(locker, 0);
	assert_int_equal(put(&store, 1), 0);
	assert_int_equal(get(&store, 1), 0);
	store_close(&store);
}

enum { SIDES = 2, EACH = 300 };

/* Another process: -1, and what it says is its status. */
static void fill_beside(unsigned side)
{
	struct store store = {.order = side == 0 ? STORE_OLDEST_READ
						 : STORE_OLDEST_WRITTEN};
	struct found found = {0};
	const struct store_scan scan = {.each = found_each, .context = &found};

	if (store_open(&store, "cache", &scan, NULL) < 0)
		_exit(1);
	store.bound = 20 * CHARGE;
	for (unsigned i = 0; i < EACH; i++) {
		unsigned n = i * 7 % 60;
		int result = get(&store, n);

		if (result == -ENOENT)
			result = put(&store, n);
		if (result < 0 && result != -EEXIST)
			_exit(2);
		if (store.page->bytes > store.bound)
			_exit(3);
	}
	store_close(&store);
	_exit(0);
}

TEST_WITH(processes_at_once_keep_the_bound, scratch_setup, scratch_teardown)
{
	struct store store;
	struct found found;
	int status;

	for (unsigned i = 0; i < SIDES; i++)
		if (fork() == 0)
			fill_beside(i);
	for (unsigned i = 0; i < SIDES; i++) {
		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	found = opened_as(&store, STORE_KEEPS, 1 << 20);
	assert_true(found.count > 0 && found.bytes <= 20 * CHARGE);
	assert_int_equal(store.page->bytes, found.bytes);
	store_close(&store);
}

TEST_WITH(opening_fails_cleanly_without_memory, scratch_setup, scratch_teardown)
{
	struct found found = {0};
	const struct store_scan scan = {.each = found_each, .context = &found};
	bool failed = true;

	for (unsigned nth = 1; failed; nth++) {
		struct store store = {.order = STORE_KEEPS};

		nomem_at(nth);
		failed = store_open(&store, "cache", &scan, NULL) < 0;
		nomem_at(0);
		if (!failed)
			store_close(&store);
		assert_true(nth < 1000);
	}
}

TEST(a_name_tells_a_size_that_a_sample_can_have)
{
	struct stored_key key;

	assert_true(
		stored_read_name("0123456789abcdef0123456789abcdef-00000001", &key));
	assert_false(
		stored_read_name("0123456789abcdef0123456789abcdef-00000000", &key));
	assert_false(
		stored_read_name("0123456789abcdef0123456789abcdef-ffffffff", &key));
}
