#include "profiler/run/conductor/conductor.h"
#include "profiler/run/run_ending.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static const char *left;  /* why the job left before the others */
static pid_t left_behind; /* a process that does not end */
static const char *alone; /* why it went on without dsa; "": it did not */
static uint64_t epoch;    /* steps of one, of a loader of the program's own; 0: none */
static enum trace_beyond beyond; /* where there are more steps than in an epoch */
static bool observed;
static unsigned lost;    /* samples, as a server ended the data, */
static const char *gone; /* and why; "": that of a shared loader */

static int nothing_left(void **state)
{
	(void)state;
	left = alone = "";
	left_behind = 0;
	epoch = 0;
	observed = false;
	beyond = TRACE_GIVEN;
	lost = 0;
	gone = "";
	return 0;
}

/* What is said of a program that took so many steps of step_s each. */
static void ends(enum conductor_why why, const char *text, unsigned steps,
		 double step_s, struct profile *profile)
{
	struct conductor_end end = {.why = why, .signal = SIGINT, .left = left_behind};
	struct trace *trace = session_new();
	struct run_ending ending = {
		.end = &end,
		.trace = trace,
		.left = left,
		.budget_s = 8,
		.observed = observed,
	};

	assert_non_null(trace);
	snprintf(end.text, sizeof(end.text), "%s", text);
	trace->driver = 1;
	trace->loader.kind = epoch > 0 ? TRACE_TORCH : TRACE_LIBDSA;
	trace->loader.steps_per_epoch = epoch;
	trace->beyond = epoch > 0 && steps > epoch ? beyond : 0;
	trace->unmeasured = *alone != '\0' ? TRACE_SO_FAR : 0;
	snprintf(trace->unmeasured_why, sizeof(trace->unmeasured_why), "%s", alone);
	trace->processes[0].counters[TRACE_delivered_batches] = steps;
	trace->processes[0].counters[TRACE_lost_samples] = lost;
	snprintf(trace->lost_why, sizeof(trace->lost_why), "%s", gone);
	trace->first_request_ns = 1;
	trace->last_request_ns = 1 + (uint64_t)(steps * step_s * 1e9);
	profile_init(profile);
	assert_int_equal(run_ending_set(&ending, profile), 0);
	session_free(trace);
}

TEST_WITH(a_program_that_may_have_run_out_of_steps_is_told_so, nothing_left, NULL)
{
	struct profile profile;

	epoch = 60;
	ends(CONDUCTOR_DIED, "the program ended with status 1", 121, .1, &profile);
	assert_string_equal(
		profile.status_why,
		"the program ended with status 1 after 121 steps; dsa repeats its "
		"data, "
		"of which an epoch has 60: if what counts steps ran out of them, as a "
		"learning rate schedule does, let it have more, or use --epochs=own or "
		"--observe");
	profile_free(&profile);
	ends(CONDUCTOR_DIED, "the program ended with status 1", 60, .1, &profile);
	assert_string_equal(profile.status_why, "the program ended with status 1");
	profile_free(&profile);
	beyond = TRACE_ENDLESS;
	ends(CONDUCTOR_DIED, "the program ended with status 1", 121, .1, &profile);
	assert_string_equal(profile.status_why, "the program ended with status 1");
	profile_free(&profile);
}

TEST_WITH(a_budget_that_is_too_short_is_told_with_one_that_is_not, nothing_left, NULL)
{
	struct profile profile;

	ends(CONDUCTOR_BUDGET, "", 7, 1.2, &profile);
	assert_int_equal(profile.status.id, STATUS_BUDGET);
	assert_string_equal(profile.status_why,
			    "8 s is too short (a step takes 1.2 s)");
	assert_true(fabs(profile.budget_needed_s - 1.25 * 24 * 10 * 1.2) < 1e-6);
	profile_free(&profile);
	ends(CONDUCTOR_BUDGET, "", 1, 1.2, &profile);
	assert_string_equal(profile.status_why, "8 s is too short: raise --budget");
	assert_true(isnan(profile.budget_needed_s));
	profile_free(&profile);
}

TEST_WITH(a_program_that_ends_too_soon_is_told_how_many_steps_are_needed, nothing_left,
	  NULL)
{
	struct profile profile;

	ends(CONDUCTOR_ENDED, "the program finished", 3, .1, &profile);
	assert_int_equal(profile.status.id, STATUS_TARGET_ENDED);
	assert_string_equal(
		profile.status_why,
		"the program finished first: it took 3 steps; about 300 are "
		"needed: let it train for longer");
	profile_free(&profile);
}

