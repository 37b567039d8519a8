#include "profiler/analysis/replay.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { BATCH = 8, STEPS = 100, SAMPLES = BATCH * STEPS };

static struct trace_sample samples[SAMPLES];
static double compute[STEPS];

/* Every sample takes prep_ms, every step compute_ms. */
static struct replay pipeline(double prep_ms, double compute_ms, unsigned workers)
{
	for (unsigned i = 0; i < SAMPLES; i++)
		samples[i] = (struct trace_sample){
			.batch = i / BATCH,
			.prep_ns = (uint32_t)(prep_ms * 1e6),
		};
	for (unsigned i = 0; i < STEPS; i++)
		compute[i] = compute_ms * 1e-3;
	return (struct replay){
		.samples = samples,
		.sample_count = SAMPLES,
		.compute_s = compute,
		.steps = STEPS,
		.workers = workers,
		.slots = 4,
		.prep = 1,
	};
}

static void close_to(double value, double want)
{
	if (!(fabs(value - want) <= 1e-9))
		fail_msg("%.9g is not %.9g", value, want);
}

TEST(prep_faster_than_compute_never_waits)
{
	struct replay replay = pipeline(1, 10, 2);

	/* Prep takes 4 ms a batch and compute 10: only the first batch is waited for.
	 */
	close_to(replay_wait(&replay, 0), 4e-3);
	close_to(replay_wait(&replay, 1), 0);
}

TEST(prep_slower_than_compute_waits_the_difference)
{
	struct replay replay = pipeline(5, 10, 2);

	/* A batch takes 20 ms, a step computes 10 of them: 10 ms of wait a step. */
	close_to(replay_wait(&replay, 2), 98 * 10e-3);
	replay.prep = .8;
	close_to(replay_wait(&replay, 2), 98 * 6e-3);
	replay.prep = 1;
	replay.workers = 4;
	close_to(replay_wait(&replay, 2), 0);
}

TEST(one_slow_sample_hides_behind_the_queue)
{
	struct replay replay = pipeline(1, 5, 4);

	/* Batches take 2 ms. A sample of 12 is covered by the batches ahead; 40 is not.
	 */
	samples[50 * BATCH].prep_ns = 12000000;
	close_to(replay_wait(&replay, 10), 0);
	samples[50 * BATCH].prep_ns = 40000000;
	assert_true(replay_wait(&replay, 10) > 10e-3);
}

TEST(one_slot_lets_nothing_overlap)
{
	struct replay replay = pipeline(1, 5, 4);

	replay.slots = 1;
	close_to(replay_wait(&replay, 10), 90 * 2e-3);
}

TEST(a_pause_lets_the_loader_get_ahead_and_its_own_wait_is_left_out)
{
	struct replay replay = pipeline(5, 10, 2);
	bool pauses[STEPS] = {[50] = true};

	compute[50] = 1;
	/* Three batches are ready then, and two more while these compute: five steps
	 * that do not wait. */
	close_to(replay_wait(&replay, 2), 93 * 10e-3);
	replay.pauses = pauses;
	close_to(replay_wait(&replay, 2), 92 * 10e-3);
}

TEST(missing_samples_and_memory_are_told)
{
	struct replay replay = pipeline(1, 5, 4);

	replay.sample_count -= BATCH;
	close_to(replay_wait(&replay, 0), -1);
	replay.sample_count += BATCH;
	for (unsigned nth = 1; nth <= 2; nth++) {
		nomem_at(nth);
		close_to(replay_wait(&replay, 0), -1);
		nomem_at(0);
	}
}
