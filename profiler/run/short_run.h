/*
 * short_run.h - one short launch of a program, for comparisons.
 *
 *	timed     fill | warm-up | one block: synthetic, cached, real; about `seconds`
 *	counted   the first `samples` of the stream, as they come, and what they took: opens,
 *	          reads, bytes, hits, pixels. The same each time, whatever the machine does.
 *	          A program that ends before, with status 0, has had its share of them
 */
#ifndef DSA_SHORT_RUN_H
#define DSA_SHORT_RUN_H

#include "profiler/run/measure.h"

struct short_run {
	const struct measure_config
		*config; /* of one program; its budget, precision, steps, protocol and
			   * callbacks apart */
	double seconds;  /* of a timed one's windows together */
	unsigned tries; /* of a timed one whose windows can't be certified, which may be
			   * the host's doing; 0: one */
	uint64_t samples; /* of a counted one, up to a whole batch; 0: 4096, or what
			   * the data set has if that is less */
};

/*
 * 0 with the result in *profile, which profile_init() made: of a timed repetition shares,
 * rates and windows, without intervals; of a counted one `counted`. Both describe what was
 * loaded, and where. -ECHILD: the program failed, or ended before it was measured;
 * -ETIMEDOUT: it asked for no batch, or hung, for config->timeout_s; -ENODATA: its windows
 * can't be certified; -EINTR: somebody sent us a signal; or another -errno. How it leaves
 * once it was measured and its data ended is all the same.
 *
 * The order of the windows turns with config->seed. The session lies in config->folder
 * meanwhile, one at a time.
 */
int short_run_time(const struct short_run *repetition, struct profile *profile,
		   struct error *err);
int short_run_count(const struct short_run *repetition, struct profile *profile,
		    struct error *err);

#endif