TEST_WITH(what_left_a_program_alone_is_told_whatever_ended_it_later, nothing_left, NULL)
{
	struct profile profile;

	alone = "loading failed: ValueError: 37";
	epoch = 60;
	ends(CONDUCTOR_BUDGET, "", 7, 1.2, &profile);
	assert_string_equal(profile.status_why,
			    "it went on without dsa: loading failed: ValueError: 37");
	profile_free(&profile);
	ends(CONDUCTOR_ENDED, "the program finished", 3, .1, &profile);
	assert_string_equal(profile.status_why,
			    "it went on without dsa: loading failed: ValueError: 37");
	profile_free(&profile);
	ends(CONDUCTOR_DIED, "the program ended with status 1", 3, .1, &profile);
	assert_string_equal(profile.status_why, "the program ended with status 1");
	profile_free(&profile);
	ends(CONDUCTOR_INTERRUPTED, "SIGINT", 3, .1, &profile);
	assert_int_equal(profile.status.id, STATUS_INTERRUPTED);
	assert_string_equal(profile.status_why,
			    "it went on without dsa: loading failed: ValueError: 37");
	profile_free(&profile);
	/* Torch's loader was refused, and libdsa's came. */
	epoch = 0;
	ends(CONDUCTOR_BUDGET, "", 1, 1.2, &profile);
	assert_string_equal(profile.status_why, "8 s is too short: raise --budget");
	profile_free(&profile);
}

TEST_WITH(what_was_observed_is_complete_unless_it_was_left_alone, nothing_left, NULL)
{
	struct profile profile;

	observed = true;
	epoch = 60;
	ends(CONDUCTOR_ENDED, "the program finished", 3, .1, &profile);
	assert_int_equal(profile.status.id, STATUS_COMPLETE);
	assert_null(profile.status_why);
	profile_free(&profile);
	alone = "two loaders in turn";
	ends(CONDUCTOR_ENDED, "the program finished", 3, .1, &profile);
	assert_int_equal(profile.status.id, STATUS_TARGET_ENDED);
	assert_string_equal(profile.status_why,
			    "it went on without dsa: two loaders in turn");
	profile_free(&profile);
}

TEST_WITH(an_interruption_is_the_users, nothing_left, NULL)
{
	struct profile profile;

	ends(CONDUCTOR_INTERRUPTED, "SIGINT", 3, .1, &profile);
	assert_string_equal(profile.status_why, "you interrupted it");
	profile_free(&profile);
}

TEST_WITH(a_crash_is_told_as_it_was, nothing_left, NULL)
{
	struct profile profile;

	ends(CONDUCTOR_DIED, "the program crashed (SIGABRT)", 3, .1, &profile);
	assert_int_equal(profile.status.id, STATUS_TARGET_DIED);
	assert_string_equal(profile.status_why, "the program crashed (SIGABRT)");
	profile_free(&profile);
}

TEST_WITH(no_budget_is_too_short_for_a_job_that_left, nothing_left, NULL)
{
	struct profile profile;

	left = "came no further";
	ends(CONDUCTOR_BUDGET, "", 7, 1.2, &profile);
	assert_string_equal(profile.status_why,
			    "job 0 came no further, and the others went on without it");
	assert_true(isnan(profile.budget_needed_s));
	profile_free(&profile);
}

TEST_WITH(a_process_that_does_not_end_is_told, nothing_left, NULL)
{
	struct profile profile;

	left_behind = 77;
	ends(CONDUCTOR_STEPS, "", 7, 1.2, &profile);
	assert_string_equal(profile.status_why,
			    "process 77 is left of it, which can't be ended");
	profile_free(&profile);
	ends(CONDUCTOR_INTERRUPTED, "SIGINT", 7, 1.2, &profile);
	assert_string_equal(profile.status_why,
			    "you interrupted it; process 77 is left of it, which "
			    "can't be ended");
	profile_free(&profile);
}

TEST_WITH(why_a_server_ended_the_data_is_told, nothing_left, NULL)
{
	struct profile profile;

	lost = 2;
	ends(CONDUCTOR_DIED, "the program ended with status 1", 60, .1, &profile);
	assert_string_equal(profile.status_why,
			    "the program ended with status 1, as a server ended its "
			    "data: 2 samples lost");
	profile_free(&profile);
	gone = "s3://photos/a.jpg: the session token has expired, 2 samples lost";
	ends(CONDUCTOR_DIED, "the program ended with status 1", 60, .1, &profile);
	assert_string_equal(profile.status_why,
			    "the program ended with status 1, as a server ended its "
			    "data: s3://photos/a.jpg: the session token has expired, "
			    "2 samples lost");
	profile_free(&profile);
}
