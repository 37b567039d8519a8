/* The samples of an epoch that a program has had. */
#include "loader/share/client/sample_set.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdint.h>

TEST(what_was_not_had_is_missing)
{
	const uint32_t had[] = {0, 64, 129, 63, 5}, back[] = {64, 5};
	struct sample_set set;

	assert_int_equal(sample_set_init(&set, 130), 0);
	assert_int_equal(sample_set_missing(&set), 130);
	sample_set_add(&set, had, 5);
	sample_set_add(&set, had, 5); /* twice is once */
	assert_int_equal(sample_set_missing(&set), 125);
	assert_true(sample_set_has(&set, 129));
	sample_set_remove(&set, back, 2);
	assert_false(sample_set_has(&set, 64));
	assert_int_equal(sample_set_missing(&set), 127);
	assert_true(sample_set_has(&set, 0) && sample_set_has(&set, 63));
	for (uint32_t sample = 1; sample <= 6; sample++)
		assert_false(sample_set_has(&set, sample));
	assert_false(sample_set_has(&set, 128));
	sample_set_clear(&set);
	assert_int_equal(sample_set_missing(&set), 130);
	sample_set_fini(&set);
}

TEST(numbers_beyond_the_data_set_are_in_no_set)
{
	const uint32_t beyond[] = {10, 63, UINT32_MAX};
	struct sample_set set;

	assert_int_equal(sample_set_init(&set, 10), 0);
	sample_set_add(&set, beyond, 3);
	sample_set_remove(&set, beyond, 3);
	for (int i = 0; i < 3; i++)
		assert_false(sample_set_has(&set, beyond[i]));
	assert_int_equal(sample_set_missing(&set), 10);
	sample_set_fini(&set);
}

TEST(memory_that_runs_out_is_an_error)
{
	struct sample_set set;

	nomem_at(1);
	assert_int_equal(sample_set_init(&set, 10), -ENOMEM);
	nomem_at(0);
	sample_set_fini(&set);
}
