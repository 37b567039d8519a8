#include "loader/base/math/steady.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Closed forms and replays of the data-stall literature, to three digits. */
static const struct {
	double x, minio, lru, fifo, random;
} table[] = {
	{.25, .250, .034, .038, .070}, {.35, .350, .070, .081, .141},
	{.50, .500, .153, .193, .282}, {.65, .650, .283, .399, .465},
	{.80, .800, .478, .656, .676},
};

enum { ROWS = sizeof(table) / sizeof(table[0]) };

TEST(means_match_the_reference_table)
{
	const double rounding = .0016; /* the table's own replays have noise */

	for (int i = 0; i < ROWS; i++) {
		double x = table[i].x;

		assert_true(fabs(steady_mean(CACHE_MINIO, x, 0) - table[i].minio) <
			    1e-12);
		assert_true(fabs(steady_mean(CACHE_LRU, x, 0) - table[i].lru) < .0005);
		assert_true(fabs(steady_mean(CACHE_FIFO, x, 0) - table[i].fifo) <
			    rounding);
		assert_true(fabs(steady_mean(CACHE_RANDOM, x, 0) - table[i].random) <
			    rounding);
		assert_true(fabs(steady_mean(CACHE_NEXTUSE, x, 0) - x) < 1e-12);
	}
}

/*
 * Hits of Linux 6.18 as tests/bench/page_cache.py saw them: 3,000 files of 109 KB and,
 * since the balance of the lists changes above 1 GiB, 16,000 of 256 KiB.
 */
TEST(page_is_what_the_kernel_was_seen_to_do)
{
	static const uint64_t small = 333 << 20, large = 4000ull << 20;
	const struct {
		uint64_t dataset;
		double x, hits;
	} seen[] = {
		{small, .231, .097}, {small, .335, .132}, {small, .483, .209},
		{small, .634, .342}, {small, .733, .470}, {small, .884, .713},
		{large, .349, .201}, {large, .649, .405},
	};

	for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
		double hits = steady_mean(CACHE_PAGE, seen[i].x, seen[i].dataset);

		assert_true(fabs(hits - seen[i].hits) < .02);
	}
}

static const enum cache_id policies[] = {CACHE_MINIO,  CACHE_LRU,     CACHE_FIFO,
					 CACHE_RANDOM, CACHE_NEXTUSE, CACHE_PAGE};

enum { POLICIES = sizeof(policies) / sizeof(policies[0]) };

TEST(the_mean_is_that_of_the_parts)
{
	enum { PARTS = 4096 };
	double hit[PARTS];

	for (int i = 0; i < POLICIES; i++)
		for (double x = .05; x < 1; x += .05) {
			double sum = 0;

			assert_int_equal(steady_over(policies[i], x, 0, hit, PARTS), 0);
			for (int j = 0; j < PARTS; j++)
				sum += hit[j] / PARTS;
			assert_true(fabs(sum - steady_mean(policies[i], x, 0)) < 5e-4);
		}
}

TEST(the_ends_are_exact)
{
	double hit[2];

	for (int i = 0; i < POLICIES; i++) {
		assert_true(steady_mean(policies[i], 0, 0) == 0);
		assert_true(steady_mean(policies[i], 1, 0) == 1);
		assert_int_equal(steady_over(policies[i], 0, 0, hit, 2), 0);
		assert_true(hit[0] == 0 && hit[1] == 0);
		assert_int_equal(steady_over(policies[i], 1, 0, hit, 2), 0);
		assert_true(hit[0] == 1 && hit[1] == 1);
		assert_true(steady_mean(policies[i], 1e-9, 0) < 1e-8);
		assert_true(steady_mean(policies[i], 1 - 1e-9, 0) > .99);
	}
	assert_true(steady_mean(CACHE_NONE, .5, 0) == 0);
	assert_int_equal(steady_over(CACHE_NONE, .5, 0, hit, 2), 0);
	assert_true(hit[0] == 0 && hit[1] == 0);
}

TEST(memory_short_is_told)
{
	double hit;

	for (unsigned nth = 1; nth <= 3; nth++) {
		nomem_at(nth);
		assert_true(isnan(steady_mean(CACHE_PAGE, .5, 0)));
		nomem_at(nth);
		assert_int_equal(steady_over(CACHE_PAGE, .5, 0, &hit, 1), -ENOMEM);
		nomem_at(0);
	}
}
