#include "profiler/profile.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static struct profile_busy busy_of(double cpu, uint64_t disturbed, bool kept)
{
	struct profile_busy busy = PROFILE_BUSY_UNKNOWN;

	busy.others_cpu_share = cpu;
	busy.steal_share = 0;
	busy.load = 10.14;
	busy.windows = 24;
	busy.disturbed = disturbed;
	busy.kept = kept;
	return busy;
}

/* Frees nothing: tests end. */
static const char *words_of(struct profile_busy busy, bool can_observe)
{
	static char *text;

	free(text);
	text = NULL;
	assert_int_equal(profile_busy_text(&busy, can_observe, &text), 0);
	return text;
}

static const char *words(struct profile_busy busy)
{
	return words_of(busy, true);
}

TEST(who_was_busy_is_named)
{
	struct profile_busy busy = busy_of(.634, 20, true);

	assert_string_equal(
		words(busy),
		"other programs used 63% of the CPU (load 10.1); 20 of 24 "
		"measurements were disturbed and count all the same: quieten "
		"the machine, or measure it as it is with --observe");
	busy.steal_share = .04;
	busy.others_read_share = .31;
	assert_string_equal(
		words(busy),
		"other programs used 63% of the CPU and had 31% of all "
		"reads from the data set's device (load 10.1), the host "
		"took 4%; 20 of 24 measurements were disturbed and count all "
		"the same: quieten the machine, or measure it as it is with "
		"--observe");
	assert_string_equal(words(busy_of(.2, 1, false)),
			    "other programs used 20% of the CPU (load 10.1); 1 of 24 "
			    "measurements was disturbed and left out of the "
			    "shares");
	assert_string_equal(words_of(busy_of(.2, 1, true), false),
			    "other programs used 20% of the CPU (load 10.1); 1 of 24 "
			    "measurements was disturbed and counts all the same: "
			    "quieten the machine");
	assert_string_equal(words(busy_of(.2, 0, false)),
			    "other programs used 20% of the CPU (load 10.1); that "
			    "disturbed no measurement");
}

TEST(of_a_quiet_machine_nothing_is_said)
{
	struct profile_busy busy = PROFILE_BUSY_UNKNOWN;

	assert_null(words(busy));
	assert_null(words(busy_of(.04, 0, false)));
	busy = busy_of(.04, 0, false);
	busy.steal_share = .02;
	assert_non_null(words(busy));
	busy = busy_of(NAN, 0, false);
	assert_null(words(busy));
	busy.others_read_share = .5;
	busy.disturbed = 24;
	busy.kept = true;
	busy.load = NAN;
	assert_string_equal(
		words(busy),
		"other programs had 50% of all reads from the data set's "
		"device; 24 of 24 measurements were disturbed and count all the "
		"same: quieten the machine, or measure it as it is with "
		"--observe");
}

TEST(launches_are_joined)
{
	struct profile_busy sum = PROFILE_BUSY_UNKNOWN;
	struct profile_busy more = busy_of(.6, 12, true);

	profile_busy_join(&sum, &more);
	assert_int_equal(sum.windows, 24);
	more = busy_of(.2, 3, false);
	more.windows = 8;
	more.load = NAN;
	profile_busy_join(&sum, &more);
	more = PROFILE_BUSY_UNKNOWN;
	profile_busy_join(&sum, &more);
	assert_int_equal(sum.windows, 32);
	assert_int_equal(sum.disturbed, 15);
	assert_true(sum.kept);
	assert_true(fabs(sum.others_cpu_share - .5) < 1e-9);
	assert_true(fabs(sum.load - 10.14) < 1e-9);
}

/* ---- whether an interval answers ---- */

static bool answers(double compute, double low, double high)
{
	struct profile profile;

	profile_init(&profile);
	profile.stalls[STAGE_COMPUTE] = (struct interval){compute, low, high};
	return profile_has_answer(&profile);
}

TEST(an_interval_wider_than_the_wait_is_no_answer)
{
	assert_true(answers(.5, .498, .502));
	assert_true(answers(.5, .25, .75));
	assert_false(answers(.5, .24, .76));
	assert_true(answers(.1, 0, .5));
	assert_false(answers(.1, 0, .8)); /* that reaches too far */
	assert_false(answers(.9, .6, 1));
	assert_true(answers(.999, .981, 1)); /* narrow: it does not wait */
	assert_false(answers(.94, -3, 5));
	assert_true(answers(.94, NAN, NAN)); /* of one block, or observed */
}

TEST(a_bar_needs_every_share)
{
	struct profile profile;

	profile_init(&profile);
	assert_true(profile_has_shares(&profile));
	profile.stalls[STAGE_COMPUTE] = (struct interval){.4, .38, .42};
	profile.stalls[STAGE_PREP] = (struct interval){.4, .1, .7};
	profile.stalls[STAGE_FETCH] = (struct interval){.2, 0, .5};
	assert_true(profile_has_shares(&profile));
	profile.stalls[STAGE_PREP] = (struct interval){.4, .05, .75};
	assert_false(profile_has_shares(&profile));
	assert_true(profile_has_answer(&profile));
}
