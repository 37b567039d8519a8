#include "loader/base/error.h"
#include "loader/base/random.h"
#include "models/predict/cores.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

struct law {
	double a, s, c;
};

static double law_at(struct law law, double k)
{
	return law.a * k / (1 + law.s * (k - 1) + law.c * k * (k - 1));
}

static void close_to(double value, double want, double within)
{
	if (!(fabs(value - want) <= within * fabs(want)))
		fail_msg("%.9g is not within %g of %.9g", value, within, want);
}

static void add_point(struct profile *profile, unsigned k, double per_s)
{
	struct profile_point *point = profile_add_prep_point(profile);

	assert_non_null(point);
	point->x = k;
	point->per_s.value = per_s;
}

static void add_fact(struct profile *profile, const char *key, const char *value)
{
	struct profile_fact *fact = profile_add_fact(profile);

	assert_non_null(fact);
	assert_int_equal(profile_text(&fact->key, "%s", key), 0);
	assert_int_equal(profile_text(&fact->value, "%s", value), 0);
}

/* Ends with 0. */
static void add_curve(struct profile *profile, struct law law, const unsigned *k)
{
	for (; *k > 0; k++)
		add_point(profile, *k, law_at(law, *k));
}

static struct cores cores_in(const struct profile *profile)
{
	struct error err = {0};
	struct cores cores;

	assert_int_equal(cores_of(profile, &cores, &err), 0);
	assert_int_equal(err.code, 0);
	return cores;
}

/* What was fitted. */
static struct law law_of(const struct cores *cores)
{
	const double *terms = cores->law.terms;

	return (struct law){1 / terms[0], terms[1] / terms[0], terms[2] / terms[0]};
}

/* Normal by the sum of 12 uniform numbers. */
static double normal(struct random *random)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += random_unit(random);
	return sum;
}

TEST(exact_points_give_their_law_back)
{
	static const struct law laws[] = {{1000, 0, 0},      {700, .05, 0},
					  {1, 0, .002},      {1e6, .1, .004},
					  {321, .3, .00001}, {50, .02, .05}};
	static const unsigned k[] = {1, 2, 4, 8, 16, 0};

	for (size_t i = 0; i < sizeof(laws) / sizeof(laws[0]); i++) {
		struct profile profile;
		enum cores_basis basis;
		struct cores cores;
		struct law fitted;

		profile_init(&profile);
		profile.cores = 16;
		add_curve(&profile, laws[i], k);
		cores = cores_in(&profile);
		assert_int_equal(cores.points, 5);
		fitted = law_of(&cores);
		close_to(fitted.a, laws[i].a, 1e-9);
		assert_true(fabs(fitted.s - laws[i].s) < 1e-9);
		assert_true(fabs(fitted.c - laws[i].c) < 1e-9);
		assert_true(cores.law.scatter < 1e-9);
		close_to(cores_rate(&cores, 40, &basis).value, law_at(laws[i], 40),
			 1e-8);
		assert_int_equal(basis, CORES_FITTED);
		profile_free(&profile);
	}
}

TEST(a_measured_point_is_what_was_measured)
{
	struct profile profile;
	enum cores_basis basis;
	struct cores cores;

	profile_init(&profile);
	profile.cores = 4;
	add_point(&profile, 1, 100);
	add_point(&profile, 4, 320);
	profile.prep_curve[1].per_s = (struct interval){320, 310, 330};
	cores = cores_in(&profile);
	close_to(cores_rate(&cores, 4, &basis).value, 320, 0);
	assert_int_equal(basis, CORES_MEASURED);
	close_to(cores_rate(&cores, 4, NULL).low, 310, 0);
	close_to(cores_rate(&cores, 1, NULL).low, 98, 1e-3);
	close_to(cores_rate(&cores, 1, NULL).high, 102, 1e-3);
	/* P/k falls from 100 to 80, so at 2 it is a third of the way down. */
	close_to(cores_rate(&cores, 2, &basis).value, 2 * (100 - 20. / 3), 1e-12);
	assert_int_equal(basis, CORES_BETWEEN);
	profile_free(&profile);
}

