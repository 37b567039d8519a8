#include "loader/base/error.h"
#include "reports/common/escape.h"
#include "tests/lib/nomem.h"
#include "tests/lib/scratch.h"
#include "tests/lib/verdict.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MANY = 10000 };

static const char *const form_names[] = {"text",    "json",   "junit", "markdown",
					 "summary", "github", NULL};

static struct gate_report told_of(const struct gate_verdict *verdict)
{
	return (struct gate_report){verdict,
				    "base.json",
				    "dsa gate -- ./train",
				    "out/report.html",
				    61.25,
				    "2026-11-20T20:00:00Z",
				    0};
}

/* To be freed. */
static char *written(const char *name, const struct gate_report *report,
		     const struct form_style *style)
{
	const struct form_style file = {0};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(
		gate_form_write(name, report, style == NULL ? &file : style, out, NULL),
		0);
	fclose(out);
	assert_int_equal(strlen(text), size);
	return text;
}

/* What people get. To be freed. */
static char *usual(const char *name)
{
	struct gate_verdict verdict;
	struct gate_report report = told_of(&verdict);
	char *text;

	verdict_make(&verdict);
	text = written(name, &report, NULL);
	gate_verdict_free(&verdict);
	return text;
}

static char *hostile(const char *name, size_t count)
{
	struct gate_verdict verdict;
	struct gate_report report = told_of(&verdict);
	char *text;

	verdict_make_hostile(&verdict, count);
	report.name = report.command = report.link = verdict_hostile;
	text = written(name, &report, NULL);
	gate_verdict_free(&verdict);
	return text;
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	while ((text = strstr(text, part)) != NULL) {
		text += strlen(part);
		count++;
	}
	return count;
}

static void the_first(const char *text, const char *before, const char *after)
{
	const char *first = strstr(text, before), *second = strstr(text, after);

	assert_non_null(first);
	assert_non_null(second);
	assert_true(first < second);
}

/* No character that acts on a terminal. */
static void is_plain(const char *text)
{
	char piece[ESCAPE_PIECE];

	for (size_t taken; (taken = escape_next(text, piece)) > 0; text += taken)
		if (*text != '\n')
			assert_memory_equal(text, piece, taken);
}

static void the_text_tells_verdict_causes_table_and_what_it_sees(void **state)
{
	char *text = usual("text");

	(void)state;
	the_first(text, "✗ regression: fetch_stall is 18.2 points worse",
		  "causes     fetch stall +18.2 points: mean read fell from 128 KiB");
	the_first(text, "causes ", "metric    ");
	the_first(text, "✗ mean_read_bytes", "✗ fetch_stall");
	the_first(text, "✗ fetch_stall", "∅ decoded_pixels_per_sample");
	the_first(text, "∅ decoded_pixels_per_sample", "? samples_per_s");
	the_first(text, "? samples_per_s", "· cpu_s_per_sample");
	the_first(text, "· cpu_s_per_sample", "✓ opens_per_sample");
	the_first(text, "✓ opens_per_sample", "can see ");
	the_first(text, "can see ", "again      dsa gate -- ./train\n");
	assert_non_null(strstr(
		text,
		"  ✗ fetch_stall                   12.1%     30.3%  +18.2 pt   5 pt  "
		"regression\n      +15.1 .. +21.3 pt, p 0.012: worse by"));
	assert_non_null(strstr(text, "fetch_stall from 7.1 pt on (limit 5 + 2.1)"));
	assert_non_null(strstr(text, "16.1% on (noise 13 + 3.1)"));
	assert_non_null(strstr(text, "8 pairs, alpha 0.05, 61.2 s"));
	free(text);
}

static void has_narrow_lines(const char *text)
{
	for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1)
		if (strncmp(text, "  again", 7) != 0)
			assert_true(escape_width_part(text, (size_t)(end - text)) <=
				    80);
}

static void the_text_is_80_columns_wide(void **state)
{
	char *text = usual("text"), *many = hostile("text", MANY);

	(void)state;
	has_narrow_lines(text);
	is_plain(many);
	assert_int_equal(count_of(many, " regression\n"), MANY / 3 + 1);
	free(text);
	free(many);
}

static void the_text_needs_no_more_than_ascii(void **state)
{
	const struct form_style style = {.ascii = true};
	struct gate_verdict verdict;
	struct gate_report report = told_of(&verdict);
	char *text;

	(void)state;
	verdict_make(&verdict);
	text = written("text", &report, &style);
	for (const char *at = text; *at != '\0'; at++)
		assert_true((unsigned char)*at < 0x80);
	assert_non_null(strstr(text, "  X regression: "));
	assert_non_null(strstr(text, "  + opens_per_sample "));
	assert_non_null(strstr(text, "  ! decoded_pixels_per_sample "));
	free(text);
	gate_verdict_free(&verdict);
}

