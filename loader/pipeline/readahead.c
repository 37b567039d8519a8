/* readahead.c - reads samples between turns: to stage them, to warm or fill a cache. */
#include "loader/base/blob.h"
#include "loader/base/clock.h"
#include "loader/base/trace.h"
#include "loader/cache.h"
#include "loader/options.h"
#include "loader/pipeline/pipeline_state.h"
#include "loader/sampler.h"
#include "loader/source.h"

#include <stdlib.h>
#include <time.h>

static bool readahead_expired(const struct readahead *errand)
{
	return errand->deadline != 0 && clock_now() >= errand->deadline;
}

bool readahead_next(struct pipeline *p, struct fetch_job *job)
{
	struct readahead *errand = &p->errand;

	if (errand->kind == READAHEAD_NONE || errand->next == errand->count ||
	    readahead_expired(errand))
		return false;
	*job = (struct fetch_job){
		.tag = TAG_ERRAND | errand->next,
		.sample = errand->samples[errand->next],
		.unthrottled = true,
	};
	errand->next++;
	p->in_flight++;
	return true;
}

void readahead_done(struct pipeline *p, const struct fetch_job *job, struct blob *blob)
{
	struct readahead *errand = &p->errand;

	errand->finished++;
	if (blob == NULL)
		return;
	errand->read++;
	trace_add(p->parts.process, TRACE_staged_samples, 1);
	trace_add(p->parts.process, TRACE_staged_bytes, blob->size);
	if (errand->kind == READAHEAD_STAGE) {
		errand->blobs[job->tag & ~TAG_ERRAND] = blob;
		return;
	}
	if (errand->kind == READAHEAD_FILL)
		cache_offer(p->parts.cache, job->sample, blob);
	blob_put(blob);
}

void readahead_forget(struct pipeline *p)
{
	for (uint32_t i = 0; i < p->staged.count; i++)
		blob_put(p->staged.blobs[i]);
	free(p->staged.blobs);
	free(p->staged.samples);
	p->staged = (struct staged){0};
}

/* Hands the errand to the fetch threads and waits until it is done or out of time. */
static void readahead_run(struct pipeline *p, struct readahead *errand,
			  uint64_t limit_ns)
{
	errand->deadline = limit_ns > 0 ? clock_now() + limit_ns : 0;
	p->errand = *errand;
	pthread_cond_broadcast(&p->wanted);
	pthread_mutex_unlock(&p->lock);
	fetch_kick(p->fetch);
	pthread_mutex_lock(&p->lock);
	while (p->in_flight > 0 || (p->errand.next < p->errand.count &&
				    !readahead_expired(&p->errand) && !p->closing)) {
		struct timespec soon;

		clock_gettime(CLOCK_MONOTONIC, &soon);
		soon.tv_nsec += 20000000; /* a deadline wakes nobody */
		if (soon.tv_nsec >= 1000000000) {
			soon.tv_sec++;
			soon.tv_nsec -= 1000000000;
		}
		pthread_cond_timedwait(&p->idle, &p->lock, &soon);
	}
	*errand = p->errand;
	p->errand = (struct readahead){0};
}

/* Global position of the next batch. */
static uint64_t readahead_position(struct pipeline *p)
{
	struct plan_lap lap;

	stream_lap(p, &p->next, &lap);
	return lap.first + p->next.position;
}

/* From the end of a lap on to the next one; after the last it begins once more. */
static void next_lap(struct pipeline *p, struct pipeline_point *at,
		     struct plan_lap *lap)
{
	struct plan_lap next;

	plan_lap(p->parts.plan, at->lap + 1, &next);
	at->position = 0;
	if (next.length == 0)
		return;
	at->lap++;
	*lap = next;
}

/* The samples at `count` global positions, from the next batch on. NULL: there are none,
 * or no memory. */
static uint32_t *list_next(struct pipeline *p, uint32_t count)
{
	struct pipeline_point at = p->next;
	struct plan_lap lap;
	uint32_t *samples;

	stream_lap(p, &at, &lap);
	if (lap.length == 0 && at.lap > p->parts.start.lap) { /* all was delivered */
		at.lap--;
		plan_lap(p->parts.plan, at.lap, &lap);
	}
	samples = lap.length > 0 ? calloc(count, sizeof(*samples)) : NULL;
	for (uint32_t i = 0; samples != NULL && i < count; i++) {
		if (at.position >= lap.length + lap.spare)
			next_lap(p, &at, &lap);
		samples[i] = plan_sample(p->parts.plan, at.lap, at.position++);
	}
	return samples;
}