/* Not P(k): beside the consumer, more workers than cores, nothing measured. */
TEST(other_points_do_not_count)
{
	struct profile profile;
	struct error err = {0};
	struct cores cores;

	profile_init(&profile);
	profile.cores = 2;
	add_point(&profile, 4, 200);
	add_point(&profile, 2, 90);
	profile.prep_curve[1].with_consumer = true;
	add_point(&profile, 1, NAN);
	assert_int_equal(cores_of(&profile, &cores, &err), -ENODATA);
	assert_non_null(strstr(err.message, "prep"));
	add_point(&profile, 1, 100);
	add_point(&profile, 2, 180);
	cores = cores_in(&profile);
	assert_int_equal(cores.points, 2);
	assert_int_equal(cores.last, 2);
	profile_free(&profile);
}

TEST(few_points_give_bounds_and_nothing_sharper)
{
	static const unsigned k[] = {1, 2, 4, 0};
	struct profile profile;
	enum cores_basis basis;
	struct interval rate;
	struct cores cores;

	profile_init(&profile);
	profile.cores = 4;
	add_curve(&profile, (struct law){100, .1, 0}, k);
	for (size_t i = 0; i < 3; i++) {
		double value = profile.prep_curve[i].per_s.value;

		profile.prep_curve[i].per_s = (struct interval){value, value, value};
	}
	cores = cores_in(&profile);
	assert_int_equal(cores.law.freedom, 0);
	rate = cores_rate(&cores, 12, &basis);
	assert_int_equal(basis, CORES_BOUNDS);
	assert_true(isnan(rate.value));
	close_to(rate.low, law_at((struct law){100, .1, 0}, 4), 1e-12);
	close_to(rate.high, 3 * rate.low, 1e-12);
	profile_free(&profile);
}

TEST(a_quota_takes_cores_away)
{
	struct profile profile;
	struct cores cores;
	double speed[5];

	profile_init(&profile);
	profile.cores = 8;
	add_fact(&profile, "cpu_quota", "2.5");
	add_point(&profile, 1, 100);
	add_point(&profile, 2, 190);
	add_point(&profile, 4, 237);
	cores = cores_in(&profile);
	assert_int_equal(cores.have, 2);
	close_to(cores.quota, 2.5, 0);
	assert_int_equal(cores.points, 2);
	cores_speeds(&cores, 2, 0, speed, 5);
	close_to(2 * speed[2], 1.9, 1e-12);
	close_to(3 * speed[3], 1.9 * 1.25, 1e-12);
	close_to(4 * speed[4], 1.9 * 1.25, 1e-12);
	cores_speeds(&cores, 1, 0, speed, 5);
	close_to(4 * speed[4], 1, 1e-12);
	profile_free(&profile);

	profile_init(&profile);
	profile.cores = 4;
	add_fact(&profile, "cpu_quota", "0.5");
	add_point(&profile, 1, 50);
	cores = cores_in(&profile);
	assert_int_equal(cores.have, 1);
	profile_free(&profile);
}

/* 8 threads of 4 cores. */
static void begin_smt(struct profile *profile)
{
	profile_init(profile);
	profile->cores = 8;
	add_fact(profile, "cpu_cores", "4");
	add_fact(profile, "cpu_threads", "8");
}

/* The second threads bring a quarter. */
TEST(second_threads_are_no_cores)
{
	static const struct law law = {100, .02, .001};
	static const unsigned k[] = {1, 2, 3, 4, 0};
	struct profile profile;
	enum cores_basis basis;
	struct cores cores;

	begin_smt(&profile);
	add_curve(&profile, law, k);
	add_point(&profile, 6, 1.12 * law_at(law, 4));
	add_point(&profile, 8, 1.25 * law_at(law, 4));
	cores = cores_in(&profile);
	assert_int_equal(cores.physical, 4);
	close_to(law_of(&cores).s, law.s, 1e-8);
	close_to(cores.second.value, 1.25, 1e-12);
	close_to(cores_rate(&cores, 16, &basis).value, 1.25 * law_at(law, 8), 1e-8);
	assert_int_equal(basis, CORES_FITTED);
	profile_free(&profile);
}

