/*
 * prep_breakdown.c - where the time of preparing a JPEG goes, and how that compares
 * with decoding it whole, which is the least that a naive loader does.
 *
 * Every stage treats the same image before the next image comes, in an order that
 * turns, and is charged the CPU time of its thread: what else runs on the machine
 * disturbs all stages alike. Ratios are medians over rounds.
 */
#include "loader/base/clock.h"
#include "loader/base/number.h"
#include "loader/base/random.h"
#include "loader/jpeg.h"
#include "loader/prep.h"
#include "loader/prep/crop.h"
#include "loader/prep/resample.h"

#include <argp.h>
#include <ftw.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { ROUNDS_MAX = 100, BATCH = 64 };

struct image {
	unsigned char *bytes;
	size_t size;
};

struct images {
	struct image *image;
	size_t count, room;
	size_t bytes; /* of all */
	unsigned refused;
};

static struct images images; /* nftw() hands nothing on */

struct bench {
	struct jpeg_decompress_struct lib;
	struct jpeg_error_mgr report;
	uint8_t *pixels; /* a whole image, or its region */
	size_t room;
	struct jpeg *jpeg;
	struct prep *prep[3];
	struct prep_worker *worker[3]; /* by enum prep_type */
	struct prep *split[2];         /* decoded, and canvas to float32 */
	struct prep_worker *half[2];
	unsigned char *canvas[2]; /* written; read: of the image at hand */
	struct prep_config small; /* prep_defaults, as bytes */
	struct resampler *resampler;
	unsigned char *batch, *hot; /* BATCH samples; one that stays in the caches */
	unsigned slot;

	const struct image *image; /* at hand */
	uint64_t seed;
	struct jpeg_info info;
	struct crop crop;
	struct filter x, y;
};

static void *checked(void *memory)
{
	if (memory != NULL)
		return memory;
	fputs("prep_breakdown: no memory\n", stderr);
	exit(3);
}

static void add_image(struct image image)
{
	if (images.count == images.room) {
		images.room = images.room * 2 + 64;
		images.image = checked(
			realloc(images.image, images.room * sizeof(*images.image)));
	}
	images.image[images.count++] = image;
	images.bytes += image.size;
}

static int visit(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	struct image image = {.size = (size_t)status->st_size};
	FILE *file;

	(void)ftw;
	if (type != FTW_F || image.size == 0)
		return 0;
	file = fopen(path, "rb");
	if (file == NULL)
		return 0;
	image.bytes = checked(malloc(image.size));
	if (fread(image.bytes, image.size, 1, file) == 1)
		add_image(image);
	else
		free(image.bytes);
	fclose(file);
	return 0;
}

static uint8_t *pixels_for(struct bench *bench, size_t size)
{
	if (size > bench->room) {
		free(bench->pixels);
		bench->pixels = checked(malloc(size));
		bench->room = size;
	}
	return bench->pixels;
}

static void full_decode(struct bench *bench)
{
	struct jpeg_decompress_struct *lib = &bench->lib;
	size_t stride;
	uint8_t *pixels;

	jpeg_mem_src(lib, bench->image->bytes, bench->image->size);
	jpeg_read_header(lib, TRUE);
	lib->out_color_space = JCS_RGB;
	jpeg_start_decompress(lib);
	stride = (size_t)3 * lib->output_width;
	pixels = pixels_for(bench, stride * lib->output_height);
	while (lib->output_scanline < lib->output_height) {
		JSAMPROW rows[2] = {pixels + lib->output_scanline * stride,
				    pixels + (lib->output_scanline + 1) * stride};

		if (lib->output_scanline + 1 == lib->output_height)
			jpeg_read_scanlines(lib, rows, 1);
		else
			jpeg_read_scanlines(lib, rows, 2);
	}
	jpeg_finish_decompress(lib);
}

static void entropy_only(struct bench *bench)
{
	jpeg_mem_src(&bench->lib, bench->image->bytes, bench->image->size);
	jpeg_read_header(&bench->lib, TRUE);
	jpeg_read_coefficients(&bench->lib);
	jpeg_finish_decompress(&bench->lib);
}

