#include "loader/base/blob.h"
#include "loader/base/clock.h"
#include "loader/base/throttle.h"
#include "loader/fetch.h"
#include "tests/lib/client.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const engines[] = {"pread", "pread-direct", "uring", "uring-direct"};

enum { ENGINES = sizeof(engines) / sizeof(engines[0]) };

TEST(every_engine_reads_every_file)
{
	struct source *source = folder_usual("/tmp");

	for (int e = 0; e < ENGINES; e++) {
		struct client client;

		client_read(&client, source, engines[e], FOLDER_FILES);
		for (int i = 0; i < FOLDER_FILES; i++)
			folder_check(client.blob[i], folder_names[i], folder_sizes[i]);
		client_fini(&client);
	}
	folder_free(source);
}

TEST(a_file_of_another_size_than_indexed_is_read_whole)
{
	static const struct {
		const char *name;
		uint32_t size, told;
	} files[] = {
		{"shrunk", 1000, 5000},
		{"shrunk a lot", 100, 2000000},
		{"grown", 5000, 1000},
		{"grown a byte", 513, 512},
		{"grown a block", 1024, 512},
		{"grown from nothing", 600, 0},
		{"grown a lot", 3000000, 1},
		{"not as absurd as told", 70000, 4000000000},
	};
	enum { COUNT = sizeof(files) / sizeof(files[0]) };
	struct source *source = folder_new("/tmp");

	for (int i = 0; i < COUNT; i++)
		folder_add(source, files[i].name, files[i].size, files[i].told);
	for (int e = 0; e < ENGINES; e++) {
		struct client client;

		client_read(&client, source, engines[e], COUNT);
		for (int i = 0; i < COUNT; i++)
			folder_check(client.blob[i], files[i].name, files[i].size);
		client_fini(&client);
	}
	folder_free(source);
}

TEST(samples_inside_one_file_are_read_at_their_offsets)
{
	enum { SIZE = 3000000 };
	static const struct {
		uint64_t offset;
		uint32_t size;
		int why;
	} parts[] = {
		{0, 512, 0},
		{1, 1, 0},
		{511, 513, 0},
		{512, 4096, 0},
		{4095, 2, 0},
		{4096, 4096, 0},
		{100001, 2000000, 0},
		{SIZE - 1, 1, 0},
		{SIZE - 10000, 10000, 0},
		{SIZE - 1, 2, ENODATA},
		{2 * SIZE, 1, ENODATA},
		{0, 0, EBADMSG},
		{0, (1u << 30) + 1, EFBIG},
	};
	enum { COUNT = sizeof(parts) / sizeof(parts[0]) };
	struct source *source = folder_new("/tmp");

	folder_add(source, "shard", SIZE, SIZE);
	for (int i = 0; i < COUNT; i++)
		source->place[i] = (struct source_place){.path = "shard",
							 .offset = parts[i].offset,
							 .size = parts[i].size,
							 .part = true};
	source->count = COUNT;
	for (int e = 0; e < ENGINES; e++) {
		struct client client;

		client_read(&client, source, engines[e], COUNT);
		for (int i = 0; i < COUNT; i++) {
			assert_int_equal(client.result[i], -parts[i].why);
			if (parts[i].why == 0)
				folder_check_part(client.blob[i], "shard",
						  parts[i].offset, parts[i].size);
		}
		client_fini(&client);
	}
	folder_free(source);
}

TEST(what_cannot_be_read_is_told)
{
	static const int why[] = {EBADMSG, ENOENT, EISDIR, ESPIPE, ELOOP, EFBIG, 0};
	struct source *source = folder_new("/tmp");
	struct client client;
	int fd;

	folder_add(source, "empty", 0, 1000);
	source->place[1] = (struct source_place){.path = "missing", .size = 100};
	source->place[2] = (struct source_place){.path = "folder", .size = 4096};
	assert_int_equal(mkdirat(source->dir, "folder", 0700), 0);
	source->place[3] = (struct source_place){.path = "pipe", .size = 100};
	assert_int_equal(mkfifoat(source->dir, "pipe", 0600), 0);
	source->place[4] = (struct source_place){.path = "loop", .size = 100};
	assert_int_equal(symlinkat("loop", source->dir, "loop"), 0);
	source->count = 5;
	folder_add(source, "huge", 1, 100);
	fd = openat(source->dir, "huge", O_WRONLY);
	assert_int_equal(ftruncate(fd, (1 << 30) + 1ll), 0);
	close(fd);
	folder_add(source, "good", 100, 100);
	for (int e = 0; e < ENGINES; e++) {
		client_read(&client, source, engines[e], source->count);
		for (uint32_t i = 0; i < source->count; i++) {
			assert_int_equal(client.result[i], -why[i]);
			assert_int_equal(client.blob[i] == NULL, why[i] != 0);
		}
		client_fini(&client);
	}
	folder_free(source);
}

