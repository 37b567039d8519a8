/* shares_test.c - what windows of each stage say of the shares. */
#include "profiler/analysis/shares.h"
#include "tests/lib/close_to.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { BLOCKS = 16, SAMPLES = 100 };

/* Blocks of windows of .1 s and more, whose times go up and down by `scatter`. */
static void measure(size_t blocks, const double scatter[STAGES], struct shares *shares)
{
	static const double mean[STAGES] = {.001, .0015, .002};
	struct window windows[BLOCKS * STAGES];
	size_t count = 0;

	for (size_t block = 0; block < blocks; block++)
		for (int i = 0; i < STAGES; i++) {
			/* no two stages go together */
			double sign = block >> i & 1 ? 1 : -1;

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

static void time_goes_to_the_stages_that_scatter(void **state)
{
	static const double one[STAGES] = {0, .05, 0}, all[STAGES] = {.05, .05, .05};
	struct shares shares;
	double sum = 0;

	(void)state;
	measure(BLOCKS, one, &shares);
	close_to(shares.allocation[STAGE_PREP], 1, 1e-9);
	close_to(shares.allocation[STAGE_COMPUTE], 0, 1e-9);
	measure(BLOCKS, all, &shares);
	for (int i = 0; i < STAGES; i++) {
		assert_true(shares.allocation[i] > .2);
		sum += shares.allocation[i];
	}
	close_to(sum, 1, 1e-9);
}

/* Real windows are in all three shares: prep in two, which it adds to and takes from. */
static void it_goes_by_what_their_scatter_does_to_the_shares(void **state)
{
	static const double all[STAGES] = {.05, .05, .05};
	/* d share / d ln time, squares summed over compute, prep and fetch */
	const double compute = .25 + .25, prep = .75 * .75 * 2;
	const double real = .25 + .0625 + .75 * .75;
	struct shares shares;

	(void)state;
	measure(BLOCKS, all, &shares);
	close_to(shares.allocation[STAGE_PREP] / shares.allocation[STAGE_COMPUTE],
		 sqrt(prep / compute * 1.5), .05);
	close_to(shares.allocation[STAGE_REAL] / shares.allocation[STAGE_COMPUTE],
		 sqrt(real / compute * 2), .05);
}

static void one_block_says_nothing_of_it(void **state)
{
	static const double none[STAGES];
	struct shares shares;

	(void)state;
	measure(1, none, &shares);
	assert_true(isnan(shares.allocation[STAGE_PREP]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_goes_to_the_stages_that_scatter),
		cmocka_unit_test(it_goes_by_what_their_scatter_does_to_the_shares),
		cmocka_unit_test(one_block_says_nothing_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
