/* kept_files_test.c - what was kept is put back, or it is told what was not. */
#include "loader/base/error.h"
#include "profiler/io_page.h"
#include "profiler/preload/kept_files.h"
#include "profiler/profile.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct io_page *page;

static int page_setup(void **state)
{
	int result = scratch_setup(state);

	page = calloc(1, sizeof(*page));
	return page == NULL || kept_files_open(page, scratch_path(), NULL) < 0 ? -1
									       : result;
}

static int page_teardown(void **state)
{
	free(page);
	return scratch_teardown(state);
}

/* A file of the page, that is kept, and a line of the script that moves it. */
static void keep(const char *to)
{
	FILE *script = fopen("kept/put-back", "a");

	assert_non_null(script);
	fprintf(script, "mv -f -- kept/1 %s\n", to);
	fclose(script);
	scratch_file("kept/1", 10);
	page->kept_count = 1;
}

TEST_WITH(what_was_kept_is_put_back, page_setup, page_teardown)
{
	keep("mine");
	assert_int_equal(kept_files_put_back(page, NULL), 0);
	assert_int_equal(access("mine", F_OK), 0);
	assert_int_equal(access("kept", F_OK), -1);
}

TEST_WITH(what_can_not_be_put_back_is_told_and_stays, page_setup, page_teardown)
{
	struct error err = {0};

	keep("none/mine");
	assert_int_equal(kept_files_put_back(page, &err), -EIO);
	assert_non_null(strstr(err.message, "/kept/put-back"));
	assert_int_equal(access("kept/1", F_OK), 0);
	assert_int_equal(access("kept/put-back", F_OK), 0);
}

TEST_WITH(what_was_lost_is_told, page_setup, page_teardown)
{
	struct profile profile;
	struct error err = {0};

	profile_init(&profile);
	page->kept_count = page->lost_count = page->lost[0].number = 1;
	strcpy(page->lost[0].path, "/home/me/last.pt");
	assert_int_equal(kept_files_close(page, &profile), 0);
	assert_int_equal(profile.files_kept, 0);
	assert_int_equal(profile.files_lost, 1);
	assert_string_equal(profile.lost_files[0], "/home/me/last.pt");
	assert_null(profile.lost_files[1]);
	profile_free(&profile);
	assert_int_equal(kept_files_put_back(page, &err), -EIO);
	assert_non_null(strstr(err.message, "could not be kept"));
	assert_int_equal(access("kept", F_OK), -1);
}

/* It was added to, and then overwritten. */
TEST_WITH(one_that_has_two_numbers_counts_once, page_setup, page_teardown)
{
	struct profile profile;

	profile_init(&profile);
	keep("mine");
	page->kept_count = 2;
	assert_int_equal(kept_files_close(page, &profile), 0);
	assert_int_equal(profile.files_kept, 1);
	assert_non_null(profile.put_back);
	profile_free(&profile);
}

/* The program may be about to keep its first file there. */
TEST_WITH(who_recovers_leaves_the_folder, page_setup, page_teardown)
{
	struct profile profile;

	profile_init(&profile);
	assert_int_equal(kept_files_recover(scratch_path(), &profile), 0);
	assert_int_equal(access("kept", F_OK), 0);
	assert_true(profile.files_kept == UNKNOWN && profile.put_back == NULL);
	keep("mine");
	assert_int_equal(kept_files_recover(scratch_path(), &profile), 0);
	assert_int_equal(profile.files_kept, 1);
	assert_non_null(profile.put_back);
	profile_free(&profile);
}