/* The crop that prep_run() will draw from the same seed. */
static void open_image(struct bench *bench)
{
	jpeg_open(bench->jpeg, bench->image->bytes, bench->image->size, &bench->info,
		  NULL);
	bench->crop = crop_draw(&prep_defaults, bench->info.width, bench->info.height,
				bench->info.orientation, bench->seed);
	if (resampler_begin(bench->resampler, &bench->crop, bench->hot, &bench->x,
			    &bench->y) < 0)
		checked(NULL);
}

/* Entropy decoding as far as the region needs it: all rows but its last are skipped. */
static void region_entropy(struct bench *bench)
{
	struct jpeg_region region = {.width = 1, .height = 1};
	const uint8_t *row;

	open_image(bench);
	region.x = bench->x.first;
	region.y = bench->y.first + bench->y.length - 1;
	jpeg_begin(bench->jpeg, &region, NULL);
	jpeg_rows(bench->jpeg, 1, &row, NULL);
}

static void stream_region(struct bench *bench, bool resample)
{
	const unsigned at_once = resampler_rows(bench->resampler);
	const uint8_t *rows[KERNEL_ROWS_MAX];

	open_image(bench);
	jpeg_begin(bench->jpeg,
		   &(struct jpeg_region){bench->x.first, bench->y.first,
					 bench->x.length, bench->y.length},
		   NULL);
	for (unsigned done = 0; done < bench->y.length; done += at_once) {
		unsigned left = bench->y.length - done;

		jpeg_rows(bench->jpeg, left < at_once ? left : at_once, rows, NULL);
		for (unsigned i = left; i < at_once; i++)
			rows[i] = rows[0];
		if (resample)
			resampler_feed(bench->resampler, rows);
	}
}

static void region_decode(struct bench *bench)
{
	stream_region(bench, false);
}

static void region_resample(struct bench *bench)
{
	stream_region(bench, true);
	resampler_end(bench->resampler);
}

static void complete(struct bench *bench, enum prep_type type)
{
	unsigned char *out =
		bench->batch + bench->slot * prep_sample_bytes(bench->prep[type]);

	prep_run(bench->worker[type], bench->image->bytes, bench->image->size,
		 bench->seed, out, NULL);
}

static void complete_u8(struct bench *bench)
{
	complete(bench, PREP_U8);
}

static void complete_f16(struct bench *bench)
{
	complete(bench, PREP_F16);
}

static void complete_f32(struct bench *bench)
{
	complete(bench, PREP_F32);
}

static void decode_canvas(struct bench *bench, unsigned char *canvas)
{
	prep_run(bench->half[0], bench->image->bytes, bench->image->size, bench->seed,
		 canvas, NULL);
}

static void decoded(struct bench *bench)
{
	decode_canvas(bench, bench->canvas[0]);
}

static void tail(struct bench *bench)
{
	prep_run(bench->half[1], bench->canvas[1], prep_sample_bytes(bench->split[0]),
		 bench->seed,
		 bench->batch + bench->slot * prep_sample_bytes(bench->split[1]), NULL);
}

enum {
	FULL,
	ENTROPY,
	REGION_ENTROPY,
	REGION,
	RESAMPLE,
	U8,
	F16,
	F32,
	DECODED,
	TAIL,
	STAGES
};

static const struct stage {
	const char *key, *title;
	void (*run)(struct bench *bench);
} stages[STAGES] = {
	[FULL] = {"full_decode", "libjpeg-turbo, whole image decoded", full_decode},
	[ENTROPY] = {"entropy", "libjpeg-turbo, entropy decoding only", entropy_only},
	[REGION_ENTROPY] = {"region_entropy", "entropy decoding, down to the crop",
			    region_entropy},
	[REGION] = {"region_decode", "the crop's region decoded", region_decode},
	[RESAMPLE] = {"region_resample", "  and resampled, to bytes in a cache",
		      region_resample},
	[U8] = {"uint8", "complete, uint8 into a batch", complete_u8},
	[F16] = {"float16", "complete, float16 into a batch", complete_f16},
	[F32] = {"float32", "complete, float32 into a batch", complete_f32},
	[DECODED] = {"decoded", "decoded once for several jobs", decoded},
	[TAIL] = {"tail", "  and float32 made of that, for each", tail},
};

