/* turn_stream.c - the turn of a program that trains: the stream, by cache and fetch. */
#include "loader/cache.h"
#include "loader/pipeline/pipeline_state.h"

static bool turn_stream_may_open(struct pipeline *p)
{
	return !stream_ended(p);
}

static bool turn_stream_always(const struct pipeline *p, const struct plan_pass *pass)
{
	(void)p;
	(void)pass;
	return true;
}

static struct blob *turn_stream_find(struct pipeline *p, const struct batch *batch,
				     struct place *place, uint32_t position)
{
	struct blob *blob = cache_get(p->parts.cache, place->sample);

	(void)position;
	place->hit = blob != NULL;
	return blob != NULL ? blob : merge_take(p, batch, place);
}

const struct turn_ops turn_stream = {
	.may_open = turn_stream_may_open,
	.streams = turn_stream_always,
	.find = turn_stream_find,
	.next_read = place_next_read,
	.read_done = place_read_done,
	.prepare = prep_timed,
	.counted = true,
	.adapts = true,
	.merges = true,
};
