/* gate_form_test.c - what the forms of a verdict tell, and how they are saved. */
#include "loader/base/error.h"
#include "reports/common/escape.h"
#include "tests/lib/nomem.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "tests/lib/verdict.h"
#include "tests/lib/written.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const form_names[] = {"text",    "json",   "junit", "markdown",
					 "summary", "github", NULL};

TEST(the_text_tells_verdict_causes_table_and_what_it_sees)
{
	char *text = written_usual("text");

	written_first(
		text, "✗ regression: fetch_stall is 18.2 points worse",
		"causes     fetch stall +18.2 points: mean read fell from 128 KiB");
	written_first(text, "causes ", "metric    ");
	written_first(text, "✗ mean_read_bytes", "✗ fetch_stall");
	written_first(text, "✗ fetch_stall", "∅ decoded_pixels_per_sample");
	written_first(text, "∅ decoded_pixels_per_sample", "? samples_per_s");
	written_first(text, "? samples_per_s", "· cpu_s_per_sample");
	written_first(text, "· cpu_s_per_sample", "✓ opens_per_sample");
	written_first(text, "✓ opens_per_sample", "can see ");
	written_first(text, "can see ", "rerun      dsa gate -- ./train\n");
	assert_non_null(strstr(
		text,
		"  ✗ fetch_stall                   12.1%     30.3%  +18.2 pt   5 pt  "
		"regression\n      +15.1 .. +21.3 pt, p 0.012: worse by"));
	assert_non_null(strstr(text, "fetch_stall from 7.1 pt on (limit 5 + 2.1)"));
	assert_non_null(strstr(text, "16.1% on (noise 13 + 3.1)"));
	assert_non_null(strstr(
		text, "decided after 8 of at most 32 pairs, alpha 0.05, 61.2 s"));
	free(text);
}

static void has_narrow_lines(const char *text)
{
	for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1)
		if (strncmp(text, "  again", 7) != 0)
			assert_true(escape_width_part(text, (size_t)(end - text)) <=
				    80);
}

TEST(the_text_is_80_columns_wide)
{
	char *text = written_usual("text"),
	     *many = written_hostile("text", WRITTEN_MANY);

	has_narrow_lines(text);
	written_plain(many);
	assert_int_equal(written_count(many, " regression\n"), WRITTEN_MANY / 3 + 1);
	free(text);
	free(many);
}

TEST(the_text_needs_no_more_than_ascii)
{
	const struct form_style style = {.ascii = true};
	struct gate_verdict verdict;
	struct gate_report report;
	char *text;

	verdict_make(&verdict);
	report = written_report(&verdict);
	text = written_form("text", &report, &style);
	for (const char *at = text; *at != '\0'; at++)
		assert_true((unsigned char)*at < 0x80);
	assert_non_null(strstr(text, "  X regression: "));
	assert_non_null(strstr(text, "  + opens_per_sample "));
	assert_non_null(strstr(text, "  ! decoded_pixels_per_sample "));
	free(text);
	gate_verdict_free(&verdict);
}

/* One open more in a thousand samples. */
TEST(a_small_exact_change_is_seen)
{
	struct gate_verdict verdict;
	struct gate_report report;
	char *text;

	verdict_make(&verdict);
	report = written_report(&verdict);
	assert_string_equal(verdict.findings[0].name, "opens_per_sample");
	verdict.findings[0].now = 1.0001;
	verdict.findings[0].worse.value = .0001;
	text = written_form("text", &report, NULL);
	assert_non_null(strstr(text, " 1    1.0001    +0.01%     0%  pass"));
	free(text);
	gate_verdict_free(&verdict);
}

/* A rate that falls by 47 % says -47 %, and what is read of it in one direction. */
TEST(other_settings_are_told_of_a_pass)
{
	struct gate_verdict verdict;
	struct gate_report report;

	verdict_make(&verdict);
	verdict.outcome = GATE_PASS;
	gate_lines_add(&verdict.settings, &verdict.setting_count,
		       "workers fell from 2 to 1");
	report = written_report(&verdict);
	for (size_t i = 0; form_names[i] != NULL; i++) {
		char *text = written_form(form_names[i], &report, NULL);

		assert_non_null(strstr(text, "workers fell from 2 to 1"));
		free(text);
	}
	gate_verdict_free(&verdict);
}

