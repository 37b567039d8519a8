/* gate_confirm.c - a second measurement clears what does not regress again. */
#include "models/gate/gate.h"
#include "models/gate/gate_causes.h"
#include "models/gate/gate_words.h"

/* What became of the findings, of both verdicts. */
struct confirmed {
	bool regressed, undecided;
};

static struct confirmed confirm_findings(struct gate_verdict *again,
					 const struct gate_verdict *first)
{
	struct confirmed all = {0};

	for (size_t i = 0; i < again->count; i++) {
		struct gate_finding *now = &again->findings[i];
		const struct gate_finding *before = gate_verdict_find(first, now->name);
		bool did = before != NULL && before->status == GATE_REGRESSED;
		bool does = now->status == GATE_REGRESSED;

		if (did != does) {
			now->status = GATE_UNDECIDED;
			gate_words_write(
				now, "a regression when it was measured %s, not %s",
				did ? "first" : "again", did ? "again" : "before");
		}
		all.regressed |= did && does;
		all.undecided |= did != does;
	}
	return all;
}

int gate_verdict_confirm(struct gate_verdict *again, const struct gate_verdict *first,
			 const struct gate_side *base, const struct gate_side *now)
{
	struct confirmed all = confirm_findings(again, first);
	int result;

	if (again->outcome == GATE_MISMATCH || !all.undecided)
		return 0;
	if (!all.regressed)
		again->outcome = GATE_INCONCLUSIVE;
	result = gate_causes_list(base, now, again);
	gate_words_verdict(again);
	return result;
}
