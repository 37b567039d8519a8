#include "loader/base/math/median.h"
#include "loader/base/math/student.h"
#include "loader/base/random.h"
#include "profiler/analysis/statistics.h"
#include "tests/lib/close_to.h"
#include "tests/lib/test.h"

#include <math.h>

/* Fisher and Yates, Statistical Tables, table III. */
TEST(t_quantiles_match_the_tables)
{
	static const struct {
		double inside;
		unsigned freedom;
		double t;
	} table[] = {
		{.95, 1, 12.706},  {.95, 2, 4.303},      {.95, 3, 3.182},
		{.95, 7, 2.365},   {.95, 10, 2.228},     {.95, 30, 2.042},
		{.95, 120, 1.980}, {.95, 100000, 1.960}, {.90, 5, 2.015},
		{.99, 7, 3.499},   {.999, 4, 8.610},     {.50, 9, 0.703},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		close_to(student_t(table[i].inside, table[i].freedom), table[i].t,
			 6e-4);
	assert_true(isnan(student_t(.95, 0)));
}

/* For a mean the jackknife is the textbook interval: 5 of 1..5, s = sqrt(2.5). */
TEST(the_mean_of_ones_is_one)
{
	double ones[64];

	for (size_t n = 0; n < 64; n++) {
		ones[n] = 1;
		assert_true(statistics_mean(ones, n + 1).value == 1);
	}
}

TEST(jackknife_of_a_mean_is_the_usual_interval)
{
	double without[5];
	struct interval mean;

	for (int i = 0; i < 5; i++)
		without[i] = (15. - (i + 1)) / 4;
	mean = statistics_jackknife(3, without, 5, 0);
	close_to(mean.high - 3, 2.776445 * sqrt(2.5 / 5), 1e-5);
	close_to(3 - mean.low, mean.high - 3, 1e-12);
	mean = statistics_jackknife(3, without, 5, .25);
	close_to(mean.high - 3, hypot(2.776445 * sqrt(2.5 / 5), .25), 1e-5);
}

TEST(an_interval_stays_within_what_is_possible)
{
	struct interval cut = statistics_within((struct interval){.5, -.2, 1.2}, 0, 1);

	assert_true(cut.value == .5 && cut.low == 0 && cut.high == 1);
	cut = statistics_within((struct interval){.5, .4, .6}, 0, 1);
	assert_true(cut.low == .4 && cut.high == .6);
	/* Noise may carry the value beyond, which stays in its interval. */
	cut = statistics_within((struct interval){-.01, -.03, .01}, 0, 1);
	assert_true(cut.low == -.01 && cut.high == .01);
	cut = statistics_within((struct interval){1.01, .99, 1.03}, 0, 1);
	assert_true(cut.low == .99 && cut.high == 1.01);
	cut = statistics_within((struct interval){.5, NAN, NAN}, 0, 1);
	assert_true(isnan(cut.low) && isnan(cut.high));
}

TEST(one_block_has_no_bounds)
{
	double value = 2;
	struct interval one = statistics_jackknife(2, &value, 1, .1);

	close_to(one.value, 2, 0);
	assert_true(isnan(one.low) && isnan(one.high));
	one = statistics_mean(&value, 1);
	close_to(one.value, 2, 0);
	assert_true(isnan(one.low));
	assert_true(isnan(statistics_mean(&value, 0).value));
}

/* Normal by the sum of 12 uniform numbers. */
static double normal(struct random *random)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += random_unit(random);
	return sum;
}

/* The ratio of sums over `n` blocks with noise in both, all blocks or all but one. */
static double ratio(const double *up, const double *down, size_t n, size_t without)
{
	double above = 0, below = 0;

	for (size_t i = 0; i < n; i++) {
		above += i == without ? 0 : up[i];
		below += i == without ? 0 : down[i];
	}
	return above / below;
}

static bool covers(struct random *random, size_t n)
{
	double up[16], down[16], without[16];
	struct interval interval;

	for (size_t i = 0; i < n; i++) {
		up[i] = .3 * (1 + .05 * normal(random));
		down[i] = 1 + .05 * normal(random);
	}
	for (size_t i = 0; i < n; i++)
		without[i] = ratio(up, down, n, i);
	interval = statistics_jackknife(ratio(up, down, n, n), without, n, 0);
	return interval.low <= .3 && .3 <= interval.high;
}

TEST(jackknife_intervals_cover_95_of_100)
{
	enum { TRIALS = 4000 };
	struct random random = {17};
	int covered = 0;

	for (int i = 0; i < TRIALS; i++)
		covered += covers(&random, 8);
	assert_in_range(covered, TRIALS * 94 / 100, TRIALS * 96 / 100);
}

/* A slope over the places is no noise to the ordered interval, and is to the other. */
TEST(ordered_intervals_forgive_a_slope_and_cover)
{
	enum { TRIALS = 4000, N = 16 };
	struct random random = {18};
	int covered = 0;
	double wide = 0, narrow = 0;

	for (int trial = 0; trial < TRIALS; trial++) {
		double value[N], without[N], sum = 0;
		struct placed placed[N];
		struct interval interval;

		for (int i = 0; i < N; i++) {
			placed[i].place = (i * 5) % N;
			value[i] = placed[i].place - (N - 1) / 2. + normal(&random);
			sum += value[i];
		}
		for (int i = 0; i < N; i++) {
			without[i] = (sum - value[i]) / (N - 1);
			placed[i].without = without[i];
			placed[i].part = 1. / N;
		}
		interval = statistics_ordered(sum / N, placed, N, 0);
		narrow += interval_half(interval) / TRIALS;
		wide += interval_half(statistics_jackknife(sum / N, without, N, 0)) /
			TRIALS;
		covered += interval.low <= 0 && 0 <= interval.high;
	}
	assert_true(covered >= TRIALS * 94 / 100);
	assert_true(narrow < wide / 2);
}

TEST(median_of_even_and_odd)
{
	double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};

	close_to(median(odd, 3), 2, 0);
	close_to(median(even, 4), 2.5, 0);
	assert_true(isnan(median(odd, 0)));
}

TEST(ordered_intervals_of_few_cover_too)
{
	enum { TRIALS = 4000, N = 5 };
	static const double place[N] = {3, 0, 4, 1, 2};
	struct random random = {18};
	int covered = 0;

	for (int trial = 0; trial < TRIALS; trial++) {
		struct placed placed[N];
		double value[N], sum = 0;
		struct interval interval;

		for (int i = 0; i < N; i++)
			sum += value[i] = normal(&random);
		for (int i = 0; i < N; i++)
			placed[i] = (struct placed){place[i], 1. / N,
						    (sum - value[i]) / (N - 1)};
		interval = statistics_ordered(sum / N, placed, N, 0);
		covered += interval.low <= 0 && 0 <= interval.high;
	}
	assert_true(covered >= TRIALS * 94 / 100);
}