/* One open more in a thousand samples. */
static void a_small_exact_change_is_seen(void **state)
{
	struct gate_verdict verdict;
	struct gate_report report = told_of(&verdict);
	char *text;

	(void)state;
	verdict_make(&verdict);
	assert_string_equal(verdict.findings[0].name, "opens_per_sample");
	verdict.findings[0].now = 1.0001;
	verdict.findings[0].worse.value = .0001;
	text = written("text", &report, NULL);
	assert_non_null(strstr(text, " 1    1.0001    +0.01%     0%  pass"));
	free(text);
	gate_verdict_free(&verdict);
}

static json_t *find(json_t *root, const char *name)
{
	json_t *findings = json_object_get(root, "findings"), *finding;
	size_t i;

	json_array_foreach(findings, i, finding)
	{
		const char *is = json_string_value(json_object_get(finding, "name"));

		if (strcmp(is, name) == 0)
			return finding;
	}
	return NULL;
}

static void the_json_holds_every_finding(void **state)
{
	char *text = usual("json");
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *finding;

	(void)state;
	assert_string_equal(json_string_value(json_object_get(root, "schema")),
			    "dsa.gate/1");
	assert_string_equal(json_string_value(json_object_get(root, "outcome")),
			    "regression");
	assert_int_equal(json_array_size(json_object_get(root, "findings")), 6);
	assert_int_equal(json_array_size(json_object_get(root, "causes")), 2);
	finding = find(root, "fetch_stall");
	assert_true(json_real_value(json_object_get(finding, "now")) == .303);
	assert_true(json_real_value(json_object_get(json_object_get(finding, "worse"),
						    "low")) == .151);
	assert_string_equal(json_string_value(json_object_get(finding, "change")),
			    "difference");
	finding = find(root, "decoded_pixels_per_sample");
	assert_null(json_object_get(finding, "now"));
	assert_null(json_object_get(finding, "p"));
	finding = find(root, "cpu_s_per_sample");
	assert_null(json_object_get(finding, "limit"));
	json_decref(root);
	free(text);
}

static void the_json_has_sorted_keys(void **state)
{
	char *text = usual("json");

	(void)state;
	the_first(text, "\n  \"alpha\"", "\n  \"baseline_repetitions\"");
	the_first(text, "\n  \"causes\"", "\n  \"command\"");
	the_first(text, "\n  \"findings\"", "\n  \"mismatches\"");
	the_first(text, "\n  \"time_s\"", "\n  \"when\"");
	free(text);
}

/* Each key of the verdict is in the manual page. */
static void tells_keys(const char *manual, const char *under, json_t *object)
{
	const char *key;
	json_t *value;
	char entry[128];

	json_object_foreach(object, key, value)
	{
		snprintf(entry, sizeof(entry), "\n.It Va %s%s\n", under, key);
		if (strstr(manual, entry) == NULL)
			fail_msg("man/dsa-baseline.5 does not describe %s%s", under,
				 key);
	}
}

static void the_manual_tells_every_key(void **state)
{
	char manual[1 << 16] = "", *text = usual("json");
	json_t *root = json_loads(text, 0, NULL);
	FILE *in = fopen("man/dsa-baseline.5", "r");

	(void)state;
	assert_non_null(in);
	assert_true(fread(manual, 1, sizeof(manual) - 1, in) > 0);
	fclose(in);
	tells_keys(manual, "", root);
	tells_keys(manual, "findings.", find(root, "fetch_stall"));
	json_decref(root);
	free(text);
}

/* A program reads text as FILE in the scratch folder; skipped where there is none. What
 * it prints is to be freed. */
static char *judged(const char *command, const char *text, int *status)
{
	char *said = NULL, line[4096];
	size_t size;
	FILE *in, *out = open_memstream(&said, &size);

	scratch_text("FILE", text);
	in = popen(command, "r"); /* NOLINT(cert-env33-c): a test's own words */
	assert_non_null(in);
	while (fgets(line, sizeof(line), in) != NULL)
		fputs(line, out);
	*status = pclose(in);
	fclose(out);
	return said;
}

static bool has_program(const char *command)
{
	return system(command) == 0; /* NOLINT(cert-env33-c): a test's own words */
}

static char schema[4096];

