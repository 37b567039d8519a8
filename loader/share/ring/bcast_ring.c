/* bcast_ring.c - makes the ring's memory and ends it. */
#include "loader/share/ring/bcast_ring.h"
#include "loader/base/error.h"
#include "loader/base/ipc/futex.h"
#include "loader/share/ring/bcast_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Places at a time that fill whole units of memory, a power of two. */
static uint64_t bcast_ring_places_of(size_t unit, size_t sample_bytes)
{
	size_t lowest = sample_bytes & (~sample_bytes + 1);

	return lowest == 0 || lowest >= unit ? 1 : unit / lowest;
}

/*
 * Both mappings of the samples begin with a page; where it costs no more than an eighth
 * they begin with a huge one, so that the second has huge pages too.
 */
static uint64_t bcast_ring_round_places(uint64_t places, size_t sample_bytes)
{
	uint64_t small = shared_round_up(
		places, bcast_ring_places_of(shared_page(), sample_bytes));
	uint64_t huge = shared_round_up(
		places, bcast_ring_places_of(SHARED_HUGE_PAGE, sample_bytes));

	return huge - small <= small / 8 ? huge : small;
}

static int bcast_place_parts(struct bcast_ring *ring, const struct bcast_config *config,
			     struct error *err)
{
	uint64_t places = bcast_ring_round_places(config->places, config->sample_bytes);

	if (config->slots < 1 || config->batch < 1 || config->places < config->batch ||
	    !bcast_lay_out(&ring->layout, places, config->sample_bytes))
		return error_set(
			err, EINVAL,
			"a shared ring of %u places of %zu bytes for %u batches of "
			"%u can't be made",
			config->places, config->sample_bytes, config->slots,
			config->batch);
	ring->layout.audit = config->audit;
	return 0;
}

static int bcast_ring_make_tables(struct bcast_ring *ring,
				  const struct bcast_config *config, struct error *err)
{
	ring->batch = config->batch;
	ring->slot_count = config->slots;
	ring->slots = calloc(config->slots, sizeof(*ring->slots));
	ring->fifo = calloc(config->slots, sizeof(*ring->fifo));
	ring->sequences =
		calloc((size_t)config->slots * config->batch, sizeof(*ring->sequences));
	ring->dirty = calloc(ring->layout.places, sizeof(*ring->dirty));
	if (ring->slots == NULL || ring->fifo == NULL || ring->sequences == NULL ||
	    ring->dirty == NULL)
		return error_sys(err, ENOMEM, "cannot make the shared ring");
	return 0;
}

static int bcast_make_memory(struct bcast_ring *ring, struct error *err)
{
	const struct bcast_layout *layout = &ring->layout;
	const struct shared_memory_config config = {
		.name = "dsa-bcast-ring",
		.bytes = layout->bytes,
		.huge_from = layout->samples % SHARED_HUGE_PAGE == 0 ? layout->samples
								     : layout->bytes,
		.read_only = true,
	};
	int result = shared_memory_make(&ring->memory, &config);

	if (result < 0)
		return shared_memory_fail(err, result, layout->bytes,
					  "a smaller --window");
	ring->header = ring->memory.start;
	ring->places = (struct bcast_place *)((char *)ring->memory.start +
					      layout->descriptors);
	ring->samples = (char *)ring->memory.start + layout->samples;
	return 0;
}

struct bcast_ring *bcast_open(const struct bcast_config *config, struct error *err)
{
	struct bcast_ring *ring = calloc(1, sizeof(*ring));

