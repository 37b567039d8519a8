#include "loader/base/permutation.h"
#include "loader/base/random.h"
#include "tests/lib/test.h"

#include <stddef.h>

/* Of so many draws, equally likely: the statistic of Pearson's test. */
static double chi_square(const uint32_t *seen, size_t kinds, double draws)
{
	double expected = draws / (double)kinds, sum = 0;

	for (size_t i = 0; i < kinds; i++)
		sum += (seen[i] - expected) * (seen[i] - expected) / expected;
	return sum;
}

/* The reference implementation's first numbers for the seeds 0 and 1234567. */
TEST(random_is_splitmix64)
{
	struct random zero = {0}, other = {1234567};

	assert_int_equal(random_next(&zero), 0xe220a8397b1dcdaf);
	assert_int_equal(random_next(&zero), 0x6e789e6aa1b965f4);
	assert_int_equal(random_next(&other), 6457827717110365317);
	assert_int_equal(random_next(&other), 3203168211198807973);
}

TEST(a_unit_is_below_one)
{
	struct random random = {1};
	double sum = 0;

	for (int i = 0; i < 100000; i++) {
		double unit = random_unit(&random);

		assert_true(unit >= 0 && unit < 1);
		sum += unit;
	}
	assert_float_equal(sum / 100000, .5, .005);
}

TEST(below_is_uniform)
{
	enum { BOUND = 7, DRAWS = 70000 };
	uint32_t seen[BOUND] = {0};
	struct random random = {2};

	for (int i = 0; i < DRAWS; i++)
		seen[random_below(&random, BOUND)]++;
	assert_true(chi_square(seen, BOUND, DRAWS) < 22.5); /* 6 degrees, p = .001 */
	assert_int_equal(random_below(&random, 1), 0);
}

/* Two thirds of 2^32: without rejection the lower half would come twice as often. */
TEST(below_has_no_bias)
{
	enum { DRAWS = 30000 };
	const uint32_t bound = 0xaaaaaaab;
	struct random random = {3};
	uint32_t seen[2] = {0};

	for (int i = 0; i < DRAWS; i++)
		seen[random_below(&random, bound) >= bound / 2]++;
	assert_true(chi_square(seen, 2, DRAWS) < 10.8); /* 1 degree, p = .001 */
}

