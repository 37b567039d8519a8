/*
 * batch_dump.c - for tests/python.t: what C programs get of libdsa.
 *
 *	batch_dump			a line for each member of the public structs:
 *					struct, member, offset, bytes
 *	batch_dump DATASET FILE		one epoch, configured by DSA_LOADER: the samples
 *					into FILE; a line for each batch: epoch, step,
 *					then labels, then sample numbers
 */
#include "loader/loader.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define TELL(type, member)                                                             \
	printf(#type " " #member " %zu %zu\n", offsetof(struct dsa_##type, member),    \
	       sizeof(((struct dsa_##type *)NULL)->member))

static void tell_config(void)
{
	TELL(config, dataset);
	TELL(config, batch);
	TELL(config, workers);
	TELL(config, prefetch);
	TELL(config, fetch_depth);
	TELL(config, fetch);
	TELL(config, cache);
	TELL(config, cache_size);
	TELL(config, seed);
	TELL(config, rank);
	TELL(config, world);
	TELL(config, epochs);
	TELL(config, start_epoch);
	TELL(config, start_step);
	TELL(config, in_order);
	TELL(config, drop_last);
	TELL(config, evaluate);
	TELL(config, on_error);
	TELL(config, prep);
	TELL(config, size);
	TELL(config, layout);
	TELL(config, type);
	TELL(config, mean);
	TELL(config, std);
	TELL(config, share);
	TELL(config, device);
	TELL(config, length);
	TELL(config, token_bits);
	TELL(config, rate);
	TELL(config, features);
	TELL(config, seconds);
	TELL(config, cache_dir);
	TELL(config, shuffle);
	TELL(config, deadline);
	TELL(config, prefetch_bytes);
	TELL(config, hedge);
	TELL(config, read_gap);
	printf("config - 0 %zu\n", sizeof(struct dsa_config));
}

static void tell_batch(void)
{
	TELL(batch, data);
	TELL(batch, labels);
	TELL(batch, samples);
	TELL(batch, sample_bytes);
	TELL(batch, count);
	TELL(batch, slot);
	TELL(batch, epoch);
	TELL(batch, step);
	TELL(batch, number);
	TELL(batch, repeated);
	TELL(batch, reserved);
	TELL(batch, type);
	TELL(batch, dims);
	TELL(batch, shape);
	printf("batch - 0 %zu\n", sizeof(struct dsa_batch));
}

static void tell_stats(void)
{
	TELL(stats, samples);
	TELL(stats, batches);
	TELL(stats, skipped);
	TELL(stats, hits);
	TELL(stats, misses);
	TELL(stats, resident_bytes);
	TELL(stats, fetched_bytes);
	TELL(stats, blocked_ns);
	TELL(stats, epoch);
	TELL(stats, step);
	TELL(stats, steps_per_epoch);
	TELL(stats, dataset_samples);
	TELL(stats, dataset_bytes);
	TELL(stats, classes);
	TELL(stats, workers);
	TELL(stats, shared);
	TELL(stats, lossy_epochs);
	TELL(stats, copied_bytes);
	printf("stats - 0 %zu\n", sizeof(struct dsa_stats));
}

static void dump_batch(const struct dsa_batch *batch, FILE *file)
{
	if (fwrite(batch->data, batch->sample_bytes, batch->count, file) !=
	    batch->count)
		err(1, "cannot write the samples");
	printf("%" PRIu64 " %" PRIu64, batch->epoch, batch->step);
	for (uint32_t i = 0; i < batch->count; i++)
		printf(" %" PRIu32, batch->labels[i]);
	for (uint32_t i = 0; i < batch->count; i++)
		printf(" %" PRIu32, batch->samples[i]);
	printf("\n");
}

static void dump(const char *dataset, const char *path)
{
	const struct dsa_config config = {.dataset = dataset, .epochs = 1};
	FILE *file = fopen(path, "w");
	struct dsa_loader *loader;
	struct dsa_batch batch;
	char why[DSA_WHY];
	int result;

	if (file == NULL)
		err(1, "%s", path);
	if (dsa_open(&config, &loader, why) < 0)
		errx(1, "%s", why);
	while ((result = dsa_next(loader, &batch)) > 0) {
		dump_batch(&batch, file);
		dsa_release(loader, &batch);
	}
	if (result < 0)
		errx(1, "%s", dsa_why(loader));
	dsa_close(loader);
	if (fclose(file) != 0)
		err(1, "%s", path);
}

int main(int argc, char **argv)
{
	if (argc == 3) {
		dump(argv[1], argv[2]);
		return 0;
	}
	tell_config();
	tell_batch();
	tell_stats();
	return 0;
}
