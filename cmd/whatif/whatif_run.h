/*
 * whatif_run.h - what if? One question to the result of a run, answered: changes are
 * predicted, or really tried, and the answer is printed and kept.
 */
#ifndef DSA_WHATIF_RUN_H
#define DSA_WHATIF_RUN_H

#include "cmd/run/verify_runs.h"
#include "models/whatif/sweep.h"

struct whatif_run {
	const char *run;           /* a folder, or a run.json */
	struct sweep sweep;        /* the changes; none: what would help? */
	bool verify;               /* try them too; none: what is advised */
	struct verify_runs trials; /* how; its folder does not count */
	const char *how;           /* an option typed for that alone, or NULL */
	const char *output;        /* folder for it; NULL: where the run is, if tried */
	const char *prices;        /* file of a price list, or NULL */
	bool json;
};

/* Returns the exit status, and has said why when it is not 0. */
int whatif_run_answer(const struct whatif_run *asked);

#endif
