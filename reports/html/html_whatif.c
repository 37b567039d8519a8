/* html_whatif.c - what each change would bring, and how right such words were. */
#include "models/whatif/calibration.h"
#include "reports/common/format.h"
#include "reports/common/whatif_curve.h"
#include "reports/common/whatif_words.h"
#include "reports/html/html_part.h"
#include "reports/plot/plot.h"

#include <ctype.h>
#include <string.h>

static void change_head(FILE *out, const struct profile_change *change)
{
	char words[WHATIF_WORDS];

	fprintf(out, "<th scope=\"row\">%s</th>", whatif_change_words(words, change));
}

/* Two cells: "1912" and "1890 to 1935". */
static void html_whatif_estimate(FILE *out, const struct interval *estimate,
				 const char *unit)
{
	char text[FORMAT_RANGE], with_unit[2 * FORMAT_RANGE];

	snprintf(with_unit, sizeof(with_unit), "%s%s",
		 format_rate(text, estimate->value), unit);
	if (isfinite(estimate->value))
		html_number(out, with_unit);
	else
		html_number(out, isfinite(estimate->low) ? "bounds" : "n/a");
	html_number(out, html_range(text, estimate));
}

/* "0.0131 to 0.0145" for a million samples, of the interval of an epoch. */
static void cost_range(const struct html *html, const struct interval *epoch)
{
	double low = whatif_cost(html->profile, epoch->low),
	       high = whatif_cost(html->profile, epoch->high);
	char from[FORMAT_SIZE], to[FORMAT_SIZE], text[3 * FORMAT_SIZE];

	snprintf(text, sizeof(text), "%s to %s", format_cost(from, low),
		 format_cost(to, high));
	html_number(html->out, isfinite(low) && isfinite(high) ? text : "n/a");
}

/* Cells of what several jobs take up. */
static void html_whatif_needs(FILE *out, const struct profile_prediction *prediction)
{
	double reads = prediction->read_bytes_per_s;
	char text[FORMAT_SIZE], rate[FORMAT_SIZE + 4];

	html_number(out, format_bytes(text, prediction->memory_bytes));
	snprintf(rate, sizeof(rate), "%s%s", format_bytes(text, reads),
		 isfinite(reads) ? "/s" : "");
	html_number(out, rate);
	html_number(out, format_rate(text, prediction->prep_cores));
}

/* Cells of what an epoch asks of servers. */
static void html_whatif_traffic(FILE *out, const struct profile_traffic *traffic)
{
	char text[FORMAT_SIZE];

	html_number(out, isfinite(traffic->reads)
				 ? format_count(text, (uint64_t)round(traffic->reads))
				 : "n/a");
	html_number(out, format_bytes(text, traffic->out_bytes));
}

static void prediction_row(const struct html *html,
			   const struct profile_prediction *prediction,
			   struct whatif_columns columns)
{
	FILE *out = html->out;
	char text[FORMAT_SIZE];

	fputs("<tr>", out);
	change_head(out, &prediction->change);
	html_whatif_estimate(out, &prediction->per_s, "");
	html_whatif_estimate(out, &prediction->speedup, "×");
	html_stage_cells(html, prediction->stalls, true);
	html_cell(out, profile_word(profile_limits, &prediction->limit));
	if (columns.jobs) {
		html_number(out, format_rate(text, prediction->per_job.value));
		html_whatif_needs(out, prediction);
	}
	if (columns.traffic)
		html_whatif_traffic(out, &prediction->traffic);
	if (columns.costs)
		html_number(out,
			    format_cost(text, whatif_cost(html->profile,
							  prediction->cost.value)));
	fputs("</tr>\n", out);
}

static void html_whatif_begin(const struct html *html, const char *caption,
			      struct whatif_columns columns)
{
	char stages[FORMAT_STAGES], heads[sizeof(stages) + 224];

