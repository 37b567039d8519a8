/*
 * gate_shares.h - refuses sessions whose shares no step can have.
 */
#ifndef DSA_GATE_SHARES_H
#define DSA_GATE_SHARES_H

#include "models/gate/gate_side.h"

struct error;

/*
 * 0; -ERANGE, err names the session, when a stall of one lies below 0 or above 1 by more
 * than its interval (each bound at 95 %, so of 5 repetitions at least) and 5 points:
 * something else used the machine in some windows and not in others, and no build can be
 * held against that.
 */
int gate_shares_check(const struct gate_side *side, struct error *err);

#endif
