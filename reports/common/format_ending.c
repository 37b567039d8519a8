/* format_ending.c - how a run ended, how precise it got, and what would do better. */
#include "reports/common/escape.h"
#include "reports/common/format.h"

#include <ctype.h>
#include <stdlib.h>

#define REACH   10. /* times the budget: nobody waits for more */
#define ON_TOP  .1  /* of the budget: what start and end of the program may take */
#define LEAST_S 2.  /* or so long */
#define MUCH    .05 /* of the run, outside its steps */

static bool format_ending_measured(const struct profile *profile)
{
	return isfinite(profile->stalls[STAGE_COMPUTE].value);
}

bool format_ending_is_precision(const struct profile *profile)
{
	return profile->status.id == STATUS_BUDGET && format_ending_measured(profile) &&
	       isfinite(profile->budget_needed_s) && isfinite(profile->precision);
}

bool format_is_crash(const struct profile *profile)
{
	return profile->status.id == STATUS_TARGET_DIED ||
	       profile->status.id == STATUS_TARGET_HUNG;
}

/* True where what was wanted takes longer than anybody would wait. */
static bool format_ending_is_far(const struct profile *profile)
{
	return !(profile->budget_needed_s <= REACH * profile->budget_s);
}

/* "±2.1 points instead of ±1", and what would reach that; of few blocks, what would measure
 * more. */
static void format_ending_precision(FILE *out, const struct profile *profile)
{
	double half = 100 * format_half(profile), wanted = 100 * profile->precision;
	bool far = format_ending_is_far(profile);
	char budget[FORMAT_SIZE], blocks[FORMAT_SIZE];

	format_budget(budget, profile->budget_needed_s);
	if (half <= wanted && profile->blocks != UNKNOWN) {
		fprintf(out, "±%.1f points, by only %s block%s; ", half,
			format_count(blocks, profile->blocks),
			profile->blocks == 1 ? "" : "s");
		if (far)
			fputs("more would need over 10 times the budget", out);
		else
			fprintf(out, "--budget %s would measure enough of them",
				budget);
		return;
	}
	if (isfinite(half) && !profile_is_vague(profile))
		fprintf(out, "±%.*f points instead of ±%.3g; ",
			fabs(half - wanted) < .05 ? 2 : 1, half, wanted);
	if (far)
		fprintf(out, "±%.3g needs over 10 times the budget", wanted);
	else
		fprintf(out, "--budget %s would reach ±%.3g", budget, wanted);
}

/* Without a reason of the run's own. */
static void format_ending_plainly(FILE *out, const struct profile *profile)
{
	static const char *const words[STATUSES] = {
		[STATUS_BUDGET] = "the budget was spent",
		[STATUS_REQUESTS] =
			"the requests that --max-requests allows are used up",
		[STATUS_STEPS] = "all the steps asked for were taken",
		[STATUS_VOID] = "too few measurements could be verified",
		[STATUS_INTERRUPTED] = "you interrupted it",
		[STATUS_TARGET_ENDED] = "the program finished first",
		[STATUS_TARGET_DIED] = "the program crashed",
		[STATUS_NO_BATCH] = "the program asked for no batch",
		[STATUS_TARGET_HUNG] = "the program hung",
		[STATUS_DSA_DIED] = "dsa ended before the run did",
	};
	int status = profile->status.id;
	char count[FORMAT_SIZE];

	if (status == STATUS_REQUESTS && profile->requests.most != UNKNOWN)
		fprintf(out, "the %s requests that it might make are used up",
			format_count(count, profile->requests.most));
	else if (status == STATUS_BUDGET && isfinite(profile->budget_s))
		fprintf(out, "the budget of %s was spent",
			format_seconds(count, profile->budget_s));
	else if (status >= 0 && words[status] != NULL)
		fputs(words[status], out);
	else
		escape_plain(out, profile->status.other);
}

static void format_ending_reason(FILE *out, const struct profile *profile)
{
	if (profile->status_why == NULL || profile->status.id == STATUS_VOID)
		format_ending_plainly(out, profile);
	if (profile->status_why == NULL)
		return;
	if (profile->status.id == STATUS_VOID)
		fputs(": ", out);
	escape_plain(out, profile->status_why);
}

