/* The shared loader for jobs on data sets that overlap. SLEEPS until those that do not step
 * are dropped. */
#include "loader/loader.h"
#include "loader/share/schedule/joader.h"
#include "tests/lib/scratch.h"
#include "tests/lib/serving.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

/* Files 0..199 of which data set a has the first SET, b the last, few has FEW of b's. */
enum { FILES = 200, SET = 120, FEW = 15 };

static struct serving serving;
static const char *const datasets[] = {"a", "b", "few", NULL};

static void put(const char *set, unsigned file)
{
	char from[64], to[64];

	snprintf(from, sizeof(from), "pool/%u/%03u.jpg", file % 3, file);
	snprintf(to, sizeof(to), "%s/%u", set, file % 5);
	if (access(to, F_OK) < 0) {
		snprintf(to, sizeof(to), "%s/%u/first.jpg", set, file % 5);
		scratch_file(to, 1);
		unlink(to);
	}
	/* in another order */
	snprintf(to, sizeof(to), "%s/%u/%03u.jpg", set, file % 5, FILES - file);
	assert_int_equal(link(from, to), 0);
}

static int setup(void **state)
{
	int result = scratch_setup(state);

	setenv("XDG_CACHE_HOME", "/nonexistent", 1);
	for (unsigned i = 0; i < FILES; i++) {
		char path[64];

		snprintf(path, sizeof(path), "pool/%u/%03u.jpg", i % 3, i);
		scratch_file(path, 192 + i);
		if (i < SET)
			put("a", i);
		if (i >= FILES - SET)
			put("b", i);
		if (i >= FILES - SET && i < FILES - SET + FEW)
			put("few", i);
	}
	serving_init(&serving);
	serving.loader.dataset = "a";
	serving.config.datasets = datasets;
	serving.config.mode = SHARE_JOADER;
	return result;
}

static void job_of(struct job *job, uint32_t batch, const char *dataset)
{
	serving_job(job, batch);
	assert_non_null(realpath(dataset, job->hello.dataset));
}

/* A job in a thread of its own, that leaves when it has had its epochs. */
struct worker {
	struct job job;
	pthread_t thread;
	unsigned epochs, had, wrong;
	int result;
};

static void *work(void *context)
{
	struct worker *worker = context;

	worker->result = job_run(&worker->job, worker->epochs);
	worker->had = worker->job.epochs;
	worker->wrong = worker->job.wrong;
	job_leave(&worker->job);
	return NULL;
}

static void start(struct worker *worker, unsigned epochs)
{
	worker->epochs = epochs;
	assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
}

static void finish(struct worker *worker)
{
	pthread_join(worker->thread, NULL);
	assert_int_equal(worker->result, 0);
	assert_int_equal(worker->had, worker->epochs);
	assert_int_equal(worker->wrong, 0);
}

/* All come before the first batch. */
static void start_all(struct worker *workers, const char *const *sets,
		      const uint32_t *batches, unsigned count)
{
	serving.config.jobs = count;
	assert_true(serving_start(&serving));
	for (unsigned i = 0; i < count; i++) {
		job_of(&workers[i].job, batches[i], sets[i]);
		assert_int_equal(job_connect(&workers[i].job, "socket"), 0);
		assert_int_equal(job_hello(&workers[i].job), 0);
	}
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(job_answer(&workers[i].job), PROTOCOL_WELCOME);
}

TEST_WITH(each_job_gets_its_own_data_set, setup, scratch_teardown)
{
	static const char *const sets[] = {"a", "b", "few"};
	static const uint32_t batches[] = {10, 16, 7};
	struct worker workers[3];

	start_all(workers, sets, batches, 3);
	assert_int_equal(workers[0].job.welcome.dataset_samples, SET);
	assert_int_equal(workers[2].job.welcome.dataset_samples, FEW);
	assert_int_equal(workers[2].job.welcome.epoch_places, FEW);
	for (unsigned i = 0; i < 3; i++)
		start(&workers[i], 4 + i);
	for (unsigned i = 0; i < 3; i++)
		finish(&workers[i]);
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once in 15 epochs of 3 jobs"));
}

TEST_WITH(a_job_may_come_at_any_time, setup, scratch_teardown)
{
	struct worker first, second;

	assert_true(serving_start(&serving));
	job_of(&first.job, 10, "a");
	assert_int_equal(job_join(&first.job, "socket"), PROTOCOL_WELCOME);
	for (int i = 0; i < 5; i++)
		assert_int_equal(job_step(&first.job, 10 * SECOND), 1);
	job_of(&second.job, 9, "b");
	assert_int_equal(job_join(&second.job, "socket"), PROTOCOL_WELCOME);
	assert_int_equal(second.job.welcome.remaining, SET);
	start(&first, 3);
	start(&second, 4);
	finish(&first);
	finish(&second);
	/* and again, once nobody was there */
	job_of(&first.job, 8, "few");
	assert_int_equal(job_join(&first.job, "socket"), PROTOCOL_WELCOME);
	start(&first, 9);
	finish(&first);
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once in 16 epochs of 3 jobs"));
}

