/* turn_replay_test.c - torch's rules replayed, by closed forms and an event loop. */
#include "loader/base/random.h"
#include "profiler/turns/turn_proof.h"
#include "tests/lib/close_to.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <math.h>
#include <string.h>

#define MS   1e-3
#define NEAR 1e-9

enum { STEPS = 240, BATCHES = STEPS + 64, SAMPLES = 16 };

static struct turn_batch batches[BATCHES];
static double compute[STEPS];

/* Every batch takes prep_s and io_s, of a byte a nanosecond; every step compute_s. */
static struct turn_replay even(double prep_s, double io_s, double compute_s,
			       unsigned workers)
{
	for (size_t i = 0; i < BATCHES; i++)
		batches[i] = (struct turn_batch){prep_s + io_s, io_s,
						 (uint64_t)llround(io_s * 1e9)};
	for (size_t i = 0; i < STEPS; i++)
		compute[i] = compute_s;
	return (struct turn_replay){.batches = batches,
				    .batch_count = BATCHES,
				    .compute_s = compute,
				    .steps = STEPS,
				    .workers = workers,
				    .prefetch = 2};
}

static double wait_of_step(const struct turn_replay *replay, size_t step)
{
	return turn_replay_wait(replay, NAN, step) -
	       (step + 1 < replay->steps ? turn_replay_wait(replay, NAN, step + 1) : 0);
}

/* ---- closed forms -------------------------------------------------------------- */

TEST(a_step_lasts_as_long_as_the_slower_of_trainer_and_workers)
{
	static const double made_s[] = {1 * MS, 9 * MS, 20 * MS, 43 * MS};
	const double step_s = 10 * MS, handover_s = 2 * MS, pickup_s = .5 * MS;

	for (unsigned w = 1; w <= 4; w++)
		for (unsigned p = 1; p <= 8; p++)
			for (size_t i = 0; i < 4; i++) {
				struct turn_replay replay =
					even(made_s[i], 0, step_s, w);
				/* With one batch a worker has none to go on with until
				 * the last is handed over. */
				double round = pickup_s + made_s[i] +
					       (p == 1 ? handover_s : 0);
				double step = fmax(step_s + handover_s, round / w);

				replay.prefetch = p;
				replay.handover_s = handover_s;
				replay.pickup_s = pickup_s;
				close_to(turn_replay_wait(&replay, NAN, 12),
					 (STEPS - 12) * (step - step_s), NEAR);
			}
}

TEST(without_workers_the_trainer_waits_for_all_of_it)
{
	struct turn_replay replay = even(3 * MS, 5 * MS, 10 * MS, 0);

	replay.handover_s = 1 * MS;
	close_to(turn_replay_wait(&replay, NAN, 0), STEPS * 9 * MS, NEAR);
	close_to(turn_replay_wait(&replay, 0, 40), (STEPS - 40) * 4 * MS, NEAR);
	close_to(turn_replay_wait(&replay, .2e-9, 40), (STEPS - 40) * 5 * MS, NEAR);
}

/* All workers begin at once, so that of each round the first batch is waited for. */
TEST(batches_come_in_bunches)
{
	struct turn_replay replay = even(40 * MS, 0, 3 * MS, 4);

	close_to(wait_of_step(&replay, 0), 40 * MS, NEAR);
	for (size_t i = 1; i < STEPS; i++)
		close_to(wait_of_step(&replay, i), i % 4 == 0 ? 28 * MS : 0, NEAR);
}

TEST(a_slow_batch_holds_up_those_behind_it_unless_order_is_free)
{
	struct turn_replay replay = even(10 * MS, 0, 0, 2);

	batches[0].made_s = 100 * MS;
	replay.steps = 9;
	/* Its worker makes five of the nine. */
	close_to(turn_replay_wait(&replay, NAN, 0), 140 * MS, NEAR);
	replay.any_order = true; /* the other worker makes all of them */
	close_to(turn_replay_wait(&replay, NAN, 0), 90 * MS, NEAR);
	replay.workers = 3; /* two do: at 10, 10, 20, 20, 30 ... */
	close_to(turn_replay_wait(&replay, NAN, 0), 50 * MS, NEAR);
}

/* ---- against an event loop ------------------------------------------------------ */

enum { MOST_WORKERS = 5, NEVER = INT32_MAX };