TEST(every_order_is_equally_likely)
{
	enum { COUNT = 4, ORDERS = 24, DRAWS = 24000 };
	uint32_t seen[ORDERS] = {0};

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

TEST(seeds_make_other_orders)
{
	enum { COUNT = 20 };
	uint32_t order[3][COUNT];

	permutation_fill(order[0], COUNT, 1, 0);
	permutation_fill(order[1], COUNT, 1, 1);
	permutation_fill(order[2], COUNT, 2, 0);
	assert_memory_not_equal(order[0], order[1], sizeof(order[0]));
	assert_memory_not_equal(order[0], order[2], sizeof(order[0]));
	assert_memory_not_equal(order[1], order[2], sizeof(order[0]));
}

/* Runs and windows that do and don't divide the data set, one of each, and more. */
static const struct permutation_blocks shapes[] = {{1, 4},     {3, 12}, {10, 20},
						   {16, 1024}, {7, 7},  {5000, 10000}};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

TEST(blocks_have_each_sample_once)
{
	static const uint32_t counts[] = {1, 2, 30, 1000, 1009};

	for (int i = 0; i < SHAPES * 5; i++) {
		uint32_t order[1009], count = counts[i % 5];
		uint8_t seen[1009] = {0};

		permutation_draw(order, count, shapes[i / 5], 3, (uint64_t)i);
		for (uint32_t at = 0; at < count; at++) {
			assert_true(order[at] < count);
			assert_int_equal(seen[order[at]]++, 0);
		}
	}
}

/* What is in a window is some runs, whole ones but where the short one shifts them. */
TEST(a_window_holds_whole_runs)
{
	enum { RUN = 10, WINDOW = 40, COUNT = 1000 };
	const struct permutation_blocks blocks = {RUN, WINDOW};
	uint32_t order[COUNT];

	permutation_draw(order, COUNT, blocks, 8, 2);
	for (uint32_t at = 0; at < COUNT; at += WINDOW) {
		uint8_t of[COUNT / RUN] = {0};

		for (uint32_t i = 0; i < WINDOW; i++)
			of[order[at + i] / RUN]++;
		for (uint32_t i = 0; i < COUNT / RUN; i++)
			assert_true(of[i] == 0 || of[i] == RUN);
	}
}

TEST(blocks_of_nothing_are_a_global_shuffle)
{
	enum { COUNT = 100 };
	uint32_t order[2][COUNT];

	permutation_draw(order[0], COUNT, (struct permutation_blocks){0}, 4, 9);
	permutation_fill(order[1], COUNT, 4, 9);
	assert_memory_equal(order[0], order[1], sizeof(order[0]));
}

enum { RUNS = 100 }; /* at most */

/* Pairs of a batch that are of one run: each sample with itself, and twice with those
 * before it. */
static uint32_t pairs_seen(const uint32_t *batch, uint32_t count, uint32_t run)
{
	uint32_t of_run[RUNS] = {0}, pairs = 0;

	for (uint32_t i = 0; i < count; i++)
		pairs += 1 + 2 * of_run[batch[i] / run]++;
	return pairs;
}

/* These over many epochs: 1 + that many more of each sample than none, to what a global
 * shuffle has. */
static double design_effect_seen(uint32_t count, struct permutation_blocks blocks,
				 uint32_t batch)
{
	enum { EPOCHS = 400 };
	uint32_t order[2000];
	const struct permutation_blocks orders[2] = {blocks};
	double pairs[2] = {0}, samples = (double)(count - count % batch) * EPOCHS;

	for (int global = 0; global < 2; global++)
		for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
			permutation_draw(order, count, orders[global], 6, epoch);
			for (uint32_t at = 0; at + batch <= count; at += batch)
				pairs[global] +=
					pairs_seen(&order[at], batch, blocks.run);
		}
	return (pairs[0] / samples) / (pairs[1] / samples);
}

TEST(the_design_effect_is_what_batches_show)
{
	static const struct {
		uint32_t count, batch;
		struct permutation_blocks blocks;
	} cases[] = {{2000, 20, {20, 200}},
		     {2000, 100, {20, 200}},
		     {2000, 25, {50, 100}},
		     {1600, 400, {20, 200}},
		     {400, 20, {40, 800}}};

	for (int i = 0; i < 5; i++) {
		double told = permutation_design_effect(cases[i].count, cases[i].blocks,
							cases[i].batch);
		double seen = design_effect_seen(cases[i].count, cases[i].blocks,
						 cases[i].batch);

		if (told / seen < .98 || told / seen > 1.02)
			fail_msg("case %d: told %.3f, seen %.3f", i, told, seen);
	}
	assert_true(permutation_design_effect(100, (struct permutation_blocks){0},
					      10) == 1);
}

TEST(runs_are_about_a_mebibyte)
{
	const struct permutation_blocks small = permutation_blocks_of(10240000, 10000);
	const struct permutation_blocks large = permutation_blocks_of(1u << 30, 10);

	assert_int_equal(small.run, 1024);
	assert_int_equal(small.window, 1024 * 64);
	assert_int_equal(large.run, 1);
	assert_int_equal(permutation_blocks_of(0, 7).run, 1 << 20);
	assert_int_equal(permutation_blocks_of(4280 * 100, 100).run, 256);
	assert_int_equal(permutation_blocks_of(4352 * 100, 100).run, 256);
	assert_int_equal(permutation_blocks_of(12000 * 100, 100).run, 64);
}
