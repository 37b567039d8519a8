/* html_parts.c - what making a sample takes, part by part, and the slowest samples. */
#include "reports/common/format.h"
#include "reports/html/html_part.h"

static void html_parts_row(const struct html *html, const struct profile_part *part)
{
	FILE *out = html->out;
	char text[FORMAT_SIZE];

	fputs("<tr>", out);
	html_cell(out, part->name);
	fprintf(out,
		"<td class=\"rate\"><svg viewBox=\"0 0 100 10\" "
		"preserveAspectRatio=\"none\" aria-hidden=\"true\">"
		"<path d=\"M0 0H100V10H0z\" fill=\"var(--grid)\"/>"
		"<path d=\"M0 0H%.2fV10H0z\" fill=\"var(--ink-%d)\"/></svg></td>",
		isfinite(part->share) ? fmax(0, fmin(100, 100 * part->share)) : 0,
		stage_table[STAGE_PREP].ink);
	html_number(out, format_percent(text, part->share));
	html_number(out, format_seconds(text, part->mean_s));
	fputs("</tr>\n", out);
}

static void html_parts_slowest(const struct html *html)
{
	const struct profile *profile = html->profile;
	char text[FORMAT_SIZE];

	if (profile->slow_count == 0)
		return;
	html_table(html->out, "The samples that took longest", "Sample#|Time#|File");
	for (size_t i = 0; i < profile->slow_count; i++) {
		const struct profile_slow *slow = &profile->slowest[i];

		fputs("<tr>", html->out);
		html_number(html->out, format_count(text, slow->sample));
		html_number(html->out, format_seconds(text, slow->prep_s));
		html_cell(html->out, slow->file);
		fputs("</tr>\n", html->out);
	}
	html_table_end(html->out);
}

void html_parts(const struct html *html)
{
	const struct profile *profile = html->profile;
	char text[FORMAT_SIZE];

	if (profile->part_count == 0)
		return;
	html_section(html->out, "parts", "Where preparation goes");
	fprintf(html->out,
		"<p>Of a sample, on average over %s of them; what a transform does "
		"inside another one counts for itself, and I/O in neither.</p>\n",
		format_count(text, profile->looked_samples));
	html_table(html->out, "Parts of preparation, the costliest first",
		   "Part|Compared|Share of prep#|Time#");
	for (size_t i = 0; i < profile->part_count; i++)
		html_parts_row(html, &profile->parts[i]);
	html_table_end(html->out);
	html_parts_slowest(html);
	fputs("</section>\n", html->out);
}
