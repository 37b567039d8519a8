/* fetch_client.c - gives the fetch engine its reads, and places what they bring. */
#include "loader/base/blob.h"
#include "loader/base/clock.h"
#include "loader/base/trace.h"
#include "loader/cache.h"
#include "loader/disk.h"
#include "loader/options.h"
#include "loader/pipeline/pipeline_state.h"
#include "loader/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LAST = 2048 }; /* samples to try fetch engines on, at the most */

static uint64_t tag_of(const struct pipeline *p, const struct batch *batch,
		       const struct place *place)
{
	return (uint64_t)stream_slot(p, batch) << 32 |
	       (uint64_t)(place - batch->places);
}

bool place_next_read(struct pipeline *p, struct fetch_job *job)
{
	struct batch *batch;
	struct place *place = stream_take(p, PLACE_WAITING, &batch);

	if (place == NULL)
		return false;
	*job = (struct fetch_job){
		.tag = tag_of(p, batch, place),
		.sample = place->sample,
		.unthrottled = p->turn.ops->staging,
		.bypass = p->turn.ops->draws && !place->hit,
		.quiet = !p->turn.ops->counted,
	};
	merge_add(p, batch, place, job);
	return true;
}

/* What the session allows; UINT64_MAX: any number. */
static uint64_t fetch_client_most(const struct pipeline *p)
{
	const struct trace *trace = p->parts.bound;

	if (trace == NULL || !source_facts(p->parts.source)->remote)
		return UINT64_MAX;
	return trace_most_gets(trace, source_count(p->parts.source));
}

uint64_t fetch_client_left(const struct pipeline *p)
{
	uint64_t most = fetch_client_most(p);

	return most > p->gets ? most - p->gets : 0;
}

/* Within that; what comes after is never asked for. What is under way may turn out to lie in
 * a cache on disk. */
static bool fetch_client_may_ask(const struct pipeline *p)
{
	uint64_t most = fetch_client_most(p);

	if (fetch_client_left(p) > 0)
		return true;
	if (p->in_flight == 0 || p->parts.process->counters[TRACE_wanted_gets] >= most)
		p->parts.bound->gets_spent = 1;
	return false;
}

void pipeline_unbind(struct pipeline *p)
{
	pthread_mutex_lock(&p->lock);
	p->parts.bound = NULL;
	pthread_cond_broadcast(&p->wanted);
	pthread_mutex_unlock(&p->lock);
}

/* What a job asks servers for, at the most: what is read together is asked for apart where
 * a cache on disk has some of it. */
static uint32_t fetch_client_asks(const struct pipeline *p, const struct fetch_job *job)
{
	bool apart = job->members != NULL && cache_disk(p->parts.cache) != NULL;

	return apart ? job->count : 1;
}

static bool next_job(void *context, bool wait, struct fetch_job *job)
{
	struct pipeline *p = context;
	bool found = false;

	pthread_mutex_lock(&p->lock);
	while (!p->closing) {
		found = fetch_client_may_ask(p) &&
			(readahead_next(p, job) ||
			 (p->on && p->turn.ops->next_read(p, job)));
		if (found || !wait)
			break;
		pthread_cond_wait(&p->wanted, &p->lock);
	}
	p->gets += found ? fetch_client_asks(p, job) : 0;
	p->kick = false; /* the engine is awake: it is calling */
	pthread_mutex_unlock(&p->lock);
	return found;
}

/* What the cache on disk had is no read of the source. */
static void fetch_client_count_hit(struct pipeline *p, const struct blob *blob,
				   uint64_t took)
{
	struct trace_process *process = p->parts.process;

	trace_add(process, TRACE_disk_samples, 1);
	trace_add(process, TRACE_disk_bytes, blob->size);
	trace_add(process, TRACE_disk_ns, took);
}

static void fetch_client_count_read(struct pipeline *p, const struct blob *blob,
				    uint64_t took)
{
	struct trace_process *process = p->parts.process;

	if (p->turn.ops->staging) {
		trace_add(process, TRACE_staged_samples, 1);
		trace_add(process, TRACE_staged_bytes, blob->size);
		return;
	}
	trace_add(process, TRACE_fetched_samples, 1);
	trace_add(process, TRACE_fetched_bytes, blob->size);
	trace_add(process, TRACE_fetch_ns, took);
	trace_histogram(process, TRACE_FETCH_NS, took);
}

static const char *fetch_client_why(int code)
{
	if (code == EBADMSG)
		return "the file is empty";
	return code == ENODATA ? "the file ends before the sample does"
			       : strerrordesc_np(code);
}

/* Of samples that came together each took its part. */
static uint64_t fetch_client_took(const struct fetch_job *job)
{
	return (clock_now() - job->start) / (job->members != NULL ? job->count : 1);
}

/* Counts the read; what it brought before there is a place for it is held. True if there
 * is one, with this tag. */
static bool fetch_client_placed(struct pipeline *p, const struct fetch_job *job,
				struct blob *blob, uint64_t *tag)
{
	uint64_t took = fetch_client_took(job);

	*tag = job->tag;
	if (blob != NULL && job->hit && !p->turn.ops->staging)
		fetch_client_count_hit(p, blob, took);
	else if (blob != NULL)
		fetch_client_count_read(p, blob, took);
	return job->members == NULL || merge_came(p, job, blob, tag);
}

/* Prep workers of what they can begin with: a wake costs more than a small sample takes.
 * Where some have no part in the turn, it could be one of these that wakes. */
