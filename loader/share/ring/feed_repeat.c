/* feed_repeat.c - what was published once, published again: batches that cost nothing. */
#include "loader/share/ring/feed_state.h"

/* What a place says when it is shown once more. */
static struct feed_place once_more(const struct feed *feed, uint64_t sequence,
				   uint32_t turn)
{
	uint64_t published = feed_published(feed);
	const struct feed_place *last = feed_place(feed, published - 1);
	const struct feed_place *place = &feed->places[sequence % feed->layout.places];
	struct feed_place content = {
		.seats = UINT64_MAX,
		.checksum = place->checksum,
		.sample = place->sample,
		.label = place->label,
		.flags = FEED_REPEATED,
		.turn = turn,
	};

	if (last != NULL) {
		content.lap = last->lap;
		content.epoch = last->epoch;
		content.position = last->position;
		content.stolen = last->stolen;
	}
	return content;
}

static bool feed_repeat_repeatable(const struct feed *feed, uint64_t sequence)
{
	uint32_t place = (uint32_t)(sequence % feed->layout.places);

	return feed->places[place].sequence != 0 && !feed->dirty[place] &&
	       !(feed->places[place].flags & (FEED_BAD | FEED_ISLAND)) &&
	       feed_island(feed, sequence) == 0;
}

/* Returns the number behind the last place that was repeated. With feed->lock. */
static uint64_t feed_repeat_batches(struct feed *feed, uint32_t count, uint32_t turn,
				    uint32_t *done)
{
	const struct feed_place island = {.flags = FEED_ISLAND};
	uint64_t shown = feed_published(feed), limit;

	feed_update(feed);
	limit = feed->tail + feed->layout.places;
	for (uint64_t at = shown; at < limit && *done < count; at++) {
		struct feed_place content;

		if (!feed_repeat_repeatable(feed, at))
			continue;
		content = once_more(feed, at, turn);
		while (shown < at)
			feed_describe(feed, shown++, &island);
		feed_describe(feed, shown++, &content);
		++*done;
	}
	return shown;
}

uint32_t feed_repeat(struct feed *feed, uint32_t count, uint32_t turn)
{
	uint32_t done = 0;
	uint64_t shown;

	if (feed->open > 0)
		return 0;
	pthread_mutex_lock(&feed->lock);
	shown = feed_repeat_batches(feed, count, turn, &done);
	if (done == 0) {
		feed_starve(feed, shown + 1);
		shown = feed_repeat_batches(feed, count, turn, &done);
	}
	feed_note_room(feed, done > 0);
	pthread_mutex_unlock(&feed->lock);
	if (done > 0) {
		if (feed->reserved < shown)
			feed_set_reserved(feed, shown);
		feed_show(feed, shown);
	}
	return done;
}
