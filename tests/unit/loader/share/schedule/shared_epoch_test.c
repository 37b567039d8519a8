/* shared_epoch_test.c - jobs come and go; each has every sample once an epoch. */
#include "loader/base/error.h"
#include "loader/base/random.h"
#include "loader/sampler.h"
#include "loader/share/schedule/shared_epoch.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"
#include "tests/lib/trials.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct shared_epoch *open_course(const struct shared_epoch_config *config)
{
	struct error err = {0};
	struct shared_epoch *shared = shared_epoch_open(config, &err);

	if (shared == NULL)
		fail_msg("%s", err.message);
	return shared;
}

static uint32_t sample_at(struct shared_epoch *shared, uint64_t pass, uint32_t position)
{
	return plan_sample(shared_epoch_plan(shared), pass, position);
}

static struct plan_pass pass_at(struct shared_epoch *shared, uint64_t pass)
{
	struct plan_pass out;

	plan_pass(shared_epoch_plan(shared), pass, &out);
	return out;
}

/* ---- by hand ---- */

TEST(one_part_is_the_sampler)
{
	static const uint32_t counts[] = {1, 2, 7, 1000, 1281};

	for (unsigned i = 0; i < 10; i++) {
		const struct shared_epoch_config config = {.count = counts[i / 2],
							   .seed = 9,
							   .in_order = i % 2,
							   .end_epoch = 600};
		const struct sampler_config same = {.count = config.count,
						    .seed = 9,
						    .world = 1,
						    .in_order = config.in_order};
		struct sampler *sampler = sampler_open(&same, NULL);
		struct shared_epoch *shared = open_course(&config);

		assert_int_equal(shared_epoch_enter(shared, 0, 0), 0);
		for (uint64_t pass = 0; pass < 600; pass++) {
			struct plan_pass at = pass_at(shared, pass);

			assert_int_equal(at.epoch, pass);
			assert_int_equal(at.length, config.count);
			assert_int_equal(at.first, pass * config.count);
			for (uint32_t p = 0; p < config.count; p += 1 + p / 3)
				assert_int_equal(sample_at(shared, pass, p),
						 sampler_sample(sampler, pass, p));
		}
		assert_int_equal(pass_at(shared, 600).length, 0);
		shared_epoch_close(shared);
		sampler_close(sampler);
	}
}

enum { TEN = 10 };

static const struct shared_epoch_config ten = {
	.count = TEN, .seed = 4, .end_epoch = UINT64_MAX};

/* The permutation of an epoch of ten, of these samples only. */
static void expect_part(struct shared_epoch *shared, uint64_t pass, uint64_t epoch,
			unsigned members)
{
	const struct sampler_config config = {.count = TEN, .seed = 4, .world = 1};
	struct sampler *sampler = sampler_open(&config, NULL);
	uint32_t position = 0;

	assert_int_equal(pass_at(shared, pass).epoch, epoch);
	for (uint32_t i = 0; i < TEN; i++) {
		uint32_t sample = sampler_sample(sampler, epoch, i);

		if ((members >> sample & 1) != 0)
			assert_int_equal(sample_at(shared, pass, position++), sample);
	}
	assert_int_equal(pass_at(shared, pass).length, position);
	sampler_close(sampler);
}

static unsigned members(struct shared_epoch *shared, uint64_t pass)
{
	unsigned set = 0;

	for (uint32_t i = 0; i < pass_at(shared, pass).length; i++)
		set |= 1u << sample_at(shared, pass, i);
	return set;
}

TEST(a_cut_leaves_what_is_to_come_where_it_is)
{
	struct shared_epoch *shared = open_course(&ten);
	uint32_t before[TEN];
	unsigned a, b;

	assert_int_equal(shared_epoch_enter(shared, 0, 0), 0);
	for (uint32_t i = 0; i < TEN; i++)
		before[i] = sample_at(shared, 0, i);
	assert_int_equal(shared_epoch_enter(shared, 0, 4), 1);
	assert_int_equal(shared_epoch_parts(shared), 2);
	assert_int_equal(pass_at(shared, 0).length, 4);
	assert_int_equal(pass_at(shared, 1).first, 4);
	assert_int_equal(pass_at(shared, 1).length, 6);
	for (uint32_t i = 0; i < TEN; i++)
		assert_int_equal(sample_at(shared, i >= 4, i < 4 ? i : i - 4),
				 before[i]);
	assert_int_equal(shared_epoch_began(shared, 1), 1);
	a = members(shared, 0);
	b = members(shared, 1);
	for (uint64_t round = 1; round < 5; round++) {
		expect_part(shared, 2 * round, round, a);
		expect_part(shared, 2 * round + 1, round, b);
		assert_int_equal(shared_epoch_began(shared, 1), 2 * round + 1);
	}
	shared_epoch_close(shared);
}

