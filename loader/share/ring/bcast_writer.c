/* bcast_writer.c - the ring as the pipeline's sink. */
#include "loader/base/clock.h"
#include "loader/share/ring/bcast_state.h"

#include <xxhash.h>

static struct bcast_ring *bcast_of(struct batch_sink *sink)
{
	return (struct bcast_ring *)sink; /* its first member */
}

static struct bcast_batch_slot *bcast_writer_slot_at(const struct bcast_ring *ring,
						     uint32_t at)
{
	return &ring->slots[ring->fifo[(ring->head + at) % ring->slot_count]];
}

static void *bcast_writer_bytes_of(const struct bcast_ring *ring, uint64_t sequence)
{
	return ring->samples +
	       sequence % ring->layout.places * ring->layout.sample_bytes;
}

/* Finds the next `count` numbers from `from` on that may be written to. Returns the one
 * behind them; 0: there is no room. */
static uint64_t bcast_writer_gather(const struct bcast_ring *ring, uint64_t from,
				    uint32_t count, uint64_t *sequences)
{
	uint64_t limit = ring->tail + ring->layout.places;
	uint32_t found = 0;

	while (found < count && from < limit) {
		uint64_t gap = bcast_gap(ring, from);

		if (gap == 0)
			sequences[found++] = from++;
		from += gap;
	}
	return found == count ? from : 0;
}

static bool bcast_writer_overlaps(const struct bcast_ring *ring, uint64_t first,
				  uint64_t end)
{
	for (uint32_t i = 0; i < ring->open; i++) {
		const struct bcast_batch_slot *other = bcast_writer_slot_at(ring, i);

		if (first < other->end && other->first < end)
			return true;
	}
	return false;
}

/*
 * Room for a batch that nobody will see: the first that no other open batch has. It
 * takes no number, and because it is the first, few places lose what they could repeat.
 */
static uint64_t bcast_writer_gather_discarded(const struct bcast_ring *ring,
					      struct bcast_batch_slot *slot,
					      uint64_t *sequences)
{
	for (uint32_t i = 0; i <= ring->open; i++) {
		uint64_t first = i == 0 ? ring->reserved
					: bcast_writer_slot_at(ring, i - 1)->end;
		uint64_t end = bcast_writer_gather(ring, first, slot->count, sequences);

		if (end != 0 && !bcast_writer_overlaps(ring, first, end)) {
			slot->first = first;
			return end;
		}
	}
	return 0;
}

static bool bcast_writer_place_batch(struct bcast_ring *ring,
				     struct bcast_batch_slot *slot, uint64_t *sequences)
{
	bcast_update(ring);
	slot->first = ring->reserved;
	slot->end = slot->thrown ? bcast_writer_gather_discarded(ring, slot, sequences)
				 : bcast_writer_gather(ring, slot->first, slot->count,
						       sequences);
	return slot->end != 0;
}

static bool bcast_writer_has_gap(const struct bcast_ring *ring)
{
	for (int i = 0; i < BCAST_READERS; i++)
		if (ring->readers[i].taken && ring->readers[i].dropped)
			return true;
	return false;
}

void bcast_starve(struct bcast_ring *ring, uint64_t end)
{
	uint64_t wanted = ring->tail + 1;

	if (!bcast_writer_has_gap(ring) && end > ring->layout.places &&
	    end - ring->layout.places > wanted)
		wanted = end - ring->layout.places;
	atomic_store(&ring->header->hungry, wanted);
}

void bcast_note_room(struct bcast_ring *ring, bool room)
{
	if (!room) {
		if (atomic_load(&ring->full_since) == 0)
			atomic_store(&ring->full_since, clock_now());
	} else if (atomic_load(&ring->header->hungry) != 0) {
		atomic_store(&ring->header->hungry, 0);
		atomic_store(&ring->full_since, 0);
	}
}

void bcast_set_reserved(struct bcast_ring *ring, uint64_t reserved)
{
	ring->reserved = reserved;
	atomic_store(&ring->header->reserved, reserved);
}

