#include "cmd/common/argument.h"
#include "loader/base/number.h"

#include <argp.h>

void argument_time(struct argp_state *state, const char *name, const char *arg,
		   double *seconds)
{
	if (!number_time(arg, seconds) || *seconds <= 0 || *seconds > 7 * 86400)
		argp_error(state, "--%s is a time such as 30s, not '%s'", name, arg);
}

void argument_precision(struct argp_state *state, const char *arg, double *share)
{
	double value;

	if (number_percent(arg, &value))
		*share = value;
	else if (number_real(arg, &value))
		*share = value / 100;
	else
		*share = 0;
	if (*share < .0005 || *share > .5)
		argp_error(state, "--precision is 0.05 to 50 points, not '%s'", arg);
}
