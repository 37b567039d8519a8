/* readahead.c - reads samples between turns: stages them, or warms or fills a cache. */
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

static bool readahead_expired(const struct readahead *readahead)
{
	return readahead->deadline != 0 && clock_now() >= readahead->deadline;
}

/* Goes past samples that are read with others. */
static void readahead_skip(struct pipeline *p, struct fetch_job *job)
{
	struct readahead *readahead = &p->measuring.readahead;

	while (readahead->next < readahead->count &&
	       !merge_hold(p, readahead->samples[readahead->next], job))
		readahead->next++;
}

bool readahead_next(struct pipeline *p, struct fetch_job *job)
{
	struct readahead *readahead = &p->measuring.readahead;
	struct fetch_job merged = {0};

	if (readahead->kind == READAHEAD_NONE || readahead_expired(readahead))
		return false;
	if (readahead->kind == READAHEAD_HOLD)
		readahead_skip(p, &merged);
	if (readahead->next == readahead->count)
		return false;
	*job = (struct fetch_job){
		.tag = TAG_READAHEAD | readahead->next,
		.sample = readahead->samples[readahead->next],
		.members = merged.members,
		.count = merged.count,
		.unthrottled = true,
		.quiet = true,
	};
	readahead->next++;
	p->in_flight++;
	return true;
}

void readahead_done(struct pipeline *p, const struct fetch_job *job, struct blob *blob)
{
	struct readahead *readahead = &p->measuring.readahead;
	uint64_t tag;

	if (job->members != NULL)
		merge_came(p, job, blob, &tag);
	if (blob == NULL)
		return;
	readahead->read++;
	trace_add(p->parts.process, TRACE_staged_samples, 1);
	trace_add(p->parts.process, TRACE_staged_bytes, blob->size);
	if (readahead->kind == READAHEAD_HOLD)
		return;
	if (readahead->kind == READAHEAD_STAGE) {
		readahead->blobs[job->tag & ~TAG_READAHEAD] = blob;
		return;
	}
	if (readahead->kind == READAHEAD_FILL && !job->hit)
		cache_offer(p->parts.cache, job->sample, blob);
	blob_put(blob);
}

/* Hands the reads to the fetch threads; waits until they are done or out of time. */
static void readahead_run(struct pipeline *p, struct readahead *readahead,
			  uint64_t limit_ns)
{
	readahead->deadline = limit_ns > 0 ? clock_now() + limit_ns : 0;
	p->measuring.readahead = *readahead;
	pthread_cond_broadcast(&p->wanted);
	pthread_mutex_unlock(&p->lock);
	fetch_kick(p->fetch);
	pthread_mutex_lock(&p->lock);
	while (p->in_flight > 0 ||
	       (p->measuring.readahead.next < p->measuring.readahead.count &&
		!readahead_expired(&p->measuring.readahead) && !p->closing)) {
		struct timespec soon;

		clock_gettime(CLOCK_MONOTONIC, &soon);
		soon.tv_nsec += 20000000; /* a deadline wakes nobody */
		if (soon.tv_nsec >= 1000000000) {
			soon.tv_sec++;
			soon.tv_nsec -= 1000000000;
		}
		pthread_cond_timedwait(&p->idle, &p->lock, &soon);
	}
	*readahead = p->measuring.readahead;
	p->measuring.readahead = (struct readahead){0};
}

/* Global position of the next batch. */
static uint64_t readahead_position(struct pipeline *p)
{
	struct plan_pass pass;

	stream_pass(p, &p->next, &pass);
	return pass.first + p->next.position;
}

/* From the end of a pass on to the next one; after the last it begins once more. */
static void next_pass(struct pipeline *p, struct pipeline_point *at,
		      struct plan_pass *pass)
{
	struct plan_pass next;

	plan_pass(p->parts.plan, at->pass + 1, &next);
	at->position = 0;
	if (next.length == 0)
		return;
	at->pass++;
	*pass = next;
}

/* The samples at `count` global positions, from the next batch on. NULL: there are
 * none, or no memory. */
static uint32_t *list_next(struct pipeline *p, uint32_t count)
{
	struct pipeline_point at = p->next;
	struct plan_pass pass;
	uint32_t *samples;

	stream_pass(p, &at, &pass);
	if (pass.length == 0 && at.pass > p->parts.start.pass) { /* all was delivered */
		at.pass--;
		plan_pass(p->parts.plan, at.pass, &pass);
	}
	samples = pass.length > 0 ? calloc(count, sizeof(*samples)) : NULL;
	for (uint32_t i = 0; samples != NULL && i < count; i++) {
		if (at.position >= pass.length + pass.spare)
			next_pass(p, &at, &pass);
		samples[i] = plan_sample(p->parts.plan, at.pass, at.position++);
	}
	return samples;
}