static int junit_setup(void **state)
{
	schema[0] = '\0';
	if (getcwd(schema, sizeof(schema) - 32) == NULL)
		return -1;
	strcat(schema, "/tests/data/junit.xsd");
	return scratch_setup(state);
}

static void is_valid_junit(const char *text)
{
	char command[sizeof(schema) + 128], *said;
	int status;

	if (!has_program("xmllint --version >/dev/null 2>&1"))
		skip();
	snprintf(command, sizeof(command),
		 "xmllint --huge --noout --schema '%s' FILE 2>&1", schema);
	said = judged(command, text, &status);
	if (status != 0)
		fail_msg("%.400s", said);
	free(said);
}

static void the_junit_keeps_to_its_schema(void **state)
{
	char *text = usual("junit"), *many = hostile("junit", MANY);
	char *none = hostile("junit", 0);

	(void)state;
	is_valid_junit(text);
	is_valid_junit(many);
	is_valid_junit(none);
	assert_true(strlen(many) < GATE_JUNIT_MOST);
	assert_int_equal(count_of(many, "<testcase "), MANY + 1);
	free(text);
	free(many);
	free(none);
}

static void only_a_pass_looks_like_one_in_junit(void **state)
{
	char *text = usual("junit");

	(void)state;
	assert_non_null(strstr(text, " tests=\"7\" failures=\"3\" errors=\"2\""));
	assert_non_null(strstr(text, " skipped=\"1\""));
	assert_non_null(strstr(
		text, "name=\"gate\" time=\"0\">\n   <failure type=\"regression\" "
		      "message=\"fetch_stall is 18.2 points"));
	assert_non_null(strstr(text, "name=\"fetch_stall\" time=\"0\">\n   <failure "
				     "type=\"regression\" message=\"worse by more"));
	assert_non_null(strstr(text, "name=\"decoded_pixels_per_sample\" "
				     "time=\"0\">\n   <error type=\"missing\""));
	assert_non_null(strstr(text, "name=\"samples_per_s\" time=\"0\">\n   <error "
				     "type=\"inconclusive\""));
	assert_non_null(
		strstr(text, "name=\"cpu_s_per_sample\" time=\"0\">\n   <skipped "));
	assert_non_null(
		strstr(text, "name=\"opens_per_sample\" time=\"0\">\n   <system-out>"));
	free(text);
}

/* What was compared with something else, or not at all, has no metrics to fail. */
static void a_gate_that_compared_nothing_fails_in_junit(void **state)
{
	struct gate_verdict verdict = {.outcome = GATE_MISMATCH, .alpha = NAN};
	struct gate_report report = told_of(&verdict);
	char *text;

	(void)state;
	text = written("junit", &report, NULL);
	assert_non_null(strstr(text, " tests=\"1\" failures=\"0\" errors=\"1\""));
	assert_non_null(strstr(text, "<error type=\"mismatch\""));
	free(text);
	verdict.outcome = GATE_INCONCLUSIVE;
	text = written("junit", &report, NULL);
	assert_non_null(strstr(text, "<error type=\"inconclusive\""));
	free(text);
}

static void junit_stays_below_its_limit(void **state)
{
	char *text = hostile("junit", 8 * MANY);

	(void)state;
	assert_true(strlen(text) < GATE_JUNIT_MOST);
	assert_true(strlen(text) > GATE_JUNIT_MOST / 2);
	assert_non_null(strstr(text, "metrics are left out here, the worst are shown"));
	is_valid_junit(text);
	free(text);
}

/* As GitHub's own program makes HTML of it, nothing left out for safety. */
static char *rendered(const char *text)
{
	int status;
	char *html;

	if (!has_program("cmark-gfm --version >/dev/null 2>&1"))
		skip();
	html = judged("cmark-gfm --unsafe -e table -e autolink -e strikethrough FILE",
		      text, &status);
	assert_int_equal(status, 0);
	return html;
}

