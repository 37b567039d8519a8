/*
 * gate_causes.h - finds the causes of a verdict whose findings are known.
 */
#ifndef DSA_GATE_CAUSES_H
#define DSA_GATE_CAUSES_H

#include "models/gate/gate.h"

/*
 * Lists anew what causes_find() makes of both sides; of timed metrics it is shown only
 * those that regressed, so that noise explains nothing. What got faster is no cause of
 * a regression, and a pass has none. 0 or -ENOMEM.
 */
int gate_causes_list(const struct gate_side *base, const struct gate_side *now,
		     struct gate_verdict *verdict);

#endif