	snprintf(heads, sizeof(heads),
		 "Change|Samples/s#|Interval#|Speed#|Interval#|%sLimits then%s%s%s%s",
		 html_stage_heads(stages, html->profile),
		 columns.jobs ? "|A job, samples/s#|Memory#|Reads#|Prep cores#" : "",
		 columns.traffic ? "|GETs an epoch#|Bytes out#" : "",
		 columns.costs ? "|Cost of 1M, " : "",
		 columns.costs ? whatif_currency(html->profile) : "");
	if (columns.costs)
		strcat(heads, "#");
	html_table(html->out, caption, heads);
}

static void html_whatif_predictions(const struct html *html)
{
	const struct profile *profile = html->profile;
	const struct whatif_columns columns = whatif_columns(profile);
	char stages[FORMAT_STAGES];

	html_whatif_begin(html, "Predicted, with 95% intervals", columns);
	for (size_t i = 0; i < profile->prediction_count; i++)
		prediction_row(html, &profile->predictions[i], columns);
	html_table_end(html->out);
	fprintf(html->out,
		"<p class=\"small\">%s are the shares of a step that would remain.",
		format_stages(stages, profile, false));
	if (columns.traffic && isfinite(profile->traffic.reads)) {
		fputs(" An epoch as the run was asks servers for ", html->out);
		whatif_traffic(html->out, profile);
		fputs(".", html->out);
	}
	if (columns.costs) {
		char now[FORMAT_SIZE];

		fprintf(html->out, " Costs are of a million samples, in %s",
			*whatif_currency(profile) == '\0' ? "the prices' currency"
							  : whatif_currency(profile));
		if (isfinite(profile->cost.value))
			fprintf(html->out, "; as the run was, %s",
				format_cost(now,
					    whatif_cost(profile, profile->cost.value)));
		fputs(".", html->out);
	}
	fputs("</p>\n", html->out);
}

static void command_cell(FILE *out, const char *command)
{
	if (command == NULL) {
		html_cell(out, NULL);
		return;
	}
	fputs("<td><code>", out);
	html_text(out, command);
	fputs("</code></td>", out);
}

static void html_whatif_reasons(const struct html *html)
{
	const struct profile *profile = html->profile;
	bool costs = whatif_columns(profile).costs;

	fputs("<details><summary>What each assumes, and what verifies it</summary>\n",
	      html->out);
	html_table(html->out, "Assumptions and commands",
		   costs ? "Change|Cost#|Why|Command" : "Change|Why|Command");
	for (size_t i = 0; i < profile->prediction_count; i++) {
		const struct profile_prediction *prediction = &profile->predictions[i];

		fputs("<tr>", html->out);
		change_head(html->out, &prediction->change);
		if (costs)
			cost_range(html, &prediction->cost);
		html_cell(html->out, prediction->why);
		command_cell(html->out, prediction->command);
		fputs("</tr>\n", html->out);
	}
	html_table_end(html->out);
	fputs("</details>\n", html->out);
}

/* What to write in place of the program's own loader. */
static void html_whatif_code(const struct html *html)
{
	fputs("<pre>import dsa\nloader = ", html->out);
	html_text(html->out, html->profile->own_recipe.code);
	fputs("\nfor images, labels in loader:\n    ...</pre>", html->out);
}

/* Its place in the advice. */
static void html_whatif_advised(const struct html *html,
				const struct profile_prediction *prediction)
{
	const char *limit = profile_word(profile_limits, &prediction->limit);
	FILE *out = html->out;
	char words[WHATIF_WORDS], gain[WHATIF_SPEED];

	fprintf(out, "<li><p><strong>%s</strong>, %s%s",
		whatif_change_words(words, &prediction->change),
		whatif_gain(gain, &prediction->speedup),
		whatif_is_per_job(html->profile, &prediction->change) ? " per job"
								      : "");
	fputs(prediction->advice == NULL ? "" : ": ", out);
	html_text(out, prediction->advice);
	fputs(limit == NULL ? "" : "; then limited by ", out);
	html_text(out, limit);
	fputs(".</p>", out);
	if (prediction->command != NULL) {
		fputs("<pre>", out);
		html_text(out, prediction->command);
		fputs("</pre>", out);
	}
	if (prediction->change.libdsa && html->profile->own_recipe.code != NULL)
		html_whatif_code(html);
	fputs("</li>\n", out);
}

