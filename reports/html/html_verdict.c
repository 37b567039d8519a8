/* html_verdict.c - the top of the report: verdict, shares, what limits. */
#include "reports/common/format.h"
#include "reports/html/html_part.h"

#define LEAST_SLOWED .0005 /* share: less is shown as none */
#define MOST_BEYOND  4     /* times the rates of training that a bar is long, at most */

/* In a bar that would be longer. */
#define GAP "<path d=\"M84 10L88 0H92L88 10z\" fill=\"var(--surface)\"/>"

static void html_verdict_note(const struct html *html, const char *title,
			      format_words *format, const char *more)
{
	html_note(html, " class=\"note\"", title, format, more);
}

static void html_verdict_fact(FILE *out, const char *name, const char *number,
			      const char *unit)
{
	fprintf(out,
		"<div><dt>%s</dt><dd class=\"big\">%s <small>%s</small></dd></div>\n",
		name, number, unit);
}

static void html_verdict_facts(const struct html *html)
{
	const struct interval *rates = html->profile->rates;
	double gain = rates[TRACE_SYNTHETIC].value / rates[TRACE_REAL].value;
	char number[FORMAT_SIZE];

	if (!isfinite(rates[TRACE_REAL].value))
		return;
	fputs("<dl class=\"facts\">\n", html->out);
	html_verdict_fact(html->out, "Today",
			  format_rate(number, rates[TRACE_REAL].value), "samples/s");
	if (gain > 1)
		html_verdict_fact(html->out, "Without any wait",
				  format_rate(number, rates[TRACE_SYNTHETIC].value),
				  "samples/s");
	if (gain > 1 && profile_has_answer(html->profile)) {
		snprintf(number, sizeof(number), "%.2f×", gain);
		html_verdict_fact(html->out, "Best case", number, "faster");
	}
	fputs("</dl>\n", html->out);
}

/* "2026-11-20T10:21:07Z" as "20 November 2026, 10:21 UTC". */
static void html_verdict_started(const struct html *html)
{
	static const char *const months[] = {
		"January", "February", "March",     "April",   "May",      "June",
		"July",    "August",   "September", "October", "November", "December"};
	const char *text = html->profile->started;
	unsigned year, month, day, hour, minute;

	if (text == NULL)
		return;
	fputs(" <span>", html->out);
	if (sscanf(text, "%4u-%2u-%2uT%2u:%2u", &year, &month, &day, &hour, &minute) ==
		    5 &&
	    month >= 1 && month <= 12)
		fprintf(html->out, "%u %s %u, %02u:%02u UTC", day, months[month - 1],
			year, hour, minute);
	else
		html_text(html->out, text);
	fputs("</span>", html->out);
}

/* What a reader has to know first. */
static void html_verdict_crash(const struct html *html)
{
	if (!format_is_crash(html->profile))
		return;
	fputs("<p class=\"note\"><strong>", html->out);
	html_words(html, format_crash);
	fputs("</strong></p>\n", html->out);
}

/* Where the verdict does not say it. */
static void html_verdict_ending(const struct html *html)
{
	const struct profile *profile = html->profile;

	if (isfinite(profile->stalls[STAGE_COMPUTE].value) && !format_is_crash(profile))
		html_verdict_note(html,
				  format_ending_is_precision(profile) ? "Precision"
								      : "Ended",
				  format_ending, "");
	html_verdict_note(html, "Took", format_took, "");
}

void html_head(const struct html *html)
{
	const struct profile *profile = html->profile;
	FILE *out = html->out;

	fputs("<header>\n<p class=\"top\"><span class=\"brand\">dsa report</span>",
	      out);
	html_verdict_started(html);
	fputs("</p>\n", out);
	html_verdict_crash(html);
	fputs("<h1>", out);
	html_words(html, format_verdict);
	fputs("</h1>\n<p class=\"how\">", out);
	html_text(out, profile->dataset);
	if (profile->dataset != NULL && profile_word_known(&profile->cache))
		fputs(" · ", out);
	html_words(html, format_setup);
	fputs("</p>\n", out);
	html_verdict_ending(html);
	html_verdict_note(html, "Loop", format_loop, "");
	html_verdict_note(html, "Fetch", format_split, "");
	html_verdict_note(html, "Busy machine", format_busy, "");
	html_verdict_note(html, "Check", format_disagreement, "");
	html_verdict_note(html, "Loader", format_which_loader, "");
	html_verdict_note(html, "Program", format_program_reads, "");
	html_verdict_note(html, "Written", format_written, "");
	html_verdict_note(html, "Kept", format_kept, "");
	html_verdict_note(
		html, "Emulated", format_emulated,
		isfinite(profile->emulated_per_s)
			? " The step took its batches at this pace without computing "
			  "anything."
			: "");
	html_verdict_facts(html);
	fputs("</header>\n", out);
}

