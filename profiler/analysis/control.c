/* control.c - a line through the windows, from sums that windows can be taken out of. */
#include "profiler/analysis/control.h"

#include <math.h>

enum { LEAST = 8 }; /* points of a line */

#define BY_CHANCE 8. /* F of a line through points that have nothing to do with it */

void control_add(struct control *control, double seconds, double samples,
		 const double covariate[WINDOW_COVARIATES], double times)
{
	double y = seconds / samples;

	control->seconds += times * seconds;
	control->samples += times * samples;
	control->count += times;
	control->y += times * y;
	control->yy += times * y * y;
	for (int i = 0; i < WINDOW_COVARIATES; i++) {
		double x = covariate[i] / samples;

		control->covariate[i] += times * covariate[i];
		control->x[i] += times * x;
		control->xx[i] += times * x * x;
		control->xy[i] += times * x * y;
	}
}

/* Sums of squares and products about the means. */
static double control_about(double both, double one, double other, double count)
{
	return both - one * other / count;
}

/* Share of the scatter that the line explains. None that would be followed beyond its points:
 * what is expected then is of something else than what the windows had. */
static double control_explained(const struct control *control, int which)
{
	double n = control->count;
	double mean = control->x[which] / n - control->expected[which];
	double xx = control_about(control->xx[which], control->x[which],
				  control->x[which], n);
	double xy = control_about(control->xy[which], control->x[which], control->y, n);
	double yy = control_about(control->yy, control->y, control->y, n);

	return mean * mean < xx / n && yy > 0 ? xy * xy / (xx * yy) : 0;
}

int control_choose(const struct control *control)
{
	double most = 0;
	int which = -1;

	for (int i = 0; i < WINDOW_COVARIATES && control->count >= LEAST; i++) {
		double explained = control_explained(control, i);
		double rest = fmax(0, 1 - explained);

		if (explained * (control->count - 2) > BY_CHANCE * rest &&
		    explained > most) {
			most = explained;
			which = i;
		}
	}
	return which;
}

double control_apart(const struct control *one, const struct control *other, int which)
{
	double gap = one->x[which] / one->count - other->x[which] / other->count;
	double squares = 0;

	for (int i = 0; i < 2; i++) {
		const struct control *each = i == 0 ? one : other;
		double n = each->count;

		squares += control_about(each->xx[which], each->x[which],
					 each->x[which], n) /
			   (n * (n - 1));
	}
	return fabs(gap) / sqrt(squares);
}

double control_time(const struct control *control, int which)
{
	double time = control->seconds / control->samples, slope;

	if (which < 0)
		return time;
	slope = control_about(control->xy[which], control->x[which], control->y,
			      control->count) /
		control_about(control->xx[which], control->x[which], control->x[which],
			      control->count);
	return time - slope * (control->covariate[which] / control->samples -
			       control->expected[which]);
}
