/* html_evidence.c - why the numbers may be believed, and where they come from. */
#include "reports/common/format.h"
#include "reports/html/html_part.h"

#include <string.h>

static void proof_row(const struct html *html, const char *name,
		      const struct interval *stall, long tenth, double share)
{
	char text[FORMAT_SIZE], half[FORMAT_SIZE];

	fprintf(html->out, "<tr><th scope=\"row\">%s</th><td class=\"n\">%s %s</td>",
		name, isfinite(stall->value) ? format_tenth(text, tenth) : "n/a",
		format_points(half, stall));
	html_number(html->out, format_percent(text, share));
	if (isfinite(stall->value) && isfinite(share))
		snprintf(text, sizeof(text), "%+.1f points",
			 100 * (share - stall->value));
	else
		snprintf(text, sizeof(text), "n/a");
	html_number(html->out, text);
	fputs("</tr>\n", html->out);
}

void html_proof(const struct html *html)
{
	const struct profile *profile = html->profile;
	long tenths[STAGES];
	char heads[FORMAT_STAGES];

	if (!format_has_proof(profile))
		return;
	format_stalls(profile->stalls, tenths);
	html_section(html->out, "proof", "Check by a second measurement");
	fputs("<p>The same shares from other evidence: ", html->out);
	html_text(html->out, profile->proof.basis == NULL ? "the time blocked"
							  : profile->proof.basis);
	fputs(".</p>\n", html->out);
	snprintf(heads, sizeof(heads), "Share of a step|By difference#|By %s#|Apart#",
		 strcmp(format_proof_name(profile), "time blocked") == 0
			 ? "blocked time"
			 : "device idle");
	html_table(html->out, "Both measurements side by side", heads);
	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++)
		if (profile_has_stage(profile, i))
			proof_row(html, stage_table[i].title, &profile->stalls[i],
				  tenths[i], profile->proof.share[i]);
	html_table_end(html->out);
	fputs("</section>\n", html->out);
}

static void window_row(const struct html *html, const struct profile_window *window)
{
	FILE *out = html->out;
	char text[FORMAT_SIZE];

	html_start(out, window->start_s);
	html_cell(out, profile_word(profile_kinds, &window->kind));
	html_number(out, format_seconds(text, window->length_s));
	html_number(out, format_count(text, window->samples));
	html_number(out, format_rate(text, window->per_s));
	html_number(out, format_percent(text, window->blocked_s /
						      profile_measured_s(window)));
	html_number(out, window->read_bytes == UNKNOWN
				 ? "n/a"
				 : format_bytes(text, (double)window->read_bytes));
	fprintf(out, "<td><span class=\"%s\">%s%s</span></td>",
		window->certified ? "ok" : "void",
		window->certified ? "verified" : "not verified",
		window->used ? "" : ", not used");
	html_cell(out, window->why);
	fputs("</tr>\n", out);
}

static void html_evidence_windows(const struct html *html)
{
	const struct profile *profile = html->profile;

	fputs("<details><summary>Every window</summary>\n", html->out);
	html_table(html->out, "Windows and what verifies them",
		   "Start, s#|Kind|Length#|Samples#|Samples/s#|Blocked#|"
		   "From storage#|Verified|Why");
	for (size_t i = 0; i < profile->window_count; i++)
		window_row(html, &profile->windows[i]);
	html_table_end(html->out);
	fputs("</details>\n", html->out);
}

static void html_evidence_overhead(const struct html *html)
{
	const struct profile *profile = html->profile;

	if (!isfinite(profile->overhead.value))
		return;
	fputs("<p>What measuring itself cost, found from windows with and without it: "
	      "<strong>",
	      html->out);
	html_words(html, format_overhead);
	fputs("</strong>.", html->out);
	if (isfinite(profile->overhead_floor))
		fprintf(html->out,
			" Every interval of the shares is widened by %.2f points for "
			"what repetition can't show: clock, oversleep, settling.",
			100 * profile->overhead_floor);
	fputs("</p>\n", html->out);
}

void html_certificates(const struct html *html)
{
	const struct profile *profile = html->profile;
	size_t used = 0, certified = 0;

	if (profile->window_count == 0)
		return;
	for (size_t i = 0; i < profile->window_count; i++) {
		used += profile->windows[i].used;
		certified += profile->windows[i].used && profile->windows[i].certified;
	}
	html_section(html->out, "validity", "Can this be believed?");
	fprintf(html->out, "<p>%zu of %zu measurement%s usable", used,
		profile->window_count, profile->window_count == 1 ? "" : "s");
	if (used > 0 && certified == used)
		fputs(", <strong>all verified</strong>: they read from storage what "
		      "they should have read",
		      html->out);
	else if (used > 0)
		fprintf(html->out, ", <strong>%zu of them verified</strong>",
			certified);
	fputs(".</p>\n", html->out);
	html_evidence_overhead(html);
	if (profile->cache_emulated)
		fputs("<p>The cache is emulated: its hits were drawn as its policy "
		      "would give them in its steady state, from a resident "
		      "pool.</p>\n",
		      html->out);
	if (profile->dropped_records != UNKNOWN && profile->dropped_records > 0)
		fprintf(html->out,
			"<p>%llu records found no room and were left out.</p>\n",
			(unsigned long long)profile->dropped_records);
	html_evidence_windows(html);
	fputs("</section>\n", html->out);
}

void html_skips(const struct html *html)
{
	const struct profile *profile = html->profile;
	char text[FORMAT_SIZE];

	if (profile->skipped == UNKNOWN || profile->skipped == 0)
		return;
	html_section(html->out, "skipped", "Skipped samples");
	fprintf(html->out,
		"<p>%s sample%s could not be read or decoded; the next "
		"one of the stream took the place.</p>\n",
		format_count(text, profile->skipped), profile->skipped == 1 ? "" : "s");
	if (profile->skip_count > 0) {
		html_table(html->out, "The first of them", "Sample#|Name|Reason");
		for (size_t i = 0; i < profile->skip_count; i++) {
			fputs("<tr>", html->out);
			html_number(html->out,
				    format_count(text, profile->skips[i].sample));
			html_cell(html->out, profile->skips[i].name);
			html_cell(html->out, profile->skips[i].reason);
			fputs("</tr>\n", html->out);
		}
		html_table_end(html->out);
	}
	fputs("</section>\n", html->out);
}
