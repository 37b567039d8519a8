/* jpeg.c - reads headers of JPEGs and decodes the region that a crop needs. */
#include "loader/jpeg.h"
#include "loader/base/error.h"
#include "loader/base/scratch.h"
#include "loader/jpeg/exif.h"

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include <jerror.h>

enum {
	CHANNELS = 4,
	/*
	 * Columns decoded beside the region. Chroma is upsampled from its neighbours,
	 * and libjpeg takes the edge of what it decodes for the edge of the image.
	 */
	MARGIN = 4,
	OVERHANG = 4 * CHANNELS, /* bytes readable behind the last row */
	/*
	 * libjpeg-turbo writes rows that are aligned past the caches, and what reads
	 * them next would wait for memory.
	 */
	MISALIGNED = CHANNELS,
	END_OF_IMAGE = 0xd9,
};

struct jpeg {
	struct jpeg_decompress_struct lib;
	struct jpeg_error_mgr report;
	struct jpeg_source_mgr source;
	struct jpeg_progress_mgr progress;
	jmp_buf escape;
	bool created;
	bool ended; /* the bytes were used up before the image was */
	const unsigned char *bytes;
	size_t size;
	size_t scan; /* offset of the entropy-coded data */
	struct jpeg_region region;
	unsigned left;   /* columns decoded before the region's first */
	unsigned wanted; /* rows that jpeg_rows() is asked for */
	uint64_t pixels; /* decoded so far */
	uint8_t *row;
	struct scratch rows;
	int code; /* of the failure, with why */
	char why[JMSG_LENGTH_MAX];
};

static struct jpeg *jpeg_of(j_common_ptr lib)
{
	return lib->client_data;
}

static void give_up(struct jpeg *jpeg, int code)
{
	jpeg->code = code;
	longjmp(jpeg->escape, 1);
}

static void on_error(j_common_ptr lib)
{
	struct jpeg *jpeg = jpeg_of(lib);

	lib->err->format_message(lib, jpeg->why);
	give_up(jpeg, lib->err->msg_code == JERR_OUT_OF_MEMORY ? ENOMEM : EBADMSG);
}

/* What libjpeg warns of though the picture is whole. */
static bool is_harmless(j_common_ptr lib)
{
	switch (lib->err->msg_code) {
	case JWRN_ADOBE_XFORM:
	case JWRN_JFIF_MAJOR:
	case JWRN_NOT_SEQUENTIAL:
		return true;
	case JWRN_EXTRANEOUS_DATA: /* between markers, or padding at the end */
		return jpeg_of(lib)->scan == 0 ||
		       lib->err->msg_parm.i[1] == END_OF_IMAGE;
	default:
		return false;
	}
}

/* libjpeg would fill in gray for missing data; here that is an error. */
static void on_message(j_common_ptr lib, int level)
{
	if (level < 0 && !is_harmless(lib))
		on_error(lib);
}

static void on_output(j_common_ptr lib)
{
	(void)lib;
}

static void no_source(j_decompress_ptr lib)
{
	(void)lib;
}

/*
 * An end marker where the bytes end. The decoder takes it in its stride when it has
 * all that it needs, and warns when it has not.
 */
static boolean source_fill(j_decompress_ptr lib)
{
	static const JOCTET end[] = {0xff, END_OF_IMAGE};

	jpeg_of((j_common_ptr)lib)->ended = true;
	lib->src->next_input_byte = end;
	lib->src->bytes_in_buffer = sizeof(end);
	return TRUE;
}

static void source_skip(j_decompress_ptr lib, long count)
{
	struct jpeg_source_mgr *source = lib->src;

	if (count <= 0)
		return;
	if ((size_t)count > source->bytes_in_buffer) {
		source_fill(lib);
		return;
	}
	source->next_input_byte += count;
	source->bytes_in_buffer -= (size_t)count;
}

/* A few bytes of empty scans can cost seconds, so they are counted while they come. */
static void on_progress(j_common_ptr common)
{
	struct jpeg *jpeg = jpeg_of(common);
	int scans = jpeg->lib.input_scan_number;

	if (scans <= JPEG_SCANS_MAX)
		return;
	snprintf(jpeg->why, sizeof(jpeg->why), "more than %d scans", scans - 1);
	give_up(jpeg, EFBIG);
}

struct jpeg *jpeg_new(void)
{
	return calloc(1, sizeof(struct jpeg));
}

static void jpeg_free_parts(struct jpeg *jpeg)
{
	if (jpeg->created)
		jpeg_destroy_decompress(&jpeg->lib);
	jpeg->created = false;
}

void jpeg_free(struct jpeg *jpeg)
{
	if (jpeg == NULL)
		return;
	jpeg_free_parts(jpeg);
	scratch_fini(&jpeg->rows);
	free(jpeg);
}