TEST(too_few_points_on_cores_of_their_own_give_bounds)
{
	static const unsigned k[] = {1, 2, 4, 6, 8, 0};
	struct profile profile;
	enum cores_basis basis;
	struct interval rate;
	struct cores cores;

	begin_smt(&profile);
	add_curve(&profile, (struct law){100, .1, 0}, k);
	cores = cores_in(&profile);
	rate = cores_rate(&cores, 9, &basis);
	assert_int_equal(basis, CORES_BOUNDS);
	/* The ninth thread comes with a core, which holds ten. */
	close_to(rate.high, cores.rate[8].value * 10 / 8, 1e-12);
	/* More cores are no loss over what was measured, however rough that is. */
	close_to(rate.low, cores.rate[8].value, 1e-12);
	profile_free(&profile);
}

/* Without the gain of all second threads, cores tell nothing of threads. */
TEST(unmeasured_second_threads_give_bounds)
{
	static const unsigned k[] = {1, 2, 3, 4, 0};
	struct profile profile;
	enum cores_basis basis;
	struct cores cores;

	begin_smt(&profile);
	add_curve(&profile, (struct law){100, .1, 0}, k);
	cores = cores_in(&profile);
	assert_true(isnan(cores_rate(&cores, 16, &basis).value));
	assert_int_equal(basis, CORES_BOUNDS);
	profile_free(&profile);
}

/* What a run on some of the threads shares is not known. */
TEST(unknown_threads_are_said_to_be)
{
	struct profile profile;
	struct cores cores;

	profile_init(&profile);
	profile.cores = 4;
	add_fact(&profile, "cpu_cores", "4");
	add_fact(&profile, "cpu_threads", "8");
	add_point(&profile, 1, 100);
	cores = cores_in(&profile);
	assert_int_equal(cores.physical, 0);
	profile.cores = 1;
	cores = cores_in(&profile);
	assert_int_equal(cores.physical, 1);
	profile.cores = UNKNOWN;
	add_fact(&profile, "cpu_threads_allowed", "8");
	cores = cores_in(&profile);
	assert_int_equal(cores.have, 8);
	assert_int_equal(cores.physical, 4);
	profile_free(&profile);
}

TEST(together_no_more_than_the_cores_give)
{
	static const unsigned k[] = {1, 2, 4, 8, 0};
	struct profile profile;
	double speed[64];
	struct cores cores;

	profile_init(&profile);
	profile.cores = 8;
	add_curve(&profile, (struct law){200, .08, .003}, k);
	cores = cores_in(&profile);
	for (int side = -1; side <= 1; side++)
		for (unsigned available = 1; available <= 24; available++) {
			struct interval rate = cores_rate(&cores, available, NULL);
			double most = side < 0   ? rate.low
				      : side > 0 ? rate.high
						 : rate.value;

			cores_speeds(&cores, available, side, speed, 64);
			close_to(speed[0], 1, 0);
			close_to(speed[1], 1, 0);
			for (unsigned m = available; m < 64; m++)
				close_to(m * speed[m],
					 available == 1 ? 1 : fmin(most / 200, m),
					 1e-9);
			for (unsigned m = 1; m < 64; m++)
				assert_true(speed[m] > 0 && speed[m] <= 1);
		}
	profile_free(&profile);
}

/* Faster together than alone is noise, or a clock that changed. */
TEST(nobody_runs_faster_than_alone)
{
	struct profile profile;
	struct cores cores;
	double speed[3];

	profile_init(&profile);
	profile.cores = 2;
	add_point(&profile, 1, 100);
	add_point(&profile, 2, 206);
	cores = cores_in(&profile);
	cores_speeds(&cores, 2, 0, speed, 3);
	close_to(speed[2], 1, 0);
	profile_free(&profile);
}

