/* turn_drawn.c - draws hits and misses as a cache in its steady state has them. */
#include "loader/pipeline/pipeline_state.h"
#include "loader/sampler.h"

/* A hit is staged bytes, a miss a file that is not in the page cache. */
static bool drawn_repeat(struct pipeline *p, struct batch *batch, struct place *place)
{
	struct measuring *measuring = &p->measuring;
	uint32_t length = sampler_length(measuring->unread);

	if (random_unit(&measuring->draw) < p->turn.hit)
		return staged_repeat(p, batch, place);
	for (uint32_t tries = 0; tries < length; tries++) {
		place->sample = unread_sample(p);
		if (stream_named(p, place->sample))
			continue;
		place->seed = random_next(&measuring->draw);
		place->hit = false;
		stream_wait(batch, place);
		return true;
	}
	return false;
}

const struct turn_ops turn_drawn = {
	.may_open = staged_may_open,
	.repeat = drawn_repeat,
	.next_read = place_next_read,
	.read_done = place_read_done,
	.prepare = prep_timed,
	.draws = true,
};
