/* evict.c - a cache of entries, of which an order says which one goes next. */
#include "loader/cache/evict.h"
#include "loader/base/blob.h"
#include "loader/cache.h"
#include "loader/cache/entry.h"

#include <pthread.h>
#include <stdlib.h>

struct evict {
	const struct evict_order *order;
	void *state; /* of the order */
	size_t samples, capacity;
	pthread_mutex_t lock;   /* held by fills and evictions, never by a get */
	atomic_size_t held;     /* bytes, at most capacity; lock guards writes */
	atomic_size_t resident; /* samples; lock guards writes */
	struct entry entries[];
};

void *evict_open(const struct cache_policy *policy, size_t samples, size_t capacity)
{
	const struct evict_order *order = policy->order;
	struct evict *evict;

	if (samples > UINT32_MAX)
		return NULL;
	evict = calloc(1, sizeof(*evict) + samples * sizeof(evict->entries[0]));
	if (evict == NULL)
		return NULL;
	evict->state = order->open((uint32_t)samples);
	if (evict->state == NULL) {
		free(evict);
		return NULL;
	}
	evict->order = order;
	evict->samples = samples;
	evict->capacity = capacity;
	pthread_mutex_init(&evict->lock, NULL);
	return evict;
}

void evict_close(void *state)
{
	struct evict *evict = state;

	for (size_t i = 0; i < evict->samples; i++)
		entry_clear(&evict->entries[i]);
	evict->order->close(evict->state);
	pthread_mutex_destroy(&evict->lock);
	free(evict);
}

struct blob *evict_get(void *state, size_t sample)
{
	struct evict *evict = state;
	struct blob *blob = entry_get(&evict->entries[sample]);

	if (blob != NULL && evict->order->touch != NULL)
		evict->order->touch(evict->state, (uint32_t)sample);
	return blob;
}

static void make_room(struct evict *evict, size_t size)
{
	while (size > evict->capacity - evict->held) {
		uint32_t victim = evict->order->pop(evict->state);

		evict->held -= entry_clear(&evict->entries[victim]);
		evict->resident--;
	}
}

static bool evict_admit(struct evict *evict, size_t sample, struct blob *blob)
{
	if (entry_full(&evict->entries[sample]))
		return false;
	make_room(evict, blob->size);
	if (!entry_fill(&evict->entries[sample], blob))
		return false;
	evict->held += blob->size;
	evict->resident++;
	evict->order->push(evict->state, (uint32_t)sample);
	return true;
}

bool evict_offer(void *state, size_t sample, struct blob *blob)
{
	struct evict *evict = state;
	bool admitted;

	if (blob->size > evict->capacity)
		return false;
	pthread_mutex_lock(&evict->lock);
	admitted = evict_admit(evict, sample, blob);
	pthread_mutex_unlock(&evict->lock);
	return admitted;
}

void evict_held(const void *state, struct cache_stats *stats)
{
	const struct evict *evict = state;

	stats->resident_bytes = evict->held;
	stats->resident = evict->resident;
}
