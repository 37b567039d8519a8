/* pipeline.c - the threads of the loader and the turns they work in. */
#include "loader/pipeline.h"
#include "loader/base/blob.h"
#include "loader/base/clock.h"
#include "loader/base/thread_pool.h"
#include "loader/base/throttle.h"
#include "loader/options.h"
#include "loader/pipeline/pipeline_state.h"
#include "loader/sampler.h"
#include "loader/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void init_sync(struct pipeline *p)
{
	thread_lock_init(&p->lock);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->wanted, NULL);
	thread_cond_init(&p->idle);
}

static int open_unread(struct pipeline *p, struct error *err)
{
	const struct options *options = p->parts.options;
	const struct sampler_config config = {
		.count = source_count(p->parts.source),
		.seed = options->seed,
		.rank = options->rank,
		.world = options->world,
	};

	p->measuring.unread = sampler_open(&config, err);
	if (p->measuring.unread == NULL)
		return -1;
	p->epoch_samples = sampler_length(p->measuring.unread);
	return 0;
}

static void set_stream(struct pipeline *p)
{
	const struct options *options = p->parts.options;
	struct plan_pass pass;

	p->delivered = p->parts.start;
	plan_pass(p->parts.plan, p->delivered.pass, &pass);
	p->steps = ((uint64_t)pass.length + p->batch - 1) / p->batch;
	p->delay_ns = (uint64_t)(options->prep_delay * 1e9 + 0.5);
	p->measuring.draw.state = options->seed;
	publish_position(p);
	stream_rewind(p);
}

static int make_batches(struct pipeline *p)
{
	uint32_t samples = source_count(p->parts.source);

	p->named = calloc(samples / 64 + 1, sizeof(*p->named));
	p->unread = calloc(samples / 64 + 1, sizeof(*p->unread));
	p->skipped = calloc(samples / 64 + 1, sizeof(*p->skipped));
	p->batches = calloc(p->parts.slots, sizeof(*p->batches));
	p->samples = calloc(p->batch, sizeof(*p->samples));
	if (p->named == NULL || p->unread == NULL || p->skipped == NULL ||
	    p->batches == NULL || p->samples == NULL)
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

	if (p == NULL)
		return error_null(error_sys(err, ENOMEM, "cannot open the pipeline"));
	p->parts = *parts;
	init_sync(p);
	if (open_unread(p, err) < 0)
		goto fail;
	p->batch = parts->options->batch;
	if (make_batches(p) < 0) {
		error_sys(err, ENOMEM, "cannot open the pipeline");
		goto fail;
	}
	p->turn.ops = &turn_stream;
	p->caches = strcmp(parts->options->cache, "none") != 0 &&
		    strcmp(parts->options->cache, "page") != 0;
	set_stream(p);
	if (merge_open(p, err) < 0 || fetch_client_start(p, err) < 0 ||
	    prep_pool_start(p, err) < 0)
		goto fail;
	pipeline_depth_open(p);
	return p;
fail:
	pipeline_close(p);
	return NULL;
}

static void pipeline_stop_threads(struct pipeline *p)
{
	pthread_mutex_lock(&p->lock);
	p->closing = true;
	p->on = false;
	pthread_cond_broadcast(&p->work);
	pthread_cond_broadcast(&p->wanted);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->worker_count; i++)
		pthread_join(p->workers[i].thread, NULL);
	if (p->fetch != NULL) { /* the workers kick it until they end */
		fetch_kick(p->fetch);
		fetch_close(p->fetch);
	}
}

/* A cache on disk is there for the next run, too: what was delivered last goes into it. */
static void pipeline_keep_last(struct pipeline *p)
{
	for (uint32_t i = 0; p->batches != NULL && i < p->parts.slots; i++)
		if (p->batches[i].places != NULL)
			stream_retire(p, &p->batches[i]);
}

