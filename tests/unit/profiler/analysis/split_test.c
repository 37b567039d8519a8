/* split_test.c - prep and fetch without cached windows. */
#include "profiler/analysis/split.h"
#include "profiler/turns/turn_proof.h"
#include "tests/lib/close_to.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct profile profile;
static struct trace *trace;
static struct window real = {.kind = TRACE_REAL, .seconds = 1};

/* Training waits for .4 of its time; of that .3 is fetch by the second proof. */
static const char *no_list;
static double fetch_half = NAN;
static bool reads_ahead;

static void split_of(enum profile_loader kind, const struct trace_made *made,
		     double fetch)
{
	profile_free(&profile);
	profile.stalls[STAGE_COMPUTE] = (struct interval){.6, .59, .61};
	profile.proof.share[STAGE_FETCH] = fetch;
	profile.proof.fetch_half = fetch_half;
	profile.loader_kind.id = (int)kind;
	trace->loader.kind = kind;
	strcpy(trace->loader.no_list, no_list);
	profile.reads_ahead = reads_ahead;
	trace->windows[0].made = *made;
	real.trace = trace;
	real.raw = &trace->windows[0];
	assert_int_equal(split_stalls(&real, 1, &profile), 0);
}

static void split(const struct trace_made *made, double fetch)
{
	split_of(LOADER_TORCH, made, fetch);
}

TEST(a_replay_tells)
{
	split(&(struct trace_made){.bytes = 10, .storage_bytes = 10}, .3);
	assert_int_equal(profile.split.id, SPLIT_REPLAY);
	close_to(profile.stalls[STAGE_FETCH].value, .3, 1e-9);
	close_to(profile.stalls[STAGE_FETCH].high, .3 + TURN_CLOSE, 1e-9);
	close_to(profile.stalls[STAGE_PREP].value, .1, 1e-9);
	assert_true(profile.stalls[STAGE_PREP].low < .1 - TURN_CLOSE);
	assert_non_null(strstr(profile.split_why, "an IterableDataset"));
	split(&(struct trace_made){.bytes = 10}, -.03);
	close_to(profile.stalls[STAGE_FETCH].value, 0, 1e-9);
	close_to(profile.stalls[STAGE_PREP].value, .4, 1e-9);
	split(&(struct trace_made){.bytes = 10}, NAN);
	assert_int_equal(profile.split.id, SPLIT_NONE);
	assert_true(isnan(profile.stalls[STAGE_FETCH].value));
}

TEST(windows_that_differ_say_less)
{
	fetch_half = .1;
	split(&(struct trace_made){.bytes = 10}, .3);
	fetch_half = NAN;
	close_to(interval_half(profile.stalls[STAGE_FETCH]), hypot(.1, TURN_CLOSE),
		 1e-9);
	assert_true(interval_half(profile.stalls[STAGE_PREP]) > .1);
}

/* It gives none again, though it could. */
TEST(an_observed_run_names_no_other_reason)
{
	no_list = "";
	split(&(struct trace_made){.bytes = 10}, NAN);
	assert_int_equal(profile.split.id, SPLIT_NONE);
	assert_non_null(strstr(profile.split_why, "a replay of them does not give"));
	assert_null(strstr(profile.split_why, "given again"));
	split(&(struct trace_made){.bytes = 10}, .3);
	assert_int_equal(profile.split.id, SPLIT_REPLAY);
	assert_null(strstr(profile.split_why, "given again"));
}

TEST(where_no_byte_was_waited_for_there_is_no_fetch)
{
	split(&(struct trace_made){.batches = 1}, NAN);
	assert_int_equal(profile.split.id, SPLIT_MEMORY);
	close_to(profile.stalls[STAGE_FETCH].value, 0, 1e-9);
	close_to(profile.stalls[STAGE_PREP].value, .4, 1e-9);
	profile.stalls[STAGE_FETCH] = (struct interval){-.02, -.05, .01};
	assert_int_equal(split_stalls(&real, 1, &profile), 0);
	close_to(profile.stalls[STAGE_FETCH].value, 0, 1e-9);
	close_to(profile.stalls[STAGE_FETCH].low, 0, 1e-9);
	close_to(profile.stalls[STAGE_PREP].value, .4, 1e-9);
	split(&(struct trace_made){0}, NAN); /* nobody knows of any batch */
	assert_int_equal(profile.split.id, SPLIT_NONE);
	split(&(struct trace_made){.unseen = TRACE_MAPPED}, NAN);
	assert_int_equal(profile.split.id, SPLIT_STORAGE);
	close_to(profile.stalls[STAGE_FETCH].value, 0, 1e-9);
}

TEST(what_no_call_shows_is_not_told_apart)
{
	split(&(struct trace_made){.unseen = TRACE_MAPPED, .storage_bytes = 1}, NAN);
	assert_int_equal(profile.split.id, SPLIT_NONE);
	assert_true(isnan(profile.stalls[STAGE_PREP].value));
	assert_non_null(strstr(profile.split_why, "mapped files"));
	split(&(struct trace_made){.unseen = TRACE_CALLS}, NAN);
	assert_int_equal(profile.split.id, SPLIT_NONE);
	assert_non_null(strstr(profile.split_why, "calls that are not seen"));
	split(&(struct trace_made){.unseen = TRACE_SOCKET}, NAN);
	assert_int_equal(profile.split.id, SPLIT_NONE);
	assert_non_null(strstr(profile.split_why, "connections"));
	split(&(struct trace_made){.unseen = TRACE_MAPPED | TRACE_SOCKET}, NAN);
	assert_int_equal(profile.split.id, SPLIT_NONE);
	reads_ahead = true;
	split(&(struct trace_made){.bytes = 10}, NAN);
	reads_ahead = false;
	assert_int_equal(profile.split.id, SPLIT_NONE);
	assert_non_null(strstr(profile.split_why, "another thread reads"));
}

/* Its processes may read. */
TEST(a_loader_that_is_watched_may_fetch_unseen)
{
	split_of(LOADER_WATCH, &(struct trace_made){0}, NAN);
	assert_int_equal(profile.split.id, SPLIT_NONE);
	assert_true(isnan(profile.stalls[STAGE_FETCH].value));
	assert_non_null(strstr(profile.split_why, "of its own"));
	split_of(LOADER_WATCH, &(struct trace_made){.unseen = TRACE_MAPPED}, NAN);
	assert_int_equal(profile.split.id, SPLIT_NONE);
	split_of(LOADER_WATCH, &(struct trace_made){.bytes = 10}, .3);
	assert_int_equal(profile.split.id, SPLIT_REPLAY);
}

static int begin(void **state)
{
	(void)state;
	profile_init(&profile);
	no_list = "an IterableDataset";
	trace = calloc(1, sizeof(*trace));
	return trace == NULL ? -1 : 0;
}

static int end(void **state)
{
	(void)state;
	profile_free(&profile);
	free(trace);
	return 0;
}

TEST_GROUP(begin, end);
