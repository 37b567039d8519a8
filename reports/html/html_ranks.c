/* html_ranks.c - what ranks waited for each other in collectives. */
#include "reports/html/html_part.h"

static void html_rank_row(const struct html *html, const struct profile_rank *rank)
{
	char text[FORMAT_SIZE];

	fprintf(html->out,
		"<tr><td class=\"n\">%llu</td><td class=\"n\">%llu</td>"
		"<td class=\"n\">%llu</td><td class=\"n\">%llu</td>",
		(unsigned long long)rank->communicator, (unsigned long long)rank->rank,
		(unsigned long long)rank->pid, (unsigned long long)rank->compared);
	html_number(html->out, format_seconds(text, rank->inside_s));
	html_number(html->out, format_percent(text, rank->waited_s / rank->inside_s));
	if (rank->last == UNKNOWN) {
		fputs("<td class=\"n\">–</td><td class=\"n\">–</td>", html->out);
	} else {
		fprintf(html->out, "<td class=\"n\">%llu</td>",
			(unsigned long long)rank->last);
		html_number(html->out,
			    format_percent(text, rank->last_s / rank->inside_s));
	}
	fputs("</tr>\n", html->out);
}

void html_ranks(const struct html *html)
{
	const struct profile *profile = html->profile;

	if (profile->rank_count == 0)
		return;
	html_section(html->out, "ranks", "What ranks waited for each other");
	fputs("<p>A collective of NCCL begins when its last rank comes: who comes "
	      "before "
	      "waits, on its GPU. By the timers of the devices, which may be apart by "
	      "some 10 &micro;s.</p>\n",
	      html->out);
	html_table(html->out, "Collectives, as each rank had them",
		   "Communicator#|Rank#|Process#|Compared#|Length#|Waits#|Most for#|"
		   "For that one#");
	for (size_t i = 0; i < profile->rank_count; i++)
		html_rank_row(html, &profile->ranks[i]);
	html_table_end(html->out);
	fputs("</section>\n", html->out);
}
