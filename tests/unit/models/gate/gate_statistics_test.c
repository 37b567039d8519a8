#include "loader/base/random.h"
#include "models/gate/gate_statistics.h"
#include "tests/lib/close_to.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

static double normal(struct random *random)
{
	double length = sqrt(-2 * log(1 - random_unit(random)));

	return length * cos(6.283185307179586 * random_unit(random));
}

static double laplace(struct random *random)
{
	double u = random_unit(random) - .5;

	return copysign(log(1 - 2 * fabs(u)), -u);
}

static double t_of_three(struct random *random)
{
	double squares = 0;

	for (int i = 0; i < 3; i++)
		squares += pow(normal(random), 2);
	return normal(random) / sqrt(squares / 3);
}

static double paired_p(const double *worse, size_t n)
{
	struct gate_shift shift;

	gate_statistics_paired(worse, n, .05, &shift);
	return shift.p;
}

static double unpaired_p(const double *base, size_t n, const double *now, size_t m)
{
	struct gate_shift shift;

	assert_int_equal(gate_statistics_unpaired(base, n, now, m, .05, &shift), 0);
	return shift.p;
}

/* ---- against every sign and every grouping, one by one ---- */

/* Mean ranks by definition: the places that equal values share. */
static double mean_rank(const double *values, size_t n, size_t which)
{
	double places = 0, equal = 0, place = 1;

	for (size_t i = 0; i < n; i++)
		place += values[i] < values[which];
	for (size_t i = 0; i < n; i++)
		if (values[i] == values[which]) {
			places += place++;
			equal++;
		}
	return places / equal;
}

static double every_sign(const double *worse, size_t n)
{
	double sizes[10], ranks[10], observed = 0, as_large = 0;

	for (size_t i = 0; i < n; i++)
		sizes[i] = fabs(worse[i]);
	for (size_t i = 0; i < n; i++) {
		ranks[i] = mean_rank(sizes, n, i);
		observed += worse[i] > 0 ? ranks[i] : 0;
	}
	for (unsigned signs = 0; signs < 1u << n; signs++) {
		double sum = 0;

		for (size_t i = 0; i < n; i++)
			sum += sizes[i] > 0 && (signs >> i & 1) ? ranks[i] : 0;
		as_large += sum > observed - 1e-9;
	}
	return as_large / (1u << n);
}

static double every_grouping(const double *all, size_t n, size_t m)
{
	double observed = 0, as_large = 0, groupings = 0;

	for (size_t i = n; i < n + m; i++)
		observed += mean_rank(all, n + m, i);
	for (unsigned chosen = 0; chosen < 1u << (n + m); chosen++) {
		double sum = 0;

		if ((size_t)__builtin_popcount(chosen) != m)
			continue;
		for (size_t i = 0; i < n + m; i++)
			sum += chosen >> i & 1 ? mean_rank(all, n + m, i) : 0;
		as_large += sum > observed - 1e-9;
		groupings++;
	}
	return as_large / groupings;
}

/* Few different values: most are tied, many are 0. */
static void coarse(struct random *random, unsigned values, double *worse, size_t n)
{
	for (size_t i = 0; i < n; i++)
		worse[i] = (double)random_below(random, values) - floor(values / 3.);
}

TEST(paired_p_counts_every_sign)
{
	struct random random = {1};
	double worse[10];

	for (unsigned round = 0; round < 400; round++) {
		size_t n = 1 + random_below(&random, 10);

		coarse(&random, 2 + round % 20, worse, n);
		close_to(paired_p(worse, n), every_sign(worse, n), 1e-12);
	}
}

TEST(unpaired_p_counts_every_grouping)
{
	struct random random = {2};
	double all[10];

	for (unsigned round = 0; round < 150; round++) {
		size_t n = 1 + random_below(&random, 5),
		       m = 1 + random_below(&random, 5);

		coarse(&random, 2 + round % 20, all, n + m);
		close_to(unpaired_p(all, n, all + n, m), every_grouping(all, n, m),
			 1e-12);
	}
}

/* ---- closed forms and tables ---- */