static void the_comment_renders_as_a_table(void **state)
{
	char *text = usual("markdown"), *html = rendered(text);

	(void)state;
	assert_int_equal(count_of(html, "<tr>"), 7);
	assert_int_equal(count_of(html, "<td"), 42);
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
	the_first(html, "<li>fetch stall", "<table>");
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

static void a_comment_holds_nothing_that_acts(void **state)
{
	char *text = hostile("markdown", 5), *html = rendered(text);

	(void)state;
	has_no_tag_but_ours(html);
	assert_int_equal(count_of(html, "<tr>"), 6);
	assert_int_equal(count_of(html, "<td"), 35);
	assert_non_null(strstr(html, "a|b`c`&lt;img src=x onerror=alert(1)&gt;"));
	/* The command stands as code, where nothing is looked for. */
	*strstr(html, "<pre>") = '\0';
	assert_null(strstr(html, "@root"));
	assert_null(strstr(html, "#1"));
	assert_null(strstr(html, "://"));
	is_plain(text);
	free(text);
	free(html);
}

static void comments_stay_below_their_limit(void **state)
{
	char *text = hostile("markdown", MANY), *html;
	const char *row = strstr(text, "| ✗ |");

	(void)state;
	assert_true(strlen(text) <= GATE_MARKDOWN_MOST);
	assert_true(strlen(text) > GATE_MARKDOWN_MOST - 8192);
	assert_non_null(strstr(text,
			       " of 10000 metrics are left out here; the worst are "
			       "shown.\n"));
	assert_non_null(row);
	assert_null(strstr(text, "| ✓ |"));
	the_first(row, "| +1e+06% |", "| +9.9e+05% |"); /* the largest */
	html = rendered(text);
	has_no_tag_but_ours(html);
	assert_int_equal(count_of(html, "<tr>"), count_of(text, "| ✗ |") + 1);
	free(text);
	free(html);
}

static void summaries_stay_below_their_limit(void **state)
{
	char *text = hostile("summary", MANY), *html = rendered(text);

	(void)state;
	assert_true(strlen(text) < GATE_SUMMARY_MOST);
	assert_true(strlen(text) > GATE_SUMMARY_MOST - 8192);
	assert_non_null(strstr(text, " of 10000 metrics are left out here"));
	has_no_tag_but_ours(html);
	free(text);
	free(html);
}

static long length_of(const char *path)
{
	FILE *in = fopen(path, "r");
	long length;

	assert_non_null(in);
	fseek(in, 0, SEEK_END);
	length = ftell(in);
	fclose(in);
	return length;
}

/* A summary is of a step, whose other commands may have written to it. */
static void what_a_summary_has_already_counts(void **state)
{
	static const long before[] = {0, 100000, GATE_SUMMARY_MOST - 40000,
				      GATE_SUMMARY_MOST - 300, GATE_SUMMARY_MOST - 10};
	struct gate_verdict verdict;
	struct gate_report report = told_of(&verdict);

	(void)state;
	verdict_make_hostile(&verdict, MANY);
	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
		long length;

		scratch_file("summary", (size_t)before[i]);
		assert_int_equal(
			gate_form_save("summary", &report, "summary", true, NULL), 0);
		length = length_of("summary");
		assert_true(length < GATE_SUMMARY_MOST);
		assert_true(length > before[i] || i == 4);
	}
	gate_verdict_free(&verdict);
}

static void annotations_are_commands_of_one_line(void **state)
{
	char *text = usual("github");

	(void)state;
	assert_int_equal(count_of(text, "\n"), 5);
	assert_non_null(strstr(text,
			       "::error title=dsa gate%3A fetch_stall::12.1%25 to "
			       "30.3%25, worse by +18.2 pt, limit 5 pt%0A"));
	assert_non_null(strstr(text, "\n::warning title=dsa gate%3A samples_per_s::"));
	assert_null(strstr(text, "cpu_s_per_sample"));
	assert_null(strstr(text, "opens_per_sample"));
	the_first(text,
		  "::error title=dsa gate%3A regression::", "%0Afetch stall +18.2");
	free(text);
}

static void there_are_ten_annotations_at_most(void **state)
{
	char *text = hostile("github", MANY), *title = strstr(text, "\n::error title=");
	size_t lines = 0;

	(void)state;
	for (const char *at = text; *at != '\0'; at = strchr(at, '\n') + 1, lines++)
		assert_int_equal(strncmp(at, "::", 2) == 0, lines < GATE_ANNOTATIONS);
	assert_int_equal(lines, GATE_ANNOTATIONS + 1);
	assert_non_null(strstr(text, "dsa gate: 3325 more metrics are not annotated"));
	/* The title ends where we end it. */
	assert_non_null(title);
	title += strlen("\n::error title=");
	assert_int_equal(strcspn(title, ":,"), strcspn(title, ":"));
	assert_non_null(strstr(title, "%3A%3Aerror%3A%3Ano"));
	is_plain(text);
	free(text);
}

static void a_pass_has_no_annotation(void **state)
{
	struct gate_verdict verdict = {.outcome = GATE_PASS};
	struct gate_report report = told_of(&verdict);
	char *text = written("github", &report, NULL);

	(void)state;
	assert_string_equal(text, "");
	free(text);
}

