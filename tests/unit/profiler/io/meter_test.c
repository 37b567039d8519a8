/* meter_test.c - what is counted of a batch: files, calls, bytes, ranges. */
#include "profiler/io/dsa_io.h"
#include "profiler/io/meter.h"
#include "tests/lib/io_part.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t total(enum io_counter which)
{
	return io_page_total(io_part_page(), which);
}

/* ---- what counts ---- */

TEST_WITH(a_batch_has_its_files_and_bytes, io_part_setup, io_part_teardown)
{
	const struct io_batch *batch;
	int fd;

	scratch_file("a", 5000);
	dsa_io_batch_begin(77);
	fd = io_part_open("a", O_RDONLY);
	assert_int_equal(io_part_read(fd, 4096), 4096);
	assert_int_equal(io_part_read(fd, 4096), 904);
	assert_int_equal(io_part_read(fd, 4096), 0);
	assert_int_equal(io_part_pread(fd, 100, 7), 100);
	io_part_close(fd);
	dsa_io_batch_end(3);
	batch = io_part_last();
	assert_int_equal(batch->key, 77);
	assert_int_equal(batch->opens, 1);
	assert_int_equal(batch->reads, 4);
	assert_int_equal(batch->bytes, 5100);
	assert_int_equal(batch->samples, 3);
	assert_int_equal(batch->pid, getpid());
	assert_int_equal(batch->flags, 0);
	assert_true(batch->end_ns > batch->begin_ns);
	assert_in_range(batch->io_ns, 1, batch->end_ns - batch->begin_ns);
	assert_int_equal(batch->own_io_ns, batch->io_ns);
	assert_int_equal(total(IO_bytes), 5100);
	assert_int_equal(total(IO_batch_ns), batch->end_ns - batch->begin_ns);
}

TEST_WITH(other_times_are_apart, io_part_setup, io_part_teardown)
{
	int fd;

	scratch_file("a", 1000);
	io_part_close(io_part_open("a", O_RDONLY)); /* no part of it so far */
	assert_int_equal(total(IO_other_opens), 0);
	io_part_batch(1, "a");
	fd = io_part_open("a", O_RDONLY);
	io_part_read(fd, 600);
	io_part_close(fd);
	assert_int_equal(total(IO_opens), 1);
	assert_int_equal(total(IO_bytes), 1000);
	assert_int_equal(total(IO_other_opens), 1);
	assert_int_equal(total(IO_other_bytes), 600);
}

TEST_WITH(what_was_open_before_is_recognised, io_part_setup, io_part_teardown)
{
	int fd;

	scratch_file("a", 9000);
	fd = io_part_open("a", O_RDONLY);
	io_part_read(fd, 1000);
	for (unsigned i = 0; i < 2; i++) {
		dsa_io_batch_begin(i);
		io_part_pread(fd, 500, 4000);
		io_part_read(fd, 10);
		dsa_io_batch_end(1);
		assert_int_equal(io_part_last()->opens, 0);
		assert_int_equal(io_part_last()->reads, 2);
		assert_int_equal(io_part_last()->bytes, 510);
	}
	io_part_close(fd);
}

TEST_WITH(code_pipes_and_memory_are_no_data, io_part_setup, io_part_teardown)
{
	int fd, ends[2];

	scratch_file("a.py", 100);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "12345", 5), 5);
	dsa_io_batch_begin(1);
	fd = io_part_open("a.py", O_RDONLY);
	io_part_read(fd, 100);
	io_part_close(fd);
	io_part_read(ends[0], 100);
	fd = io_part_open("/proc/self/stat", O_RDONLY);
	io_part_read(fd, 10);
	io_part_close(fd);
	dsa_io_batch_end(1);
	assert_int_equal(io_part_last()->opens, 0);
	assert_int_equal(io_part_last()->bytes, 0);
	assert_int_equal(total(IO_other_bytes), 115);
	close(ends[0]);
	close(ends[1]);
}

