/* encode.c - drives libjpeg, and turns its failures into NULL. */
#include "profiler/dataset/encode.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

struct encoder {
	struct jpeg_compress_struct jpeg;
	struct jpeg_error_mgr errors;
	jmp_buf failed;
	unsigned char *bytes;
	unsigned long size;
};

static void encode_fail(j_common_ptr jpeg)
{
	struct encoder *encoder = jpeg->client_data;

	longjmp(encoder->failed, 1);
}

static void say_nothing(j_common_ptr jpeg)
{
	(void)jpeg;
}

/* jpeg_create_compress() that reports a failure instead of leaving. */
static bool encode_prepare(struct encoder *encoder)
{
	encoder->jpeg.err = jpeg_std_error(&encoder->errors);
	encoder->errors.error_exit = encode_fail;
	encoder->errors.output_message = say_nothing;
	encoder->jpeg.client_data = encoder;
	if (setjmp(encoder->failed) != 0)
		return false;
	jpeg_create_compress(&encoder->jpeg);
	return true;
}

struct encoder *encoder_new(void)
{
	struct encoder *encoder = calloc(1, sizeof(*encoder));

	if (encoder == NULL || encode_prepare(encoder))
		return encoder;
	encoder_free(encoder);
	return NULL;
}

void encoder_free(struct encoder *encoder)
{
	if (encoder == NULL)
		return;
	jpeg_destroy_compress(&encoder->jpeg);
	free(encoder->bytes);
	free(encoder);
}

static void encode_compress(struct encoder *encoder, const uint8_t *rgb, int quality)
{
	struct jpeg_compress_struct *jpeg = &encoder->jpeg;

	jpeg->input_components = 3;
	jpeg->in_color_space = JCS_RGB;
	jpeg_set_defaults(jpeg); /* 4:2:0, standard tables */
	jpeg_set_quality(jpeg, quality, TRUE);
	jpeg_start_compress(jpeg, TRUE);
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
			   const unsigned sides[2], int quality, size_t *size)
{
	free(encoder->bytes); /* libjpeg may not grow a buffer that it was given */
	encoder->bytes = NULL;
	encoder->size = 0;
	if (setjmp(encoder->failed) != 0) {
		jpeg_abort_compress(&encoder->jpeg);
		return NULL;
	}
	jpeg_mem_dest(&encoder->jpeg, &encoder->bytes, &encoder->size);
	encoder->jpeg.image_width = sides[0];
	encoder->jpeg.image_height = sides[1];
	encode_compress(encoder, rgb, quality);
	*size = encoder->size;
	return encoder->bytes;
}