/* Runs one step of decoding; libjpeg leaves it by longjmp() when it fails. */
static int jpeg_attempt(struct jpeg *jpeg, void (*step)(struct jpeg *),
			struct error *err)
{
	if (setjmp(jpeg->escape) == 0) {
		step(jpeg);
		return 0;
	}
	if (jpeg->code == ENOMEM)
		return error_sys(err, ENOMEM, "cannot decode a JPEG of %ux%u pixels",
				 jpeg->lib.image_width, jpeg->lib.image_height);
	if (jpeg->code == EFBIG)
		return error_set(err, EFBIG, "unreasonable JPEG: %s", jpeg->why);
	if (jpeg->ended)
		return error_set(err, EBADMSG, "truncated JPEG: ends after %zu bytes",
				 jpeg->size);
	if (jpeg->scan == 0)
		return error_set(err, EBADMSG, "cannot be decoded: %s", jpeg->why);
	return error_set(err, EBADMSG, "corrupt JPEG: %s", jpeg->why);
}

static void jpeg_create(struct jpeg *jpeg)
{
	jpeg->lib.err = jpeg_std_error(&jpeg->report);
	jpeg->report.error_exit = on_error;
	jpeg->report.emit_message = on_message;
	jpeg->report.output_message = on_output;
	jpeg->lib.client_data = jpeg;
	jpeg_create_decompress(&jpeg->lib);
	jpeg->created = true;
	jpeg->source = (struct jpeg_source_mgr){
		.init_source = no_source,
		.fill_input_buffer = source_fill,
		.skip_input_data = source_skip,
		.resync_to_restart = jpeg_resync_to_restart,
		.term_source = no_source,
		.next_input_byte = jpeg->bytes,
		.bytes_in_buffer = jpeg->size,
	};
	jpeg->lib.src = &jpeg->source;
	jpeg->progress.progress_monitor = on_progress;
	jpeg->lib.progress = &jpeg->progress;
}

static void jpeg_parse_header(struct jpeg *jpeg)
{
	jpeg_create(jpeg);
	jpeg_read_header(&jpeg->lib, TRUE);
}

/* From the sampling factors of light and of the first colour. */
static enum jpeg_sampling jpeg_sampling(const struct jpeg_decompress_struct *lib)
{
	static const struct {
		int h, v;
		enum jpeg_sampling sampling;
	} known[] = {{1, 1, JPEG_444},
		     {2, 1, JPEG_422},
		     {2, 2, JPEG_420},
		     {1, 2, JPEG_440},
		     {4, 1, JPEG_411}};
	const jpeg_component_info *light = lib->comp_info, *colour = light + 1;

	if (lib->num_components < 3)
		return JPEG_OTHER;
	if (light->h_samp_factor == colour->h_samp_factor &&
	    light->v_samp_factor == colour->v_samp_factor)
		return JPEG_444;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (colour->h_samp_factor == 1 && colour->v_samp_factor == 1 &&
		    known[i].h == light->h_samp_factor &&
		    known[i].v == light->v_samp_factor)
			return known[i].sampling;
	return JPEG_OTHER;
}

/* Bombs are refused before memory is taken. */
static int check_size(const struct jpeg *jpeg, struct error *err)
{
	unsigned width = jpeg->lib.image_width, height = jpeg->lib.image_height;
	uint64_t pixels = (uint64_t)width * height;

	if (pixels > JPEG_PIXELS_MAX)
		return error_set(err, EFBIG,
				 "unreasonable JPEG: %ux%u pixels, more than %d", width,
				 height, JPEG_PIXELS_MAX);
	/* A block takes a bit at least, and has 128 pixels at the most. */
	if (pixels / 8 / 128 > jpeg->size && !jpeg->lib.arith_code)
		return error_set(err, EFBIG,
				 "unreasonable JPEG: %ux%u pixels in %zu bytes", width,
				 height, jpeg->size);
	return 0;
}

/*
 * A decoder serves one image only: it would decode an image that lacks tables
 * with those of the image before.
 */
int jpeg_open(struct jpeg *jpeg, const void *bytes, size_t size, struct jpeg_info *info,
	      struct error *err)
{
	int result;

	jpeg_free_parts(jpeg);
	jpeg->bytes = bytes;
	jpeg->size = size;
	jpeg->scan = 0;
	jpeg->ended = false;
	jpeg->pixels = 0;
	result = jpeg_attempt(jpeg, jpeg_parse_header, err);
	if (result < 0)
		return result;
	jpeg->scan = size - jpeg->source.bytes_in_buffer;
	*info = (struct jpeg_info){
		.width = jpeg->lib.image_width,
		.height = jpeg->lib.image_height,
		.orientation = exif_orientation(bytes, size),
		.components = (unsigned)jpeg->lib.num_components,
		.sampling = jpeg_sampling(&jpeg->lib),
		.progressive = jpeg->lib.progressive_mode,
		.restarts = jpeg->lib.restart_interval > 0,
	};
	return check_size(jpeg, err);
}

bool jpeg_ended(const struct jpeg *jpeg)
{
	return jpeg->ended;
}

void jpeg_reduce(struct jpeg *jpeg, unsigned eighths, struct jpeg_info *info)
{
	jpeg->lib.scale_num = eighths;
	jpeg->lib.scale_denom = 8;
	info->width = (info->width * eighths + 7) / 8;
	info->height = (info->height * eighths + 7) / 8;
}

