/*
 * number.h - numbers, sizes and times that people type.
 *
 * Every function reads the whole of text, or returns false and leaves its
 * result alone. None depends on the locale.
 */
#ifndef DSA_NUMBER_H
#define DSA_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* A whole number from 1 to max. */
bool number_count(const char *text, unsigned max, unsigned *count);

/* A whole number from 0 to max. */
bool number_whole(const char *text, uint64_t max, uint64_t *value);

/* A decimal fraction, not negative and finite: "12", "0.5", "1e3". */
bool number_real(const char *text, double *value);

/* Bytes: "4096", "110K", "1.5G", "64Mi"; K M G T are powers of 1000, Ki .. of 1024. */
bool number_size(const char *text, uint64_t *bytes);

/* Bytes a second: a size, and "/s" behind it if one likes. */
bool number_rate(const char *text, uint64_t *bytes);

/* Seconds: "60", "1.5s", "20ms", "300us", "5m". */
bool number_time(const char *text, double *seconds);

/* A share of a whole: "35%" gives 0.35; 0% to 100%. */
bool number_percent(const char *text, double *share);

#endif
