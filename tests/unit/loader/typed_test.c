/* typed_test.c - batches say what their numbers are, and hold what the data set has. */
#include "loader/loader.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 30000, LENGTH = 100, WINDOWS = (TOKENS - 1) / LENGTH };

static struct dsa_loader *open_loader(const struct dsa_config *config)
{
	struct dsa_loader *loader;
	char why[DSA_WHY];

	setenv("XDG_CACHE_HOME", scratch_path(), 1);
	if (dsa_open(config, &loader, why) < 0)
		fail_msg("%s", why);
	return loader;
}

/* Token i of the file is i. */
static void write_tokens(const char *path)
{
	uint16_t tokens[TOKENS];
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	for (unsigned i = 0; i < TOKENS; i++)
		tokens[i] = (uint16_t)i;
	assert_int_equal(fwrite(tokens, sizeof(tokens), 1, file), 1);
	assert_int_equal(fclose(file), 0);
}

static void assert_windows(const struct dsa_batch *batch, unsigned seen[TOKENS])
{
	for (uint32_t i = 0; i < batch->count; i++) {
		const int64_t *window =
			(const int64_t *)batch->data + (size_t)i * batch->shape[1];

		assert_int_equal(window[0], batch->samples[i] * LENGTH);
		assert_int_equal(batch->labels[i], 0);
		for (uint32_t j = 1; j < batch->shape[1]; j++) {
			assert_int_equal(window[j], window[0] + j);
			seen[window[j]]++;
		}
	}
}

TEST_WITH(every_token_is_a_target_once_an_epoch, scratch_setup, scratch_teardown)
{
	const struct dsa_config config = {.dataset = "a.bin",
					  .prep = "tokens",
					  .length = LENGTH,
					  .batch = 32,
					  .workers = 2,
					  .epochs = 2};
	static unsigned seen[TOKENS];
	struct dsa_loader *loader;
	struct dsa_stats stats;
	struct dsa_batch batch;

	write_tokens("a.bin");
	loader = open_loader(&config);
	while (dsa_next(loader, &batch) > 0) {
		assert_int_equal(batch.type, DSA_INT64);
		assert_int_equal(batch.dims, 2);
		assert_int_equal(batch.shape[0], batch.count);
		assert_int_equal(batch.shape[1], LENGTH + 1);
		assert_int_equal(batch.sample_bytes, 8 * (LENGTH + 1));
		assert_windows(&batch, seen);
		dsa_release(loader, &batch);
	}
	dsa_stats(loader, &stats);
	assert_int_equal(stats.dataset_samples, WINDOWS);
	assert_int_equal(stats.samples, 2 * WINDOWS);
	assert_int_equal(stats.skipped, 0);
	for (unsigned i = 0; i < TOKENS; i++)
		assert_int_equal(seen[i], i >= 1 && i <= WINDOWS * LENGTH ? 2 : 0);
	dsa_close(loader);
}

static void assert_first(const struct dsa_config *config, enum dsa_type type,
			 const uint32_t shape[DSA_DIMS])
{
	struct dsa_loader *loader = open_loader(config);
	struct dsa_batch batch;

	assert_int_equal(dsa_next(loader, &batch), 1);
	assert_int_equal(batch.type, type);
	assert_memory_equal(batch.shape, shape, sizeof(batch.shape));
	assert_int_equal(batch.dims,
			 1 + (shape[1] > 0) + (shape[2] > 0) + (shape[3] > 0));
	dsa_release(loader, &batch);
	dsa_close(loader);
}

TEST_WITH(batches_say_their_type_and_shape, scratch_setup, scratch_teardown)
{
	struct dsa_config config = {
		.dataset = "synthetic:8", .batch = 4, .size = 16, .type = DSA_FLOAT16};

	assert_first(&config, DSA_FLOAT16, (uint32_t[]){4, 3, 16, 16});
	config.layout = DSA_NHWC;
	config.type = DSA_UINT8;
	assert_first(&config, DSA_UINT8, (uint32_t[]){4, 16, 16, 3});
	config.prep = "raw";
	assert_first(&config, DSA_UINT8, (uint32_t[]){4, 3 * 16 * 16, 0, 0});
	write_tokens("a.bin");
	config = (struct dsa_config){.dataset = "a.bin",
				     .batch = 4,
				     .prep = "tokens",
				     .length = 7,
				     .type = DSA_INT32};
	assert_first(&config, DSA_INT32, (uint32_t[]){4, 8, 0, 0});
	setenv("DSA_LOADER", "type=int64,length=9,token_bits=32,batch=3", 1);
	assert_first(&config, DSA_INT64, (uint32_t[]){3, 10, 0, 0});
	unsetenv("DSA_LOADER");
}

TEST_WITH(what_tokens_cannot_be_is_refused, scratch_setup, scratch_teardown)
{
	struct dsa_config config = {
		.dataset = "a.bin", .prep = "tokens", .type = DSA_UINT8};
	struct dsa_loader *loader;
	char why[DSA_WHY];

	write_tokens("a.bin");
	assert_true(dsa_open(&config, &loader, why) < 0);
	assert_string_equal(why, "tokens are int64 or int32, not uint8");
	config.type =
		DSA_FLOAT32; /* as if nobody had said one; but here somebody does: */
	setenv("DSA_LOADER", "type=float32", 1);
	assert_true(dsa_open(&config, &loader, why) < 0);
	assert_string_equal(why, "tokens are int64 or int32, not float32");
	setenv("DSA_LOADER", "token_bits=8", 1);
	assert_true(dsa_open(&config, &loader, why) < 0);
	assert_string_equal(why, "DSA_LOADER: token_bits is 16 or 32, not '8'");
	unsetenv("DSA_LOADER");
}
