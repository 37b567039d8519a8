/* bcast_slots.c - who reads the ring, and what the writer may use because of it. */
#include "loader/base/error.h"
#include "loader/share/ring/bcast_state.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Free slot, or BCAST_READERS. */
static uint32_t bcast_slots_free(const struct bcast_ring *ring)
{
	uint32_t reader = 0;

	while (reader < BCAST_READERS && ring->readers[reader].taken)
		reader++;
	return reader;
}

/* A fresh page each time: a reader that was thrown out may still write to its own. */
static int bcast_slots_furnish(struct bcast_reader_slot *reader, uint64_t start,
			       uint64_t token)
{
	const struct shared_memory_config config = {
		.name = "dsa-bcast-slot",
		.bytes = shared_page(),
		.huge_from = shared_page(),
	};
	int result = shared_memory_make(&reader->page, &config);
	struct bcast_reader_page *page = reader->page.start;

	if (result < 0)
		return result;
	reader->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (reader->event < 0) {
		result = -errno;
		shared_memory_free(&reader->page);
		return result;
	}
	page->token = token;
	atomic_store(&page->taken, start);
	atomic_store(&page->released, start);
	reader->start = reader->released = start;
	reader->dropped = false;
	reader->ahead = 0;
	reader->taken = true;
	return 0;
}

int bcast_attach(struct bcast_ring *ring, uint64_t start, struct bcast_handles *reader,
		 struct error *err)
{
	uint32_t number;
	int result;

	pthread_mutex_lock(&ring->lock);
	bcast_update(ring);
	number = bcast_slots_free(ring);
	if (number == BCAST_READERS) {
		result = error_set(err, EBUSY, "all %d reader slots are taken",
				   BCAST_READERS);
	} else if (start < ring->tail) {
		result = error_set(err, EINVAL,
				   "sample %llu of the stream is not kept any more",
				   (unsigned long long)start);
	} else {
		struct bcast_reader_slot *chosen = &ring->readers[number];

		result = bcast_slots_furnish(chosen, start, ++ring->tokens);
		if (result < 0)
			error_sys(err, -result, "cannot make a page for a reader");
		*reader = (struct bcast_handles){chosen->page.fd, chosen->event, start};
	}
	if (result == 0) {
		atomic_store(&ring->header->token[number], ring->tokens);
		result = (int)number;
	}
	pthread_mutex_unlock(&ring->lock);
	return result;
}

void bcast_vacate(struct bcast_reader_slot *reader)
{
	if (!reader->taken)
		return;
	shared_memory_free(&reader->page);
	close(reader->event);
	reader->taken = false;
}

void bcast_detach(struct bcast_ring *ring, uint32_t reader)
{
	pthread_mutex_lock(&ring->lock);
	bcast_update(ring); /* without it from here on nobody holds the tail back */
	atomic_store(&ring->header->token[reader], 0);
	bcast_vacate(&ring->readers[reader]);
	pthread_mutex_unlock(&ring->lock);
}

/* Numbers that a slot says, as far as they can be true. */
static uint64_t bcast_slots_believe(uint64_t said, uint64_t least, uint64_t most)
{
	return said < least ? least : said > most ? most : said;
}

static void bcast_slots_listen(const struct bcast_ring *ring,
			       struct bcast_reader_slot *reader)
{
	const struct bcast_reader_page *page = reader->page.start;
	uint64_t published = bcast_published(ring);
	uint64_t most = published > reader->start ? published : reader->start;
	uint64_t taken;

	reader->released = bcast_slots_believe(atomic_load(&page->released),
					       reader->released, most);
	taken = bcast_slots_believe(atomic_load(&page->taken), reader->released, most);
	if (reader->dropped && taken < reader->held)
		reader->held = taken;
}

/*
 * The reader stores `taken` before it looks at places, and then sees whether it still
 * has its pass. Either it does not, and looks at none of them; or its `taken` is seen
 * here. From now on it takes no more, so what it holds only shrinks.
 */
