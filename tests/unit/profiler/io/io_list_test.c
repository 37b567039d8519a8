/* io_list_test.c - files of a list, into the page cache and out of it. */
#include "profiler/io/base/attach.h"
#include "profiler/io/dsa_io.h"
#include "profiler/io/residency.h"
#include "tests/lib/io_part.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES = 200, SIZE = 10000 };

/* What lies in memory can't be evicted. */
static bool on_storage(void)
{
	struct statfs fs;

	assert_int_equal(statfs(".", &fs), 0);
	return fs.f_type != TMPFS_MAGIC && fs.f_type != RAMFS_MAGIC;
}

static void make_list(void)
{
	char name[16];

	io_part_page()->listing = 1;
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "%u", i);
		scratch_file(name, SIZE);
		io_part_batch(i, name);
	}
	io_part_page()->listing = 0;
}

static uint64_t resident(void)
{
	uint64_t bytes, there;

	assert_int_equal(dsa_io_list_resident(&bytes, &there), 0);
	assert_int_equal(bytes, FILES * SIZE);
	return there;
}

/* The kernel may take pages back at any time, and some hosts have it do so. */
static void still_resident(uint64_t bytes)
{
	assert_in_range(resident(), bytes - FILES * SIZE / 100, bytes);
}

static int evict(double share, uint64_t seed)
{
	uint64_t bytes;

	return dsa_io_list_evict(share, seed, &bytes);
}

TEST_WITH(a_list_goes_out_and_comes_back, io_part_setup, io_part_teardown)
{
	make_list();
	still_resident(FILES * SIZE);
	assert_int_equal(evict(1, 0), 0);
	if (on_storage())
		assert_int_equal(resident(), 0);
	assert_int_equal(dsa_io_list_read(1, 0), 0);
	still_resident(FILES * SIZE);
	assert_int_equal(io_page_total(io_part_page(), IO_bytes), FILES * SIZE);
	dsa_io_list_clear();
	io_part_page()->listing = 1;
	io_part_batch(7, "7");
	assert_int_equal(io_part_page()->range_count, 1);
}

TEST_WITH(a_share_is_drawn_by_seed, io_part_setup, io_part_teardown)
{
	uint64_t half;

	make_list();
	assert_int_equal(evict(0, 1), 0);
	still_resident(FILES * SIZE);
	if (!on_storage())
		skip();
	assert_int_equal(evict(0.5, 1), 0);
	half = resident();
	assert_in_range(half, FILES * SIZE / 3, FILES * SIZE * 2 / 3);
	assert_int_equal(evict(0.5, 1), 0);
	still_resident(half);
	assert_int_equal(evict(0.25, 1), 0); /* among these */
	still_resident(half);
	assert_int_equal(dsa_io_list_read(0.5, 1), 0);
	still_resident(FILES * SIZE);
	assert_int_equal(evict(0.5, 1), 0);
	assert_int_equal(evict(0.5, 2), 0);
	assert_in_range(resident(), FILES * SIZE / 8, FILES * SIZE * 3 / 8);
}

/* Of one long file each stretch has its own draw, and goes as a whole. */
TEST_WITH(a_long_file_goes_by_stretches, io_part_setup, io_part_teardown)
{
	enum { STRETCHES = 32, STRETCH = 2 << 20, RECORD = 3000 };
	uint64_t bytes, there;
	int fd;

	fd = open("long", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(posix_fallocate(fd, 0, (off_t)STRETCHES * STRETCH), 0);
	io_part_page()->listing = 1;
	dsa_io_batch_begin(1);
	for (unsigned i = 0; i < STRETCHES; i++) {
		io_part_pread(fd, RECORD, (long)i * STRETCH + 5000);
		io_part_pread(fd, RECORD, (long)i * STRETCH + 50000);
	}
	dsa_io_batch_end(1);
	assert_int_equal(evict(0.5, 3), 0);
	assert_int_equal(dsa_io_list_resident(&bytes, &there), 0);
	assert_int_equal(bytes, 2 * STRETCHES * RECORD);
	assert_int_equal(there % (uint64_t)(2 * RECORD), 0);
	if (on_storage())
		assert_in_range(there, bytes / 5, bytes * 4 / 5);
	close(fd);
}

TEST_WITH(one_that_is_gone_keeps_no_other_back, io_part_setup, io_part_teardown)
{
	uint64_t bytes, there;

	make_list();
	assert_int_equal(evict(1, 0), 0);
	assert_int_equal(unlink("0"), 0);
	assert_int_equal(truncate("1", 10), 0);
	assert_int_equal(dsa_io_list_read(1, 0), -ENOENT);
	assert_int_equal(dsa_io_list_resident(&bytes, &there), -ENOENT);
	assert_int_equal(bytes, (FILES - 1) * SIZE);
	assert_in_range(there, (FILES - 2) * SIZE, (FILES - 2) * SIZE + 4096);
	scratch_file("0", SIZE);
	assert_int_equal(dsa_io_list_read(1, 0), -ENODATA);
}

TEST_WITH(dirty_pages_go_too, io_part_setup, io_part_teardown)
{
	make_list();
	scratch_file("5", SIZE); /* just written */
	assert_int_equal(evict(1, 0), 0);
	if (on_storage())
		assert_int_equal(resident(), 0);
}

/* In a child, as an ordinary user of root's files. 0: true of all of it. */
static int as_nobody(void)
{
	enum { ALL = FILES * SIZE };
	uint64_t bytes = 0, there = 0;

	if (chmod(scratch_path(), 0755) < 0 || setuid(65534) < 0)
		return 2;
	if (dsa_io_list_resident(&bytes, &there) != -EPERM || bytes != ALL)
		return 3;
	if (dsa_io_list_evict(0.5, 1, &bytes) != 0 || bytes < ALL / 3 ||
	    bytes > ALL * 2 / 3)
		return 4;
	return bytes % SIZE == 0 ? 0 : 5;
}

TEST_WITH(others_files_are_evicted_but_not_asked_about, io_part_setup, io_part_teardown)
{
	int status;
	pid_t child;

	if (geteuid() != 0)
		skip();
	make_list();
	for (unsigned i = 0; i < FILES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		assert_int_equal(chmod(name, 0644), 0);
	}
	child = io_part_fork();
	if (child == 0)
		_exit(as_nobody());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	if (on_storage())
		assert_in_range(resident(), FILES * SIZE / 3, FILES * SIZE * 2 / 3);
}

TEST_WITH(both_ways_to_ask_agree, io_part_setup, io_part_teardown)
{
	uint64_t by_cachestat, by_mincore;
	char byte[1];
	int fd;

	scratch_file("a", 100000);
	fd = open("a", O_RDONLY | O_CLOEXEC);
	if (residency(fd, 0, 100000, &by_cachestat) < 0)
		skip();
	assert_int_equal(by_cachestat, 100000);
	fdatasync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	assert_int_equal(pread(fd, byte, 1, 50000), 1);
	for (uint64_t from = 0; from < 100000; from += 7777) {
		assert_int_equal(residency(fd, from, 3000, &by_cachestat), 0);
		assert_int_equal(residency_mincore(fd, from, 3000, &by_mincore), 0);
		assert_int_equal(by_cachestat, by_mincore);
	}
	close(fd);
}