static void html_whatif_advice(const struct html *html)
{
	const struct profile *profile = html->profile;
	size_t ranked = 0;

	if (!profile_has_answer(profile))
		return;
	for (size_t i = 0; i < profile->prediction_count; i++) {
		if (profile->predictions[i].rank == UNKNOWN)
			continue;
		if (ranked == 0 && format_proof_judge(profile) == FORMAT_SPLIT_UNKNOWN)
			fputs("<p>If the first of the two measurements is right:</p>\n",
			      html->out);
		if (ranked++ == 0)
			fputs("<ol class=\"advice\">\n", html->out);
		html_whatif_advised(html, &profile->predictions[i]);
	}
	if (ranked > 0)
		fputs("</ol>\n<p>Nothing else that was looked at helps above the "
		      "noise.</p>\n",
		      html->out);
	else if (profile->prediction_count > 0)
		fputs("<p>No change that dsa knows would help measurably.</p>\n",
		      html->out);
}

/* Text from outside that begins a sentence. */
static void html_whatif_sentence(FILE *out, const char *text)
{
	if (isalpha((unsigned char)*text))
		putc(toupper((unsigned char)*text++), out);
	html_text(out, text);
}

/* How well the model reproduces the run itself. */
static void html_whatif_trust(const struct html *html)
{
	const struct profile_model *model = &html->profile->model;

	if (model->why != NULL) {
		fputs("<p>", html->out);
		html_whatif_sentence(html->out, model->why);
		fputs(".</p>\n", html->out);
	} else if (isfinite(model->real_error)) {
		fputs("<p class=\"small\">Check: the model ", html->out);
		whatif_check(html->out, html->profile);
		fputs(".</p>\n", html->out);
	}
}

/* "35.0% / 35.2%": predicted and measured. */
static void html_whatif_hits(FILE *out, const struct profile_verification *one)
{
	char predicted[FORMAT_SIZE], measured[FORMAT_SIZE], text[3 * FORMAT_SIZE];

	snprintf(text, sizeof(text), "%s / %s",
		 format_percent(predicted, one->hit_ratio_predicted),
		 format_percent(measured, one->hit_ratio));
	html_number(out, isfinite(one->hit_ratio) ? text : "n/a");
}

/* "2026-11-20T10:31:40Z" as "2026-11-20 10:31". */
static void when_cell(FILE *out, const char *when)
{
	char date[FORMAT_SIZE];

	if (when != NULL && strlen(when) >= 16 && when[10] == 'T') {
		snprintf(date, sizeof(date), "%.10s %.5s", when, when + 11);
		when = date;
	}
	fputs("<td class=\"when\">", out);
	html_text(out, when == NULL ? "–" : when);
	fputs("</td>", out);
}

static void verification_row(FILE *out, const struct profile_verification *one)
{
	char text[FORMAT_SIZE] = "n/a";

	fputs("<tr>", out);
	change_head(out, &one->change);
	html_whatif_estimate(out, &one->predicted, "");
	html_whatif_estimate(out, &one->measured, "");
	if (isfinite(one->error))
		snprintf(text, sizeof(text), "%+.1f%%", 100 * one->error);
	html_number(out, text);
	html_cell(out, whatif_inside(one));
	html_whatif_hits(out, one);
	when_cell(out, one->when);
	html_cell(out, one->why);
	fputs("</tr>\n", out);
}

static void html_whatif_verifications(const struct html *html)
{
	const struct profile *profile = html->profile;

	html_table(
		html->out,
		"Every change that was really run; cache hits as predicted / as "
		"measured",
		"Change|Predicted#|Interval#|Measured#|Interval#|Error#|Inside|Hits#|"
		"When|How");
	for (size_t i = 0; i < profile->verification_count; i++)
		verification_row(html->out, &profile->verifications[i]);
	html_table_end(html->out);
}

static void html_whatif_figure(const struct html *html, plot_maker *make)
{
	struct plot plot = {0};

	html_figure(html, &plot, make(html->profile, &plot), NULL);
}

