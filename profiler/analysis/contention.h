/*
 * contention.h - what prep and fetch slow a training step by that computes beside them.
 *
 * Time blocked can't see it. Loaded windows show it: they take synthetic batches while as
 * many are prepared, or somewhat fewer where prep falls behind. Of a step's sample,
 *
 *	slowed = (seconds, loaded - seconds, synthetic) / samples prepared for each taken
 *
 * The machine is now faster, now slower, and there are few of these windows. How fast it was
 * is known from the CPU time that prep took for a sample, in them and in cached windows: the
 * part of a loaded window that is CPU time of the process, spread over the cores, is brought
 * to the speed of these.
 *
 * What is done while a step waits slows nothing. Fetch has the step wait more, or less where
 * its work holds prep up, and takes CPU time of its own, which slows a step as prep's does.
 */
#ifndef DSA_CONTENTION_H
#define DSA_CONTENTION_H

#include "profiler/profile.h"
#include "profiler/session/window.h"

struct contention {
	struct interval
		slowed_s; /* by prep of a sample; of no workers 0; NAN: unknown */
	double fetch; /* CPU time that reading a sample takes, over that of its prep */
};

/* Needs rates and curves; sets the profile's prep_contention. */
void contention_find(const struct window *windows, size_t count,
		     struct profile *profile, struct contention *contention);

/* Adds it to shares of wall time in which steps of real windows were blocked. Sets the
 * proof's slowed_half. False: there is nothing to add. */
bool contention_add(const struct contention *contention, struct profile *profile,
		    double share[STAGES]);

#endif