static void fetch_client_tell(struct pipeline *p)
{
	unsigned wakes = p->untold < p->resting ? p->untold : p->resting;

	p->untold = 0;
	if (p->active < p->worker_count)
		pthread_cond_broadcast(&p->work);
	else
		while (wakes-- > 0)
			pthread_cond_signal(&p->work);
}

static void fetch_client_drained(void *context)
{
	struct pipeline *p = context;

	if (p->untold == 0)
		return;
	pthread_mutex_lock(&p->lock);
	fetch_client_tell(p);
	pthread_mutex_unlock(&p->lock);
}

void place_read_done(struct pipeline *p, const struct fetch_job *job, struct blob *blob,
		     int result)
{
	uint64_t tag;
	struct batch *batch;
	struct place *place;

	if (!fetch_client_placed(p, job, blob, &tag))
		return;
	batch = &p->batches[tag >> 32];
	place = &batch->places[(uint32_t)tag];
	place->calls = job->calls;
	place->hit = job->hit;
	if (!p->on) { /* the turn ended meanwhile */
		blob_put(blob);
	} else if (blob == NULL) {
		publish_place(p, batch, place, -result,
			      job->why != NULL ? job->why : fetch_client_why(-result));
	} else {
		place->fetch_ns = pipeline_ns(fetch_client_took(job));
		stream_hold(p, place, (uint32_t)blob->size);
		stream_ready(batch, place, blob);
		p->untold++;
		if (p->untold == p->batch) /* of very many at once */
			fetch_client_tell(p);
	}
}

/* What happened to the cache on disk since the last time. */
static void fetch_client_count_disk(struct pipeline *p)
{
	struct trace_process *process = p->parts.process;
	const struct disk *disk = cache_disk(p->parts.cache);
	struct disk_stats now, *told = &p->told;

	if (disk == NULL)
		return;
	disk_stats(disk, &now);
	trace_add(process, TRACE_disk_written, now.written - told->written);
	trace_add(process, TRACE_disk_refused, now.refused - told->refused);
	trace_add(process, TRACE_disk_dropped, now.dropped - told->dropped);
	trace_add(process, TRACE_disk_stale, now.stale - told->stale);
	trace_add(process, TRACE_disk_full, now.full != 0 && told->full == 0);
	*told = now;
}

/* Whatever on_error says. */
static void fetch_client_end(struct pipeline *p, const struct fetch_job *job, int code)
{
	struct trace *trace = p->parts.bound;

	if (p->closing || p->failure.code != 0)
		return;
	trace_add(p->parts.process, TRACE_lost_samples, job->lost);
	if (trace != NULL)
		snprintf(trace->lost_why, sizeof(trace->lost_why), "%s", job->why);
	stream_fail(p, code, job->why);
}

static void job_done(void *context, const struct fetch_job *job, struct blob *blob,
		     int result)
{
	struct pipeline *p = context;

	pthread_mutex_lock(&p->lock);
	if (!job->hit && source_facts(p->parts.source)->remote)
		trace_add(p->parts.process, TRACE_wanted_gets, job->calls.opens);
	if (p->gets >= fetch_client_most(p))
		pthread_cond_broadcast(&p->wanted);
	if (job->hit || (job->calls.opens == 0 && fetch_client_asks(p, job) > 1))
		p->gets--;
	trace_add(p->parts.process, TRACE_retried_gets, job->calls.retries);
	trace_add(p->parts.process, TRACE_hedged_gets, job->calls.hedges);
	fetch_client_count_disk(p);
	pipeline_depth_answer(p, job);
	if (fetch_ends(result))
		fetch_client_end(p, job, -result);
	if ((job->tag & TAG_READAHEAD) != 0)
		readahead_done(p, job, blob);
	else
		p->turn.ops->read_done(p, job, blob, result);
	pipeline_completed(p);
	p->kick = false;
	pthread_mutex_unlock(&p->lock);
}

static void fetch_thread_started(void *context)
{
	const struct pipeline *p = context;

	trace_thread(p->parts.process, TRACE_STAGE_FETCH);
}

/* What the stream wants last in its pass: for auto to try engines on. */
static uint32_t fetch_client_list_last(struct pipeline *p, uint32_t *samples,
				       uint32_t most)
{
	struct plan_pass pass;
	uint32_t count = 0;

	stream_pass(p, &p->next, &pass);
	for (uint32_t at = pass.length; at > 0 && count < most; count++)
		samples[count] = plan_sample(p->parts.plan, p->next.pass, --at);
	return count;
}

int fetch_client_start(struct pipeline *p, struct error *err)
{
	uint32_t last[LAST];
	const struct fetch_client client = {.context = p,
					    .next = next_job,
					    .done = job_done,
					    .drained = fetch_client_drained};
	const struct fetch_config config = {
		.engine = p->parts.options->fetch,
		.kernel_cache = cache_kernel(p->parts.cache),
		.depth = p->parts.options->fetch_depth,
		.hedge = p->parts.options->hedge,
		.throttle = p->parts.throttle,
		.disk = cache_disk(p->parts.cache),
		.thread_started = fetch_thread_started,
		.probe = last,
		.probes = fetch_client_list_last(p, last, LAST),
	};

	/* what loaders of this process asked for that closed */
	p->gets = p->parts.process->counters[TRACE_wanted_gets];
	p->fetch = fetch_open(&config, p->parts.source, &client, err);
	return p->fetch != NULL ? 0 : -1;
}
