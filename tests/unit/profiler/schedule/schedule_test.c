#include "loader/base/random.h"
#include "profiler/schedule/schedule.h"
#include "tests/lib/nomem.h"
#include "tests/lib/session.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 32 };

/* A target whose steps take so long, with noise; it does what is asked for. */
struct target {
	struct trace *trace;
	struct random random;
	double step_ms[TRACE_KINDS];
	double noise;        /* standard deviation of a window's rate, relative */
	unsigned void_every; /* each so many-th window is void; 0: none */
	enum trace_kind void_kind;
	unsigned done;
};

static struct target target_new(void)
{
	struct target target = {
		.trace = session_new(),
		.random = {3},
		.noise = .01,
		.step_ms = {[TRACE_REAL] = 20,
			    [TRACE_CACHED] = 15,
			    [TRACE_SYNTHETIC] = 10,
			    [TRACE_LOADED] = 11,
			    [TRACE_PREP] = 14,
			    [TRACE_FETCH] = 18},
	};

	return target;
}

static double elapsed(const struct target *target)
{
	return (double)(target->trace->last_request_ns - target->trace->created_ns) *
	       1e-9;
}

static unsigned whole_epochs(const struct trace *trace, unsigned steps)
{
	unsigned epoch = (unsigned)trace->loader.steps_per_epoch;

	return (steps + epoch - 1) / epoch * epoch;
}

static void perform(struct target *target, struct trace_window *window)
{
	struct session_window did = {.samples = BATCH};
	double length_ms = (double)window->length_ns * 1e-6;
	double unit = random_unit(&target->random) - .5;

	did.step_ms = target->step_ms[window->kind] * (1 + target->noise * 3.46 * unit);
	did.steps = (unsigned)fmax(fmax(ceil(length_ms / did.step_ms), 1),
				   window->min_steps);
	if (window->flags & TRACE_EPOCH)
		did.steps = whole_epochs(target->trace, did.steps);
	if (window->kind == TRACE_FETCH || window->kind == TRACE_REAL)
		did.fetched = did.steps * BATCH;
	if (window->flags & TRACE_WARM)
		did.fetched = 0;
	if (window->kind != TRACE_FETCH && window->kind != TRACE_SYNTHETIC)
		did.prepared = did.steps * BATCH;
	if (window->kind == TRACE_REAL || window->kind == TRACE_CACHED)
		did.blocked_ms = did.step_ms - 10;
	session_answer(target->trace, window, &did);
	window->staged = window->stage;
	if (target->void_every > 0 && window->kind == target->void_kind &&
	    ++target->done % target->void_every == 0)
		window->end.read_bytes += 1 << 30;
}

/* Goes on until the schedule says stop; returns its last word. */
static enum schedule_step run(struct schedule *schedule, struct target *target)
{
	struct trace *trace = target->trace;

	for (;;) {
		struct trace_window ask;
		enum schedule_step step =
			schedule_next(schedule, trace, elapsed(target), &ask);

		if (step == SCHEDULE_ASK) {
			assert_true(trace->window_count < TRACE_WINDOWS);
			trace->windows[trace->window_count++] = ask;
		} else if (step == SCHEDULE_WAIT) {
			assert_true(trace->window_now < trace->window_count);
			perform(target, &trace->windows[trace->window_now]);
		} else {
			return step;
		}
	}
}

static const struct schedule_config usual = {
	.budget_s = 60,
	.precision = .01,
	.only = -1,
	.memory_bytes = 1 << 30,
	.cache_bytes = 1 << 30,
};

static unsigned count_kind(const struct trace *trace, enum trace_kind kind)
{
	unsigned count = 0;

	for (unsigned i = 0; i < trace->window_count; i++)
		count += trace->windows[i].kind == kind;
	return count;
}

