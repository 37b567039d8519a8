/* reader_parts_test.c - samples of a file that come with one read. */
#include "loader/base/blob.h"
#include "loader/base/throttle.h"
#include "loader/fetch.h"
#include "tests/lib/client.h"
#include "tests/lib/folder.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *const engines[] = {"pread", "uring", "pread-direct", "uring-direct"};

enum { ENGINES = 4, BUFFERED = 2, SIZE = 3000000, ALONE = 3 };

static struct throttle_stats throttled; /* by the last read_together() */
static size_t most; /* bytes that preadv() brings at the most; 0: all */

/* Instead of the C library's. */
ssize_t preadv(int fd, const struct iovec *vec, int count, off_t from)
{
	if (most > 0 && vec->iov_len > most)
		return syscall(SYS_pread64, fd, vec->iov_base, most, from);
	return syscall(SYS_preadv, fd, vec, count, from, 0);
}

/* A shard, and `count` samples in it, the first at `offset`, each `gap` behind the other, or
 * over it. */
static struct source *new_shard(uint32_t count, uint64_t offset, uint32_t size, int gap)
{
	struct source *source = folder_new("/tmp");

	folder_add(source, "shard", SIZE, SIZE);
	for (uint32_t i = 0; i < count; i++)
		source->place[i] = (struct source_place){.path = "shard",
							 .offset = offset,
							 .size = size + i,
							 .part = true},
		offset += (uint64_t)((int64_t)size + i + gap);
	source->count = count;
	return source;
}

/* Reads all of them together; allocation `nth` of it fails. */
static void read_together(struct client *client, const struct source *source,
			  const char *engine, unsigned nth)
{
	static uint32_t members[FOLDER_MOST];
	struct throttle *throttle = throttle_new(1e12, 0);
	struct fetch *fetch;

	client_init(client, 0);
	fetch = client_open(client, source, engine, 4, throttle);
	for (uint32_t i = 0; i < source->count; i++)
		members[i] = i;
	client->members = members;
	nomem_at(nth);
	client_want(client, source->count);
	fetch_kick(fetch);
	client_wait(client, &client->done, source->count);
	nomem_at(0);
	client_set(client, &client->closed, true);
	fetch_close(fetch);
	assert_int_equal(client->out, 0);
	throttle_stats(throttle, &throttled);
	throttle_free(throttle);
}

static void check_all(const struct client *client, const struct source *source)
{
	for (uint32_t i = 0; i < source->count; i++) {
		const struct source_place *place = &source->place[i];
		int why = place->offset + place->size > SIZE ? -ENODATA : 0;

		assert_int_equal(client->result[i], why);
		if (why == 0)
			folder_check_part(client->blob[i], "shard", place->offset,
					  place->size);
		else
			assert_null(client->blob[i]);
	}
}

/* By every engine, with so many reads where the page cache is used. */
static void check_engines(const struct source *source, uint32_t reads)
{
	const struct source_place *first = source->place,
				  *last = first + source->count - 1;
	uint64_t bytes = last->offset + last->size - first->offset;

	for (int e = 0; e < ENGINES; e++) {
		struct client client;

		read_together(&client, source, engines[e], 0);
		check_all(&client, source);
		if (e < BUFFERED && reads > 0) {
			assert_int_equal(client.calls.opens, 0);
			assert_int_equal(client.calls.reads, reads);
			assert_int_equal(client.calls.bytes, bytes);
			assert_int_equal(throttled.reads, 1);
			assert_int_equal(throttled.bytes, bytes);
		}
		client_fini(&client);
	}
}

TEST(each_sample_of_a_read_has_its_own_bytes)
{
	static const struct {
		uint32_t count, size;
		int gap;
	} cases[] = {{1, 512, 0},    {2, 1, 0},      {10, 5000, 0}, {10, 5000, 700},
		     {3, 1, 100000}, {10, 5000, -4}, {3, 1, -1},    {9, 100, -100}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct source *source =
			new_shard(cases[i].count, 4097, cases[i].size, cases[i].gap);

		check_engines(source, 1);
		folder_free(source);
	}
}

TEST(more_than_a_call_takes_is_some_calls)
{
	struct source *source = new_shard(FOLDER_MOST, 100, 1, 500);

	assert_true(2 * FOLDER_MOST - 1 > IOV_MAX);
	check_engines(source, 2);
	folder_free(source);
}

TEST(where_the_file_ends_the_samples_before_are_read)
{
	/* The last but one ends there, or within it. */
	static const uint64_t first[] = {SIZE - 4 * 1500 - 6, SIZE - 4 * 1500 - 7,
					 SIZE - 4 * 1500 - 5};

	for (int i = 0; i < 3; i++) {
		struct source *source = new_shard(5, first[i], 1000, 500);

		check_engines(source, 0);
		folder_free(source);
	}
}

TEST(after_a_short_read_each_is_read_alone)
{
	struct source *source = new_shard(ALONE, 0, 10000, 10);
	struct client client;

	for (most = 1; most < 10000; most *= 100) {
		read_together(&client, source, "pread", 0);
		check_all(&client, source);
		assert_int_equal(client.calls.opens, 0);
		assert_int_equal(client.calls.reads, 1 + ALONE);
		client_fini(&client);
	}
	most = 0;
	folder_free(source);
}

/* The copies of a direct read have no second try. */
TEST(short_memory_loses_one_sample_at_the_most)
{
	struct source *source = new_shard(ALONE, 0, 10000, 10);

	for (int e = 0; e < ENGINES; e++)
		for (unsigned nth = 1; nth < 12; nth++) {
			struct client client;
			int lost = 0;

			read_together(&client, source, engines[e], nth);
			for (int i = 0; i < ALONE; i++)
				lost += client.result[i] == -ENOMEM;
			assert_in_range(lost, 0, e >= BUFFERED);
			if (lost == 0)
				check_all(&client, source);
			client_fini(&client);
		}
	folder_free(source);
}