static void bcast_writer_enter(struct bcast_ring *ring, uint32_t slot,
			       const uint64_t *sequences)
{
	const struct bcast_batch_slot *entered = &ring->slots[slot];

	for (uint32_t i = 0; i < entered->count; i++)
		ring->dirty[sequences[i] % ring->layout.places] = true;
	ring->fifo[(ring->head + ring->open++) % ring->slot_count] = slot;
	if (!entered->thrown)
		bcast_set_reserved(ring, entered->end);
}

static bool bcast_writer_reserve(struct batch_sink *sink, uint32_t number,
				 uint32_t count, bool thrown)
{
	struct bcast_ring *ring = bcast_of(sink);
	struct bcast_batch_slot *slot = &ring->slots[number];
	uint64_t *sequences = &ring->sequences[(size_t)number * ring->batch];
	bool room;

	if (ring->watcher != NULL && !ring->watcher->wanted(ring->context))
		return false;
	*slot = (struct bcast_batch_slot){.count = count, .thrown = thrown};
	pthread_mutex_lock(&ring->lock);
	room = bcast_writer_place_batch(ring, slot, sequences);
	if (!room) {
		bcast_starve(ring, thrown ? 0 : ring->reserved + count);
		/* what was released before readers could know */
		room = bcast_writer_place_batch(ring, slot, sequences);
	}
	bcast_note_room(ring, room);
	pthread_mutex_unlock(&ring->lock);
	if (room)
		bcast_writer_enter(ring, number, sequences);
	return room;
}

static void *bcast_writer_sample(struct batch_sink *sink, uint32_t slot, uint32_t at)
{
	struct bcast_ring *ring = bcast_of(sink);

	return bcast_writer_bytes_of(ring,
				     ring->sequences[(size_t)slot * ring->batch + at]);
}

void bcast_describe(struct bcast_ring *ring, uint64_t sequence,
		    const struct bcast_place *content)
{
	struct bcast_place *place = &ring->places[sequence % ring->layout.places];

	place->readers = content->readers;
	place->checksum = content->checksum;
	place->sample = content->sample;
	place->label = content->label;
	place->flags = content->flags;
	place->turn = content->turn;
	atomic_store_explicit(&place->sequence, sequence + 1, memory_order_release);
}

/* The slots that the next places of the stream come too early for. With ring->lock. */
static uint64_t bcast_writer_early_readers(const struct bcast_ring *ring)
{
	uint64_t readers = 0;

	for (int i = 0; i < BCAST_READERS; i++)
		if (ring->readers[i].taken && ring->readers[i].ahead > 0)
			readers |= UINT64_C(1) << i;
	return readers;
}

/* Those of them for which one more place comes too early. */
static uint64_t bcast_writer_count_early(struct bcast_ring *ring, uint64_t readers)
{
	uint64_t still = 0;

	for (; readers != 0; readers &= readers - 1) {
		struct bcast_reader_slot *reader =
			&ring->readers[__builtin_ctzll(readers)];

		if (reader->ahead == 0)
			continue;
		reader->ahead--;
		still |= readers & -readers;
	}
	return still;
}

/* Voids are known to come at the end of the pass, which is not far. */
static bool bcast_writer_scarce(const struct bcast_ring *ring,
				const struct batch_sink_batch *batch)
{
	return !batch->repeated && batch->stolen > batch->position &&
	       batch->left < 2 * (uint64_t)ring->layout.places;
}

static void bcast_writer_describe_sample(struct bcast_ring *ring, uint64_t sequence,
					 const struct batch_sink_batch *batch,
					 const struct batch_sink_sample *one,
					 uint64_t early)
{
	struct bcast_place content = {
		.readers = one->readers & ~bcast_writer_count_early(ring, early),
		.sample = one->sample,
		.label = one->label,
		.flags = (one->hole ? BCAST_BAD : 0) |
			 (batch->repeated ? BCAST_REPEATED : 0) |
			 (bcast_writer_scarce(ring, batch) ? BCAST_SCARCE : 0),
		.turn = batch->turn,
	};

	if (ring->layout.audit && !one->hole)
		content.checksum = XXH3_64bits(bcast_writer_bytes_of(ring, sequence),
					       ring->layout.sample_bytes);
	ring->dirty[sequence % ring->layout.places] = one->hole;
	bcast_describe(ring, sequence, &content);
}

