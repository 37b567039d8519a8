#include "loader/base/random.h"
#include "profiler/profile.h"
#include "reports/common/format.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

TEST(shares_visibly_sum_to_100)
{
	struct random random = {1};
	long tenths[3];

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

TEST(thirds_are_shared_out)
{
	double shares[] = {1 / 3., 1 / 3., 1 / 3.};
	long tenths[3];

	assert_true(format_tenths(shares, 3, tenths));
	assert_int_equal(tenths[0], 334);
	assert_int_equal(tenths[1], 333);
	assert_int_equal(tenths[2], 333);
}

TEST(negative_estimates_stay_negative)
{
	double shares[] = {1.004, -.003, -.001};
	long tenths[3];
	char text[FORMAT_SIZE];

	assert_true(format_tenths(shares, 3, tenths));
	assert_int_equal(tenths[0], 1004);
	assert_int_equal(tenths[1], -3);
	assert_string_equal(format_tenth(text, tenths[1]), "-0.3%");
}

TEST(what_does_not_sum_is_not_made_to)
{
	double shares[] = {.5, .2, NAN}, huge[] = {3e6, -1e6, -2e6 + 1};
	long tenths[3];

	assert_false(format_tenths(shares, 3, tenths));
	assert_int_equal(tenths[0], 500);
	assert_false(format_tenths(huge, 3, tenths));
}

TEST(numbers_have_three_digits_and_a_unit)
{
	char text[FORMAT_SIZE];

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

/* Compute, prep and fetch; there is no device. */
static void stalls_are(struct profile *profile, const struct interval stalls[3])
{
	profile->stalls[STAGE_COMPUTE] = stalls[0];
	profile->stalls[STAGE_PREP] = stalls[1];
	profile->stalls[STAGE_FETCH] = stalls[2];
}

TEST(verdicts)
{
	static const struct {
		struct interval stalls[3];
		const char *verdict;
	} cases[] = {
		{{{.5, .49, .51}, {.38, .37, .39}, {.12, .11, .13}},
		 "Training waits for data 50.0% of its time: preparation limits."},
		{{{.88, .87, .89}, {0, -.01, .01}, {.12, .11, .13}},
		 "Training waits for data 12.0% of its time: storage limits."},
		{{{.88, .87, .89}, {0, -.01, .05}, {.12, .11, .13}},
		 "Training waits for data 12.0% of its time: storage limits."},
		{{{.68, .54, .82}, {.51, .28, .74}, {-.19, -.4, .01}},
		 "Training waits for data 18% to 46% of its time: preparation limits."},
		{{{.68, .51, .85}, {.51, .28, .74}, {-.19, -.4, .01}},
		 "How long training waits for data is not known yet; it may be "
		 "anything from 15% to 49% of its time."},
		{{{.4, .38, .42}, {.4, .2, .6}, {.2, -.1, .3}},
		 "Training waits for data 60.0% of its time; what limits is not known "
		 "yet."},
		{{{.4, .38, .42}, {.3, -.02, .5}, {.3, -.02, .5}},
		 "Training waits for data 60.0% of its time; what limits is not known "
		 "yet."},
		{{{.73, NAN, NAN}, {.24, NAN, NAN}, {.03, NAN, NAN}},
		 "Training waits for data 27.0% of its time: preparation limits; no "
		 "interval is known."},
		{{{.999, .99, 1}, {.001, -.01, .01}, {0, -.01, .01}},
		 "Training does not wait for data: what it waits is within the "
		 "measurement's interval of zero."},
		{{{.88, .6, 1.16}, {.02, -.3, .34}, {.1, -.3, .5}},
		 "Whether training waits for data is not known yet; it may be anything "
		 "up to 40% of its time."},
		{{{.064, -.288, .416}, {.921, -4.761, 6.603}, {.015, -6.015, 6.045}},
		 "Too few windows: how long training waits for data is not known yet."},
		{{{.339, NAN, NAN}, {1.528, NAN, NAN}, {-.867, NAN, NAN}},
		 "Too few windows: how long training waits for data is not known yet."},
		{{{1.4, NAN, NAN}, {-.3, NAN, NAN}, {-.1, NAN, NAN}},
		 "Training was not seen to wait for data; the measurement was too "
		 "short for an interval."},
		{{{1.026, NAN, NAN}, {.012, NAN, NAN}, {-.038, NAN, NAN}},
		 "Training was not seen to wait for data; the measurement was too "
		 "short for an interval."},
		{{{1.01, .99, 1.03}, {.01, .005, .015}, {-.02, -.05, .01}},
		 "Training does not wait for data: what it waits is within the "
		 "measurement's interval of zero."},
		{{{.996, .99, 1}, {.004, .002, .006}, {0, -.001, .001}},
		 "No verdict: the wait found (0.4%) is smaller than what measuring may "
		 "cost (0.5%)."},
	};
	struct profile profile;

	profile_init(&profile);
	says(&profile, "How long training waits for data was not measured.");
	profile.overhead = (struct interval){.002, .001, .005};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		stalls_are(&profile, cases[i].stalls);
		says(&profile, cases[i].verdict);
	}
	/* What limits is not always the larger stall, and another waits behind it. */
	stalls_are(&profile, cases[0].stalls);
	profile.limit.id = STAGE_FETCH;
	profile.limit_next.id = STAGE_PREP;
	says(&profile, "Training waits for data 50.0% of its time: storage limits now, "
		       "then preparation.");
	profile.limit_next.id = STAGE_COMPUTE;
	says(&profile, "Training waits for data 50.0% of its time: storage limits.");
	profile.limit = profile.limit_next = PROFILE_NO_WORD;
	/* Compute: no stage is seen to, though one of them may. */
	stalls_are(&profile, (struct interval[]){
				     {.8, .71, .89}, {.1, -.02, .22}, {.1, -.02, .22}});
	profile.limit.id = STAGE_COMPUTE;
	says(&profile, "Training waits for data 11% to 29% of its time; what limits is "
		       "not known yet.");
	profile.limit = PROFILE_NO_WORD;
	/* What measuring may cost is not known either. */
	profile.overhead = (struct interval){.002, -.1, .104};
	profile.stalls[STAGE_COMPUTE] = (struct interval){.996, .99, 1};
	profile.stalls[STAGE_PREP] = (struct interval){.004, .002, .006};
	profile.stalls[STAGE_FETCH] = (struct interval){0, -.001, .001};
	says(&profile, "Training waits for data 0.4% of its time: preparation "
		       "limits.");
	stalls_are(&profile, cases[1].stalls);
	profile.stalls[STAGE_COMPUTE] = (struct interval){.88, .6, 1};
	profile.busy.kept = true;
	says(&profile,
	     "The machine was too busy: whether training waits for data is not "
	     "known; it may be anything up to 40% of its time.");
	profile_free(&profile);
}

/* Without an interval, nothing says how far off a machine is that others use. */
TEST(verdicts_without_intervals)
{
	static const struct interval waits[] = {
		{.2, NAN, NAN}, {.3, NAN, NAN}, {.5, NAN, NAN}};
	static const struct interval hardly[] = {
		{.988, NAN, NAN}, {.006, NAN, NAN}, {.006, NAN, NAN}};
	struct profile profile;

	profile_init(&profile);
	profile.protocol.id = MEASURE_OBSERVE;
	profile.limit.id = STAGE_COMPUTE;
	stalls_are(&profile, hardly);
	says(&profile,
	     "Training waits for data 1.2% of its time; no stage of it limits.");
	profile.stalls[STAGE_COMPUTE].value = .995;
	profile.stalls[STAGE_PREP].value = -.001;
	says(&profile, "Training was not seen to wait for data.");
	profile.limit = PROFILE_NO_WORD;
	stalls_are(&profile, waits);
	profile.busy.kept = true;
	says(&profile, "Training waits for data 80.0% of its time: storage limits; no "
		       "interval is known.");
	profile.protocol = PROFILE_NO_WORD;
	assert_true(profile_is_vague(&profile));
	assert_false(profile_has_answer(&profile));
	says(&profile, "The machine was too busy: how long training waits for data is "
		       "not known.");
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

TEST(overheads)
{
	costs(&INTERVAL_UNKNOWN, "");
	costs(&(struct interval){.0018, -.0009, .0045},
	      "0.18%, at most 0.45%, of the CPU time of a sample");
	costs(&(struct interval){.0018, NAN, NAN}, "0.18% of the CPU time of a sample");
	costs(&(struct interval){-.001, -.003, .001},
	      "not measurable (below 0.1% of CPU time)");
	costs(&(struct interval){-.001, NAN, NAN}, "not measurable");
}

static void writes(format_words *words, const struct profile *profile,
		   const char *expected)
{
	char *text = format_string(words, profile);

	assert_string_equal(text, expected);
	free(text);
}

TEST(an_ending_says_what_was_missing)
{
	struct profile profile;

	profile_init(&profile);
	profile.status.id = STATUS_COMPLETE;
	writes(format_ending, &profile, "");
	profile.status.id = STATUS_BUDGET;
	profile.budget_s = 40;
	writes(format_ending, &profile, "the budget of 40 s was spent");
	profile.budget_needed_s = 200;
	writes(format_ending, &profile,
	       "the budget of 40 s was spent: --budget 4m would do");
	profile.precision = .005;
	profile.budget_needed_s = 81.2;
	profile.stalls[STAGE_COMPUTE] = (struct interval){.5, .479, .521};
	writes(format_ending, &profile,
	       "±2.1 points instead of ±0.5; --budget 85s would reach ±0.5");
	profile.budget_needed_s = 401;
	writes(format_ending, &profile,
	       "±2.1 points instead of ±0.5; ±0.5 needs over 10 times the budget");
	profile.precision = .0206; /* which is ±2.1, too */
	writes(format_ending, &profile,
	       "±2.10 points instead of ±2.06; ±2.06 needs over 10 times the budget");
	profile.status.id = STATUS_TARGET_ENDED;
	writes(format_ending, &profile,
	       "the program finished first; the shares are known to ±2.1 points, more "
	       "epochs or steps would narrow that");
	profile.status.id = STATUS_VOID;
	profile_text(&profile.status_why, "it read 3 bytes");
	writes(format_ending, &profile,
	       "too few measurements could be verified: it read 3 bytes; the shares "
	       "are "
	       "known to ±2.1 points");
	profile_free(&profile);
}

TEST(a_crash_comes_first)
{
	struct profile profile;

	profile_init(&profile);
	writes(format_crash, &profile, "");
	profile.status.id = STATUS_TARGET_DIED;
	profile_text(&profile.status_why, "the program crashed (SIGABRT)");
	writes(format_crash, &profile, "The program crashed (SIGABRT).");
	says(&profile, "How long training waits for data was not measured.");
	profile.stalls[STAGE_COMPUTE].value = .5;
	writes(format_crash, &profile,
	       "The program crashed (SIGABRT); this is what was measured until then.");
	profile_free(&profile);
}

TEST(a_cache_that_holds_all_is_told_in_bytes)
{
	struct profile profile;

	profile_init(&profile);
	profile.workers = 2;
	profile.cache.id = CACHE_LRU;
	profile.cache_share = .355;
	writes(format_setup, &profile, "2 workers · lru cache 35.5%");
	profile.cache_share = 1093.177;
	profile.cache_capacity_bytes = 10000000000;
	writes(format_setup, &profile, "2 workers · lru cache 10 GB");
	profile_free(&profile);
}

TEST(time_beside_the_budget_is_told)
{
	struct profile profile;

	profile_init(&profile);
	profile.status.id = STATUS_BUDGET;
	profile.budget_s = 12;
	profile.wall_s = 13.9;
	writes(format_took, &profile, "");
	profile.wall_s = 19.5;
	writes(format_took, &profile,
	       "19.5 s: 12 s of measuring, the rest for the program to begin and to "
	       "leave");
	profile.budget_s = 10800;
	profile.wall_s = 12345;
	writes(format_took, &profile,
	       "12345 s: 10800 s of measuring, the rest for the program to begin and "
	       "to leave");
	writes(format_ending, &profile, "the budget of 10800 s was spent");
	profile.outside_share = .04;
	writes(format_outside, &profile, "");
	profile.outside_share = .336;
	profile.outside_s = 6.5;
	writes(format_outside, &profile,
	       "33.6% of the run (6.5 s) passed between steps: warm-up, evaluation, "
	       "checkpoints, pauses; the shares do not count it");
	profile_free(&profile);
}

TEST(several_loaders_are_told)
{
	struct profile profile;

	profile_init(&profile);
	writes(format_which_loader, &profile, "");
	profile.loaders = 1;
	writes(format_which_loader, &profile, "");
	profile.loaders = 2;
	writes(format_which_loader, &profile,
	       "the first of 2 that the program opened: the one that was asked for a "
	       "batch first");
	profile_free(&profile);
}

TEST(a_loop_that_trains_nothing_or_elsewhere_is_told)
{
	struct profile profile;

	profile_init(&profile);
	writes(format_loop, &profile, "");
	profile.reads_ahead = true;
	writes(format_loop, &profile,
	       "another thread than the one that trains asks for its batches, ahead of "
	       "it");
	profile.untrained = true;
	writes(format_loop, &profile,
	       "no backward() of torch followed a batch: inference, evaluation, or a "
	       "training that does without it");
	profile_free(&profile);
}

/* 1000 samples/s, of each of which the loader reads 100 KB in one call. */
TEST(reads_of_the_program_are_told_where_they_are_much)
{
	struct profile_window *window;
	struct profile profile;

	profile_init(&profile);
	window = profile_add_window(&profile);
	window->kind.id = TRACE_REAL;
	window->used = true;
	window->samples = window->misses = 500;
	window->fetched_bytes = 500 * 100000;
	profile.rates[TRACE_REAL].value = 1000;
	writes(format_program_reads, &profile, "");
	profile.program_reads_per_sample = .05;
	profile.program_bytes_per_sample = 9000;
	writes(format_program_reads, &profile, "");
	profile.program_bytes_per_sample = 12000;
	writes(format_program_reads, &profile,
	       "it reads 12 MB/s itself, in 50.0 calls/s beside the loader; what it "
	       "waits for them counts as compute");
	profile.program_reads_per_sample = .4;
	profile.program_bytes_per_sample = 8;
	writes(format_program_reads, &profile,
	       "it reads 8 KB/s itself, in 400 calls/s beside the loader; what it "
	       "waits for them counts as compute");
	profile.rates[TRACE_REAL].value = 20;
	writes(format_program_reads, &profile, ""); /* 8 calls a second */
	profile_free(&profile);
}

/* Of prep alone, by the second measurement. */
static bool agrees(double share, double half)
{
	struct profile profile;
	bool agreed;

	profile_init(&profile);
	profile.stalls[STAGE_PREP] = (struct interval){.4, .4 - half, .4 + half};
	profile.proof.share[STAGE_PREP] = share;
	agreed = format_proof_judge(&profile) == FORMAT_AGREES;
	profile_free(&profile);
	return agreed;
}

static void set_second(struct profile *profile, double prep, double fetch)
{
	profile->proof.share[STAGE_PREP] = prep;
	profile->proof.share[STAGE_FETCH] = fetch;
	profile->proof_gap = fmax(fabs(prep - .5), fabs(fetch - .1));
}

TEST(of_measurements_that_disagree_it_is_said_which_to_trust)
{
	struct profile profile;

	assert_true(agrees(.428, .001));
	assert_false(agrees(.45, .01));
	assert_true(agrees(.44, .03));
	assert_false(agrees(.51, .3));
	profile_init(&profile);
	writes(format_disagreement, &profile, "");
	profile.stalls[STAGE_COMPUTE] = (struct interval){.4, .39, .41};
	profile.stalls[STAGE_PREP] = (struct interval){.5, .49, .51};
	profile.stalls[STAGE_FETCH] = (struct interval){.1, .09, .11};
	set_second(&profile, .1, .5);
	writes(format_disagreement, &profile,
	       "the second measurement disagrees by 40.0 points; both see training "
	       "wait "
	       "60% of its time, but what for is not known");
	says(&profile, "Training waits for data 60.0% of its time; two measurements "
		       "disagree about what for.");
	set_second(&profile, 0, .1);
	writes(format_disagreement, &profile,
	       "the second measurement disagrees by 50.0 points; trust the first, as "
	       "steps also wait, or take longer, outside dsa_next()");
	says(&profile, "Training waits for data 60.0% of its time: preparation "
		       "limits.");
	set_second(&profile, .8, .1);
	writes(format_disagreement, &profile,
	       "the second measurement disagrees by 30.0 points; trust the first, as "
	       "the "
	       "program asks for batches before it needs them");
	/* Of which nothing is known none can be trusted. */
	profile.stalls[STAGE_COMPUTE] = (struct interval){.57, .29, .85};
	profile.stalls[STAGE_PREP] = (struct interval){.43, .15, .71};
	profile.stalls[STAGE_FETCH] = (struct interval){0, 0, 0};
	set_second(&profile, .31, 0);
	writes(format_disagreement, &profile, "");
	profile_free(&profile);
}

TEST(ranges_are_of_what_is_possible)
{
	char text[FORMAT_RANGE];

	assert_string_equal(
		format_range(text, &(struct interval){2936, -10116, 15989}, ".."),
		"0.00 .. 15989");
	assert_null(format_range(text, &INTERVAL_UNKNOWN, ".."));
}

TEST(budgets_are_rounded_up)
{
	char text[FORMAT_SIZE];

	assert_string_equal(format_budget(text, 41), "45s");
	assert_string_equal(format_budget(text, 96), "2m");
	assert_string_equal(format_budget(text, 7300), "3h");
	assert_string_equal(format_budget(text, NAN), "n/a");
}

TEST(what_is_not_seen_is_one_sentence)
{
	struct profile profile;
	char *text;

	profile_init(&profile);
	profile.coverage = 1;
	profile.connections = 2;
	profile.unseen_processes = 3;
	text = format_string(format_seen, &profile);
	assert_string_equal(
		text,
		"100.0% of the bytes that the loader's processes read; not how long "
		"connections were waited for (2 batches); nor 3 more processes, "
		"for which there was no room");
	free(text);
	profile_free(&profile);
}
