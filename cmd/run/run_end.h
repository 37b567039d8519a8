/*
 * run_end.h - what dsa run does when it has measured: predict, keep, show, and try the
 * changes of --sweep.
 */
#ifndef DSA_RUN_END_H
#define DSA_RUN_END_H

#include "cmd/run/verify_runs.h"
#include "models/predict/cost.h"
#include "models/whatif/sweep.h"

struct error;
struct profile;

struct run_end {
	const char *output;   /* folder */
	const char *timeline; /* file, or NULL */
	bool json;
	const char *prices;     /* file of a price list, or NULL; */
	struct prices list;     /* and what it holds */
	bool observed;          /* nothing was switched: nothing can be predicted */
	unsigned target_status; /* 1: ends with the program's own status */
	struct sweep sweep;
	struct verify_runs trials;
};

/*
 * Before anything is measured: can the sweep be tried here, as far as that is known?
 * 0; -EINVAL: it makes no sense; -ENOTSUP, -ENOMEM.
 */
int run_end_check(const struct run_end *end, struct error *err);

/* True when changes are to be tried after the run. */
bool run_end_sweeps(const struct run_end *end);

/* Returns the exit status, and has said why when it is not 0. */
int run_end(const struct run_end *end, struct profile *profile);

#endif
