/* repeat.c - batches of dsa's turns that are not the stream's. */
#include "loader/pipeline/pipeline_state.h"

#include <errno.h>

static bool repeat_supply(struct pipeline *p, struct batch *batch, struct place *place)
{
	place->readers = UINT64_MAX;
	if (p->turn.ops->repeat(p, batch, place))
		return true;
	return stream_fail(p, EBADMSG, "none of the samples read ahead can be used");
}

bool repeat_open(struct pipeline *p, struct batch *batch)
{
	struct plan_pass pass;

	stream_pass(p, &p->delivered, &pass);
	batch->stream = false;
	batch->pass = p->delivered.pass;
	batch->epoch = pass.epoch;
	batch->first = p->delivered.position;
	for (uint32_t i = 0; i < batch->count; i++)
		if (!repeat_supply(p, batch, &batch->places[i]))
			return false;
	return true;
}

/* A repeat has no next position: any other staged sample does. */
bool repeat_fill(struct pipeline *p, struct batch *head, struct place *hole)
{
	stream_reopen(head, hole);
	if (repeat_supply(p, head, hole))
		pipeline_wake(p);
	return false;
}