struct loop {
	unsigned workers, prefetch, handover, steps;
	bool any_order;
	int made[BATCHES], compute[STEPS]; /* ticks */

	unsigned queue[MOST_WORKERS][BATCHES], head[MOST_WORKERS], tail[MOST_WORKERS];
	unsigned tasks[MOST_WORKERS]; /* under way */
	int until[MOST_WORKERS];      /* NEVER: it has nothing to do */
	unsigned maker[BATCHES], cycle, sent;
	int done_at[BATCHES]; /* NEVER: not yet, or taken */
	unsigned received;    /* in order */
};

/* As _try_put_index() does. */
static void loop_put(struct loop *loop)
{
	unsigned worker;

	for (;;) {
		worker = loop->cycle++ % loop->workers;
		if (!loop->any_order || loop->tasks[worker] < loop->prefetch)
			break;
	}
	loop->queue[worker][loop->tail[worker]++] = loop->sent;
	loop->maker[loop->sent++] = worker;
	loop->tasks[worker]++;
}

static void loop_workers_end(struct loop *loop, int tick)
{
	for (unsigned w = 0; w < loop->workers; w++)
		if (loop->until[w] == tick) {
			loop->done_at[loop->queue[w][loop->head[w]++]] = tick;
			loop->until[w] = NEVER;
		}
}

static void loop_workers_begin(struct loop *loop, int tick)
{
	for (unsigned w = 0; w < loop->workers; w++)
		if (loop->until[w] == NEVER && loop->head[w] < loop->tail[w])
			loop->until[w] =
				tick + loop->made[loop->queue[w][loop->head[w]]];
}

/* The batch that is delivered now; NEVER: none is. */
static int loop_get(struct loop *loop)
{
	int found = NEVER;

	if (!loop->any_order)
		return loop->done_at[loop->received] != NEVER ? (int)loop->received++
							      : NEVER;
	for (unsigned i = 0; i < loop->sent; i++)
		if (loop->done_at[i] != NEVER &&
		    (found == NEVER || loop->done_at[i] < loop->done_at[found]))
			found = (int)i;
	return found;
}

/* Ticks that steps `from` and after wait. */
static int loop_wait(struct loop *loop, unsigned from)
{
	int asks_at = 0, has_at = NEVER, batch = NEVER, wait = 0;
	unsigned step = 0;

	for (unsigned w = 0; w < loop->workers; w++)
		loop->until[w] = NEVER;
	for (unsigned i = 0; i < BATCHES; i++)
		loop->done_at[i] = NEVER;
	for (unsigned i = 0; i < loop->workers * loop->prefetch; i++)
		loop_put(loop);
	for (int tick = 0;; tick++) {
		loop_workers_end(loop, tick);
		while (tick >= asks_at) {
			if (batch == NEVER) {
				batch = loop_get(loop);
				if (batch == NEVER)
					break;
				has_at = tick + (int)loop->handover;
			}
			if (tick < has_at)
				break;
			loop->done_at[batch] = NEVER;
			loop->tasks[loop->maker[batch]]--;
			loop_put(loop);
			wait += step >= from ? tick - asks_at : 0;
			asks_at = tick + loop->compute[step];
			batch = NEVER;
			if (++step == loop->steps)
				return wait;
		}
		loop_workers_begin(loop, tick);
	}
}

static void make_loop(struct loop *loop, struct random *random)
{
	int slow = (int)random_below(random, 40) + 1;
	int long_step = (int)random_below(random, 20) + 1;

	memset(loop, 0, sizeof(*loop));
	loop->workers = 1 + random_below(random, MOST_WORKERS);
	loop->prefetch = 1 + random_below(random, 8);
	loop->handover = random_below(random, 4);
	loop->any_order = random_below(random, 2) == 0;
	loop->steps = 1 + random_below(random, STEPS);
	for (size_t i = 0; i < BATCHES; i++)
		loop->made[i] = 1 + (int)random_below(random, (uint32_t)slow);
	for (size_t i = 0; i < STEPS; i++)
		loop->compute[i] = (int)random_below(random, (uint32_t)long_step);
}