TEST(samples_in_memory_are_served_by_any_engine)
{
	struct source source = {.dir = -1, .count = 2};
	unsigned char bytes[5000];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = folder_byte("m", i);
	source.place[0] = (struct source_place){.memory = bytes, .size = sizeof(bytes)};
	source.place[1] = (struct source_place){.memory = bytes, .size = 0};
	for (int e = 0; e < ENGINES; e++) {
		struct client client;
		struct fetch *fetch;

		client_init(&client, 2);
		fetch = client_open(&client, &source, engines[e], 2, NULL);
		client_wait(&client, &client.done, 2);
		assert_true(fetch_facts(fetch).memory);
		assert_false(fetch_facts(fetch).direct);
		client_set(&client, &client.closed, true);
		fetch_close(fetch);
		folder_check(client.blob[0], "m", sizeof(bytes));
		assert_int_equal(client.result[1], -EBADMSG);
		client_fini(&client);
	}
}

TEST(direct_engines_bypass_the_page_cache_where_they_can)
{
	struct source *source, *disk;

	if (access("/dev/shm", W_OK) < 0)
		skip();
	source = folder_usual("/dev/shm");
	disk = folder_usual("/var/tmp");
	for (int e = 0; e < ENGINES; e++) {
		struct client client;
		struct fetch *fetch;

		client_read(&client, source, engines[e], FOLDER_FILES);
		for (int i = 0; i < FOLDER_FILES; i++)
			folder_check(client.blob[i], folder_names[i], folder_sizes[i]);
		client_fini(&client);

		client_init(&client, 0);
		client.closed = true;
		fetch = client_open(&client, source, engines[e], 1, NULL);
		assert_true(fetch_facts(fetch).memory);
		assert_false(fetch_facts(fetch).direct);
		assert_non_null(strstr(fetch_facts(fetch).reason, "storage is memory"));
		fetch_close(fetch);

		fetch = client_open(&client, disk, engines[e], 1, NULL);
		if (!fetch_facts(fetch).memory && strstr(engines[e], "-direct") != NULL)
			assert_true(fetch_facts(fetch).direct ||
				    strstr(fetch_facts(fetch).reason, "dropped") !=
					    NULL);
		else
			assert_false(fetch_facts(fetch).direct);
		fetch_close(fetch);
		client_fini(&client);
	}
	folder_free(source);
	folder_free(disk);
}

TEST(no_more_reads_are_out_than_the_depth)
{
	struct source *source = folder_of_one("/tmp");

	for (int e = 0; e < ENGINES; e++) {
		for (unsigned depth = 1; depth <= 16; depth *= 4) {
			/* Held back by the throttle, they keep their places. */
			struct throttle *throttle = throttle_new(0, 3600);
			struct client client;
			struct fetch *fetch;

			client_init(&client, FOLDER_MOST);
			fetch = client_open(&client, source, engines[e], depth,
					    throttle);
			client_wait(&client, &client.out, depth);
			assert_int_equal(fetch_set_depth(fetch, depth + 3), 0);
			client_wait(&client, &client.out, depth + 3);
			client_flush(&client, fetch, depth + 3);
			client_wait(&client, &client.out, depth + 3);
			assert_int_equal(client.most_out, depth + 3);
			assert_int_equal(fetch_set_depth(fetch, 1), 0);
			client_want(&client, 0);
			client_set(&client, &client.closed, true);
			fetch_close(fetch);
			assert_int_equal(client.out, 0);
			assert_int_equal(client.most_out, depth + 3);
			client_fini(&client);
			throttle_free(throttle);
		}
	}
	folder_free(source);
}

TEST(a_lower_depth_holds_from_then_on)
{
	struct source *source = folder_of_one("/tmp");

	for (int e = 0; e < ENGINES; e++) {
		struct client client;
		struct fetch *fetch;

		client_init(&client, 100);
		fetch = client_open(&client, source, engines[e], 16, NULL);
		client_wait(&client, &client.done, 100);
		assert_int_equal(fetch_set_depth(fetch, 2), 0);
		client.most_out = 0;
		client_want(&client, FOLDER_MOST);
		client_wait(&client, &client.done, FOLDER_MOST);
		assert_in_range(client.most_out, 1, 2);
		assert_int_equal(fetch_set_depth(fetch, 0), -EINVAL);
		assert_int_equal(fetch_set_depth(fetch, 257), -EINVAL);
		client_set(&client, &client.closed, true);
		fetch_close(fetch);
		client_fini(&client);
	}
	folder_free(source);
}

