/* prep_pool.c - the prep threads. */
#include "loader/base/blob.h"
#include "loader/base/clock.h"
#include "loader/base/thread_pool.h"
#include "loader/base/trace.h"
#include "loader/options.h"
#include "loader/pipeline/pipeline_state.h"
#include "loader/prep.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>

static void count_prepared(const struct worker *worker, const struct blob *blob,
			   uint64_t took)
{
	struct trace_process *process = worker->pipeline->parts.process;

	trace_add(process, TRACE_prepared_bytes, blob->size);

	trace_add(process, TRACE_prep_ns, took);
	trace_histogram(process, TRACE_PREP_NS, took);
	trace_histogram(process, TRACE_BYTES, blob->size);
}

/* Where the sample goes in the sink. */
static void *prep_pool_output(const struct pipeline *p, const struct batch *batch,
			      const struct place *place)
{
	struct batch_sink *sink = p->parts.sink;

	return sink->ops->sample(sink, stream_slot(p, batch),
				 (uint32_t)(place - batch->places));
}

int prep_bare(struct worker *worker, const struct batch *batch, struct place *place,
	      struct error *err)
{
	int result = prep_run(worker->prep, place->blob->data, place->blob->size,
			      place->seed,
			      prep_pool_output(worker->pipeline, batch, place), err);

	place->pixels = (uint32_t)prep_pixels(worker->prep); /* JPEG_PIXELS_MAX */
	return result;
}

int prep_delayed(struct worker *worker, const struct batch *batch, struct place *place,
		 struct error *err)
{
	const struct pipeline *p = worker->pipeline;
	uint64_t due = p->delay_ns > 0 ? clock_now() + p->delay_ns : 0;
	int result = prep_bare(worker, batch, place, err);

	if (due > 0) {
		trace_add(p->parts.process, TRACE_prep_padded, clock_now() < due);
		clock_sleep_until(due);
	}
	return result;
}

int prep_timed(struct worker *worker, const struct batch *batch, struct place *place,
	       struct error *err)
{
	uint64_t start = clock_now(), took;
	int result = prep_delayed(worker, batch, place, err);

	took = clock_now() - start;
	place->prep_ns = pipeline_ns(took);
	count_prepared(worker, place->blob, took);
	return result;
}

/* A place for this worker, or NULL when it is to rest. */
static struct place *find_work(struct worker *worker, struct batch **batch)
{
	struct pipeline *p = worker->pipeline;

	if (!p->on || worker->index >= p->active)
		return NULL;
	return stream_take(p, PLACE_READY, batch);
}

static void prep_pool_rest(struct worker *worker)
{
	struct pipeline *p = worker->pipeline;

	if (p->kick) { /* a batch was opened that waits for fetch */
		pipeline_leave(p);
		pthread_mutex_lock(&p->lock);
		return; /* look again: things may have changed */
	}
	p->resting++;
	pthread_cond_wait(&p->work, &p->lock);
	p->resting--;
}

static void prep_pool_work(struct worker *worker)
{
	struct pipeline *p = worker->pipeline;

	pthread_mutex_lock(&p->lock);
	while (!p->closing) {
		struct error err = {0};
		struct batch *batch;
		struct place *place = find_work(worker, &batch);
		int result;

		if (place == NULL) {
			prep_pool_rest(worker);
			continue;
		}
		pipeline_leave(p);
		trace_add(p->parts.process, TRACE_prepared_samples, 1);
		result = p->turn.ops->prepare(worker, batch, place, &err);
		pthread_mutex_lock(&p->lock);
		if (p->on)
			publish_place(p, batch, place, -result, err.message);
		pipeline_completed(p);
	}
	pthread_mutex_unlock(&p->lock);
}

static void *prep_pool_worker_main(void *context)
{
	struct worker *worker = context;
	struct pipeline *p = worker->pipeline;

	pthread_setname_np(pthread_self(), "dsa-prep");
	thread_batch();
	prctl(PR_SET_TIMERSLACK, 1); /* --prep-delay is to be kept to the microsecond */
	trace_thread(p->parts.process, TRACE_STAGE_PREP);
	worker->prep = prep_worker_new(p->parts.prep);
	if (worker->prep != NULL) {
		prep_pool_work(worker);
	} else {
		pthread_mutex_lock(&p->lock);
		error_sys(&p->failure, ENOMEM, "a prep worker cannot start");
		p->parts.sink->ops->wake(p->parts.sink);
		pthread_mutex_unlock(&p->lock);
	}
	prep_worker_free(worker->prep);
	return NULL;
}

int prep_pool_start(struct pipeline *p, struct error *err)
{
	unsigned count = p->parts.options->workers;

	p->workers = calloc(count, sizeof(*p->workers));
	if (p->workers == NULL)
		return error_sys(err, ENOMEM, "cannot start %u prep workers", count);
	for (; p->worker_count < count; p->worker_count++) {
		struct worker *worker = &p->workers[p->worker_count];
		int code;

		worker->pipeline = p;
		worker->index = p->worker_count;
		code = thread_start(&worker->thread, prep_pool_worker_main, worker);
		if (code != 0)
			return error_sys(err, code, "cannot start prep worker %u of %u",
					 worker->index + 1, count);
	}
	return 0;
}

uint64_t pipeline_prep_cpu(const struct pipeline *p)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < p->worker_count; i++)
		sum += clock_cpu_of(p->workers[i].thread);
	return sum;
}
