/* The shared loader: jobs and loaders that are killed or stopped, and what the others get
 * and keep. */
#include "loader/loader.h"
#include "loader/share.h"
#include "loader/share/ring/bcast_reader.h"
#include "tests/lib/nomem.h"
#include "tests/lib/scratch.h"
#include "tests/lib/serving.h"
#include "tests/lib/test.h"
#include "tests/lib/worker.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

static struct serving serving;

static int setup(void **state)
{
	int result = scratch_setup(state);

	setenv("XDG_CACHE_HOME", scratch_path(), 1);
	serving_init(&serving);
	return result;
}

/* A child that waits for a byte first: it must not be made when there are threads. */
struct child {
	pid_t pid;
	int go, ready;
};

static void tell_child(const struct child *child)
{
	assert_int_equal(write(child->go, "", 1), 1);
}

static void hear_child(const struct child *child)
{
	char byte;

	assert_int_equal(read(child->ready, &byte, 1), 1);
}

static void make_child(struct child *child, int (*does)(int go, int ready))
{
	int go[2], ready[2];

	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(ready), 0);
	child->pid = fork();
	if (child->pid == 0) {
		close(go[1]);
		close(ready[0]);
		_exit(does(go[0], ready[1]));
	}
	close(go[0]);
	close(ready[1]);
	child->go = go[1];
	child->ready = ready[0];
}

static int end_child(struct child *child)
{
	int status;

	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	close(child->go);
	close(child->ready);
	return status;
}

/* Joins, takes a batch, says so and waits. */
static int hold_a_batch(int go, int ready)
{
	struct bcast_batch held;
	struct job job;
	char byte;

	serving_job(&job, 20);
	if (read(go, &byte, 1) != 1 || job_join(&job, "socket") != PROTOCOL_WELCOME ||
	    job_take(&job, 10 * SECOND, &held) != 1 || write(ready, "", 1) != 1)
		return 1;
	(void)!read(go, &byte, 1);
	job_leave(&job);
	return 0;
}

TEST_WITH(a_killed_job_holds_nobody_up, setup, scratch_teardown)
{
	struct worker first;
	struct child child;

	make_child(&child, hold_a_batch);
	serving.config.jobs = 2;
	assert_true(serving_start(&serving));
	tell_child(&child);
	serving_job(&first.job, 10);
	assert_int_equal(job_join(&first.job, "socket"), PROTOCOL_WELCOME);
	hear_child(&child);
	worker_start(&first, 5);
	kill(child.pid, SIGKILL);
	worker_finish(&first);
	assert_true(WIFSIGNALED(end_child(&child)));
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once in 5 epochs of 2 jobs"));
}

/* Takes the rest of its epoch by itself once it may go on. */
static int be_stopped(int go, int ready)
{
	struct bcast_batch held;
	struct job job;
	char byte;

	serving_job(&job, 20);
	if (read(go, &byte, 1) != 1 || job_join(&job, "socket") != PROTOCOL_WELCOME ||
	    job_take(&job, 10 * SECOND, &held) != 1 || write(ready, "", 1) != 1)
		return 1;
	kill(getpid(), SIGSTOP);
	job_release(&job, &held);
	if (job_step(&job, SECOND) != -ENOLINK || job_rest(&job) == 0)
		return 2;
	return job.epochs == 1 && job.wrong == 0 ? 0 : 3;
}

TEST_WITH(a_stopped_job_is_left_behind_and_loses_nothing, setup, scratch_teardown)
{
	struct worker first;
	struct child child;
	int status;

	make_child(&child, be_stopped);
	serving.config.jobs = 2;
	serving.config.drop_ns = SECOND / 2;
	assert_true(serving_start(&serving));
	tell_child(&child);
	serving_job(&first.job, 10);
	assert_int_equal(job_join(&first.job, "socket"), PROTOCOL_WELCOME);
	hear_child(&child);
	worker_start(&first, 5);
	serving_wait(&serving, "goes on alone");
	worker_finish(&first);
	assert_int_equal(waitpid(child.pid, &status, WUNTRACED), child.pid);
	assert_true(WIFSTOPPED(status));
	kill(child.pid, SIGCONT);
	assert_int_equal(end_child(&child), 0);
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once in 5 epochs"));
}

/* A loader that is killed after a batch or so; and the one after it. */
static int serve(int go, int ready)
{
	char byte;

	if (read(go, &byte, 1) != 1)
		return 1;
	serving.config.audit = NULL;
	if (!serving_start(&serving) || write(ready, "", 1) != 1)
		return 1;
	pause();
	return 0;
}

static int serve_in_a_hurry(int go, int ready)
{
	serving.config.drop_ns = SECOND / 2;
	return serve(go, ready);
}

