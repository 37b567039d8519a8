/* bcast_reader.c - waits for samples, takes them and releases them. */
#include "loader/share/ring/bcast_reader.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/ipc/futex.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* One look over what was published. */
struct walk {
	uint64_t published;
	uint64_t at, reach;   /* next place to look at, and how far that is claimed */
	uint64_t first, last; /* samples found */
	uint64_t remaining, bad;
	uint32_t wanted, found;
	uint32_t turn;
	bool repeated, epoch_ends, scarce;
	uint32_t *labels, *samples;
};

static uint32_t bcast_reader_place_of(const struct bcast_reader *reader,
				      uint64_t sequence)
{
	return (uint32_t)(sequence % reader->layout.places);
}

static const char *bcast_reader_bytes_of(const struct bcast_reader *reader,
					 uint64_t sequence)
{
	return reader->samples +
	       bcast_reader_place_of(reader, sequence) * reader->layout.sample_bytes;
}

void bcast_report(struct bcast_reader *reader, uint64_t released)
{
	static const uint64_t one = 1;
	const struct bcast_header *header = reader->header;
	uint64_t hungry;
	bool dropped;

	atomic_store(&reader->page->released, released);
	hungry = atomic_load(&header->hungry);
	if (hungry == 0)
		return;
	dropped = atomic_load(&header->token[reader->slot]) != reader->token;
	if (!dropped && (released < hungry || reader->rung == hungry))
		return;
	reader->rung = hungry;
	/* when it is full it was not looked at yet: as good */
	(void)!write(reader->event, &one, sizeof(one));
}

/* Moves `released` over what is not held. */
static void bcast_reader_settle(struct bcast_reader *reader)
{
	uint64_t before = reader->released;

	while (reader->released < reader->next &&
	       !(reader->notes[bcast_reader_place_of(reader, reader->released)] & HELD))
		reader->released++;
	if (reader->released != before)
		bcast_report(reader, reader->released);
}

/*
 * Claims the next few places: not more, so that little is lost if this process is
 * stopped now and dropped. bcast_state.h explains the order.
 */
static int bcast_reader_claim(struct bcast_reader *reader, struct walk *walk)
{
	uint64_t most = walk->at + (walk->wanted - walk->found) + 1;

	walk->reach = most < walk->published ? most : walk->published;
	if (walk->reach < walk->at)
		walk->reach = walk->at;
	atomic_store(&reader->page->taken, walk->reach);
	if (atomic_load(&reader->header->token[reader->slot]) == reader->token)
		return 0;
	atomic_store(&reader->page->taken, reader->next);
	return -ENOLINK;
}

/* A place without a sample; before the first sample it is gone past, whatever comes. */
static void bcast_reader_pass_by(struct bcast_reader *reader, struct walk *walk)
{
	reader->notes[bcast_reader_place_of(reader, walk->at)] = 0;
	if (walk->found > 0)
		return;
	reader->next = walk->at + 1;
	reader->remaining = walk->remaining;
	reader->bad = walk->bad;
}

/* Among places that were had, are others' or are void, a batch may be longer than the
 * ring: what was found must be given back before the writer can go on. */
static bool bcast_reader_partial(const struct bcast_reader *reader)
{
	return reader->partial || (reader->had != NULL && reader->epoch == 0) ||
	       bcast_blocks(reader);
}

static bool bcast_reader_had(const struct bcast_reader *reader,
			     const struct bcast_place *place)
{
	return reader->had != NULL && reader->epoch == 0 &&
	       (place->flags & (BCAST_REPEATED | BCAST_BAD)) == 0 &&
	       reader->had(reader->context, place->sample);
}

static void bcast_reader_note_sample(struct bcast_reader *reader, struct walk *walk,
				     const struct bcast_place *place)
{
	uint32_t index = bcast_reader_place_of(reader, walk->at);

	if (walk->found == 0) {
		walk->first = walk->at;
		walk->turn = place->turn;
	}
	walk->last = walk->at;
	walk->scarce |= (place->flags & BCAST_SCARCE) != 0;
	walk->labels[walk->found] = place->label;
	walk->samples[walk->found] = place->sample;
	walk->found++;
	reader->notes[index] = OURS;
	if (reader->audit)
		reader->checksums[index] = place->checksum;
}

