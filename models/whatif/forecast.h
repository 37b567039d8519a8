/* forecast.h - a prediction for each of many changes. */
#ifndef DSA_FORECAST_H
#define DSA_FORECAST_H

#include "models/whatif/sweep.h"

struct error;
struct model;

struct forecast {
	const struct model *model; /* NULL: nothing is predicted */
	const char *run;           /* as the commands name the result */
	void (*progress)(void *context, size_t done); /* after each; or NULL */
	void *context;
};

/*
 * Puts one prediction for each change, in their order, in the place of those that the
 * profile has; each with the command that verifies it. What the run does not show has
 * no rate, and says why. 0; -ENODATA (err: why) when nothing at all could be predicted
 * by a model; -EINVAL (err) when a change makes no sense for this run; -ENOMEM.
 */
int forecast(const struct forecast *forecast, const struct sweep_list *list,
	     struct profile *profile, struct error *err);

#endif
