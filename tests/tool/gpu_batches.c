/*
 * gpu_batches.c - whether batches arrive on a GPU as they should, bit by bit.
 *
 *	gpu_batches DATASET
 *
 * In each type and layout, sent as they are: what a loader in memory delivers. Sent as bytes:
 * what tests/lib/converted.h makes of that loader's bytes. Prints what gpu_calls_tell() does.
 */
#include "loader/loader.h"
#include "loader/prep.h"
#include "tests/lib/converted.h"
#include "tests/lib/gpu_calls.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 8, BATCH = 32, SIZE = 64, AREA = SIZE * SIZE };
enum { BYTES = BATCH * 3 * AREA * sizeof(float) }; /* of a batch, at the most */

static const char *const type_names[] = {"float32", "float16", "uint8"};
static const char *const layout_names[] = {"nchw", "nhwc"};

/* Two loaders of the same batches. */
struct pair {
	struct gpu_calls gpu;
	struct dsa_loader *here, *there;
	struct dsa_config config;
	bool convert; /* the device makes of bytes what the program asks for */
	char want[BYTES], got[BYTES];
};

static struct dsa_loader *pair_open(const struct dsa_config *config)
{
	struct dsa_loader *loader;
	char why[DSA_WHY];

	if (dsa_open(config, &loader, why) < 0)
		errx(2, "%s", why);
	return loader;
}

/* What is to be on the device. */
static void pair_want(struct pair *pair, const struct dsa_batch *batch)
{
	bool nhwc = pair->config.layout == DSA_NHWC;
	struct converted how = {
		.type = (enum converted_type)pair->config.type,
		.area = AREA,
		.step = nhwc ? 3 : 1,
		.plane = nhwc ? 1 : AREA,
	};

	for (int c = 0; c < 3; c++) {
		how.factor[c] = 1 / (255 * prep_defaults.std[c]);
		how.offset[c] = -prep_defaults.mean[c] / prep_defaults.std[c];
	}
	if (pair->convert)
		converted(&how, batch->data, pair->want, batch->count);
	else
		memcpy(pair->want, batch->data, batch->count * batch->sample_bytes);
}

static bool pair_labels(struct pair *pair, const struct dsa_batch *batch,
			uint64_t labels)
{
	int64_t numbers[BATCH];

	if (!GPU_WENT(&pair->gpu, cuMemcpyDtoH_v2, numbers, labels,
		      batch->count * sizeof(numbers[0])))
		return false;
	for (uint32_t i = 0; i < batch->count; i++)
		if (numbers[i] != batch->labels[i])
			return false;
	return true;
}

/* One batch of each. */
static bool pair_same(struct pair *pair)
{
	struct dsa_device_batch there;
	struct dsa_batch here;
	size_t bytes;
	bool same;

	if (dsa_next(pair->here, &here) <= 0 ||
	    dsa_next_device(pair->there, NULL, &there) <= 0)
		errx(2, "no batch");
	pair_want(pair, &here);
	bytes = there.batch.count * there.batch.sample_bytes;
	snprintf(pair->gpu.why, GPU_WHY, "batch %ju is another",
		 (uintmax_t)here.number);
	same = here.count == there.batch.count && bytes <= BYTES &&
	       GPU_WENT(&pair->gpu, cuMemcpyDtoH_v2, pair->got, there.data, bytes) &&
	       memcmp(pair->got, pair->want, bytes) == 0 &&
	       pair_labels(pair, &here, there.labels);
	dsa_release(pair->here, &here);
	dsa_release_device(pair->there, &there, NULL);
	return same;
}

static void pair_compare(struct pair *pair, unsigned type, unsigned layout)
{
	struct dsa_config memory = pair->config;
	char check[64], figure[32];
	int same = 0;

	pair->config.type = (enum dsa_type)type;
	pair->config.layout = (enum dsa_layout)layout;
	memory.type = pair->convert ? DSA_UINT8 : pair->config.type;
	memory.layout = pair->convert ? DSA_NHWC : pair->config.layout;
	memory.device = NULL;
	pair->here = pair_open(&memory);
	pair->there = pair_open(&pair->config);
	while (same < BATCHES && pair_same(pair))
		same++;
	dsa_close(pair->here);
	dsa_close(pair->there);
	snprintf(check, sizeof(check), "%s %s, sent as %s", type_names[type],
		 layout_names[layout], pair->convert ? "bytes" : "it is");
	snprintf(figure, sizeof(figure), "%d batches of %d", same, BATCHES);
	gpu_calls_tell(same == BATCHES ? "ok" : "FAILED", check, figure, "bit by bit",
		       same == BATCHES ? "" : pair->gpu.why);
}

int main(int argc, char **argv)
{
	static struct pair pair;

	if (argc != 2)
		errx(2, "usage: gpu_batches DATASET");
	pair.config = (struct dsa_config){.dataset = argv[1],
					  .batch = BATCH,
					  .size = SIZE,
					  .seed = 1,
					  .device = "cuda"};
	if (!gpu_calls_open(&pair.gpu)) {
		gpu_calls_tell("n/a", "batches on the device", "", "bit by bit",
			       pair.gpu.why);
		return 0;
	}
	for (unsigned i = 0; i < 12; i++) {
		pair.convert = i >= 6;
		setenv("DSA_LOADER",
		       pair.convert ? "transfer=uint8" : "transfer=output", 1);
		pair_compare(&pair, i % 3, i / 3 % 2);
	}
	return 0;
}