static void html_verdict_share(const struct html *html, int i, long tenth)
{
	const struct stage_info *stage = &stage_table[i];
	char number[FORMAT_SIZE], half[FORMAT_SIZE];

	fprintf(html->out, "<li class=\"%s\"><div class=\"name\">", stage->key);
	html_swatch(html->out, i);
	fprintf(html->out,
		"%s%s</div><p class=\"big\">%s <small>%s</small></p>"
		"<p class=\"small\">%s</p></li>\n",
		stage->title,
		i == 0 && isfinite(html->profile->emulated_per_s) ? " (emulated)" : "",
		format_tenth(number, tenth),
		format_points(half, &html->profile->stalls[i]), stage->about);
}

/* Of prep and fetch where they can't be told apart. */
static void html_verdict_wait(const struct html *html, long tenth)
{
	char number[FORMAT_SIZE], half[FORMAT_SIZE];
	struct interval wait = format_wait(html->profile);

	fprintf(html->out,
		"<li><div class=\"name\">Data stall</div><p class=\"big\">%s "
		"<small>%s</small></p><p class=\"small\">",
		format_tenth(number, tenth), format_points(half, &wait));
	html_sentence(html->out, html->profile->split_why);
	fputs("</p></li>\n", html->out);
}

static void html_verdict_outside(const struct html *html)
{
	const struct profile *profile = html->profile;
	char time[FORMAT_SIZE], percent[FORMAT_SIZE];

	if (!isfinite(profile->outside_share) || !(profile->outside_share > 0))
		return;
	fprintf(html->out,
		"<h3>Outside the loop of steps</h3>\n"
		"<svg class=\"bar thin\" aria-hidden=\"true\"><rect width=\"100%%\" "
		"height=\"12\" fill=\"var(--grid)\"/><rect width=\"%.2f%%\" "
		"height=\"12\" fill=\"var(--muted)\"/></svg>\n"
		"<p class=\"small\">%s of the time from the first to the last request "
		"(%s) went to warm-up, evaluation, checkpoints or pauses. It is in "
		"none of the shares above.</p>\n",
		100 * fmin(1, profile->outside_share),
		format_percent(percent, profile->outside_share),
		format_seconds(time, profile->outside_s));
}

static void html_verdict_split(const struct html *html)
{
	const struct profile *profile = html->profile;
	double slowed = profile->prep_contention;

	if (!isfinite(profile->prep_waiting) || !isfinite(slowed))
		return;
	if (slowed >= LEAST_SLOWED)
		fprintf(html->out,
			"<p class=\"small\">Of the prep stall, %.1f points are "
			"waiting; %.1f points are the step itself slowed down, as "
			"preparation takes its cores.</p>\n",
			100 * fmax(0, profile->prep_waiting), 100 * slowed);
	else
		fputs("<p class=\"small\">All of the prep stall is waiting; none "
		      "comes from preparation taking the step's cores.</p>\n",
		      html->out);
}

void html_shares(const struct html *html)
{
	const struct interval *stalls = html->profile->stalls;
	long tenths[STAGES];
	bool whole = format_is_whole(html->profile);
	int sums, shown = 0;

	if (!isfinite(stalls[STAGE_COMPUTE].value))
		return;
	sums = format_stalls(stalls, tenths);
	html_section(html->out, "time", "Where the time of a step goes");
	if (profile_is_vague(html->profile)) {
		fprintf(html->out, "<p>%s to tell the shares apart.</p>\n",
			html->profile->busy.kept ? "The machine was too busy"
						 : "Too few windows");
		html_verdict_outside(html);
		fputs("</section>\n", html->out);
		return;
	}
	html_bar(html->out, html->profile, "bar", true);
	fputs("<ul class=\"shares\">\n", html->out);
	for (int i = 0; i < (whole ? STAGE_COMPUTE + 1 : STAGES); i++)
		if (profile_has_stage(html->profile, i)) {
			html_verdict_share(html, i, tenths[i]);
			shown++;
		}
	if (whole)
		html_verdict_wait(html, 1000 - tenths[STAGE_COMPUTE]);
	fprintf(html->out, "</ul>\n<p class=\"small\">%s%s</p>\n",
		!sums        ? ""
		: shown == 3 ? "The three sum to 100%. "
		: shown == 4 ? "The four sum to 100%. "
			     : "They sum to 100%. ",
		isfinite(stalls[STAGE_COMPUTE].low) ? "± is half of a 95% interval, in "
						      "points of the time of a step."
						    : "");
	html_verdict_split(html);
	html_verdict_outside(html);
	fputs("</section>\n", html->out);
}