TEST(random_batches_take_what_an_event_loop_takes)
{
	static struct loop loop;
	struct random random = {.state = 12};

	for (int i = 0; i < 500; i++) {
		struct turn_replay replay = even(0, 0, 0, 0);
		unsigned from;

		make_loop(&loop, &random);
		for (size_t b = 0; b < BATCHES; b++)
			batches[b].made_s = loop.made[b];
		for (size_t s = 0; s < STEPS; s++)
			compute[s] = loop.compute[s];
		replay.workers = loop.workers;
		replay.prefetch = loop.prefetch;
		replay.handover_s = loop.handover;
		replay.any_order = loop.any_order;
		replay.steps = loop.steps;
		from = random_below(&random, loop.steps);
		close_to(turn_replay_wait(&replay, NAN, from), loop_wait(&loop, from),
			 NEAR);
	}
}

/* ---- the proof ------------------------------------------------------------------ */

struct truth {
	unsigned workers;
	double per_s, prep_s, fetch_s;     /* of a sample */
	double compute_share, prep, fetch; /* in percent */
};

/* Real windows of programs whose shares arithmetic gives. */
static const struct truth truths[] = {
	{0, 400, 2 * MS, 1 * MS, 45.5, 36.4, 18.2},
	{0, 200, 1 * MS, 4 * MS, 50, 10, 40},
	{2, 400, 8 * MS, 0, 62.5, 37.5, 0},
	{2, 400, 3 * MS, 6 * MS, 55.6, 0, 44.4},
	{2, 300, 8 * MS, 4 * MS, 55.6, 11.1, 33.3},
	{2, 250, 2 * MS, 2 * MS, 100, 0, 0},
	{2, 250, 7.5 * MS, 1 * MS, 94.1, 0, 5.9},
	{4, 400, 8 * MS, 8 * MS, 62.5, 0, 37.5},
	{3, 300, 8 * MS, 4 * MS, 83.3, 0, 16.7},
};

/* Of the steps after two rounds of the workers, as they come out. */
static struct turn_window real_window(const struct truth *truth, double handover_s)
{
	struct turn_window window = {
		.replay = even(SAMPLES * truth->prep_s, SAMPLES * truth->fetch_s,
			       SAMPLES / truth->per_s, truth->workers),
		.settle = truth->workers > 0 ? 2 * truth->workers : 2,
	};
	double steps = (double)(STEPS - window.settle);
	double made_s = SAMPLES * (truth->prep_s + truth->fetch_s);
	double step_s = SAMPLES / truth->per_s + handover_s;

	step_s = truth->workers == 0 ? step_s + made_s
				     : fmax(step_s, made_s / truth->workers);
	window.replay.handover_s = handover_s;
	window.wall_s = steps * step_s;
	window.blocked_s = window.wall_s - steps * SAMPLES / truth->per_s;
	return window;
}

/* Not valid: no window has all its records. */
static struct turn_proof proof_of(const struct turn_window *windows, size_t count,
				  double io_s_per_byte)
{
	struct turn_sums sums = {0};
	struct turn_proof proof;
	unsigned added = 0;

	for (size_t i = 0; i < count; i++)
		added += turn_proof_add(&sums, &windows[i], io_s_per_byte);
	assert_int_equal(added, sums.windows);
	assert_true(turn_proof_of(&sums, &proof) == (added > 0));
	return proof;
}

TEST(it_gives_the_shares_of_arithmetic)
{
	for (size_t i = 0; i < sizeof(truths) / sizeof(truths[0]); i++) {
		const struct truth *truth = &truths[i];
		struct turn_window window = real_window(truth, 0);
		struct turn_proof proof;

		proof = proof_of(&window, 1, 0);
		assert_true(proof.valid);
		close_to(proof.off, 0, NEAR);
		close_to(100 * proof.prep, truth->prep, .05);
		close_to(100 * proof.fetch, truth->fetch, .05);
		close_to(100 * (1 - proof.prep - proof.fetch), truth->compute_share,
			 .06);
	}
}

/* What the trainer unpacks is prep, not fetch, where that is what it waits for. */
TEST(the_hand_over_is_prep)
{
	const struct truth fast = {2, 250, 2 * MS, 2 * MS, 0, 0, 0};
	struct turn_window window = real_window(&fast, 2 * MS);
	struct turn_proof proof;

	proof = proof_of(&window, 1, 0);
	close_to(proof.prep, 2. / 66, NEAR);
	close_to(proof.fetch, 0, NEAR);
	assert_true(proof.valid);
}

