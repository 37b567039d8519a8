/* pipeline.c - the threads of the loader and the turns they work in. */
#include "loader/pipeline.h"
#include "loader/base/clock.h"
#include "loader/base/trace.h"
#include "loader/blob.h"
#include "loader/cache.h"
#include "loader/options.h"
#include "loader/pipeline/state.h"
#include "loader/prep.h"
#include "loader/sampler.h"
#include "loader/source.h"
#include "loader/throttle.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

/* Leaves the lock; the engine is woken outside of it. */
static void leave(struct pipeline *p)
{
	bool kick = p->kick;

	p->kick = false;
	pthread_mutex_unlock(&p->lock);
	if (kick)
		fetch_kick(p->fetch);
}

static void landed(struct pipeline *p)
{
	p->in_flight--;
	if (p->in_flight == 0 || p->errand.kind != ERRAND_NONE)
		pthread_cond_broadcast(&p->idle);
}

static uint32_t saturate(uint64_t ns)
{
	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static uint64_t tag_of(const struct pipeline *p, const struct batch *batch,
		       const struct place *place)
{
	return (uint64_t)stream_slot(p, batch) << 32 |
	       (uint64_t)(place - batch->places);
}

/* A read that the present turn wants, or one for an errand. */
static bool find_job(struct pipeline *p, struct fetch_job *job)
{
	struct batch *batch;
	struct place *place;

	if (errand_next(p, job))
		return true;
	if (!p->on)
		return false;
	if (p->turn.mode == PIPELINE_FETCH) {
		*job = (struct fetch_job){.tag = TAG_PROBE, .sample = stream_probe(p)};
		p->in_flight++;
		return true;
	}
	place = stream_oldest(p, PLACE_WAITING, &batch);
	if (place == NULL && stream_open(p))
		place = stream_oldest(p, PLACE_WAITING, &batch);
	if (place == NULL)
		return false;
	place->state = PLACE_READING;
	batch->waiting--;
	p->in_flight++;
	*job = (struct fetch_job){.tag = tag_of(p, batch, place),
				  .sample = place->sample,
				  .unthrottled = p->turn.mode == PIPELINE_STAGED};
	return true;
}

static bool next_job(void *context, bool wait, struct fetch_job *job)
{
	struct pipeline *p = context;
	bool found = false;

	pthread_mutex_lock(&p->lock);
	while (!p->closing && !(found = find_job(p, job)) && wait)
		pthread_cond_wait(&p->wanted, &p->lock);
	p->kick = false; /* the engine is awake: it is calling */
	pthread_mutex_unlock(&p->lock);
	return found;
}

static void count_read(struct pipeline *p, const struct fetch_job *job,
		       const struct blob *blob, uint64_t took)
{
	struct trace_process *process = p->parts.process;

	if (job->unthrottled) {
		trace_add(process, TRACE_staged_samples, 1);
		trace_add(process, TRACE_staged_bytes, blob->size);
		return;
	}
	trace_add(process, TRACE_fetched_samples, 1);
	trace_add(process, TRACE_fetched_bytes, blob->size);
	if (p->turn.bare)
		return;
	trace_add(process, TRACE_fetch_ns, took);
	trace_histogram(process, TRACE_FETCH_NS, took);
}

/* A read for a place came back. */
static void supply_place(struct pipeline *p, const struct fetch_job *job,
			 struct blob *blob, int result)
{
	struct batch *batch = &p->batches[job->tag >> 32];
	struct place *place = &batch->places[(uint32_t)job->tag];

	if (!p->on) { /* the turn ended meanwhile */
		blob_put(blob);
	} else if (blob == NULL) {
		stream_finish(p, batch, place, -result,
			      result == -EBADMSG ? "the file is empty"
						 : strerrordesc_np(-result));
	} else {
		place->blob = blob;
		place->fetch_ns = saturate(clock_now() - job->start);
		place->state = PLACE_READY;
		batch->ready++;
		pthread_cond_signal(&p->work);
	}
}

static void job_done(void *context, const struct fetch_job *job, struct blob *blob,
		     int result)
{
	struct pipeline *p = context;
	uint64_t took = clock_now() - job->start;

	pthread_mutex_lock(&p->lock);
	if ((job->tag & TAG_ERRAND) != 0) {
		errand_done(p, job, blob);
	} else {
		if (blob != NULL)
			count_read(p, job, blob, took);
		if ((job->tag & TAG_PROBE) != 0)
			blob_put(blob);
		else
			supply_place(p, job, blob, result);
	}
	landed(p);
	p->kick = false;
	pthread_mutex_unlock(&p->lock);
}

static void fetch_thread_started(void *context)
{
	const struct pipeline *p = context;

	trace_thread(p->parts.process, TRACE_STAGE_FETCH);
}

/* Adds the CPU time since the last call; not at each sample, for it is a system call.
 */
static void count_cpu(struct worker *worker)
{
	uint64_t now = clock_thread_cpu();

	trace_add(worker->pipeline->parts.process, TRACE_prep_cpu_ns,
		  now - worker->cpu_ns);
	worker->cpu_ns = now;
	worker->uncounted = 0;
}

static void count_prepared(struct worker *worker, const struct blob *blob,
			   uint64_t took, bool padded)
{
	struct pipeline *p = worker->pipeline;
	struct trace_process *process = p->parts.process;

	trace_add(process, TRACE_prepared_samples, 1);
	trace_add(process, TRACE_prep_padded, padded);
	if (p->turn.bare)
		return;
	trace_add(process, TRACE_prep_ns, took);
	trace_histogram(process, TRACE_PREP_NS, took);
	trace_histogram(process, TRACE_BYTES, blob->size);
	if (++worker->uncounted == 16)
		count_cpu(worker);
}

/* Prepares one sample into its slot. Called, and returns, without the lock. */
static int prepare(struct worker *worker, struct prep_worker *prep,
		   const struct batch *batch, struct place *place, struct error *err)
{
	struct pipeline *p = worker->pipeline;
	void *out = ring_sample(p->parts.ring, stream_slot(p, batch),
				(uint32_t)(place - batch->places));
	uint64_t delay = p->turn.undelayed ? 0 : p->delay_ns;
	uint64_t start = p->turn.bare && delay == 0 ? 0 : clock_now();
	uint64_t took = 0;
	bool padded = false;
	int result = prep_run(prep, place->blob->data, place->blob->size, place->seed,
			      out, err);

	if (delay > 0) {
		padded = clock_now() < start + delay;
		clock_sleep_until(start + delay);
	}
	if (!p->turn.bare)
		took = clock_now() - start;
	place->prep_ns = saturate(took);
	count_prepared(worker, place->blob, took, padded);
	return result;
}

/* A place for this worker, or NULL when it is to rest. */
static struct place *find_work(struct worker *worker, struct batch **batch)
{
	struct pipeline *p = worker->pipeline;
	struct place *place;

	if (!p->on || (p->turn.workers > 0 && worker->index >= p->turn.workers))
		return NULL;
	place = stream_oldest(p, PLACE_READY, batch);
	if (place == NULL && stream_open(p))
		place = stream_oldest(p, PLACE_READY, batch);
	if (place == NULL)
		return NULL;
	place->state = PLACE_PREPARING;
	(*batch)->ready--;
	p->in_flight++;
	return place;
}

static void rest(struct worker *worker)
{
	struct pipeline *p = worker->pipeline;

	if (worker->uncounted > 0)
		count_cpu(worker);
	if (p->kick) { /* a batch was opened that waits for fetch */
		leave(p);
		pthread_mutex_lock(&p->lock);
		return; /* look again: things may have changed */
	}
	pthread_cond_wait(&p->work, &p->lock);
}

static void work(struct worker *worker, struct prep_worker *prep)
{
	struct pipeline *p = worker->pipeline;

	pthread_mutex_lock(&p->lock);
	while (!p->closing) {
		struct error err = {0};
		struct batch *batch;
		struct place *place = find_work(worker, &batch);
		int result;

		if (place == NULL) {
			rest(worker);
			continue;
		}
		leave(p);
		result = prepare(worker, prep, batch, place, &err);
		pthread_mutex_lock(&p->lock);
		if (p->on)
			stream_finish(p, batch, place, -result, err.message);
		landed(p);
	}
	pthread_mutex_unlock(&p->lock);
}

static void *worker_main(void *context)
{
	struct worker *worker = context;
	struct pipeline *p = worker->pipeline;
	struct prep_worker *prep = prep_worker_new(p->parts.prep);

	pthread_setname_np(pthread_self(), "dsa-prep");
	prctl(PR_SET_TIMERSLACK, 1); /* --prep-delay is to be kept to the microsecond */
	trace_thread(p->parts.process, TRACE_STAGE_PREP);
	worker->cpu_ns = clock_thread_cpu();
	if (prep != NULL) {
		work(worker, prep);
	} else {
		pthread_mutex_lock(&p->lock);
		error_sys(&p->failure, ENOMEM, "a prep worker cannot start");
		pthread_mutex_unlock(&p->lock);
		ring_wake(p->parts.ring);
	}
	prep_worker_free(prep);
	return NULL;
}

static int start_workers(struct pipeline *p, struct error *err)
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
		code = pthread_create(&worker->thread, NULL, worker_main, worker);
		if (code != 0)
			return error_sys(err, code, "cannot start prep worker %u of %u",
					 worker->index + 1, count);
	}
	return 0;
}

