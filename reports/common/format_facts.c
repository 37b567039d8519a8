/* format_facts.c - what a report tells of a run beside its shares, under a label each. */
#include "loader/base/io.h"
#include "reports/common/format.h"

#include <stdlib.h>

void format_rates(FILE *out, const struct profile *profile)
{
	const struct interval *known = profile->rates;
	char real[FORMAT_SIZE], possible[FORMAT_SIZE];

	format_rate(real, known[TRACE_REAL].value);
	format_rate(possible, known[TRACE_SYNTHETIC].value);
	if (known[TRACE_SYNTHETIC].value > known[TRACE_REAL].value)
		fprintf(out, "%s of a possible %s samples/s", real, possible);
	else if (isfinite(known[TRACE_REAL].value))
		fprintf(out, "%s samples/s", real);
}

/* "prep 38.1%, fetch 12.1%": the stages from `first` on. */
static void format_shares(FILE *out, const struct profile *profile,
			  const double shares[STAGES], int first)
{
	const char *between = "";
	char number[FORMAT_SIZE];

	for (int i = first; i < STAGES; i++) {
		if (!profile_has_stage(profile, i))
			continue;
		fprintf(out, "%s%s %s", between, stage_table[i].key,
			format_percent(number, shares[i]));
		between = ", ";
	}
}

static void format_write_job(FILE *out, const struct profile *profile,
			     const struct profile_job *job)
{
	char rate[FORMAT_SIZE];
	double shares[STAGES];

	for (int i = 0; i < STAGES; i++)
		shares[i] = job->stalls[i].value;
	fprintf(out, "%s samples/s", format_rate(rate, job->rates[TRACE_REAL].value));
	if (!profile_stalls_are_vague(profile, job->stalls)) {
		fputs(": ", out);
		format_shares(out, profile, shares, STAGE_COMPUTE);
	}
	if (job->waits_for != NULL)
		fprintf(out, "; waits for %s", job->waits_for);
	if (job->dropped)
		fputs("; left the shared loader", out);
	if (job->why != NULL)
		fprintf(out, "; %s", job->why);
}

char *format_job(const struct profile *profile, const struct profile_job *job)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return NULL;
	format_write_job(out, profile, job);
	return io_text(out, &text);
}

static void format_together(FILE *out, const struct profile *profile)
{
	const struct interval *all = &profile->together;
	char rate[FORMAT_SIZE], range[FORMAT_RANGE], cpu[FORMAT_SIZE];

	if (!isfinite(all->value))
		return;
	fprintf(out, "%s samples/s", format_rate(rate, all->value));
	if (format_range(range, all, "..") != NULL)
		fprintf(out, " (%s)", range);
	fprintf(out, "%s; prep takes %s of CPU a sample",
		profile->shared ? " with one loader" : "",
		format_seconds(cpu, profile->prep_cpu_per_delivered_s));
}

static void format_limit(FILE *out, const struct profile *profile)
{
	const char *limit = profile_word(profile_limits, &profile->limit);

	if (limit != NULL && format_proof_judge(profile) != FORMAT_SPLIT_UNKNOWN)
		fprintf(out, "%s%s%s", limit, profile->limit_why == NULL ? "" : ": ",
			profile->limit_why == NULL ? "" : profile->limit_why);
}

static void format_check(FILE *out, const struct profile *profile)
{
	char *apart;

	if (!format_has_proof(profile))
		return;
	fprintf(out, "from %s: ", format_proof_name(profile));
	format_shares(out, profile, profile->proof.share, STAGE_COMPUTE + 1);
	if (isfinite(profile->proof_gap) &&
	    format_proof_judge(profile) == FORMAT_AGREES)
		fprintf(out, " (differs by %.1f points)", 100 * profile->proof_gap);
	apart = format_string(format_disagreement, profile);
	if (apart != NULL && *apart != '\0')
		fprintf(out, "; %s", apart);
	free(apart);
}

static void format_windows(FILE *out, const struct profile *profile)
{
	size_t used = 0, certified = 0;

	for (size_t i = 0; i < profile->window_count; i++) {
		used += profile->windows[i].used;
		certified += profile->windows[i].used && profile->windows[i].certified;
	}
	if (profile->window_count == 0)
		return;
	fprintf(out, "%zu of %zu measurement%s usable", used, profile->window_count,
		profile->window_count == 1 ? "" : "s");
	if (used > 0 && certified == used)
		fputs(", all verified", out);
	else if (used > 0)
		fprintf(out, ", %zu of them verified", certified);
}

static void format_skips(FILE *out, const struct profile *profile)
{
	const struct profile_skip *first = profile->skips;
	char count[FORMAT_SIZE];

	if (profile->skipped == UNKNOWN || profile->skipped == 0)
		return;
	fprintf(out, "%s sample%s", format_count(count, profile->skipped),
		profile->skipped == 1 ? "" : "s");
	if (profile->skip_count > 0 && first->name != NULL)
		fprintf(out, ", first: %s: %s", first->name,
			first->reason == NULL ? "no reason known" : first->reason);
}

/* What the first line and the verdict do not say already. */
static bool has_ending(const struct profile *profile)
{
	return isfinite(profile->stalls[STAGE_COMPUTE].value) &&
	       !format_is_crash(profile);
}

static void format_precision(FILE *out, const struct profile *profile)
{
	if (has_ending(profile) && format_ending_is_precision(profile))
		format_ending(out, profile);
}

static void format_ended(FILE *out, const struct profile *profile)
{
	if (has_ending(profile) && !format_ending_is_precision(profile))
		format_ending(out, profile);
}

const struct format_fact format_facts[] = {
	{"together", format_together},
	{"limit", format_limit},
	{"prep", format_parts},
	{"fetch", format_split},
	{"features", format_features},
	{"shuffle", format_shuffle},
	{"requests", format_requests},
	{"cache", format_disk_cache},
	{"busy", format_busy},
	{"device", format_device},
	{"gpu", format_gpus},
	{"ranks", format_ranks},
	{"emulated", format_emulated},
	{"loader", format_which_loader},
	{"loop", format_loop},
	{"program", format_program_reads},
	{"seen", format_unseen},
	{"recipe", format_recipe},
	{"epochs", format_epoch_starts},
	{"outside", format_outside},
	{"written", format_written},
	{"kept", format_kept},
	{"check", format_check},
	{"windows", format_windows},
	{"overhead", format_overhead},
	{"skipped", format_skips},
	{"precision", format_precision},
	{"ended", format_ended},
	{"took", format_took},
	{NULL, NULL},
};
