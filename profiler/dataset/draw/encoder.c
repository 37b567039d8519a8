/* encoder.c - encodes with libjpeg-turbo, and reports failures instead of leaving. */
#include "profiler/dataset/draw/encoder.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

enum { FIRST = 1 << 16 /* bytes of room at first */ };

struct encoder {
	struct jpeg_compress_struct jpeg;
	struct jpeg_error_mgr errors;
	struct jpeg_destination_mgr to;
	jmp_buf failed;
	unsigned char *bytes;
	size_t room; /* of these */
};

__attribute__((noreturn)) static void encoder_fail(j_common_ptr jpeg)
{
	struct encoder *encoder = jpeg->client_data;

	longjmp(encoder->failed, 1);
}

static void encoder_emit_nothing(j_common_ptr jpeg)
{
	(void)jpeg;
}

/* ---- where the bytes go ---- */

static void encoder_begin(j_compress_ptr jpeg)
{
	struct encoder *encoder = jpeg->client_data;

	encoder->to.next_output_byte = encoder->bytes;
	encoder->to.free_in_buffer = encoder->room;
}

/* All of the room is used, whatever free_in_buffer says. */
static boolean encoder_grow(j_compress_ptr jpeg)
{
	struct encoder *encoder = jpeg->client_data;
	unsigned char *bytes = realloc(encoder->bytes, 2 * encoder->room);

	if (bytes == NULL)
		encoder_fail((j_common_ptr)jpeg);
	encoder->to.next_output_byte = bytes + encoder->room;
	encoder->to.free_in_buffer = encoder->room;
	encoder->bytes = bytes;
	encoder->room *= 2;
	return TRUE;
}

static void encoder_end(j_compress_ptr jpeg)
{
	(void)jpeg;
}

/* ---- an encoder ---- */

/* jpeg_create_compress() that reports a failure instead of leaving. */
static bool encoder_prepare(struct encoder *encoder)
{
	encoder->jpeg.err = jpeg_std_error(&encoder->errors);
	encoder->errors.error_exit = encoder_fail;
	encoder->errors.output_message = encoder_emit_nothing;
	encoder->jpeg.client_data = encoder;
	if (setjmp(encoder->failed) != 0)
		return false;
	jpeg_create_compress(&encoder->jpeg);
	encoder->to.init_destination = encoder_begin;
	encoder->to.empty_output_buffer = encoder_grow;
	encoder->to.term_destination = encoder_end;
	encoder->jpeg.dest = &encoder->to;
	encoder->room = FIRST;
	encoder->bytes = malloc(encoder->room);
	return encoder->bytes != NULL;
}

void encoder_free(struct encoder *encoder)
{
	if (encoder == NULL)
		return;
	jpeg_destroy_compress(&encoder->jpeg);
	free(encoder->bytes);
	free(encoder);
}

struct encoder *encoder_new(void)
{
	struct encoder *encoder = calloc(1, sizeof(*encoder));

	if (encoder == NULL || encoder_prepare(encoder))
		return encoder;
	encoder_free(encoder);
	return NULL;
}

/* ---- pictures ---- */

/* An Exif segment that holds nothing but how the picture wants to be turned. */
static void encoder_write_orientation(struct jpeg_compress_struct *jpeg,
				      unsigned orientation)
{
	const JOCTET exif[] = {'E',  'x',  'i', 'f', 0, 0, /* TIFF, big endian: */
			       'M',  'M',  0,   42,  0, 0, 0, 8, 0, 1, /* one entry: */
			       0x01, 0x12, 0,   3,   0, 0, 0, 1, 0, (JOCTET)orientation,
			       0,    0,    0,   0,   0, 0};

	if (orientation > 1)
		jpeg_write_marker(jpeg, JPEG_APP0 + 1, exif, sizeof(exif));
}

static void encoder_compress(struct encoder *encoder, const uint8_t *rgb,
			     unsigned orientation, int quality)
{
	struct jpeg_compress_struct *jpeg = &encoder->jpeg;

	jpeg->input_components = 3;
	jpeg->in_color_space = JCS_RGB;
	jpeg_set_defaults(jpeg); /* 4:2:0, standard tables */
	jpeg_set_quality(jpeg, quality, TRUE);
	jpeg_start_compress(jpeg, TRUE);
	encoder_write_orientation(jpeg, orientation);
	while (jpeg->next_scanline < jpeg->image_height) {
		const uint8_t *line =
			rgb + (size_t)jpeg->next_scanline * 3 * jpeg->image_width;
		/* the API forgot its const */
		JSAMPROW row = (JSAMPROW)(uintptr_t)line;

		jpeg_write_scanlines(jpeg, &row, 1);
	}
	jpeg_finish_compress(jpeg);
}

const uint8_t *encoder_run(struct encoder *encoder, const uint8_t *rgb,
			   const unsigned sides[2], unsigned orientation, int quality,
			   size_t *size)
{
	if (setjmp(encoder->failed) != 0) {
		jpeg_abort_compress(&encoder->jpeg);
		return NULL;
	}
	encoder->jpeg.image_width = sides[0];
	encoder->jpeg.image_height = sides[1];
	encoder_compress(encoder, rgb, orientation, quality);
	*size = encoder->room - encoder->to.free_in_buffer;
	return encoder->bytes;
}
