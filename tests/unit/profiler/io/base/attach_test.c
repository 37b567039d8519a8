/* attach_test.c - the page, and who counts in which slot of it. */
#include "loader/base/error.h"
#include "loader/base/host/process.h"
#include "profiler/io/base/attach.h"
#include "profiler/io/dsa_io.h"
#include "tests/lib/io_part.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A page that is in memory, with those of ranks. */
static struct memory {
	struct io_page *page;
	int fd;
	char path[32];
} memory;

static uint64_t owner_of(pid_t pid)
{
	return process_start((uint32_t)pid, NULL) << IO_PID_BITS | (uint32_t)pid;
}

/* ---- the page ---- */

TEST_WITH(it_is_whole_and_private, io_part_setup, io_part_teardown)
{
	struct stat status;

	assert_int_equal(stat("page", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(status.st_size, sizeof(struct io_page));
	assert_true(status.st_blocks * 512 >= (off_t)sizeof(struct io_page));
	assert_ptr_not_equal(dsa_io_page(), NULL);
	assert_int_equal(dsa_io_page()->version, IO_VERSION);
	assert_null(attach_self.slot); /* only a batch makes it one that takes part */
}

TEST_WITH(nothing_is_replaced, io_part_setup, io_part_teardown)
{
	struct error err = {0};

	scratch_text("mine", "mine");
	assert_null(io_page_create("mine", IO_WHOLE, &err));
	assert_int_equal(err.code, EEXIST);
	assert_non_null(strstr(err.message, "cannot make mine"));
	assert_int_equal(scratch_size("mine"), 4);
	assert_null(io_page_create("no/folder", IO_WHOLE, &err));
	assert_int_equal(err.code, ENOENT);
}

TEST_WITH(another_file_is_refused, io_part_setup, io_part_teardown)
{
	scratch_text("short", IO_MAGIC);
	io_part_attach("short");
	assert_null(dsa_io_page());
	io_part_attach("missing");
	assert_null(dsa_io_page());
	io_part_page()->version++;
	io_part_attach("page");
	assert_null(dsa_io_page());
	dsa_io_batch_begin(1);
	dsa_io_batch_end(1);
	dsa_io_pad(0);
	dsa_io_list_clear();
	assert_int_equal(dsa_io_list_read(1, 0), 0);
	io_part_page()->version--;
	assert_null(dsa_io_page()); /* it does not ask again */
}

static blkcnt_t blocks_of(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_blocks;
}

/* As in another namespace of processes, or where dsa could not be asked for its memory. */
TEST_WITH(a_spare_one_takes_room_once_it_is_wanted, io_part_setup, io_part_teardown)
{
	struct io_page *spare = io_page_create("spare", IO_SPARSE, NULL);

	assert_non_null(spare);
	assert_true(blocks_of("spare") * 512 < (off_t)sizeof(*spare) / 8);
	attach_begin("page", "spare", NULL);
	dsa_io_page()->looks_at = 1;
	assert_int_equal(spare->looks_at, 0);
	io_part_attach("");
	attach_begin("missing", "spare", NULL);
	dsa_io_page()->looks_at = 2;
	assert_int_equal(spare->looks_at, 2);
	assert_true(blocks_of("spare") * 512 >= (off_t)sizeof(*spare));
	io_page_unmap(spare);
}

/* ---- ranks ---- */

static int memory_setup(void **state)
{
	int result = scratch_setup(state);

	memory.page = io_page_memory(&memory.fd);
	snprintf(memory.path, sizeof(memory.path), "/proc/self/fd/%d", memory.fd);
	io_part_attach(memory.path);
	return memory.page != NULL ? result : -1;
}

static int memory_teardown(void **state)
{
	io_part_attach("");
	io_page_unmap(memory.page);
	close(memory.fd);
	return scratch_teardown(state);
}

/* As a process that begins with DSA_IO_RANK. */
static void attach_as(const char *path, const char *rank)
{
	io_part_attach("");
	attach_begin(path, NULL, rank);
}

TEST_WITH(a_rank_has_a_page_of_its_own, memory_setup, memory_teardown)
{
	struct io_page *own;

	memory.page->prep_delay = 0.25;
	scratch_file("data", 100);
	assert_ptr_equal(dsa_io_page(), dsa_io_first_page());
	assert_true(dsa_io_rank(3));
	own = dsa_io_page();
	assert_ptr_not_equal(own, dsa_io_first_page());
	assert_int_equal(own->version, IO_VERSION);
	assert_true(own->prep_delay == 0.25);
	dsa_io_first_page()->looks_at = 7;
	assert_int_equal(memory.page->looks_at, 7);
	assert_int_equal(own->looks_at, 0);
	io_part_batch(1, "data");
	assert_int_equal(own->batch_count, 1);
	assert_int_equal(io_page_total(own, IO_bytes), 100);
	assert_int_equal(memory.page->batch_count, 0);
	assert_int_equal(io_page_total(memory.page, IO_bytes), 0);
}

TEST_WITH(a_slot_before_that_is_the_first_ones, memory_setup, memory_teardown)
{
	struct io_slot *before = attach_slot();

	attach_add(before, IO_bytes, 5);
	assert_true(dsa_io_rank(1));
	assert_ptr_not_equal(attach_slot(), before);
	assert_int_equal(io_page_total(dsa_io_page(), IO_bytes), 0);
	assert_int_equal(io_page_total(memory.page, IO_bytes), 5);
}

TEST_WITH(processes_of_a_rank_share_its_page, memory_setup, memory_teardown)
{
	struct io_page *page;
	int status;

	attach_as(memory.path, "11");
	page = dsa_io_page();
	page->looks_at = 11;
	assert_int_equal(memory.page->looks_at, 0);
	if (io_part_fork() == 0) { /* a worker that is forked, and one that is not */
		page->looks_at += dsa_io_page() == page;
		attach_as(memory.path, "11");
		dsa_io_page()->looks_at += 100;
		_exit(0);
	}
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
	assert_int_equal(page->looks_at, 112);
	attach_as(memory.path, "1");
	assert_int_equal(dsa_io_page()->looks_at, 0);
	attach_as(memory.path, "0");
	assert_ptr_equal(dsa_io_page(), dsa_io_first_page());
}

TEST_WITH(storage_and_written_files_are_the_first_ones, memory_setup, memory_teardown)
{
	struct io_page *first = memory.page, *own;

	first->storage_bandwidth = 1e9;
	first->throttled = 1;
	scratch_file("data", 1000);
	assert_true(dsa_io_rank(1));
	own = dsa_io_page();
	io_part_batch(1, "data");
	assert_int_equal(io_page_total(own, IO_throttle_bytes), 1000);
	assert_true(first->busy_until_ns > 0);
	assert_int_equal(own->busy_until_ns, 0);
	assert_true(first->keeping > 0);
	assert_int_equal(own->keeping, 0);
	io_part_close(io_part_open("model.pt", O_WRONLY | O_CREAT));
	assert_int_equal(first->written_count, 1);
	assert_int_equal(own->written_count, 0);
}

TEST_WITH(a_rank_without_a_page_counts_nowhere, io_part_setup, io_part_teardown)
{
	assert_false(dsa_io_rank(1));
	assert_ptr_equal(dsa_io_page(), dsa_io_first_page());
	attach_as("page", "1");
	assert_null(dsa_io_page());
	assert_non_null(dsa_io_first_page());
	scratch_file("data", 10);
	io_part_batch(1, "data");
	assert_null(attach_slot());
	assert_int_equal(io_part_page()->batch_count, 0);
	assert_int_equal(io_page_total(io_part_page(), IO_opens), 0);
	io_part_close(io_part_open("data", O_WRONLY | O_TRUNC));
}

TEST_WITH(there_are_so_many_ranks, memory_setup, memory_teardown)
{
	assert_false(dsa_io_rank(IO_RANKS));
	assert_true(dsa_io_rank(IO_RANKS - 1));
	io_part_attach("missing");
	assert_false(dsa_io_rank(1));
}

/* What has the page's name in another namespace of processes. */
TEST_WITH(another_file_has_no_ranks_either, io_part_setup, io_part_teardown)
{
	struct io_page *spare = io_page_create("spare", IO_SPARSE, NULL);
	char bytes[8] = "";
	int fd;

	assert_non_null(spare);
	scratch_file("other", 1);
	assert_int_equal(truncate("other", 2 * IO_STRIDE), 0);
	io_part_attach("");
	attach_begin("other", "spare", NULL);
	assert_non_null(dsa_io_page());
	assert_false(dsa_io_rank(1));
	fd = open("other", O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(fd, bytes, sizeof(bytes), IO_STRIDE), sizeof(bytes));
	assert_memory_equal(bytes, "\0\0\0\0\0\0\0", sizeof(bytes));
	close(fd);
	io_page_unmap(spare);
}

/* ---- slots ---- */

TEST_WITH(a_process_keeps_its_slot, io_part_setup, io_part_teardown)
{
	struct io_slot *slot = attach_slot();

	assert_non_null(slot);
	assert_true(slot->owner == owner_of(getpid()));
	assert_ptr_equal(attach_slot(), slot);
	io_part_attach("page"); /* as after exec() */
	assert_int_equal(attach_slot() - attach_self.page->slots,
			 slot - dsa_io_page()->slots);
}

TEST_WITH(one_that_lives_is_left_alone, io_part_setup, io_part_teardown)
{
	struct io_page *page = io_part_page();

	for (unsigned i = 0; i < IO_SLOTS; i++)
		page->slots[i].owner = owner_of(getppid());
	assert_null(attach_slot());
	assert_int_equal(page->dropped_processes, 1);
	dsa_io_batch_begin(1);
	dsa_io_batch_end(1);
	assert_int_equal(page->batch_count, 0);
	assert_int_equal(page->dropped_processes, 2);
	/* another process had that pid */
	page->slots[77].owner += (uint64_t)1 << IO_PID_BITS;
	page->slots[77].counters[IO_bytes] = 1000;
	assert_ptr_equal(attach_slot(), &attach_self.page->slots[77]);
	attach_add(attach_slot(), IO_bytes, 1);
	assert_int_equal(io_page_total(page, IO_bytes), 1001);
}

TEST_WITH(a_child_has_its_own, io_part_setup, io_part_teardown)
{
	int status;
	pid_t child;

	dsa_io_batch_begin(1);
	child = io_part_fork();
	if (child == 0) {
		if (attach_self.batch != 0 || attach_self.slot != NULL)
			_exit(1);
		_exit(attach_slot()->owner != owner_of(getpid()));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_not_equal(attach_self.batch, 0);
	dsa_io_batch_end(1);
	assert_int_equal(io_part_last()->flags, IO_FORKED);
}

/* ---- many ---- */

enum { WORKERS = 500, AT_ONCE = 64, FILE_SIZE = 12345 };

/* A batch, and half of another. */
static void work_and_die(int number)
{
	io_part_batch(1, "data");
	dsa_io_batch_begin(2);
	io_part_close(io_part_open("data", 0));
	if (number % 2 == 0)
		_exit(0);
	raise(SIGKILL);
}

static void bury(unsigned *alive)
{
	assert_true(wait(NULL) > 0);
	--*alive;
}

TEST_WITH(workers_that_are_killed_lose_nothing, io_part_setup, io_part_teardown)
{
	struct io_page *page = io_part_page();
	unsigned alive = 0;

	scratch_file("data", FILE_SIZE);
	for (int i = 0; i < WORKERS; i++) {
		if (alive == AT_ONCE)
			bury(&alive);
		if (io_part_fork() == 0)
			work_and_die(i);
		alive++;
	}
	while (alive > 0)
		bury(&alive);
	assert_int_equal(page->dropped_processes, 0);
	assert_int_equal(io_page_total(page, IO_batches), WORKERS);
	assert_int_equal(io_page_total(page, IO_samples), WORKERS);
	assert_int_equal(io_page_total(page, IO_opens), 2 * WORKERS);
	assert_int_equal(io_page_total(page, IO_reads), WORKERS);
	assert_int_equal(io_page_total(page, IO_bytes), WORKERS * FILE_SIZE);
	assert_int_equal(page->batch_count, WORKERS);
}
