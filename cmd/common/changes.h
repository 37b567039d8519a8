/*
 * changes.h - the options of a change, each a value, a list or a range. As settings.h,
 * with a struct sweep for input.
 */
#ifndef DSA_CHANGES_H
#define DSA_CHANGES_H

struct argp;

extern const struct argp changes_argp; /* its input: struct sweep */

#endif
