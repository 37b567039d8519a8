/* shard_reader_test.c - a window delivers an object's bytes, however it moves. */
#include "loader/base/random.h"
#include "loader/source/shard/shard_reader.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 9 << 20, GAP = 64 << 10, LEAST = 4 << 10, MEMBER = 1536 };

/* Read by one thread at a time. */
static struct disk {
	unsigned char *bytes;
	struct random random;
	bool torn;      /* reads come short */
	uint64_t fails; /* no byte from here on can be read */
	uint64_t read;  /* bytes */
} disk;

static ssize_t disk_read(void *state, void *to, size_t size, uint64_t from)
{
	struct disk *of = state;

	if (from >= of->fails)
		return -EIO;
	if (size > of->fails - from)
		size = (size_t)(of->fails - from);
	if (of->torn)
		size = 1 + random_below(&of->random, (uint32_t)size);
	memcpy(to, of->bytes + from, size);
	of->read += size;
	return (ssize_t)size;
}

static struct shard_object object = {.state = &disk,
				     .size = SIZE,
				     .gap = GAP,
				     .least = LEAST,
				     .read = disk_read,
				     .ahead = true};

static void assert_same(struct shard_window *window, uint64_t at, size_t size)
{
	int result = 0;
	const unsigned char *found = shard_window_get(window, at, size, &result);

	if (found == NULL)
		fail_msg("%zu bytes at %lu: %d", size, (unsigned long)at, result);
	assert_memory_equal(found, disk.bytes + at, size);
}

static struct random way;

/* On by as much as a member has, mostly; over some, far on, or back. */
static uint64_t next_place(uint64_t at, size_t size)
{
	uint64_t next = at + size;
	uint32_t kind = random_below(&way, 100);

	if (kind < 10)
		next += random_below(&way, GAP);
	else if (kind < 11)
		next += random_below(&way, 2 << 20);
	else if (kind < 12)
		next = at - (at < GAP ? at : random_below(&way, GAP));
	return next < SIZE ? next : random_below(&way, SIZE);
}

static void wander(struct shard_window *window, unsigned steps)
{
	uint64_t at = 0;
	size_t size = 0;

	for (unsigned i = 0; i < steps; i++) {
		at = next_place(at, size);
		size = 1 + random_below(&way, i % 50 == 0 ? SHARD_MOST : GAP);
		if (size > SIZE - at)
			size = (size_t)(SIZE - at);
		assert_same(window, at, size);
	}
}

static int disk_setup(void **state)
{
	(void)state;
	disk = (struct disk){.bytes = malloc(SIZE), .fails = SIZE};
	if (disk.bytes == NULL)
		return -1;
	for (size_t i = 0; i < SIZE; i += 8) {
		uint64_t eight = random_next(&disk.random);

		memcpy(disk.bytes + i, &eight, 8);
	}
	return 0;
}

static int disk_end(void **state)
{
	(void)state;
	free(disk.bytes);
	return 0;
}

TEST_WITH(bytes_are_the_objects_wherever_it_moves, disk_setup, disk_end)
{
	for (unsigned seed = 0; seed < 8; seed++) {
		struct shard_window window;

		disk.random.state = way.state = seed;
		disk.torn = seed % 2 != 0;
		assert_int_equal(shard_window_init(&window, &object), 0);
		wander(&window, 600);
		shard_window_fini(&window);
	}
}

TEST_WITH(nothing_is_read_twice_on_the_way, disk_setup, disk_end)
{
	struct shard_window window;

	assert_int_equal(shard_window_init(&window, &object), 0);
	for (uint64_t at = 0; at < SIZE; at += MEMBER)
		assert_same(&window, at, 512);
	shard_window_fini(&window);
	assert_int_equal(disk.read, SIZE);
}

TEST_WITH(memory_that_is_short_at_first_is_no_error, disk_setup, disk_end)
{
	struct shard_window window;

	assert_int_equal(shard_window_init(&window, &object), 0);
	nomem_at(1);
	for (uint64_t at = 0; at < SIZE; at += MEMBER)
		assert_same(&window, at, 512);
	nomem_at(0);
	shard_window_fini(&window);
}

/* As it is met ahead of what is looked at, or in its place; and told each time. */
TEST_WITH(an_error_is_told_where_it_is, disk_setup, disk_end)
{
	struct shard_window window;
	uint64_t at = 0;
	int result = 0;

	disk.fails = SIZE / 2 + 1000;
	assert_int_equal(shard_window_init(&window, &object), 0);
	for (; at + MEMBER <= disk.fails; at += MEMBER)
		assert_same(&window, at, MEMBER);
	for (int i = 0; i < 2; i++) {
		assert_null(shard_window_get(&window, at, MEMBER, &result));
		assert_int_equal(result, -EIO);
	}
	assert_null(shard_window_get(&window, SIZE - 1, 2, &result));
	assert_int_equal(result, -ENODATA);
	shard_window_fini(&window);
}
