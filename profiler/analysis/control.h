/*
 * control.h - takes what is known of their samples out of the times of windows.
 *
 * By chance the samples of a window have more bytes than others, or the machine is slower
 * for a while, and so it takes longer. How many bytes there were, or how much CPU time the
 * same work took, is counted, and what is to be expected is known: what a line through the
 * windows says that the difference cost is taken off again (the regression estimator:
 * Cochran, Sampling Techniques, chapter 7). Pure functions.
 */
#ifndef DSA_CONTROL_H
#define DSA_CONTROL_H

#include "profiler/session/window.h"

/* Sums over windows of one kind; begins as zeros. */
struct control {
	double seconds, samples;
	double covariate[WINDOW_COVARIATES];
	double expected[WINDOW_COVARIATES]; /* of a sample; NAN: nobody knows */
	/* Of points of the line, a window each: seconds over the covariate, of a sample. */
	double count, y, yy;
	double x[WINDOW_COVARIATES], xx[WINDOW_COVARIATES], xy[WINDOW_COVARIATES];
};

/* Adds a window's sums, `times` 1, or takes them out again, -1. */
void control_add(struct control *control, double seconds, double samples,
		 const double covariate[WINDOW_COVARIATES], double times);

/* The covariate whose line explains most of the scatter, and more than chance would;
 * -1: none does. */
int control_choose(const struct control *control);

/* Standard errors that the means of a covariate are apart in windows of two kinds. */
double control_apart(const struct control *one, const struct control *other, int which);

/* Seconds a sample where the covariate is as expected; `which` as chosen. */
double control_time(const struct control *control, int which);

#endif
