#include "loader/source/scan_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

struct crew {
	void (*work)(void *context);
	void *context;
};

static void *scan_pool_member(void *argument)
{
	const struct crew *crew = argument;

	crew->work(crew->context);
	return NULL;
}

/*
 * Listing waits for the disk more than it computes: 16 threads list a tree whose
 * metadata is cold three times as fast as two, on two cores, and a warm one no slower.
 */
static unsigned scan_pool_enough(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) < 16)
		return 16;
	return (unsigned)CPU_COUNT(&set);
}

static unsigned scan_pool_start(struct crew *crew, pthread_t *thread, unsigned count)
{
	sigset_t all, before;
	unsigned started = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (started < count &&
	       pthread_create(&thread[started], NULL, scan_pool_member, crew) == 0)
		started++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

void scan_pool_run(unsigned threads, void (*work)(void *context), void *context)
{
	struct crew crew = {work, context};
	pthread_t thread[SCAN_POOL_MAX];
	unsigned started;

	if (threads == 0)
		threads = scan_pool_enough();
	if (threads > SCAN_POOL_MAX)
		threads = SCAN_POOL_MAX;
	started = scan_pool_start(&crew, thread, threads - 1);
	work(context);
	while (started > 0)
		pthread_join(thread[--started], NULL);
}