static void forms_are_saved_whole_or_not_at_all(void **state)
{
	const struct form_style style = {0};
	struct gate_verdict verdict;
	struct gate_report report = told_of(&verdict);
	struct error err = {0};
	long length;

	(void)state;
	verdict_make(&verdict);
	for (const char *const *at = form_names; *at != NULL; at++) {
		assert_int_equal(gate_form_save(*at, &report, "form", false, &err), 0);
		length = length_of("form");
		assert_true(length > 0);
		assert_int_equal(gate_form_save(*at, &report, "form", true, &err), 0);
		assert_int_equal(length_of("form"), 2 * length);
		assert_int_equal(gate_form_save(*at, &report, "/dev/full", false, &err),
				 -ENOSPC);
		assert_string_equal(err.message,
				    "/dev/full: can't write: No space left on device");
		assert_int_equal(gate_form_save(*at, &report, "/dev/full", true, &err),
				 -ENOSPC);
		assert_string_equal(err.message,
				    "/dev/full: can't write: No space left on device");
		assert_int_equal(
			gate_form_save(*at, &report, "nowhere/form", true, &err),
			-ENOENT);
		assert_non_null(strstr(err.message, "nowhere/form: can't write"));
	}
	assert_int_equal(gate_form_save("pdf", &report, "form", false, &err), -EINVAL);
	assert_string_equal(err.message, "no form of a verdict is called 'pdf'");
	assert_int_equal(gate_form_write("pdf", &report, &style, stdout, &err),
			 -EINVAL);
	gate_verdict_free(&verdict);
}

static void *wrapped_malloc(size_t size)
{
	return malloc(size);
}

/* Each allocation fails once, of jansson too. */
static void short_memory_is_an_error(void **state)
{
	const struct form_style style = {0};
	struct gate_verdict verdict;
	struct gate_report report = told_of(&verdict);
	unsigned nth;

	(void)state;
	verdict_make(&verdict);
	json_set_alloc_funcs(wrapped_malloc, free);
	for (const char *const *at = form_names; *at != NULL; at++) {
		int result = -1;

		for (nth = 0; result != 0; nth++) {
			FILE *out = fopen("/dev/null", "w");

			nomem_at(nth + 1);
			result = gate_form_write(*at, &report, &style, out, NULL);
			nomem_at(0);
			assert_true(result == 0 || result == -ENOMEM);
			fclose(out);
		}
		assert_true(nth > 1);
	}
	json_set_alloc_funcs(malloc, free);
	gate_verdict_free(&verdict);
}

#define IN_SCRATCH(test)                                                               \
	cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)
#define WITH_SCHEMA(test)                                                              \
	cmocka_unit_test_setup_teardown(test, junit_setup, scratch_back)

static char home[4096];

/* The next test finds its data again. */
static int scratch_back(void **state)
{
	return scratch_teardown(state) == 0 ? chdir(home) : -1;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_tells_verdict_causes_table_and_what_it_sees),
		cmocka_unit_test(the_text_is_80_columns_wide),
		cmocka_unit_test(the_text_needs_no_more_than_ascii),
		cmocka_unit_test(a_small_exact_change_is_seen),
		cmocka_unit_test(the_json_holds_every_finding),
		cmocka_unit_test(the_json_has_sorted_keys),
		cmocka_unit_test(the_manual_tells_every_key),
		cmocka_unit_test(only_a_pass_looks_like_one_in_junit),
		cmocka_unit_test(a_gate_that_compared_nothing_fails_in_junit),
		cmocka_unit_test(annotations_are_commands_of_one_line),
		cmocka_unit_test(there_are_ten_annotations_at_most),
		cmocka_unit_test(a_pass_has_no_annotation),
		cmocka_unit_test(short_memory_is_an_error),
		WITH_SCHEMA(the_junit_keeps_to_its_schema),
		WITH_SCHEMA(junit_stays_below_its_limit),
		IN_SCRATCH(the_comment_renders_as_a_table),
		IN_SCRATCH(a_comment_holds_nothing_that_acts),
		IN_SCRATCH(comments_stay_below_their_limit),
		IN_SCRATCH(summaries_stay_below_their_limit),
		IN_SCRATCH(what_a_summary_has_already_counts),
		IN_SCRATCH(forms_are_saved_whole_or_not_at_all),
	};

	if (getcwd(home, sizeof(home)) == NULL)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("gate_form", tests, NULL, NULL);
}
