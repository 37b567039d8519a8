/* disk_test.c - samples that are offered to a cache on disk: how many wait, which are kept,
 * and which go. */
#include "loader/base/blob.h"
#include "loader/base/error.h"
#include "loader/disk.h"
#include "loader/fetch.h"
#include "loader/source.h"
#include "tests/lib/client.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Ten seconds ahead, for which nothing was changed just now. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);

	now->tv_sec += 10;
	return result;
}

/* A disk on which nothing is written until it is let go. */
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static bool holds;

ssize_t write(int fd, const void *bytes, size_t size)
{
	if (holds) {
		pthread_mutex_lock(&held);
		pthread_mutex_unlock(&held);
		errno = EIO;
		return -1;
	}
	return syscall(SYS_write, fd, bytes, size);
}

static struct source *open_source_of(const char *prep)
{
	const struct source_config config = {
		.threads = 1, .index_dir = "", .prep = prep, .length = 255};
	struct error err = {0};
	struct source *source = source_open("set", &config, &err);

	if (source == NULL)
		fail_msg("%s", err.message);
	return source;
}

static struct source *open_source(void)
{
	return open_source_of("image");
}

static struct disk *open_disk(const struct source *source)
{
	const struct disk_config config = {.folder = "cache",
					   .policy = "minio",
					   .bytes = 1 << 30,
					   .source = source};
	struct error err = {0};
	struct disk *disk = disk_open(&config, &err);

	if (disk == NULL)
		fail_msg("%s", err.message);
	return disk;
}

static bool offer(struct disk *disk, uint32_t sample, size_t size)
{
	struct blob *blob = blob_new(size, 64);
	bool taken;

	assert_non_null(blob);
	assert_null(disk_get(disk, sample, false));
	taken = disk_offer(disk, sample, blob);
	blob_put(blob);
	return taken;
}

/* Of two samples, while nothing is written. */
static void offer_more_than_may_wait(size_t one, size_t more)
{
	struct disk_stats stats;
	struct source *source;
	bool first, second;
	struct disk *disk;

	scratch_file("set/a/1.jpg", one);
	scratch_file("set/a/2.jpg", more);
	source = open_source();
	disk = open_disk(source);
	holds = true;
	pthread_mutex_lock(&held);
	first = offer(disk, 0, one);
	second = offer(disk, 1, more);
	disk_stats(disk, &stats);
	pthread_mutex_unlock(&held);
	disk_close(disk);
	holds = false;
	source_close(source);
	assert_true(first);
	assert_false(second);
	assert_int_equal(stats.refused, 1);
}

TEST_WITH(what_waits_is_bounded_behind_a_large_sample_too, scratch_setup,
	  scratch_teardown)
{
	offer_more_than_may_wait((size_t)65 << 20, 1 << 20);
}

TEST_WITH(a_large_sample_behind_a_small_one_does_not_wait, scratch_setup,
	  scratch_teardown)
{
	offer_more_than_may_wait(1 << 20, (size_t)64 << 20);
}

/* Its name tells its size, so that nobody ever reads it. */
TEST_WITH(an_old_one_of_another_size_is_dropped, scratch_setup, scratch_teardown)
{
	struct disk_stats stats;
	struct source *source;
	struct disk *disk;

	scratch_file("set/a/1.jpg", 100);
	scratch_file("set/a/2.jpg", 100);
	for (unsigned run = 0; run < 3; run++) {
		source = open_source();
		disk = open_disk(source);
		disk_stats(disk, &stats);
		assert_int_equal(stats.stale, run == 2);
		assert_int_equal(stats.resident, run == 0 ? 0 : run == 1 ? 2 : 1);
		assert_int_equal(stats.entries, run == 0 ? 0 : run == 1 ? 2 : 1);
		for (uint32_t i = 0; i < 2 && run == 0; i++)
			assert_true(offer(disk, i, 100));
		disk_settle(disk);
		disk_close(disk);
		source_close(source);
		if (run == 1)
			assert_return_code(truncate("set/a/1.jpg", 200), 0);
	}
}

