/* html_gpu.c - what devices did in windows of each kind. */
#include "reports/html/html_part.h"

static void html_gpu_part(const struct html *html, double seconds,
			  const struct profile_device *row)
{
	char text[FORMAT_SIZE];

	html_number(html->out, format_percent(text, seconds / row->length_s));
}

static void html_gpu_row(const struct html *html, const struct profile_device *row)
{
	char text[FORMAT_SIZE];

	fprintf(html->out, "<tr><td class=\"n\">%llu</td><td class=\"n\">%llu</td>",
		(unsigned long long)row->device, (unsigned long long)row->pid);
	html_cell(html->out, profile_word(profile_kinds, &row->kind));
	html_number(html->out, format_seconds(text, row->length_s));
	html_gpu_part(html, row->busy_s, row);
	html_gpu_part(html, row->copy_s, row);
	html_gpu_part(html, row->data_s, row);
	html_gpu_part(html, row->host_s, row);
	html_gpu_part(html, row->overlap_s, row);
	html_gpu_part(html, row->collective_s, row);
	fputs("</tr>\n", html->out);
}

void html_gpu(const struct html *html)
{
	const struct profile *profile = html->profile;

	if (profile->device_count == 0)
		return;
	html_section(html->out, "gpu", "What the GPU did");
	fputs("<p>Seen by ", html->out);
	html_text(html->out, profile->devices_by);
	fputs(". It computes, or only copies, or is idle: while the program waits for "
	      "its "
	      "batch, or for another reason. These four are all of the time; copies "
	      "beside "
	      "kernels, and kernels that only wait for other ranks, are in the first.",
	      html->out);
	if (profile->devices_lost != UNKNOWN && profile->devices_lost > 0)
		fprintf(html->out, " %llu records were lost.",
			(unsigned long long)profile->devices_lost);
	fputs("</p>\n", html->out);
	html_table(html->out, "Parts of the windows of each kind",
		   "Device#|Process#|Windows|Length#|Computes#|Only copies#|"
		   "Idle for data#|Idle else#|Copies beside#|Ranks#");
	for (size_t i = 0; i < profile->device_count; i++)
		html_gpu_row(html, &profile->devices[i]);
	html_table_end(html->out);
	fputs("</section>\n", html->out);
}
