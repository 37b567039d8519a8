/* turn_fetch.c - unread files, read and thrown away: what the storage gives. */
#include "loader/base/blob.h"
#include "loader/base/clock.h"
#include "loader/base/trace.h"
#include "loader/pipeline/pipeline_state.h"
#include "loader/sampler.h"

#include <string.h>

/* Epochs in which unread files are asked for lie where no training gets to. */
#define UNREAD_EPOCH (UINT64_C(1) << 48)

uint32_t unread_sample(struct pipeline *p)
{
	struct measuring *measuring = &p->measuring;
	uint32_t length = sampler_length(measuring->unread);
	uint64_t at = measuring->asked++;

	return sampler_sample(measuring->unread, UNREAD_EPOCH + at / length,
			      (uint32_t)(at % length));
}

static bool unread_next_read(struct pipeline *p, struct fetch_job *job)
{
	*job = (struct fetch_job){.sample = unread_sample(p),
				  .unthrottled = p->turn.unthrottled,
				  .bypass = true};
	p->in_flight++;
	return true;
}

static void probes_halve(struct probes *probes)
{
	probes->count /= 2;
	for (uint32_t i = 0; i < probes->count; i++)
		probes->kept[i] = probes->kept[2 * i];
	probes->stride *= 2;
}

/* With several reads in flight the time of one says nothing about the storage. */
static void probes_keep(struct pipeline *p, const struct fetch_job *job,
			const struct blob *blob)
{
	struct probes *probes = &p->measuring.probes;

	if (p->depth != 1 || probes->seen++ % probes->stride != 0)
		return;
	if (probes->count == PIPELINE_PROBES)
		probes_halve(probes);
	probes->kept[probes->count++] = (struct pipeline_sample){
		.sample = job->sample,
		.bytes = (uint32_t)blob->size,
		.fetch_ns = pipeline_ns(clock_now() - job->start),
	};
}

static void unread_read_done(struct pipeline *p, const struct fetch_job *job,
			     struct blob *blob, int result)
{
	(void)result;
	if (blob == NULL)
		return;
	trace_add(p->parts.process, TRACE_fetched_samples, 1);
	trace_add(p->parts.process, TRACE_fetched_bytes, blob->size);
	trace_add(p->parts.process, TRACE_fetch_ns, clock_now() - job->start);
	probes_keep(p, job, blob);
	blob_put(blob);
}

uint32_t pipeline_probes(struct pipeline *p,
			 struct pipeline_sample probes[PIPELINE_PROBES])
{
	uint32_t count;

	pthread_mutex_lock(&p->lock);
	count = p->measuring.probes.count;
	memcpy(probes, p->measuring.probes.kept, count * sizeof(*probes));
	pthread_mutex_unlock(&p->lock);
	return count;
}

const struct turn_ops turn_fetch = {
	.next_read = unread_next_read,
	.read_done = unread_read_done,
};
