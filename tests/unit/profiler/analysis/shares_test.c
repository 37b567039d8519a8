/* shares_test.c - what windows of each stage say of the shares. */
#include "profiler/analysis/shares.h"
#include "tests/lib/close_to.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stddef.h>

enum { BLOCKS = 16, SAMPLES = 100 };

/* Without a device. */
#define BY_STAGE(compute, prep, fetch)                                                 \
	{                                                                              \
		[STAGE_COMPUTE] = compute, [STAGE_PREP] = prep, [STAGE_FETCH] = fetch  \
	}

/* Blocks of windows of .1 s and more, whose times go up and down by `scatter`. */
static void measure(size_t blocks, const double scatter[STAGES], struct shares *shares)
{
	static const double mean[STAGES] = BY_STAGE(.001, .0015, .002);
	struct window windows[BLOCKS * STAGES];
	size_t count = 0;

	for (size_t block = 0; block < blocks; block++)
		for (int i = 0; i < STAGES; i++) {
			/* no two stages go together */
			double sign = block >> i & 1 ? 1 : -1;

			if (stage_table[i].optional)
				continue;
			windows[count++] = (struct window){
				.kind = stage_table[i].kind,
				.block = (int)block,
				.certified = true,
				.steps = 10,
				.samples = SAMPLES,
				.seconds = SAMPLES * mean[i] * (1 + sign * scatter[i]),
			};
		}
	assert_int_equal(shares_measure(windows, count, shares), 0);
}

TEST(time_goes_to_the_stages_that_scatter)
{
	static const double one[STAGES] = BY_STAGE(0, .05, 0);
	static const double all[STAGES] = BY_STAGE(.05, .05, .05);
	struct shares shares;
	double sum = 0;

	measure(BLOCKS, one, &shares);
	close_to(shares.allocation[STAGE_PREP], 1, 1e-9);
	close_to(shares.allocation[STAGE_COMPUTE], 0, 1e-9);
	measure(BLOCKS, all, &shares);
	for (int i = 0; i < STAGES; i++) {
		assert_true(stage_table[i].optional || shares.allocation[i] > .2);
		sum += shares.allocation[i];
	}
	close_to(sum, 1, 1e-9);
}

/* Real windows are in all three shares: prep in two, which it adds to and takes from. */
TEST(it_goes_by_what_their_scatter_does_to_the_shares)
{
	static const double all[STAGES] = BY_STAGE(.05, .05, .05);
	/* d share / d ln time, squares summed over compute, prep and fetch */
	const double compute = .25 + .25, prep = .75 * .75 * 2;
	const double real = .25 + .0625 + .75 * .75;
	struct shares shares;

	measure(BLOCKS, all, &shares);
	close_to(shares.allocation[STAGE_PREP] / shares.allocation[STAGE_COMPUTE],
		 sqrt(prep / compute * 1.5), .05);
	close_to(shares.allocation[STAGE_REAL] / shares.allocation[STAGE_COMPUTE],
		 sqrt(real / compute * 2), .05);
}

/* Windows that go up and down with a machine by 5 %, on which the program itself takes
 * `own_s` of CPU time a sample at its mean speed, `spun_s` more in real ones; cached ones
 * take `cached_s`. */
static void measure_on_a_machine(double cached_s, double own_s, double spun_s,
				 struct shares *shares)
{
	const double mean[STAGES] = BY_STAGE(.001, cached_s, .002);
	struct window windows[BLOCKS * STAGES];
	size_t count = 0;

	for (unsigned block = 0; block < BLOCKS; block++)
		for (int i = 0; i < STAGES; i++) {
			double speed = 1 + (block >> i & 1 ? .05 : -.05);
			double cpu_s = own_s + (i == STAGE_REAL ? spun_s : 0);

			if (stage_table[i].optional)
				continue;
			windows[count++] = (struct window){
				.kind = stage_table[i].kind,
				.block = (int)block,
				.certified = true,
				.steps = 10,
				.samples = SAMPLES,
				.seconds = SAMPLES * mean[i] * speed,
				.covariate = {NAN, NAN, SAMPLES * cpu_s * speed},
			};
		}
	/* one window less, so that the means of the machine's speed differ */
	assert_int_equal(shares_measure(windows, count - count / BLOCKS, shares), 0);
}

TEST(the_programs_own_cpu_time_shows_how_fast_the_machine_was)
{
	struct shares with, without;

	measure_on_a_machine(.0019, .0008, 0, &with);
	measure_on_a_machine(.0019, NAN, 0, &without);
	close_to(with.rates[STAGE_REAL].value / with.rates[STAGE_PREP].value, .95,
		 1e-6);
	assert_true(interval_half(with.stalls[STAGE_FETCH]) <
		    .3 * interval_half(without.stalls[STAGE_FETCH]));
	assert_true(interval_half(with.stalls[STAGE_PREP]) <
		    interval_half(without.stalls[STAGE_PREP]));
}

/* The loader slows it more where it prepares more. */
TEST(it_is_not_asked_where_less_is_prepared)
{
	struct shares with, without;

	measure_on_a_machine(.0015, .0008, 0, &with);
	measure_on_a_machine(.0015, NAN, 0, &without);
	for (int i = 0; i < STAGES; i++)
		if (!stage_table[i].optional)
			close_to(with.stalls[i].high, without.stalls[i].high, 1e-12);
}

TEST(a_program_that_spins_while_it_waits_is_no_measure_of_the_machine)
{
	struct shares with, without;

	measure_on_a_machine(.0019, .0008, .0001, &with);
	measure_on_a_machine(.0019, NAN, 0, &without);
	for (int i = 0; i < STAGES; i++)
		if (!stage_table[i].optional)
			close_to(with.stalls[i].high, without.stalls[i].high, 1e-12);
}

TEST(one_block_says_nothing_of_it)
{
	static const double none[STAGES];
	struct shares shares;

	measure(1, none, &shares);
	assert_true(isnan(shares.allocation[STAGE_PREP]));
}

/* Of real windows of .2 s and steps of 20 ms. */
TEST(without_scatter_the_floor_remains)
{
	static const double none[STAGES];
	struct shares shares;

	measure(BLOCKS, none, &shares);
	close_to(shares.floor, SHARES_SETTLE + 100e-6 / .2 + 200e-9 / .02, 1e-12);
	for (int i = 0; i < STAGES; i++)
		if (!stage_table[i].optional)
			close_to(interval_half(shares.rates[i]) / shares.rates[i].value,
				 shares.floor, 1e-12);
}