static void html_whatif_curve(const struct html *html,
			      const struct whatif_curves *curves,
			      plot_curve_maker *make)
{
	struct plot plot = {0};

	html_figure(html, &plot, make(html->profile, curves, &plot), NULL);
}

static bool has_any(const struct profile *curve)
{
	for (size_t i = 0; i < curve->prediction_count; i++)
		if (isfinite(curve->predictions[i].per_s.low))
			return true;
	return false;
}

/* The points of a curve. */
static void curve_numbers(const struct html *html, const char *caption,
			  const struct profile *curve)
{
	const struct whatif_columns none = {false, false, false};

	if (!has_any(curve))
		return;
	html_whatif_begin(html, caption, none);
	for (size_t i = 0; i < curve->prediction_count; i++)
		if (isfinite(curve->predictions[i].per_s.low))
			prediction_row(html, &curve->predictions[i], none);
	html_table_end(html->out);
}

static void html_whatif_curves(const struct html *html,
			       const struct whatif_curves *curves)
{
	if (!has_any(&curves->cores) && !has_any(&curves->cache))
		return;
	fputs("<details><summary>The numbers of the curves</summary>\n", html->out);
	curve_numbers(html, "Predicted over cores", &curves->cores);
	curve_numbers(html, "Predicted over the size of the cache", &curves->cache);
	fputs("</details>\n", html->out);
}

static void html_whatif_predicted(const struct html *html)
{
	struct whatif_curves all;
	int result = whatif_curves_make(html->profile, &all);

	*html->failed |= result < 0;
	html_whatif_advice(html);
	html_whatif_trust(html);
	fputs("<div class=\"figures few\">\n", html->out);
	html_whatif_figure(html, plot_gains);
	if (result == 0) {
		if (has_any(&all.cores))
			html_whatif_curve(html, &all, plot_cores);
		html_whatif_curve(html, &all, plot_shares);
	}
	fputs("</div>\n", html->out);
	html_whatif_predictions(html);
	if (result == 0)
		html_whatif_curves(html, &all);
	html_whatif_reasons(html);
	whatif_curves_free(&all);
}

static void html_whatif_fact(FILE *out, const char *name, const char *number)
{
	fprintf(out, "<div><dt>%s</dt><dd class=\"big\">%s</dd></div>\n", name, number);
}

/* How good they were. */
static void html_whatif_score(const struct html *html)
{
	struct calibration score;
	char text[FORMAT_SIZE];

	if (calibration_measure(html->profile, &score) < 0) {
		*html->failed = true;
		return;
	}
	if (score.count == 0)
		return;
	fputs("<dl class=\"facts\">\n", html->out);
	html_whatif_fact(html->out, "Mean error of the rate",
			 format_percent(text, score.mean));
	html_whatif_fact(html->out, "95% of them within",
			 format_percent(text, score.p95));
	html_whatif_fact(html->out, "Inside their 95% intervals",
			 format_percent(text, score.covered));
	fputs("</dl>\n", html->out);
	if (score.workloads > 0)
		fprintf(html->out,
			"<p>The change that was predicted to be best was measured to "
			"be best, or not measurably worse, in %zu of %zu "
			"settings.</p>\n",
			score.first_within, score.workloads);
}

static void html_whatif_verified(const struct html *html)
{
	html_section(html->out, "verified", "Predicted, then measured");
	html_whatif_score(html);
	fputs("<div class=\"figures few\">\n", html->out);
	html_whatif_figure(html, plot_verifications);
	fputs("</div>\n", html->out);
	html_whatif_verifications(html);
	fputs("</section>\n", html->out);
}

void html_whatif(const struct html *html)
{
	const struct profile *profile = html->profile;

	if (whatif_was_asked(profile)) {
		html_section(html->out, "whatif", "What would help");
		if (profile->model.why == NULL && profile->prediction_count > 0)
			html_whatif_predicted(html);
		else
			html_whatif_trust(html);
		fputs("</section>\n", html->out);
	}
	if (profile->verification_count > 0)
		html_whatif_verified(html);
}
