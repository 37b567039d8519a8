/* thread_pool.c - starts threads, and joins them. */
#include "loader/base/thread_pool.h"

#include <sched.h>
#include <signal.h>
#include <time.h>

enum { THREADS_LISTING = 64, THREADS_MAX = 1024 };

struct thread_pool {
	void (*work)(void *context);
	void *context;
};

static void *thread_pool_member(void *argument)
{
	const struct thread_pool *pool = argument;

	pool->work(pool->context);
	return NULL;
}

/*
 * Listing waits for the disk more than it computes: 16 threads list a tree whose
 * metadata is cold three times as fast as two, on two cores, and a warm one no slower.
 */
static unsigned thread_pool_enough(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) < 16)
		return 16;
	return CPU_COUNT(&set) < THREADS_LISTING ? (unsigned)CPU_COUNT(&set)
						 : THREADS_LISTING;
}

int thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument)
{
	sigset_t all, before;
	int code;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

void thread_batch(void)
{
	const struct sched_param none = {0};

	if (sched_getscheduler(0) == SCHED_OTHER)
		sched_setscheduler(0, SCHED_BATCH, &none);
}

void thread_lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

void thread_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attributes);
	pthread_condattr_destroy(&attributes);
}

void thread_pool_run(unsigned threads, void (*work)(void *context), void *context)
{
	struct thread_pool pool = {work, context};
	pthread_t thread[THREADS_MAX];
	unsigned started = 0;

	if (threads == 0)
		threads = thread_pool_enough();
	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	while (started < threads - 1 &&
	       thread_start(&thread[started], thread_pool_member, &pool) == 0)
		started++;
	work(context);
	while (started > 0)
		pthread_join(thread[--started], NULL);
}
