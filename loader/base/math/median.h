/* median.h - the median. */
#ifndef DSA_MEDIAN_H
#define DSA_MEDIAN_H

#include <stddef.h>

/* Of n values, which it sorts; NAN of none. */
double median(double *values, size_t n);

#endif