static void says_in_every_form(const struct gate_verdict *verdict, const char *part)
{
	struct gate_report report = written_report(verdict);

	for (size_t i = 0; form_names[i] != NULL; i++) {
		char *text = written_form(form_names[i], &report, NULL);

		if (strcmp(form_names[i], "json") != 0) /* that has numbers */
			assert_non_null(strstr(text, part));
		free(text);
	}
}

TEST(how_many_it_took_is_told_in_every_form)
{
	struct gate_verdict verdict;

	verdict_make(&verdict);
	says_in_every_form(&verdict, "decided after 8 of at most 32 pairs");
	verdict.outcome = GATE_INCONCLUSIVE;
	verdict.paired = false;
	says_in_every_form(&verdict, "undecided after 8 of at most 32 repetitions "
				     "against 8 of 1 session");
	verdict.most = 0;
	says_in_every_form(&verdict, "8 repetitions against 8 of 1 session");
	gate_verdict_free(&verdict);
}

/* The line of what to do, in every form, has both. */
static void todo_has(const struct gate_verdict *verdict, const char *one,
		     const char *other)
{
	struct gate_report report = written_report(verdict);

	for (size_t i = 0; form_names[i] != NULL; i++) {
		char *text = written_form(form_names[i], &report, NULL);

		assert_non_null(strstr(text, one));
		assert_non_null(strstr(text, other));
		free(text);
	}
}

/* What is no answer comes with what would give one. */
TEST(what_to_do_is_told)
{
	struct gate_verdict verdict;

	verdict_make(&verdict);
	verdict.outcome = GATE_INCONCLUSIVE;
	for (size_t i = 0; i < verdict.count; i++)
		if (verdict.findings[i].status == GATE_MISSING)
			verdict.findings[i].status = GATE_PASSED;
	todo_has(&verdict, "pairs 16", "pairs 0");
	verdict.paired = false;
	verdict.base_sessions = 4;
	todo_has(&verdict, "in turns", "needs 5 sessions and has 4");
	verdict.base_sessions = 5;
	todo_has(&verdict, "pairs 0", "against");
	gate_verdict_free(&verdict);
}

TEST(changes_are_parts_of_what_it_was)
{
	struct gate_verdict verdict;
	struct gate_finding *finding;
	struct gate_report report;
	char *text;

	verdict_make(&verdict);
	report = written_report(&verdict);
	finding = (struct gate_finding *)gate_verdict_find(&verdict, "samples_per_s");
	finding->status = GATE_REGRESSED;
	finding->base = 952;
	finding->now = 503;
	finding->worse = (struct interval){.4716, .41, .52};
	text = written_form("text", &report, NULL);
	assert_non_null(strstr(text, "952       503    -47.2%    10%  regression"));
	assert_non_null(strstr(text, "-52.0 .. -41.0%, p "));
	free(text);
	gate_verdict_free(&verdict);
}

TEST(who_was_busy_is_told)
{
	static const char *const forms[] = {"text", "json", "markdown", "summary"};
	struct gate_verdict verdict;
	struct gate_report report;

	verdict_make(&verdict);
	report = written_report(&verdict);
	verdict.busy = strdup("other programs used 63% of the CPU");
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		char *text = written_form(forms[i], &report, NULL);

		assert_non_null(strstr(text, "other programs used 63%"));
		free(text);
	}
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

