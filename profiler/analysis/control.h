/*
 * control.h - takes what is known of their samples out of the times of windows.
 *
 * By chance the samples of a window have more bytes than others, and so it takes longer. How
 * many they had is counted, and how many samples have on average is known of the whole
 * data set: what a line through the windows says that the excess cost is taken off again
 * (the regression estimator: Cochran, Sampling Techniques, chapter 7). Pure functions.
 */
#ifndef DSA_CONTROL_H
#define DSA_CONTROL_H

#include "profiler/session/window.h"

/* Sums over windows of one kind; begins as zeros. */
struct control {
	double seconds, samples;
	double excess[WINDOW_EXCESSES]; /* bytes */
	/* Of points of the line, a window each: seconds a sample over bytes a sample. */
	double count, y, yy;
	double x[WINDOW_EXCESSES], xx[WINDOW_EXCESSES], xy[WINDOW_EXCESSES];
};

/* Adds a window's sums, `times` 1, or takes them out again, -1. */
void control_add(struct control *control, double seconds, double samples,
		 const double excess[WINDOW_EXCESSES], double times);

/* The excess whose line explains most of the scatter, and more than chance would;
 * -1: none does. */
int control_choose(const struct control *control);

/* Seconds a sample, of samples as the whole data set has them; `which` as chosen. */
double control_time(const struct control *control, int which);

#endif
