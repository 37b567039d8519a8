/*
 * short_run.h - one short launch of a program, for comparisons.
 *
 *	timed     fill | warm-up | one block: synthetic, cached, real; about `seconds`
 *	counted   the first `samples` of the stream, as they come, and what they took:
 *	          opens, reads, bytes, hits, pixels. The same each time, whatever the
 *	          machine does.
 *	          A program that ends before, with status 0, has had its share of them
 */
#ifndef DSA_SHORT_RUN_H
#define DSA_SHORT_RUN_H

#include "profiler/run/measure.h"

struct short_run {
	/* Of one program; budget, precision, steps, protocol and callbacks are
	 * ignored. */
	const struct measure_config *config;
	double seconds; /* timed: of its windows together */
	/* Timed: launches until the windows can be certified, which another load on the
	 * host may prevent; 0: one. */
	unsigned tries;
	/* Counted: rounded up to a whole batch; 0: 4096, or as many as the data set
	 * has. */
	uint64_t samples;
};

/*
 * 0 with the result in *profile, which profile_init() made: of a timed repetition
 * shares, rates and windows, without intervals; of a counted one `counted`. Both
 * describe what was loaded, and where. -ECHILD: the program failed, or ended before it
 * was measured; -ETIMEDOUT: it asked for no batch, or hung, for config->timeout_s;
 * -ENODATA: its windows can't be certified; -EINTR: somebody sent us a signal; or
 * another -errno. How it leaves once it was measured and its data ended is all the
 * same.
 *
 * The order of the windows turns with config->seed. The session lies in config->folder
 * meanwhile, one at a time.
 */
int short_run_time(const struct short_run *repetition, struct profile *profile,
		   struct error *err);
int short_run_count(const struct short_run *repetition, struct profile *profile,
		    struct error *err);

#endif
