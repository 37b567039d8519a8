/*
 * bench_recipes.h - what prep would take of the same samples if they were stored or
 * delivered otherwise: smaller, decoded already, as narrower numbers.
 *
 * Some samples are prepared as the run does, and in each other way, one after another in
 * one thread, so that the machine's speed is common to all of them; the CPU time of each is
 * summed, and the ratio of the sums has a jackknife interval over the samples.
 */
#ifndef DSA_BENCH_RECIPES_H
#define DSA_BENCH_RECIPES_H

#include "loader/prep.h"
#include "profiler/profile.h"

struct error;

struct bench_recipes {
	const char *dataset;
	struct prep_config prep; /* of the run */
	uint64_t seed;           /* of the samples */
	double seconds; /* at most, beyond opening the data set and the first 8 samples */
	bool (*interrupted)(void); /* asked before each sample: true ends it there */
};

/*
 * Adds to profile->recipes. Samples that can't be prepared are left out. 0; -ENODATA: fewer
 * than 8 of them could; or another -errno.
 */
int bench_recipes_run(const struct bench_recipes *config, struct profile *profile,
		      struct error *err);

#endif
