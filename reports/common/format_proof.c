/* format_proof.c - whether two measurements of the shares agree. */
#include "reports/common/format.h"

#include <string.h>

#define APART .1 /* no interval excuses more */
#define HANDED                                                                         \
	.03 /* handing a batch over is prep in one of them, compute in the other */

bool format_has_proof(const struct profile *profile)
{
	bool any = false;

	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++)
		any |= isfinite(profile->proof.share[i]);
	return any && !profile_is_observed(profile) && !profile_is_vague(profile);
}

const char *format_proof_name(const struct profile *profile)
{
	const char *basis = profile->proof.basis;
	size_t length = strlen(PROFILE_DEVICE_IDLE);

	return basis != NULL && strncmp(basis, PROFILE_DEVICE_IDLE, length) == 0
		       ? "device idle"
		       : "time blocked";
}

/* The second has no interval of its own, but what preparation slows the step by, which few
 * windows tell. It comes from the same windows, but less of what they scatter by is taken
 * out: it counts as half as sure as the first. */
static bool format_is_apart(const struct profile *profile, double share,
			    const struct interval *first)
{
	double gap = fabs(share - first->value), half = profile->proof.slowed_half;
	double sure = fmax(HANDED, 2 * (first->high - first->low));

	return gap > APART || gap > sure + (half > 0 ? half : 0);
}

/* How long training waits is not known: nothing is apart from that. */
static bool format_is_open(const struct profile *profile)
{
	return isfinite(profile->stalls[STAGE_COMPUTE].low) &&
	       !profile_has_answer(profile);
}

/* All that training waits, by the second measurement; of a stage that it does not see, by
 * the first. */
static double format_proof_wait(const struct profile *profile)
{
	double wait = 0;

	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++)
		if (isfinite(profile->proof.share[i]))
			wait += profile->proof.share[i];
		else if (profile_has_stage(profile, i) && stage_table[i].optional)
			wait += profile->stalls[i].value;
	return wait;
}

enum format_proof format_proof_judge(const struct profile *profile)
{
	bool apart = false;

	if (!format_has_proof(profile) || format_is_open(profile))
		return FORMAT_AGREES;
	if (format_is_apart(profile, 1 - format_proof_wait(profile),
			    &profile->stalls[STAGE_COMPUTE]))
		return FORMAT_DIFFERENCE_HOLDS;
	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++)
		apart |= format_is_apart(profile, profile->proof.share[i],
					 &profile->stalls[i]);
	return apart ? FORMAT_SPLIT_UNKNOWN : FORMAT_AGREES;
}

void format_disagreement(FILE *out, const struct profile *profile)
{
	enum format_proof judged = format_proof_judge(profile);
	double wait = format_proof_wait(profile);

	if (judged == FORMAT_AGREES)
		return;
	fprintf(out, "the second measurement disagrees by %.1f points; ",
		100 * profile->proof_gap);
	if (judged == FORMAT_SPLIT_UNKNOWN)
		fprintf(out,
			"both see training wait %.0f%% of its time, but what for is "
			"not "
			"known",
			100 * wait);
	else if (wait < 1 - profile->stalls[STAGE_COMPUTE].value)
		fprintf(out,
			"trust the first, as steps also wait, or take longer, "
			"outside %s",
			profile_loader(profile) == LOADER_DSA ? "dsa_next()"
							      : "its loader");
	else
		fputs("trust the first, as the program asks for batches before it "
		      "needs them",
		      out);
}
