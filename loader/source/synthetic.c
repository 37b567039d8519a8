/*
 * synthetic.c - samples that need no storage: a few pictures made in memory, over and
 * over. It measures what everything but storage costs.
 */
#include "loader/base/error.h"
#include "loader/base/number.h"
#include "loader/base/random.h"
#include "loader/base/thread_pool.h"
#include "loader/source/synthetic_jpeg.h"
#include "loader/source/variant.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { PICTURES = 16, CLASSES = 10, COUNT = 10000 };

struct synthetic {
	struct synthetic_jpeg pictures[PICTURES];
	uint64_t seed;
	atomic_uint next; /* picture to make */
	atomic_int failed;
};

static const char prefix[] = "synthetic";

static bool synthetic_claims(const char *dataset, const struct stat *status)
{
	size_t length = sizeof(prefix) - 1;

	(void)status;
	return strncmp(dataset, prefix, length) == 0 &&
	       (dataset[length] == '\0' || dataset[length] == ':');
}

static bool synthetic_read_count(const char *dataset, uint32_t *count)
{
	const char *text = dataset + sizeof(prefix) - 1;

	*count = COUNT;
	return *text == '\0' || number_count(text + 1, UINT32_MAX, count);
}

static void make_pictures(void *context)
{
	struct synthetic *synthetic = context;
	unsigned i;

	while ((i = atomic_fetch_add(&synthetic->next, 1)) < PICTURES)
		if (synthetic_jpeg_make(random_seed(synthetic->seed, i, 0),
					&synthetic->pictures[i]) < 0)
			synthetic->failed = 1;
}

static void synthetic_close(void *state)
{
	struct synthetic *synthetic = state;

	for (int i = 0; i < PICTURES; i++)
		free(synthetic->pictures[i].data);
	free(synthetic);
}

static uint64_t synthetic_bytes(const struct synthetic *synthetic, uint32_t count)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < PICTURES; i++)
		sum += synthetic->pictures[i].size *
		       (count / PICTURES + (i < count % PICTURES));
	return sum;
}

static uint64_t synthetic_digest(const struct synthetic *synthetic, uint32_t count)
{
	uint64_t hash = count;

	for (int i = 0; i < PICTURES; i++)
		hash = XXH3_64bits_withSeed(synthetic->pictures[i].data,
					    synthetic->pictures[i].size, hash);
	return hash;
}

static void *synthetic_open(const char *dataset, const struct source_config *config,
			    struct source_facts *facts, struct error *err)
{
	struct synthetic *synthetic;
	uint32_t count;

	if (!synthetic_read_count(dataset, &count))
		return error_null(error_set(
			err, EINVAL,
			"'%.60s' is no synthetic data set: give synthetic:COUNT, COUNT "
			"from 1 to %u",
			dataset, UINT32_MAX));
	synthetic = calloc(1, sizeof(*synthetic));
	if (synthetic == NULL)
		goto no_memory;
	synthetic->seed = config->seed;
	thread_pool_run(config->threads, make_pictures, synthetic);
	if (synthetic->failed)
		goto no_memory;
	*facts = (struct source_facts){
		.count = count,
		.classes = CLASSES,
		.bytes = synthetic_bytes(synthetic, count),
		.digest = synthetic_digest(synthetic, count),
	};
	return synthetic;

no_memory:
	if (synthetic != NULL)
		synthetic_close(synthetic);
	error_sys(err, ENOMEM, "cannot make synthetic pictures");
	return NULL;
}

static const struct synthetic_jpeg *synthetic_picture(const void *state,
						      uint32_t sample)
{
	const struct synthetic *synthetic = state;

	return &synthetic->pictures[sample % PICTURES];
}

static uint32_t synthetic_size(const void *state, uint32_t sample)
{
	return (uint32_t)synthetic_picture(state, sample)->size;
}

static uint32_t synthetic_label(const void *state, uint32_t sample)
{
	(void)state;
	return sample % CLASSES;
}

static void synthetic_place(const void *state, uint32_t sample, char *buffer,
			    struct source_place *place)
{
	(void)buffer;
	*place = (struct source_place){
		.dir = -1,
		.memory = synthetic_picture(state, sample)->data,
		.size = synthetic_size(state, sample),
	};
}

static const char *synthetic_class(const void *state, uint32_t number)
{
	static const char *const names[CLASSES] = {"0", "1", "2", "3", "4",
						   "5", "6", "7", "8", "9"};

	(void)state;
	return names[number];
}

static const char *synthetic_name(const void *state, uint32_t sample, char *buffer,
				  size_t size)
{
	(void)state;
	snprintf(buffer, size, "synthetic %u", sample);
	return buffer;
}

const struct source_variant source_synthetic = {
	.kind = "synthetic",
	.claims = synthetic_claims,
	.open = synthetic_open,
	.close = synthetic_close,
	.size = synthetic_size,
	.label = synthetic_label,
	.place = synthetic_place,
	.class = synthetic_class,
	.name = synthetic_name,
};
