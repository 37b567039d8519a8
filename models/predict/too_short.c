/* too_short.c - names what was not measured, and a budget that has room for it. */
#include "models/predict/too_short.h"
#include "loader/base/error.h"
#include "profiler/profile.h"

#include <errno.h>

#define LEAST_S 30.

int too_short(const struct profile *profile, const char *what, struct error *err)
{
	return error_set(err, ENODATA,
			 "no time was left to measure %s: raise --budget to %.0fs",
			 what, fmax(LEAST_S, 2 * profile->budget_s));
}
