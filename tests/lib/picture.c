#include "tests/lib/picture.h"
#include "loader/base/random.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

static J_COLOR_SPACE stored_as(enum picture_color color)
{
	static const J_COLOR_SPACE spaces[] = {
		[PICTURE_YCC] = JCS_YCbCr, [PICTURE_GRAY] = JCS_GRAYSCALE,
		[PICTURE_RGB] = JCS_RGB,   [PICTURE_CMYK] = JCS_CMYK,
		[PICTURE_YCCK] = JCS_YCCK,
	};

	return spaces[color];
}

enum { SHADES = 4 }; /* of each picture, one a component */

static double along(unsigned x, int c)
{
	return 60 * sin(x * .031 + c);
}

static double down(unsigned y, int c)
{
	return 50 * cos(y * .047 - c * 2);
}

static JSAMPLE shade(unsigned x, unsigned y, int c, double smooth)
{
	int edge = ((x / 23 + y / 31) & 1) != 0 ? 25 : -25;
	int noise = (int)(random_seed(x, y, (uint64_t)c) % 17) - 8;
	double value = 128 + smooth + edge + noise;

	return (JSAMPLE)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* What is the same in every row: along() of each component of each column. */
static double *columns(unsigned width)
{
	double *found = malloc(SHADES * (size_t)width * sizeof(*found));

	assert_non_null(found);
	for (unsigned x = 0; x < width; x++)
		for (int c = 0; c < SHADES; c++)
			found[SHADES * (size_t)x + (size_t)c] = along(x, c);
	return found;
}

static void draw_row(JSAMPLE *row, const double *column, unsigned width, unsigned y,
		     int components)
{
	double left[SHADES];

	for (int c = 0; c < SHADES; c++)
		left[c] = down(y, c);
	for (unsigned x = 0; x < width; x++, column += SHADES)
		for (int c = 0; c < components; c++)
			*row++ = shade(x, y, c, column[c] + left[c]);
}

static void write_orientation(struct jpeg_compress_struct *jpeg, unsigned orientation)
{
	JOCTET exif[] = {'E', 'x', 'i', 'f', 0, 0,    'M',  'M', 0, '*', 0,
			 0,   0,   8,   0,   1, 0x01, 0x12, 0,   3, 0,   0,
			 0,   1,   0,   0,   0, 0,    0,    0,   0, 0};

	exif[25] = (JOCTET)orientation;
	jpeg_write_marker(jpeg, JPEG_APP0 + 1, exif, sizeof(exif));
}

enum { SCANS = PICTURE_SCANS };

static void split_scans(struct jpeg_compress_struct *jpeg, jpeg_scan_info scans[SCANS],
			int count)
{
	memset(scans, 0, SCANS * sizeof(*scans));
	scans[0].comps_in_scan = 3;
	for (int c = 0; c < 3; c++)
		scans[0].component_index[c] = c;
	for (int i = 1; i < SCANS; i++) {
		scans[i].comps_in_scan = 1;
		scans[i].component_index[0] = (i - 1) / 63;
		scans[i].Ss = scans[i].Se = (i - 1) % 63 + 1;
	}
	jpeg->scan_info = scans;
	jpeg->num_scans = count;
}

static void set_sampling(jpeg_component_info *component, int h, int v)
{
	component->h_samp_factor = h > 0 ? h : 1;
	component->v_samp_factor = v > 0 ? v : 1;
}

static void configure(struct jpeg_compress_struct *jpeg, const struct picture *picture)
{
	bool gray = picture->color == PICTURE_GRAY;
	bool inks = picture->color >= PICTURE_CMYK;

	jpeg->image_width = picture->width;
	jpeg->image_height = picture->height;
	jpeg->input_components = gray ? 1 : inks ? 4 : 3;
	jpeg->in_color_space = gray ? JCS_GRAYSCALE : inks ? JCS_CMYK : JCS_RGB;
	jpeg_set_defaults(jpeg);
	jpeg_set_colorspace(jpeg, stored_as(picture->color));
	jpeg_set_quality(jpeg, picture->quality > 0 ? picture->quality : 91, TRUE);
	set_sampling(&jpeg->comp_info[0], picture->h, picture->v);
	for (int c = 1; c < 3 && !gray; c++)
		set_sampling(&jpeg->comp_info[c], picture->chroma_h, picture->chroma_v);
	if (inks)
		set_sampling(&jpeg->comp_info[3], picture->h, picture->v);
	jpeg->restart_in_rows = picture->restart;
	if (picture->no_adobe)
		jpeg->write_Adobe_marker = FALSE;
	if (picture->progressive)
		jpeg_simple_progression(jpeg);
}

unsigned char *picture_jpeg(const struct picture *picture, size_t *size)
{
	struct jpeg_compress_struct jpeg;
	struct jpeg_error_mgr report;
	unsigned char *bytes = NULL;
	unsigned long length = 0;
	jpeg_scan_info scans[SCANS];
	JSAMPLE *row = malloc(SHADES * (size_t)picture->width);
	double *column = columns(picture->width);

	assert_non_null(row);
	jpeg.err = jpeg_std_error(&report);
	jpeg_create_compress(&jpeg);
	jpeg_mem_dest(&jpeg, &bytes, &length);
	configure(&jpeg, picture);
	if (picture->scans > 0)
		split_scans(&jpeg, scans, picture->scans);
	jpeg_start_compress(&jpeg, TRUE);
	if (picture->orientation > 0)
		write_orientation(&jpeg, picture->orientation);
	for (unsigned y = 0; y < picture->height; y++) {
		draw_row(row, column, picture->width, y, jpeg.input_components);
		jpeg_write_scanlines(&jpeg, &row, 1);
	}
	jpeg_finish_compress(&jpeg);
	jpeg_destroy_compress(&jpeg);
	free(row);
	free(column);
	*size = length;
	return bytes;
}

size_t picture_marker(const unsigned char *jpeg, size_t size, int marker)
{
	for (size_t i = 1; i < size; i++)
		if (jpeg[i - 1] == 0xff && jpeg[i] == marker)
			return i;
	fail_msg("no marker %#x", (unsigned)marker);
	return 0;
}
