/* blob.c - counts references, and keeps the memory of blobs by size for the next. */
#include "loader/base/blob.h"
#include "loader/base/bytes/huge.h"
#include "loader/base/thread_pool.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	SMALLEST_BITS = 8,
	STEP_BITS = 3, /* 8 sizes from one power of two to the next: 1/8 is wasted */
	STEPS = 1 << STEP_BITS,
	OCTAVES = 24,
	CLASSES = 1 + OCTAVES * STEPS, /* the first: up to 1 << SMALLEST_BITS */
	CARVED = 1 << 20, /* larger ones are few, and mapped alone by malloc() */
};

/* A sanitizer sees where a blob ends on the heap alone. */
#ifdef BLOBS_ON_HEAP
enum { REGIONS = 0 };
#else
enum { REGIONS = 1 };
#endif

struct blob_pool {
	atomic_uint references; /* the owner's, and one for each blob in use */
	size_t alignment;
	pthread_mutex_t lock; /* guards the rest */
	size_t idle, most_idle;
	struct blob *free[CLASSES];
	unsigned char *region;      /* NULL: not mapped */
	size_t region_size, carved; /* bytes: of it, and given to blobs */
};

/* The first aligned byte behind the head. */
static unsigned char *blob_start(struct blob *blob, size_t alignment)
{
	size_t gap = -(uintptr_t)(blob + 1) & (alignment - 1);

	return (unsigned char *)(blob + 1) + gap;
}

struct blob *blob_new(size_t size, size_t alignment)
{
	struct blob *blob;

	if (size > SIZE_MAX - sizeof(*blob) - alignment)
		return NULL;
	blob = malloc(sizeof(*blob) + alignment - 1 + size);
	if (blob == NULL)
		return NULL;
	atomic_init(&blob->references, 1);
	blob->size = size;
	blob->data = blob_start(blob, alignment);
	blob->carved = false;
	blob->pool = NULL;
	return blob;
}

struct blob *blob_lend(const void *bytes, size_t size)
{
	struct blob *blob = blob_new(0, 1);

	if (blob == NULL)
		return NULL;
	blob->data = (unsigned char *)(uintptr_t)bytes; /* a blob never changes */
	blob->size = size;
	return blob;
}

struct blob_pool *blob_pool_new(size_t alignment, size_t most_idle)
{
	struct blob_pool *pool = calloc(1, sizeof(*pool));

	if (pool == NULL)
		return NULL;
	atomic_init(&pool->references, 1);
	thread_lock_init(&pool->lock);
	pool->alignment = alignment;
	pool->most_idle = most_idle;
	return pool;
}

static void pool_unref(struct blob_pool *pool)
{
	if (atomic_fetch_sub(&pool->references, 1) != 1)
		return;
	pthread_mutex_destroy(&pool->lock);
	if (pool->region != NULL)
		munmap(pool->region, pool->region_size);
	free(pool);
}

void blob_pool_free(struct blob_pool *pool)
{
	if (pool == NULL)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->most_idle = 0;
	for (int i = 0; i < CLASSES; i++) {
		struct blob *next, *blob = pool->free[i];

		for (; blob != NULL; blob = next) {
			next = blob->next;
			if (!blob->carved)
				free(blob);
		}
		pool->free[i] = NULL;
	}
	pthread_mutex_unlock(&pool->lock);
	pool_unref(pool);
}

/* The class that holds `size` bytes, and how many its blobs hold. */
static unsigned class_of(size_t size, size_t *capacity)
{
	unsigned octave, step;

	if (size <= (size_t)1 << SMALLEST_BITS) {
		*capacity = (size_t)1 << SMALLEST_BITS;
		return 0;
	}
	octave = 63 - (unsigned)__builtin_clzll(size - 1);
	step = octave - STEP_BITS;
	*capacity = (((size - 1) >> step) + 1) << step;
	return 1 + (octave - SMALLEST_BITS) * STEPS + ((size - 1) >> step) % STEPS;
}

