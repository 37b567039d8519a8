/*
 * client.h - a client of the fetch stage that wants samples 0..end-1, each once, then
 * waits until it is told to want more or is closed; and remembers what it got.
 */
#ifndef DSA_TESTS_CLIENT_H
#define DSA_TESTS_CLIENT_H

#include "loader/fetch.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct blob;
struct source;
struct throttle;

enum { CLIENT_MOST = 600 };

struct client {
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t changed;
	uint32_t next, end;
	bool closed, unthrottled;
	const uint32_t
		*members; /* 0..end-1, which come with one read; NULL: each alone */
	unsigned out, most_out; /* reads taken and not done; most at a time */
	unsigned done;          /* reads done, */
	unsigned undrained;     /* and those since the engine last said that it waits */
	unsigned waits, started; /* times that next waited; threads started */
	struct blob *blob[CLIENT_MOST];
	int result[CLIENT_MOST];
	struct fetch_calls calls; /* of all jobs: opens, reads and bytes */
};

void client_init(struct client *client, uint32_t end);
void client_fini(struct client *client);

/* For struct fetch_client and fetch_config; context is the client. */
bool client_next(void *context, bool wait, struct fetch_job *job);
void client_done(void *context, const struct fetch_job *job, struct blob *blob,
		 int result);
void client_drained(void *context);
void client_thread_started(void *context);

/* Sets closed or unthrottled; sets end. */
void client_set(struct client *client, bool *what, bool to);
void client_want(struct client *client, uint32_t end);

/* Waits until one of the counters above is at least `least`. */
void client_wait(struct client *client, const unsigned *what, unsigned least);

/* Flushes until so many are done: some may have been taken, but not begun. */
void client_flush(struct client *client, struct fetch *fetch, unsigned done);

/* Opens an engine for the client; fails the test if it can't be opened. */
struct fetch *client_open(struct client *client, const struct source *source,
			  const char *engine, unsigned depth,
			  struct throttle *throttle);

/* Initialises the client, reads the first `count` samples for it and closes. */
void client_read(struct client *client, const struct source *source, const char *engine,
		 uint32_t count);

#endif