TEST(the_json_holds_every_finding)
{
	char *text = written_usual("json");
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *finding;

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

TEST(the_json_has_sorted_keys)
{
	char *text = written_usual("json");

	written_first(text, "\n  \"alpha\"", "\n  \"baseline_repetitions\"");
	written_first(text, "\n  \"causes\"", "\n  \"command\"");
	written_first(text, "\n  \"findings\"", "\n  \"mismatches\"");
	written_first(text, "\n  \"time_s\"", "\n  \"when\"");
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

TEST(the_manual_tells_every_key)
{
	char manual[1 << 16] = "", *text = written_usual("json");
	json_t *root = json_loads(text, 0, NULL);
	FILE *in = fopen("man/dsa-baseline.5", "r");

	assert_non_null(in);
	assert_true(fread(manual, 1, sizeof(manual) - 1, in) > 0);
	fclose(in);
	tells_keys(manual, "", root);
	tells_keys(manual, "findings.", find(root, "fetch_stall"));
	json_decref(root);
	free(text);
}

/* Every form names it, and none takes it for a failure. */
TEST(an_improvement_is_named_in_every_form)
{
	struct gate_verdict verdict;
	struct gate_report report;

	verdict_make(&verdict);
	verdict.outcome = GATE_IMPROVEMENT;
	for (size_t i = 0; i < verdict.count; i++)
		if (verdict.findings[i].status != GATE_PASSED)
			verdict.findings[i].status = GATE_IMPROVED;
	report = written_report(&verdict);
	for (size_t i = 0; form_names[i] != NULL; i++) {
		char *text = written_form(form_names[i], &report, NULL);

		assert_non_null(strstr(text, "improvement"));
		assert_null(strstr(text, "regression"));
		assert_null(strstr(text, "<failure"));
		assert_null(strstr(text, "<error"));
		assert_null(strstr(text, "::error"));
		free(text);
	}
	gate_verdict_free(&verdict);
}

TEST(annotations_are_commands_of_one_line)
{
	char *text = written_usual("github");

	assert_int_equal(written_count(text, "\n"), 5);
	assert_non_null(strstr(text,
			       "::error title=dsa gate%3A fetch_stall::12.1%25 to "
			       "30.3%25, change +18.2 pt, limit 5 pt%0A"));
	assert_non_null(strstr(text, "\n::warning title=dsa gate%3A samples_per_s::"));
	assert_null(strstr(text, "cpu_s_per_sample"));
	assert_null(strstr(text, "opens_per_sample"));
	written_first(text,
		      "::error title=dsa gate%3A regression::", "%0Afetch stall +18.2");
	free(text);
}

TEST(there_are_ten_annotations_at_most)
{
	char *text = written_hostile("github", WRITTEN_MANY),
	     *title = strstr(text, "\n::error title=");
	size_t lines = 0;

	for (const char *at = text; *at != '\0'; at = strchr(at, '\n') + 1, lines++)
		assert_int_equal(strncmp(at, "::", 2) == 0, lines < GATE_ANNOTATIONS);
	assert_int_equal(lines, GATE_ANNOTATIONS + 1);
	assert_non_null(strstr(text, "dsa gate: 3325 more metrics are not annotated"));
	/* The title ends where we end it. */
	assert_non_null(title);
	title += strlen("\n::error title=");
	assert_int_equal(strcspn(title, ":,"), strcspn(title, ":"));
	assert_non_null(strstr(title, "%3A%3Aerror%3A%3Ano"));
	written_plain(text);
	free(text);
}

TEST(a_pass_has_no_annotation)
{
	struct gate_verdict verdict = {.outcome = GATE_PASS};
	struct gate_report report = written_report(&verdict);
	char *text = written_form("github", &report, NULL);

	assert_string_equal(text, "");
	free(text);
}

static void *wrapped_malloc(size_t size)
{
	return malloc(size);
}

/* Each allocation fails once, of jansson too. */
TEST(short_memory_is_an_error)
{
	const struct form_style style = {0};
	struct gate_verdict verdict;
	struct gate_report report;
	unsigned nth;

	verdict_make(&verdict);
	report = written_report(&verdict);
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

TEST_WITH(forms_are_saved_whole_or_not_at_all, scratch_setup, scratch_teardown)
{
	const struct form_style style = {0};
	struct gate_verdict verdict;
	struct gate_report report;
	struct error err = {0};
	long length;

	verdict_make(&verdict);
	report = written_report(&verdict);
	for (const char *const *at = form_names; *at != NULL; at++) {
		assert_int_equal(gate_form_save(*at, &report, "form", false, &err), 0);
		length = scratch_size("form");
		assert_true(length > 0);
		assert_int_equal(gate_form_save(*at, &report, "form", true, &err), 0);
		assert_int_equal(scratch_size("form"), 2 * length);
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
