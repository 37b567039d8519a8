/*
 * size_law.h - how large the files of a made data set are: as ImageNet's, log-normal (here
 * sigma = 0.45) around the mean.
 */
#ifndef DSA_SIZE_LAW_H
#define DSA_SIZE_LAW_H

#include <stdint.h>

/* Bytes of file n. A small data set has the right mean, too. */
double size_law(double mean, uint64_t seed, uint32_t number);

/* Of the largest one. */
double size_law_most(double mean);

#endif
