/*
 * drift.h - a model of a run on a machine that is faster or slower now than it was then.
 *
 * That the unchanged run is slower now says that what limits it is: its storage, its cores
 * or its accelerator, whichever explains most of the difference. What did not limit it is
 * taken as it was, and what is emulated goes by the clock: a slow moment of the cores does
 * not slow an emulated accelerator. What nothing explains was an error of the measurement,
 * and changes nothing.
 */
#ifndef DSA_DRIFT_H
#define DSA_DRIFT_H

#include "profiler/profile.h"

struct error;
struct model;

/* From now on it predicts for a machine on which the unchanged run does `drift` times what
 * it did in the result, give or take its interval. 0, -EINVAL or -ENOMEM. */
int drift_follow(struct model *model, struct interval drift, struct error *err);

#endif
