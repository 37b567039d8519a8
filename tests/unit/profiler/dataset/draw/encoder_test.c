/* encoder_test.c - an encoder whose memory is short is fit for the next picture. */
#include "profiler/dataset/draw/encoder.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 512, BYTES = 3 * SIDE * SIDE };

/* Takes many times the room that an encoder has at first. */
static uint8_t *noise(void)
{
	uint8_t *rgb = malloc(BYTES);
	uint32_t number = 1;

	assert_non_null(rgb);
	for (size_t i = 0; i < BYTES; i++) {
		number = number * 1664525 + 1013904223;
		rgb[i] = (uint8_t)(number >> 24);
	}
	return rgb;
}

static const uint8_t *encoded(struct encoder *encoder, const uint8_t *rgb, size_t *size)
{
	return encoder_run(encoder, rgb, (unsigned[]){SIDE, SIDE}, 1, 95, size);
}

TEST(each_time_that_room_is_short_is_survived)
{
	struct encoder *encoder = encoder_new(), *other = encoder_new();
	uint8_t *rgb = noise();
	const uint8_t *bytes = NULL, *same;
	unsigned failed = 0;
	size_t size, other_size;

	assert_true(encoder != NULL && other != NULL);
	while (bytes == NULL && failed < 10) {
		nomem_at(failed + 1);
		bytes = encoded(encoder, rgb, &size);
		nomem_at(0);
		failed += bytes == NULL;
	}
	assert_true(failed >= 2 && bytes != NULL);
	same = encoded(other, rgb, &other_size);
	assert_int_equal(size, other_size);
	assert_memory_equal(bytes, same, size);
	free(rgb);
	encoder_free(encoder);
	encoder_free(other);
}

TEST(no_encoder_without_memory)
{
	for (unsigned nth = 1; nth <= 2; nth++) {
		nomem_at(nth);
		assert_null(encoder_new());
		nomem_at(0);
	}
	encoder_free(NULL);
}