TEST(smallest_p_is_one_of_all_signs_or_groupings)
{
	double worse[GATE_PAIRS_MOST], base[] = {1, 2, 3, 4}, now[] = {5, 6, 7, 8};

	for (size_t n = 1; n <= GATE_PAIRS_MOST; n++) {
		worse[n - 1] = (double)n * n;
		close_to(paired_p(worse, n), ldexp(1, -(int)n), 0);
		close_to(gate_statistics_least_paired(n), ldexp(1, -(int)n), 0);
	}
	close_to(gate_statistics_least_paired(8), 1. / 256, 0);
	close_to(unpaired_p(base, 4, now, 4), 1. / 70, 1e-15);
	close_to(gate_statistics_least_unpaired(4, 4), 1. / 70, 1e-15);
	close_to(gate_statistics_least_unpaired(40, 8), 1. / 377348994, 1e-20);
	close_to(unpaired_p(now, 4, base, 4), 1, 1e-12);
}

/* 1 .. n, of which those whose ranks add up to `negative` got better. */
static double p_of_rank_sum(size_t n, size_t negative)
{
	double worse[GATE_PAIRS_MOST];

	for (size_t i = n; i > 0; i--) {
		bool better = negative >= i;

		worse[i - 1] = better ? -(double)i : (double)i;
		negative -= better ? i : 0;
	}
	return paired_p(worse, n);
}

/* Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, tables A.4 and A.6. */
TEST(p_matches_the_tables)
{
	double base[] = {1, 2, 3, 4, 5, 6, 7, 8};
	double now[] = {3.5, 4.5, 5.5, 6.5, 7.5, 8.1, 8.2, 8.3}; /* U = 64 - 15 */

	close_to(p_of_rank_sum(8, 5), .0391, 5e-5);
	close_to(p_of_rank_sum(8, 6), .0547, 5e-5);
	close_to(p_of_rank_sum(10, 10), .0420, 5e-5);
	close_to(p_of_rank_sum(10, 11), .0527, 5e-5);
	close_to(p_of_rank_sum(20, 60), .0487, 5e-5);
	close_to(unpaired_p(base, 8, now, 8), .0415, 5e-5);
}

/* As many as are allowed: the normal limit is near, nothing overflows. */
TEST(largest_samples_come_near_the_normal_limit)
{
	double worse[GATE_PAIRS_MOST], base[GATE_PAIRS_MOST];
	double n = GATE_PAIRS_MOST, sum = 0, wins = 0;
	struct random random = {3};

	for (size_t i = 0; i < GATE_PAIRS_MOST; i++) {
		worse[i] = normal(&random) + .2;
		base[i] = normal(&random);
	}
	for (size_t i = 0; i < GATE_PAIRS_MOST; i++)
		for (size_t j = 0; j < GATE_PAIRS_MOST; j++) {
			sum += j >= i && worse[i] + worse[j] > 0;
			wins += worse[i] > base[j];
		}
	close_to(paired_p(worse, GATE_PAIRS_MOST),
		 erfc((sum - .5 - n * (n + 1) / 4) /
		      sqrt(n * (n + 1) * (2 * n + 1) / 24) / sqrt(2)) /
			 2,
		 5e-4);
	close_to(unpaired_p(base, GATE_PAIRS_MOST, worse, GATE_PAIRS_MOST),
		 erfc((wins - .5 - n * n / 2) / sqrt(n * n * (2 * n + 1) / 12) /
		      sqrt(2)) /
			 2,
		 5e-4);
}

/* ---- estimates and bounds ---- */

TEST(estimate_is_the_median_of_all_pairs)
{
	double worse[] = {1, 2, 10}, base[] = {1, 2}, now[] = {4, 10};
	struct gate_shift shift;

	gate_statistics_paired(worse, 3, .05, &shift);
	close_to(shift.value, 3.75, 1e-15); /* 1 1.5 2 5.5 6 10 */
	assert_int_equal(gate_statistics_unpaired(base, 2, now, 2, .05, &shift), 0);
	close_to(shift.value, 5.5, 1e-15); /* 2 3 8 9 */
}

