/* serve_watch.c - a thread that prints figures while the loader serves. */
#include "cmd/serve/serve_watch.h"
#include "cmd/common/progress.h"
#include "cmd/serve/serve_status.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/thread_pool.h"
#include "loader/share.h"
#include "reports/common/escape.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

void serve_watch_init(struct serve_watch *watch, bool quiet)
{
	pthread_condattr_t attributes;

	*watch = (struct serve_watch){.quiet = quiet, .asking = -1};
	pthread_mutex_init(&watch->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&watch->wake, &attributes);
	pthread_condattr_destroy(&attributes);
}

void serve_watch_print(void *context, const char *line)
{
	struct serve_watch *watch = context;

	if (watch->quiet)
		return;
	pthread_mutex_lock(&watch->lock);
	progress_clear();
	escape_plain(stderr, line);
	putc('\n', stderr);
	pthread_mutex_unlock(&watch->lock);
}

static void serve_watch_show(const struct serve_watch *watch, const char *json)
{
	serve_status_line(watch->terminal ? progress_line() : stderr, json);
	if (!watch->terminal)
		putc('\n', stderr);
}

/* Waits until the next line is due. False: there is none any more. With the lock. */
static bool serve_watch_wait_for(struct serve_watch *watch, uint64_t due)
{
	const struct timespec until = {.tv_sec = (time_t)(due / SECOND),
				       .tv_nsec = (long)(due % SECOND)};

	while (!watch->ending && clock_now() < due)
		pthread_cond_timedwait(&watch->wake, &watch->lock, &until);
	return !watch->ending;
}

/* Its figures; NULL: there are none. With the lock, but not while it waits: a loader whose
 * end is near may take the connection and not answer. */
static char *serve_watch_ask(struct serve_watch *watch)
{
	char *json = NULL;
	int fd;

	pthread_mutex_unlock(&watch->lock);
	fd = share_connect(watch->socket, NULL);
	pthread_mutex_lock(&watch->lock);
	if (fd < 0)
		return NULL;
	if (!watch->ending) {
		watch->asking = fd;
		pthread_mutex_unlock(&watch->lock);
		if (share_ask(fd, &json) < 0)
			json = NULL;
		pthread_mutex_lock(&watch->lock);
		watch->asking = -1;
	}
	close(fd);
	return json;
}

static void *watch_loader(void *context)
{
	struct serve_watch *watch = context;
	uint64_t due = clock_now() + watch->period_ns;

	pthread_mutex_lock(&watch->lock);
	for (; serve_watch_wait_for(watch, due); due += watch->period_ns) {
		char *json = serve_watch_ask(watch);

		if (json != NULL && !watch->ending)
			serve_watch_show(watch, json);
		free(json);
	}
	progress_clear();
	pthread_mutex_unlock(&watch->lock);
	return NULL;
}

int serve_watch_begin(struct serve_watch *watch, const char *socket, bool verbose,
		      struct error *err)
{
	int rc;

	watch->socket = socket;
	watch->terminal = progress_wanted(watch->quiet);
	watch->period_ns = watch->terminal ? SECOND : 10 * SECOND;
	if (watch->quiet || (!watch->terminal && !verbose))
		return 0;
	rc = thread_start(&watch->thread, watch_loader, watch);
	watch->running = rc == 0;
	return rc == 0 ? 0 : error_sys(err, rc, "cannot start a thread");
}

void serve_watch_end(struct serve_watch *watch)
{
	pthread_mutex_lock(&watch->lock);
	watch->ending = true;
	if (watch->asking >= 0)
		shutdown(watch->asking, SHUT_RDWR);
	pthread_cond_signal(&watch->wake);
	pthread_mutex_unlock(&watch->lock);
	if (watch->running)
		pthread_join(watch->thread, NULL);
	watch->running = false;
}
