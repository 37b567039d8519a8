/* html_own.c - a program's own loader: how much of it was seen, its epochs, its recipe, and
 * the files that it wrote. */
#include "loader/base/io.h"
#include "reports/common/format.h"
#include "reports/html/html_part.h"

#include <stdlib.h>

/* `more` than these. */
static void html_own_files(const struct html *html, const char *title,
			   char *const *files, uint64_t more)
{
	char count[FORMAT_SIZE];

	if (files == NULL || files[0] == NULL)
		return;
	fprintf(html->out, "<details><summary>%s</summary>\n<ul>", title);
	for (; *files != NULL; files++) {
		fputs("<li><code>", html->out);
		html_text(html->out, *files);
		fputs("</code></li>\n", html->out);
	}
	if (more != UNKNOWN && more > 0)
		fprintf(html->out, "<li>and %s more</li>\n", format_count(count, more));
	fputs("</ul>\n</details>\n", html->out);
}

/* How many there are. */
static uint64_t html_own_count(char *const *files)
{
	uint64_t count = 0;

	while (files != NULL && files[count] != NULL)
		count++;
	return count;
}

static void html_own_put_back(const struct html *html)
{
	const struct profile *profile = html->profile;

	if (profile->put_back == NULL)
		return;
	fputs("<p>What it overwrote is kept. This puts all of it back:</p>\n"
	      "<pre><code>sh ",
	      html->out);
	html_text(html->out, profile->put_back);
	fputs("</code></pre>\n", html->out);
}

/* Nothing: there is none of it. */
static char *html_own_body(const struct html *html)
{
	struct html body = *html;
	char *text = NULL;
	size_t size;

	body.out = open_memstream(&text, &size);
	if (body.out == NULL)
		return NULL;
	html_note(&body, "", "Seen", format_seen, "");
	html_note(&body, "", "Epochs", format_epoch_starts, "");
	html_note(&body, "", "Recipe", format_recipe, "");
	html_own_put_back(&body);
	html_own_files(
		&body, "Files that it changed or removed, and that could not be kept",
		html->profile->lost_files,
		html->profile->files_lost - html_own_count(html->profile->lost_files));
	html_own_files(&body,
		       profile_is_observed(html->profile)
			       ? "Files written"
			       : "Files written while data was repeated",
		       html->profile->files_written, html->profile->files_written_more);
	return io_text(body.out, &text);
}

void html_own(const struct html *html)
{
	char *body = html_own_body(html);

	*html->failed |= body == NULL;
	if (body != NULL && *body != '\0') {
		html_section(html->out, "own", "The program's own loader");
		fprintf(html->out, "%s</section>\n", body);
	}
	free(body);
}
