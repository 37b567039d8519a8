/* The shared loader: jobs that come, wait and go, and what each of them gets. */
#include "loader/base/trace.h"
#include "loader/loader.h"
#include "loader/share.h"
#include "loader/share/client/connection.h"
#include "loader/share/ring/bcast_reader.h"
#include "models/predict/sharing.h"
#include "tests/lib/scratch.h"
#include "tests/lib/serving.h"
#include "tests/lib/test.h"
#include "tests/lib/worker.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

_Static_assert((int)SHARING_WINDOW == (int)SHARE_WINDOW,
	       "the model predicts another window");

static struct serving serving;

static int setup(void **state)
{
	int result = scratch_setup(state);

	setenv("XDG_CACHE_HOME", scratch_path(), 1);
	serving_init(&serving);
	return result;
}

TEST_WITH(one_job_gets_every_epoch_exactly_once, setup, scratch_teardown)
{
	struct job job;

	assert_true(serving_start(&serving));
	serving_job(&job, 7); /* does not divide 16, nor 100 */
	assert_int_equal(job_join(&job, "socket"), PROTOCOL_WELCOME);
	assert_int_equal(job.welcome.dataset_samples, SERVING_SAMPLES);
	assert_int_equal(job_run(&job, 5), 0);
	assert_int_equal(job.wrong, 0);
	job_leave(&job);
	serving_wait(&serving, "left");
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once in 5 epochs of 1 jobs"));
	assert_int_equal(access("socket", F_OK), -1);
}

TEST_WITH(jobs_of_all_sizes_share_one_stream, setup, scratch_teardown)
{
	static const uint32_t batches[] = {1, 16, 23, 40};
	enum { JOBS = 4 };
	struct worker workers[JOBS];

	serving.config.jobs = JOBS;
	assert_true(serving_start(&serving));
	for (int i = 0; i < JOBS; i++) {
		serving_job(&workers[i].job, batches[i]);
		assert_int_equal(job_connect(&workers[i].job, "socket"), 0);
		assert_int_equal(job_hello(&workers[i].job), 0);
	}
	for (int i = 0; i < JOBS; i++) {
		assert_int_equal(job_answer(&workers[i].job), PROTOCOL_WELCOME);
		assert_int_equal(workers[i].job.welcome.start, 0);
		worker_start(&workers[i], 3 + (unsigned)i);
	}
	for (int i = 0; i < JOBS; i++)
		worker_finish(&workers[i]);
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once in 18 epochs of 4 jobs"));
}

TEST_WITH(a_job_that_comes_late_begins_where_the_others_are, setup, scratch_teardown)
{
	struct worker first, second;

	assert_true(serving_start(&serving));
	serving_job(&first.job, 10);
	serving_job(&second.job, 9);
	assert_int_equal(job_join(&first.job, "socket"), PROTOCOL_WELCOME);
	for (int i = 0; i < 3; i++)
		assert_int_equal(job_step(&first.job, 10 * SECOND), 1);
	/* The beginning is gone: what is not prepared yet is where it begins. */
	assert_int_equal(job_join(&second.job, "socket"), PROTOCOL_WELCOME);
	assert_true(second.job.welcome.start >= 30);
	assert_true(second.job.welcome.start < SERVING_SAMPLES + 128);
	worker_start(&first, 4);
	worker_start(&second, 4);
	worker_finish(&first);
	worker_finish(&second);
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once in 8 epochs of 2 jobs"));
}

TEST_WITH(a_job_that_leaves_holds_nobody_up, setup, scratch_teardown)
{
	struct bcast_batch held;
	struct worker first;
	struct job second;

	serving.loader.dataset = "synthetic:1000"; /* more than the window */
	assert_true(serving_start(&serving));
	serving_job(&first.job, 10);
	serving_job(&second, 30);
	assert_int_equal(job_join(&first.job, "socket"), PROTOCOL_WELCOME);
	assert_int_equal(job_join(&second, "socket"), PROTOCOL_WELCOME);
	assert_int_equal(second.welcome.start % SERVING_SAMPLES, 0);
	assert_int_equal(job_take(&second, 10 * SECOND, &held), 1);
	worker_start(&first, 6); /* it can't pass the window */
	job_leave(&second);
	worker_finish(&first);
	assert_int_equal(serving_stop(&serving), 0);
	assert_int_equal(serving_told(&serving, "batches of 30"), 2);
}

