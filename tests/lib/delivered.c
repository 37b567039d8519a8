/* delivered.c - takes a loader's batches and notes what is in them. */
#include "tests/lib/delivered.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdio.h>

struct dsa_loader *delivered_open(const struct dsa_config *config)
{
	struct dsa_loader *loader = NULL;
	char why[DSA_WHY] = "";

	if (dsa_open(config, &loader, why) < 0)
		fail_msg("%s", why);
	return loader;
}

static uint64_t hash(const unsigned char *bytes, size_t size)
{
	uint64_t sum = 14695981039346656037u; /* FNV-1a */

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * 1099511628211u;
	return sum;
}

void delivered_add(struct delivered *delivered, const struct dsa_batch *batch)
{
	const unsigned char *bytes = batch->data;

	assert_true(batch->count > 0);
	assert_true(delivered->samples + batch->count <= IMAGES_EPOCHS * IMAGES_COUNT);
	assert_int_equal(batch->number, delivered->batches++);
	for (uint32_t i = 0; i < batch->count; i++, delivered->samples++) {
		unsigned at = delivered->samples;

		delivered->row[at].epoch = batch->epoch;
		delivered->row[at].step = batch->step;
		delivered->row[at].sample = batch->samples[i];
		delivered->row[at].label = batch->labels[i];
		delivered->row[at].content =
			hash(bytes + i * batch->sample_bytes, batch->sample_bytes);
	}
}

bool delivered_step(struct delivered *delivered, struct dsa_loader *loader)
{
	struct dsa_batch batch;

	delivered->end = dsa_next(loader, &batch);
	if (delivered->end <= 0)
		return false;
	delivered_add(delivered, &batch);
	assert_int_equal(dsa_release(loader, &batch), 0);
	return true;
}

void delivered_finish(struct delivered *delivered, struct dsa_loader *loader)
{
	while (delivered_step(delivered, loader))
		;
	snprintf(delivered->why, sizeof(delivered->why), "%s", dsa_why(loader));
	assert_int_equal(dsa_stats(loader, &delivered->stats), 0);
	dsa_close(loader);
}

struct delivered delivered_of(const struct dsa_config *config)
{
	struct delivered delivered = {0};

	delivered_finish(&delivered, delivered_open(config));
	return delivered;
}

void delivered_same(const struct delivered *a, unsigned from, const struct delivered *b)
{
	assert_int_equal(a->samples - from, b->samples);
	assert_memory_equal(&a->row[from], b->row, b->samples * sizeof(b->row[0]));
}
