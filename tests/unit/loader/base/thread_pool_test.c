/* thread_pool_test.c - what threads are started with, and how they are scheduled. */
#include "loader/base/thread_pool.h"
#include "tests/lib/test.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>

static void *batch_policy(void *policy)
{
	thread_batch();
	*(int *)policy = sched_getscheduler(0);
	return NULL;
}

TEST(a_thread_alone_becomes_a_batch_thread)
{
	pthread_t thread;
	int policy = -1, before = sched_getscheduler(0);

	assert_int_equal(thread_start(&thread, batch_policy, &policy), 0);
	pthread_join(thread, NULL);
	assert_int_equal(policy, before == SCHED_OTHER ? SCHED_BATCH : before);
	assert_int_equal(sched_getscheduler(0), before);
}

static void *idle_policy(void *policy)
{
	const struct sched_param none = {0};

	assert_int_equal(sched_setscheduler(0, SCHED_IDLE, &none), 0);
	return batch_policy(policy);
}

TEST(another_policy_is_kept)
{
	pthread_t thread;
	int policy = -1;

	assert_int_equal(thread_start(&thread, idle_policy, &policy), 0);
	pthread_join(thread, NULL);
	assert_int_equal(policy, SCHED_IDLE);
}

static void *blocked_signals(void *context)
{
	pthread_sigmask(SIG_SETMASK, NULL, context);
	return NULL;
}

TEST(a_thread_takes_no_signals)
{
	pthread_t thread;
	sigset_t there, here;

	assert_int_equal(thread_start(&thread, blocked_signals, &there), 0);
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, NULL, &here);
	assert_true(sigismember(&there, SIGTERM) == 1);
	assert_true(sigismember(&here, SIGTERM) == 0);
}
