/* What samples become: as the first job wants, where nobody said so before. */
#include "loader/share/ring/bcast_reader.h"
#include "tests/lib/scratch.h"
#include "tests/lib/serving.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct serving serving;

static int setup(void **state)
{
	int result = scratch_setup(state);

	setenv("XDG_CACHE_HOME", scratch_path(), 1);
	serving_init(&serving);
	serving.config.follow = true;
	return result;
}

static void assert_status(bool has, const char *text)
{
	char *json = NULL;

	assert_int_equal(share_status("socket", &json, NULL), 0);
	if ((strstr(json, text) != NULL) != has)
		fail_msg("'%s' in: %s", text, json);
	free(json);
}

/* Joins, has a whole epoch and leaves. */
static void assert_served(struct job *job, const char *output)
{
	assert_int_equal(job_join(job, "socket"), PROTOCOL_WELCOME);
	assert_string_equal(job->welcome.output, output);
	assert_int_equal(job_run(job, 1), 0);
	assert_int_equal(job->wrong, 0);
	job_leave(job);
}

static void assert_refused(const struct job *asks, const char *why)
{
	struct job job = *asks;

	assert_int_equal(job_join(&job, "socket"), PROTOCOL_REFUSED);
	if (strstr(job.why, why) == NULL)
		fail_msg("'%s' does not say '%s'", job.why, why);
	job_leave(&job);
}

TEST_WITH(the_first_job_says_what_samples_become, setup, scratch_teardown)
{
	struct job job, other;

	assert_true(serving_start(&serving));
	serving_job(&job, 16);
	job.hello.size = 4;
	job.hello.type = DSA_FLOAT32;
	job.hello.layout = DSA_NHWC;
	job.hello.evaluate = 1;
	job.hello.in_order = 1;
	other = job;
	assert_served(&job, "centred float32 NHWC 4 raw");
	assert_true(serving_told(&serving, "as the first job wants") == 1);
	other.hello.size = 8;
	assert_refused(&other, "wants 'centred float32 NHWC 8 raw'");
	other.hello.size = 4;
	other.hello.in_order = 0;
	assert_refused(&other, "the job shuffles: start one for it: dsa serve DATASET "
			       "--socket PATH");
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once in 1 epochs of 1 jobs"));
}

TEST_WITH(it_answers_before_there_is_a_job, setup, scratch_teardown)
{
	struct job job;

	assert_true(serving_start(&serving));
	assert_status(true, "\"dataset_samples\": 100");
	assert_status(true, "\"jobs_came\": 0");
	assert_status(false, "memory_bytes");
	serving_job(&job, 16);
	assert_served(&job, "uint8 NCHW 8 raw");
	assert_status(true, "\"sample_bytes\": 192");
	assert_status(true, "memory_bytes");
	assert_int_equal(serving_stop(&serving), 0);
}

TEST_WITH(it_ends_without_a_job, setup, scratch_teardown)
{
	assert_true(serving_start(&serving));
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", ""));
}

/* Until the memory for the samples is allocated, which the next job finds. */
TEST_WITH(the_first_job_is_told_to_wait, setup, scratch_teardown)
{
	struct job job;

	assert_true(serving_start(&serving));
	for (int i = 0; i < 2; i++) {
		serving_job(&job, 16);
		assert_int_equal(job_join(&job, "socket"), PROTOCOL_WELCOME);
		assert_int_equal(job.waits, i == 0);
		job_leave(&job);
	}
	assert_int_equal(serving_stop(&serving), 0);
}

/* A job that is refused leaves nothing of what it wanted. */
TEST_WITH(settings_bind_the_first_job_too, setup, scratch_teardown)
{
	struct job job;

	serving.config.settings = "size=8,batch=8";
	assert_true(serving_start(&serving));
	serving_job(&job, 16);
	job.hello.size = 9;
	job.hello.type = DSA_FLOAT32;
	assert_refused(&job,
		       "makes 'float32 NCHW 8 raw', the job wants 'float32 NCHW 9");
	assert_status(false, "memory_bytes");
	serving_job(&job, 29);
	assert_refused(&job, "a window of 64 samples: at most 28");
	serving_job(&job, 28);
	assert_served(&job, "uint8 NCHW 8 raw");
	assert_int_equal(serving_stop(&serving), 0);
}

TEST_WITH(a_first_job_with_a_large_batch_has_room, setup, scratch_teardown)
{
	struct job job;

	assert_true(serving_start(&serving));
	serving_job(&job, 700);
	assert_served(&job, "uint8 NCHW 8 raw");
	assert_status(true, "\"window_samples\": 5632"); /* whole pages */
	assert_int_equal(serving_stop(&serving), 0);
}

TEST_WITH(what_can_not_be_opened_is_refused, setup, scratch_teardown)
{
	struct job job;

	assert_true(serving_start(&serving));
	serving_job(&job, 16);
	job.hello.std[1] = 0;
	assert_refused(&job, "std not 0");
	serving_job(&job, UINT32_MAX);
	assert_refused(&job, "batch is at most");
	serving_job(&job, 0);
	assert_refused(&job, "batches of 0");
	serving_job(&job, 16);
	assert_served(&job, "uint8 NCHW 8 raw");
	assert_int_equal(serving_stop(&serving), 0);
}

TEST_WITH(several_first_jobs_wait_for_each_other, setup, scratch_teardown)
{
	struct job jobs[2];

	serving.config.jobs = 2;
	serving.config.mode = SHARE_LOCKSTEP;
	assert_true(serving_start(&serving));
	for (int i = 0; i < 2; i++) {
		serving_job(&jobs[i], 16);
		assert_int_equal(job_connect(&jobs[i], "socket"), 0);
		assert_int_equal(job_hello(&jobs[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(job_answer(&jobs[i]), PROTOCOL_WELCOME);
	for (int i = 0; i < 2; i++)
		job_leave(&jobs[i]);
	assert_int_equal(serving_stop(&serving), 0);
}
