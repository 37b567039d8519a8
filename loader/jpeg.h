/*
 * jpeg.h - decodes a region of a JPEG, row by row.
 *
 *	jpeg_open [-> jpeg_reduce] -> jpeg_begin -> jpeg_rows ... -> jpeg_end
 *
 * One struct jpeg serves one thread and any number of images in turn. Rows are
 * four bytes a pixel: R G B and one that holds anything. They equal, value by value,
 * the same region of libjpeg-turbo's decode of the whole image.
 *
 * Errors, one line in err: -EBADMSG the bytes are no JPEG, end early or are corrupt;
 * -EFBIG the image is unreasonable; -ENOMEM.
 */
#ifndef DSA_JPEG_H
#define DSA_JPEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct jpeg;

enum {
	JPEG_PIXELS_MAX = 178956970, /* Pillow refuses larger ones too */
	JPEG_SCANS_MAX = 100, /* of a progressive image; encoders write about 10 */
};

/* How much coarser colour is stored than light. */
enum jpeg_sampling {
	JPEG_444,
	JPEG_422,
	JPEG_420,
	JPEG_440,
	JPEG_411,
	JPEG_OTHER,
	JPEG_SAMPLINGS
};

struct jpeg_info {
	unsigned width, height; /* as stored */
	unsigned orientation;   /* as in loader/jpeg/exif.h */
	unsigned components;    /* 1 grey, 3 colour, 4 CMYK */
	enum jpeg_sampling sampling;
	bool progressive;
	bool restarts; /* has restart markers */
};

struct jpeg_region {
	unsigned x, y, width, height;
};

/* NULL when memory is short. */
struct jpeg *jpeg_new(void);
void jpeg_free(struct jpeg *jpeg);

/* Reads the header of an image. bytes must stay until jpeg_end(). -EFBIG leaves info filled. */
int jpeg_open(struct jpeg *jpeg, const void *bytes, size_t size, struct jpeg_info *info,
	      struct error *err);

/* True when the bytes ended before what was asked for: they may be the first of more. */
bool jpeg_ended(const struct jpeg *jpeg);

/*
 * Reduces the image while it is decoded, to eighths (1 to 8) of its width and height,
 * as libjpeg does; info becomes what is left. The region is then the whole of it.
 */
void jpeg_reduce(struct jpeg *jpeg, unsigned eighths, struct jpeg_info *info);

/* Chooses the region, which must lie within the image. */
int jpeg_begin(struct jpeg *jpeg, const struct jpeg_region *region, struct error *err);

/* The next count rows of the region, valid until the next call; 16 bytes behind each
 * may be read. */
int jpeg_rows(struct jpeg *jpeg, unsigned count, const uint8_t **rows,
	      struct error *err);

/*
 * After the last row: an image that lacks its end marker is proven whole by decoding
 * the rest of it. (What lies below the region and does have an end is not looked at.)
 */
int jpeg_end(struct jpeg *jpeg, struct error *err);

/* Pixels decoded of the image so far: rows read x columns decoded of each. */
uint64_t jpeg_pixels(const struct jpeg *jpeg);

#endif
