/* bcast_repeat.c - publishes again what was published: batches that cost nothing. */
#include "loader/share/ring/bcast_state.h"

/* What a place says when it is shown once more. */
static struct bcast_place bcast_repeat_one(const struct bcast_ring *ring,
					   uint64_t sequence, uint32_t turn)
{
	const struct bcast_place *place = &ring->places[sequence % ring->layout.places];
	struct bcast_place content = {
		.readers = UINT64_MAX,
		.checksum = place->checksum,
		.sample = place->sample,
		.label = place->label,
		.flags = BCAST_REPEATED,
		.turn = turn,
	};

	return content;
}

static bool bcast_repeat_repeatable(const struct bcast_ring *ring, uint64_t sequence)
{
	uint32_t place = (uint32_t)(sequence % ring->layout.places);

	return ring->places[place].sequence != 0 && !ring->dirty[place] &&
	       !(ring->places[place].flags & (BCAST_BAD | BCAST_GAP)) &&
	       bcast_gap(ring, sequence) == 0;
}

/* Returns the number behind the last place that was repeated. With ring->lock. */
static uint64_t bcast_repeat_batches(struct bcast_ring *ring, uint32_t count,
				     uint32_t turn, uint32_t *done)
{
	const struct bcast_place gap = {.flags = BCAST_GAP};
	uint64_t shown = bcast_published(ring), limit;

	bcast_update(ring);
	limit = ring->tail + ring->layout.places;
	for (uint64_t at = shown; at < limit && *done < count; at++) {
		struct bcast_place content;

		if (!bcast_repeat_repeatable(ring, at))
			continue;
		content = bcast_repeat_one(ring, at, turn);
		while (shown < at)
			bcast_describe(ring, shown++, &gap);
		bcast_describe(ring, shown++, &content);
		++*done;
	}
	return shown;
}

uint32_t bcast_repeat(struct bcast_ring *ring, uint32_t count, uint32_t turn)
{
	uint32_t done = 0;
	uint64_t shown;

	if (ring->open > 0)
		return 0;
	pthread_mutex_lock(&ring->lock);
	shown = bcast_repeat_batches(ring, count, turn, &done);
	if (done == 0) {
		bcast_starve(ring, shown + 1);
		shown = bcast_repeat_batches(ring, count, turn, &done);
	}
	bcast_note_room(ring, done > 0);
	pthread_mutex_unlock(&ring->lock);
	if (done > 0) {
		if (ring->reserved < shown)
			bcast_set_reserved(ring, shown);
		bcast_show(ring, shown);
	}
	return done;
}
