/* terminal.c - the verdict box: shares, limit, evidence. */
#include "reports/terminal/terminal.h"
#include "loader/base/error.h"
#include "profiler/profile.h"
#include "reports/common/escape.h"
#include "reports/common/format.h"
#include "reports/terminal/box.h"
#include "reports/terminal/whatif_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ADVICE = 3 }; /* lines of it; dsa whatif shows all */

static bool says_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value != NULL && *value != '\0')
			return strcasestr(value, "utf-8") != NULL ||
			       strcasestr(value, "utf8") != NULL;
	}
	return false;
}

struct form_style terminal_style(FILE *out)
{
	const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return (struct form_style){
		.colour = (none == NULL || *none == '\0') && terminal != NULL &&
			  strcmp(terminal, "dumb") != 0 && isatty(fileno(out)),
		.ascii = !says_utf8(),
	};
}

/* "1912 of a possible 3840 samples/s", to be freed; empty where unknown. */
static char *terminal_rates(struct box *box, const struct profile *profile)
{
	const struct interval *known = profile->rates;
	char real[FORMAT_SIZE], possible[FORMAT_SIZE], *text = NULL;
	int length;

	format_rate(real, known[TRACE_REAL].value);
	format_rate(possible, known[TRACE_SYNTHETIC].value);
	if (!isfinite(known[TRACE_REAL].value))
		length = asprintf(&text, "%s", "");
	else if (!isfinite(known[TRACE_SYNTHETIC].value))
		length = asprintf(&text, "%s samples/s", real);
	else
		length = asprintf(&text, "%s of a possible %s samples/s", real,
				  possible);
	box->failed |= length < 0;
	return length < 0 ? NULL : text;
}

/* Writes at most `room` characters, the end of text. Returns how many. */
static size_t terminal_fit(const struct box *box, const char *text, size_t room)
{
	const char *cut;

	text = escape_tail(text, room, &cut);
	fputs(cut, box->out);
	escape_plain(box->out, text);
	return strlen(cut) + escape_width(text);
}

/* "images/ · 4 workers · minio cache 35%      1912 of a possible 3840 samples/s" */
static void terminal_head(struct box *box, const struct profile *profile)
{
	const char *dataset = profile->dataset;
	char *how = format_string(format_setup, profile),
	     *rate = terminal_rates(box, profile);
	size_t right = rate == NULL ? 0 : strlen(rate), left, room;

	box->failed |= how == NULL;
	left = how == NULL ? 0 : escape_width(how);
	room = BOX_WIDTH > right + left + 5 ? BOX_WIDTH - right - left - 5 : 0;
	fprintf(box->out, "%*s%s", BOX_INDENT, "", box_ink(box, BOX_BOLD));
	room = terminal_fit(box, dataset == NULL ? "no data set known" : dataset,
			    room > 12 ? room : 12);
	fputs(box_ink(box, BOX_PLAIN), box->out);
	if (left > 0) {
		fputs(" · ", box->out);
		room += 3 + terminal_fit(box, how, BOX_WIDTH - 16);
	}
	if (room + 2 + right > BOX_WIDTH)
		fprintf(box->out, "\n%*s%s\n", BOX_INDENT, "",
			rate == NULL ? "" : rate);
	else
		fprintf(box->out, "%*s\n", (int)(BOX_WIDTH - room),
			rate == NULL ? "" : rate);
	free(how);
	free(rate);
}

static void terminal_shares(const struct box *box, const struct profile *profile,
			    const long tenths[STAGES])
{
	char share[FORMAT_SIZE], half[FORMAT_SIZE];

	fprintf(box->out, "%*s", BOX_INDENT, "");
	for (int i = 0; i < STAGES; i++) {
		if (!profile_has_stage(profile, i))
			continue;
		format_points(half, &profile->stalls[i]);
		fprintf(box->out, "%s%s %s%s%s%s%s", i == 0 ? "" : " | ",
			stage_table[i].label, box_ink(box, BOX_BOLD),
			format_tenth(share, tenths[i]), box_ink(box, BOX_PLAIN),
			*half == '\0' ? "" : " ", half);
	}
	putc('\n', box->out);
}

/* The shares as a bar; negative ones have no length. */
static void terminal_bar(const struct box *box, const long tenths[STAGES], bool sums)
{
	enum { CELLS = BOX_WIDTH - 16 };
	double part[STAGES], sum = 0;
	long length[STAGES];

	for (int i = 0; i < STAGES; i++)
		sum += part[i] = tenths[i] > 0 ? (double)tenths[i] : 0;
	for (int i = 0; i < STAGES; i++)
		part[i] /= sum;
	if (!format_tenths(part, STAGES, length))
		return;
	fprintf(box->out, "%*s", BOX_INDENT, "");
	for (int i = 0, begin = 0; i < STAGES; i++) {
		long end = begin + length[i];

		if (length[i] > 0 || !stage_table[i].optional)
			fputs(box->style->colour ? stage_table[i].colour : "",
			      box->out);
		for (long at = begin * CELLS / 1000; at < end * CELLS / 1000; at++)
			fputs(stage_table[i].cell, box->out);
		begin = (int)end;
	}
	fprintf(box->out, "%s%s\n", box_ink(box, BOX_PLAIN),
		sums ? "  sums to 100.0%" : "");
}

static void terminal_stalls(struct box *box, const struct profile *profile)
{
	char *verdict = format_string(format_verdict, profile);
	long tenths[STAGES];

	if (isfinite(profile->stalls[STAGE_COMPUTE].value)) {
		bool sums = format_stalls(profile->stalls, tenths);

		terminal_shares(box, profile, tenths);
		terminal_bar(box, tenths, sums);
	}
	box->failed |= verdict == NULL;
	putc('\n', box->out);
	box_paragraph(box, verdict == NULL ? "" : verdict, BOX_INDENT);
	putc('\n', box->out);
	free(verdict);
}