void bcast_drop(struct bcast_ring *ring, uint32_t reader)
{
	struct bcast_reader_slot *slot = &ring->readers[reader];

	pthread_mutex_lock(&ring->lock);
	if (slot->taken && !slot->dropped) {
		atomic_store(&ring->header->token[reader], 0);
		slot->held = bcast_published(ring);
		slot->dropped = true;
		bcast_slots_listen(ring, slot);
	}
	pthread_mutex_unlock(&ring->lock);
	bcast_wake(ring);
}

/* What a reader counts, as far as it can be. */
static uint64_t bcast_slots_figure(const _Atomic uint64_t *said, uint64_t most)
{
	return bcast_slots_believe(atomic_load_explicit(said, memory_order_relaxed), 0,
				   most);
}

static enum bcast_device bcast_slots_device(const struct bcast_reader_page *page)
{
	uint32_t said = atomic_load_explicit(&page->device, memory_order_relaxed);

	return said < BCAST_DEVICES ? (enum bcast_device)said : BCAST_NO_DEVICE;
}

void bcast_reader_state(const struct bcast_ring *ring, uint32_t reader,
			struct bcast_reader_state *state)
{
	struct bcast_ring *locked = (struct bcast_ring *)(uintptr_t)ring;
	struct bcast_reader_slot *slot = &locked->readers[reader];
	const struct bcast_reader_page *page;
	uint64_t samples; /* that were there at all */
	bool left;

	*state = (struct bcast_reader_state){0};
	pthread_mutex_lock(&locked->lock);
	if (slot->taken) {
		bcast_slots_listen(ring, slot);
		page = slot->page.start;
		left = atomic_load(&page->released) ==
		       UINT64_MAX; /* bcast_reader_close() */
		samples = bcast_published(ring);
		*state = (struct bcast_reader_state){
			.taken =
				bcast_slots_believe(atomic_load(&page->taken),
						    left ? slot->start : slot->released,
						    bcast_published(ring)),
			.released = slot->released,
			.waiting = atomic_load(&page->waiting) != 0,
			.dropped = slot->dropped,
			.batches = bcast_slots_figure(&page->batches, samples),
			.samples = bcast_slots_figure(&page->samples, samples),
			.waits = bcast_slots_figure(&page->waits, INT64_MAX),
			.waited_ns = bcast_slots_figure(&page->waited_ns, INT64_MAX),
			.device = bcast_slots_device(page),
		};
	}
	pthread_mutex_unlock(&locked->lock);
}

/* With nobody there the tail stays: the writer fills the memory and stops. */
void bcast_update(struct bcast_ring *ring)
{
	uint64_t least = UINT64_MAX, published = bcast_published(ring);

	for (int i = 0; i < BCAST_READERS; i++) {
		struct bcast_reader_slot *reader = &ring->readers[i];

		if (!reader->taken)
			continue;
		bcast_slots_listen(ring, reader);
		if (!reader->dropped && reader->released < least)
			least = reader->released;
	}
	if (least == UINT64_MAX)
		return;
	if (least > published)
		least = published;
	if (ring->mirror.there != NULL && atomic_load(&ring->header->copied) < least)
		least = atomic_load(&ring->header->copied);
	if (least > ring->tail)
		ring->tail = least;
}

uint64_t bcast_tail(const struct bcast_ring *ring)
{
	struct bcast_ring *locked = (struct bcast_ring *)(uintptr_t)ring;
	uint64_t tail;

	pthread_mutex_lock(&locked->lock);
	bcast_update(locked);
	tail = ring->tail;
	pthread_mutex_unlock(&locked->lock);
	return tail;
}

uint64_t bcast_gap(const struct bcast_ring *ring, uint64_t sequence)
{
	uint64_t left = 0;

	for (int i = 0; i < BCAST_READERS; i++) {
		const struct bcast_reader_slot *reader = &ring->readers[i];
		uint64_t length, offset;

		if (!reader->taken || !reader->dropped ||
		    reader->held <= reader->released)
			continue;
		length = reader->held - reader->released;
		offset = (sequence - reader->released) % ring->layout.places;
		if (offset < length && length - offset > left)
			left = length - offset;
	}
	return left;
}