static void stops_when_precise_after_eight_blocks(void **state)
{
	struct target target = target_new();
	struct schedule *schedule = schedule_new(&usual);
	const struct shares *shares;

	(void)state;
	assert_int_equal(run(schedule, &target), SCHEDULE_DONE);
	shares = schedule_shares(schedule);
	assert_in_range(shares->blocks, 8, 20);
	assert_true(shares_half(shares) <= .01);
	assert_true(elapsed(&target) < 60);
	schedule_free(schedule);
	session_free(target.trace);
}

static void the_first_window_warms_up(void **state)
{
	struct target target = target_new();
	struct schedule *schedule = schedule_new(&usual);
	struct trace_window ask;

	(void)state;
	assert_int_equal(schedule_next(schedule, target.trace, 0, &ask), SCHEDULE_ASK);
	assert_int_equal(ask.kind, TRACE_REAL);
	assert_int_equal(ask.flags, TRACE_WARMUP);
	assert_true(ask.min_steps >= 4);
	target.trace->windows[target.trace->window_count++] = ask;
	assert_int_equal(schedule_next(schedule, target.trace, 0, &ask), SCHEDULE_WAIT);
	schedule_free(schedule);
	session_free(target.trace);
}

static void noise_takes_more_blocks_and_then_the_budget(void **state)
{
	struct target target = target_new();
	struct schedule *schedule = schedule_new(&usual);

	(void)state;
	target.noise = .1;
	assert_int_equal(run(schedule, &target), SCHEDULE_OUT);
	assert_true(schedule_shares(schedule)->blocks > 10);
	assert_true(elapsed(&target) <= 60.5 && elapsed(&target) > 50);
	schedule_free(schedule);
	session_free(target.trace);
}

static void kinds_are_balanced_and_orders_mirrored(void **state)
{
	struct target target = target_new();
	struct schedule *schedule = schedule_new(&usual);
	double place[3] = {0};
	unsigned at = 0;

	(void)state;
	run(schedule, &target);
	for (unsigned i = 0; i < target.trace->window_count; i++) {
		const struct trace_window *window = &target.trace->windows[i];

		if (window->block >= 6)
			continue;
		assert_int_equal(window->settle, 2);
		assert_int_equal(window->min_steps, 8);
		place[window->kind] += at++ % 3;
	}
	/* In 6 blocks each kind stands first, second and third twice. */
	for (int kind = 0; kind < 3; kind++)
		assert_int_equal(place[kind], 6);
	schedule_free(schedule);
	session_free(target.trace);
}

static void extras_take_a_fifth_and_cover_the_curves(void **state)
{
	struct target target = target_new();
	struct schedule *schedule = schedule_new(&usual);
	double seconds = 0;
	unsigned paired = 0, depths = 0, workers = 0;

	(void)state;
	run(schedule, &target);
	for (unsigned i = 1; i < target.trace->window_count; i++) {
		const struct trace_window *window = &target.trace->windows[i];

		if (window->block < TRACE_WINDOWS)
			continue;
		seconds += (double)(window->end.time_ns - window->switch_ns) * 1e-9;
		paired += (window->flags & TRACE_PAIRED) != 0;
		depths |= window->kind == TRACE_FETCH ? 1u << window->depth % 32 : 0;
		assert_int_equal(window->flags & TRACE_UNTHROTTLED, 0);
		workers |= window->kind == TRACE_PREP ? 1u << window->workers : 0;
		if (window->kind == TRACE_LOADED)
			assert_true(window->stage >= 1000);
	}
	assert_true(seconds <= 12.5);
	assert_true(paired >= 4);
	assert_true(count_kind(target.trace, TRACE_LOADED) >= 2);
	assert_int_equal(workers, 1u << 0 | 1u << 1 | 1u << 2);
	/* 0 is as configured, 16; 32 counts as 0 here. */
	assert_int_equal(depths, 1u << 0 | 1u << 1 | 1u << 2 | 1u << 4 | 1u << 8);
	schedule_free(schedule);
	session_free(target.trace);
}