/* A bound is where the test changes its mind. */
TEST(bounds_are_what_the_test_does_not_refuse)
{
	struct random random = {4};
	double worse[9], moved[9];
	struct gate_shift shift, at;

	for (unsigned round = 0; round < 50; round++) {
		for (size_t i = 0; i < 9; i++)
			worse[i] = normal(&random);
		gate_statistics_paired(worse, 9, .05, &shift);
		assert_true(shift.low < shift.value && shift.value < shift.high);
		for (int side = -1; side <= 1; side += 2) {
			for (size_t i = 0; i < 9; i++)
				moved[i] = worse[i] - shift.low - side * 1e-9;
			gate_statistics_paired(moved, 9, .05, &at);
			assert_true((at.p <= .05) == (side < 0));
			for (size_t i = 0; i < 9; i++)
				moved[i] = shift.high + side * 1e-9 - worse[i];
			gate_statistics_paired(moved, 9, .05, &at);
			assert_true((at.p <= .05) == (side > 0));
		}
	}
}

TEST(unpaired_bounds_are_what_the_test_does_not_refuse)
{
	struct random random = {5};
	double base[5], now[7], moved[7];
	struct gate_shift shift, at;

	for (unsigned round = 0; round < 50; round++) {
		for (size_t i = 0; i < 7; i++)
			now[i] = normal(&random);
		for (size_t i = 0; i < 5; i++)
			base[i] = normal(&random);
		assert_int_equal(gate_statistics_unpaired(base, 5, now, 7, .05, &shift),
				 0);
		assert_true(shift.low < shift.value && shift.value < shift.high);
		for (int side = -1; side <= 1; side += 2) {
			for (size_t i = 0; i < 7; i++)
				moved[i] = now[i] - shift.low - side * 1e-9;
			assert_int_equal(
				gate_statistics_unpaired(base, 5, moved, 7, .05, &at),
				0);
			assert_true((at.p <= .05) == (side < 0));
			for (size_t i = 0; i < 7; i++)
				moved[i] = now[i] - shift.high - side * 1e-9;
			assert_int_equal(
				gate_statistics_unpaired(moved, 7, base, 5, .05, &at),
				0);
			assert_true((at.p <= .05) == (side > 0));
		}
	}
}

/* Also of values so coarse that most are tied. */
TEST(bounds_hold_as_often_as_they_say)
{
	enum { ROUNDS = 4000 };
	struct random random = {6};
	unsigned low = 0, high = 0;

	for (unsigned trial = 0; trial < ROUNDS; trial++) {
		struct gate_shift shift;
		double worse[8];

		for (size_t i = 0; i < 8; i++)
			worse[i] = trial % 2 ? normal(&random)
					     : round(normal(&random) * 1.5);
		gate_statistics_paired(worse, 8, .05, &shift);
		low += shift.low <= 0;
		high += shift.high >= 0;
	}
	assert_true(low >= .945 * ROUNDS && high >= .945 * ROUNDS);
}

TEST(too_few_have_no_bounds)
{
	double worse[] = {1, 2, 3, 4};
	struct gate_shift shift;

	gate_statistics_paired(worse, 4, .05, &shift);
	assert_true(shift.low == -INFINITY && shift.high == INFINITY);
	close_to(shift.value, 2.5, 1e-15);
	gate_statistics_paired(worse, 0, .05, &shift);
	assert_true(isnan(shift.value) && isnan(shift.p) && shift.low == -INFINITY);
	gate_statistics_paired(worse, 1, .05, &shift);
	assert_true(isnan(shift.spread));
	close_to(shift.value, 1, 0);
	assert_int_equal(gate_statistics_unpaired(worse, 2, worse + 2, 2, .05, &shift),
			 0);
	assert_true(shift.low == -INFINITY && shift.high == INFINITY);
	assert_int_equal(gate_statistics_unpaired(worse, 0, worse, 4, .05, &shift), 0);
	assert_true(isnan(shift.value) && isnan(shift.p));
}

