/* median.h - the median, and the order that it sorts by. */
#ifndef DSA_MEDIAN_H
#define DSA_MEDIAN_H

#include <stddef.h>

/* Of n values, which it sorts; NAN of none. */
double median(double *values, size_t n);

/* For qsort(): doubles, the least first. */
int median_ascending(const void *left, const void *right);

#endif
