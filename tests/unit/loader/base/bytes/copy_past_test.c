/* copy_past_test.c - what is copied past the caches is what memcpy() copies. */
#include "loader/base/bytes/copy_past.h"
#include "tests/lib/test.h"

#include <stddef.h>

enum { MOST = 200, ROOM = MOST + 64 };

/* Every length to every alignment, and nothing beside it. */
TEST(pieces_of_large_and_small_samples_arrive)
{
	static const size_t wholes[] = {MOST, COPY_PAST - 1, COPY_PAST};
	unsigned char from[ROOM], to[ROOM], expected[ROOM];

	for (unsigned i = 0; i < ROOM; i++)
		from[i] = (unsigned char)(i + 1);
	for (size_t at = 0; at < 3 * 17 * (size_t)(MOST + 1); at++) {
		size_t whole = wholes[at % 3], shift = at / 3 % 17;
		size_t size = at / (3 * 17);

		memset(to, 0, ROOM);
		memset(expected, 0, ROOM);
		memcpy(expected + shift, from + 5, size);
		copy_past(to + shift, from + 5, size, whole);
		assert_memory_equal(to, expected, ROOM);
	}
}
