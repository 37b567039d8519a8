/*
 * serve_watch.h - what happens at a shared loader, on standard error: a line for each
 * event, and below them, on a terminal, one line of figures.
 *
 *	loader's thread --line--> queue --> a thread of its own --> standard error
 *
 * Whoever reads standard error may be stuck or gone: only that thread waits for it, and
 * when the queue is full lines are dropped and counted.
 */
#ifndef DSA_SERVE_WATCH_H
#define DSA_SERVE_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct error;

enum { SERVE_WATCH_LINES = 64, SERVE_WATCH_LINE = 512 };

struct serve_watch {
	pthread_mutex_t lock;
	pthread_cond_t wake; /* a line is queued, or the end has come */
	pthread_t thread;
	const char *socket;
	uint64_t period_ns; /* of figures; 0: none */
	bool quiet;         /* no events */
	bool running;       /* there is a thread */
	bool terminal;      /* the line is written over */

	/* With the lock. */
	uint64_t end_ns; /* nothing is written after this; 0: no end yet */
	int asking;      /* connection that waits for an answer; -1: none */
	char lines[SERVE_WATCH_LINES][SERVE_WATCH_LINE];
	unsigned first, count; /* that are queued */
	uint64_t lost;         /* behind them, for which there was no room */
};

void serve_watch_init(struct serve_watch *watch, bool quiet);

/*
 * Prints events, and figures of the loader that listens at a socket: each second on a
 * terminal, with `verbose` each 10 seconds anywhere else. SIGPIPE is to be ignored.
 * 0 or -errno.
 */
int serve_watch_begin(struct serve_watch *watch, const char *socket, bool verbose,
		      struct error *err);

/* Prints what is queued, as far as somebody reads it within a second. */
void serve_watch_end(struct serve_watch *watch);

/* Queues an event; never waits for who reads it. For share_config.log, of a struct
 * serve_watch. Any thread. */
void serve_watch_print(void *context, const char *line);

#endif
