/* serve_watch.c - a thread that prints events and figures while the loader serves. */
#include "cmd/serve/serve_watch.h"
#include "cmd/common/progress.h"
#include "cmd/serve/serve_status.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/thread_pool.h"
#include "loader/share.h"
#include "reports/common/escape.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

enum {
	LOOK_MS = 100, /* between two looks for the end */
	SHOWN = 2048,  /* bytes of a line, escaped: fewer than a pipe takes at once */
};

void serve_watch_init(struct serve_watch *watch, bool quiet)
{
	*watch = (struct serve_watch){.quiet = quiet, .asking = -1};
	pthread_mutex_init(&watch->lock, NULL);
	thread_cond_init(&watch->wake);
}

void serve_watch_print(void *context, const char *line)
{
	struct serve_watch *watch = context;

	if (watch->quiet)
		return;
	pthread_mutex_lock(&watch->lock);
	if (watch->count == SERVE_WATCH_LINES) {
		watch->lost++;
	} else {
		unsigned at = (watch->first + watch->count++) % SERVE_WATCH_LINES;

		snprintf(watch->lines[at], SERVE_WATCH_LINE, "%s", line);
		pthread_cond_signal(&watch->wake);
	}
	pthread_mutex_unlock(&watch->lock);
}

/* ---- the thread ---- */

/* Waits until a short line can be written at once, or fails at once. False: the end has
 * come before. */
static bool serve_watch_writable(struct serve_watch *watch)
{
	struct pollfd to = {.fd = STDERR_FILENO, .events = POLLOUT};

	while (poll(&to, 1, LOOK_MS) <= 0) {
		uint64_t end;

		pthread_mutex_lock(&watch->lock);
		end = watch->end_ns;
		pthread_mutex_unlock(&watch->lock);
		if (end != 0 && clock_now() >= end)
			return false;
	}
	return true;
}

/* Writes the oldest line. With the lock, but not while it writes. */
static void serve_watch_write(struct serve_watch *watch)
{
	char line[SERVE_WATCH_LINE], shown[SHOWN];
	uint64_t lost = 0;

	strcpy(line, watch->lines[watch->first]);
	watch->first = (watch->first + 1) % SERVE_WATCH_LINES;
	if (--watch->count == 0) {
		lost = watch->lost;
		watch->lost = 0;
	}
	pthread_mutex_unlock(&watch->lock);
	if (serve_watch_writable(watch)) {
		progress_clear();
		fprintf(stderr, "%s\n", escape_to(shown, sizeof(shown), line));
	}
	if (lost > 0 && serve_watch_writable(watch))
		fprintf(stderr, "%" PRIu64 " lines were dropped: nobody read them\n",
			lost);
	pthread_mutex_lock(&watch->lock);
}

/* Waits for a line, or until the next figures are due. False: there is nothing to come
 * any more. With the lock. */
static bool serve_watch_wait_for(struct serve_watch *watch, uint64_t due)
{
	const struct timespec until = {.tv_sec = (time_t)(due / SECOND),
				       .tv_nsec = (long)(due % SECOND)};

	while (watch->count == 0 && watch->end_ns == 0 && clock_now() < due)
		pthread_cond_timedwait(&watch->wake, &watch->lock, &until);
	return watch->count > 0 || watch->end_ns == 0;
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
	if (watch->end_ns == 0) {
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

/* With the lock, but not while it waits or writes. */
static void serve_watch_figures(struct serve_watch *watch)
{
	char *json = serve_watch_ask(watch);

	pthread_mutex_unlock(&watch->lock);
	if (json != NULL && serve_watch_writable(watch)) {
		serve_status_line(watch->terminal ? progress_line() : stderr, json);
		if (!watch->terminal)
			putc('\n', stderr);
	}
	free(json);
	pthread_mutex_lock(&watch->lock);
}

static uint64_t serve_watch_next(const struct serve_watch *watch)
{
	return watch->period_ns > 0 ? clock_now() + watch->period_ns : UINT64_MAX;
}

static void *watch_loader(void *context)
{
	struct serve_watch *watch = context;
	uint64_t due = serve_watch_next(watch);

	pthread_mutex_lock(&watch->lock);
	while (serve_watch_wait_for(watch, due)) {
		if (watch->count > 0) {
			serve_watch_write(watch);
			continue;
		}
		serve_watch_figures(watch);
		due = serve_watch_next(watch);
	}
	pthread_mutex_unlock(&watch->lock);
	if (serve_watch_writable(watch))
		progress_clear();
	return NULL;
}

int serve_watch_begin(struct serve_watch *watch, const char *socket, bool verbose,
		      struct error *err)
{
	int rc;

	watch->socket = socket;
	watch->terminal = progress_wanted(watch->quiet);
	if (watch->terminal || verbose)
		watch->period_ns = watch->terminal ? SECOND : 10 * SECOND;
	if (watch->quiet)
		return 0;
	rc = thread_start(&watch->thread, watch_loader, watch);
	watch->running = rc == 0;
	return rc == 0 ? 0 : error_sys(err, rc, "cannot start a thread");
}

void serve_watch_end(struct serve_watch *watch)
{
	pthread_mutex_lock(&watch->lock);
	watch->end_ns = clock_now() + SECOND;
	if (watch->asking >= 0)
		shutdown(watch->asking, SHUT_RDWR);
	pthread_cond_signal(&watch->wake);
	pthread_mutex_unlock(&watch->lock);
	if (watch->running)
		pthread_join(watch->thread, NULL);
	watch->running = false;
}
