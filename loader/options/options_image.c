/* options_image.c - what becomes of a picture, on the way and in the end. */
#include "loader/options/options_image.h"
#include "loader/options.h"

#include <string.h>

void options_image_size(struct prep_config *image, unsigned size)
{
	image->size = size;
	image->resize = (size * 8 + 6) / 7;
}

void options_image_token_bits(struct prep_config *image, unsigned bits)
{
	image->token_bits = bits == 16 ? 0 : bits;
}

_Static_assert((int)PREP_F16 == DSA_FLOAT16 && (int)PREP_U8 == DSA_UINT8 &&
		       (int)PREP_I32 == DSA_INT32 && (int)PREP_I64 == DSA_INT64,
	       "the order of loader.h");

void options_image(struct prep_config *image, const struct dsa_config *config)
{
	*image = prep_defaults;
	image->evaluate = config->evaluate != 0;
	if (config->size != 0)
		options_image_size(image, config->size);
	image->layout = config->layout == DSA_NHWC ? PREP_NHWC : PREP_NCHW;
	image->type =
		config->type <= DSA_INT64 ? (enum prep_type)config->type : PREP_F32;
	if (config->length != 0)
		image->length = config->length;
	options_image_token_bits(image, config->token_bits);
	if (config->rate != 0)
		image->rate = config->rate;
	if (config->seconds != 0)
		image->seconds = config->seconds;
	image->features = config->features == DSA_LOGMEL ? PREP_LOGMEL : PREP_WAVEFORM;
	for (int i = 0; i < 3; i++) {
		if (config->mean != NULL)
			image->mean[i] = config->mean[i];
		if (config->std != NULL)
			image->std[i] = config->std[i];
	}
}

void options_image_convert(struct options *options)
{
	struct prep_config *image = &options->image;

	options->delivered = *image;
	options->converted = options->on_device && !options->transfer_output &&
			     strcmp(options->prep, "image") == 0 &&
			     (image->type != PREP_U8 || image->layout != PREP_NHWC);
	if (!options->converted)
		return;
	image->type = PREP_U8;
	image->layout = PREP_NHWC;
}

void options_shape(const struct options *options, char *text, size_t bytes)
{
	const struct prep_config *image =
		options->converted ? &options->delivered : &options->image;

	prep_words(image, text, bytes);
}
