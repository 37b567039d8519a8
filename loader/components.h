/*
 * components.h - what every pipeline of ours is fed from: data set, cache, prep and
 * emulated storage, as a loader's options say.
 */
#ifndef DSA_COMPONENTS_H
#define DSA_COMPONENTS_H

#include "loader/base/permutation.h"

struct cache;
struct error;
struct options;
struct prep;
struct source;
struct throttle;

struct components {
	struct source *source;
	struct cache *cache;
	struct prep *prep;
	struct throttle *throttle; /* NULL: none */
};

/* Opens a data set as the options say. */
struct source *components_source(const struct options *options, const char *dataset,
				 struct error *err);

/*
 * Opens them, and turns a cache size that is a share of the data set into bytes.
 * source: the data set, the parts' from now on; NULL: the options say. Returns 0, or
 * -errno and what failed. components_close() ends them either way.
 */
int components_open(struct components *parts, struct options *options,
		    struct source *source, struct error *err);
void components_close(struct components *parts);

/* How the options shuffle the samples of a source. */
struct permutation_blocks components_blocks(const struct options *options,
					    const struct source *source);

/* Prepares as the options' image says from now on. Nobody uses the prep before. */
int components_set_prep(struct components *parts, const struct options *options,
			struct error *err);

#endif
