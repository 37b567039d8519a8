/* turn_staged.c - turns that take samples from staged bytes. */
#include "loader/base/blob.h"
#include "loader/cache.h"
#include "loader/options.h"
#include "loader/pipeline/pipeline_state.h"

#include <stdlib.h>

void staged_forget(struct pipeline *p)
{
	struct staged *staged = &p->measuring.staged;

	for (uint32_t i = 0; i < staged->count; i++)
		blob_put(staged->blobs[i]);
	free(staged->blobs);
	free(staged->samples);
	*staged = (struct staged){0};
}

bool staged_may_open(struct pipeline *p)
{
	return !p->turn.metered || p->opened < p->measuring.credits;
}

/* As long as there are staged samples for a whole batch. */
static bool staged_streams(const struct pipeline *p, const struct plan_pass *pass)
{
	const struct staged *staged = &p->measuring.staged;
	uint64_t start = pass->first + p->next.position;

	return start >= staged->first &&
	       start + p->batch <= staged->first + staged->count && pass->length > 0;
}

/* Another sample lies there when the pass was cut after it was staged. */
static struct blob *staged_find(struct pipeline *p, const struct batch *batch,
				struct place *place, uint32_t position)
{
	const struct staged *staged = &p->measuring.staged;
	uint64_t at = batch->base + position - staged->first;

	if (at >= staged->count || staged->blobs[at] == NULL ||
	    staged->samples[at] != place->sample)
		return NULL;
	return blob_ref(staged->blobs[at]);
}

bool staged_repeat(struct pipeline *p, struct batch *batch, struct place *place)
{
	struct staged *staged = &p->measuring.staged;

	for (uint32_t tries = 0; tries < staged->count; tries++) {
		uint32_t number = staged->next++, at = number % staged->count;
		uint32_t sample = staged->samples[at];

		if (staged->blobs[at] == NULL || stream_useless(p, sample))
			continue;
		place->sample = sample;
		place->seed = random_seed(p->parts.options->seed, number, sample);
		place->fetch_ns = 0;
		place->hit = true;
		/* A hit of a cache on disk is a read of it, as far as there was room. */
		if (p->turn.ops->draws && cache_kept(p->parts.cache, sample))
			stream_wait(batch, place);
		else
			stream_ready(batch, place, blob_ref(staged->blobs[at]));
		return true;
	}
	return false;
}

#define STAGED                                                                         \
	.may_open = staged_may_open, .streams = staged_streams, .find = staged_find,   \
	.repeat = staged_repeat, .next_read = place_next_read,                         \
	.read_done = place_read_done, .staging = true

const struct turn_ops turn_staged = {.prepare = prep_timed, STAGED};
const struct turn_ops turn_pool = {.prepare = prep_bare, STAGED};
