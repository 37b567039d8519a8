/*
 * serve_watch.h - what happens at a shared loader, on standard error: a line for each
 * event, and below them, on a terminal, one line of figures.
 */
#ifndef DSA_SERVE_WATCH_H
#define DSA_SERVE_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct error;

struct serve_watch {
	pthread_mutex_t lock; /* of standard error, too */
	pthread_cond_t wake;
	pthread_t thread;
	const char *socket;
	uint64_t period_ns;
	bool quiet;    /* no events */
	bool running;  /* there is a thread */
	bool ending;   /* lock */
	bool terminal; /* the line is written over */
	int asking;    /* connection that waits for an answer; -1: none. Lock */
};

void serve_watch_init(struct serve_watch *watch, bool quiet);

/*
 * Shows figures of the loader that listens at a socket: each second on a terminal, with
 * `verbose` each 10 seconds anywhere else. 0, or -errno.
 */
int serve_watch_begin(struct serve_watch *watch, const char *socket, bool verbose,
		      struct error *err);
void serve_watch_end(struct serve_watch *watch);

/* Prints an event. For share_config.log, of a struct serve_watch. Any thread. */
void serve_watch_print(void *context, const char *line);

#endif
