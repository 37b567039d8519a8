/* control_test.c - times without what their samples had by chance. */
#include "profiler/analysis/control.h"
#include "tests/lib/close_to.h"
#include "tests/lib/test.h"

#include <math.h>

enum { WINDOWS = 10, SAMPLES = 1000 };

/* 100 us a sample, and 1 ns for each byte of one covariate; noise of 2 us that turns. */
static void add_windows(struct control *control, enum window_covariate which,
			double bytes)
{
	for (int i = 0; i < WINDOWS; i++) {
		double more = bytes * (i % 5 - 1.5);
		double noise = i % 2 == 0 ? 2e-6 : -2e-6;
		double covariate[WINDOW_COVARIATES] = {NAN, NAN};

		covariate[which] = SAMPLES * more;
		control_add(control, SAMPLES * (100e-6 + noise + 1e-9 * more), SAMPLES,
			    covariate, 1);
	}
}

TEST(what_the_samples_had_too_much_is_taken_out)
{
	for (int which = 0; which < WINDOW_COVARIATES; which++) {
		struct control control = {0};

		add_windows(&control, (enum window_covariate)which, 20000);
		assert_int_equal(control_choose(&control), which);
		/* half of 20,000 bytes too many on average */
		close_to(control_time(&control, -1) / 100e-6, 1.1, 1e-6);
		close_to(control_time(&control, which) / 100e-6, 1, .01);
	}
}

TEST(what_explains_no_more_than_chance_is_left_alone)
{
	struct control control = {0};

	add_windows(&control, WINDOW_PREPARED, 100);
	assert_int_equal(control_choose(&control), -1);
}

/* Sizes that are not those of the samples would have it prolonged to no bytes at all. */
TEST(no_line_is_followed_beyond_its_points)
{
	struct control control = {0};

	for (int i = 0; i < WINDOWS; i++) {
		const double covariate[WINDOW_COVARIATES] = {
			SAMPLES * (100000. + 1000 * i), NAN};

		control_add(&control, SAMPLES * (100e-6 + 1e-6 * i), SAMPLES, covariate,
			    1);
	}
	assert_int_equal(control_choose(&control), -1);
}

TEST(few_windows_show_no_line)
{
	const double covariate[WINDOW_COVARIATES] = {1, 2},
		     none[WINDOW_COVARIATES] = {0, 0};
	struct control control = {0};

	for (int i = 0; i < 6; i++)
		control_add(&control, i % 2 == 0 ? 1 : 2, 1,
			    i % 2 == 0 ? none : covariate, 1);
	assert_int_equal(control_choose(&control), -1);
	control = (struct control){0};
	for (int i = 0; i < WINDOWS; i++) /* all alike */
		control_add(&control, 1, 1, covariate, 1);
	assert_int_equal(control_choose(&control), -1);
}

TEST(a_window_that_is_taken_out_again_leaves_nothing)
{
	const double covariate[WINDOW_COVARIATES] = {3e6, -1e6};
	struct control control = {0};
	double before;

	add_windows(&control, WINDOW_PREPARED, 20000);
	before = control_time(&control, WINDOW_PREPARED);
	control_add(&control, .5, SAMPLES, covariate, 1);
	control_add(&control, .5, SAMPLES, covariate, -1);
	close_to(control_time(&control, WINDOW_PREPARED) / before, 1, 1e-9);
}
