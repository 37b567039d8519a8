#include "loader/base/random.h"
#include "profiler/profile.h"
#include "reports/common/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void shares_visibly_sum_to_100(void **state)
{
	struct random random = {1};
	long tenths[3];

	(void)state;
	for (int i = 0; i < 100000; i++) {
		double prep = random_unit(&random) * 1.1 - .05;
		double fetch = (1 - prep) * random_unit(&random) - .01;
		double shares[] = {1 - prep - fetch, prep, fetch};

		assert_true(format_tenths(shares, 3, tenths));
		assert_int_equal(tenths[0] + tenths[1] + tenths[2], 1000);
		for (int at = 0; at < 3; at++)
			assert_true(fabs((double)tenths[at] - 1000 * shares[at]) < 1);
	}
}

static void thirds_are_shared_out(void **state)
{
	double shares[] = {1 / 3., 1 / 3., 1 / 3.};
	long tenths[3];

	(void)state;
	assert_true(format_tenths(shares, 3, tenths));
	assert_int_equal(tenths[0], 334);
	assert_int_equal(tenths[1], 333);
	assert_int_equal(tenths[2], 333);
}

static void negative_estimates_stay_negative(void **state)
{
	double shares[] = {1.004, -.003, -.001};
	long tenths[3];
	char text[FORMAT_SIZE];

	(void)state;
	assert_true(format_tenths(shares, 3, tenths));
	assert_int_equal(tenths[0], 1004);
	assert_int_equal(tenths[1], -3);
	assert_string_equal(format_tenth(text, tenths[1]), "-0.3%");
}

static void what_does_not_sum_is_not_made_to(void **state)
{
	double shares[] = {.5, .2, NAN}, huge[] = {3e6, -1e6, -2e6 + 1};
	long tenths[3];

	(void)state;
	assert_false(format_tenths(shares, 3, tenths));
	assert_int_equal(tenths[0], 500);
	assert_false(format_tenths(huge, 3, tenths));
}

static void numbers_have_three_digits_and_a_unit(void **state)
{
	char text[FORMAT_SIZE];

	(void)state;
	assert_string_equal(format_rate(text, 1912.4), "1912");
	assert_string_equal(format_rate(text, 38.41), "38.4");
	assert_string_equal(format_rate(text, 3.841), "3.84");
	assert_string_equal(format_rate(text, NAN), "n/a");
	assert_string_equal(format_percent(text, .4979), "49.8%");
	assert_string_equal(format_percent(text, -.0004), "0.0%");
	assert_string_equal(format_bytes(text, 0), "0 B");
	assert_string_equal(format_bytes(text, 110300), "110 KB");
	assert_string_equal(format_bytes(text, 999999), "1 MB");
	assert_string_equal(format_bytes(text, 1.41184e9), "1.41 GB");
	assert_string_equal(format_seconds(text, .0042), "4.2 ms");
	assert_string_equal(format_seconds(text, 52.6), "52.6 s");
	assert_string_equal(format_seconds(text, 1e-9), "1 ns");
	assert_string_equal(format_seconds(text, 19306), "19306 s");
	assert_string_equal(format_count(text, 7), "7");
	assert_string_equal(format_count(text, 1281167), "1,281,167");
	assert_string_equal(format_count(text, UNKNOWN), "n/a");
	assert_string_equal(format_points(text, &(struct interval){.5, .496, .504}),
			    "±0.4");
	assert_string_equal(format_points(text, &INTERVAL_UNKNOWN), "");
}

static void says(const struct profile *profile, const char *expected)
{
	char *text = format_string(format_verdict, profile);

	assert_string_equal(text, expected);
	free(text);
}

static void verdicts(void **state)
{
	static const struct {
		struct interval stalls[STAGES];
		const char *verdict;
	} cases[] = {
		{{{.5, .49, .51}, {.38, .37, .39}, {.12, .11, .13}},
		 "Training waits for data 50.0% of its time, mostly for preparation."},
		{{{.88, .87, .89}, {0, -.01, .01}, {.12, .11, .13}},
		 "Training waits for data 12.0% of its time, all of it for storage."},
		{{{.88, .87, .89}, {0, -.01, .05}, {.12, .11, .13}},
		 "Training waits for data 12.0% of its time, mostly for storage."},
		{{{.68, .51, .85}, {.51, .28, .74}, {-.19, -.4, .01}},
		 "Training waits for data 15% to 49% of its time, all of it for "
		 "preparation."},
		{{{.73, NAN, NAN}, {.24, NAN, NAN}, {.03, NAN, NAN}},
		 "Training waits for data 27.0% of its time, mostly for preparation; "
		 "no "
		 "interval is known."},
		{{{.999, .99, 1}, {.001, -.01, .01}, {0, -.01, .01}},
		 "Training does not wait for data: what it waits is within the "
		 "measurement's interval of zero."},
		{{{.48, -.07, 1}, {.42, -.06, .9}, {.1, -.4, .6}},
		 "Whether training waits for data is not known yet: it may be anything "
		 "up "
		 "to 100% of its time."},
		{{{2, NAN, NAN}, {-.9, NAN, NAN}, {-.1, NAN, NAN}},
		 "Training was not seen to wait for data; the measurement was too "
		 "short "
		 "for an interval."},
		{{{.996, .99, 1}, {.004, .002, .006}, {0, -.001, .001}},
		 "No verdict: the wait found (0.4%) is smaller than what measuring may "
		 "cost (0.5%)."},
	};
	struct profile profile;

	(void)state;
	profile_init(&profile);
	says(&profile, "How long training waits for data was not measured.");
	profile.overhead = (struct interval){.002, .001, .005};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(profile.stalls, cases[i].stalls, sizeof(profile.stalls));
		says(&profile, cases[i].verdict);
	}
	profile_free(&profile);
}

static void costs(const struct interval *overhead, const char *expected)
{
	struct profile profile;
	char *text;

	profile_init(&profile);
	profile.overhead = *overhead;
	text = format_string(format_overhead, &profile);
	assert_string_equal(text, expected);
	free(text);
	profile_free(&profile);
}

static void overheads(void **state)
{
	(void)state;
	costs(&INTERVAL_UNKNOWN, "");
	costs(&(struct interval){.0018, -.0009, .0045},
	      "0.18%, at most 0.45%, of the CPU time of a sample");
	costs(&(struct interval){.0018, NAN, NAN}, "0.18% of the CPU time of a sample");
	costs(&(struct interval){-.001, -.003, .001},
	      "none seen, at most 0.10%, of the CPU time of a sample");
}

static void an_ending_says_what_was_missing(void **state)
{
	struct profile profile;
	char *text;

	(void)state;
	profile_init(&profile);
	profile.status.id = STATUS_COMPLETE;
	text = format_string(format_ending, &profile);
	assert_string_equal(text, "");
	free(text);
	profile.status.id = STATUS_BUDGET;
	profile.budget_s = 40;
	profile.precision = .005;
	profile.budget_needed_s = 81.2;
	text = format_string(format_ending, &profile);
	assert_string_equal(text, "the budget of 40 s was spent; ±0.5 points would "
				  "need --budget 82s");
	free(text);
	profile_free(&profile);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_visibly_sum_to_100),
		cmocka_unit_test(thirds_are_shared_out),
		cmocka_unit_test(negative_estimates_stay_negative),
		cmocka_unit_test(what_does_not_sum_is_not_made_to),
		cmocka_unit_test(numbers_have_three_digits_and_a_unit),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(overheads),
		cmocka_unit_test(an_ending_says_what_was_missing),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
