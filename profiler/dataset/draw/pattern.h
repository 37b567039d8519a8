/*
 * pattern.h - the classes of a made data set: ten patterns that cover a surface, and
 * the ninety ordered pairs of them. They differ in structure alone, never in colour,
 * and a tenth of the surface shows enough of them to tell which it is.
 */
#ifndef DSA_PATTERN_H
#define DSA_PATTERN_H

#include <stdint.h>

#define PATTERN_CLASSES 100
#define PATTERN_NAME    32 /* bytes of the longest name and its end */

/* Name of a class below PATTERN_CLASSES: "bricks", or "bricks-over-dots". */
void pattern_name(unsigned label, char name[PATTERN_NAME]);

/* The patterns that class is drawn with: 1 or 2 numbers in kinds. Returns how many. */
unsigned pattern_kinds(unsigned label, unsigned kinds[2]);

/*
 * How far (u, v), in periods of the pattern, lies inside the drawn figure; below 0
 * outside. `share` in 0..1 makes figures thin or fat; `seed` turns and shifts each.
 */
float pattern_depth(unsigned kind, float u, float v, float share, uint32_t seed);

#endif
