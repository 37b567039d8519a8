#include "tests/lib/close_to.h"
#include "tests/lib/test.h"

#include <math.h>

void close_to(double value, double want, double within)
{
	if (!(fabs(value - want) <= within))
		fail_msg("%.15g is not within %g of %.15g", value, within, want);
}

void assert_near(double value, double want, double part)
{
	close_to(value, want, part * fabs(want));
}