static void terminal_together(struct box *box, const struct profile *profile)
{
	const struct interval *all = &profile->together;
	char rate[FORMAT_SIZE], low[FORMAT_SIZE], high[FORMAT_SIZE], cpu[FORMAT_SIZE];
	char range[2 * FORMAT_SIZE + 8] = "";

	if (!isfinite(all->value))
		return;
	if (isfinite(all->low) && isfinite(all->high))
		snprintf(range, sizeof(range), " (%s .. %s)",
			 format_rate(low, all->low), format_rate(high, all->high));
	box_line(box, "together", "%s samples/s%s%s; prep takes %s of CPU a sample",
		 format_rate(rate, all->value), range,
		 profile->shared ? " with one loader" : "",
		 format_seconds(cpu, profile->prep_cpu_per_delivered_s));
}

/* "prep 38.1%, fetch 12.1%": the stages from `first` on. */
static const char *terminal_stages(char to[FORMAT_STAGES],
				   const struct profile *profile,
				   const double shares[STAGES], int first)
{
	char number[FORMAT_SIZE];
	size_t used = 0;

	for (int i = first; i < STAGES; i++)
		if (profile_has_stage(profile, i))
			used += (size_t)snprintf(to + used, FORMAT_STAGES - used,
						 "%s%s %s", i == first ? "" : ", ",
						 stage_table[i].key,
						 format_percent(number, shares[i]));
	return to;
}

static void terminal_job(struct box *box, const struct profile *profile,
			 const struct profile_job *job)
{
	char label[24], rate[FORMAT_SIZE], stages[FORMAT_STAGES];
	double shares[STAGES];

	for (int i = 0; i < STAGES; i++)
		shares[i] = job->stalls[i].value;
	snprintf(label, sizeof(label), "job %u", (unsigned)job->job);
	box_line(box, label, "%s samples/s: %s%s%s%s%s%s",
		 format_rate(rate, job->rates[TRACE_REAL].value),
		 terminal_stages(stages, profile, shares, STAGE_COMPUTE),
		 job->waits_for == NULL ? "" : "; waits for ",
		 job->waits_for == NULL ? "" : job->waits_for,
		 job->dropped ? "; left the shared loader" : "",
		 job->why == NULL ? "" : "; ", job->why == NULL ? "" : job->why);
}

/* One line each, where several were measured. */
static void terminal_jobs(struct box *box, const struct profile *profile)
{
	for (size_t i = 0; i < profile->job_count; i++)
		terminal_job(box, profile, &profile->jobs[i]);
	terminal_together(box, profile);
}

static void terminal_limit(struct box *box, const struct profile *profile)
{
	const char *limit = profile_word(profile_limits, &profile->limit);

	if (limit != NULL)
		box_line(box, "limit", "%s%s%s", limit,
			 profile->limit_why == NULL ? "" : ": ",
			 profile->limit_why == NULL ? "" : profile->limit_why);
}

static void terminal_proof(struct box *box, const struct profile *profile)
{
	char stages[FORMAT_STAGES], gap[FORMAT_SIZE] = "";

	if (!format_has_proof(profile))
		return;
	if (isfinite(profile->proof_gap))
		snprintf(gap, sizeof(gap), "; within %.1f points",
			 100 * profile->proof_gap);
	box_line(box, "proof", "%s, from the time blocked%s",
		 terminal_stages(stages, profile, profile->proof.share,
				 STAGE_COMPUTE + 1),
		 gap);
}

static void terminal_certificates(struct box *box, const struct profile *profile)
{
	size_t used = 0, certified = 0;

	for (size_t i = 0; i < profile->window_count; i++) {
		used += profile->windows[i].used;
		certified += profile->windows[i].used && profile->windows[i].certified;
	}
	if (profile->window_count > 0)
		box_line(box, "windows", "%zu of %zu used, %zu of them certified", used,
			 profile->window_count, certified);
}

static void terminal_skips(struct box *box, const struct profile *profile)
{
	const struct profile_skip *first = profile->skips;
	char count[FORMAT_SIZE];

	if (profile->skipped == UNKNOWN || profile->skipped == 0)
		return;
	if (profile->skip_count == 0 || first->name == NULL)
		box_line(box, "skipped", "%s samples",
			 format_count(count, profile->skipped));
	else
		box_line(box, "skipped", "%s sample%s, first: %s: %s",
			 format_count(count, profile->skipped),
			 profile->skipped == 1 ? "" : "s", first->name,
			 first->reason == NULL ? "no reason known" : first->reason);
}

static void terminal_write_box(struct box *box, const struct profile *profile)
{
	putc('\n', box->out);
	terminal_head(box, profile);
	terminal_stalls(box, profile);
	whatif_ranking(box, profile, ADVICE);
	terminal_jobs(box, profile);
	terminal_limit(box, profile);
	box_sentence(box, "emulated", format_string(format_emulated, profile));
	terminal_proof(box, profile);
	terminal_certificates(box, profile);
	box_sentence(box, "overhead", format_string(format_overhead, profile));
	terminal_skips(box, profile);
	box_sentence(box, "ended", format_string(format_ending, profile));
	if (box->style->where != NULL)
		box_line(box, "report", "%s", box->style->where);
	putc('\n', box->out);
}

int terminal_write(const struct profile *profile, const struct form_style *style,
		   FILE *out, struct error *err)
{
	struct box box;

	if (box_open(&box, style) < 0)
		return error_set(err, ENOMEM, "no memory for the text");
	terminal_write_box(&box, profile);
	return box_close(&box, out, err);
}