static void what_is_under_an_emulated_storage_is_measured(void **state)
{
	struct target target = target_new();
	struct schedule *schedule = schedule_new(&usual);
	unsigned depths = 0;

	(void)state;
	target.trace->loader.storage_latency = .005;
	run(schedule, &target);
	for (unsigned i = 1; i < target.trace->window_count; i++) {
		const struct trace_window *window = &target.trace->windows[i];

		if (window->flags != TRACE_UNTHROTTLED)
			continue;
		assert_int_equal(window->kind, TRACE_FETCH);
		depths |= 1u << window->depth;
	}
	assert_int_equal(depths, 1u << 0 | 1u << 1);
	schedule_free(schedule);
	session_free(target.trace);
}

static void a_short_budget_shortens_windows(void **state)
{
	struct schedule_config config = usual;
	struct target target = target_new();
	struct schedule *schedule;

	(void)state;
	config.budget_s = 12;
	target.noise = .05;
	schedule = schedule_new(&config);
	assert_int_equal(run(schedule, &target), SCHEDULE_OUT);
	assert_true(schedule_shares(schedule)->blocks >= 8);
	assert_true(elapsed(&target) <= 12.5);
	for (unsigned i = 1; i < target.trace->window_count; i++) {
		const struct trace_window *window = &target.trace->windows[i];

		assert_true(window->block >= TRACE_WINDOWS || window->steps >= 8);
	}
	schedule_free(schedule);
	session_free(target.trace);
}

static void void_windows_are_repeated(void **state)
{
	struct target target = target_new();
	struct schedule *schedule = schedule_new(&usual);

	(void)state;
	target.void_every = 3;
	target.void_kind = TRACE_CACHED;
	assert_int_equal(run(schedule, &target), SCHEDULE_DONE);
	assert_true(schedule_shares(schedule)->blocks >= 8);
	assert_true(count_kind(target.trace, TRACE_CACHED) >
		    count_kind(target.trace, TRACE_REAL));
	schedule_free(schedule);
	session_free(target.trace);
}

static void what_is_always_void_is_given_up(void **state)
{
	struct target target = target_new();
	struct schedule *schedule = schedule_new(&usual);

	(void)state;
	target.void_every = 1;
	target.void_kind = TRACE_CACHED;
	assert_int_equal(run(schedule, &target), SCHEDULE_VOID);
	assert_non_null(strstr(schedule_why(schedule), "came from storage"));
	assert_true(count_kind(target.trace, TRACE_CACHED) < 12);
	schedule_free(schedule);
	session_free(target.trace);
}

/* At most 50 s, with so much of the data set in the cache. Returns the last word. */
static enum schedule_step run_filling(struct schedule *schedule, struct target *target,
				      double filled)
{
	struct trace *trace = target->trace;
	enum schedule_step step = SCHEDULE_WAIT;

	while (elapsed(target) < 50) {
		struct trace_window ask;

		step = schedule_next(schedule, trace, elapsed(target), &ask);
		if (step == SCHEDULE_ASK) {
			trace->windows[trace->window_count++] = ask;
			continue;
		}
		if (step != SCHEDULE_WAIT)
			break;
		perform(target, &trace->windows[trace->window_now]);
		trace->windows[trace->window_now - 1].end.cache_bytes =
			(uint64_t)(filled * 1e8);
	}
	return step;
}

/* The real windows' flags and hits with a cache of this policy and size. */
static struct trace *with_cache(const char *policy, double share, double filled)
{
	struct target target = target_new();
	struct schedule *schedule = schedule_new(&usual);
	struct trace *trace = target.trace;

	strcpy(trace->loader.cache, policy);
	trace->loader.cache_capacity = (uint64_t)(share * 1e8);
	run_filling(schedule, &target, filled);
	schedule_free(schedule);
	return trace;
}

static double mean_hit(const struct trace *trace, unsigned flag)
{
	double sum = 0;

	for (unsigned i = 0; i < trace->window_count; i++) {
		const struct trace_window *window = &trace->windows[i];

		if (window->kind != TRACE_REAL || window->block >= 8)
			continue;
		assert_int_equal(window->flags, flag);
		sum += window->hit / 8;
	}
	return sum;
}