/* I/O from memory stays in prep: of the 8 ms of a sample it takes 2. */
TEST(io_of_cached_windows_is_prep)
{
	const struct truth truth = {1, 400, 2 * MS, 8 * MS, 0, 0, 0};
	struct turn_window window = real_window(&truth, 0);
	const struct turn_batch cached[] = {{5 * MS, 2 * MS, 5000000},
					    {9 * MS, 3 * MS, 15000000}};
	struct turn_costs costs = {0};
	struct turn_proof proof;

	close_to(turn_costs_io(&costs), 0, 0);
	turn_costs_read(&costs, &cached[0]);
	turn_costs_read(&costs, &cached[1]);
	close_to(turn_costs_io(&costs), .25e-9, 1e-18);
	proof = proof_of(&window, 1, turn_costs_io(&costs));
	close_to(proof.prep, 1.5 / 10, NEAR);
	close_to(proof.fetch, 6. / 10, NEAR);
}

TEST(a_replay_that_is_off_proves_nothing)
{
	struct turn_window windows[] = {real_window(&truths[4], 0),
					real_window(&truths[4], 0)};
	struct turn_proof proof;

	windows[0].blocked_s -= .039 * windows[0].wall_s; /* on average */
	proof = proof_of(windows, 2, 0);
	assert_true(proof.valid);
	close_to(proof.off, .0195, NEAR);
	windows[1].blocked_s -= .003 * windows[0].wall_s;
	assert_false(proof_of(windows, 2, 0).valid);
}

TEST(windows_that_lack_records_are_left_out)
{
	struct turn_window windows[] = {real_window(&truths[4], 0),
					real_window(&truths[4], 0)};
	struct turn_proof proof;

	windows[0].replay.batch_count = STEPS; /* those under way at the end are not
						* needed */
	windows[1].replay.batch_count = STEPS - 1;
	close_to(100 * proof_of(windows, 2, 0).fetch, 33.3, .05);
	proof = proof_of(&windows[1], 1, 0);
	assert_true(isnan(proof.prep) && !proof.valid);
	windows[0].replay.prefetch = 0;
	assert_false(proof_of(windows, 1, 0).valid);
	windows[0].replay.prefetch = 2;
	for (unsigned nth = 1; nth <= 2; nth++) {
		nomem_at(nth);
		close_to(turn_replay_wait(&windows[0].replay, NAN, 0), -1, 0);
		nomem_at(0);
	}
}

/* Of three workers the second is twice as fast; the third had the first batch. */
TEST(batches_are_put_in_the_order_of_turns)
{
	struct turn_made made[] = {
		{.worker = 5, .begin_s = 1.1, .batch = {.made_s = 1}},
		{.worker = 5, .begin_s = 2.0, .batch = {.made_s = 4}},
		{.worker = 9, .begin_s = 1.0, .batch = {.made_s = 0}},
		{.worker = 5, .begin_s = 3.0, .batch = {.made_s = 7}},
		{.worker = 7, .begin_s = 1.2, .batch = {.made_s = 2}},
		{.worker = 9, .begin_s = 2.5, .batch = {.made_s = 3}},
		{.worker = 7, .begin_s = 3.5, .batch = {.made_s = 5}},
		{.worker = 9, .begin_s = 3.9, .batch = {.made_s = 6}},
	};

	assert_int_equal(turn_order(made, 8), 3);
	close_to(made[0].batch.made_s, 1, 0);
	turn_order_next(made, 8, 3);
	close_to(made[0].batch.made_s, 2, 0);
	turn_order_next(made, 8, 3);
	for (int i = 0; i < 8; i++)
		close_to(made[i].batch.made_s, i, 0);
	assert_int_equal(turn_order(NULL, 0), 0);
}

TEST(the_hand_over_is_that_of_batches_that_lay_ready)
{
	struct turn_costs costs = {0};

	assert_true(isnan(turn_costs_handover(&costs)));
	for (int i = 0; i < 20; i++) { /* 2 ms; of those that were waited for 3 ms */
		const struct turn_delivery delivery = {i, i % 2 == 0 ? i - .5 : i + .1,
						       i % 2 == 0 ? i + 2 * MS
								  : i + .1 + 3 * MS};

		turn_costs_deliver(&costs, &delivery);
		if (i == 3)
			close_to(turn_costs_handover(&costs), 2.5 * MS, NEAR);
	}
	close_to(turn_costs_handover(&costs), 2 * MS, NEAR);
}
