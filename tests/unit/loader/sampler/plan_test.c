#include "loader/base/error.h"
#include "loader/plan.h"
#include "loader/sampler.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>

enum { COUNT = 10, BATCH = 4, END = 5 };

static const struct sampler_config sampler = {
	.count = COUNT, .seed = 3, .world = 1, .in_order = true};
static const uint32_t left[] = {7, 3, 9, 1, 5};
static const struct plan_rest rest = {.epoch = 2, .samples = left, .count = 5};
static struct error err;

static void expect_pass(struct plan *plan, uint64_t pass, const struct plan_pass *want)
{
	struct plan_pass got;

	plan_pass(plan, pass, &got);
	assert_int_equal(got.first, want->first);
	assert_int_equal(got.length, want->length);
	assert_int_equal(got.spare, want->spare);
	assert_int_equal(got.epoch, pass);
}

TEST(a_pass_is_an_epoch_until_the_end)
{
	struct plan *plan = plan_epochs(&sampler, 0, END, &err);

	assert_non_null(plan);
	expect_pass(plan, 0, &(struct plan_pass){.first = 0, .length = COUNT});
	expect_pass(plan, 4, &(struct plan_pass){.first = 4 * COUNT, .length = COUNT});
	expect_pass(plan, END, &(struct plan_pass){.first = END * COUNT});
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(plan_sample(plan, 1, i), i);
	plan_free(plan);
}

TEST(a_shards_passes_are_in_the_samplers_order)
{
	const struct sampler_config shard = {
		.count = 100, .seed = 7, .rank = 1, .world = 3};
	struct plan *plan = plan_epochs(&shard, 0, UINT64_MAX, &err);
	struct sampler *order = sampler_open(&shard, NULL);

	assert_null(plan->ops->readers);
	for (uint64_t pass = 0; pass < 3; pass++) {
		expect_pass(plan, pass, &(struct plan_pass){33 * pass, 33, 0, pass});
		for (uint32_t i = 0; i < 33; i++)
			assert_int_equal(plan_sample(plan, pass, i),
					 sampler_sample(order, pass, i));
	}
	sampler_close(order);
	plan_free(plan);
}

TEST(whole_batches_leave_the_rest_as_spare)
{
	struct plan *plan = plan_epochs(&sampler, BATCH, END, &err);

	expect_pass(plan, 1, &(struct plan_pass){COUNT, 8, 2, 1});
	assert_int_equal(plan_sample(plan, 1, 9), 9);
	plan_free(plan);
}

TEST(a_rest_is_one_pass_and_whole_epochs_follow)
{
	struct plan *plan = plan_after(&sampler, 0, END, &rest, &err);

	assert_non_null(plan);
	expect_pass(plan, 2, &(struct plan_pass){.first = 20, .length = 5});
	expect_pass(plan, 3, &(struct plan_pass){.first = 25, .length = COUNT});
	expect_pass(plan, 4, &(struct plan_pass){.first = 35, .length = COUNT});
	expect_pass(plan, END, &(struct plan_pass){.first = 45});
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(plan_sample(plan, 2, i), left[i]);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(plan_sample(plan, 3, i), i);
	plan_free(plan);
}

TEST(a_rest_of_whole_batches_has_spare_samples_too)
{
	struct plan *plan = plan_after(&sampler, BATCH, END, &rest, &err);

	assert_non_null(plan);
	expect_pass(plan, 2, &(struct plan_pass){.first = 20, .length = 4, .spare = 1});
	expect_pass(plan, 3, &(struct plan_pass){.first = 25, .length = 8, .spare = 2});
	assert_int_equal(plan_sample(plan, 2, 4), 5);
	plan_free(plan);
}

TEST(a_rest_that_can_not_be_is_refused)
{
	const uint32_t wild[] = {0, COUNT};

	assert_null(
		plan_after(&sampler, 0, END, &(struct plan_rest){0, wild, 2}, &err));
	assert_int_equal(err.code, EBADMSG);
	assert_null(
		plan_after(&sampler, 0, END, &(struct plan_rest){0, wild, 0}, &err));
	assert_int_equal(err.code, EINVAL);
	assert_null(plan_after(&sampler, BATCH, END, &(struct plan_rest){0, left, 3},
			       &err));
	assert_int_equal(err.code, EINVAL);
}

TEST(memory_that_runs_out_is_told)
{
	struct plan *plan = NULL;

	for (unsigned nth = 1; plan == NULL; nth++) {
		assert_true(nth < 20);
		err = (struct error){0};
		nomem_at(nth);
		plan = plan_after(&sampler, 0, END, &rest, &err);
		nomem_at(0);
		assert_true(plan != NULL || err.code == ENOMEM);
		assert_true(plan == NULL || nth > 2);
	}
	plan_free(plan);
	plan_free(NULL);
}
