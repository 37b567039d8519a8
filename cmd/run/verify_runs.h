/*
 * verify_runs.h - changes really run, one after the other, beside what was predicted.
 *
 *	for each change, in a drawn order: apply -> measure -> note -> save
 *
 * The order is drawn from the run's seed, so that a drift of the machine does not look
 * like an effect of a change. The result is whole after each of them.
 */
#ifndef DSA_VERIFY_RUNS_H
#define DSA_VERIFY_RUNS_H

#include "profiler/run/measure.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct profile;
struct profile_change;
struct profile_prediction;

struct verify_runs {
	const char *folder; /* run.json and report.html there are written after each */
	double budget_s, precision; /* of each: seconds, relative half-width */
	uint64_t most_gets;         /* of each, as struct measure_config has it */
	bool resume;                /* leave out what the result has already */
	bool quiet, verbose;        /* nothing but errors; also how each was measured */
	enum preload_choice choice; /* PRELOAD_AUTO: as the run was started */
};

/* 0, or -ENOTSUP (err: which change, and why) when one of them can't be tried here. */
int verify_runs_check(const struct profile *profile,
		      const struct profile_change *changes, size_t count,
		      struct error *err);

/* Takes away the command of each prediction that can't be tried here. */
void verify_runs_prune(struct profile *profile);

/*
 * Tries all of them and appends what they gave to profile.verifications, those of these
 * changes last and in their order: from index *from on. What can't be measured is told
 * on standard error, and left out. 0; -EINTR: somebody sent a signal; -EAGAIN: some are
 * missing; or -errno. What was measured is kept whatever it returns.
 */
int verify_runs_run(const struct verify_runs *trials, struct profile *profile,
		    const struct profile_prediction *predictions, size_t count,
		    size_t *from, struct error *err);

#endif
