/* inputs_state.h - what the parts of the inputs share. Private to them. */
#ifndef DSA_INPUTS_STATE_H
#define DSA_INPUTS_STATE_H

#include "models/predict/inputs.h"

#define LEAST_HALF .005 /* of any input: clocks and settling */
#define CORES_HALF .02  /* of P(k) measured once */
#define DELAY_LATE .1   /* of a padding: later than that is no timer */

/* inputs_work.c: 0, or -ENODATA and which measurement is missing. A device may have none. */
int inputs_find_compute(const struct profile *profile, struct inputs *inputs,
			struct error *err);
int inputs_find_prep(const struct profile *profile, struct inputs *inputs,
		     struct error *err);
void inputs_find_copy(const struct profile *profile, struct inputs *inputs);

#endif
