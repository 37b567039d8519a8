/* exif.c - reads the orientation that a camera wrote. */
#include "loader/jpeg/exif.h"

#include <stdbool.h>
#include <string.h>

enum {
	APP1 = 0xe1,
	START_OF_SCAN = 0xda,
	ORIENTATION = 0x0112,
	ENTRY = 12, /* bytes of an entry in a TIFF directory: tag, type, count, value */
	LONG = 4,   /* the type of four bytes; Exif asks for two, some write four */
};

/* A TIFF structure: offsets count from data, and may point anywhere. */
struct tiff {
	const unsigned char *data;
	size_t size;
	bool big_endian;
};

static unsigned exif_two(const struct tiff *tiff, size_t at)
{
	const unsigned char *p = tiff->data + at;

	return tiff->big_endian ? (unsigned)p[0] << 8 | p[1]
				: (unsigned)p[1] << 8 | p[0];
}

static size_t exif_four(const struct tiff *tiff, size_t at)
{
	size_t first = exif_two(tiff, at), second = exif_two(tiff, at + 2);

	return tiff->big_endian ? first << 16 | second : second << 16 | first;
}

static unsigned orientation_in(struct tiff *tiff)
{
	size_t at;
	unsigned entries;

	if (tiff->size < 8)
		return 1;
	tiff->big_endian = memcmp(tiff->data, "MM\0*", 4) == 0;
	if (!tiff->big_endian && memcmp(tiff->data, "II*\0", 4) != 0)
		return 1;
	at = exif_four(tiff, 4);
	if (at > tiff->size - 2)
		return 1;
	entries = exif_two(tiff, at);
	for (at += 2; entries > 0 && at + ENTRY <= tiff->size; entries--, at += ENTRY) {
		if (exif_two(tiff, at) == ORIENTATION) {
			size_t value = exif_two(tiff, at + 2) == LONG
					       ? exif_four(tiff, at + 8)
					       : exif_two(tiff, at + 8);

			return value >= 1 && value <= 8 ? (unsigned)value : 1;
		}
	}
	return 1;
}

unsigned exif_orientation(const unsigned char *jpeg, size_t size)
{
	static const char exif[6] = "Exif\0";
	size_t at = 2; /* behind the start-of-image marker */

	while (at + 4 <= size && jpeg[at] == 0xff && jpeg[at + 1] != START_OF_SCAN) {
		size_t length = (size_t)jpeg[at + 2] << 8 | jpeg[at + 3];
		const unsigned char *data = jpeg + at + 4;

		if (jpeg[at + 1] == 0xff) { /* fill byte */
			at++;
			continue;
		}
		if (length < 2 || length > size - at - 2)
			return 1;
		if (jpeg[at + 1] == APP1 && length >= 2 + sizeof(exif) &&
		    memcmp(data, exif, sizeof(exif)) == 0) {
			struct tiff tiff = {.data = data + sizeof(exif),
					    .size = length - 2 - sizeof(exif)};

			return orientation_in(&tiff);
		}
		at += 2 + length;
	}
	return 1;
}