/* Once, of whole huge pages; only what is carved of it becomes memory. */
static void pool_map(struct blob_pool *pool)
{
	size_t size = REGIONS ? pool->most_idle / HUGE_PAGE * HUGE_PAGE : 0;
	unsigned char *region;

	if (size == 0 || pool->region_size > 0)
		return;
	pool->region_size = size + HUGE_PAGE;
	region = mmap(NULL, pool->region_size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (region == MAP_FAILED)
		return;
	huge_advise(region, pool->region_size);
	pool->region = region;
	pool->carved = -(uintptr_t)region & (HUGE_PAGE - 1);
}

/* Of the region's, with the lock held; NULL: there is no more. */
static struct blob *pool_carve(struct blob_pool *pool, size_t capacity)
{
	size_t size = sizeof(struct blob) + pool->alignment - 1 + capacity;
	struct blob *blob;

	size += -size & (_Alignof(struct blob) - 1);
	if (pool->region == NULL)
		pool_map(pool);
	if (pool->region == NULL || size > CARVED ||
	    pool->region_size - pool->carved < size)
		return NULL;
	blob = (struct blob *)(pool->region + pool->carved);
	pool->carved += size;
	blob->carved = true;
	return blob;
}

struct blob *blob_pool_take(struct blob_pool *pool, size_t size)
{
	struct blob *blob;
	size_t capacity;
	unsigned class;

	if (size > (size_t)1 << (SMALLEST_BITS + OCTAVES - 1))
		return NULL;
	class = class_of(size, &capacity);
	pthread_mutex_lock(&pool->lock);
	blob = pool->free[class];
	if (blob != NULL) {
		pool->free[class] = blob->next;
		pool->idle -= capacity;
	} else {
		blob = pool_carve(pool, capacity);
	}
	pthread_mutex_unlock(&pool->lock);
	if (blob == NULL)
		blob = blob_new(capacity, pool->alignment);
	if (blob == NULL)
		return NULL;
	atomic_init(&blob->references, 1);
	atomic_fetch_add_explicit(&pool->references, 1, memory_order_relaxed);
	blob->data = blob_start(blob, pool->alignment);
	blob->size = size;
	blob->room = size;
	blob->pool = pool;
	return blob;
}

static void give_back(struct blob_pool *pool, struct blob *blob)
{
	size_t capacity;
	unsigned class = class_of(blob->room, &capacity);

	pthread_mutex_lock(&pool->lock);
	if (blob->carved || pool->idle + capacity <= pool->most_idle) {
		blob->next = pool->free[class];
		pool->free[class] = blob;
		pool->idle += capacity;
		blob = NULL;
	}
	pthread_mutex_unlock(&pool->lock);
	free(blob);
	pool_unref(pool);
}

void blob_cut(struct blob *blob, size_t skip, size_t size)
{
	blob->data += skip;
	blob->size = size;
}

struct blob *blob_compact(struct blob *blob)
{
	struct blob *copy;
	size_t capacity;

	if (blob->pool == NULL)
		return blob_ref(blob);
	class_of(blob->room, &capacity);
	if (capacity + blob->pool->alignment - 1 <= blob->size + blob->size / 4)
		return blob_ref(blob);
	copy = blob_new(blob->size, 1);
	if (copy != NULL)
		memcpy(copy->data, blob->data, blob->size);
	return copy;
}

struct blob *blob_ref(struct blob *blob)
{
	blob_ref_many(blob, 1);
	return blob;
}

void blob_put(struct blob *blob)
{
	if (blob != NULL)
		blob_put_many(blob, 1);
}

void blob_ref_many(struct blob *blob, unsigned count)
{
	atomic_fetch_add_explicit(&blob->references, count, memory_order_relaxed);
}

void blob_put_many(struct blob *blob, unsigned count)
{
	if (atomic_fetch_sub(&blob->references, count) != count)
		return;
	if (blob->pool != NULL)
		give_back(blob->pool, blob);
	else
		free(blob);
}