/* What would reach the precision, or any shares at all. */
static void format_ending_requests(FILE *out, const struct profile *profile)
{
	char count[FORMAT_SIZE];

	if (profile->status.id != STATUS_REQUESTS)
		return;
	if (!format_ending_measured(profile))
		fputs(": raise --max-requests", out);
	else if (profile->requests.needed != UNKNOWN)
		fprintf(out, "; about %s would reach ±%.3g",
			format_count(count, profile->requests.needed),
			100 * profile->precision);
}

/* What the reason leaves open: how good the shares are, or what they would need. */
static void format_ending_more(FILE *out, const struct profile *profile)
{
	double half = format_half(profile);
	char budget[FORMAT_SIZE];

	if (isfinite(half) && !profile_is_vague(profile) &&
	    isfinite(profile->budget_needed_s))
		fprintf(out, "; the shares are known to ±%.1f points%s", 100 * half,
			profile->status.id == STATUS_TARGET_ENDED
				? ", more epochs or steps would narrow that"
				: "");
	else if (!format_ending_measured(profile) &&
		 profile->status.id == STATUS_BUDGET &&
		 isfinite(profile->budget_needed_s))
		fprintf(out, ": --budget %s would do%s",
			format_budget(budget, profile->budget_needed_s),
			format_ending_is_far(profile)
				? "; or watch the training as it is with --observe"
				: "");
}

/* What went wrong though it was measured. */
static void format_ending_note(FILE *out, const struct profile *profile)
{
	if (profile->status_why == NULL)
		return;
	fputs("; ", out);
	escape_plain(out, profile->status_why);
}

void format_ending(FILE *out, const struct profile *profile)
{
	bool complete = profile->status.id == STATUS_COMPLETE;

	if (profile_word(profile_statuses, &profile->status) == NULL ||
	    (complete && profile->status_why == NULL))
		return;
	if (format_ending_is_precision(profile)) {
		format_ending_precision(out, profile);
		format_ending_note(out, profile);
		return;
	}
	format_ending_reason(out, profile);
	format_ending_more(out, profile);
	format_ending_requests(out, profile);
}

void format_crash(FILE *out, const struct profile *profile)
{
	char *text;

	if (!format_is_crash(profile))
		return;
	text = format_string(format_ending_reason, profile);
	if (text == NULL)
		return;
	text[0] = (char)toupper((unsigned char)text[0]);
	fprintf(out, "%s%s.", text,
		format_ending_measured(profile)
			? "; this is what was measured until then"
			: "");
	free(text);
}

void format_took(FILE *out, const struct profile *profile)
{
	char wall[FORMAT_SIZE], budget[FORMAT_SIZE];
	double budget_s = profile->budget_s;

	if (profile->status.id == STATUS_BUDGET &&
	    profile->wall_s > budget_s + fmax(LEAST_S, ON_TOP * budget_s))
		fprintf(out,
			"%s: %s of measuring, the rest for the program to "
			"begin and to leave",
			format_seconds(wall, profile->wall_s),
			format_seconds(budget, budget_s));
}

void format_outside(FILE *out, const struct profile *profile)
{
	char percent[FORMAT_SIZE], time[FORMAT_SIZE];

	if (profile->outside_share >= MUCH)
		fprintf(out,
			"%s of the run (%s) passed between steps: warm-up, evaluation, "
			"checkpoints, pauses; the shares do not count it",
			format_percent(percent, fmin(1, profile->outside_share)),
			format_seconds(time, profile->outside_s));
}

void format_which_loader(FILE *out, const struct profile *profile)
{
	if (profile->beside != UNKNOWN)
		fprintf(out,
			"each step has batches of %llu other loader%s, too: its waits "
			"for "
			"all of them count; samples are those of one",
			(unsigned long long)profile->beside,
			profile->beside == 1 ? "" : "s");
	else if (profile->loaders != UNKNOWN && profile->loaders > 1)
		fprintf(out,
			"the first of %llu that the program opened: the one that was "
			"asked for a batch first",
			(unsigned long long)profile->loaders);
}

void format_loop(FILE *out, const struct profile *profile)
{
	if (profile->untrained)
		fputs("no backward() of torch followed a batch: inference, evaluation, "
		      "or a training that does without it",
		      out);
	else if (profile->reads_ahead)
		fputs("another thread than the one that trains asks for its batches, "
		      "ahead of it",
		      out);
}
