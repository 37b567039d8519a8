/* gate_markdown_test.c - a verdict as GitHub's comments and step summaries. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "tests/lib/verdict.h"
#include "tests/lib/written.h"

#include <stdlib.h>
#include <string.h>

/* As GitHub's own program makes HTML of it, nothing left out for safety. */
static char *rendered(const char *text)
{
	int status;
	char *html;

	if (!written_has("cmark-gfm --version >/dev/null 2>&1"))
		skip();
	html = written_read_by(
		"cmark-gfm --unsafe -e table -e autolink -e strikethrough FILE", text,
		&status);
	assert_int_equal(status, 0);
	return html;
}

TEST_WITH(the_comment_renders_as_a_table, scratch_setup, scratch_teardown)
{
	char *text = written_usual("markdown"), *html = rendered(text);

	assert_int_equal(written_count(html, "<tr>"), 7);
	assert_int_equal(written_count(html, "<td"), 42);
	assert_non_null(strstr(html, "<h3>✗ dsa gate: regression</h3>"));
	assert_non_null(strstr(html,
			       "<td align=\"left\"><code>fetch_stall</code></td>\n"
			       "<td align=\"right\">12.1%</td>\n"
			       "<td align=\"right\">30.3%</td>\n"));
	assert_non_null(strstr(html,
			       "<li>fetch stall +18.2 points: mean read fell from "
			       "128 KiB to 4 KiB in shards/</li>"));
	assert_non_null(strstr(html, "<code class=\"language-sh\">dsa gate -- ./train\n"
				     "</code>"));
	written_first(html, "<li>fetch stall", "<table>");
	free(text);
	free(html);
}

static void has_no_tag_but_ours(const char *html)
{
	static const char *const ours[] = {"h3",    "p",   "strong", "ul", "li",
					   "table", "tr",  "th",     "td", "thead",
					   "tbody", "pre", "code"};

	for (const char *at = html; (at = strchr(at, '<')) != NULL; at++) {
		const char *name = at + 1 + (at[1] == '/');
		size_t length = strcspn(name, " >"), i = 0;

		while (i < sizeof(ours) / sizeof(*ours) &&
		       (strlen(ours[i]) != length ||
			strncmp(ours[i], name, length) != 0))
			i++;
		if (i == sizeof(ours) / sizeof(*ours))
			fail_msg("a tag in %.60s", at);
	}
}

TEST_WITH(a_comment_holds_nothing_that_acts, scratch_setup, scratch_teardown)
{
	char *text = written_hostile("markdown", 5), *html = rendered(text);

	has_no_tag_but_ours(html);
	assert_int_equal(written_count(html, "<tr>"), 6);
	assert_int_equal(written_count(html, "<td"), 35);
	assert_non_null(strstr(html, "a|b`c`&lt;img src=x onerror=alert(1)&gt;"));
	/* The command stands as code, where nothing is looked for. */
	*strstr(html, "<pre>") = '\0';
	assert_null(strstr(html, "@root"));
	assert_null(strstr(html, "#1"));
	assert_null(strstr(html, "://"));
	written_plain(text);
	free(text);
	free(html);
}

TEST_WITH(comments_stay_below_their_limit, scratch_setup, scratch_teardown)
{
	char *text = written_hostile("markdown", WRITTEN_MANY), *html;
	const char *row = strstr(text, "| ✗ |");

	assert_true(strlen(text) <= GATE_MARKDOWN_MOST);
	assert_true(strlen(text) > GATE_MARKDOWN_MOST - 8192);
	assert_non_null(strstr(text,
			       " of 10000 metrics are left out here; the worst are "
			       "shown.\n"));
	assert_non_null(row);
	assert_null(strstr(text, "| ✓ |"));
	written_first(row, "| +1e+06% |", "| +9.9e+05% |"); /* the largest */
	html = rendered(text);
	has_no_tag_but_ours(html);
	assert_int_equal(written_count(html, "<tr>"), written_count(text, "| ✗ |") + 1);
	free(text);
	free(html);
}

TEST_WITH(summaries_stay_below_their_limit, scratch_setup, scratch_teardown)
{
	char *text = written_hostile("summary", WRITTEN_MANY), *html = rendered(text);

	assert_true(strlen(text) < GATE_SUMMARY_MOST);
	assert_true(strlen(text) > GATE_SUMMARY_MOST - 8192);
	assert_non_null(strstr(text, " of 10000 metrics are left out here"));
	has_no_tag_but_ours(html);
	free(text);
	free(html);
}

/* A summary is of a step, whose other commands may have written to it. */
TEST_WITH(what_a_summary_has_already_counts, scratch_setup, scratch_teardown)
{
	static const long before[] = {0, 100000, GATE_SUMMARY_MOST - 40000,
				      GATE_SUMMARY_MOST - 300, GATE_SUMMARY_MOST - 10};
	struct gate_verdict verdict;
	struct gate_report report;

	verdict_make_hostile(&verdict, WRITTEN_MANY);
	report = written_report(&verdict);
	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
		long length;

		scratch_file("summary", (size_t)before[i]);
		assert_int_equal(
			gate_form_save("summary", &report, "summary", true, NULL), 0);
		length = scratch_size("summary");
		assert_true(length < GATE_SUMMARY_MOST);
		assert_true(length > before[i] || i == 4);
	}
	gate_verdict_free(&verdict);
}