/* Looks at one place. False: the batch ends before it. */
static bool bcast_reader_step(struct bcast_reader *reader, struct walk *walk,
			      const struct bcast_place *place)
{
	bool repeated = place->flags & BCAST_REPEATED;
	bool bad = place->flags & BCAST_BAD, none;

	if ((place->flags & BCAST_GAP) ||
	    !(place->readers >> reader->slot & UINT64_C(1))) {
		bcast_reader_pass_by(reader, walk);
		return true;
	}
	none = bad || bcast_reader_had(reader, place);
	if (walk->found > 0 &&
	    (repeated != walk->repeated || (!none && walk->found == walk->wanted)))
		return false;
	walk->repeated = repeated;
	walk->remaining -= !repeated;
	walk->bad += bad && !repeated;
	if (none)
		bcast_reader_pass_by(reader, walk);
	else
		bcast_reader_note_sample(reader, walk, place);
	walk->epoch_ends = walk->remaining == 0;
	return true;
}

static int bcast_reader_mismatch(const struct walk *walk, struct error *err)
{
	return error_set(err, EBADMSG,
			 "the shared ring is broken at number %llu of its stream",
			 (unsigned long long)walk->at);
}

/* 1: the batch is complete, and ends before walk->at. */
static int bcast_reader_look(struct bcast_reader *reader, struct walk *walk,
			     struct error *err)
{
	int result = bcast_reader_claim(reader, walk);
	bool over = false;

	if (result < 0)
		return result;
	if (walk->published > reader->released &&
	    walk->published - reader->released > reader->layout.places)
		return bcast_reader_mismatch(walk, err);
	while (!over && walk->at < walk->published) {
		const struct bcast_place *place =
			&reader->places[bcast_reader_place_of(reader, walk->at)];

		if (walk->at == walk->reach &&
		    (result = bcast_reader_claim(reader, walk)) < 0)
			return result;
		if (atomic_load_explicit(&place->sequence, memory_order_acquire) !=
		    walk->at + 1)
			return bcast_reader_mismatch(walk, err);
		over = !bcast_reader_step(reader, walk, place);
		if (!over) {
			walk->at++;
			over = walk->epoch_ends;
		}
	}
	return over || walk->found == walk->wanted ? 1 : -EAGAIN;
}

static int bcast_reader_verify(const struct bcast_reader *reader, uint64_t first,
			       uint64_t end, struct error *err)
{
	for (uint64_t at = first; at < end; at++) {
		uint32_t index = bcast_reader_place_of(reader, at);

		if ((reader->notes[index] & OURS) &&
		    XXH3_64bits(bcast_reader_bytes_of(reader, at),
				reader->layout.sample_bytes) !=
			    reader->checksums[index])
			return error_set(
				err, EBADMSG,
				"the sample at number %llu of the shared ring is not "
				"what was put there",
				(unsigned long long)at);
	}
	return 0;
}

static int bcast_reader_hand_over(struct bcast_reader *reader, const struct walk *walk,
				  struct bcast_batch *batch, struct error *err)
{
	bool row = walk->found > 0 && walk->last - walk->first + 1 == walk->found;
	uint64_t first = walk->found > 0 ? walk->first : walk->at;

	*batch = (struct bcast_batch){
		.first = first,
		.end = walk->at,
		.count = walk->found,
		.data = row ? bcast_reader_bytes_of(reader, first) : NULL,
		.epoch = walk->repeated ? 0 : reader->epoch,
		.epoch_ends = walk->epoch_ends,
		.repeated = walk->repeated,
		.scarce = walk->scarce,
		.turn = walk->turn,
	};
	for (uint64_t at = first; at < walk->at; at++)
		reader->notes[bcast_reader_place_of(reader, at)] |= HELD;
	reader->next = walk->at;
	reader->remaining = walk->remaining;
	reader->bad = walk->bad;
	if (walk->epoch_ends) {
		reader->epoch++;
		reader->remaining = reader->epoch_places;
	}
	atomic_store(&reader->page->taken, walk->at);
	return reader->audit && bcast_reader_verify(reader, first, walk->at, err) < 0
		       ? -EBADMSG
		       : 1;
}

