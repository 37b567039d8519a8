/* attach_test.c - the page, and who counts in which slot of it. */
#include "loader/base/error.h"
#include "loader/base/host/process.h"
#include "profiler/io/base/attach.h"
#include "profiler/io/dsa_io.h"
#include "tests/lib/io_part.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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
