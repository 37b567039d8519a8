/* result_markdown.c - a result as Markdown: for a change, an issue, the summary of a CI step. */
#include "loader/base/error.h"
#include "profiler/profile.h"
#include "reports/common/form_style.h"
#include "reports/common/format.h"
#include "reports/common/markdown.h"
#include "reports/common/whatif_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What `words` says between two strings, and nothing where it says nothing; frees it. */
static int markdown_words(FILE *out, const char *before, char *words, const char *after)
{
	if (words == NULL)
		return -ENOMEM;
	if (*words != '\0') {
		fputs(before, out);
		markdown_text(out, words);
		fputs(after, out);
	}
	free(words);
	return 0;
}

static int markdown_head(FILE *out, const struct profile *profile)
{
	const char *dataset = profile->dataset;
	int result;

	fputs("**", out);
	markdown_text(out, dataset == NULL ? "no data set known" : dataset);
	fputs("**", out);
	result = markdown_words(out, " · ", format_string(format_setup, profile), "");
	if (result == 0)
		result = markdown_words(out, ": ", format_string(format_rates, profile),
					"");
	fputs("\n\n", out);
	return result;
}

static void markdown_share(FILE *out, const char *label, long tenth,
			   const struct interval *interval)
{
	char share[FORMAT_SIZE], half[FORMAT_SIZE];

	fprintf(out, "| %s | %s | %s |\n", label, format_tenth(share, tenth),
		format_points(half, interval));
}

static void markdown_shares(FILE *out, const struct profile *profile)
{
	struct interval wait = format_wait(profile);
	bool whole = format_is_whole(profile);
	long tenths[STAGES];

	if (!isfinite(profile->stalls[STAGE_COMPUTE].value) ||
	    profile_is_vague(profile))
		return;
	format_stalls(profile->stalls, tenths);
	fputs("| | of the time | points |\n|---|---:|---:|\n", out);
	for (int i = 0; i < (whole ? STAGE_COMPUTE + 1 : STAGES); i++)
		if (profile_has_stage(profile, i))
			markdown_share(out, stage_table[i].label, tenths[i],
				       &profile->stalls[i]);
	if (whole)
		markdown_share(out, "data stall", 1000 - tenths[STAGE_COMPUTE], &wait);
	putc('\n', out);
}

static void markdown_change(FILE *out, const struct profile *profile,
			    const struct profile_prediction *one)
{
	const char *limit = profile_word(profile_limits, &one->limit);
	char words[WHATIF_WORDS], gain[WHATIF_SPEED];

	fputs("| ", out);
	markdown_text(out, whatif_change_words(words, &one->change));
	fprintf(out, " | %s%s | ", whatif_gain(gain, &one->speedup),
		whatif_is_per_job(profile, &one->change) ? " per job" : "");
	markdown_text(out, limit == NULL ? "" : limit);
	fputs(" |\n", out);
}

/* What would help, best first. */
static void markdown_ranking(FILE *out, const struct profile *profile)
{
	size_t ranked = 0;

	if (!whatif_was_asked(profile) || profile->model.why != NULL ||
	    !profile_has_answer(profile))
		return;
	for (size_t i = 0; i < profile->prediction_count; i++) {
		if (profile->predictions[i].rank == UNKNOWN)
			continue;
		if (ranked == 0 && format_proof_judge(profile) == FORMAT_SPLIT_UNKNOWN)
			fputs("If the first of the two measurements is right:\n\n",
			      out);
		if (ranked++ == 0)
			fputs("| what-if | speed-up | then limited by "
			      "|\n|---|---|---|\n",
			      out);
		markdown_change(out, profile, &profile->predictions[i]);
	}
	fputs(ranked > 0 ? "\n" : "No change that dsa knows would help measurably.\n\n",
	      out);
}

/* "- **label:** words", freed; nothing for "". */
static int markdown_item(FILE *out, const char *label, char *words)
{
	if (words != NULL && *words != '\0')
		fprintf(out, "- **%s:** ", label);
	return markdown_words(out, "", words, "\n");
}

static int markdown_jobs(FILE *out, const struct profile *profile)
{
	char label[FORMAT_SIZE + 4], number[FORMAT_SIZE];
	int result = 0;

	for (size_t i = 0; result == 0 && i < profile->job_count; i++) {
		const struct profile_job *job = &profile->jobs[i];

		snprintf(label, sizeof(label), "job %s",
			 format_count(number, job->job));
		result = markdown_item(out, label, format_job(profile, job));
	}
	return result;
}

static int markdown_facts(FILE *out, const struct profile *profile)
{
	int result = 0;

	if (profile->model.why != NULL && whatif_was_asked(profile))
		result = markdown_item(out, "what-if", strdup(profile->model.why));
	if (result == 0)
		result = markdown_jobs(out, profile);
	for (int i = 0; result == 0 && format_facts[i].label != NULL; i++)
		result = markdown_item(out, format_facts[i].label,
				       format_string(format_facts[i].words, profile));
	return result;
}

int markdown_write(const struct profile *profile, const struct form_style *style,
		   FILE *out, struct error *err)
{
	int result = markdown_words(out, "**", format_string(format_crash, profile),
				    "**\n\n");

	(void)style;
	if (result == 0)
		result = markdown_head(out, profile);
	if (result == 0)
		result = markdown_words(out, "", format_string(format_verdict, profile),
					"\n\n");
	markdown_shares(out, profile);
	markdown_ranking(out, profile);
	if (result == 0)
		result = markdown_facts(out, profile);
	return result < 0 ? error_sys(err, ENOMEM, "writing Markdown") : 0;
}
