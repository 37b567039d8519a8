#include "models/gate.h"

#include <stdio.h>
#include <string.h>

static const struct gate_finding *same(const struct gate_verdict *verdict,
				       const char *name)
{
	for (size_t i = 0; i < verdict->count; i++)
		if (strcmp(verdict->findings[i].name, name) == 0)
			return &verdict->findings[i];
	return NULL;
}

void gate_verdict_confirm(struct gate_verdict *again, const struct gate_verdict *first)
{
	bool regressed = false, undecided = false;

	for (size_t i = 0; i < again->count; i++) {
		struct gate_finding *now = &again->findings[i];
		const struct gate_finding *before = same(first, now->name);
		bool did = before != NULL && before->status == GATE_REGRESSED;
		bool does = now->status == GATE_REGRESSED;

		if (did != does) {
			now->status = GATE_UNDECIDED;
			snprintf(now->why, sizeof(now->why),
				 "a regression when it was measured %s, not %s",
				 did ? "first" : "again", did ? "again" : "before");
		}
		regressed |= did && does;
		undecided |= did != does;
	}
	if (again->outcome == GATE_MISMATCH || regressed)
		return;
	if (undecided) {
		again->outcome = GATE_INCONCLUSIVE;
		snprintf(again->why, sizeof(again->why),
			 "a regression that was not there when it was measured again");
	}
}