uint32_t pipeline_stage(struct pipeline *p, uint32_t count, uint64_t limit_ns)
{
	struct readahead errand = {.kind = READAHEAD_STAGE, .count = count};
	uint64_t first;

	pthread_mutex_lock(&p->lock);
	first = readahead_position(p);
	if (count > 0 && first == p->staged.first && count <= p->staged.count)
		goto out;
	readahead_forget(p);
	if (count == 0)
		goto out;
	p->staged.samples = list_next(p, count);
	p->staged.blobs = calloc(count, sizeof(struct blob *));
	if (p->staged.samples != NULL && p->staged.blobs != NULL) {
		errand.samples = p->staged.samples;
		errand.blobs = p->staged.blobs;
		readahead_run(p, &errand, limit_ns);
	}
	/* Reads end out of order, but they are asked for in order. */
	p->staged.first = first;
	p->staged.count = errand.next;
	p->cycle = 0;
out:
	count = p->staged.count;
	pthread_mutex_unlock(&p->lock);
	return count;
}

uint32_t pipeline_warm(struct pipeline *p, uint32_t count, uint64_t limit_ns)
{
	struct readahead errand = {.kind = READAHEAD_WARM, .count = count};
	uint32_t *samples;

	if (count == 0)
		return 0;
	pthread_mutex_lock(&p->lock);
	samples = list_next(p, count);
	if (samples != NULL) {
		errand.samples = samples;
		readahead_run(p, &errand, limit_ns);
	}
	pthread_mutex_unlock(&p->lock);
	free(samples);
	return errand.read;
}

/* What the epoch before this one had at a position, whether there was one or not. */
static uint32_t sample_before(struct pipeline *p, uint64_t epoch, uint32_t at)
{
	const struct options *options = p->parts.options;

	return options->in_order ? at * options->world + options->rank
				 : sampler_sample(p->probe, epoch - 1, at);
}

/* The last samples of the epoch before this one, in its order, up to `bytes`. */
static uint32_t *readahead_list_last(struct pipeline *p, uint64_t bytes,
				     uint32_t *count)
{
	uint32_t length = sampler_length(p->probe), first = length;
	uint32_t *samples = calloc(length, sizeof(*samples));
	struct plan_lap lap;
	uint64_t sum = 0;

	stream_lap(p, &p->next, &lap);
	*count = 0;
	if (samples == NULL)
		return NULL;
	while (first > 0) {
		uint32_t sample = sample_before(p, lap.epoch, first - 1);

		sum += source_size(p->parts.source, sample);
		if (sum > bytes)
			break;
		samples[--first] = sample;
	}
	*count = length - first;
	for (uint32_t i = 0; i < *count; i++)
		samples[i] = samples[first + i];
	return samples;
}

uint32_t pipeline_fill(struct pipeline *p, uint64_t bytes, uint64_t limit_ns)
{
	struct readahead errand = {.kind = READAHEAD_FILL};
	uint32_t *samples;

	pthread_mutex_lock(&p->lock);
	samples = readahead_list_last(p, bytes, &errand.count);
	if (samples != NULL) {
		errand.samples = samples;
		readahead_run(p, &errand, limit_ns);
	}
	pthread_mutex_unlock(&p->lock);
	free(samples);
	return errand.read;
}

uint32_t pipeline_evict(struct pipeline *p, uint32_t count)
{
	uint32_t length = sampler_length(p->probe);
	uint64_t probed;

	pthread_mutex_lock(&p->lock);
	count = count < length ? count : length;
	/* From an epoch's edge on: across it some samples come twice. */
	if (p->probed % length + count > length)
		p->probed += length - p->probed % length;
	probed = p->probed;
	for (uint32_t i = 0; i < count; i++)
		fetch_evict(p->fetch, stream_probe(p));
	p->probed = probed;
	pthread_mutex_unlock(&p->lock);
	return count;
}
