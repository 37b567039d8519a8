/* forecast.h - a prediction for each of many changes. */
#ifndef DSA_FORECAST_H
#define DSA_FORECAST_H

#include "models/sweep.h"

struct error;
struct model;

/*
 * Puts one prediction for each change, in their order, in the place of those that the
 * profile has; each with the command that verifies it on `run`, as the commands name
 * the result. What the run can't tell has no rate, and says why. 0; -ENODATA (err: why)
 * when nothing at all could be told; -EINVAL (err) when a change makes no sense for
 * this run; -ENOMEM. model NULL: nothing can be told, and 0.
 */
int forecast(struct profile *profile, const struct model *model,
	     const struct sweep_list *list, const char *run, struct error *err);

#endif