TEST_WITH(a_descriptor_that_becomes_another_is_looked_at, io_part_setup,
	  io_part_teardown)
{
	int fd, pipe_ends[2];

	scratch_file("a", 100);
	assert_int_equal(pipe(pipe_ends), 0);
	dsa_io_batch_begin(1);
	fd = io_part_open("a", O_RDONLY);
	io_part_read(fd, 10);
	meter_closed(fd);
	assert_int_equal(dup2(pipe_ends[0], fd), fd);
	assert_int_equal(write(pipe_ends[1], "123", 3), 3);
	io_part_read(fd, 10);
	dsa_io_batch_end(1);
	assert_int_equal(io_part_last()->bytes, 10);
	close(fd);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

static void *map_beside(void *fd)
{
	meter_mapped(*(const int *)fd);
	return NULL;
}

/* What another thread maps meanwhile is of that batch alone. */
TEST_WITH(connections_and_mappings_are_noticed, io_part_setup, io_part_teardown)
{
	int pair[2], over = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
	pthread_t thread;

	scratch_file("a", 100);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	dsa_io_batch_begin(1);
	meter_touch(pair[0]);
	dsa_io_batch_end(1);
	assert_int_equal(io_part_last()->flags, 0);
	dsa_io_batch_begin(2);
	meter_touch(over);
	meter_touch(over);
	dsa_io_batch_end(1);
	assert_int_equal(io_part_last()->flags, IO_SOCKET);
	assert_int_equal(total(IO_sockets), 1);
	dsa_io_batch_begin(3);
	fd = io_part_open("a", O_RDONLY);
	assert_int_equal(pthread_create(&thread, NULL, map_beside, &fd), 0);
	pthread_join(thread, NULL);
	dsa_io_batch_end(1);
	assert_int_equal(io_part_last()->flags, IO_MAPPED);
	dsa_io_batch_begin(4);
	dsa_io_batch_end(1);
	assert_int_equal(io_part_last()->flags, 0);
	dsa_io_batch_begin(5);
	meter_mapped(fd);
	meter_mapped(-1);
	dsa_io_batch_end(1);
	assert_int_equal(io_part_last()->flags, IO_MAPPED);
	dsa_io_batch_begin(6);
	dsa_io_batch_end(1);
	assert_int_equal(io_part_last()->flags, IO_MAPPED);
	assert_int_equal(total(IO_maps), 2);
	close(fd);
	close(over);
	close(pair[0]);
	close(pair[1]);
}

TEST_WITH(errno_is_kept, io_part_setup, io_part_teardown)
{
	struct meter meter;

	scratch_file("a", 100);
	dsa_io_batch_begin(1);
	errno = 12345;
	meter = meter_begin(900); /* it is not open */
	assert_int_equal(meter_read(&meter, -1, METER_CURRENT), -1);
	io_part_close(io_part_open("a", O_RDONLY));
	meter = meter_begin_open();
	meter_opened(&meter, -1, "missing", O_RDONLY);
	assert_int_equal(errno, 12345);
	dsa_io_batch_end(1);
	assert_int_equal(io_part_last()->opens, 1);
}

/* ---- the digest ---- */

static uint64_t digest_of(const char *const *files, unsigned count)
{
	dsa_io_batch_begin(1);
	for (unsigned i = 0; i < count; i++) {
		int fd = io_part_open(files[i], O_RDONLY);

		io_part_read(fd, 60);
		io_part_pread(fd, 30, 60);
		io_part_close(fd);
	}
	dsa_io_batch_end(1);
	return io_part_last()->digest;
}

static uint64_t digest_at(long at, size_t size)
{
	int fd = open("a", O_RDONLY | O_CLOEXEC);

	dsa_io_batch_begin(1);
	io_part_pread(fd, size, at);
	dsa_io_batch_end(1);
	close(fd);
	return io_part_last()->digest;
}

TEST_WITH(a_digest_knows_files_and_places_but_no_order, io_part_setup, io_part_teardown)
{
	uint64_t both;

	scratch_file("a", 100);
	scratch_file("b", 100);
	both = digest_of((const char *[]){"a", "b"}, 2);
	assert_true(both == digest_of((const char *[]){"b", "a"}, 2));
	assert_true(both != digest_of((const char *[]){"a", "a"}, 2));
	assert_true(both != digest_of((const char *[]){"a", "b", "b"}, 3));
	assert_true(digest_at(0, 10) == digest_at(0, 10));
	assert_true(digest_at(0, 10) != digest_at(10, 10));
	assert_true(digest_at(0, 10) != digest_at(0, 20));
	assert_int_equal(rename("a", "c"), 0); /* the same file */
	assert_true(both == digest_of((const char *[]){"b", "c"}, 2));
}

/* ---- ranges ---- */

TEST_WITH(ranges_are_kept_of_a_list_alone, io_part_setup, io_part_teardown)
{
	struct io_page *page = io_part_page();
	char path[4096];

	scratch_file("a", 5000);
	io_part_batch(1, "a");
	assert_int_equal(page->range_count, 0);
	page->listing = 1;
	io_part_batch(2, "a");
	page->listing = 0;
	assert_int_equal(io_part_last()->flags, IO_LISTED);
	io_part_batch(3, "a");
	assert_int_equal(page->range_count, 1);
	assert_int_equal(page->ranges[0].number, 1);
	assert_int_equal(page->ranges[0].key, 2);
	assert_int_equal(page->ranges[0].from, 0);
	assert_int_equal(page->ranges[0].to, 5000);
	snprintf(path, sizeof(path), "%s/a", scratch_path());
	assert_string_equal(page->paths + page->ranges[0].path, path);
}

TEST_WITH(what_is_read_in_a_row_is_one_range, io_part_setup, io_part_teardown)
{
	struct io_page *page = io_part_page();
	int fd, again;

	scratch_file("a", 100000);
	page->listing = 1;
	dsa_io_batch_begin(1);
	fd = io_part_open("a", O_RDONLY);
	for (unsigned i = 0; i < 10; i++)
		io_part_read(fd, 100);
	io_part_pread(fd, 100, 50000);
	io_part_pread(fd, 100, 50100);
	again = io_part_open("a", O_RDONLY);
	io_part_read(again, 100);
	io_part_pread(fd, 100, 50200);
	dsa_io_batch_end(1);
	assert_int_equal(page->range_count, 3);
	assert_int_equal(page->ranges[0].to, 1000);
	assert_int_equal(page->ranges[1].from, 50000);
	assert_int_equal(page->ranges[1].to, 50300);
	assert_int_equal(page->ranges[2].from, 0);
	assert_int_equal(page->ranges[2].to, 100);
	dsa_io_batch_begin(2); /* another batch has its own */
	io_part_pread(fd, 100, 50300);
	dsa_io_batch_end(1);
	assert_int_equal(page->range_count, 4);
	assert_int_equal(page->ranges[3].key, 2);
	close(fd);
	close(again);
}

TEST_WITH(what_has_no_room_is_counted, io_part_setup, io_part_teardown)
{
	struct io_page *page = io_part_page();
	char path[600];

	memset(path, 'd', sizeof(path));
	for (unsigned i = 200; i < sizeof(path); i += 200)
		path[i] = '/';
	path[599] = '\0';
	scratch_file(path, 10);
	page->listing = 1;
	io_part_batch(1, path); /* whatever its length */
	assert_int_equal(io_part_last()->bytes, 10);
	assert_int_equal(page->dropped_ranges, 0);
	assert_non_null(strstr(page->paths + page->ranges[0].path, path));
	scratch_file("a", 10);
	page->range_count = IO_RANGES - 1;
	io_part_batch(2, "a");
	assert_int_equal(page->dropped_ranges, 0);
	io_part_batch(3, "a");
	assert_int_equal(page->dropped_ranges, 1);
	assert_int_equal(page->ranges[IO_RANGES - 1].key, 2);
	page->range_count = 1;
	page->path_bytes = IO_PATHS - strlen(scratch_path());
	io_part_batch(4, "a");
	assert_int_equal(page->dropped_ranges, 2);
	assert_int_equal(page->paths[IO_PATHS - 1], 0);
}

/* ---- files that are written ---- */

TEST_WITH(written_files_stand_once_after_a_batch, io_part_setup, io_part_teardown)
{
	struct io_page *page = io_part_page();
	char path[4096];

	scratch_file("data", 10);
	io_part_close(io_part_open("early", O_WRONLY | O_CREAT));
	assert_int_equal(page->written_count, 0);
	io_part_batch(1, "data");
	for (unsigned i = 0; i < 3; i++)
		io_part_close(io_part_open("model.pt", O_WRONLY | O_CREAT | O_TRUNC));
	io_part_close(io_part_open("log", O_RDWR | O_CREAT));
	io_part_close(io_part_open("/dev/null", O_WRONLY));
	io_part_close(io_part_open("x.pyc", O_WRONLY | O_CREAT));
	io_part_close(io_part_open("data", O_RDONLY));
	assert_int_equal(page->written_count, 2);
	snprintf(path, sizeof(path), "%s/model.pt", scratch_path());
	assert_string_equal(page->written[0].path, path);
	assert_int_equal(page->written[0].number, 1);
	for (unsigned i = 0; i < IO_WRITTEN; i++) {
		snprintf(path, sizeof(path), "%u", i);
		io_part_close(io_part_open(path, O_WRONLY | O_CREAT));
	}
	assert_int_equal(page->dropped_written, 2);
}

/* ---- threads, and the ring ---- */

enum { THREADS = 64, OPENS = 20 };

static void *open_many(void *arg)
{
	char name[16];

	(void)arg;
	for (unsigned i = 0; i < OPENS; i++) {
		int fd;

		snprintf(name, sizeof(name), "%u", i % 8);
		fd = io_part_open(name, O_RDONLY);
		io_part_read(fd, 1 << 12);
		io_part_close(fd);
	}
	return NULL;
}

static uint64_t digest_of_threads(void)
{
	pthread_t threads[THREADS];

	dsa_io_batch_begin(1);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, open_many, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	dsa_io_batch_end(1);
	return io_part_last()->digest;
}

static void *end_elsewhere(void *unused)
{
	(void)unused;
	dsa_io_batch_end(1);
	return NULL;
}

/* What its own thread read is not known of a batch that another thread ends. */
TEST_WITH(a_batch_of_two_threads_has_no_own_time, io_part_setup, io_part_teardown)
{
	pthread_t thread;
	int fd;

	scratch_file("a", 1000);
	io_part_batch(1, "a");
	assert_true(io_part_last()->own_io_ns > 0);
	dsa_io_batch_begin(2);
	fd = io_part_open("a", O_RDONLY);
	io_part_read(fd, 1000);
	io_part_close(fd);
	assert_int_equal(pthread_create(&thread, NULL, end_elsewhere, NULL), 0);
	pthread_join(thread, NULL);
	assert_true(io_part_last()->io_ns > 0);
	assert_int_equal(io_part_last()->own_io_ns, 0);
}

TEST_WITH(threads_count_together, io_part_setup, io_part_teardown)
{
	char name[16];

	for (unsigned i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "%u", i);
		scratch_file(name, 1000);
	}
	io_part_page()->listing = 1;
	assert_true(digest_of_threads() == digest_of_threads());
	assert_int_equal(io_part_last()->own_io_ns, 0);
	assert_int_equal(io_part_last()->opens, THREADS * OPENS);
	assert_int_equal(io_part_last()->bytes, THREADS * OPENS * 1000);
	assert_int_equal(io_part_page()->range_count, 2 * THREADS * OPENS);
}

