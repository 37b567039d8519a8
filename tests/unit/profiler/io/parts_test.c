/* parts_test.c - parts of making samples, and the slowest of these, in the page. */
#include "profiler/io/dsa_io.h"
#include "tests/lib/io_part.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- parts ---- */

TEST_WITH(a_name_has_one_place_in_every_process, io_part_setup, io_part_teardown)
{
	int first = dsa_io_part("Resize"), second = dsa_io_part("Crop"), status;
	pid_t child;

	assert_int_equal(first, 0);
	assert_int_equal(second, 1);
	child = io_part_fork();
	if (child == 0)
		_exit(dsa_io_part("Crop") + 10 * dsa_io_part("Flip"));
	waitpid(child, &status, 0);
	assert_int_equal(WEXITSTATUS(status), 21);
	assert_int_equal(dsa_io_part("Flip"), 2);
}

TEST_WITH(one_that_is_named_is_not_waited_for, io_part_setup, io_part_teardown)
{
	io_part_page()->parts[0].state = IO_NAMING; /* its process was killed */
	assert_int_equal(dsa_io_part("Resize"), 1);
	assert_int_equal(dsa_io_part("Resize"), 1);
}

TEST_WITH(long_names_are_cut, io_part_setup, io_part_teardown)
{
	char name[100] = {0};

	memset(name, 'x', sizeof(name) - 1);
	assert_int_equal(dsa_io_part(name), 0);
	assert_int_equal(dsa_io_part(name), 0);
	assert_int_equal(strlen(io_part_page()->parts[0].name), IO_PART_NAME - 1);
}

TEST_WITH(what_finds_no_room_is_counted, io_part_setup, io_part_teardown)
{
	const struct io_took took[] = {{-1, 7, 100}, {IO_PARTS, 2, 100}};
	char name[16];

	for (int i = 0; i < IO_PARTS; i++) {
		snprintf(name, sizeof(name), "part %d", i);
		assert_int_equal(dsa_io_part(name), i);
	}
	assert_int_equal(dsa_io_part("one more"), -1);
	dsa_io_took(took, 2, 4);
	assert_int_equal(io_part_page()->dropped_parts, 9);
}

TEST_WITH(calls_and_times_add_up, io_part_setup, io_part_teardown)
{
	const struct io_took took[] = {{0, 8, 1000}, {1, 1, -5}};
	const struct io_page *page = io_part_page();

	dsa_io_part("a");
	dsa_io_part("b");
	dsa_io_took(took, 2, 8);
	dsa_io_took(took, 2, 8);
	assert_int_equal(page->parts[0].calls, 16);
	assert_int_equal(page->parts[0].ns, 2000);
	assert_int_equal(page->parts[1].calls, 2);
	assert_int_equal(page->parts[1].ns, 0);
	assert_int_equal(page->looked_samples, 16);
}

TEST_WITH(time_in_io_is_told, io_part_setup, io_part_teardown)
{
	const _Atomic uint64_t *io_ns = dsa_io_look();
	uint64_t before;

	assert_non_null(io_ns);
	before = *io_ns;
	scratch_text("file", "data");
	io_part_batch(1, "file");
	assert_true(*io_ns > before);
	assert_int_equal(dsa_io_looks_at(), 0);
	dsa_io_look_at(77);
	assert_int_equal(dsa_io_looks_at(), 77);
}

/* ---- the slowest samples ---- */

static const struct io_slow *entry_of(uint64_t sample)
{
	const struct io_page *page = io_part_page();

	for (unsigned i = 0; i < IO_SLOWEST; i++)
		if (page->slowest[i].ns > 0 && page->slowest[i].sample == sample)
			return &page->slowest[i];
	return NULL;
}

TEST_WITH(the_slowest_are_kept, io_part_setup, io_part_teardown)
{
	for (unsigned i = 1; i <= 3 * IO_SLOWEST; i++)
		dsa_io_sample(i, 10 * i);
	for (unsigned i = 1; i <= 3 * IO_SLOWEST; i++)
		assert_int_equal(entry_of(i) != NULL, i > 2 * IO_SLOWEST);
}

TEST_WITH(made_again_the_least_counts, io_part_setup, io_part_teardown)
{
	for (unsigned i = 1; i <= IO_SLOWEST; i++)
		dsa_io_sample(i, 1000 * i);
	dsa_io_sample(5, 9000);
	assert_int_equal(entry_of(5)->ns, 5000);
	dsa_io_sample(5, 10); /* disturbed, the first time */
	assert_int_equal(entry_of(5)->ns, 10);
	dsa_io_sample(99, 20);
	assert_null(entry_of(5));
	assert_int_equal(entry_of(99)->ns, 20);
}

/* Its process was killed as it wrote the entry. */
TEST_WITH(one_that_stays_busy_holds_no_other_up, io_part_setup, io_part_teardown)
{
	io_part_page()->slowest[0].busy = 1;
	for (unsigned i = 1; i <= IO_SLOWEST; i++)
		dsa_io_sample(i, 10 * i);
	for (unsigned i = 1; i <= IO_SLOWEST; i++)
		assert_int_equal(entry_of(i) != NULL, i > 1);
	for (unsigned i = 0; i < IO_SLOWEST; i++)
		io_part_page()->slowest[i].busy = 1;
	dsa_io_sample(99, 1000);
	assert_null(entry_of(99));
}

TEST_WITH(its_first_file_is_told, io_part_setup, io_part_teardown)
{
	scratch_text("one", "1");
	scratch_text("two", "2");
	io_part_batch(1, "one"); /* not looked at */
	dsa_io_look();
	dsa_io_batch_begin(2);
	io_part_close(io_part_open("./two", O_RDONLY));
	io_part_close(io_part_open("one", O_RDONLY));
	dsa_io_sample(7, 100);
	dsa_io_sample(8, 100);
	dsa_io_batch_end(2);
	dsa_io_took(NULL, 0, 2);
	io_part_batch(3, "one"); /* nor this */
	dsa_io_sample(9, 100);
	assert_string_equal(entry_of(7)->path, "./two");
	assert_string_equal(entry_of(8)->path, "");
	assert_string_equal(entry_of(9)->path, "");
}

TEST_WITH(without_a_page_nothing_happens, io_part_setup, io_part_teardown)
{
	io_part_attach("missing");
	assert_null(dsa_io_look());
	assert_int_equal(dsa_io_part("Resize"), -1);
	dsa_io_look_at(1);
	dsa_io_sample(1, 1);
	dsa_io_took(NULL, 0, 1);
	assert_int_equal(dsa_io_looks_at(), 0);
}