static struct fetch *open_fetch(const struct source *source, struct disk *disk,
				struct client *client)
{
	const struct fetch_client calls = {
		.context = client, .next = client_next, .done = client_done};
	const struct fetch_config config = {.engine = "pread",
					    .depth = 1,
					    .disk = disk,
					    .thread_started = client_thread_started};
	struct error err = {0};
	struct fetch *fetch = fetch_open(&config, source, &calls, &err);

	if (fetch == NULL)
		fail_msg("%s", err.message);
	return fetch;
}

/* The reader has the old one open, and another file has its name. */
TEST_WITH(a_shard_that_is_replaced_is_kept_no_more, scratch_setup, scratch_teardown)
{
	struct source *source;
	struct client client;
	struct fetch *fetch;
	struct disk *disk;

	scratch_file("set/a.u16", 10000);
	scratch_file("new.u16", 10000);
	source = open_source_of("tokens");
	disk = open_disk(source);
	client_init(&client, 1);
	fetch = open_fetch(source, disk, &client);
	client_wait(&client, &client.done, 1);
	assert_true(disk_offer(disk, 0, client.blob[0]));
	assert_int_equal(rename("new.u16", "set/a.u16"), 0);
	client_want(&client, 2);
	client_wait(&client, &client.done, 2);
	assert_int_equal(client.result[1], 0);
	assert_false(disk_offer(disk, 1, client.blob[1]));
	client_set(&client, &client.closed, true);
	fetch_close(fetch);
	client_fini(&client);
	disk_close(disk);
	source_close(source);
}

/* Bytes of the samples of `set` that a cache with room for 10 files may hold, after it was
 * offered `count` of 100 bytes. */
static uint64_t capacity_for(const char *set, const char *policy, unsigned count)
{
	static const struct source_config from = {.threads = 1, .index_dir = ""};
	struct error err = {0};
	struct source *source = source_open(set, &from, &err);
	const struct disk_config config = {.folder = "cache",
					   .policy = policy,
					   .bytes = 10 * 4096,
					   .source = source};
	struct disk *disk = disk_open(&config, &err);
	struct disk_stats stats;

	if (disk == NULL)
		fail_msg("%s", err.message);
	for (uint32_t i = 0; i < count; i++)
		assert_true(offer(disk, i, 100));
	disk_settle(disk);
	disk_stats(disk, &stats);
	disk_close(disk);
	source_close(source);
	return stats.capacity;
}

TEST_WITH(what_others_left_takes_room_of_a_cache_that_keeps, scratch_setup,
	  scratch_teardown)
{
	scratch_file("set/a/1.jpg", 100);
	scratch_file("set/a/2.jpg", 100);
	scratch_file("other/a/1.jpg", 100);
	scratch_file("other/a/2.jpg", 100);
	assert_int_equal(capacity_for("set", "minio", 2), 1000);
	assert_int_equal(capacity_for("set", "minio", 0), 1000);
	assert_int_equal(capacity_for("other", "minio", 0), 800);
	assert_int_equal(capacity_for("other", "lru", 0), 1000);
}

/* Room for 10 files, which 16 pass through. */
TEST_WITH(what_was_evicted_is_not_there, scratch_setup, scratch_teardown)
{
	static const struct source_config from = {.threads = 1, .index_dir = ""};
	struct error err = {0};
	struct disk_config config = {
		.folder = "cache", .policy = "fifo", .bytes = 10 * 4096};
	struct disk_stats stats;
	struct source *source;
	struct disk *disk;
	char path[32];

	for (unsigned i = 0; i < 16; i++) {
		snprintf(path, sizeof(path), "set/a/%02u.jpg", i);
		scratch_file(path, 100);
	}
	source = source_open("set", &from, &err);
	config.source = source;
	disk = disk_open(&config, &err);
	assert_non_null(disk);
	for (uint32_t i = 0; i < 16; i++)
		assert_true(offer(disk, i, 100));
	disk_settle(disk);
	disk_stats(disk, &stats);
	disk_close(disk);
	source_close(source);
	assert_int_equal(stats.evicted, 6);
	assert_int_equal(stats.entries, 10);
	assert_int_equal(stats.resident, 10);
	assert_int_equal(stats.resident_bytes, 1000);
}
