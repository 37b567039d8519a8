/* feed_seats.c - who reads the feed, and what the writer may use because of it. */
#include "loader/base/error.h"
#include "loader/share/ring/feed_state.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Free seat, or FEED_SEATS. */
static uint32_t free_seat(const struct feed *feed)
{
	uint32_t seat = 0;

	while (seat < FEED_SEATS && feed->seats[seat].taken)
		seat++;
	return seat;
}

/* A fresh page each time: a reader that was thrown out may still write to its own. */
static int feed_seats_furnish(struct feed_seating *seat, uint64_t start, uint64_t pass)
{
	const struct shared_memory_config config = {
		.name = "dsa-seat",
		.bytes = SHARED_PAGE,
		.huge_from = SHARED_PAGE,
	};
	int result = shared_memory_make(&seat->page, &config);
	struct feed_page *page = seat->page.start;

	if (result < 0)
		return result;
	seat->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (seat->event < 0) {
		result = -errno;
		shared_memory_free(&seat->page);
		return result;
	}
	page->pass = pass;
	atomic_store(&page->taken, start);
	atomic_store(&page->released, start);
	seat->start = seat->released = start;
	seat->dropped = false;
	seat->ahead = 0;
	seat->taken = true;
	return 0;
}

int feed_sit(struct feed *feed, uint64_t start, struct feed_seat *seat,
	     struct error *err)
{
	uint32_t number;
	int result;

	pthread_mutex_lock(&feed->lock);
	feed_update(feed);
	number = free_seat(feed);
	if (number == FEED_SEATS) {
		result = error_set(err, EBUSY, "all %d seats are taken", FEED_SEATS);
	} else if (start < feed->tail) {
		result = error_set(err, EINVAL,
				   "sample %llu of the stream is not kept any more",
				   (unsigned long long)start);
	} else {
		struct feed_seating *chosen = &feed->seats[number];

		result = feed_seats_furnish(chosen, start, ++feed->passes);
		if (result < 0)
			error_sys(err, -result, "cannot make a page for a reader");
		*seat = (struct feed_seat){chosen->page.fd, chosen->event, start};
	}
	if (result == 0) {
		atomic_store(&feed->header->pass[number], feed->passes);
		result = (int)number;
	}
	pthread_mutex_unlock(&feed->lock);
	return result;
}

void feed_vacate(struct feed_seating *seat)
{
	if (!seat->taken)
		return;
	shared_memory_free(&seat->page);
	close(seat->event);
	seat->taken = false;
}

void feed_stand(struct feed *feed, uint32_t seat)
{
	struct feed_seating *seating = &feed->seats[seat];

	pthread_mutex_lock(&feed->lock);
	feed_update(
		feed); /* without it from here on: nobody holds the tail back then */
	atomic_store(&feed->header->pass[seat], 0);
	shared_memory_free(&seating->page);
	close(seating->event);
	seating->taken = false;
	pthread_mutex_unlock(&feed->lock);
}

/* Numbers that a seat says, as far as they can be true. */
static uint64_t feed_seats_believe(uint64_t said, uint64_t least, uint64_t most)
{
	return said < least ? least : said > most ? most : said;
}

static void feed_seats_listen(const struct feed *feed, struct feed_seating *seat)
{
	const struct feed_page *page = seat->page.start;
	uint64_t published = feed_published(feed);
	uint64_t most = published > seat->start ? published : seat->start;
	uint64_t taken;

	seat->released =
		feed_seats_believe(atomic_load(&page->released), seat->released, most);
	taken = feed_seats_believe(atomic_load(&page->taken), seat->released, most);
	if (seat->dropped && taken < seat->held)
		seat->held = taken;
}

/*
 * The reader stores `taken` before it looks at places, and then sees whether it still
 * has its pass. Either it does not, and looks at none of them; or its `taken` is seen
 * here. From now on it takes no more, so what it holds only shrinks.
 */
void feed_drop(struct feed *feed, uint32_t seat)
{
	struct feed_seating *seating = &feed->seats[seat];

	pthread_mutex_lock(&feed->lock);
	if (seating->taken && !seating->dropped) {
		atomic_store(&feed->header->pass[seat], 0);
		seating->held = feed_published(feed);
		seating->dropped = true;
		feed_seats_listen(feed, seating);
	}
	pthread_mutex_unlock(&feed->lock);
	feed_ring(feed);
}

/* What a reader counts, as far as it can be. */
static uint64_t feed_seats_figure(const _Atomic uint64_t *said, uint64_t most)
{
	return feed_seats_believe(atomic_load_explicit(said, memory_order_relaxed), 0,
				  most);
}

void feed_seat_state(const struct feed *feed, uint32_t seat,
		     struct feed_seat_state *state)
{
	struct feed *locked = (struct feed *)(uintptr_t)feed;
	struct feed_seating *seating = &locked->seats[seat];
	const struct feed_page *page;
	uint64_t samples; /* that were there at all */
	bool left;

	*state = (struct feed_seat_state){0};
	pthread_mutex_lock(&locked->lock);
	if (seating->taken) {
		feed_seats_listen(feed, seating);
		page = seating->page.start;
		left = atomic_load(&page->released) == UINT64_MAX; /* feed_leave() */
		samples = feed_published(feed);
		*state = (struct feed_seat_state){
			.taken = feed_seats_believe(atomic_load(&page->taken),
						    left ? seating->start
							 : seating->released,
						    feed_published(feed)),
			.released = seating->released,
			.waiting = atomic_load(&page->waiting) != 0,
			.dropped = seating->dropped,
			.batches = feed_seats_figure(&page->batches, samples),
			.samples = feed_seats_figure(&page->samples, samples),
			.waits = feed_seats_figure(&page->waits, INT64_MAX),
			.waited_ns = feed_seats_figure(&page->waited_ns, INT64_MAX),
		};
	}
	pthread_mutex_unlock(&locked->lock);
}

/* With nobody there the tail stays: the writer fills the memory and stops. */
void feed_update(struct feed *feed)
{
	uint64_t least = UINT64_MAX, published = feed_published(feed);

	for (int i = 0; i < FEED_SEATS; i++) {
		struct feed_seating *seat = &feed->seats[i];

		if (!seat->taken)
			continue;
		feed_seats_listen(feed, seat);
		if (!seat->dropped && seat->released < least)
			least = seat->released;
	}
	if (least == UINT64_MAX)
		return;
	if (least > published)
		least = published;
	if (least > feed->tail)
		feed->tail = least;
}

uint64_t feed_tail(const struct feed *feed)
{
	struct feed *locked = (struct feed *)(uintptr_t)feed;
	uint64_t tail;

	pthread_mutex_lock(&locked->lock);
	feed_update(locked);
	tail = feed->tail;
	pthread_mutex_unlock(&locked->lock);
	return tail;
}

uint64_t feed_island(const struct feed *feed, uint64_t sequence)
{
	uint64_t left = 0;

	for (int i = 0; i < FEED_SEATS; i++) {
		const struct feed_seating *seat = &feed->seats[i];
		uint64_t length, offset;

		if (!seat->taken || !seat->dropped || seat->held <= seat->released)
			continue;
		length = seat->held - seat->released;
		offset = (sequence - seat->released) % feed->layout.places;
		if (offset < length && length - offset > left)
			left = length - offset;
	}
	return left;
}