TEST(work_that_comes_later_is_seen_while_reads_are_held)
{
	struct source *source = folder_of_one("/tmp");

	for (int e = 0; e < ENGINES; e++) {
		struct throttle *throttle = throttle_new(0, 3600);
		struct client client;
		struct fetch *fetch;

		client_init(&client, 1);
		fetch = client_open(&client, source, engines[e], 4, throttle);
		client_wait(&client, &client.out, 1);
		client_set(&client, &client.unthrottled, true);
		client_want(&client, 21);
		fetch_kick(fetch);
		client_wait(&client, &client.done, 20);
		assert_null(client.blob[0]);
		client_set(&client, &client.closed, true);
		fetch_close(fetch);
		assert_int_equal(client.done, 21);
		client_fini(&client);
		throttle_free(throttle);
	}
	folder_free(source);
}

TEST(closing_waits_for_reads_in_flight)
{
	struct source *source = folder_of_one("/tmp");

	for (int e = 0; e < ENGINES; e++) {
		for (int i = 0; i < 20; i++) {
			struct client client;
			struct fetch *fetch;

			client_init(&client, i % 2 == 0 ? 0 : FOLDER_MOST);
			fetch = client_open(&client, source, engines[e], 8, NULL);
			if (i % 4 == 0)
				client_wait(&client, &client.waits, 1);
			pthread_mutex_lock(&client.lock);
			client.end = client.next;
			client.closed = true;
			pthread_cond_broadcast(&client.changed);
			pthread_mutex_unlock(&client.lock);
			fetch_close(fetch);
			assert_int_equal(client.out, 0);
			assert_int_equal(client.done, client.next);
			client_fini(&client);
		}
	}
	folder_free(source);
}

/* min(bandwidth / bytes, depth / latency) is what it may be at the most. */
TEST(a_throttled_engine_is_never_faster_than_its_storage)
{
	static const struct {
		double bandwidth, latency, per_s;
	} cases[] = {{2e6, 0, 2000}, {0, .004, 1000}, {1e6, .001, 1000}};
	struct source *source = folder_of_one("/tmp");
	enum { READS = 100, DEPTH = 4 };

	for (int e = 0; e < ENGINES; e++) {
		for (int i = 0; i < 3; i++) {
			struct throttle *throttle =
				throttle_new(cases[i].bandwidth, cases[i].latency);
			uint64_t start = clock_now();
			struct throttle_stats stats;
			struct client client;
			struct fetch *fetch;
			double elapsed;

			client_init(&client, READS);
			fetch = client_open(&client, source, engines[e], DEPTH,
					    throttle);
			client_wait(&client, &client.done, READS);
			elapsed = (double)(clock_now() - start) / 1e9;
			/* The full bucket lets the first one through at once.
			 */
			assert_true((READS - 1) / elapsed <= cases[i].per_s);
			throttle_stats(throttle, &stats);
			assert_int_equal(stats.reads, READS);
			assert_int_equal(stats.bytes, READS * 1000);
			client_set(&client, &client.closed, true);
			fetch_close(fetch);
			client_fini(&client);
			throttle_free(throttle);
		}
	}
	folder_free(source);
}

TEST(reads_are_counted)
{
	struct source *source = folder_usual("/tmp");

	unlinkat(source->dir, folder_names[2], 0);
	for (int e = 0; e < ENGINES; e++) {
		struct fetch_stats stats;
		struct client client;
		struct fetch *fetch;
		uint64_t bytes = 0;

		client_init(&client, FOLDER_FILES);
		fetch = client_open(&client, source, engines[e], 3, NULL);
		client_wait(&client, &client.done, FOLDER_FILES);
		fetch_stats(fetch, &stats);
		for (int i = 0; i < FOLDER_FILES; i++)
			bytes += i != 2 ? folder_sizes[i] : 0;
		assert_int_equal(stats.reads, FOLDER_FILES - 1);
		assert_int_equal(stats.failures, 1);
		assert_int_equal(stats.bytes, bytes);
		assert_true(stats.cpu_ns > 0);
		assert_true(client.started >= 1 && client.started <= 3);
		assert_string_equal(fetch_facts(fetch).engine, engines[e]);
		client_set(&client, &client.closed, true);
		fetch_close(fetch);
		client_fini(&client);
	}
	folder_free(source);
}

TEST(a_thread_that_is_held_begins_no_read)
{
	struct source *source = folder_of_one("/tmp");
	struct fetch_stats stats;
	struct client client;
	struct fetch *fetch;

	client_init(&client, 0);
	fetch = client_open(&client, source, "pread", 3, NULL);
	fetch_hold(fetch, true);
	client_want(&client, 20);
	client_wait(&client, &client.out, 1);
	clock_sleep_until(clock_now() + 5000000);
	fetch_stats(fetch, &stats);
	assert_int_equal(stats.read_calls_begun, 0);
	fetch_hold(fetch, false);
	client_wait(&client, &client.done, 20);
	client_set(&client, &client.closed, true);
	fetch_stats(fetch, &stats);
	assert_int_equal(stats.read_calls_begun, 20);
	assert_int_equal(stats.read_calls, 20);
	fetch_close(fetch);
	client_fini(&client);
	folder_free(source);
}
