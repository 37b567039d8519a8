/* format_verdict.c - how long training waits for data, and for what, in a sentence. */
#include "reports/common/format.h"

#include <ctype.h>
#include <stdlib.h>

static const double WIDE = .04; /* an interval: then no tenths are printed */

/* True where all that training waits is known, but not for what. */
static bool format_verdict_is_whole(const struct interval *stalls)
{
	return isfinite(stalls[STAGE_COMPUTE].value) &&
	       isnan(stalls[STAGE_FETCH].value);
}

static double format_verdict_sum(const struct interval *stalls)
{
	double sum = 0;

	if (format_verdict_is_whole(stalls))
		return 1 - stalls[STAGE_COMPUTE].value;
	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++)
		sum += isnan(stalls[i].value) ? 0 : stalls[i].value;
	return sum;
}

/* True when the interval of a stall, or of all of them, excludes zero; without intervals,
 * when all of them are noticed. */
static bool format_verdict_waits(const struct interval *stalls)
{
	double sum = format_verdict_sum(stalls);
	bool seen = stalls[STAGE_COMPUTE].high < 1;

	if (!isfinite(stalls[STAGE_COMPUTE].low))
		return sum > STAGE_NOTICED;
	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++)
		seen |= stalls[i].low > 0;
	return seen && sum > 0;
}

/* The largest of the stalls. */
static int format_verdict_largest(const struct interval *stalls)
{
	int largest = STAGES - 1;

	for (int i = STAGES - 2; i > STAGE_COMPUTE; i--)
		if (stalls[i].value > stalls[largest].value)
			largest = i;
	return largest;
}

/* "50.2%", or as wide as it is: "15% to 49%". */
static void format_verdict_share(FILE *out, const struct interval *stalls)
{
	double stall = format_verdict_sum(stalls);
	double low = 1 - stalls[STAGE_COMPUTE].high,
	       high = 1 - stalls[STAGE_COMPUTE].low;
	char number[FORMAT_SIZE];

	if (isfinite(low) && isfinite(high) && high - low > WIDE)
		fprintf(out, "%.0f%% to %.0f%%", 100 * fmax(0, low),
			100 * fmin(1, high));
	else
		fputs(format_percent(number, stall), out);
}

/* Where the interval is wider than what it is to tell. */
static void format_verdict_unknown(FILE *out, const struct profile *profile)
{
	const struct interval *compute = &profile->stalls[STAGE_COMPUTE];
	double low = fmax(0, 1 - compute->high), high = fmin(1, 1 - compute->low);
	bool vague = profile_is_vague(profile), busy = profile->busy.kept;
	const char *what = vague || low > 0 ? "How long" : "Whether";

	if (busy || vague)
		fprintf(out, "%s: %c",
			busy ? "The machine was too busy" : "Too few windows",
			tolower(*what++));
	fprintf(out, "%s training waits for data is not known%s", what,
		busy ? "" : " yet");
	if (vague)
		putc('.', out);
	else if (low > 0)
		fprintf(out, "; it may be anything from %.0f%% to %.0f%% of its time.",
			100 * low, 100 * high);
	else
		fprintf(out, "; it may be anything up to %.0f%% of its time.",
			100 * high);
}

/* Where every interval includes zero. */
static void format_verdict_without_stall(FILE *out, const struct profile *profile)
{
	if (!isfinite(profile->stalls[STAGE_COMPUTE].low))
		fprintf(out, "Training was not seen to wait for data%s.",
			profile_is_observed(profile)
				? ""
				: "; the measurement was too short for an interval");
	else
		fputs("Training does not wait for data: what it waits is within "
		      "the measurement's interval of zero.",
		      out);
}

/* What limits; of a result that does not say that, the largest stall. */
static int format_verdict_limit(const struct profile *profile)
{
	int limit = profile->limit.id;

	return limit >= STAGE_COMPUTE && limit < STAGES
		       ? limit
		       : format_verdict_largest(profile->stalls);
}

/* ": storage limits now, then preparation", unless two measurements disagree about
 * that, or intervals are too wide. */
static void format_verdict_limits(FILE *out, const struct profile *profile)
{
	int limit = format_verdict_limit(profile), next = profile->limit_next.id;
	int shown = limit != STAGE_COMPUTE ? limit
					   : format_verdict_largest(profile->stalls);
	bool two = next > STAGE_COMPUTE && next < STAGES;

	if (format_verdict_is_whole(profile->stalls)) {
		fputs("; what for can't be told apart", out);
		return;
	}
	if (format_proof_judge(profile) == FORMAT_SPLIT_UNKNOWN) {
		fputs("; two measurements disagree about what for", out);
		return;
	}
	if (!profile_tells_limit(profile, shown)) {
		fputs("; what limits is not known yet", out);
		return;
	}
	if (limit == STAGE_COMPUTE) {
		fputs("; no stage of it limits", out);
		return;
	}
	fprintf(out, ": %s limits%s%s%s", stage_table[limit].cause,
		two ? " now, then " : "", two ? stage_table[next].cause : "",
		isfinite(profile->stalls[STAGE_COMPUTE].low)
			? ""
			: "; no interval is known");
}

static void format_verdict_of_stalls(FILE *out, const struct profile *profile)
{
	const struct interval *stalls = profile->stalls;
	double stall = format_verdict_sum(stalls);
	char number[FORMAT_SIZE], other[FORMAT_SIZE];

	if (!profile_has_answer(profile)) {
		format_verdict_unknown(out, profile);
		return;
	}
	if (!format_verdict_waits(stalls)) {
		format_verdict_without_stall(out, profile);
		return;
	}
	if (stall < profile->overhead.high &&
	    interval_half(profile->overhead) <= WIDE / 2) {
		fprintf(out,
			"No verdict: the wait found (%s) is smaller than what "
			"measuring may cost (%s).",
			format_percent(number, stall),
			format_percent(other, profile->overhead.high));
		return;
	}
	fputs("Training waits for data ", out);
	format_verdict_share(out, stalls);
	fputs(" of its time", out);
	if (profile->bound_why != NULL)
		fputs(" (asynchronous program: upper bound)", out);
	format_verdict_limits(out, profile);
	putc('.', out);
}

void format_verdict(FILE *out, const struct profile *profile)
{
	const struct interval *stalls = profile->stalls;
	char *why;

	if ((isfinite(stalls[STAGE_PREP].value) &&
	     isfinite(stalls[STAGE_FETCH].value)) ||
	    profile_word_known(&profile->split)) {
		format_verdict_of_stalls(out, profile);
		return;
	}
	why = format_is_crash(profile) ? NULL : format_string(format_ending, profile);
	fprintf(out, "How long training waits for data was not measured%s%s.",
		why == NULL || *why == '\0' ? "" : ": ", why == NULL ? "" : why);
	free(why);
}
