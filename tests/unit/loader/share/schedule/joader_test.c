#include "loader/base/error.h"
#include "loader/base/random.h"
#include "loader/share/schedule/joader.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"
#include "tests/lib/trials.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { DATASET = 1000 };

/* Samples first .. first + DATASET - 1 are data set `set`. */
static void add_set(uint64_t *sets, uint32_t first, uint32_t count, unsigned set)
{
	for (uint32_t i = first; i < first + count; i++)
		sets[i] |= UINT64_C(1) << set;
}

static struct joader *open_joader(uint32_t count, const uint64_t *sets, uint64_t seed)
{
	const struct joader_config config = {
		.count = count, .sets = sets, .seed = seed};
	struct error err = {0};
	struct joader *joader = joader_open(&config, &err);

	assert_non_null(joader);
	return joader;
}

/* A reader of everything that the plan says, place by place. */
struct walk {
	struct plan *plan;
	uint64_t pass;
	uint32_t position;
	uint64_t reads; /* places that are for somebody */
};

static uint32_t next(struct walk *walk, uint64_t *slots)
{
	struct plan_pass pass;
	uint32_t sample;

	plan_pass(walk->plan, walk->pass, &pass);
	*slots = walk->plan->ops->readers(walk->plan, walk->pass, walk->position);
	sample = plan_sample(walk->plan, walk->pass, walk->position);
	walk->reads += *slots != 0;
	if (++walk->position == pass.length) {
		walk->position = 0;
		walk->pass++;
	}
	return sample;
}

/* How often each job saw each sample, epoch after epoch. */
struct audit {
	uint32_t epoch_places, seen, epochs;
	uint8_t *times;
};

static void note(struct audit *audit, uint32_t sample)
{
	assert_int_equal(audit->times[sample]++, audit->epochs);
	if (++audit->seen < audit->epoch_places)
		return;
	audit->seen = 0;
	audit->epochs++;
}

/* Reads of the union in `epochs` epochs of two jobs on two data sets of DATASET samples,
 * of which `common` are in both; as a share of one data set an epoch. */
static double reads(uint32_t common, uint32_t epochs, uint64_t seed)
{
	uint32_t count = 2 * DATASET - common;
	uint64_t *sets = calloc(count, sizeof(*sets)), slots;
	struct audit audits[2] = {0};
	struct joader *joader;
	struct walk walk = {0};
	double share;

	add_set(sets, 0, DATASET, 0);
	add_set(sets, DATASET - common, DATASET, 1);
	joader = open_joader(count, sets, seed);
	walk.plan = joader_plan(joader);
	for (uint32_t slot = 0; slot < 2; slot++) {
		audits[slot].times = calloc(count, 1);
		audits[slot].epoch_places = (uint32_t)joader_join(joader, slot, slot);
		assert_int_equal(audits[slot].epoch_places, DATASET);
	}
	while (audits[0].epochs < epochs || audits[1].epochs < epochs) {
		uint32_t sample = next(&walk, &slots);

		for (uint32_t slot = 0; slot < 2; slot++)
			if ((slots >> slot & 1) != 0) {
				assert_true(sets[sample] >> slot & 1);
				note(&audits[slot], sample);
			}
	}
	share = (double)walk.reads / epochs / DATASET;
	free(audits[0].times);
	free(audits[1].times);
	joader_close(joader);
	free(sets);
	return share;
}

TEST(every_job_gets_its_data_set_once_an_epoch_and_reads_are_least)
{
	assert_true(reads(DATASET, 5, 1) <= 1.); /* the same data set */
	assert_true(reads(DATASET / 2, 5, 2) <= 1.5);
	assert_true(reads(DATASET / 2, 5, 3) >= 1.49); /* no less than the union */
	assert_true(reads(0, 3, 4) <= 2.);
	assert_true(reads(0, 3, 5) >= 1.99);
}

/* Jobs that come and go, on three data sets of other sizes. */
TEST(epochs_stay_whole_whoever_comes_and_leaves)
{
	enum { COUNT = 700, JOBS = 6 };
	uint64_t sets[COUNT] = {0}, slots;
	struct random random = {.state = 7};
	struct audit audits[JOBS] = {0};
	bool there[JOBS] = {0};
	struct joader *joader;
	struct walk walk = {0};
	uint32_t whole = 0;

	add_set(sets, 0, 300, 0);
	add_set(sets, 200, 500, 1);
	add_set(sets, 250, 20, 2);
	joader = open_joader(COUNT, sets, 8);
	walk.plan = joader_plan(joader);
	for (int i = 0; i < JOBS; i++)
		audits[i].times = calloc(COUNT, 1);
	for (int turn = 0; turn < 60000; turn++) {
		uint32_t slot = random_below(&random, JOBS), sample;

		if (turn % 1500 == 0 && there[slot]) {
			joader_leave(joader, slot);
			there[slot] = false;
			whole += audits[slot].epochs;
		} else if (turn % 1500 == 0) {
			uint8_t *times = audits[slot].times;

			memset(times, 0, COUNT);
			audits[slot] =
				(struct audit){.times = times,
					       .epoch_places = (uint32_t)joader_join(
						       joader, slot, slot % 3)};
			there[slot] = true;
		}
		sample = next(&walk, &slots);
		for (uint32_t i = 0; i < JOBS; i++) {
			if ((slots >> i & 1) == 0)
				continue;
			assert_true(there[i]);
			assert_true(sets[sample] >> (i % 3) & 1);
			note(&audits[i], sample);
		}
	}
	assert_true(whole > 20);
	for (int i = 0; i < JOBS; i++)
		free(audits[i].times);
	joader_close(joader);
}

