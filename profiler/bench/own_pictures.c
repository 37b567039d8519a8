/* own_pictures.c - the same files, prepared by libdsa, beside what the program made of them. */
#include "profiler/bench/own_pictures.h"
#include "loader/base/limits.h"
#include "loader/prep.h"
#include "loader/source.h"
#include "profiler/bench/other_inputs.h"
#include "profiler/dataset/sample_file.h"
#include "profiler/io_page.h"
#include "profiler/profile.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PEAK 255.

/* What is prepared with: pixels, which numbers of any type are made of. */
struct own_pictures {
	struct prep *prep;
	struct prep_worker *worker;
	struct sample_bytes bytes;
	uint8_t *pixels;
	size_t size; /* of them */
};

static bool own_pictures_open(struct own_pictures *own, uint64_t size)
{
	struct prep_config config = prep_defaults;

	config.evaluate = true;
	config.size = (unsigned)size;
	config.resize = (config.size * 8 + 6) / 7;
	config.type = PREP_U8;
	own->prep = prep_open(&config, NULL);
	if (own->prep == NULL)
		return false;
	own->worker = prep_worker_new(own->prep);
	own->size = prep_sample_bytes(own->prep);
	own->pixels = aligned_alloc(64, (own->size + 63) / 64 * 64);
	return own->worker != NULL && own->pixels != NULL;
}

static void own_pictures_close(struct own_pictures *own)
{
	free(own->pixels);
	sample_bytes_fini(&own->bytes);
	prep_worker_free(own->worker);
	prep_close(own->prep);
}

/* The sum of squared differences of one; below 0: it can't be prepared. */
static double own_pictures_squares(struct own_pictures *own, const char *path,
				   const uint8_t *theirs)
{
	const struct source_place place = {.dir = AT_FDCWD, .path = path};
	double squares = 0;

	if (sample_load_place(&place, &own->bytes, NULL) < 0 ||
	    prep_run(own->worker, own->bytes.bytes, own->bytes.size, 0, own->pixels,
		     NULL) < 0)
		return -1;
	for (size_t i = 0; i < own->size; i++) {
		int off = own->pixels[i] - theirs[i];

		squares += off * off;
	}
	return squares;
}

/* The page is written by the program's processes. */
static uint32_t own_pictures_count(const struct io_pictures *pictures, size_t size)
{
	uint32_t count = atomic_load(&pictures->count);

	if (count > IO_PICTURES)
		count = IO_PICTURES;
	return count > IO_PIXELS / size ? (uint32_t)(IO_PIXELS / size) : count;
}

static void own_pictures_run(struct own_pictures *own,
			     const struct io_pictures *pictures,
			     struct profile_own_recipe *recipe)
{
	uint32_t count = own_pictures_count(pictures, own->size);
	double squares = 0, values = (double)count * (double)own->size;

	for (uint32_t i = 0; i < count; i++) {
		char path[IO_PATH];
		double one;

		snprintf(path, sizeof(path), "%.*s", IO_PATH - 1, pictures->paths[i]);
		one = own_pictures_squares(own, path, pictures->pixels + i * own->size);
		if (one < 0 || other_inputs_interrupted())
			return;
		squares += one;
	}
	if (count == 0)
		return;
	recipe->pictures = count;
	/* Where none differs, as if one did by 1. */
	recipe->psnr = 10 * log10(PEAK * PEAK * values / fmax(1, squares));
}

void own_pictures_compare(const struct io_page *page, struct profile *profile)
{
	struct profile_own_recipe *recipe = &profile->own_recipe;
	struct own_pictures own = {.prep = NULL};

	if (page == NULL || recipe->kind == NULL || recipe->size == 0 ||
	    recipe->size > LIMIT_SIZE || atomic_load(&page->pictures.count) == 0)
		return;
	if (own_pictures_open(&own, recipe->size))
		own_pictures_run(&own, &page->pictures, recipe);
	own_pictures_close(&own);
}