static void minio_is_filled_and_used(void **state)
{
	struct trace *trace = with_cache("minio", .35, .35);

	(void)state;
	assert_int_equal(count_kind(trace, TRACE_FILL), 1);
	mean_hit(trace, 0);
	session_free(trace);
}

static void minio_that_does_not_fill_in_time_is_drawn(void **state)
{
	struct trace *trace = with_cache("minio", .35, .1);

	(void)state;
	assert_true(fabs(mean_hit(trace, TRACE_DRAW) - .35) < 1e-9);
	session_free(trace);
}

static void lru_is_drawn_over_the_epoch(void **state)
{
	struct trace *trace = with_cache("lru", .5, 0);

	(void)state;
	assert_int_equal(count_kind(trace, TRACE_FILL), 0);
	/* Eight strata stand for the mean x + (1-x) ln(1-x). */
	assert_true(fabs(mean_hit(trace, TRACE_DRAW) - .153) < .005);
	session_free(trace);
}

static void a_page_cache_that_fits_is_warmed(void **state)
{
	struct trace *trace = with_cache("page", 0, 0);

	(void)state;
	mean_hit(trace, TRACE_WARM);
	session_free(trace);
}

static void one_kind_alone_is_measured_alone(void **state)
{
	struct schedule_config config = usual;
	struct target target = target_new();
	struct schedule *schedule;

	(void)state;
	config.only = TRACE_CACHED;
	schedule = schedule_new(&config);
	assert_int_equal(run(schedule, &target), SCHEDULE_DONE);
	for (unsigned i = 1; i < target.trace->window_count; i++) {
		assert_int_equal(target.trace->windows[i].kind, TRACE_CACHED);
		assert_int_equal(target.trace->windows[i].block, i - 1);
	}
	assert_true(target.trace->window_count > 8);
	schedule_free(schedule);
	session_free(target.trace);
}

/* A rate alone, with half of the data set in a cache of this policy. */
static struct trace *rate_with(const char *policy, unsigned steps_per_epoch,
			       enum schedule_step word)
{
	struct schedule_config config = usual;
	struct target target = target_new();
	struct trace *trace = target.trace;
	struct schedule *schedule;

	config.only = TRACE_REAL;
	config.rate = true;
	schedule = schedule_new(&config);
	strcpy(trace->loader.cache, policy);
	trace->loader.cache_capacity = strcmp(policy, "none") == 0 ? 0 : 50000000;
	trace->loader.steps_per_epoch = steps_per_epoch;
	assert_int_equal(run_filling(schedule, &target, .5), word);
	schedule_free(schedule);
	return trace;
}

/* Windows with exactly these flags and, if `counts`, of a block. */
static unsigned with_flags(const struct trace *trace, unsigned flags, bool counts)
{
	unsigned count = 0;

	for (unsigned i = 0; i < trace->window_now; i++) {
		const struct trace_window *window = &trace->windows[i];

		count += window->kind == TRACE_REAL && window->flags == flags &&
			 (window->block < TRACE_WINDOWS) == counts;
	}
	return count;
}