TEST(no_difference_at_all_is_no_evidence)
{
	double same[8] = {0};
	struct gate_shift shift;

	gate_statistics_paired(same, 8, .05, &shift);
	close_to(shift.p, 1, 0);
	close_to(shift.value, 0, 0);
	close_to(shift.low, 0, 0);
	close_to(shift.high, 0, 0);
	close_to(shift.spread, 0, 0);
	assert_int_equal(gate_statistics_unpaired(same, 8, same, 8, .05, &shift), 0);
	close_to(shift.p, 1, 1e-12);
	close_to(shift.spread, 0, 0);
}

/* ---- spread, and what can be seen ---- */

TEST(spread_is_robust_but_never_blind)
{
	struct random random = {7};
	double worse[GATE_PAIRS_MOST], coarse_clock[8] = {1, 1, 1, 1, 1, 1, 2, 1};
	struct gate_shift shift;
	double mean = 0;

	for (unsigned round = 0; round < 200; round++) {
		for (size_t i = 0; i < GATE_PAIRS_MOST; i++)
			worse[i] = 3 * normal(&random);
		worse[0] = 1e6; /* somebody else's job */
		gate_statistics_paired(worse, GATE_PAIRS_MOST, .05, &shift);
		mean += shift.spread / 200;
	}
	close_to(mean, 3, .1);
	gate_statistics_paired(coarse_clock, 8, .05, &shift);
	close_to(shift.spread, sqrt(.125), 1e-12);
}

/*
 * How many of 100 experiments of 8 pairs find a change of limit + detectable, of three
 * metrics of which two did not change. The spread is known, or from 8 pairs of the same.
 */
static double found(double draw(struct random *), double sd, double limit)
{
	enum { ROUNDS = 4000 };
	struct random random = {8};
	unsigned count = 0;

	for (unsigned trial = 0; trial < ROUNDS; trial++) {
		double worse[8], p[3], spread = sd;
		struct gate_shift shift;

		for (unsigned other = 0; other < 3; other++) {
			for (size_t i = 0; i < 8; i++)
				worse[i] = draw(&random);
			gate_statistics_paired(worse, 8, .05, &shift);
			p[other] = shift.p;
			spread = isnan(sd) ? shift.spread : sd;
		}
		for (size_t i = 0; i < 8; i++)
			worse[i] = draw(&random) + limit +
				   gate_statistics_detectable(spread, 8, .05, 0);
		gate_statistics_paired(worse, 8, .05, &shift);
		p[0] = shift.p;
		gate_statistics_holm(p, 3);
		count += p[0] < .05 && shift.low > limit;
	}
	return 100. * count / ROUNDS;
}

TEST(what_is_called_detectable_is_found)
{
	double known = found(normal, 1, 5), seen = found(normal, NAN, 5);

	print_message("found of 100, spread known: normal %.1f, Laplace %.1f, "
		      "t of 3 %.1f\n",
		      known, found(laplace, sqrt(2), 5), found(t_of_three, sqrt(3), 5));
	print_message("spread of 8 pairs: normal %.1f, Laplace %.1f, t of 3 %.1f\n",
		      seen, found(laplace, NAN, 5), found(t_of_three, NAN, 5));
	assert_true(known >= 93 && seen >= 93);
}

/* How often 8 pairs without a difference pass for one, by their noise alone; and how often
 * what is to be found beyond it is. */
TEST(noise_is_what_nothing_is_found_to_be)
{
	enum { ROUNDS = 4000 };
	double change = gate_statistics_detectable(1, 8, .05, .05);
	unsigned above = 0, beyond = 0, hits = 0;
	struct random random = {10};

	for (unsigned trial = 0; trial < ROUNDS; trial++) {
		struct gate_shift shift;
		double worse[8];

		for (size_t i = 0; i < 8; i++)
			worse[i] = normal(&random);
		gate_statistics_paired(worse, 8, .05, &shift);
		above += shift.value > gate_statistics_noise(shift.spread, 8, .05);
		beyond += shift.low > gate_statistics_noise(shift.spread, 8, .05);
		for (size_t i = 0; i < 8; i++)
			worse[i] += change;
		gate_statistics_paired(worse, 8, .05, &shift);
		hits += shift.low > gate_statistics_noise(shift.spread, 8, .05);
	}
	print_message("of 1000: %.1f above noise, %.1f beyond it; %.1f found\n",
		      1000. * above / ROUNDS, 1000. * beyond / ROUNDS,
		      1000. * hits / ROUNDS);
	close_to(1000. * above / ROUNDS, 50, 20);
	assert_true(1000. * beyond / ROUNDS < 10);
	assert_true(1000. * hits / ROUNDS > 930);
	assert_true(isnan(gate_statistics_noise(1, 3, .05)));
}