void pipeline_close(struct pipeline *p)
{
	if (p == NULL)
		return;
	pipeline_stop_threads(p);
	staged_forget(p);
	pipeline_keep_last(p);
	merge_close(p);
	for (uint32_t i = 0; p->batches != NULL && i < p->parts.slots; i++) {
		for (uint32_t j = 0; p->batches[i].places != NULL && j < p->batch; j++)
			blob_put(p->batches[i].places[j].blob);
		free(p->batches[i].places);
	}
	free(p->batches);
	free(p->samples);
	free(p->skipped);
	free(p->unread);
	free(p->named);
	free(p->workers);
	sampler_close(p->measuring.unread);
	pthread_cond_destroy(&p->idle);
	pthread_cond_destroy(&p->wanted);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

struct fetch *pipeline_fetch(const struct pipeline *p)
{
	return p->fetch;
}

void pipeline_start(struct pipeline *p, const struct pipeline_turn *turn)
{
	const struct options *options = p->parts.options;
	struct measuring *measuring = &p->measuring;

	p->depth = turn->depth > 0 ? turn->depth : p->requests.now;
	fetch_set_depth(p->fetch, p->depth);
	if (p->parts.throttle != NULL)
		throttle_reset(p->parts.throttle);
	pthread_mutex_lock(&p->lock);
	p->turn = *turn;
	p->on = true;
	depth_watch(&p->requests, clock_now());
	p->active = turn->workers > 0 ? turn->workers : options->workers;
	p->opened = 0;
	measuring->credits = 0;
	measuring->repeats = 0;
	measuring->probes.count = 0;
	measuring->probes.seen = 0;
	measuring->probes.stride = 1;
	if (turn->ops->thrown) /* two turns over the same samples do the same work */
		measuring->staged.next = 0;
	pipeline_wake(p);
	pipeline_leave(p);
}

void pipeline_stop(struct pipeline *p)
{
	pthread_mutex_lock(&p->lock);
	p->on = false;
	fetch_flush(p->fetch);
	while (p->in_flight > 0)
		pthread_cond_wait(&p->idle, &p->lock);
	stream_rewind(p);
	merge_forget(p); /* what is read depends on no turn before the next one */
	p->parts.sink->ops->rewind(p->parts.sink);
	pthread_mutex_unlock(&p->lock);
}

void pipeline_delivered(struct pipeline *p, uint32_t slot)
{
	pthread_mutex_lock(&p->lock);
	publish_delivered(p, &p->batches[slot]);
	pipeline_depth_take(p, &p->batches[slot]);
	counts_delivered(p, &p->batches[slot]);
	pthread_mutex_unlock(&p->lock);
}

uint64_t pipeline_ahead(struct pipeline *p)
{
	const struct batch *head;
	uint64_t ahead;

	pthread_mutex_lock(&p->lock);
	head = &p->batches[p->fifo[p->head]];
	ahead = p->untaken + (p->open > 0 ? head->done - head->holes : 0);
	pthread_mutex_unlock(&p->lock);
	return ahead;
}

void pipeline_sample_at(const struct pipeline *p, uint32_t slot, uint32_t at,
			struct pipeline_sample *sample)
{
	const struct place *place = &p->batches[slot].places[at];

	*sample = (struct pipeline_sample){
		.sample = place->sample,
		.bytes = place->bytes,
		.fetch_ns = place->fetch_ns,
		.prep_ns = place->prep_ns,
		.hit = place->hit,
	};
}

/*
 * A worker that rests opens the batch and wakes the fetch threads. If they were woken from
 * here, as many as are to read would take the core that the step needs to ask for its next
 * batch, for milliseconds where cores are few.
 */
void pipeline_released(struct pipeline *p)
{
	pthread_mutex_lock(&p->lock);
	pthread_cond_signal(&p->work);
	if (p->resting == 0 || p->active < p->worker_count) {
		pthread_cond_signal(&p->wanted);
		p->kick = true;
	}
	pipeline_leave(p);
}

void pipeline_credit(struct pipeline *p)
{
	pthread_mutex_lock(&p->lock);
	p->measuring.credits++;
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
	return p->measuring.repeats;
}

void pipeline_lock(struct pipeline *p, struct pipeline_point *next)
{
	struct plan_pass pass;

	pthread_mutex_lock(&p->lock);
	stream_pass(p, &p->next, &pass);
	*next = p->next;
	next->stolen = next->pass == p->head_pass ? p->stolen : 0;
}

void pipeline_unlock(struct pipeline *p)
{
	pthread_mutex_unlock(&p->lock);
}

void pipeline_position(struct pipeline *p, uint64_t *epoch, uint64_t *step)
{
	*epoch = atomic_load(&p->epoch_now);
	*step = atomic_load(&p->step_now);
}

uint64_t pipeline_steps(const struct pipeline *p)
{
	return p->steps;
}
