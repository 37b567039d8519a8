#include "loader/base/permutation.h"
#include "loader/base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Of so many draws, equally likely: the statistic of Pearson's test. */
static double chi_square(const uint32_t *seen, size_t kinds, double draws)
{
	double expected = draws / (double)kinds, sum = 0;

	for (size_t i = 0; i < kinds; i++)
		sum += (seen[i] - expected) * (seen[i] - expected) / expected;
	return sum;
}

/* The reference implementation's first numbers for the seeds 0 and 1234567. */
static void random_is_splitmix64(void **state)
{
	struct random zero = {0}, other = {1234567};

	(void)state;
	assert_int_equal(random_next(&zero), 0xe220a8397b1dcdaf);
	assert_int_equal(random_next(&zero), 0x6e789e6aa1b965f4);
	assert_int_equal(random_next(&other), 6457827717110365317);
	assert_int_equal(random_next(&other), 3203168211198807973);
}

static void a_unit_is_below_one(void **state)
{
	struct random random = {1};
	double sum = 0;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		double unit = random_unit(&random);

		assert_true(unit >= 0 && unit < 1);
		sum += unit;
	}
	assert_float_equal(sum / 100000, .5, .005);
}

static void below_is_uniform(void **state)
{
	enum { BOUND = 7, DRAWS = 70000 };
	uint32_t seen[BOUND] = {0};
	struct random random = {2};

	(void)state;
	for (int i = 0; i < DRAWS; i++)
		seen[random_below(&random, BOUND)]++;
	assert_true(chi_square(seen, BOUND, DRAWS) < 22.5); /* 6 degrees, p = .001 */
	assert_int_equal(random_below(&random, 1), 0);
}

/* Two thirds of 2^32: without rejection the lower half would come twice as often. */
static void below_has_no_bias(void **state)
{
	enum { DRAWS = 30000 };
	const uint32_t bound = 0xaaaaaaab;
	struct random random = {3};
	uint32_t seen[2] = {0};

	(void)state;
	for (int i = 0; i < DRAWS; i++)
		seen[random_below(&random, bound) >= bound / 2]++;
	assert_true(chi_square(seen, 2, DRAWS) < 10.8); /* 1 degree, p = .001 */
}

static void every_order_is_equally_likely(void **state)
{
	enum { COUNT = 4, ORDERS = 24, DRAWS = 24000 };
	uint32_t seen[ORDERS] = {0};

	(void)state;
	for (uint64_t epoch = 0; epoch < DRAWS; epoch++) {
		uint32_t order[COUNT], rank = 0;

		permutation_fill(order, COUNT, 5, epoch);
		for (int i = 0; i < COUNT; i++) {
			uint32_t smaller = 0;

			for (int j = i + 1; j < COUNT; j++)
				smaller += order[j] < order[i];
			rank = rank * (uint32_t)(COUNT - i) + smaller;
		}
		seen[rank]++;
	}
	assert_true(chi_square(seen, ORDERS, DRAWS) < 49.7); /* 23 degrees, p = .001 */
}

static void seeds_make_other_orders(void **state)
{
	enum { COUNT = 20 };
	uint32_t order[3][COUNT];

	(void)state;
	permutation_fill(order[0], COUNT, 1, 0);
	permutation_fill(order[1], COUNT, 1, 1);
	permutation_fill(order[2], COUNT, 2, 0);
	assert_memory_not_equal(order[0], order[1], sizeof(order[0]));
	assert_memory_not_equal(order[0], order[2], sizeof(order[0]));
	assert_memory_not_equal(order[1], order[2], sizeof(order[0]));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_is_splitmix64),
		cmocka_unit_test(a_unit_is_below_one),
		cmocka_unit_test(below_is_uniform),
		cmocka_unit_test(below_has_no_bias),
		cmocka_unit_test(every_order_is_equally_likely),
		cmocka_unit_test(seeds_make_other_orders),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