/* Were it larger than it has to be, that would be no help either. */
TEST(half_of_what_is_detectable_is_mostly_missed)
{
	enum { ROUNDS = 4000 };
	double half = gate_statistics_detectable(1, 8, .05, 0) / 2;
	struct random random = {9};
	unsigned count = 0;

	for (unsigned trial = 0; trial < ROUNDS; trial++) {
		struct gate_shift shift;
		double worse[8];

		for (size_t i = 0; i < 8; i++)
			worse[i] = normal(&random) + half;
		gate_statistics_paired(worse, 8, .05, &shift);
		count += shift.low > 0;
	}
	assert_in_range(100 * count / ROUNDS, 30, 70);
}

TEST(more_pairs_or_less_noise_see_more)
{
	assert_true(gate_statistics_detectable(1, 4, .05, 0) == INFINITY);
	assert_true(gate_statistics_detectable(1, 5, .05, 0) >
		    gate_statistics_detectable(1, 8, .05, 0));
	assert_true(gate_statistics_detectable(1, 8, .05, 0) >
		    gate_statistics_detectable(1, 64, .05, 0));
	assert_true(gate_statistics_detectable(1, 8, .01, 0) >
		    gate_statistics_detectable(1, 8, .05, 0));
	close_to(gate_statistics_detectable(2, 8, .05, 0),
		 2 * gate_statistics_detectable(1, 8, .05, 0), 1e-12);
	assert_true(gate_statistics_detectable(0, 1, .05, 0) == INFINITY);
	assert_true(isnan(gate_statistics_detectable(NAN, 8, .05, 0)));
}

/* ---- several at once ---- */

TEST(holm_adjusts_each_for_those_not_refused_yet)
{
	double three[] = {.01, .04, .03}, some[] = {NAN, .02, NAN, .02, .9};
	double large[] = {.5, .6}, none[] = {NAN};

	gate_statistics_holm(three, 3);
	close_to(three[0], .03, 1e-15);
	close_to(three[1], .06, 1e-15);
	close_to(three[2], .06, 1e-15);
	gate_statistics_holm(some, 5);
	assert_true(isnan(some[0]) && isnan(some[2]));
	close_to(some[1], .06, 1e-15);
	close_to(some[3], .06, 1e-15);
	close_to(some[4], .9, 1e-15);
	gate_statistics_holm(large, 2);
	close_to(large[0], 1, 0);
	close_to(large[1], 1, 0);
	gate_statistics_holm(none, 1);
	assert_true(isnan(none[0]));
}

TEST(pairs_that_an_alpha_needs)
{
	assert_int_equal(gate_statistics_pairs_for(.05, 1), 5);
	assert_int_equal(gate_statistics_pairs_for(.05, 3), 6);
	assert_int_equal(gate_statistics_pairs_for(.01, 3), 9);
	assert_int_equal(gate_statistics_pairs_for(.001, 3), 12);
	assert_int_equal(gate_statistics_pairs_for(.5, 1), 2); /* 1/2 is not below */
}

TEST(no_memory_is_said)
{
	double values[] = {1, 2, 3, 4};
	struct gate_shift shift;
	unsigned failures = 0;

	for (unsigned nth = 1; nth < 9; nth++) {
		nomem_at(nth);
		if (gate_statistics_unpaired(values, 2, values, 4, .05, &shift) ==
		    -ENOMEM)
			failures++;
		nomem_at(0);
	}
	assert_true(failures >= 2 && failures < 8);
}
