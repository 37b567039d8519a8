/* feed_writer.c - the feed as the pipeline's sink. */
#include "loader/base/clock.h"
#include "loader/share/ring/feed_state.h"

#include <xxhash.h>

static struct feed *feed_of(struct batch_sink *sink)
{
	return (struct feed *)sink; /* its first member */
}

static struct feed_slot *open_slot(const struct feed *feed, uint32_t at)
{
	return &feed->slots[feed->fifo[(feed->head + at) % feed->slot_count]];
}

static void *feed_writer_bytes_of(const struct feed *feed, uint64_t sequence)
{
	return feed->samples +
	       sequence % feed->layout.places * feed->layout.sample_bytes;
}

/* Finds the next `count` numbers from `from` on that may be written to. Returns the one
 * behind them; 0: there is no room. */
static uint64_t feed_writer_gather(const struct feed *feed, uint64_t from,
				   uint32_t count, uint64_t *sequences)
{
	uint64_t limit = feed->tail + feed->layout.places;
	uint32_t found = 0;

	while (found < count && from < limit) {
		uint64_t island = feed_island(feed, from);

		if (island == 0)
			sequences[found++] = from++;
		from += island;
	}
	return found == count ? from : 0;
}

static bool feed_writer_overlaps(const struct feed *feed, uint64_t first, uint64_t end)
{
	for (uint32_t i = 0; i < feed->open; i++) {
		const struct feed_slot *other = open_slot(feed, i);

		if (first < other->end && other->first < end)
			return true;
	}
	return false;
}

/*
 * Room for a batch that nobody will see: the first that no other open batch has. It
 * takes no number, and because it is the first, few places lose what they could repeat.
 */
static uint64_t gather_thrown(const struct feed *feed, struct feed_slot *slot,
			      uint64_t *sequences)
{
	for (uint32_t i = 0; i <= feed->open; i++) {
		uint64_t first = i == 0 ? feed->reserved : open_slot(feed, i - 1)->end;
		uint64_t end = feed_writer_gather(feed, first, slot->count, sequences);

		if (end != 0 && !feed_writer_overlaps(feed, first, end)) {
			slot->first = first;
			return end;
		}
	}
	return 0;
}

static bool place_batch(struct feed *feed, struct feed_slot *slot, uint64_t *sequences)
{
	feed_update(feed);
	slot->first = feed->reserved;
	slot->end = slot->thrown ? gather_thrown(feed, slot, sequences)
				 : feed_writer_gather(feed, slot->first, slot->count,
						      sequences);
	return slot->end != 0;
}

static bool has_island(const struct feed *feed)
{
	for (int i = 0; i < FEED_SEATS; i++)
		if (feed->seats[i].taken && feed->seats[i].dropped)
			return true;
	return false;
}

void feed_starve(struct feed *feed, uint64_t end)
{
	uint64_t wanted = feed->tail + 1;

	if (!has_island(feed) && end > feed->layout.places &&
	    end - feed->layout.places > wanted)
		wanted = end - feed->layout.places;
	atomic_store(&feed->header->hungry, wanted);
}

void feed_note_room(struct feed *feed, bool room)
{
	if (!room) {
		if (atomic_load(&feed->full_since) == 0)
			atomic_store(&feed->full_since, clock_now());
	} else if (atomic_load(&feed->header->hungry) != 0) {
		atomic_store(&feed->header->hungry, 0);
		atomic_store(&feed->full_since, 0);
	}
}

void feed_set_reserved(struct feed *feed, uint64_t reserved)
{
	feed->reserved = reserved;
	atomic_store(&feed->header->reserved, reserved);
}

static void feed_writer_enter(struct feed *feed, uint32_t slot,
			      const uint64_t *sequences)
{
	const struct feed_slot *entered = &feed->slots[slot];

	for (uint32_t i = 0; i < entered->count; i++)
		feed->dirty[sequences[i] % feed->layout.places] = true;
	feed->fifo[(feed->head + feed->open++) % feed->slot_count] = slot;
	if (!entered->thrown)
		feed_set_reserved(feed, entered->end);
}

static bool feed_writer_reserve(struct batch_sink *sink, uint32_t number,
				uint32_t count, bool thrown)
{
	struct feed *feed = feed_of(sink);
	struct feed_slot *slot = &feed->slots[number];
	uint64_t *sequences = &feed->sequences[(size_t)number * feed->batch];
	bool room;

	*slot = (struct feed_slot){.count = count, .thrown = thrown};
	pthread_mutex_lock(&feed->lock);
	room = place_batch(feed, slot, sequences);
	if (!room) {
		feed_starve(feed, thrown ? 0 : feed->reserved + count);
		/* what was released before readers could know */
		room = place_batch(feed, slot, sequences);
	}
	feed_note_room(feed, room);
	pthread_mutex_unlock(&feed->lock);
	if (room)
		feed_writer_enter(feed, number, sequences);
	return room;
}

static void *feed_writer_sample(struct batch_sink *sink, uint32_t slot, uint32_t at)
{
	struct feed *feed = feed_of(sink);

	return feed_writer_bytes_of(feed,
				    feed->sequences[(size_t)slot * feed->batch + at]);
}