void bcast_show(struct bcast_ring *ring, uint64_t published)
{
	atomic_store(&ring->header->published, published);
	bcast_wake(ring);
	bcast_mirror_show(ring, published);
}

static struct bcast_batch_slot *bcast_writer_leave(struct bcast_ring *ring)
{
	struct bcast_batch_slot *slot = bcast_writer_slot_at(ring, 0);

	ring->head = (ring->head + 1) % ring->slot_count;
	ring->open--;
	return slot;
}

/* Numbers that no place of the batch has are gaps, or were discarded. */
static void bcast_writer_publish(struct batch_sink *sink, uint32_t number,
				 const struct batch_sink_batch *batch,
				 const struct batch_sink_sample *samples)
{
	const struct bcast_place gap = {.flags = BCAST_GAP};
	struct bcast_ring *ring = bcast_of(sink);
	const struct bcast_batch_slot *slot = bcast_writer_leave(ring);
	const uint64_t *sequences = &ring->sequences[(size_t)number * ring->batch];
	uint64_t first = bcast_published(ring), early;
	uint32_t at = 0;

	if (ring->watcher != NULL)
		ring->watcher->publishing(ring->context, batch);
	pthread_mutex_lock(&ring->lock);
	early = batch->repeated ? 0 : bcast_writer_early_readers(ring);
	for (uint64_t next = first; next < slot->end; next++) {
		if (at < slot->count && sequences[at] == next)
			bcast_writer_describe_sample(ring, next, batch, &samples[at++],
						     early);
		else
			bcast_describe(ring, next, &gap);
	}
	pthread_mutex_unlock(&ring->lock);
	bcast_mirror_copy(ring, first, slot->end);
	bcast_show(ring, slot->end);
	if (ring->watcher != NULL)
		ring->watcher->published(ring->context, first);
}

/* Its numbers, which may be before others', become voids with the next batch. */
static void bcast_writer_discard(struct batch_sink *sink, uint32_t number)
{
	(void)number;
	bcast_writer_leave(bcast_of(sink));
}

static uint32_t bcast_writer_places_before(const struct bcast_ring *ring,
					   uint64_t start)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ring->open; i++) {
		const struct bcast_batch_slot *slot = bcast_writer_slot_at(ring, i);
		const uint64_t *sequences =
			&ring->sequences[(size_t)(slot - ring->slots) * ring->batch];

		for (uint32_t at = 0; at < slot->count && !slot->thrown; at++)
			count += sequences[at] < start;
	}
	return count;
}

/*
 * A reader that is to begin at a number not yet published is to begin with the batch
 * that has it now. So numbers do not go back then, and what comes again before that
 * batch is not for the reader.
 */
static void bcast_writer_rewind_all(struct batch_sink *sink)
{
	struct bcast_ring *ring = bcast_of(sink);
	uint64_t published = bcast_published(ring);
	bool awaited = false;

	pthread_mutex_lock(&ring->lock);
	for (int i = 0; i < BCAST_READERS; i++) {
		struct bcast_reader_slot *reader = &ring->readers[i];

		if (!reader->taken || reader->start <= published)
			continue;
		awaited = true;
		if (reader->ahead == 0)
			reader->ahead = bcast_writer_places_before(ring, reader->start);
	}
	pthread_mutex_unlock(&ring->lock);
	ring->open = 0;
	if (!awaited)
		bcast_set_reserved(ring, published);
	atomic_store(&ring->header->hungry, 0); /* for what, will be seen again */
	atomic_store(&ring->full_since, 0);
}

static void bcast_writer_wake(struct batch_sink *sink)
{
	struct bcast_ring *ring = bcast_of(sink);

	bcast_wake(ring);
	if (ring->watcher != NULL)
		ring->watcher->woke(ring->context);
}

void bcast_sink_init(struct bcast_ring *ring)
{
	static const struct batch_sink_ops ops = {
		.reserve = bcast_writer_reserve,
		.sample = bcast_writer_sample,
		.publish = bcast_writer_publish,
		.discard = bcast_writer_discard,
		.rewind = bcast_writer_rewind_all,
		.wake = bcast_writer_wake,
		.final = true,
	};

	ring->sink.ops = &ops;
}