TEST_WITH(a_job_has_left_though_another_process_has_its_socket, setup, scratch_teardown)
{
	const _Atomic bool ended = false;
	struct job job;
	const struct connection_config config = {"socket", &job.hello, NULL, &ended};
	struct error err = {0};
	struct connection *connection;
	int copy;

	assert_true(serving_start(&serving));
	serving_job(&job, 16);
	connection = connection_open(&config, &err);
	assert_non_null(connection);
	copy = dup(connection->socket); /* as a child has it */
	connection_close(connection);
	serving_wait(&serving, "left");
	close(copy);
	assert_int_equal(serving_stop(&serving), 0);
}

/* Says HELLO, and is told to wait. */
static void be_told_to_wait(struct job *job)
{
	struct pollfd told = {.fd = job->socket, .events = POLLIN};

	assert_int_equal(job_hello(job), 0);
	assert_int_equal(poll(&told, 1, -1), 1);
}

TEST_WITH(lockstep_jobs_begin_with_a_round, setup, scratch_teardown)
{
	struct worker first, second;

	serving.config.mode = SHARE_LOCKSTEP;
	assert_true(serving_start(&serving));
	serving_job(&first.job, 10);
	serving_job(&second.job, 16);
	assert_int_equal(job_join(&first.job, "socket"), PROTOCOL_WELCOME);
	assert_int_equal(job_step(&first.job, 10 * SECOND), 1);
	assert_int_equal(job_connect(&second.job, "socket"), 0);
	be_told_to_wait(&second.job); /* before the first may be through */
	worker_start(&first, 5);
	assert_int_equal(job_answer(&second.job), PROTOCOL_WELCOME);
	assert_true(second.job.waits);
	assert_true(second.job.welcome.start > 0);
	assert_int_equal(second.job.welcome.start % SERVING_SAMPLES, 0);
	assert_int_equal(second.job.welcome.remaining, SERVING_SAMPLES);
	worker_start(&second, 2);
	worker_finish(&second);
	worker_finish(&first);
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once in 7 epochs of 2 jobs"));
}

static void wait_in_line(struct job *job, uint32_t batch)
{
	serving_job(job, batch);
	assert_int_equal(job_connect(job, "socket"), 0);
	be_told_to_wait(job);
}

TEST_WITH(lockstep_jobs_in_line_begin_when_the_round_has_nobody_left, setup,
	  scratch_teardown)
{
	struct worker late[2];
	struct job first;

	serving.config.mode = SHARE_LOCKSTEP;
	serving.loader.dataset = "synthetic:1000"; /* more than the window */
	assert_true(serving_start(&serving));
	serving_job(&first, 10);
	assert_int_equal(job_join(&first, "socket"), PROTOCOL_WELCOME);
	assert_int_equal(job_step(&first, 10 * SECOND), 1);
	for (int i = 0; i < 2; i++)
		wait_in_line(&late[i].job, 10 + 6 * (uint32_t)i);
	job_leave(&first);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(job_answer(&late[i].job), PROTOCOL_WELCOME);
		assert_true(late[i].job.waits);
	}
	assert_int_equal(late[0].job.welcome.start, late[1].job.welcome.start);
	for (int i = 0; i < 2; i++)
		worker_start(&late[i], 3);
	for (int i = 0; i < 2; i++)
		worker_finish(&late[i]);
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once in 6 epochs of 3 jobs"));
}

/* The one that came first says so last: who waits in line behind it is looked at while
 * the round may begin. Under ThreadSanitizer. */