static void html_verdict_rate(const struct html *html, const char *name, int ink,
			      const struct interval *interval, double most)
{
	char number[FORMAT_SIZE], range[FORMAT_RANGE];

	if (!isfinite(interval->value))
		return;
	fprintf(html->out,
		"<tr><th scope=\"row\">%s</th><td class=\"rate\">"
		"<svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" "
		"aria-hidden=\"true\"><path d=\"M0 0H100V10H0z\" fill=\"var(--grid)\"/>"
		"<path d=\"M0 0H%.2fV10H0z\" fill=\"var(--ink-%d)\"/>%s</svg></td>",
		name, fmax(0, fmin(100, 100 * interval->value / most)), ink,
		interval->value > most ? GAP : "");
	html_number(html->out, format_rate(number, interval->value));
	html_number(html->out, html_range(range, interval));
	fputs("</tr>\n", html->out);
}

/* Of the first so many kinds. */
static double html_verdict_highest(const struct interval *rates, int kinds)
{
	double most = 0;

	for (int i = 0; i < kinds; i++)
		most = fmax(most, rates[i].value);
	return most;
}

static void html_verdict_rates(const struct html *html)
{
	const struct interval *rates = html->profile->rates;
	double highest = html_verdict_highest(rates, TRACE_RATES);
	double trained = html_verdict_highest(rates, TRACE_COPIED + 1);
	double most = trained > 0 ? fmin(highest, MOST_BEYOND * trained) : highest;

	if (!(most > 0))
		return;
	html_table(html->out, "Samples per second, with 95% intervals",
		   "What was measured|Compared|Samples/s#|Interval#");
	for (int i = STAGES - 1; i >= 0; i--)
		html_verdict_rate(html, stage_table[i].window, stage_table[i].ink,
				  &rates[stage_table[i].kind], most);
	html_verdict_rate(html, "Synthetic, workers as busy as usual",
			  stage_table[STAGE_COMPUTE].ink, &rates[TRACE_LOADED], most);
	html_verdict_rate(html, "Preparation alone, workers as configured",
			  stage_table[STAGE_PREP].ink, &rates[TRACE_PREP], most);
	html_verdict_rate(html, "Fetching alone, cache hits counted",
			  stage_table[STAGE_FETCH].ink, &rates[TRACE_FETCH], most);
	html_table_end(html->out);
	if (highest > most)
		fputs("<p class=\"small\">A bar with a gap is longer than there is "
		      "room "
		      "for.</p>\n",
		      html->out);
}

void html_limit(const struct html *html)
{
	const struct profile *profile = html->profile;
	const char *limit = format_proof_judge(profile) == FORMAT_SPLIT_UNKNOWN
				    ? NULL
				    : profile_word(profile_limits, &profile->limit);

	if (limit == NULL && !(html_verdict_highest(profile->rates, TRACE_RATES) > 0))
		return;
	html_section(html->out, "limit", "What limits it");
	if (limit != NULL) {
		fputs("<p><strong>", html->out);
		html_text(html->out, limit);
		fputs("</strong>", html->out);
		if (profile->limit_why != NULL)
			fputs(": ", html->out);
		html_text(html->out, profile->limit_why);
		fputs(".</p>\n", html->out);
	}
	html_verdict_rates(html);
	if (isfinite(profile->rates[TRACE_CACHED].value))
		fprintf(html->out,
			"<p class=\"small\">The stalls are the differences between the "
			"real, the cached%s and the synthetic windows.</p>\n",
			isfinite(profile->rates[TRACE_COPIED].value) ? ", the copied"
								     : "");
	fputs("</section>\n", html->out);
}