static int bcast_reader_over(const struct bcast_reader *reader, struct error *err)
{
	const struct bcast_header *header = reader->header;
	char why[BCAST_WHY];

	if (!atomic_load(&header->ended))
		return error_set(err, EPIPE, "the shared loader is gone");
	if (header->code == 0)
		return -ENODATA;
	memcpy(why, header->why, sizeof(why));
	why[sizeof(why) - 1] = '\0';
	error_set(err, EPIPE, "%s", why);
	return -EPIPE;
}

static int bcast_reader_try_take(struct bcast_reader *reader, struct walk *walk,
				 struct bcast_batch *batch, struct error *err)
{
	/* in this order: what was published before the end is seen with it */
	bool ended = atomic_load(&reader->header->ended);
	int result;

	walk->published = bcast_ready(reader);
	walk->at = reader->next;
	walk->remaining = reader->remaining;
	walk->bad = reader->bad;
	walk->found = 0;
	walk->epoch_ends = walk->scarce = false;
	result = bcast_reader_look(reader, walk, err);
	if (result == 1)
		return bcast_reader_hand_over(reader, walk, batch, err);
	if (result == -EAGAIN && walk->found > 0 &&
	    (ended || bcast_reader_partial(reader))) {
		result = bcast_reader_hand_over(reader, walk, batch, err);
		batch->partial = true;
		return result;
	}
	if (result == -EAGAIN) {
		atomic_store(&reader->page->taken, reader->next);
		bcast_reader_settle(reader);
		if (ended)
			return bcast_reader_over(reader, err);
	}
	return result;
}

/* Nobody else writes to it. */
static void bcast_reader_tally(_Atomic uint64_t *figure, uint64_t more)
{
	uint64_t before = atomic_load_explicit(figure, memory_order_relaxed);

	atomic_store_explicit(figure, before + more, memory_order_relaxed);
}

int bcast_take(struct bcast_reader *reader, uint32_t count, uint64_t timeout_ns,
	       struct bcast_batch *batch, uint32_t *labels, uint32_t *samples,
	       struct error *err)
{
	struct walk walk = {.wanted = count, .labels = labels, .samples = samples};
	uint64_t start = clock_now(), waited = 0;
	int result;

	if (count == 0 || count > reader->layout.places)
		return error_set(err, EINVAL,
				 "a batch of %u samples does not fit a window of %u",
				 count, reader->layout.places);
	result = bcast_reader_try_take(reader, &walk, batch, err);
	if (result != -EAGAIN || timeout_ns == 0)
		return result;
	atomic_store(&reader->page->waiting, 1);
	while (waited < timeout_ns) {
		uint32_t bell = atomic_load(&reader->header->bell);

		result = bcast_reader_try_take(reader, &walk, batch, err);
		if (result != -EAGAIN)
			break;
		futex_wait(&reader->header->bell, bell, timeout_ns - waited);
		waited = clock_now() - start;
	}
	atomic_store(&reader->page->waiting, 0);
	bcast_reader_tally(&reader->page->waits, 1);
	bcast_reader_tally(&reader->page->waited_ns, clock_now() - start);
	return result;
}

void bcast_copy(const struct bcast_reader *reader, const struct bcast_batch *batch,
		void *to)
{
	size_t bytes = reader->layout.sample_bytes;
	char *next = to;

	for (uint64_t at = batch->first; at < batch->end; at++) {
		if (!(reader->notes[bcast_reader_place_of(reader, at)] & OURS))
			continue;
		memcpy(next, bcast_reader_bytes_of(reader, at), bytes);
		next += bytes;
	}
}

int bcast_release(struct bcast_reader *reader, const struct bcast_batch *batch)
{
	int result = 0;

	if (batch->first < reader->released || batch->end > reader->next ||
	    batch->first >= batch->end ||
	    !(reader->notes[bcast_reader_place_of(reader, batch->first)] & HELD))
		return -EINVAL;
	if (reader->audit)
		result = bcast_reader_verify(reader, batch->first, batch->end, NULL);
	for (uint64_t at = batch->first; at < batch->end; at++)
		reader->notes[bcast_reader_place_of(reader, at)] &= OURS;
	bcast_reader_tally(&reader->page->batches, !batch->partial);
	bcast_reader_tally(&reader->page->samples, batch->count);
	bcast_reader_settle(reader);
	return result;
}