/* CPU seconds of each stage in each round. */
static double spent[ROUNDS_MAX][STAGES];

static void run_image(struct bench *bench, unsigned round, size_t i)
{
	bench->image = &images.image[i];
	bench->seed = random_seed(1, round, i);
	bench->slot = i % BATCH;
	decode_canvas(bench, bench->canvas[1]);
	for (unsigned k = 0; k < STAGES; k++) {
		unsigned stage = (unsigned)(k + i + round) % STAGES;
		uint64_t start = clock_thread_cpu();

		stages[stage].run(bench);
		spent[round][stage] += (double)(clock_thread_cpu() - start) * 1e-9;
	}
}

/* Images that are refused whatever is asked of them are left out. */
static void leave_out_refused(struct bench *bench)
{
	size_t kept = 0;

	for (size_t i = 0; i < images.count; i++) {
		struct image *image = &images.image[i];

		if (prep_run(bench->worker[PREP_F32], image->bytes, image->size, 0,
			     bench->batch, NULL) == 0) {
			images.image[kept++] = *image;
			continue;
		}
		images.bytes -= image->size;
		images.refused++;
		free(image->bytes);
	}
	images.count = kept;
}

static void bench_open(struct bench *bench)
{
	const size_t bytes =
		sizeof(float) * 3 * prep_defaults.size * prep_defaults.size;

	bench->lib.err = jpeg_std_error(&bench->report);
	jpeg_create_decompress(&bench->lib);
	bench->jpeg = checked(jpeg_new());
	bench->small = prep_defaults;
	bench->small.type = PREP_U8;
	bench->resampler = checked(resampler_new(&bench->small, kernel_best()));
	for (int type = PREP_F32; type <= PREP_U8; type++) {
		struct prep_config config = prep_defaults;

		config.type = (enum prep_type)type;
		bench->prep[type] = checked(prep_open(&config, NULL));
		bench->worker[type] = checked(prep_worker_new(bench->prep[type]));
	}
	bench->batch = checked(aligned_alloc(64, BATCH * bytes));
	memset(bench->batch, 1,
	       BATCH * bytes); /* no page is touched first in a stage */
	bench->hot = checked(aligned_alloc(64, bytes / sizeof(float)));
	for (int i = 0; i < 2; i++) {
		struct prep_config config = prep_defaults;

		config.op = i == 0 ? "decoded" : "canvas";
		bench->split[i] = checked(prep_open(&config, NULL));
		bench->half[i] = checked(prep_worker_new(bench->split[i]));
		bench->canvas[i] =
			checked(aligned_alloc(64, prep_sample_bytes(bench->split[0])));
	}
}