static void a_rate_is_of_whole_epochs_where_they_fit(void **state)
{
	static const struct {
		const char *policy;
		unsigned fills, warm;
	} cases[] = {{"none", 0, 0}, {"minio", 1, 0}, {"lru", 0, 1}, {"fifo", 0, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* Of .2 s, five a window; and of a second. */
		for (unsigned steps = 10; steps <= 50; steps += 40) {
			struct trace *trace =
				rate_with(cases[i].policy, steps, SCHEDULE_DONE);

			assert_int_equal(count_kind(trace, TRACE_FILL), cases[i].fills);
			assert_int_equal(
				with_flags(trace, TRACE_EPOCH | TRACE_WARMUP, false),
				cases[i].warm);
			assert_in_range(with_flags(trace, TRACE_EPOCH, true), 4, 12);
			assert_int_equal(with_flags(trace, TRACE_WARMUP, false), 1);
			assert_int_equal(count_kind(trace, TRACE_CACHED), 0);
			for (unsigned j = 0; j < trace->window_now; j++)
				if (trace->windows[j].flags == TRACE_EPOCH)
					assert_in_range(trace->windows[j].steps, 50,
							100);
			session_free(trace);
		}
	}
}

static void a_rate_of_long_epochs_is_of_windows_with_drawn_hits(void **state)
{
	struct trace *trace = rate_with("lru", 1000, SCHEDULE_DONE);

	(void)state;
	assert_int_equal(with_flags(trace, TRACE_EPOCH, true), 0);
	assert_in_range(with_flags(trace, TRACE_DRAW, true), 8, 30);
	session_free(trace);
}

/* Two jobs in step: the second one follows. */
struct pair {
	struct target lead, other;
	struct schedule *schedule, *follower;
};

static struct pair pair_new(void)
{
	struct schedule_config config = usual;
	struct pair pair = {.lead = target_new(), .other = target_new()};

	config.in_step = true;
	config.budget_s = 600;
	pair.schedule = schedule_new(&config);
	pair.follower = schedule_new(&config);
	pair.other.random.state = 99;
	return pair;
}

static void pair_free(struct pair *pair)
{
	schedule_free(pair->schedule);
	schedule_free(pair->follower);
	session_free(pair->lead.trace);
	session_free(pair->other.trace);
}

static enum schedule_step run_pair(struct pair *pair)
{
	struct trace *lead = pair->lead.trace, *other = pair->other.trace;

	for (;;) {
		struct trace_window ask, own;
		enum schedule_step step;

		schedule_heed(pair->schedule, &pair->follower, 1);
		step = schedule_next(pair->schedule, lead, elapsed(&pair->lead), &ask);
		if (step != SCHEDULE_ASK)
			return step;
		schedule_follow(pair->follower, other, &ask, &own);
		lead->windows[lead->window_count++] = ask;
		other->windows[other->window_count++] = own;
		perform(&pair->lead, &lead->windows[lead->window_now]);
		perform(&pair->other, &other->windows[other->window_now]);
	}
}

static void a_follower_has_the_same_windows_with_a_cache_of_its_own(void **state)
{
	struct pair pair = pair_new();
	const struct trace *lead = pair.lead.trace, *other = pair.other.trace;
	unsigned drawn = 0;

	(void)state;
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

static void what_is_void_to_a_follower_is_asked_of_all_again(void **state)
{
	struct pair pair = pair_new();
	const struct trace *lead = pair.lead.trace;

	(void)state;
	pair.other.void_every = 3;
	pair.other.void_kind = TRACE_CACHED;
	assert_int_equal(run_pair(&pair), SCHEDULE_DONE);
	assert_true(schedule_shares(pair.follower)->blocks >= 8);
	assert_true(count_kind(lead, TRACE_CACHED) > count_kind(lead, TRACE_REAL));
	pair_free(&pair);
}

static void a_follower_that_is_always_void_holds_nobody_up(void **state)
{
	struct pair pair = pair_new();

	(void)state;
	pair.other.void_every = 1;
	pair.other.void_kind = TRACE_CACHED;
	assert_int_equal(run_pair(&pair), SCHEDULE_DONE);
	assert_true(schedule_shares(pair.schedule)->blocks >= 8);
	pair_free(&pair);
}

static void it_is_not_done_before_a_follower_is_precise(void **state)
{
	struct pair pair = pair_new();
	unsigned alone, blocks;

	(void)state;
	assert_int_equal(run_pair(&pair), SCHEDULE_DONE);
	alone = schedule_shares(pair.schedule)->blocks;
	pair_free(&pair);
	pair = pair_new();
	pair.other.noise = .02;
	assert_int_equal(run_pair(&pair), SCHEDULE_DONE);
	blocks = schedule_shares(pair.schedule)->blocks;
	assert_true(blocks > alone);
	assert_true(shares_half(schedule_shares(pair.follower)) <= .01);
	pair_free(&pair);
}

static const struct schedule_config single = {
	.budget_s = INFINITY,
	.block_s = 4,
	.only = -1,
	.memory_bytes = 1 << 30,
	.cache_bytes = 1 << 30,
};

/* The three letters of the windows of the block, in order. */
static void order_of(uint64_t seed, char order[4])
{
	struct schedule_config config = single;
	struct target target = target_new();
	struct schedule *schedule;

	config.seed = seed;
	schedule = schedule_new(&config);
	assert_int_equal(run(schedule, &target), SCHEDULE_DONE);
	assert_int_equal(target.trace->window_count, 4);
	assert_int_equal(target.trace->windows[0].flags, TRACE_WARMUP);
	for (unsigned i = 0; i < 3; i++)
		order[i] = "rcs"[target.trace->windows[i + 1].kind];
	order[3] = '\0';
	schedule_free(schedule);
	session_free(target.trace);
}

static void a_single_block_turns_with_the_seed(void **state)
{
	char order[4], mirror[4];
	unsigned place[3][3] = {{0}};

	(void)state;
	for (unsigned seed = 0; seed < 6; seed += 2) {
		order_of(seed, order);
		order_of(seed + 1, mirror);
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(order[i], mirror[2 - i]);
			place[strchr("rcs", order[i]) - "rcs"][i]++;
			place[strchr("rcs", mirror[i]) - "rcs"][i]++;
		}
	}
	for (unsigned i = 0; i < 9; i++)
		assert_int_equal(place[i / 3][i % 3], 2);
}

static void half_of_a_single_block_is_the_real_window(void **state)
{
	struct target target = target_new();
	struct schedule *schedule = schedule_new(&single);
	double seconds[TRACE_KINDS] = {0};
	const struct shares *shares;

	(void)state;
	target.trace->loader.dataset_samples = 10000;
	assert_int_equal(run(schedule, &target), SCHEDULE_DONE);
	for (unsigned i = 1; i < target.trace->window_count; i++) {
		const struct trace_window *window = &target.trace->windows[i];

		assert_int_equal(window->block, 0);
		assert_int_equal(window->min_steps, 8);
		assert_int_equal(window->limit_ns, 0);
		seconds[window->kind] = (double)window->length_ns * 1e-9;
		if (window->kind == TRACE_CACHED) /* what 1 s of 15 ms steps takes */
			assert_true(window->stage >= 67 * BATCH);
		if (window->kind == TRACE_SYNTHETIC) /* of 10 ms, and some more */
			assert_in_range(window->stage, 102 * BATCH, 150 * BATCH);
	}
	assert_true(fabs(seconds[TRACE_REAL] - 2) < 1e-6);
	assert_true(fabs(seconds[TRACE_CACHED] - 1) < 1e-6);
	assert_true(fabs(seconds[TRACE_SYNTHETIC] - 1) < 1e-6);
	shares = schedule_shares(schedule);
	assert_int_equal(shares->blocks, 1);
	assert_true(fabs(shares->rates[STAGE_REAL].value - 32 / .020) < 100);
	assert_true(isnan(shares->rates[STAGE_REAL].low) &&
		    isnan(shares->stalls[STAGE_COMPUTE].high));
	schedule_free(schedule);
	session_free(target.trace);
}

static void a_slow_step_lengthens_a_single_block(void **state)
{
	struct target target = target_new();
	struct schedule *schedule = schedule_new(&single);

	(void)state;
	for (int kind = 0; kind < TRACE_KINDS; kind++)
		target.step_ms[kind] *= 100;
	assert_int_equal(run(schedule, &target), SCHEDULE_DONE);
	for (unsigned i = 1; i < target.trace->window_count; i++)
		assert_int_equal(target.trace->windows[i].steps, 8);
	schedule_free(schedule);
	session_free(target.trace);
}

static void a_single_block_fills_the_cache_first(void **state)
{
	struct target target = target_new();
	struct schedule *schedule = schedule_new(&single);
	struct trace *trace = target.trace;

	(void)state;
	strcpy(trace->loader.cache, "minio");
	trace->loader.cache_capacity = 35000000;
	assert_int_equal(run_filling(schedule, &target, .35), SCHEDULE_DONE);
	assert_int_equal(trace->window_count, 5);
	assert_int_equal(trace->windows[0].kind, TRACE_FILL);
	assert_int_equal(trace->windows[0].limit_ns, 4000000000u);
	assert_int_equal(trace->windows[1].flags, TRACE_WARMUP);
	schedule_free(schedule);
	session_free(trace);
}

static void a_void_window_of_a_single_block_is_tried_three_times(void **state)
{
	struct target target = target_new();
	struct schedule *schedule = schedule_new(&single);

	(void)state;
	target.void_every = 1;
	target.void_kind = TRACE_REAL;
	assert_int_equal(run(schedule, &target), SCHEDULE_VOID);
	assert_int_equal(count_kind(target.trace, TRACE_REAL), 1 + 3);
	assert_int_equal(count_kind(target.trace, TRACE_CACHED), 1);
	assert_non_null(strstr(schedule_why(schedule), "void"));
	schedule_free(schedule);
	session_free(target.trace);

	target = target_new();
	target.void_every = 2; /* the warm-up is the first */
	target.void_kind = TRACE_REAL;
	schedule = schedule_new(&single);
	assert_int_equal(run(schedule, &target), SCHEDULE_DONE);
	assert_int_equal(count_kind(target.trace, TRACE_REAL), 1 + 2);
	assert_int_equal(schedule_shares(schedule)->blocks, 1);
	schedule_free(schedule);
	session_free(target.trace);
}

static void memory_short_is_told(void **state)
{
	(void)state;
	for (unsigned nth = 1; nth <= 3; nth++) {
		nomem_at(nth);
		assert_null(schedule_new(&usual));
		nomem_at(0);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stops_when_precise_after_eight_blocks),
		cmocka_unit_test(the_first_window_warms_up),
		cmocka_unit_test(noise_takes_more_blocks_and_then_the_budget),
		cmocka_unit_test(kinds_are_balanced_and_orders_mirrored),
		cmocka_unit_test(extras_take_a_fifth_and_cover_the_curves),
		cmocka_unit_test(what_is_under_an_emulated_storage_is_measured),
		cmocka_unit_test(a_short_budget_shortens_windows),
		cmocka_unit_test(void_windows_are_repeated),
		cmocka_unit_test(what_is_always_void_is_given_up),
		cmocka_unit_test(minio_is_filled_and_used),
		cmocka_unit_test(minio_that_does_not_fill_in_time_is_drawn),
		cmocka_unit_test(lru_is_drawn_over_the_epoch),
		cmocka_unit_test(a_page_cache_that_fits_is_warmed),
		cmocka_unit_test(one_kind_alone_is_measured_alone),
		cmocka_unit_test(a_rate_is_of_whole_epochs_where_they_fit),
		cmocka_unit_test(a_rate_of_long_epochs_is_of_windows_with_drawn_hits),
		cmocka_unit_test(
			a_follower_has_the_same_windows_with_a_cache_of_its_own),
		cmocka_unit_test(what_is_void_to_a_follower_is_asked_of_all_again),
		cmocka_unit_test(a_follower_that_is_always_void_holds_nobody_up),
		cmocka_unit_test(it_is_not_done_before_a_follower_is_precise),
		cmocka_unit_test(a_single_block_turns_with_the_seed),
		cmocka_unit_test(half_of_a_single_block_is_the_real_window),
		cmocka_unit_test(a_slow_step_lengthens_a_single_block),
		cmocka_unit_test(a_single_block_fills_the_cache_first),
		cmocka_unit_test(a_void_window_of_a_single_block_is_tried_three_times),
		cmocka_unit_test(memory_short_is_told),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