TEST_WITH(lockstep_jobs_may_say_hello_as_a_round_begins, setup, scratch_teardown)
{
	struct worker first, second, third;

	serving.config.mode = SHARE_LOCKSTEP;
	assert_true(serving_start(&serving));
	serving_job(&first.job, 10);
	assert_int_equal(job_join(&first.job, "socket"), PROTOCOL_WELCOME);
	serving_job(&second.job, 16);
	assert_int_equal(job_connect(&second.job, "socket"), 0);
	wait_in_line(&third.job, 16);
	be_told_to_wait(&second.job);
	worker_start(&first, 8);
	/* It may be in a round before the second's, which begins when it reads. */
	assert_int_equal(job_answer(&third.job), PROTOCOL_WELCOME);
	worker_start(&third, 2);
	assert_int_equal(job_answer(&second.job), PROTOCOL_WELCOME);
	worker_start(&second, 2);
	assert_int_equal(second.job.welcome.start % SERVING_SAMPLES, 0);
	assert_int_equal(third.job.welcome.start % SERVING_SAMPLES, 0);
	worker_finish(&third);
	worker_finish(&second);
	worker_finish(&first);
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once in 12 epochs of 3 jobs"));
}

static void read_until(struct job *job, uint64_t end)
{
	while (job->reader->next < end)
		assert_int_equal(job_step(job, 10 * SECOND), 1);
}

/* A pass begins, and there is no slot for who waits for it. */
TEST_WITH(who_finds_no_slot_waits_for_the_next_round, setup, scratch_teardown)
{
	static struct job jobs[BCAST_READERS];
	struct job late;

	serving.config.mode = SHARE_LOCKSTEP;
	serving.config.jobs = BCAST_READERS;
	assert_true(serving_start(&serving));
	for (int i = 0; i < BCAST_READERS; i++) {
		serving_job(&jobs[i], 10);
		assert_int_equal(job_connect(&jobs[i], "socket"), 0);
		assert_int_equal(job_hello(&jobs[i]), 0);
	}
	for (int i = 0; i < BCAST_READERS; i++)
		assert_int_equal(job_answer(&jobs[i]), PROTOCOL_WELCOME);
	wait_in_line(&late, 10);
	for (int i = 0; i < BCAST_READERS; i++)
		read_until(&jobs[i], 100);
	read_until(&jobs[1], 210); /* the third pass began */
	job_leave(&jobs[0]);
	serving_wait(&serving, "left"); /* its slot is free before the fourth begins */
	for (int i = 1; i < BCAST_READERS; i++)
		read_until(&jobs[i], 210);
	assert_int_equal(job_answer(&late), PROTOCOL_WELCOME);
	assert_int_equal(late.welcome.start, 300);
	for (int i = 1; i < BCAST_READERS; i++)
		job_leave(&jobs[i]);
	assert_int_equal(job_run(&late, 2), 0);
	assert_int_equal(late.wrong, 0);
	job_leave(&late);
	assert_int_equal(serving_stop(&serving), 0);
}

