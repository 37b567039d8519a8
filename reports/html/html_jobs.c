/* html_jobs.c - jobs that were measured together, each in a row. */
#include "reports/common/format.h"
#include "reports/html/html_part.h"

static void html_jobs_row(const struct html *html, const struct profile_job *job)
{
	const struct interval unknown[STAGES] = {STAGE_TABLE(PROFILE_UNKNOWN)};
	const struct interval *real = &job->rates[TRACE_REAL];
	FILE *out = html->out;
	char text[FORMAT_RANGE];

	fputs("<tr>", out);
	html_number(out, format_count(text, job->job));
	html_number(out, format_rate(text, real->value));
	html_number(out, html_range(text, real));
	html_stage_cells(html,
			 profile_stalls_are_vague(html->profile, job->stalls)
				 ? unknown
				 : job->stalls,
			 false);
	html_number(out, format_percent(text, job->blocked_share));
	if (isfinite(job->ahead_batches))
		snprintf(text, sizeof(text), "%.1f", job->ahead_batches);
	else
		snprintf(text, sizeof(text), "n/a");
	html_number(out, text);
	html_cell(out, job->waits_for);
	html_cell(out, job->command);
	html_cell(out, job->why);
	fputs("</tr>\n", out);
}

static void html_jobs_together(const struct html *html)
{
	const struct profile *profile = html->profile;
	char rate[FORMAT_SIZE], range[FORMAT_RANGE], cpu[FORMAT_SIZE];

	if (!isfinite(profile->together.value))
		return;
	fprintf(html->out,
		"<p>Together <strong>%s samples/s</strong> (%s); preparing a sample "
		"that a job got took %s of CPU time.</p>\n",
		format_rate(rate, profile->together.value),
		html_range(range, &profile->together),
		format_seconds(cpu, profile->prep_cpu_per_delivered_s));
}

void html_jobs(const struct html *html)
{
	const struct profile *profile = html->profile;
	char stages[FORMAT_STAGES], heads[sizeof(stages) + 96];

	if (profile->job_count == 0)
		return;
	html_section(html->out, "jobs", "Jobs side by side");
	fprintf(html->out,
		"<p>Measured in the same windows%s. All else in this report is of "
		"%s.</p>\n",
		profile->shared ? ", with one loader for all of them" : "",
		profile->shared ? "the first one, and of that loader"
				: "the first one");
	html_jobs_together(html);
	snprintf(heads, sizeof(heads),
		 "Job#|Samples/s#|Interval#|%sBlocked#|Ahead, batches#|Waits for|"
		 "Command|Note",
		 html_stage_heads(stages, profile));
	html_table(html->out, "Each job", heads);
	for (size_t i = 0; i < profile->job_count; i++)
		html_jobs_row(html, &profile->jobs[i]);
	html_table_end(html->out);
	fputs("</section>\n", html->out);
}
