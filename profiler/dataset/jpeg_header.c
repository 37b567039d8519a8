/* jpeg_header.c - walks over the markers of a JPEG. */
#include "profiler/dataset/jpeg_header.h"

#include <errno.h>

/* Markers: ITU-T T.81, table B.1. */
enum {
	TEM = 0x01,
	SOF0 = 0xc0,
	DHT = 0xc4,
	JPG = 0xc8,
	DAC = 0xcc,
	SOF15 = 0xcf,
	RST0 = 0xd0,
	SOI = 0xd8,
	EOI = 0xd9,
	SOS = 0xda,
	DRI = 0xdd,
	APP0 = 0xe0,
	APP15 = 0xef,
	COM = 0xfe,
};

static unsigned jpeg_header_get16(const uint8_t *bytes)
{
	return (unsigned)bytes[0] << 8 | bytes[1];
}

static bool is_frame(uint8_t marker)
{
	return marker >= SOF0 && marker <= SOF15 && marker != DHT && marker != JPG &&
	       marker != DAC;
}

/* From the sampling factors of light and of the first colour. */
static enum jpeg_sampling sampling_of(unsigned light, unsigned colour)
{
	static const struct {
		unsigned light;
		enum jpeg_sampling sampling;
	} known[] = {{0x11, JPEG_444},
		     {0x21, JPEG_422},
		     {0x22, JPEG_420},
		     {0x12, JPEG_440},
		     {0x41, JPEG_411}};

	if (light == colour)
		return JPEG_444;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (colour == 0x11 && known[i].light == light)
			return known[i].sampling;
	return JPEG_OTHER;
}

/* The frame header behind its length: precision, height, width, components. */
static int read_frame(const uint8_t *frame, size_t size, uint8_t marker,
		      struct jpeg_header *header)
{
	if (size < 6 || size < 6 + 3 * (size_t)frame[5])
		return -EBADMSG;
	header->height = jpeg_header_get16(frame + 1);
	header->width = jpeg_header_get16(frame + 3);
	header->components = frame[5];
	header->progressive = (marker & 3) == 2;
	if (header->height == 0 || header->width == 0 || header->components == 0)
		return -EBADMSG;
	header->sampling =
		header->components < 3 ? JPEG_OTHER : sampling_of(frame[7], frame[10]);
	return 0;
}

static bool stands_alone(uint8_t marker)
{
	return marker == TEM || (marker >= RST0 && marker < SOI);
}

/* The next marker, behind which *at is then. What is none is passed over, as libjpeg does:
 * any bytes, 0xff 0x00, and any number of 0xff before a marker. */
static int next_marker(const uint8_t *bytes, size_t size, size_t *at)
{
	int marker = 0;

	while (marker == 0) {
		while (*at < size && bytes[*at] != 0xff)
			++*at;
		while (*at < size && bytes[*at] == 0xff)
			++*at;
		if (*at >= size)
			return -EAGAIN;
		marker = bytes[(*at)++];
	}
	return marker;
}

/* Application data and comments, whose length libjpeg does not check. */
static bool jpeg_header_skips(uint8_t marker)
{
	return (marker >= APP0 && marker <= APP15) || marker == COM;
}

/* Reads what belongs to a marker, its length first, and moves *at behind it. */
static int read_body(const uint8_t *bytes, size_t size, uint8_t marker, size_t *at,
		     struct jpeg_header *header)
{
	const uint8_t *body;
	size_t length;

	if (size - *at < 2)
		return -EAGAIN;
	length = jpeg_header_get16(bytes + *at);
	if (length < 2 && !jpeg_header_skips(marker))
		return -EBADMSG;
	length = length < 2 ? 2 : length;
	if (size - *at < length)
		return -EAGAIN;
	body = bytes + *at + 2;
	*at += length;
	if (marker == DRI && length >= 4)
		header->restarts = jpeg_header_get16(body) > 0;
	return is_frame(marker) ? read_frame(body, length - 2, marker, header) : 0;
}

/* Reads the segment at *at, and moves *at behind it. 1 at the start of a scan. */
static int read_segment(const uint8_t *bytes, size_t size, size_t *at,
			struct jpeg_header *header)
{
	int marker = next_marker(bytes, size, at);

	if (marker < 0)
		return marker;
	if (marker == SOS)
		return header->width > 0 ? 1 : -EBADMSG;
	if (marker == EOI || marker == SOI)
		return -EBADMSG;
	if (stands_alone((uint8_t)marker))
		return 0;
	return read_body(bytes, size, (uint8_t)marker, at, header);
}

int jpeg_header_read(const uint8_t *bytes, size_t size, struct jpeg_header *header)
{
	size_t at = 2;
	int result = 0;

	*header = (struct jpeg_header){0};
	if (size >= 2 && jpeg_header_get16(bytes) != (0xff00 | SOI))
		return -EBADMSG;
	while (result == 0)
		result = at < size ? read_segment(bytes, size, &at, header) : -EAGAIN;
	return result > 0 ? 0 : result;
}
