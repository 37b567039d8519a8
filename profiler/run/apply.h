/*
 * apply.h - a change made real: how the program of a run is to be started so that it
 * runs with the change, and the reason where that can't be.
 */
#ifndef DSA_APPLY_H
#define DSA_APPLY_H

#include "profiler/preload.h"
#include "profiler/profile_change.h"

struct error;

struct apply {
	char *loader;   /* DSA_LOADER: the run's own, then what changes */
	char *asked;    /* DSA_ASKED: the same of what dsa itself was given */
	char **loaders; /* of each job, NULL terminated; NULL: all the same */
	enum preload_choice choice; /* whose loader is measured */
	bool own_epochs;            /* they end as by themselves */
	unsigned cores;             /* that the program may use */
	unsigned jobs; /* at once; 0: one program, which was none of several */
	bool share;    /* one loader for them */
};

/* What --loader calls so; PRELOAD_AUTO: NULL, or nothing. */
enum preload_choice apply_choice_named(const char *name);

/* The epochs of a run, or of one that is like it, ended as by themselves. */
bool apply_own_epochs(const struct profile *profile);

/* The cores that this process may use, a quota counted. */
unsigned apply_cores(void);

/*
 * What is not changed stays as the run had it. Workers follow the cores where the run
 * had one a core. `cores` are there in all. 0; -ENOTSUP and err says why it can't be
 * done here; -ENOMEM. End with apply_fini() in either case.
 */
int apply_change(const struct profile *profile, const struct profile_change *change,
		 unsigned cores, struct apply *apply, struct error *err);
void apply_fini(struct apply *apply);

#endif