static bool is_inked(const struct jpeg *jpeg)
{
	return jpeg->lib.jpeg_color_space == JCS_CMYK ||
	       jpeg->lib.jpeg_color_space == JCS_YCCK;
}

/* Entropy-coded data never hold a marker, so the last end marker is the image's. */
static bool jpeg_ends(const struct jpeg *jpeg)
{
	for (size_t end = jpeg->size; end >= jpeg->scan + 2; end--)
		if (jpeg->bytes[end - 2] == 0xff &&
		    jpeg->bytes[end - 1] == END_OF_IMAGE)
			return true;
	return false;
}

static void jpeg_start(struct jpeg *jpeg)
{
	const struct jpeg_region *region = &jpeg->region;
	JDIMENSION x = region->x < MARGIN ? 0 : region->x - MARGIN;
	JDIMENSION end = region->x + region->width + MARGIN;
	JDIMENSION width;

	jpeg->lib.out_color_space = is_inked(jpeg) ? JCS_CMYK : JCS_EXT_RGBX;
	jpeg->lib.do_block_smoothing = FALSE; /* guesses, and other ones in a region */
	jpeg_start_decompress(&jpeg->lib);
	if (end > jpeg->lib.output_width)
		end = jpeg->lib.output_width;
	width = end - x;
	if (width < jpeg->lib.output_width)
		jpeg_crop_scanline(&jpeg->lib, &x, &width);
	jpeg->left = region->x - x;
	if (region->y > 0)
		jpeg_skip_scanlines(&jpeg->lib, region->y);
}

int jpeg_begin(struct jpeg *jpeg, const struct jpeg_region *region, struct error *err)
{
	int result;

	jpeg->region = *region;
	result = jpeg_attempt(jpeg, jpeg_start, err);
	/* libjpeg reports nothing when bytes between several scans are missing. */
	if (result == 0 && jpeg->ended && jpeg_has_multiple_scans(&jpeg->lib))
		return error_set(err, EBADMSG, "truncated JPEG: ends after %zu bytes",
				 jpeg->size);
	return result;
}

static unsigned jpeg_multiply(unsigned a, unsigned b)
{
	unsigned product = a * b + 128;

	return (product + (product >> 8)) >> 8;
}

/* Adobe stores the absence of ink. Arithmetic as Pillow's, so that values agree. */
static void remove_ink(const struct jpeg *jpeg, uint8_t *pixel)
{
	unsigned absent = jpeg->lib.saw_Adobe_marker ? 0 : 255;

	for (unsigned i = 0; i < jpeg->lib.output_width; i++, pixel += CHANNELS) {
		unsigned light = pixel[3] ^ absent;

		for (int c = 0; c < 3; c++)
			pixel[c] =
				(uint8_t)(light - jpeg_multiply(255 ^ absent ^ pixel[c],
								light));
	}
}

/* Bytes from one row to the next. */
static size_t jpeg_stride(const struct jpeg *jpeg)
{
	size_t bytes = (size_t)jpeg->lib.output_width * CHANNELS;

	return (bytes + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
}

static void read_row(struct jpeg *jpeg, JSAMPROW row)
{
	jpeg_read_scanlines(&jpeg->lib, &row, 1);
	jpeg->pixels += jpeg->lib.output_width;
}

static void jpeg_read_rows(struct jpeg *jpeg)
{
	JSAMPROW row = jpeg->row;

	for (unsigned done = 0; done < jpeg->wanted; done++) {
		read_row(jpeg, row);
		if (is_inked(jpeg))
			remove_ink(jpeg, row);
		row += jpeg_stride(jpeg);
	}
}

int jpeg_rows(struct jpeg *jpeg, unsigned count, const uint8_t **rows,
	      struct error *err)
{
	int result;

	jpeg->row = scratch_get(&jpeg->rows,
				MISALIGNED + count * jpeg_stride(jpeg) + OVERHANG);
	if (jpeg->row == NULL)
		return error_sys(err, ENOMEM, "cannot hold %u rows of %u pixels", count,
				 jpeg->lib.output_width);
	jpeg->row += MISALIGNED;
	jpeg->wanted = count;
	result = jpeg_attempt(jpeg, jpeg_read_rows, err);
	for (unsigned i = 0; i < count; i++)
		rows[i] = jpeg->row + i * jpeg_stride(jpeg) + jpeg->left * CHANNELS;
	return result;
}

/* Skipping to the very end would not decode what is skipped. */
static void read_rest(struct jpeg *jpeg)
{
	struct jpeg_decompress_struct *lib = &jpeg->lib;

	if (lib->output_scanline + 1 < lib->output_height)
		jpeg_skip_scanlines(lib, lib->output_height - 1 - lib->output_scanline);
	if (lib->output_scanline < lib->output_height)
		read_row(jpeg, jpeg->row);
}

int jpeg_end(struct jpeg *jpeg, struct error *err)
{
	if (jpeg_has_multiple_scans(&jpeg->lib) || jpeg_ends(jpeg))
		return 0;
	return jpeg_attempt(jpeg, read_rest, err);
}

uint64_t jpeg_pixels(const struct jpeg *jpeg)
{
	return jpeg->pixels;
}