static void bench_close(struct bench *bench)
{
	for (int type = PREP_F32; type <= PREP_U8; type++) {
		prep_worker_free(bench->worker[type]);
		prep_close(bench->prep[type]);
	}
	for (int i = 0; i < 2; i++) {
		prep_worker_free(bench->half[i]);
		prep_close(bench->split[i]);
		free(bench->canvas[i]);
	}
	jpeg_destroy_decompress(&bench->lib);
	jpeg_free(bench->jpeg);
	resampler_free(bench->resampler);
	free(bench->pixels);
	free(bench->batch);
	free(bench->hot);
	for (size_t i = 0; i < images.count; i++)
		free(images.image[i].bytes);
	free(images.image);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, unsigned count)
{
	qsort(values, count, sizeof(*values), by_value);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Samples a second and core. */
static double rate(unsigned stage, unsigned rounds)
{
	double rates[ROUNDS_MAX] = {0};

	for (unsigned r = 0; r < rounds; r++)
		rates[r] = (double)images.count / spent[r][stage];
	return median(rates, rounds);
}

/* How many times as fast as decoding the whole image. */
static double ratio(unsigned stage, unsigned rounds)
{
	double ratios[ROUNDS_MAX] = {0};

	for (unsigned r = 0; r < rounds; r++)
		ratios[r] = spent[r][FULL] / spent[r][stage];
	return median(ratios, rounds);
}

/* Share of the complete float32 sample that lies between two stages; -1: from 0. */
static double share(int from, int to, unsigned rounds)
{
	double shares[ROUNDS_MAX] = {0};

	for (unsigned r = 0; r < rounds; r++) {
		double begin = from < 0 ? 0 : spent[r][from];

		shares[r] = (spent[r][to] - begin) / spent[r][F32];
	}
	return median(shares, rounds);
}

static const struct part {
	const char *key, *title;
	int from, to;
} parts[] = {
	{"entropy", "entropy decoding", -1, REGION_ENTROPY},
	{"idct", "IDCT, upsampling, colour", REGION_ENTROPY, REGION},
	{"resample", "crop, resize, flip", REGION, RESAMPLE},
	{"store", "normalise, write into the batch", RESAMPLE, F32},
};

enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

static void print_text(unsigned rounds)
{
	printf("%zu images, mean %.1f KB, kernel of %s; CPU time, %u rounds\n\n",
	       images.count, (double)images.bytes / (double)images.count / 1e3,
	       kernel_best()->name, rounds);
	printf("%-38s %12s %14s\n", "", "samples/s", "to full decode");
	for (unsigned i = 0; i < STAGES; i++)
		printf("%-38s %12.0f %14.3f\n", stages[i].title, rate(i, rounds),
		       ratio(i, rounds));
	printf("\n%-38s %12s\n", "a float32 sample's time", "share");
	for (unsigned i = 0; i < PARTS; i++)
		printf("%-38s %11.1f%%\n", parts[i].title,
		       100 * share(parts[i].from, parts[i].to, rounds));
	if (images.refused > 0)
		printf("\n%u files left out: not images, or broken\n", images.refused);
}

static void print_json(unsigned rounds)
{
	json_t *rates = json_object(), *shares = json_object(), *root;

	for (unsigned i = 0; i < STAGES; i++)
		json_object_set_new(rates, stages[i].key,
				    json_pack("{s:f,s:f}", "samples_per_cpu_s",
					      rate(i, rounds), "to_full_decode",
					      ratio(i, rounds)));
	for (unsigned i = 0; i < PARTS; i++)
		json_object_set_new(
			shares, parts[i].key,
			json_real(share(parts[i].from, parts[i].to, rounds)));
	root = json_pack("{s:I,s:f,s:i,s:s,s:o,s:o}", "images",
			 (json_int_t)images.count, "mean_bytes",
			 (double)images.bytes / (double)images.count, "left_out",
			 (int)images.refused, "kernel", kernel_best()->name, "stages",
			 rates, "float32_shares", shares);
	json_dumpf(root, stdout,
		   JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(root);
}

struct options {
	const char *folder;
	unsigned rounds;
	bool json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'j':
		options->json = true;
		return 0;
	case 'r':
		if (!number_count(arg, ROUNDS_MAX, &options->rounds))
			argp_error(state, "--rounds is 1 to %d", ROUNDS_MAX);
		return 0;
	case ARGP_KEY_ARG:
		options->folder = arg;
		return state->arg_num > 0 ? ARGP_ERR_UNKNOWN : 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp_option list[] = {
		{"json", 'j', NULL, 0, "Print JSON", 0},
		{"rounds", 'r', "N", 0, "Treat every image N times (default 5)", 0},
		{0}};
	static const struct argp argp = {
		list, parse, "FOLDER", "Where the time of preparing JPEGs goes.",
		NULL, NULL,  NULL};
	struct options options = {.rounds = 5};
	struct bench bench = {0};

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	nftw(options.folder, visit, 16, FTW_PHYS);
	bench_open(&bench);
	leave_out_refused(&bench);
	if (images.count == 0) {
		fprintf(stderr, "prep_breakdown: no JPEG in %s\n", options.folder);
		return 3;
	}
	for (unsigned round = 0; round < options.rounds; round++)
		for (size_t i = 0; i < images.count; i++)
			run_image(&bench, round, i);
	(options.json ? print_json : print_text)(options.rounds);
	bench_close(&bench);
	return 0;
}
