/* gate_junit_test.c - a verdict as JUnit. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "tests/lib/written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char schema[4096];

/* The tests leave this folder. */
static int find_schema(void **state)
{
	(void)state;
	if (getcwd(schema, sizeof(schema) - 32) == NULL)
		return -1;
	strcat(schema, "/tests/data/junit.xsd");
	return 0;
}

static void is_valid_junit(const char *text)
{
	char command[sizeof(schema) + 128], *said;
	int status;

	if (!written_has("xmllint --version >/dev/null 2>&1"))
		skip();
	snprintf(command, sizeof(command),
		 "xmllint --huge --noout --schema '%s' FILE 2>&1", schema);
	said = written_read_by(command, text, &status);
	if (status != 0)
		fail_msg("%.400s", said);
	free(said);
}

TEST_WITH(the_junit_keeps_to_its_schema, scratch_setup, scratch_teardown)
{
	char *text = written_usual("junit"),
	     *many = written_hostile("junit", WRITTEN_MANY);
	char *none = written_hostile("junit", 0);

	is_valid_junit(text);
	is_valid_junit(many);
	is_valid_junit(none);
	assert_true(strlen(many) < GATE_JUNIT_MOST);
	assert_int_equal(written_count(many, "<testcase "), WRITTEN_MANY + 1);
	free(text);
	free(many);
	free(none);
}

TEST(only_a_pass_looks_like_one_in_junit)
{
	char *text = written_usual("junit");

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
TEST(a_gate_that_compared_nothing_fails_in_junit)
{
	struct gate_verdict verdict = {.outcome = GATE_MISMATCH, .alpha = NAN};
	struct gate_report report = written_report(&verdict);
	char *text;

	text = written_form("junit", &report, NULL);
	assert_non_null(strstr(text, " tests=\"1\" failures=\"0\" errors=\"1\""));
	assert_non_null(strstr(text, "<error type=\"mismatch\""));
	free(text);
	verdict.outcome = GATE_INCONCLUSIVE;
	text = written_form("junit", &report, NULL);
	assert_non_null(strstr(text, "<error type=\"inconclusive\""));
	free(text);
}

TEST_WITH(junit_stays_below_its_limit, scratch_setup, scratch_teardown)
{
	char *text = written_hostile("junit", 8 * WRITTEN_MANY);

	assert_true(strlen(text) < GATE_JUNIT_MOST);
	assert_true(strlen(text) > GATE_JUNIT_MOST / 2);
	assert_non_null(strstr(text, "metrics are left out here, the worst are shown"));
	is_valid_junit(text);
	free(text);
}

TEST_GROUP(find_schema, NULL);
