/* schedule_follow_test.c - jobs in step: one schedule asks, the others follow. */
#include "profiler/analysis/statistics.h"
#include "tests/lib/performer.h"
#include "tests/lib/test.h"

#include <string.h>

/* Two jobs in step: the second one follows. */
struct pair {
	struct performer lead, other;
};

static struct pair pair_new(void)
{
	struct schedule_config config = performer_usual;
	struct pair pair;

	config.in_step = true;
	config.budget_s = 600;
	pair.lead = performer_new(&config);
	pair.other = performer_new(&config);
	pair.other.random.state = 99;
	return pair;
}

static void pair_free(struct pair *pair)
{
	performer_free(&pair->lead);
	performer_free(&pair->other);
}

static enum schedule_step run_pair(struct pair *pair)
{
	struct schedule *lead = pair->lead.schedule, *other = pair->other.schedule;
	struct trace *led = pair->lead.trace, *followed = pair->other.trace;

	for (;;) {
		struct trace_window ask, own;
		enum schedule_step step;

		schedule_heed(lead, &other, 1);
		step = schedule_next(lead, led, performer_elapsed(&pair->lead), &ask);
		if (step != SCHEDULE_ASK)
			return step;
		schedule_follow(other, followed, &ask, &own);
		led->windows[led->window_count++] = ask;
		followed->windows[followed->window_count++] = own;
		performer_do(&pair->lead);
		performer_do(&pair->other);
	}
}

TEST(a_follower_has_the_same_windows_with_a_cache_of_its_own)
{
	struct pair pair = pair_new();
	const struct trace *lead = pair.lead.trace, *other = pair.other.trace;
	unsigned drawn = 0;

	strcpy(pair.other.trace->loader.cache, "lru");
	pair.other.trace->loader.cache_capacity = 50000000;
	assert_int_equal(run_pair(&pair), SCHEDULE_DONE);
	assert_int_equal(lead->window_count, other->window_count);
	for (unsigned i = 0; i < lead->window_count; i++) {
		const struct trace_window *a = &lead->windows[i],
					  *b = &other->windows[i];

		assert_int_equal(a->kind, b->kind);
		assert_int_equal(a->block, b->block);
		assert_int_equal(a->flags & TRACE_DRAW, 0);
		drawn += (b->flags & TRACE_DRAW) != 0;
		if (b->flags & TRACE_DRAW)
			assert_true(b->stage > 0 && b->kind == TRACE_REAL);
	}
	assert_true(drawn >= 8);
	pair_free(&pair);
}

TEST(what_is_void_to_a_follower_is_asked_of_all_again)
{
	struct pair pair = pair_new();
	const struct trace *lead = pair.lead.trace;

	pair.other.void_every = 3;
	pair.other.void_kind = TRACE_CACHED;
	assert_int_equal(run_pair(&pair), SCHEDULE_DONE);
	assert_true(schedule_shares(pair.other.schedule)->blocks >= 8);
	assert_true(performer_count(lead, TRACE_CACHED) >
		    performer_count(lead, TRACE_REAL));
	pair_free(&pair);
}

TEST(a_follower_that_is_always_void_holds_nobody_up)
{
	struct pair pair = pair_new();

	pair.other.void_every = 1;
	pair.other.void_kind = TRACE_CACHED;
	assert_int_equal(run_pair(&pair), SCHEDULE_DONE);
	assert_true(schedule_shares(pair.lead.schedule)->blocks >= 8);
	pair_free(&pair);
}

TEST(it_is_not_done_before_a_follower_is_precise)
{
	struct pair pair = pair_new();
	unsigned alone, blocks;

	assert_int_equal(run_pair(&pair), SCHEDULE_DONE);
	alone = schedule_shares(pair.lead.schedule)->blocks;
	pair_free(&pair);
	pair = pair_new();
	pair.other.noise = .02;
	assert_int_equal(run_pair(&pair), SCHEDULE_DONE);
	blocks = schedule_shares(pair.lead.schedule)->blocks;
	assert_true(blocks > alone);
	assert_true(shares_half(schedule_shares(pair.other.schedule)) <= .01);
	pair_free(&pair);
}
