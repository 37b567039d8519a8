/* worker.h - a job at a shared loader in a thread of its own. */
#ifndef DSA_TESTS_WORKER_H
#define DSA_TESTS_WORKER_H

#include "tests/lib/job.h"

#include <pthread.h>

struct worker {
	struct job job; /* has joined before it starts */
	pthread_t thread;
	unsigned epochs;
	int result;
};

/* Has it run so many epochs; and waits for it: each had every sample exactly once. Then
 * the job leaves. */
void worker_start(struct worker *worker, unsigned epochs);
void worker_finish(struct worker *worker);

#endif