/* Three windows that differ much have an interval that begins below 0. */
TEST(a_rough_interval_stops_nobody)
{
	struct profile profile;
	struct cores cores;
	double speed[3];

	profile_init(&profile);
	profile.cores = 2;
	add_point(&profile, 1, 100);
	add_point(&profile, 2, 150);
	profile.prep_curve[1].per_s = (struct interval){150, -10, 310};
	cores = cores_in(&profile);
	close_to(cores_rate(&cores, 2, NULL).low + 1, 1, 0);
	cores_speeds(&cores, 2, -1, speed, 3);
	close_to(2 * speed[2], 1, 1e-12);
	cores_speeds(&cores, 2, 1, speed, 3);
	close_to(2 * speed[2], 2, 1e-12);
	profile_free(&profile);
}

/* How often the interval holds the true P(2n), in percent, of curves drawn at random. */
static unsigned covered(const unsigned *k, unsigned n, double noise, unsigned curves,
			uint64_t seed)
{
	struct random random = {seed};
	unsigned inside = 0;

	for (unsigned i = 0; i < curves; i++) {
		struct law law = {1000, .2 * random_unit(&random),
				  .01 * random_unit(&random)};
		struct profile profile;
		struct interval rate;
		struct cores cores;

		profile_init(&profile);
		profile.cores = n;
		add_curve(&profile, law, k);
		for (size_t p = 0; p < profile.prep_points; p++)
			profile.prep_curve[p].per_s.value *=
				1 + noise * normal(&random);
		cores = cores_in(&profile);
		rate = cores_rate(&cores, 2 * n, NULL);
		inside += rate.low <= law_at(law, 2 * n) &&
			  law_at(law, 2 * n) <= rate.high;
		assert_true(rate.low <= rate.value && rate.value <= rate.high);
		assert_true(rate.high <= 2 * cores.rate[n].high);
		profile_free(&profile);
	}
	return 100 * inside / curves;
}

TEST(intervals_of_the_fit_hold_the_truth)
{
	static const struct {
		unsigned k[9], n;
	} grids[] = {{{1, 2, 3, 4, 0}, 4},
		     {{1, 2, 4, 8, 0}, 8},
		     {{1, 2, 4, 6, 8, 0}, 8},
		     {{1, 2, 4, 8, 16, 0}, 16},
		     {{1, 2, 3, 4, 5, 6, 7, 8, 0}, 8}};
	static const double noises[] = {.005, .01, .02, .03};

	for (size_t g = 0; g < sizeof(grids) / sizeof(grids[0]); g++)
		for (size_t i = 0; i < sizeof(noises) / sizeof(noises[0]); i++) {
			unsigned share = covered(grids[g].k, grids[g].n, noises[i], 400,
						 100 * g + i);

			/* Points said to be 1 % off that are better have too much. */
			if (share < 90 || (noises[i] > .01 && share > 99))
				fail_msg("%zu, noise %g: %u%%", g, noises[i], share);
		}
}

/* The width of its interval over the standard error of the fit is Student's t. */
TEST(the_fit_of_four_points_has_students_interval)
{
	static const struct usl_point points[] = {
		{1, 100, .01}, {2, 185, .01}, {4, 330, .01}, {8, 500, .01}};
	const double k = 16, factors[3] = {1, k - 1, k * (k - 1)};
	double variance = 0;
	struct interval rate;
	struct usl usl;

	assert_true(usl_fit(points, 4, &usl));
	rate = usl_rate(&usl, k);
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			variance += factors[i] * usl.covariance[i][j] * factors[j];
	assert_int_equal(usl.freedom, 2);
	close_to((k / rate.low - k / rate.value) / sqrt(variance), 4.3026527, 1e-6);
}