TEST_WITH(a_dropped_job_outlives_its_loader, setup, scratch_teardown)
{
	struct worker first;
	struct bcast_batch held;
	struct job second;
	struct child child;

	make_child(&child, serve_in_a_hurry);
	tell_child(&child);
	hear_child(&child);
	serving_job(&first.job, 10);
	serving_job(&second, 20);
	assert_int_equal(job_join(&first.job, "socket"), PROTOCOL_WELCOME);
	assert_int_equal(job_join(&second, "socket"), PROTOCOL_WELCOME);
	worker_start(&first,
		     UINT_MAX); /* the second may begin where there is no room yet */
	assert_int_equal(job_take(&second, 10 * SECOND, &held), 1);
	while (job_step(&second, SECOND / 100) != -ENOLINK)
		;
	kill(child.pid, SIGKILL);
	assert_true(WIFSIGNALED(end_child(&child)));
	pthread_join(first.thread, NULL);
	assert_int_equal(first.result, -EPIPE);
	assert_true(job_rest(&second) > 0);
	assert_int_equal(second.wrong, 0);
	job_release(&second, &held);
	job_leave(&first.job);
	job_leave(&second);
}

/* The second job comes when the first is at 60; the loader dies when that is at `end`. */
static void take_over(uint64_t end)
{
	struct job before[2], after[2];
	struct worker workers[2];
	struct child child;

	make_child(&child, serve);
	tell_child(&child);
	hear_child(&child);
	for (int i = 0; i < 2; i++) {
		serving_job(&before[i], 7 + 10 * (uint32_t)i);
		assert_int_equal(job_join(&before[i], "socket"), PROTOCOL_WELCOME);
		while (before[0].reader->next < (i == 0 ? 60 : end))
			for (int j = 0; j <= i; j++)
				(void)job_step(&before[j], SECOND / 1000);
	}
	kill(child.pid, SIGKILL);
	assert_true(WIFSIGNALED(end_child(&child)));
	serving.config.takeover = true;
	assert_true(serving_start(&serving));
	for (int i = 0; i < 2; i++) {
		job_resume(&after[i], &before[i]);
		assert_int_equal(job_join(&after[i], "socket"), PROTOCOL_WELCOME);
	}
	for (int i = 0; i < 2; i++) {
		workers[i].job = after[i];
		worker_start(&workers[i], 2);
	}
	for (int i = 0; i < 2; i++) {
		worker_finish(&workers[i]);
		job_leave(&before[i]);
	}
	assert_int_equal(serving_stop(&serving), 0);
	assert_int_equal(serving_told(&serving, "took over"), 1);
}

TEST_WITH(a_loader_takes_over_where_one_was_killed, setup, scratch_teardown)
{
	take_over(360);
}

/* Nothing of what the second job is to get was published. */
TEST_WITH(a_job_that_had_only_joined_goes_on_as_well, setup, scratch_teardown)
{
	take_over(0);
}

static void start_child(const struct child *child)
{
	tell_child(child);
	hear_child(child);
}

static void kill_child(struct child *child)
{
	kill(child->pid, SIGKILL);
	assert_true(WIFSIGNALED(end_child(child)));
}

/* It was busy for longer than the next loader waited: it is told nothing of that. */
TEST_WITH(a_job_that_comes_back_late_is_taken_all_the_same, setup, scratch_teardown)
{
	struct worker late;
	struct job before;
	struct child child;

	make_child(&child, serve);
	start_child(&child);
	serving_job(&before, 7);
	assert_int_equal(job_join(&before, "socket"), PROTOCOL_WELCOME);
	assert_int_equal(job_step(&before, 10 * SECOND), 1);
	kill_child(&child);
	serving.config.takeover = true;
	serving.config.takeover_s = 0.01;
	assert_true(serving_start(&serving));
	serving_wait(&serving, "begins anew");
	job_resume(&late.job, &before);
	assert_int_equal(job_join(&late.job, "socket"), PROTOCOL_WELCOME);
	worker_start(&late, 2);
	worker_finish(&late);
	job_leave(&before);
	assert_int_equal(serving_stop(&serving), 0);
}

static int serve_on(int go, int ready)
{
	serving.config.takeover = true;
	return serve(go, ready);
}

/* The one between them took the other job over, and died as well. */
TEST_WITH(a_job_that_missed_a_loader_goes_on_at_the_next, setup, scratch_teardown)
{
	struct worker after[2];
	struct job before[2], between;
	struct child first, second;

	make_child(&first, serve);
	make_child(&second, serve_on);
	start_child(&first);
	for (int i = 0; i < 2; i++) {
		serving_job(&before[i], 7 + 10 * (uint32_t)i);
		assert_int_equal(job_join(&before[i], "socket"), PROTOCOL_WELCOME);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(job_step(&before[i], 10 * SECOND), 1);
	kill_child(&first);
	start_child(&second);
	job_resume(&between, &before[0]);
	assert_int_equal(job_join(&between, "socket"), PROTOCOL_WELCOME);
	assert_int_equal(job_step(&between, 10 * SECOND), 1);
	kill_child(&second);
	serving.config.takeover = true;
	assert_true(serving_start(&serving));
	job_resume(&after[0].job, &between);
	job_resume(&after[1].job, &before[1]);
	for (int i = 0; i < 2; i++)
		assert_int_equal(job_join(&after[i].job, "socket"), PROTOCOL_WELCOME);
	for (int i = 0; i < 2; i++)
		worker_start(&after[i], 2);
	for (int i = 0; i < 2; i++)
		worker_finish(&after[i]);
	job_leave(&before[0]);
	job_leave(&before[1]);
	job_leave(&between);
	assert_int_equal(serving_stop(&serving), 0);
}
