/* html_ranks.c - what ranks waited for each other in collectives, or for their batches. */
#include "reports/html/html_part.h"

#include <math.h>

static void html_rank_loads(const struct html *html)
{
	const struct profile *profile = html->profile;
	char text[FORMAT_SIZE];

	html_section(html->out, "ranks", "What ranks waited for their batches");
	fputs("<p>In windows as the program ran. A step waits for the slowest rank: "
	      "one that "
	      "waits much longer for batches of its own than others do makes these "
	      "wait, "
	      "too.</p>\n",
	      html->out);
	html_table(html->out, "Of its time, each rank", "Rank#|Process#|Waits#");
	for (size_t i = 0; i < profile->rank_count; i++) {
		const struct profile_rank *rank = &profile->ranks[i];

		fprintf(html->out,
			"<tr><td class=\"n\">%llu</td><td class=\"n\">%llu</td>",
			(unsigned long long)rank->rank, (unsigned long long)rank->pid);
		html_number(html->out, format_percent(text, rank->blocked_share));
		fputs("</tr>\n", html->out);
	}
	html_table_end(html->out);
	fputs("</section>\n", html->out);
}

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
	if (!isnan(profile->ranks[0].blocked_share)) {
		html_rank_loads(html);
		return;
	}
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
