/* net_exit.c - keeps threads out of libcurl while the process ends. */
#include "loader/net/curl/net_exit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static atomic_int inside;
static atomic_bool ends;
static pid_t watched; /* a child of this process has none of its threads */

static void net_at_exit(void)
{
	const struct timespec nap = {.tv_nsec = 100000};

	ends = true;
	while (getpid() == watched && inside > 0)
		nanosleep(&nap, NULL);
}

static void net_watch_once(void)
{
	watched = getpid();
	atexit(net_at_exit);
}

void net_watch_exit(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, net_watch_once);
}

bool net_enter(void)
{
	inside++;
	if (!ends)
		return true;
	inside--;
	return false;
}

void net_leave(void)
{
	inside--;
}