	if (ring == NULL)
		return error_null(
			error_sys(err, ENOMEM, "cannot make the shared ring"));
	pthread_mutex_init(&ring->lock, NULL);
	ring->memory.fd = -1;
	if (bcast_place_parts(ring, config, err) < 0 ||
	    bcast_ring_make_tables(ring, config, err) < 0 ||
	    bcast_make_memory(ring, err) < 0 ||
	    bcast_mirror_open(ring, config->gpu, err) < 0) {
		bcast_close(ring);
		return NULL;
	}
	bcast_sink_init(ring);
	ring->watcher = config->watcher;
	ring->context = config->context;
	bcast_set_reserved(ring, config->sequence);
	ring->tail = config->sequence;
	ring->header->layout = ring->layout;
	atomic_store(&ring->header->published, config->sequence);
	atomic_store(&ring->header->copied, config->sequence);
	return ring;
}

void bcast_close(struct bcast_ring *ring)
{
	if (ring == NULL)
		return;
	bcast_mirror_close(ring);
	for (int i = 0; i < BCAST_READERS; i++) /* they keep their tokens: read on */
		bcast_vacate(&ring->readers[i]);
	shared_memory_free(&ring->memory);
	pthread_mutex_destroy(&ring->lock);
	free(ring->slots);
	free(ring->fifo);
	free(ring->sequences);
	free(ring->dirty);
	free(ring);
}

struct batch_sink *bcast_sink(struct bcast_ring *ring)
{
	return &ring->sink;
}

uint32_t bcast_places(const struct bcast_ring *ring)
{
	return ring->layout.places;
}

uint64_t bcast_bytes(const struct bcast_ring *ring)
{
	return ring->layout.bytes;
}

int bcast_fd(const struct bcast_ring *ring)
{
	return ring->memory.fd;
}

uint64_t bcast_published(const struct bcast_ring *ring)
{
	return atomic_load(&ring->header->published);
}

uint64_t bcast_reserved(const struct bcast_ring *ring)
{
	return ring->reserved;
}

const struct bcast_place *bcast_place(const struct bcast_ring *ring, uint64_t sequence)
{
	const struct bcast_place *place = &ring->places[sequence % ring->layout.places];

	return sequence < bcast_published(ring) && place->sequence == sequence + 1
		       ? place
		       : NULL;
}

uint64_t bcast_full_since(const struct bcast_ring *ring)
{
	return atomic_load(&ring->full_since);
}

static void bcast_end_memory(struct bcast_ring *ring, enum bcast_end how, int code,
			     const char *why)
{
	struct bcast_header *header = ring->header;

	struct error failure = {0};

	if (atomic_load(&header->ended))
		return;
	/* who takes from the mirror gets all that was published, or the failure */
	if (bcast_mirror_finish(ring, &failure) < 0 && code == 0) {
		code = failure.code;
		why = failure.message;
	}
	header->code = code;
	snprintf(header->why, sizeof(header->why), "%.239s", why != NULL ? why : "");
	atomic_store(&header->ended, how);
	bcast_wake(ring);
}

void bcast_end(struct bcast_ring *ring, int code, const char *why)
{
	bcast_end_memory(ring, BCAST_ENDED, code, why);
}

void bcast_stop(struct bcast_ring *ring)
{
	bcast_end_memory(ring, BCAST_STOPPED, 0, NULL);
}

static bool bcast_ring_has_waiters(struct bcast_ring *ring)
{
	bool waits = false;

	pthread_mutex_lock(&ring->lock);
	for (int i = 0; i < BCAST_READERS && !waits; i++) {
		const struct bcast_reader_slot *reader = &ring->readers[i];
		const struct bcast_reader_page *page = reader->page.start;

		waits = reader->taken && atomic_load(&page->waiting) != 0;
	}
	pthread_mutex_unlock(&ring->lock);
	return waits;
}

/*
 * A reader loads the bell, stores `waiting`, loads `published` and sleeps while the
 * bell is what it was. If it missed what was published before this, its `waiting` is
 * seen here, and the bell that it loaded is older than this one: it wakes, or never
 * sleeps.
 */
void bcast_wake(struct bcast_ring *ring)
{
	atomic_fetch_add(&ring->header->bell, 1);
	if (bcast_ring_has_waiters(ring))
		futex_wake(&ring->header->bell);
}