/* At a pass's beginning or end nothing is cut. */
TEST(jobs_that_begin_together_share_a_cut)
{
	struct shared_epoch *shared = open_course(&ten);

	assert_int_equal(shared_epoch_enter(shared, 0, 0), 0);
	assert_int_equal(shared_epoch_enter(shared, 0, 0), 0);
	shared_epoch_put(shared, 0);
	assert_int_equal(shared_epoch_enter(shared, 0, 4), 1);
	assert_int_equal(shared_epoch_enter(shared, 1, 0), 1);
	assert_int_equal(shared_epoch_enter(shared, 1, 6), 0);
	assert_int_equal(shared_epoch_began(shared, 0), 2);
	assert_int_equal(shared_epoch_parts(shared), 2);
	assert_int_equal(shared_epoch_enter(shared, 1, 2), 2);
	assert_int_equal(shared_epoch_enter(shared, 2, 5), -EINVAL);
	shared_epoch_close(shared);
}

/* A pass that began is a pass of its own yet: the jobs that are left have to have it. */
TEST(parts_become_one_after_the_last_job_of_a_cut)
{
	struct shared_epoch *shared = open_course(&ten);
	unsigned a, b;

	shared_epoch_enter(shared, 0, 0);
	shared_epoch_enter(shared, 0, 4);
	shared_epoch_ref(shared, 1);
	a = members(shared, 0);
	b = members(shared, 1);
	shared_epoch_put(shared, 1);
	expect_part(shared, 2, 1, a);
	assert_int_equal(shared_epoch_parts(shared), 2);
	shared_epoch_put(shared, 1);
	expect_part(shared, 3, 1, b);
	expect_part(shared, 4, 2, a | b);
	assert_int_equal(shared_epoch_parts(shared), 1);
	expect_part(shared, 5, 3, a | b);
	shared_epoch_close(shared);
}

/* The samples of the earlier part are an epoch ahead: no epoch is used twice. */
TEST(the_first_job_may_leave_first)
{
	struct shared_epoch *shared = open_course(&ten);
	unsigned a, b;

	shared_epoch_enter(shared, 0, 0);
	shared_epoch_enter(shared, 0, 4);
	a = members(shared, 0);
	b = members(shared, 1);
	shared_epoch_put(shared, 0);
	expect_part(shared, 2, 1, a);
	expect_part(shared, 3, 2, a | b);
	assert_int_equal(shared_epoch_began(shared, 1), 3);
	shared_epoch_close(shared);
}

TEST(the_data_ends_after_the_rounds)
{
	struct shared_epoch_config two = ten;
	struct shared_epoch *shared;

	two.end_epoch = 2;
	shared = open_course(&two);
	shared_epoch_enter(shared, 0, 0);
	shared_epoch_enter(shared, 0, 3);
	for (uint64_t pass = 0; pass < 4; pass++)
		assert_int_equal(pass_at(shared, pass).length, pass % 2 == 0 ? 3 : 7);
	assert_int_equal(pass_at(shared, 4).length, 0);
	assert_int_equal(pass_at(shared, 5).length, 0);
	assert_int_equal(pass_at(shared, 5).first, 20);
	shared_epoch_close(shared);
}

TEST(there_are_so_many_cuts)
{
	const struct shared_epoch_config config = {
		.count = 2 * SHARED_EPOCH_ENTRIES, .seed = 1, .end_epoch = UINT64_MAX};
	struct shared_epoch *shared = open_course(&config);

	shared_epoch_enter(shared, 0, 0);
	for (int i = 1; i < SHARED_EPOCH_ENTRIES; i++)
		assert_int_equal(shared_epoch_enter(shared, (uint64_t)i - 1, 1), i);
	assert_int_equal(shared_epoch_enter(shared, SHARED_EPOCH_ENTRIES - 1, 1),
			 -EBUSY);
	shared_epoch_put(shared, 7);
	assert_int_equal(shared_epoch_enter(shared, SHARED_EPOCH_ENTRIES - 1, 1), 7);
	shared_epoch_close(shared);
}

