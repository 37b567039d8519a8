/* serving.h - a shared loader in a thread, of a small synthetic data set, and what it
 * told. */
#ifndef DSA_TESTS_SERVING_H
#define DSA_TESTS_SERVING_H

#include "loader/base/error.h"
#include "loader/loader.h"
#include "loader/share.h"
#include "tests/lib/job.h"

#include <pthread.h>

enum { SERVING_LINES = 256, SERVING_SAMPLES = 100, SERVING_BATCH = 16 };

struct serving {
	struct share_config config; /* to be changed before serving_start() */
	struct dsa_config loader;
	struct share_server *server;
	pthread_t thread;
	pthread_mutex_t lock; /* of lines */
	pthread_cond_t changed;
	char lines[SERVING_LINES][320];
	unsigned count;
	int result;
	struct error err;
};

/* 100 samples of 192 bytes as they are, batches of 16, a window of 8; socket and audit
 * in the current folder. */
void serving_init(struct serving *serving);

/* Opens it; true if that went well; then runs it in a thread. */
bool serving_start(struct serving *serving);

/* Waits until it has told a line with this in it. */
void serving_wait(struct serving *serving, const char *text);

/* How many lines have this in them. */
unsigned serving_told(struct serving *serving, const char *text);

/* Stops it, or waits for its own end, and closes it. What it came to. */
int serving_stop(struct serving *serving);
int serving_join(struct serving *serving);

/* A job that fits it. */
void serving_job(struct job *job, uint32_t batch);

/* Whether the last line of a file has this in it. */
bool serving_verdict(const char *path, const char *text);

#endif
