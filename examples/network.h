/*
 * network.h - a small convolutional network that learns in threads: what other programs
 * have a library for.
 */
#ifndef NETWORK_H
#define NETWORK_H

#include <stddef.h>

struct dsa_batch;
struct network;

/* Of the samples of a batch: the sum of their losses, and how many were recognised. */
struct network_score {
	double loss;
	unsigned correct;
};

/* For pictures of side x side x 3 floats (DSA_NHWC). NULL: no memory. */
struct network *network_new(unsigned side, unsigned classes, unsigned threads,
			    unsigned seed);
void network_free(struct network *network);

/* How many it has. */
size_t network_weights(const struct network *network);
unsigned network_classes(const struct network *network);

/* Looks at a batch; the second one learns from it, too. */
struct network_score network_test(struct network *network,
				  const struct dsa_batch *batch);
struct network_score network_learn(struct network *network,
				   const struct dsa_batch *batch, float rate);

#endif