/* ---- random schedules ---- */

/* What the jobs of a schedule see: places in the order of their sequence numbers. */
enum {
	HISTORY = 4000,
	PASSES = 4000,
	JOBS = 12,
	MOST = 40, /* samples */
};

#define VOID UINT32_MAX /* no sample */

struct job {
	bool live;
	unsigned entry;
	unsigned next;      /* place of the history */
	unsigned remaining; /* places until the epoch's end */
	uint8_t seen[MOST];
};

struct schedule {
	struct random random;
	struct shared_epoch_config config;
	struct shared_epoch *shared;
	uint64_t pass; /* where the pipeline stands */
	uint32_t position, stolen;
	uint32_t history[HISTORY];
	unsigned places;
	unsigned began[PASSES]; /* the place with which a pass began */
	struct job jobs[JOBS];
	unsigned epochs, merged, joined;
};

static uint32_t below(struct schedule *s, uint32_t bound)
{
	return random_below(&s->random, bound);
}

/* Some can't be decoded, ever. */
static bool broken(uint32_t sample)
{
	return sample % 11 == 5;
}

static void next_pass(struct schedule *s)
{
	s->pass++;
	s->position = s->stolen = 0;
	assert_true(s->pass < PASSES);
	s->began[s->pass] = s->places;
}

static void add_place(struct schedule *s, uint32_t sample)
{
	assert_true(s->places < HISTORY);
	s->history[s->places++] = sample;
}

/* A place: its own sample, or the next one of the pass that no other place has used. */
static void fill_place(struct schedule *s, const struct plan_pass *pass)
{
	uint32_t sample = sample_at(s->shared, s->pass, s->position);

	while (broken(sample) && s->stolen < pass->length)
		sample = sample_at(s->shared, s->pass, s->stolen++);
	add_place(s, broken(sample) ? VOID : sample);
}

static void read_batch(struct schedule *s)
{
	struct plan_pass pass = pass_at(s->shared, s->pass);
	uint32_t end, used = s->stolen;

	if (s->position == pass.length) {
		next_pass(s);
		used = 0;
		pass = pass_at(s->shared, s->pass);
	}
	end = s->position + 1 + below(s, 6);
	if (end > pass.length)
		end = pass.length;
	if (s->stolen < end)
		s->stolen = end;
	for (; s->position < end; s->position++)
		if (s->position < used)
			add_place(s, VOID); /* it was used before */
		else
			fill_place(s, &pass);
}

static struct job *free_job(struct schedule *s)
{
	for (int i = 0; i < JOBS; i++)
		if (!s->jobs[i].live)
			return &s->jobs[i];
	return NULL;
}

static void begin(struct job *job, unsigned entry, unsigned place, unsigned places)
{
	*job = (struct job){
		.live = true, .entry = entry, .next = place, .remaining = places};
}

/* A job begins as early as it can: with a cut that is in memory yet, or anew. */
static void join(struct schedule *s, unsigned window)
{
	struct job *job = free_job(s);
	uint32_t p = s->position > s->stolen ? s->position : s->stolen;
	int entry;

	if (job == NULL)
		return;
	for (int i = 0; i < JOBS; i++) {
		const struct job *other = &s->jobs[i];
		uint64_t pass;

		if (!other->live)
			continue;
		pass = shared_epoch_began(s->shared, other->entry);
		if (pass > s->pass || s->began[pass] + window < s->places)
			continue;
		shared_epoch_ref(s->shared, other->entry);
		begin(job, other->entry, s->began[pass], s->config.count);
		s->joined++;
		return;
	}
	entry = shared_epoch_enter(s->shared, s->pass, p);
	assert_in_range(entry, 0, SHARED_EPOCH_ENTRIES - 1);
	begin(job, (unsigned)entry, s->places, s->config.count + p - s->position);
	for (; s->position < p; s->position++)
		add_place(s, VOID);
}

static void end_epoch(struct schedule *s, struct job *job)
{
	for (uint32_t i = 0; i < s->config.count; i++)
		assert_int_equal(job->seen[i], !broken(i));
	memset(job->seen, 0, sizeof(job->seen));
	job->remaining = s->config.count;
	s->epochs++;
}

