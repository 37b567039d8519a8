/* format_proof.c - whether two measurements of the shares agree. */
#include "reports/common/format.h"

#define APART .1 /* no interval excuses more */
#define HANDED                                                                         \
	.03 /* handing a batch over is prep in one of them, compute in the other */

bool format_has_proof(const struct profile *profile)
{
	bool any = false;

	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++)
		any |= isfinite(profile->proof.share[i]);
	return any && !profile_is_observed(profile) && !format_is_vague(profile);
}

/* The second has no interval of its own: it comes from the same windows, and is taken to
 * be as sure as the first. */
bool format_proof_agrees(const struct profile *profile)
{
	if (!format_has_proof(profile))
		return true;
	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++) {
		const struct interval *stall = &profile->stalls[i];
		double gap = fabs(profile->proof.share[i] - stall->value);

		if (gap > APART || gap > fmax(HANDED, stall->high - stall->low))
			return false;
	}
	return true;
}

void format_disagreement(FILE *out, const struct profile *profile)
{
	if (!format_proof_agrees(profile))
		fprintf(out,
			"the second measurement disagrees by %.1f points: do not trust "
			"the split",
			100 * profile->proof_gap);
}