static int start_fetch(struct pipeline *p, struct error *err)
{
	const struct fetch_client client = {
		.context = p, .next = next_job, .done = job_done};
	const struct fetch_config config = {
		.engine = p->parts.options->fetch,
		.kernel_cache = cache_kernel(p->parts.cache),
		.depth = p->parts.options->fetch_depth,
		.throttle = p->parts.throttle,
		.thread_started = fetch_thread_started,
	};

	p->fetch = fetch_open(&config, p->parts.source, &client, err);
	return p->fetch != NULL ? 0 : -1;
}

/* The host's signals are for its own threads. */
static int start_threads(struct pipeline *p, struct error *err)
{
	sigset_t all, before;
	int result;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = start_fetch(p, err);
	if (result == 0)
		result = start_workers(p, err);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return result;
}

static void init_sync(struct pipeline *p)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->wanted, NULL);
	pthread_cond_init(&p->idle, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

static int open_samplers(struct pipeline *p, struct error *err)
{
	const struct options *options = p->parts.options;
	struct sampler_config config = {
		.count = source_count(p->parts.source),
		.seed = options->seed,
		.rank = options->rank,
		.world = options->world,
		.in_order = options->in_order,
		.even = options->drop_last,
	};

	p->sampler = sampler_open(&config, err);
	config.in_order = false;
	config.even = false;
	p->probe = sampler_open(&config, err);
	return p->sampler != NULL && p->probe != NULL ? 0 : -1;
}

static void set_stream(struct pipeline *p)
{
	const struct options *options = p->parts.options;

	p->batch = options->batch;
	p->length = sampler_length(p->sampler);
	p->steps = options->drop_last ? p->length / p->batch
				      : (p->length + p->batch - 1) / p->batch;
	p->end_epoch = options->epochs > 0 ? options->start_epoch + options->epochs
					   : UINT64_MAX;
	if (p->steps == 0)
		p->length = 0; /* not one batch in it: the data ends at once */
	else
		p->delivered = (struct cursor){.epoch = options->start_epoch +
							options->start_step / p->steps,
					       .step = options->start_step % p->steps};
	p->delay_ns = (uint64_t)(options->prep_delay * 1e9 + 0.5);
	p->draw.state = options->seed;
	stream_rewind(p);
}

static int make_batches(struct pipeline *p)
{
	uint32_t samples = source_count(p->parts.source);

	p->bad = calloc(samples / 64 + 1, sizeof(*p->bad));
	p->batches = calloc(p->parts.slots, sizeof(*p->batches));
	if (p->bad == NULL || p->batches == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->parts.slots; i++) {
		p->batches[i].places = calloc(p->batch, sizeof(struct place));
		if (p->batches[i].places == NULL)
			return -ENOMEM;
	}
	return 0;
}

struct pipeline *pipeline_open(const struct pipeline_parts *parts, struct error *err)
{
	struct pipeline *p = calloc(1, sizeof(*p));

	if (p == NULL) {
		error_sys(err, ENOMEM, "cannot open the pipeline");
		return NULL;
	}
	p->parts = *parts;
	init_sync(p);
	if (open_samplers(p, err) < 0)
		goto fail;
	p->batch = parts->options->batch;
	if (make_batches(p) < 0) {
		error_sys(err, ENOMEM, "cannot open the pipeline");
		goto fail;
	}
	set_stream(p);
	if (start_threads(p, err) < 0)
		goto fail;
	return p;
fail:
	pipeline_close(p);
	return NULL;
}

static void stop_threads(struct pipeline *p)
{
	pthread_mutex_lock(&p->lock);
	p->closing = true;
	p->on = false;
	pthread_cond_broadcast(&p->work);
	pthread_cond_broadcast(&p->wanted);
	pthread_mutex_unlock(&p->lock);
	if (p->fetch != NULL) {
		fetch_kick(p->fetch);
		fetch_close(p->fetch);
	}
	for (unsigned i = 0; i < p->worker_count; i++)
		pthread_join(p->workers[i].thread, NULL);
}

void pipeline_close(struct pipeline *p)
{
	if (p == NULL)
		return;
	stop_threads(p);
	errand_forget(p);
	for (uint32_t i = 0; p->batches != NULL && i < p->parts.slots; i++) {
		for (uint32_t j = 0; p->batches[i].places != NULL && j < p->batch; j++)
			blob_put(p->batches[i].places[j].blob);
		free(p->batches[i].places);
	}
	free(p->batches);
	free(p->bad);
	free(p->workers);
	sampler_close(p->sampler);
	sampler_close(p->probe);
	pthread_cond_destroy(&p->idle);
	pthread_cond_destroy(&p->wanted);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

const struct fetch *pipeline_fetch(const struct pipeline *p)
{
	return p->fetch;
}

void pipeline_on_skip(struct pipeline *p,
		      void (*tell)(void *context, uint32_t sample, int code,
				   const char *reason),
		      void *context)
{
	pthread_mutex_lock(&p->lock);
	p->tell = tell;
	p->tell_context = context;
	pthread_mutex_unlock(&p->lock);
}

void pipeline_start(struct pipeline *p, const struct pipeline_turn *turn)
{
	fetch_set_depth(p->fetch,
			turn->depth > 0 ? turn->depth : p->parts.options->fetch_depth);
	if (p->parts.throttle != NULL)
		throttle_reset(p->parts.throttle);
	pthread_mutex_lock(&p->lock);
	p->turn = *turn;
	p->on = true;
	p->repeats = 0;
	p->credits = 0;
	p->kick = true;
	pthread_cond_broadcast(&p->work);
	pthread_cond_broadcast(&p->wanted);
	leave(p);
}

void pipeline_stop(struct pipeline *p)
{
	pthread_mutex_lock(&p->lock);
	p->on = false;
	while (p->in_flight > 0)
		pthread_cond_wait(&p->idle, &p->lock);
	stream_rewind(p);
	pthread_mutex_unlock(&p->lock);
}

void pipeline_delivered(struct pipeline *p, uint32_t slot)
{
	struct batch *batch = &p->batches[slot];

	pthread_mutex_lock(&p->lock);
	batch->delivered = true;
	if (batch->stream) {
		p->delivered =
			(struct cursor){batch->epoch, batch->step + 1, batch->stolen};
		if (p->delivered.step >= p->steps)
			p->delivered = (struct cursor){batch->epoch + 1, 0, 0};
	} else {
		p->repeats += batch->count;
	}
	pthread_mutex_unlock(&p->lock);
}

void pipeline_sample(const struct pipeline *p, uint32_t slot, uint32_t at,
		     struct pipeline_sample *sample)
{
	const struct place *place = &p->batches[slot].places[at];

	*sample = (struct pipeline_sample){
		.sample = place->sample,
		.bytes = (uint32_t)place->blob->size,
		.fetch_ns = place->hit ? 0 : place->fetch_ns,
		.prep_ns = place->prep_ns,
		.hit = place->hit,
	};
}

void pipeline_released(struct pipeline *p)
{
	pthread_mutex_lock(&p->lock);
	pthread_cond_signal(&p->work);
	pthread_cond_signal(&p->wanted);
	p->kick = true;
	leave(p);
}

void pipeline_credit(struct pipeline *p)
{
	pthread_mutex_lock(&p->lock);
	p->credits++;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
}

int pipeline_status(struct pipeline *p, struct error *err)
{
	int result = 0;

	pthread_mutex_lock(&p->lock);
	if (p->failure.code != 0) {
		if (err != NULL)
			*err = p->failure;
		result = -p->failure.code;
	} else if (p->open == 0 && stream_ended(p)) {
		result = 1;
	}
	pthread_mutex_unlock(&p->lock);
	return result;
}

uint64_t pipeline_repeats(const struct pipeline *p)
{
	return p->repeats;
}

void pipeline_position(struct pipeline *p, uint64_t *epoch, uint64_t *step)
{
	pthread_mutex_lock(&p->lock);
	*epoch = p->delivered.epoch;
	*step = p->delivered.step;
	pthread_mutex_unlock(&p->lock);
}

uint64_t pipeline_steps(const struct pipeline *p)
{
	return p->steps;
}