/* Reads up to the end of what there is, or a part of it. */
static void consume(struct schedule *s, struct job *job, unsigned places)
{
	for (; places > 0 && job->next < s->places; places--) {
		uint32_t sample = s->history[job->next++];

		if (sample != VOID) {
			assert_int_equal(job->seen[sample], 0);
			job->seen[sample] = 1;
		}
		if (--job->remaining == 0)
			end_epoch(s, job);
	}
}

static void leave(struct schedule *s, struct job *job)
{
	unsigned parts = shared_epoch_parts(s->shared);

	consume(s, job, UINT32_MAX);
	shared_epoch_put(s->shared, job->entry);
	s->merged += shared_epoch_parts(s->shared) < parts;
	job->live = false;
}

static void act(struct schedule *s)
{
	struct job *job = &s->jobs[below(s, JOBS)];

	switch (below(s, 16)) {
	case 0:
	case 1:
		join(s, below(s, 20));
		break;
	case 2:
		if (job->live)
			leave(s, job);
		break;
	default:
		read_batch(s);
	}
	if (job->live)
		consume(s, job, below(s, 30));
}

static void run_schedule(struct schedule *s, uint64_t seed)
{
	*s = (struct schedule){.random = {seed}};
	s->config = (struct shared_epoch_config){
		.count = 1 + below(s, MOST), .seed = seed, .end_epoch = UINT64_MAX};
	s->shared = open_course(&s->config);
	while (s->places + 2 * MOST < HISTORY && s->pass + 2 < PASSES)
		act(s);
	for (int i = 0; i < JOBS; i++)
		if (s->jobs[i].live)
			leave(s, &s->jobs[i]);
	shared_epoch_close(s->shared);
}

TEST(every_job_has_every_sample_once_an_epoch)
{
	static struct schedule s;
	unsigned epochs = 0, merged = 0, shared = 0;

	for (uint64_t seed = 0; seed < TRIALS_OF(3000); seed++) {
		run_schedule(&s, seed);
		epochs += s.epochs;
		merged += s.merged;
		shared += s.joined;
	}
	/* The schedules do what they are for. */
	assert_true(epochs > TRIALS_OF(100000) && merged > TRIALS_OF(1000) &&
		    shared > TRIALS_OF(1000));
}

/* ---- statistics ---- */

/*
 * Of a job that came in the middle, any sample is at any place of its first epoch with
 * the same probability: chi square over sample and place, expected 100 in each cell.
 */
TEST(the_order_of_a_job_that_joined_is_uniform)
{
	enum { SEEDS = 100 * TEN };
	unsigned seen[TEN][TEN] = {0};
	double chi = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct shared_epoch_config config = ten;
		struct shared_epoch *shared;

		config.seed = seed;
		shared = open_course(&config);
		shared_epoch_enter(shared, 0, 0);
		shared_epoch_enter(shared, 0, 3);
		for (uint32_t i = 0; i < TEN; i++)
			seen[sample_at(shared, i < 7 ? 1 : 2, i < 7 ? i : i - 7)][i]++;
		shared_epoch_close(shared);
	}
	for (unsigned i = 0; i < TEN; i++)
		for (unsigned j = 0; j < TEN; j++) {
			double off = seen[i][j] - (double)SEEDS / TEN;

			chi += off * off * TEN / SEEDS;
		}
	/* 81 degrees of freedom: mean 81, and 1 in 1000 above 126. */
	assert_true(chi > 45 && chi < 126);
}

/* ---- what may go wrong ---- */

TEST(shared_epoch_open_says_so_when_memory_runs_out)
{
	const struct shared_epoch_config empty = {0};
	struct shared_epoch *shared = NULL;
	unsigned failures = 0;
	struct error err = {0};

	while (shared == NULL) {
		err = (struct error){0};
		nomem_at(failures + 1);
		shared = shared_epoch_open(&ten, &err);
		nomem_at(0);
		assert_int_equal(err.code, shared == NULL ? ENOMEM : 0);
		failures += shared == NULL;
	}
	assert_int_equal(failures, 6);
	shared_epoch_close(shared);
	assert_null(shared_epoch_open(&empty, &err));
	assert_string_equal(err.message, "there are no samples to draw from");
}
