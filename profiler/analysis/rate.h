/*
 * rate.h - the rate of a session's real windows, its interval, its hits. Pure.
 */
#ifndef DSA_RATE_H
#define DSA_RATE_H

#include "loader/base/trace.h"
#include "profiler/run/measure.h"

/*
 * Certified windows of blocks count; blocks are windows. Of drawn ones each stands for
 * an equal part of the epoch. 0, with rate->windows 0 when there is none, or -ENOMEM.
 */
int rate_measure(const struct trace *trace, struct measure_rate *rate);

#endif
