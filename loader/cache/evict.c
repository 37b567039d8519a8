/* evict.c - a cache of entries, of which an order says which one goes next. */
#include "loader/cache/evict.h"
#include "loader/base/blob.h"
#include "loader/base/thread_pool.h"
#include "loader/cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/*
 * A cache entry that threads may get while another one evicts it, without
 * a lock.
 *
 *	 63     48 47                                          0
 *	+---------+---------------------------------------------+
 *	|  given  |               struct blob *                 |     0: empty
 *	+---------+---------------------------------------------+
 *
 * A full entry owns ENTRY_STOCK - given references of its blob, paid in advance when
 * it was filled. A getter takes one of them by adding 1 to `given`, in the very step
 * that reads the pointer: so it never touches a blob to which it has no reference.
 * Whoever empties the entry ends those that were not given. A getter that finds the
 * stock half empty pays for another half.
 */
struct entry {
	_Atomic uint64_t word;
};

enum { ENTRY_STOCK = 0xffff, ENTRY_HALF = 0x8000 };

struct evict {
	const struct evict_order *order;
	void *state; /* of the order */
	size_t samples, capacity;
	pthread_mutex_t lock;   /* held by fills and evictions, never by a get */
	atomic_size_t held;     /* bytes, at most capacity; lock guards writes */
	atomic_size_t resident; /* samples; lock guards writes */
	struct entry entries[];
};

#define GIVEN_SHIFT  48
#define ADDRESS_MASK ((UINT64_C(1) << GIVEN_SHIFT) - 1)

static struct blob *word_blob(uint64_t word)
{
	return (struct blob *)(uintptr_t)(word & ADDRESS_MASK);
}

static unsigned word_given(uint64_t word)
{
	return (unsigned)(word >> GIVEN_SHIFT);
}

/*
 * The caller holds a reference. Whatever happens meanwhile, a word (blob, given) that
 * is replaced by (blob, given - HALF) has to be matched by HALF more references; it
 * does not matter whether it is still the word that made us come here.
 */
static void entry_restock(struct entry *entry, struct blob *blob)
{
	uint64_t word = atomic_load(&entry->word);

	blob_ref_many(blob, ENTRY_HALF);
	while (word_blob(word) == blob && word_given(word) >= ENTRY_HALF)
		if (atomic_compare_exchange_weak(
			    &entry->word, &word,
			    word - ((uint64_t)ENTRY_HALF << GIVEN_SHIFT)))
			return;
	blob_put_many(blob, ENTRY_HALF);
}

/* The blob, with a reference for the caller; NULL if the entry is empty. Any thread. */
static struct blob *entry_get(struct entry *entry)
{
	uint64_t word = atomic_load_explicit(&entry->word, memory_order_relaxed);
	struct blob *blob;

	do {
		if (word == 0)
			return NULL;
	} while (!atomic_compare_exchange_weak(&entry->word, &word,
					       word + (UINT64_C(1) << GIVEN_SHIFT)));
	blob = word_blob(word);
	if (word_given(word) + 1 >= ENTRY_HALF)
		entry_restock(entry, blob);
	return blob;
}

static bool entry_full(const struct entry *entry)
{
	return atomic_load_explicit(&entry->word, memory_order_relaxed) != 0;
}

/* Fills an empty entry; one thread at a time. False if the address has over 48 bits. */
static bool entry_fill(struct entry *entry, struct blob *blob)
{
	uint64_t word = (uint64_t)(uintptr_t)blob;

	if (word > ADDRESS_MASK)
		return false;
	blob_ref_many(blob, ENTRY_STOCK);
	atomic_store(&entry->word, word);
	return true;
}

/* Empties the entry. Returns the bytes its blob has. */
static size_t entry_clear(struct entry *entry)
{
	uint64_t word = atomic_exchange(&entry->word, 0);
	struct blob *blob = word_blob(word);
	size_t size;

	if (word == 0)
		return 0;
	size = blob->size;
	blob_put_many(blob, ENTRY_STOCK - word_given(word));
	return size;
}

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
	thread_lock_init(&evict->lock);
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

bool evict_has(const void *state, size_t sample)
{
	const struct evict *evict = state;

	return entry_full(&evict->entries[sample]);
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
