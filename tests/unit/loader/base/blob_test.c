#include "loader/base/blob.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum { IDLE = 1 << 20, REGION = 4 << 20 }; /* the first is too small for a region */

static void assert_fits(struct blob *blob, size_t size, size_t alignment)
{
	const unsigned char *end = (unsigned char *)blob + malloc_usable_size(blob);

	assert_non_null(blob);
	assert_int_equal(blob->size, size);
	assert_int_equal((uintptr_t)blob->data % alignment, 0);
	assert_true(blob->data >= (unsigned char *)(blob + 1));
	assert_true(blob->data + size <= end);
	memset(blob->data, 0xa5, size);
}

TEST(every_size_has_room_however_often_it_is_reused)
{
	struct blob_pool *pool = blob_pool_new(512, IDLE);

	for (size_t size = 1; size < 40000; size += 7) {
		struct blob *blob = blob_pool_take(pool, size);

		assert_fits(blob, size, 512);
		blob_put(blob);
	}
	for (size_t size = 40000; size > 0; size -= size > 4100 ? 11 : 1) {
		struct blob *blob = blob_pool_take(pool, size);

		assert_fits(blob, size, 512);
		blob_put(blob);
	}
	blob_pool_free(pool);
}

TEST(sizes_at_the_edges_have_room)
{
	struct blob_pool *pool = blob_pool_new(1, IDLE);
	struct blob *blob;

	for (unsigned bits = 0; bits < 24; bits++) {
		for (size_t size = (1u << bits) + 1; size + 1 >= 1u << bits; size--) {
			if (size == 0)
				break;
			blob = blob_pool_take(pool, size);
			assert_fits(blob, size, 1);
			blob_put(blob);
		}
	}
	assert_null(blob_pool_take(pool, SIZE_MAX));
	assert_null(blob_pool_take(pool, ((size_t)1 << 31) + 1));
	assert_null(blob_new(SIZE_MAX - 8, 1));
	blob_pool_free(pool);
}

TEST(what_is_lent_stays_where_it_is)
{
	static const char bytes[] = "kept by somebody else";
	struct blob *blob = blob_lend(bytes, sizeof(bytes)), *kept;

	assert_non_null(blob);
	assert_ptr_equal(blob->data, bytes);
	assert_int_equal(blob->size, sizeof(bytes));
	kept = blob_compact(blob);
	assert_ptr_equal(kept, blob);
	blob_put(kept);
	blob_put(blob);
}

/* 6 MB in blobs of up to 32 KiB: the last ones come from the heap. */
TEST(blobs_of_a_region_lie_apart)
{
	struct blob_pool *pool = blob_pool_new(64, REGION);
	struct blob *blobs[400], *again;

	for (size_t i = 0; i < 400; i++) {
		blobs[i] = blob_pool_take(pool, 1 + i * 7919 % 32768);
		assert_non_null(blobs[i]);
		assert_int_equal((uintptr_t)blobs[i]->data % 64, 0);
		memset(blobs[i]->data, (int)(i % 251), blobs[i]->size);
	}
	for (size_t i = 0; i < 400; i++)
		for (size_t j = 0; j < blobs[i]->size; j++)
			assert_int_equal(blobs[i]->data[j], i % 251);
	blob_put(blobs[7]);
	nomem_at(1);
	again = blob_pool_take(pool, 1 + 7 * 7919 % 32768);
	nomem_at(0);
	assert_ptr_equal(again, blobs[7]);
	for (size_t i = 0; i < 399; i++)
		blob_put(blobs[i]);
	blob_pool_free(pool);
	memset(blobs[399]->data, 1, blobs[399]->size);
	blob_put(blobs[399]);
}

TEST(memory_is_used_again)
{
	struct blob_pool *pool = blob_pool_new(1, IDLE);
	struct blob *first = blob_pool_take(pool, 100000), *second;

	first->size = 50000; /* as a reader does that got less */
	blob_put(first);
	second = blob_pool_take(pool, 99999);
	assert_ptr_equal(second, first);
	blob_put(second);
	blob_pool_free(pool);
}

TEST(small_ones_take_little)
{
	struct blob_pool *pool = blob_pool_new(1, IDLE);
	struct blob *blob = blob_pool_take(pool, 100);

	assert_true(malloc_usable_size(blob) < 512);
	blob_put(blob);
	blob_pool_free(pool);
}

TEST(no_more_is_kept_than_allowed)
{
	struct blob_pool *pool = blob_pool_new(1, 150000);
	struct blob *a = blob_pool_take(pool, 100000),
		    *b = blob_pool_take(pool, 100000);
	struct blob *one, *two;

	blob_put(a);
	nomem_at(1); /* the second was not kept, so the next but one needs memory */
	blob_put(b);
	one = blob_pool_take(pool, 100000);
	assert_ptr_equal(one, a);
	two = blob_pool_take(pool, 100000);
	assert_null(two);
	nomem_at(0);
	blob_put(one);
	blob_pool_free(pool);
}

TEST(a_blob_outlives_its_pool)
{
	struct blob_pool *pool = blob_pool_new(1, IDLE);
	struct blob *blob = blob_pool_take(pool, 5000);

	blob_pool_free(pool);
	assert_fits(blob, 5000, 1);
	blob_put(blob_ref(blob));
	blob_put(blob);
}

static void *take_and_put(void *pool)
{
	for (size_t i = 0; i < 2000; i++) {
		struct blob *blob = blob_pool_take(pool, 1 + i * 37 % 20000);

		memset(blob->data, 1, blob->size);
		blob_put(blob);
	}
	return NULL;
}

TEST(threads_may_share_a_pool)
{
	struct blob_pool *pool = blob_pool_new(64, IDLE);
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, take_and_put, pool);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	blob_pool_free(pool);
}

TEST(short_memory_is_told)
{
	struct blob_pool *pool;

	nomem_at(1);
	assert_null(blob_pool_new(1, IDLE));
	pool = blob_pool_new(1, 100);
	nomem_at(1);
	assert_null(blob_pool_take(pool, 1));
	nomem_at(1);
	assert_null(blob_new(1, 1));
	nomem_at(0);
	blob_pool_free(pool);
}
