/* pipeline_depth.c - lets the reads in flight follow what requests to servers take. */
#include "loader/base/clock.h"
#include "loader/base/limits.h"
#include "loader/options.h"
#include "loader/pipeline/pipeline_state.h"
#include "loader/source.h"

/* In flight at the most, where nobody says how many bytes may be. */
#define MOST_BYTES (UINT64_C(256) << 20)

/* As many as their bytes allow. */
static unsigned pipeline_depth_most(const struct pipeline *p)
{
	uint64_t count = source_count(p->parts.source);
	uint64_t bytes = source_facts(p->parts.source)->bytes;
	uint64_t bound = p->parts.options->prefetch_bytes;
	uint64_t most =
		bytes == 0 ? UINT64_MAX
			   : (bound > 0 ? bound : MOST_BYTES) / (bytes / count + 1);

	return most < 1                   ? 1
	       : most < LIMIT_FETCH_DEPTH ? (unsigned)most
					  : LIMIT_FETCH_DEPTH;
}

void pipeline_depth_open(struct pipeline *p)
{
	const struct options *options = p->parts.options;

	p->adapts = options->depth_auto && fetch_facts(p->fetch).remote;
	depth_init(&p->requests, options->fetch_depth,
		   p->adapts ? pipeline_depth_most(p) : LIMIT_FETCH_DEPTH);
	p->requests.silent = pipeline_final(p);
}

static bool pipeline_depth_adapts(const struct pipeline *p)
{
	return p->adapts && p->on && p->turn.ops->adapts;
}

static void pipeline_depth_set(struct pipeline *p)
{
	p->depth = p->requests.now;
	fetch_set_depth(p->fetch, p->depth);
}

void pipeline_depth_answer(struct pipeline *p, const struct fetch_job *job)
{
	uint64_t now = clock_now();

	if (pipeline_depth_adapts(p) && job->calls.opens > 0 &&
	    depth_answer(&p->requests, now, now - job->start))
		pipeline_depth_set(p);
}

void pipeline_depth_take(struct pipeline *p, const struct batch *batch)
{
	uint32_t requests = 0;

	if (!pipeline_depth_adapts(p))
		return;
	for (uint32_t i = 0; i < batch->count; i++)
		requests += batch->places[i].calls.opens > 0;
	if (depth_take(&p->requests, clock_now(), requests))
		pipeline_depth_set(p);
}

void pipeline_depth_wait(struct pipeline *p)
{
	pthread_mutex_lock(&p->lock);
	if (pipeline_depth_adapts(p))
		depth_wait(&p->requests, clock_now());
	pthread_mutex_unlock(&p->lock);
}

void pipeline_depth_hold(struct pipeline *p)
{
	pthread_mutex_lock(&p->lock);
	p->adapts = false;
	pthread_mutex_unlock(&p->lock);
}

unsigned pipeline_depth(struct pipeline *p)
{
	unsigned depth;

	pthread_mutex_lock(&p->lock);
	depth = p->requests.now;
	pthread_mutex_unlock(&p->lock);
	return depth;
}
