#include "tests/lib/worker.h"
#include "tests/lib/test.h"

#include <stddef.h>

static void *work(void *context)
{
	struct worker *worker = context;

	worker->result = job_run(&worker->job, worker->epochs);
	return NULL;
}

void worker_start(struct worker *worker, unsigned epochs)
{
	worker->epochs = epochs;
	assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
}

void worker_finish(struct worker *worker)
{
	pthread_join(worker->thread, NULL);
	assert_int_equal(worker->result, 0);
	assert_int_equal(worker->job.epochs, worker->epochs);
	assert_int_equal(worker->job.wrong, 0);
	job_leave(&worker->job);
}