TEST_WITH(the_data_ends_for_all, setup, scratch_teardown)
{
	struct job job;

	serving.loader.epochs = 2;
	assert_true(serving_start(&serving));
	serving_job(&job, 16);
	assert_int_equal(job_join(&job, "socket"), PROTOCOL_WELCOME);
	assert_int_equal(job_run(&job, 3), -ENODATA);
	assert_int_equal(job.epochs, 2);
	assert_int_equal(job.wrong, 0);
	job_leave(&job);
	assert_int_equal(serving_join(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once in 2 epochs of 1 jobs"));
}

TEST_WITH(it_ends_with_the_last_job_if_that_is_asked_for, setup, scratch_teardown)
{
	struct job job;

	serving.config.leave = true;
	assert_true(serving_start(&serving));
	serving_job(&job, 16);
	assert_int_equal(job_join(&job, "socket"), PROTOCOL_WELCOME);
	job_leave(&job);
	assert_int_equal(serving_join(&serving), 0);
}

TEST_WITH(a_stopped_loader_ends_the_data, setup, scratch_teardown)
{
	struct job job;

	serving.loader.dataset = "synthetic:1000"; /* more than the window */
	assert_true(serving_start(&serving));
	serving_job(&job, 16);
	assert_int_equal(job_join(&job, "socket"), PROTOCOL_WELCOME);
	assert_int_equal(job_step(&job, 10 * SECOND), 1);
	assert_int_equal(serving_stop(&serving), 0);
	assert_int_equal(job_run(&job, 100), -ENODATA);
	job_leave(&job);
	assert_true(serving_verdict("audit", "none twice in 1 unfinished"));
}

TEST_WITH(a_job_in_the_way_goes_on_alone, setup, scratch_teardown)
{
	struct worker first;
	struct bcast_batch held;
	struct job second;
	unsigned char before[30 * 192];

	serving.config.drop_ns = SECOND / 2;
	assert_true(serving_start(&serving));
	serving_job(&first.job, 10);
	serving_job(&second, 30);
	assert_int_equal(job_join(&first.job, "socket"), PROTOCOL_WELCOME);
	assert_int_equal(job_join(&second, "socket"), PROTOCOL_WELCOME);
	worker_start(&first, 20); /* the second may begin where there is no room yet */
	assert_int_equal(job_take(&second, 10 * SECOND, &held), 1);
	assert_non_null(held.data);
	memcpy(before, held.data, sizeof(before));
	serving_wait(&serving, "goes on alone");
	worker_finish(&first);
	/* What it holds is as it was; the rest is its own business. */
	assert_memory_equal(held.data, before, sizeof(before));
	job_release(&second, &held);
	assert_int_equal(job_step(&second, SECOND), -ENOLINK);
	assert_int_equal(job_rest(&second), 70);
	assert_int_equal(second.epochs, 1);
	assert_int_equal(second.wrong, 0);
	job_leave(&second);
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once in 20 epochs"));
}

/* Places move where a sample can't be had, and late jobs begin behind them. */
TEST_WITH(samples_that_can_not_be_read_are_in_no_epoch, setup, scratch_teardown)
{
	enum { FILES = 60, GONE = 7, JOBS = 5 };
	struct worker workers[JOBS];
	char path[32];

	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "data/class/%02d.jpg", i);
		scratch_text(path, "some bytes");
	}
	serving.loader.dataset = "data";
	assert_true(serving_start(&serving));
	for (int i = 0; i < GONE; i++) {
		snprintf(path, sizeof(path), "data/class/%02d.jpg", 8 * i);
		assert_int_equal(unlink(path), 0);
	}
	for (int i = 0; i < JOBS; i++) {
		serving_job(&workers[i].job, 4 + (uint32_t)i);
		assert_int_equal(job_join(&workers[i].job, "socket"), PROTOCOL_WELCOME);
		assert_int_equal(workers[i].job.welcome.dataset_samples, FILES);
		workers[i].job.unreadable = GONE;
		for (int j = 0; j <= i; j++)
			for (int step = 0; step < 3; step++)
				(void)job_step(&workers[j].job, SECOND / 1000);
	}
	for (int i = 0; i < JOBS; i++)
		worker_start(&workers[i], 6);
	for (int i = 0; i < JOBS; i++)
		worker_finish(&workers[i]);
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once"));
	assert_int_equal(serving_told(&serving, "skipped"), GONE);
	assert_true(serving_told(&serving, "lost over 1 %") > 0);
}

TEST_WITH(a_session_that_another_loader_drives_holds_nobody_up, setup, scratch_teardown)
{
	struct trace *trace = trace_create("session", 7, NULL);
	struct job job;

	assert_non_null(trace);
	trace->in_step = 1;
	trace->driver = 2; /* not this one's process */
	setenv("DSA_SESSION", "session", 1);
	assert_true(serving_start(&serving));
	unsetenv("DSA_SESSION");
	serving_job(&job, 16);
	assert_int_equal(job_join(&job, "socket"), PROTOCOL_WELCOME);
	assert_int_equal(job_step(&job, 10 * SECOND), 1);
	job_leave(&job);
	assert_int_equal(serving_stop(&serving), 0);
	trace_unmap(trace);
}

/* What is left of the epoch before them is less than a batch, and with them more than
 * the window. */
TEST_WITH(broken_samples_that_fill_the_window_hold_nobody_up, setup, scratch_teardown)
{
	enum { FILES = 100, GONE = 70 };
	struct worker worker;
	char path[32];

	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "data/class/%02d.jpg", i);
		scratch_text(path, i < GONE ? "" : "some bytes");
	}
	serving.loader.dataset = "data";
	serving.config.window = 3;
	assert_true(serving_start(&serving));
	serving_job(&worker.job, 7);
	assert_int_equal(job_join(&worker.job, "socket"), PROTOCOL_WELCOME);
	worker.job.unreadable = GONE;
	worker_start(&worker, 3);
	worker_finish(&worker);
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once in 3 epochs"));
}
