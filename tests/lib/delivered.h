/* delivered.h - everything that a loader of tests/lib/images.h delivers, in order. */
#ifndef DSA_TESTS_DELIVERED_H
#define DSA_TESTS_DELIVERED_H

#include "tests/lib/images.h"

struct delivered {
	unsigned batches, samples;
	int end; /* what dsa_next() returned last */
	char why[DSA_WHY];
	struct {
		uint64_t epoch, step, content; /* hash of the sample's numbers */
		uint32_t sample, label;
	} row[IMAGES_EPOCHS * IMAGES_COUNT];
	struct dsa_stats stats; /* at the end */
};

/* Fails the test if it does not open. */
struct dsa_loader *delivered_open(const struct dsa_config *config);

/* Takes a batch, adds it and gives it back; false at the end. */
bool delivered_step(struct delivered *delivered, struct dsa_loader *loader);

/* Adds a batch that was taken. */
void delivered_add(struct delivered *delivered, const struct dsa_batch *batch);

/* Goes on to the end, and closes the loader. */
void delivered_finish(struct delivered *delivered, struct dsa_loader *loader);

/* Everything that such a loader delivers, from its opening to its close. */
struct delivered delivered_of(const struct dsa_config *config);

/* Fails the test unless `a` is `b` from that sample on. */
void delivered_same(const struct delivered *a, unsigned from,
		    const struct delivered *b);

#endif
