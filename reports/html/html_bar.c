/* html_bar.c - the shares of a step as a stacked bar. */
#include "reports/html/html_part.h"

/* Patterns over the colours: the parts differ without colour, too. */
static void html_bar_patterns(FILE *out)
{
	fputs("<defs><pattern id=\"hatch\" width=\"9\" height=\"9\" "
	      "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
	      "<path d=\"M0 0V9\" stroke=\"var(--surface)\" stroke-width=\"5\" "
	      "stroke-opacity=\".38\"/></pattern>"
	      "<pattern id=\"dots\" width=\"10\" height=\"10\" "
	      "patternUnits=\"userSpaceOnUse\"><circle cx=\"5\" cy=\"5\" r=\"2.2\" "
	      "fill=\"var(--surface)\" fill-opacity=\".6\"/></pattern></defs>\n",
	      out);
}

/* Lengths are percent of the bar, so that patterns and strokes keep their shape. */
static void html_bar_segment(FILE *out, const struct stage_info *part, double from,
			     double to)
{
	fprintf(out,
		"<rect x=\"%.2f%%\" y=\"16\" width=\"%.2f%%\" height=\"44\" "
		"fill=\"var(--ink-%d)\"/>\n",
		from, to - from, part->ink);
	if (part->pattern != NULL)
		fprintf(out,
			"<rect x=\"%.2f%%\" y=\"16\" width=\"%.2f%%\" height=\"44\" "
			"fill=\"url(#%s)\"/>\n",
			from, to - from, part->pattern);
}

/* The interval of a border between two parts, at the height y. */
static void html_bar_whisker(FILE *out, double low, double high, int y)
{
	low = 100 * fmax(0, fmin(1, low));
	high = 100 * fmax(0, fmin(1, high));
	if (!(high > low))
		return;
	fprintf(out,
		"<g stroke=\"var(--text)\" stroke-width=\"1.5\">"
		"<line x1=\"%.2f%%\" y1=\"%d\" x2=\"%.2f%%\" y2=\"%d\"/>"
		"<line x1=\"%.2f%%\" y1=\"%d\" x2=\"%.2f%%\" y2=\"%d\"/>"
		"<line x1=\"%.2f%%\" y1=\"%d\" x2=\"%.2f%%\" y2=\"%d\"/></g>\n",
		low, y, high, y, low, y - 5, low, y + 5, high, y - 5, high, y + 5);
}

/* The swatches of other parts need the patterns all the same. */
static void html_bar_no_bar(FILE *out, bool first)
{
	if (!first)
		return;
	fputs("<svg width=\"0\" height=\"0\" aria-hidden=\"true\">", out);
	html_bar_patterns(out);
	fputs("</svg>\n", out);
}

void html_bar(FILE *out, const struct profile *profile, const char *id, bool first)
{
	const struct interval *stalls = profile->stalls;
	char stages[FORMAT_STAGES];
	double sum = 0, from = 0;
	long tenths[STAGES];

	if (!profile_has_shares(profile) || format_is_whole(profile)) {
		html_bar_no_bar(out, first);
		return;
	}
	format_stalls(stalls, tenths);
	for (int i = 0; i < STAGES; i++)
		sum += tenths[i] > 0 ? (double)tenths[i] : 0;
	fprintf(out,
		"<svg class=\"bar\" role=\"img\" aria-labelledby=\"%s-title "
		"%s-about\">\n"
		"<title id=\"%s-title\">Shares of the time of a training step</title>\n"
		"<desc id=\"%s-about\">%s from left to right, above and under the "
		"borders their 95%% intervals; the numbers stand below.</desc>\n",
		id, id, id, id, format_stages(stages, profile, true));
	if (first)
		html_bar_patterns(out);
	for (int i = 0; i < STAGES && sum > 0; i++) {
		double to = from + 100 * (tenths[i] > 0 ? (double)tenths[i] : 0) / sum;

		if (profile_has_stage(profile, i))
			html_bar_segment(out, &stage_table[i], from, to);
		from = to;
	}
	html_bar_whisker(out, stalls[STAGE_COMPUTE].low, stalls[STAGE_COMPUTE].high, 7);
	html_bar_whisker(out, 1 - stalls[STAGES - 1].high, 1 - stalls[STAGES - 1].low,
			 69);
	fputs("</svg>\n", out);
}

void html_swatch(FILE *out, int i)
{
	const struct stage_info *part = &stage_table[i];

	fprintf(out,
		"<svg class=\"swatch\" viewBox=\"0 0 20 20\" aria-hidden=\"true\">"
		"<path d=\"M0 0H20V20H0z\" fill=\"var(--ink-%d)\"/>",
		part->ink);
	if (part->pattern != NULL)
		fprintf(out, "<path d=\"M0 0H20V20H0z\" fill=\"url(#%s)\"/>",
			part->pattern);
	fputs("</svg>", out);
}

const char *html_stage_heads(char to[FORMAT_STAGES], const struct profile *profile)
{
	size_t used = 0;

	for (int i = 0; i < STAGES; i++)
		if (profile_has_stage(profile, i))
			used += (size_t)snprintf(to + used, FORMAT_STAGES - used,
						 "%s#|", stage_table[i].name);
	return to;
}

void html_stage_cells(const struct html *html, const struct interval stalls[STAGES],
		      bool balanced)
{
	char text[FORMAT_SIZE];
	long tenths[STAGES];

	format_stalls(stalls, tenths);
	for (int i = 0; i < STAGES; i++)
		if (profile_has_stage(html->profile, i))
			html_number(html->out,
				    balanced && isfinite(stalls[i].value)
					    ? format_tenth(text, tenths[i])
					    : format_percent(text, stalls[i].value));
}
