/* argument.h - option values that several commands take; bad ones end as bad usage. */
#ifndef DSA_ARGUMENT_H
#define DSA_ARGUMENT_H

struct argp_state;

/* A time above 0, up to a week, in seconds. */
void argument_time(struct argp_state *state, const char *name, const char *arg,
		   double *seconds);

/* --precision: "1", "0.5" and "1%" are points of a hundred; gives a share. */
void argument_precision(struct argp_state *state, const char *arg, double *share);

#endif