void feed_describe(struct feed *feed, uint64_t sequence,
		   const struct feed_place *content)
{
	struct feed_place *place = &feed->places[sequence % feed->layout.places];

	place->seats = content->seats;
	place->checksum = content->checksum;
	place->lap = content->lap;
	place->epoch = content->epoch;
	place->position = content->position;
	place->stolen = content->stolen;
	place->sample = content->sample;
	place->label = content->label;
	place->flags = content->flags;
	place->turn = content->turn;
	atomic_store_explicit(&place->sequence, sequence + 1, memory_order_release);
}

/* The seats that the next places of the stream come too early for. With feed->lock. */
static uint64_t early_seats(const struct feed *feed)
{
	uint64_t seats = 0;

	for (int i = 0; i < FEED_SEATS; i++)
		if (feed->seats[i].taken && feed->seats[i].ahead > 0)
			seats |= UINT64_C(1) << i;
	return seats;
}

/* Those of them for which one more place comes too early. */
static uint64_t count_early(struct feed *feed, uint64_t seats)
{
	uint64_t still = 0;

	for (; seats != 0; seats &= seats - 1) {
		struct feed_seating *seat = &feed->seats[__builtin_ctzll(seats)];

		if (seat->ahead == 0)
			continue;
		seat->ahead--;
		still |= seats & -seats;
	}
	return still;
}

static void describe_sample(struct feed *feed, uint64_t sequence,
			    const struct batch_sink_batch *batch,
			    const struct batch_sink_sample *one, uint64_t early)
{
	struct feed_place content = {
		.seats = one->seats & ~count_early(feed, early),
		.lap = batch->lap,
		.epoch = batch->epoch,
		.position = batch->position,
		.stolen = batch->stolen,
		.sample = one->sample,
		.label = one->label,
		.flags = (one->hole ? FEED_BAD : 0) |
			 (batch->repeated ? FEED_REPEATED : 0),
		.turn = batch->turn,
	};

	if (feed->layout.audit && !one->hole)
		content.checksum = XXH3_64bits(feed_writer_bytes_of(feed, sequence),
					       feed->layout.sample_bytes);
	feed->dirty[sequence % feed->layout.places] = one->hole;
	feed_describe(feed, sequence, &content);
}

void feed_show(struct feed *feed, uint64_t published)
{
	atomic_store(&feed->header->published, published);
	feed_ring(feed);
}

static struct feed_slot *feed_writer_leave(struct feed *feed)
{
	struct feed_slot *slot = open_slot(feed, 0);

	feed->head = (feed->head + 1) % feed->slot_count;
	feed->open--;
	return slot;
}

/* Numbers that no place of the batch has are islands, or were discarded. */
static void feed_writer_publish(struct batch_sink *sink, uint32_t number,
				const struct batch_sink_batch *batch,
				const struct batch_sink_sample *samples)
{
	const struct feed_place island = {.flags = FEED_ISLAND};
	struct feed *feed = feed_of(sink);
	const struct feed_slot *slot = feed_writer_leave(feed);
	const uint64_t *sequences = &feed->sequences[(size_t)number * feed->batch];
	uint64_t early;
	uint32_t at = 0;

	pthread_mutex_lock(&feed->lock);
	early = batch->repeated ? 0 : early_seats(feed);
	for (uint64_t next = feed_published(feed); next < slot->end; next++) {
		if (at < slot->count && sequences[at] == next)
			describe_sample(feed, next, batch, &samples[at++], early);
		else
			feed_describe(feed, next, &island);
	}
	pthread_mutex_unlock(&feed->lock);
	feed_show(feed, slot->end);
}

/* Its numbers, which may be before those of others, become voids with the next batch. */
static void feed_writer_discard(struct batch_sink *sink, uint32_t number)
{
	(void)number;
	feed_writer_leave(feed_of(sink));
}

static uint32_t places_before(const struct feed *feed, uint64_t start)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < feed->open; i++) {
		const struct feed_slot *slot = open_slot(feed, i);
		const uint64_t *sequences =
			&feed->sequences[(size_t)(slot - feed->slots) * feed->batch];

		for (uint32_t at = 0; at < slot->count && !slot->thrown; at++)
			count += sequences[at] < start;
	}
	return count;
}

/*
 * A reader that is to begin at a number not yet published is to begin with the batch that
 * has it now. So numbers do not go back then, and what comes again before that batch is
 * not for the reader.
 */
static void feed_writer_rewind_all(struct batch_sink *sink)
{
	struct feed *feed = feed_of(sink);
	uint64_t published = feed_published(feed);
	bool awaited = false;

	pthread_mutex_lock(&feed->lock);
	for (int i = 0; i < FEED_SEATS; i++) {
		struct feed_seating *seat = &feed->seats[i];

		if (!seat->taken || seat->start <= published)
			continue;
		awaited = true;
		if (seat->ahead == 0)
			seat->ahead = places_before(feed, seat->start);
	}
	pthread_mutex_unlock(&feed->lock);
	feed->open = 0;
	if (!awaited)
		feed_set_reserved(feed, published);
	atomic_store(&feed->header->hungry, 0); /* for what, will be seen again */
	atomic_store(&feed->full_since, 0);
}

static void feed_writer_wake(struct batch_sink *sink)
{
	feed_ring(feed_of(sink));
}

void feed_outlet_init(struct feed *feed)
{
	static const struct batch_sink_ops ops = {
		.reserve = feed_writer_reserve,
		.sample = feed_writer_sample,
		.publish = feed_writer_publish,
		.discard = feed_writer_discard,
		.rewind = feed_writer_rewind_all,
		.wake = feed_writer_wake,
		.final = true,
	};

	feed->sink.ops = &ops;
}
