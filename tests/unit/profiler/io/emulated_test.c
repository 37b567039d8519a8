/* emulated_test.c - when reads of the emulated storage are over. */
#include "loader/base/clock.h"
#include "loader/base/throttle.h"
#include "profiler/io/base/attach.h"
#include "profiler/io/dsa_io.h"
#include "profiler/io/emulated.h"
#include "tests/lib/io_part.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS 1000000u

/* A byte takes a millisecond, an access ten. */
static struct io_page *slow_storage(void)
{
	struct io_page *page = io_part_page();

	page->storage_bandwidth = 1e3;
	page->storage_latency = 0.010;
	assert_non_null(attach_slot());
	return page;
}

static uint64_t due(struct fd_entry *entry, uint64_t since, uint64_t from, uint64_t to)
{
	const struct emulated_read read = {since, from, to};

	return emulated_read(io_part_page(), attach_slot(), entry, &read);
}

static struct fd_entry opened(uint64_t since)
{
	struct fd_entry entry = {0};

	entry.opened_ns = since;
	return entry;
}

static uint64_t count(enum io_counter which)
{
	return io_page_total(io_part_page(), which);
}

/* Both throttles, one after another, give the same times. */
TEST_WITH(a_file_takes_what_a_sample_of_libdsa_does, io_part_setup, io_part_teardown)
{
	struct io_page *page = slow_storage();
	struct throttle *throttle = throttle_new(1e3, 0.010);
	const uint64_t sizes[] = {5, 10, 20, 50, 1, 1, 40};
	uint64_t now = 1000 * MS, theirs = now;

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct fd_entry entry = opened(now);
		uint64_t open = emulated_open(page, attach_slot(), now), read;

		assert_int_equal(open, now + 10 * MS);
		read = due(&entry, open, 0, sizes[i]);
		theirs = throttle_release(throttle, theirs, sizes[i]);
		assert_int_equal(read > open ? read : open, theirs);
		now = theirs;
	}
	assert_int_equal(count(IO_throttle_reads), 7);
	assert_int_equal(count(IO_throttle_bytes), 127);
	assert_int_equal(count(IO_throttle_busy_ns), 127 * (uint64_t)MS);
	throttle_free(throttle);
}

TEST_WITH(pieces_in_a_row_have_one_latency, io_part_setup, io_part_teardown)
{
	struct io_page *page = slow_storage();
	struct fd_entry entry = opened(1000 * MS);
	uint64_t now = emulated_open(page, attach_slot(), 1000 * MS);

	page->busy_until_ns = (1000 - 20) * MS;
	for (uint64_t at = 0; at < 100; at += 20)
		now = due(&entry, now, at, at + 20);
	/* the first transfer was saved up, and the next begins with the opening */
	assert_int_equal(now, (1000 + 80) * MS);
	assert_int_equal(count(IO_throttle_reads), 1);
}

/* However small the first one is, as a reader's of a header: all have what one read has. */
TEST_WITH(what_was_saved_up_is_of_all_pieces, io_part_setup, io_part_teardown)
{
	const uint64_t ends[] = {1, 60, 100};
	struct io_page *page = slow_storage();
	struct fd_entry entry = opened(1000 * MS);
	uint64_t now = 1000 * MS, at = 0;

	page->storage_latency = 0;
	page->busy_until_ns = (1000 - 70) * MS;
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		now = due(&entry, now, at, ends[i]);
		at = ends[i];
	}
	assert_int_equal(now, (1000 - 70 + 100) * MS);
	assert_int_equal(count(IO_throttle_busy_ns), 100 * (uint64_t)MS);
	/* nothing is left for another access of the file */
	assert_int_equal(due(&entry, now, 500, 520), now + 20 * MS);
}

TEST_WITH(elsewhere_is_another_access, io_part_setup, io_part_teardown)
{
	struct fd_entry entry = {0};
	struct io_page *page = slow_storage();

	page->storage_bandwidth = 0;
	assert_int_equal(due(&entry, 1000 * MS, 500, 600), 1010 * MS);
	assert_int_equal(due(&entry, 1020 * MS, 600, 700), 1020 * MS);
	assert_int_equal(due(&entry, 1030 * MS, 900, 950), 1040 * MS);
	assert_int_equal(count(IO_throttle_reads), 2);
	assert_int_equal(count(IO_throttle_bytes), 250);
	assert_int_equal(count(IO_throttle_busy_ns), 0);
}

TEST_WITH(what_was_read_before_is_free, io_part_setup, io_part_teardown)
{
	struct fd_entry entry = opened(1000 * MS);

	slow_storage();
	due(&entry, 1010 * MS, 0, 100);
	assert_int_equal(due(&entry, 5000 * MS, 0, 100), 5000 * MS);
	assert_int_equal(due(&entry, 5000 * MS, 20, 30), 5000 * MS);
	assert_int_equal(count(IO_throttle_bytes), 100);
	due(&entry, 5000 * MS, 50, 150);
	assert_int_equal(count(IO_throttle_bytes), 150);
	assert_int_equal(count(IO_throttle_reads), 0);
}

TEST_WITH(processes_have_one_bucket, io_part_setup, io_part_teardown)
{
	struct io_page *page = slow_storage();
	struct fd_entry entry = opened(1000 * MS);
	int status;

	page->storage_latency = 0;
	page->busy_until_ns = (1000 - 10) * MS;
	for (unsigned i = 0; i < 4; i++) {
		if (io_part_fork() != 0)
			continue;
		for (uint64_t at = 0; at < 1000; at += 10)
			due(&entry, 1000 * MS, at, at + 10);
		_exit(0);
	}
	for (unsigned i = 0; i < 4; i++)
		assert_true(wait(&status) > 0 && status == 0);
	assert_int_equal(page->busy_until_ns, (1000 + 4000 - 10) * (uint64_t)MS);
	assert_int_equal(count(IO_throttle_busy_ns), 4000 * (uint64_t)MS);
	page->busy_until_ns = 0;
	assert_int_equal(due(&entry, 1000 * MS, 1000, 1010), 1000 * MS);
}

TEST_WITH(a_batch_waits_when_it_is_on, io_part_setup, io_part_teardown)
{
	struct io_page *page = io_part_page();
	uint64_t begin;

	scratch_file("a", 1000);
	page->storage_bandwidth = 50e3; /* 20 ms */
	page->storage_latency = 0.005;
	io_part_batch(1, "a");
	assert_int_equal(count(IO_throttle_reads), 0);
	page->throttled = 1;
	begin = clock_now();
	for (unsigned i = 0; i < 3; i++)
		io_part_batch(2, "a");
	/* the first transfer is saved up */
	assert_true(io_part_last()->end_ns >= begin + 40 * MS);
	assert_true(count(IO_io_ns) >= 5 * MS);
	assert_int_equal(count(IO_throttle_reads), 3);
	assert_int_equal(count(IO_throttle_busy_ns), 3 * 20 * MS);
}

TEST_WITH(a_sample_is_padded_to_its_deadline, io_part_setup, io_part_teardown)
{
	uint64_t begin = clock_now();

	dsa_io_pad(begin);
	io_part_page()->prep_delay = 0.002;
	dsa_io_batch_begin(1);
	dsa_io_pad(begin - 3 * MS);
	assert_int_equal(count(IO_padded), 0);
	begin = clock_now();
	dsa_io_pad(begin);
	assert_true(clock_now() >= begin + 2 * MS);
	assert_int_equal(count(IO_padded), 1);
	dsa_io_batch_end(1);
}
