#include "loader/base/steady.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Closed forms and replays of the data-stall literature, to three digits. */
static const struct {
	double x, minio, lru, fifo, random;
} table[] = {
	{.25, .250, .034, .038, .070}, {.35, .350, .070, .081, .141},
	{.50, .500, .153, .193, .282}, {.65, .650, .283, .399, .465},
	{.80, .800, .478, .656, .676},
};

enum { ROWS = sizeof(table) / sizeof(table[0]) };

static void means_match_the_reference_table(void **state)
{
	const double rounding = .0016; /* the table's own replays have noise */

	(void)state;
	for (int i = 0; i < ROWS; i++) {
		double x = table[i].x;

		assert_true(fabs(steady_mean("minio", x) - table[i].minio) < 1e-12);
		assert_true(fabs(steady_mean("lru", x) - table[i].lru) < .0005);
		assert_true(fabs(steady_mean("fifo", x) - table[i].fifo) < rounding);
		assert_true(fabs(steady_mean("random", x) - table[i].random) <
			    rounding);
		assert_true(fabs(steady_mean("nextuse", x) - x) < 1e-12);
	}
}

static void the_mean_is_that_of_the_positions(void **state)
{
	static const char *const policies[] = {"minio",  "lru",  "fifo",
					       "random", "page", "nextuse"};
	enum { N = 20000 };

	(void)state;
	for (int i = 0; i < 6; i++)
		for (double x = .05; x < 1; x += .05) {
			double sum = 0;

			for (int j = 0; j < N; j++)
				sum += steady_hit(policies[i], x, (j + .5) / N);
			assert_true(fabs(sum / N - steady_mean(policies[i], x)) < 1e-4);
		}
}

static void the_ends_are_exact(void **state)
{
	static const char *const policies[] = {"minio",  "lru",  "fifo",
					       "random", "page", "nextuse"};

	(void)state;
	for (int i = 0; i < 6; i++) {
		assert_true(steady_mean(policies[i], 0) == 0);
		assert_true(steady_hit(policies[i], 0, .5) == 0);
		assert_true(steady_mean(policies[i], 1) == 1);
		assert_true(steady_hit(policies[i], 1, 1) == 1);
		assert_true(steady_mean(policies[i], 1e-9) < 1e-8);
		assert_true(steady_mean(policies[i], 1 - 1e-9) > .999);
	}
	assert_true(steady_hit("none", .5, .1) == 0);
	assert_true(steady_mean("none", .5) == 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(means_match_the_reference_table),
		cmocka_unit_test(the_mean_is_that_of_the_positions),
		cmocka_unit_test(the_ends_are_exact),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("steady", tests, NULL, NULL);
}
