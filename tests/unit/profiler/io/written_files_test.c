/* written_files_test.c - what is kept of files before the program overwrites them. */
#include "profiler/io/written_files.h"
#include "tests/lib/io_part.h"
#include "tests/lib/scratch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Its files are kept from now on. */
static struct io_page *keeping_page(void)
{
	struct io_page *page = io_part_page();

	snprintf(page->kept_folder, sizeof(page->kept_folder), "%.400s/kept",
		 scratch_path());
	assert_int_equal(mkdir("kept", 0700), 0);
	page->keeping = 1;
	return page;
}

static void overwrite(const char *name)
{
	written_truncates(AT_FDCWD, name);
	io_part_close(io_part_open(name, O_WRONLY | O_CREAT | O_TRUNC));
}

static void the_script_names_what_it_moves_and_asks_nothing(void **state)
{
	struct io_page *page = keeping_page();
	char text[4096] = "", line[2048];
	FILE *script;

	(void)state;
	scratch_file("model.pt", 100);
	overwrite("model.pt");
	assert_int_equal(page->written[0].kept, IO_KEPT);
	assert_int_equal(scratch_size("kept/1"), 100);
	script = fopen("kept/put-back", "r");
	assert_non_null(script);
	assert_in_range(fread(text, 1, sizeof(text) - 1, script), 1, sizeof(text));
	fclose(script);
	snprintf(line, sizeof(line), "\nmv -f -- '%s/1' '%s/model.pt'\n",
		 page->kept_folder, scratch_path());
	assert_non_null(strstr(text, line));
}

static void one_that_the_script_can_not_name_is_told_as_lost(void **state)
{
	struct io_page *page = keeping_page();

	(void)state;
	assert_int_equal(mkdir("kept/put-back", 0700), 0);
	scratch_file("model.pt", 100);
	overwrite("model.pt");
	assert_int_equal(page->written[0].kept, IO_LOST);
	assert_int_equal(scratch_size("kept/1"), 100);
}

static void one_that_was_added_to_is_kept_later(void **state)
{
	struct io_page *page = keeping_page();

	(void)state;
	scratch_file("data", 10);
	scratch_file("log", 100);
	io_part_batch(1, "data");
	io_part_close(io_part_open("log", O_WRONLY | O_APPEND));
	io_part_close(io_part_open("new", O_WRONLY | O_CREAT));
	assert_int_equal(page->written[0].kept, IO_THERE);
	assert_int_equal(page->written[1].kept, IO_NEW);
	scratch_file("new", 5);
	for (int i = 0; i < 2; i++) {
		overwrite("log");
		overwrite("new");
		scratch_file("log", 5);
	}
	assert_int_equal(page->written_count, 2);
	assert_int_equal(page->written[0].kept, IO_KEPT);
	assert_int_equal(page->written[1].kept, IO_NEW);
	assert_int_equal(scratch_size("kept/1"), 100);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		IN_PAGE(the_script_names_what_it_moves_and_asks_nothing),
		IN_PAGE(one_that_the_script_can_not_name_is_told_as_lost),
		IN_PAGE(one_that_was_added_to_is_kept_later),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("written_files", tests, NULL, NULL);
}
