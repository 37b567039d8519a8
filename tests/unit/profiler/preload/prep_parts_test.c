/* prep_parts_test.c - parts of making samples, from the page into a result. */
#include "profiler/io_page.h"
#include "profiler/preload/prep_parts.h"
#include "profiler/profile.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void name_part(struct io_page *page, unsigned at, const char *name, uint64_t ns)
{
	page->parts[at].state = IO_NAMED;
	strcpy(page->parts[at].name, name);
	page->parts[at].calls = 10;
	page->parts[at].ns = ns;
}

static struct io_page *known_page(void)
{
	struct io_page *page = calloc(1, sizeof(*page));

	assert_non_null(page);
	page->looked_samples = 10;
	page->dropped_parts = 3;
	name_part(page, 0, "Flip", 10000000);
	name_part(page, 1, "decode", 50000000);
	name_part(page, 2, "Flip", 10000000); /* two processes named it at once */
	name_part(page, 3, "Never", 0);
	page->parts[3].calls = 0;
	page->parts[4].state = IO_NAMING;
	page->slowest[2].ns = 2000000;
	page->slowest[2].sample = 4;
	page->slowest[5].ns = 9000000;
	page->slowest[5].sample = 2;
	strcpy(page->slowest[5].path, "a/2.jpg");
	page->slowest[6].ns = 9000000;
	page->slowest[6].busy = 1; /* its process was killed */
	return page;
}

TEST(parts_are_sorted_and_share)
{
	struct io_page *page = known_page();
	struct profile profile;

	profile_init(&profile);
	profile.handover_s = .024;
	profile.workers = 2;
	profile.batch = 8;
	assert_int_equal(prep_parts_add(page, &profile), 0);
	assert_int_equal(profile.looked_samples, 10);
	assert_int_equal(profile.dropped_records, 3);
	assert_int_equal(profile.part_count, 3);
	assert_string_equal(profile.parts[0].name, "decode");
	assert_float_equal(profile.parts[0].mean_s, .005, 1e-9);
	assert_float_equal(profile.parts[0].share, .5, 1e-9);
	assert_string_equal(profile.parts[1].name, PROFILE_HANDOVER);
	assert_float_equal(profile.parts[1].mean_s, .003, 1e-9);
	assert_true(profile.parts[1].calls == UNKNOWN);
	assert_string_equal(profile.parts[2].name, "Flip");
	assert_int_equal(profile.parts[2].calls, 20);
	assert_float_equal(profile.parts[2].share, .2, 1e-9);
	assert_int_equal(profile.slow_count, 2);
	assert_int_equal(profile.slowest[0].sample, 2);
	assert_string_equal(profile.slowest[0].file, "a/2.jpg");
	assert_float_equal(profile.slowest[1].prep_s, .002, 1e-9);
	assert_null(profile.slowest[1].file);
	profile_free(&profile);
	free(page);
}

TEST(nothing_was_looked_at)
{
	struct io_page *page = known_page();
	struct profile profile;

	page->looked_samples = 0;
	profile_init(&profile);
	assert_int_equal(prep_parts_add(page, &profile), 0);
	assert_int_equal(profile.part_count + profile.slow_count, 0);
	assert_true(profile.looked_samples == UNKNOWN);
	free(page);
}

TEST(without_a_worker_nothing_is_handed_over)
{
	struct io_page *page = known_page();
	struct profile profile;

	profile_init(&profile);
	profile.handover_s = .024;
	profile.workers = 0;
	profile.batch = 8;
	assert_int_equal(prep_parts_add(page, &profile), 0);
	assert_int_equal(profile.part_count, 2);
	profile_free(&profile);
	free(page);
}

TEST(every_allocation_may_fail)
{
	struct io_page *page = known_page();
	int result = -ENOMEM;

	for (int i = 1; result != 0; i++) {
		struct profile profile;

		profile_init(&profile);
		nomem_at(i);
		result = prep_parts_add(page, &profile);
		nomem_at(0);
		assert_true(result == 0 || result == -ENOMEM);
		profile_free(&profile);
	}
	free(page);
}