/* What is read between two requests of a loader that has threads of its own. */
TEST_WITH(of_no_samples_there_is_no_record, io_part_setup, io_part_teardown)
{
	struct io_page *page = io_part_page();
	int fd;

	scratch_file("a", 5000);
	dsa_io_batch_begin(1);
	fd = io_part_open("a", O_RDONLY);
	assert_int_equal(io_part_read(fd, 4096), 4096);
	io_part_close(fd);
	dsa_io_batch_end(0);
	assert_int_equal(page->batch_count, 0);
	assert_int_equal(total(IO_bytes), 4096);
	assert_true(total(IO_io_ns) > 0);
	assert_int_equal(total(IO_batch_ns), 0);
}

TEST_WITH(batches_follow_one_another_without_a_gap, io_part_setup, io_part_teardown)
{
	struct io_page *page = io_part_page();
	int fd;

	scratch_file("a", 5000);
	dsa_io_batch_next(1); /* none was begun */
	dsa_io_batch_begin(1);
	fd = io_part_open("a", O_RDONLY);
	dsa_io_batch_next(0);
	assert_int_equal(io_part_read(fd, 100), 100);
	dsa_io_batch_next(4);
	assert_int_equal(io_part_read(fd, 200), 200);
	dsa_io_batch_next(0);
	dsa_io_batch_next(2);
	io_part_close(fd);
	dsa_io_batch_end(0);
	assert_int_equal(page->batch_count, 2);
	assert_int_equal(page->batches[0].samples, 4);
	assert_int_equal(page->batches[0].bytes, 100);
	assert_int_equal(page->batches[1].bytes, 0);
	assert_int_equal(total(IO_bytes), 300);
}

TEST_WITH(the_ring_has_the_last_ones, io_part_setup, io_part_teardown)
{
	struct io_page *page = io_part_page();

	for (unsigned i = 0; i < IO_BATCHES + 3; i++) {
		dsa_io_batch_begin(i);
		dsa_io_batch_end(1);
	}
	assert_int_equal(page->batch_count, IO_BATCHES + 3);
	assert_int_equal(page->batches[2].key, IO_BATCHES + 2);
	assert_int_equal(page->batches[2].number, IO_BATCHES + 3);
	assert_int_equal(page->batches[3].key, 3);
	assert_int_equal(total(IO_samples), IO_BATCHES + 3);
}