/* Where in its epoch each of two jobs, on data sets of n[0] and n[1] samples, gets each of
 * them: chi-square over places and samples, which has (n - 1)^2 degrees of freedom. */
static void check_uniform(const uint32_t *n)
{
	enum { COUNT = 20, TRIALS = TRIALS_OF(2000) };
	static uint32_t hits[2][COUNT][COUNT];
	uint64_t sets[COUNT] = {0}, slots;

	memset(hits, 0, sizeof(hits));
	add_set(sets, 0, n[0], 0);
	add_set(sets, COUNT - n[1], n[1], 1);
	for (uint64_t trial = 0; trial < TRIALS; trial++) {
		struct joader *joader = open_joader(COUNT, sets, trial * 977);
		struct walk walk = {.plan = joader_plan(joader)};
		uint32_t seen[2] = {0}, most[2];

		for (uint32_t slot = 0; slot < 2; slot++)
			most[slot] = (uint32_t)joader_join(joader, slot, slot);
		while (seen[0] < most[0] || seen[1] < most[1]) {
			uint32_t sample = next(&walk, &slots);

			for (uint32_t i = 0; i < 2; i++)
				if ((slots >> i & 1) != 0 && seen[i] < most[i])
					hits[i][seen[i]++][sample]++;
		}
		joader_close(joader);
	}
	for (uint32_t i = 0; i < 2; i++) {
		double expected = (double)TRIALS / n[i], chi = 0,
		       free = (n[i] - 1.) * (n[i] - 1.);

		for (uint32_t place = 0; place < n[i]; place++)
			for (uint32_t sample = 0; sample < COUNT; sample++)
				if ((sets[sample] >> i & 1) != 0)
					chi += pow(hits[i][place][sample] - expected,
						   2) /
					       expected;
		/* four standard deviations of chi-square */
		assert_true(fabs(chi - free) < 4 * sqrt(2 * free));
	}
}

/* Whether the job of more samples comes first or last. */
TEST(sampling_of_each_job_is_uniform)
{
	check_uniform((const uint32_t[]){16, 12});
	check_uniform((const uint32_t[]){12, 16});
}

TEST(a_pass_stays_as_it_was_drawn)
{
	uint64_t sets[DATASET] = {0};
	struct joader *joader;
	struct plan *plan;
	struct plan_pass pass, later;
	uint32_t sample;

	add_set(sets, 0, DATASET, 0);
	joader = open_joader(DATASET, sets, 3);
	plan = joader_plan(joader);
	assert_int_equal(joader_join(joader, 5, 0), DATASET);
	plan_pass(plan, 0, &pass);
	assert_int_equal(pass.first, 0);
	assert_int_equal(pass.length, JOADER_STEPS);
	sample = plan_sample(plan, 0, 17);
	for (uint64_t i = 1; i < 200; i++)
		plan_pass(plan, i, &later);
	assert_int_equal(later.first, 199 * JOADER_STEPS);
	assert_int_equal(plan_sample(plan, 0, 17), sample);
	assert_int_equal(plan->ops->readers(plan, 0, 17), UINT64_C(1) << 5);
	joader_leave(joader, 5);
	assert_int_equal(plan->ops->readers(plan, 0, 17), 0);
	plan_pass(plan, 200, &later); /* nobody is there */
	assert_int_equal(later.length, 1);
	assert_int_equal(plan->ops->readers(plan, 200, 0), 0);
	joader_close(joader);
}

TEST(there_is_room_for_so_many_jobs)
{
	uint64_t sets[4] = {1, 1, 1, 2};
	struct joader *joader = open_joader(4, sets, 0);

	assert_int_equal(joader_join(joader, 40, 2), 0); /* an empty data set */
	for (uint32_t i = 0; i < JOADER_JOBS; i++)
		assert_int_equal(joader_join(joader, i, 0), 3);
	assert_int_equal(joader_join(joader, 60, 0), -EBUSY);
	joader_leave(joader, 2);
	assert_int_equal(joader_join(joader, 60, 1), 1);
	joader_close(joader);
}

TEST(no_memory_is_an_error)
{
	const uint64_t sets[4] = {1, 1, 1, 1};
	const struct joader_config config = {.count = 4, .sets = sets};
	struct joader *joader = NULL;
	unsigned failures = 0;

	while (joader == NULL) {
		struct error err = {0};

		nomem_at(failures + 1);
		joader = joader_open(&config, &err);
		nomem_at(0);
		if (joader != NULL)
			break;
		assert_int_equal(err.code, ENOMEM);
		failures++;
	}
	assert_int_equal(failures, 4);
	joader_close(joader);
}
