/*
 * prep_dump.c - prepares images as bytes for tests/pillow.t to compare.
 *
 * Reads lines "train|evaluate SEED OUT FILE"; writes the sample, 224 x 224 x 3, to
 * OUT and prints a line: the crop in the upright image and whether it is flipped,
 * "left top width height flip", or "failed: why".
 */
#include "loader/base/error.h"
#include "loader/jpeg.h"
#include "loader/prep.h"
#include "loader/prep/crop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX_BYTES = 1 << 24 };

static unsigned char bytes[FILE_MAX_BYTES];

static void print_crop(const struct prep_config *config, size_t size, uint64_t seed)
{
	struct jpeg *jpeg = jpeg_new();
	struct jpeg_info info = {0};
	struct crop crop;
	unsigned width, height;

	if (jpeg == NULL || jpeg_open(jpeg, bytes, size, &info, NULL) < 0)
		exit(3);
	width = info.orientation >= 5 ? info.height : info.width;
	height = info.orientation >= 5 ? info.width : info.height;
	crop = crop_draw(config, width, height, 1, seed);
	printf("%u %u %u %u %d\n", crop.x.first, crop.y.first, crop.x.length,
	       crop.y.length, crop.x.mirrored);
	jpeg_free(jpeg);
}

static void dump(struct prep_config *config, size_t size, uint64_t seed, FILE *out)
{
	static unsigned char sample[224 * 224 * 3];
	struct prep *prep = prep_open(config, NULL);
	struct prep_worker *worker = prep == NULL ? NULL : prep_worker_new(prep);
	struct error err = {0};

	if (worker == NULL)
		exit(3);
	if (prep_run(worker, bytes, size, seed, sample, &err) < 0)
		printf("failed: %s\n", err.message);
	else if (fwrite(sample, sizeof(sample), 1, out) == 1)
		print_crop(config, size, seed);
	prep_worker_free(worker);
	prep_close(prep);
}

int main(void)
{
	struct prep_config config = prep_defaults;
	char mode[16], out_path[512], path[512];
	unsigned long seed;

	config.type = PREP_U8;
	config.layout = PREP_NHWC;
	while (scanf("%15s %lu %511s %511[^\n]", mode, &seed, out_path, path) == 4) {
		FILE *in = fopen(path + strspn(path, " "), "rb");
		FILE *out = fopen(out_path, "wb");

		if (in == NULL || out == NULL)
			return 3;
		config.evaluate = strcmp(mode, "evaluate") == 0;
		dump(&config, fread(bytes, 1, sizeof(bytes), in), seed, out);
		fclose(in);
		fclose(out);
	}
	return 0;
}