TEST_WITH(unreadable_samples_count_for_those_that_have_them, setup, scratch_teardown)
{
	static const char *const sets[] = {"a", "b"};
	static const uint32_t batches[] = {10, 16};
	struct worker workers[2];
	char path[64];

	for (unsigned i = 0; i < FILES; i += 9) {
		snprintf(path, sizeof(path), "pool/%u/%03u.jpg", i % 3, i);
		assert_int_equal(truncate(path, 0), 0);
	}
	start_all(workers, sets, batches, 2);
	for (unsigned i = 0; i < FILES; i += 9) {
		workers[0].job.unreadable += i < SET;
		workers[1].job.unreadable += i >= FILES - SET;
	}
	for (unsigned i = 0; i < 2; i++)
		start(&workers[i], 5);
	for (unsigned i = 0; i < 2; i++)
		finish(&workers[i]);
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once in 10 epochs of 2 jobs"));
}

/* Whatever it has taken: the rest is its own business. */
TEST_WITH(a_job_that_is_dropped_has_nothing_twice, setup, scratch_teardown)
{
	serving.config.drop_ns = SECOND;
	assert_true(serving_start(&serving));
	for (unsigned steps = 1; steps < 60; steps += 7) {
		struct bcast_batch held;
		struct worker first;
		struct job second;
		unsigned before;

		job_of(&first.job, 16, "a");
		job_of(&second, 5, "b");
		assert_int_equal(job_join(&first.job, "socket"), PROTOCOL_WELCOME);
		assert_int_equal(job_join(&second, "socket"), PROTOCOL_WELCOME);
		start(&first, 8);
		for (unsigned i = 0; i < steps; i++)
			assert_int_equal(job_step(&second, 10 * SECOND), 1);
		assert_int_equal(job_take(&second, 10 * SECOND, &held), 1);
		finish(&first); /* nobody waits for it */
		job_release(&second, &held);
		before = second.epochs;
		assert_int_equal(job_step(&second, SECOND), -ENOLINK);
		assert_true(job_rest(&second) > 0);
		assert_true(second.epochs > before);
		assert_int_equal(second.wrong, 0);
		job_leave(&second);
	}
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_told(&serving, "goes on alone") > 0);
	assert_true(serving_verdict("audit", "exactly once"));
}

static void expect_refusal(const char *dataset, const char *says)
{
	struct job job;

	job_of(&job, 16, dataset);
	assert_int_equal(job_join(&job, "socket"), PROTOCOL_REFUSED);
	if (strstr(job.why, says) == NULL)
		fail_msg("'%s' does not say '%s'", job.why, says);
	job_leave(&job);
}

TEST_WITH(what_is_not_there_is_refused_and_named, setup, scratch_teardown)
{
	struct job jobs[JOADER_JOBS];
	char path[PATH_MAX];

	assert_true(serving_start(&serving));
	assert_non_null(realpath("b", path));
	expect_refusal("pool", path);
	for (int i = 0; i < JOADER_JOBS; i++) {
		job_of(&jobs[i], 4, datasets[i % 3]);
		assert_int_equal(job_join(&jobs[i], "socket"), PROTOCOL_WELCOME);
	}
	expect_refusal("a", "there are 8 jobs");
	job_leave(&jobs[3]);
	serving_wait(&serving, "left");
	job_of(&jobs[3], 4, "few");
	assert_int_equal(job_join(&jobs[3], "socket"), PROTOCOL_WELCOME);
	for (int i = 0; i < JOADER_JOBS; i++)
		job_leave(&jobs[i]);
	assert_int_equal(serving_stop(&serving), 0);
}

static void expect_no_start(const char *says)
{
	assert_false(serving_start(&serving));
	if (strstr(serving.err.message, says) == NULL)
		fail_msg("'%s' does not say '%s'", serving.err.message, says);
}

TEST_WITH(what_can_not_be_is_refused_at_the_start, setup, scratch_teardown)
{
	static const char *const missing[] = {"a", "nowhere", NULL};

	serving.config.jobs = JOADER_JOBS + 1;
	expect_no_start("at most 8");
	serving.config.jobs = 1;
	serving.loader.in_order = 1;
	expect_no_start("in_order");
	serving.loader.in_order = 0;
	serving.loader.epochs = 3;
	expect_no_start("epochs");
	serving.loader.epochs = 0;
	serving.config.datasets = missing;
	expect_no_start("nowhere");
}

TEST_WITH(one_data_set_may_be_all, setup, scratch_teardown)
{
	struct worker first, second;

	serving.config.datasets = NULL;
	serving.config.jobs = 2;
	assert_true(serving_start(&serving));
	serving_job(&first.job, 16); /* whatever there is */
	assert_int_equal(job_connect(&first.job, "socket"), 0);
	assert_int_equal(job_hello(&first.job), 0);
	job_of(&second.job, 10, "a");
	assert_int_equal(job_join(&second.job, "socket"), PROTOCOL_WELCOME);
	assert_int_equal(job_answer(&first.job), PROTOCOL_WELCOME);
	start(&first, 3);
	start(&second, 3);
	finish(&first);
	finish(&second);
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once in 6 epochs of 2 jobs"));
}
