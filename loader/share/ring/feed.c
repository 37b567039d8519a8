#include "loader/share/ring/feed.h"
#include "loader/base/error.h"
#include "loader/base/futex.h"
#include "loader/share/ring/feed_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Places at a time that fill whole units of memory, a power of two. */
static uint64_t places_of(size_t unit, size_t sample_bytes)
{
	size_t lowest = sample_bytes & (~sample_bytes + 1);

	return lowest == 0 || lowest >= unit ? 1 : unit / lowest;
}

/*
 * Both mappings of the samples begin with a page; where it costs no more than an eighth
 * they begin with a huge one, so that the second has huge pages too.
 */
static uint64_t round_places(uint64_t places, size_t sample_bytes)
{
	uint64_t small = shared_round_up(places, places_of(SHARED_PAGE, sample_bytes));
	uint64_t huge =
		shared_round_up(places, places_of(SHARED_HUGE_PAGE, sample_bytes));

	return huge - small <= small / 8 ? huge : small;
}

static int feed_place_parts(struct feed *feed, const struct feed_config *config,
			    struct error *err)
{
	uint64_t places = round_places(config->places, config->sample_bytes);

	if (config->slots < 1 || config->batch < 1 || config->places < config->batch ||
	    !feed_lay_out(&feed->layout, places, config->sample_bytes,
			  config->state_bytes))
		return error_set(err, EINVAL,
				 "a feed of %u places of %zu bytes for %u batches of "
				 "%u can't be made",
				 config->places, config->sample_bytes, config->slots,
				 config->batch);
	feed->layout.audit = config->audit;
	return 0;
}

static int make_tables(struct feed *feed, const struct feed_config *config,
		       struct error *err)
{
	feed->batch = config->batch;
	feed->slot_count = config->slots;
	feed->slots = calloc(config->slots, sizeof(*feed->slots));
	feed->fifo = calloc(config->slots, sizeof(*feed->fifo));
	feed->sequences =
		calloc((size_t)config->slots * config->batch, sizeof(*feed->sequences));
	feed->dirty = calloc(feed->layout.places, sizeof(*feed->dirty));
	if (feed->slots == NULL || feed->fifo == NULL || feed->sequences == NULL ||
	    feed->dirty == NULL)
		return error_sys(err, ENOMEM, "cannot make the feed");
	return 0;
}

static int feed_make_memory(struct feed *feed, struct error *err)
{
	const struct feed_layout *layout = &feed->layout;
	const struct shared_memory_config config = {
		.name = "dsa-feed",
		.bytes = layout->bytes,
		.huge_from = layout->samples % SHARED_HUGE_PAGE == 0 ? layout->samples
								     : layout->bytes,
		.read_only = true,
	};
	int result = shared_memory_make(&feed->memory, &config);

	if (result < 0)
		return error_sys(
			err, -result,
			"cannot make %llu MB of shared memory for %u samples (a "
			"smaller window?)",
			(unsigned long long)layout->bytes >> 20, layout->places);
	feed->header = feed->memory.start;
	feed->places =
		(struct feed_place *)((char *)feed->memory.start + layout->descriptors);
	feed->samples = (char *)feed->memory.start + layout->samples;
	return 0;
}

struct feed *feed_open(const struct feed_config *config, struct error *err)
{
	struct feed *feed = calloc(1, sizeof(*feed));

	if (feed == NULL) {
		error_sys(err, ENOMEM, "cannot make the feed");
		return NULL;
	}
	pthread_mutex_init(&feed->lock, NULL);
	feed->memory.fd = -1;
	if (feed_place_parts(feed, config, err) < 0 ||
	    make_tables(feed, config, err) < 0 || feed_make_memory(feed, err) < 0) {
		feed_close(feed);
		return NULL;
	}
	feed_outlet_init(feed);
	feed_set_reserved(feed, config->sequence);
	feed->tail = config->sequence;
	feed->header->layout = feed->layout;
	atomic_store(&feed->header->published, config->sequence);
	return feed;
}

void feed_close(struct feed *feed)
{
	if (feed == NULL)
		return;
	for (int i = 0; i < FEED_SEATS; i++)
		feed_vacate(&feed->seats[i]); /* they keep their passes, and read on */
	shared_memory_free(&feed->memory);
	pthread_mutex_destroy(&feed->lock);
	free(feed->slots);
	free(feed->fifo);
	free(feed->sequences);
	free(feed->dirty);
	free(feed);
}

struct batch_sink *feed_outlet(struct feed *feed)
{
	return &feed->sink;
}

uint32_t feed_places(const struct feed *feed)
{
	return feed->layout.places;
}

uint64_t feed_bytes(const struct feed *feed)
{
	return feed->layout.bytes;
}

int feed_fd(const struct feed *feed)
{
	return feed->memory.fd;
}

uint64_t feed_published(const struct feed *feed)
{
	return atomic_load(&feed->header->published);
}

uint64_t feed_reserved(const struct feed *feed)
{
	return feed->reserved;
}

const struct feed_place *feed_place(const struct feed *feed, uint64_t sequence)
{
	const struct feed_place *place = &feed->places[sequence % feed->layout.places];

	return sequence < feed_published(feed) && place->sequence == sequence + 1
		       ? place
		       : NULL;
}

uint64_t feed_full_since(const struct feed *feed)
{
	return atomic_load(&feed->full_since);
}

void feed_save(struct feed *feed, const void *state, size_t bytes)
{
	struct feed_header *header = feed->header;
	uint32_t other = atomic_load(&header->state) == 1 ? 1 : 0;

	if (bytes > feed->layout.state_bytes)
		return;
	memcpy((char *)header + feed->layout.states +
		       other * feed_state_step(&feed->layout),
	       state, bytes);
	header->state_used[other] = bytes;
	atomic_store(&header->state, other + 1);
}

static void feed_end_memory(struct feed *feed, enum feed_end how, int code,
			    const char *why)
{
	struct feed_header *header = feed->header;

	if (atomic_load(&header->ended))
		return;
	header->code = code;
	snprintf(header->why, sizeof(header->why), "%s", why != NULL ? why : "");
	atomic_store(&header->ended, how);
	feed_ring(feed);
}

void feed_end(struct feed *feed, int code, const char *why)
{
	feed_end_memory(feed, FEED_ENDED, code, why);
}

void feed_stop(struct feed *feed)
{
	feed_end_memory(feed, FEED_STOPPED, 0, NULL);
}

static bool anyone_waits(struct feed *feed)
{
	bool waits = false;

	pthread_mutex_lock(&feed->lock);
	for (int i = 0; i < FEED_SEATS && !waits; i++) {
		const struct feed_seating *seat = &feed->seats[i];
		const struct feed_page *page = seat->page.start;

		waits = seat->taken && atomic_load(&page->waiting) != 0;
	}
	pthread_mutex_unlock(&feed->lock);
	return waits;
}

/*
 * A reader loads the bell, stores `waiting`, loads `published` and sleeps while the bell
 * is what it was. If it missed what was published before this, its `waiting` is seen
 * here, and the bell that it loaded is older than this one: it wakes, or never sleeps.
 */
void feed_ring(struct feed *feed)
{
	atomic_fetch_add(&feed->header->bell, 1);
	if (anyone_waits(feed))
		futex_wake(&feed->header->bell);
}