uint32_t pipeline_stage(struct pipeline *p, uint32_t count, uint64_t limit_ns)
{
	struct readahead readahead = {.kind = READAHEAD_STAGE, .count = count};
	struct staged *staged = &p->measuring.staged;
	uint64_t first;

	pthread_mutex_lock(&p->lock);
	first = readahead_position(p);
	if (count > 0 && first == staged->first && count <= staged->count)
		goto out;
	staged_forget(p);
	if (count == 0)
		goto out;
	staged->samples = list_next(p, count);
	staged->blobs = calloc(count, sizeof(struct blob *));
	if (staged->samples != NULL && staged->blobs != NULL) {
		readahead.samples = staged->samples;
		readahead.blobs = staged->blobs;
		readahead_run(p, &readahead, limit_ns);
	}
	/* Reads end out of order, but they are asked for in order. */
	staged->first = first;
	staged->count = readahead.next;
	staged->next = 0;
out:
	count = staged->count;
	pthread_mutex_unlock(&p->lock);
	return count;
}

/* Drawn hits of a cache on disk are to be reads of it. */
void pipeline_keep_staged(struct pipeline *p)
{
	const struct staged *staged = &p->measuring.staged;

	if (cache_disk(p->parts.cache) == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	for (uint32_t i = 0; i < staged->count; i++)
		if (staged->blobs[i] != NULL)
			cache_offer(p->parts.cache, staged->samples[i],
				    staged->blobs[i]);
	pthread_mutex_unlock(&p->lock);
	cache_settle(p->parts.cache);
}

/* Reads these samples, and frees the list; leaves the lock. Returns how many it read. */
static uint32_t readahead_finish(struct pipeline *p, struct readahead *readahead,
				 uint32_t *samples, uint64_t limit_ns)
{
	readahead->samples = samples;
	if (samples != NULL)
		readahead_run(p, readahead, limit_ns);
	pthread_mutex_unlock(&p->lock);
	free(samples);
	return readahead->read;
}

uint32_t pipeline_warm(struct pipeline *p, uint32_t count, uint64_t limit_ns)
{
	struct readahead readahead = {.kind = READAHEAD_WARM, .count = count};

	if (count == 0)
		return 0;
	pthread_mutex_lock(&p->lock);
	return readahead_finish(p, &readahead, list_next(p, count), limit_ns);
}

/* What the epoch before this one had, or would have had, at a position. */
static uint32_t sample_before(struct pipeline *p, uint64_t epoch, uint32_t at)
{
	const struct options *options = p->parts.options;

	return options->in_order ? at * options->world + options->rank
				 : sampler_sample(p->measuring.unread, epoch - 1, at);
}

/* The last samples of the epoch before this one, in its order, up to `bytes`; without
 * those that an earlier run has left. */
static uint32_t *readahead_list_last(struct pipeline *p, uint64_t bytes,
				     uint32_t *count)
{
	uint32_t length = sampler_length(p->measuring.unread), first = length;
	uint32_t at = length;
	uint32_t *samples = calloc(length, sizeof(*samples));
	struct plan_pass pass;
	uint64_t sum = 0;

	stream_pass(p, &p->next, &pass);
	*count = 0;
	if (samples == NULL)
		return NULL;
	while (at > 0) {
		uint32_t sample = sample_before(p, pass.epoch, --at);

		if (cache_kept(p->parts.cache, sample))
			continue;
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

/* What of `bytes` a cache has not got that was there before this process. */
static uint64_t readahead_room(const struct pipeline *p, uint64_t bytes)
{
	struct cache_stats stats;

	if (cache_disk(p->parts.cache) == NULL)
		return bytes;
	cache_stats(p->parts.cache, &stats);
	return bytes > stats.resident_bytes ? bytes - stats.resident_bytes : 0;
}

uint32_t pipeline_hold(struct pipeline *p, uint64_t limit_ns)
{
	struct readahead readahead = {.kind = READAHEAD_HOLD};

	pthread_mutex_lock(&p->lock);
	merge_forget(p);
	readahead.count = merge_ahead(p);
	if (readahead.count > 0)
		return readahead_finish(p, &readahead, list_next(p, readahead.count),
					limit_ns);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

uint32_t pipeline_fill(struct pipeline *p, uint64_t bytes, uint64_t limit_ns)
{
	struct readahead readahead = {.kind = READAHEAD_FILL};
	uint32_t *samples, count;

	pthread_mutex_lock(&p->lock);
	samples = readahead_list_last(p, readahead_room(p, bytes), &readahead.count);
	count = readahead_finish(p, &readahead, samples, limit_ns);
	cache_settle(p->parts.cache);
	return count;
}

uint32_t pipeline_evict(struct pipeline *p, uint32_t count)
{
	uint32_t length = sampler_length(p->measuring.unread);
	uint64_t probed;

	pthread_mutex_lock(&p->lock);
	count = count < length ? count : length;
	/* From an epoch's edge on: across it some samples come twice. */
	if (p->measuring.asked % length + count > length)
		p->measuring.asked += length - p->measuring.asked % length;
	probed = p->measuring.asked;
	for (uint32_t i = 0; i < count; i++)
		fetch_evict(p->fetch, unread_sample(p));
	p->measuring.asked = probed;
	pthread_mutex_unlock(&p->lock);
	return count;
}
