/* baseline_refused_test.c - what is no baseline, and the line that says why. */
#include "loader/base/error.h"
#include "reports/gate/baseline.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void refuses_size(const char *text, size_t size, int code, const char *message)
{
	struct error err = {0};
	struct gate_side side;

	assert_int_equal(baseline_read(text, size, &side, &err), -code);
	assert_string_equal(err.message, message);
	assert_null(side.about.version);
	assert_null(side.sessions);
	assert_int_equal(side.about.fact_count, 0);
	gate_side_free(&side);
}

static void refuses(const char *text, int code, const char *message)
{
	refuses_size(text, strlen(text), code, message);
}

TEST(other_schemas_are_refused_by_name)
{
	refuses("{\"schema\": \"dsa.baseline/2\"}", EPROTO,
		"has schema \"dsa.baseline/2\", this dsa reads \"dsa.baseline/1\"; "
		"write a new one, under another name, with dsa gate --update");
	refuses("{\"schema\": \"dsa.result/1\"}", EPROTO,
		"has schema \"dsa.result/1\": it is not a baseline of dsa; "
		"dsa gate --update writes one, under another name");
	refuses("{\"schema\": \"a\\nb\\u001b[31m\"}", EPROTO,
		"has schema \"a\\nb\\x1b[31m\": it is not a baseline of dsa; "
		"dsa gate --update writes one, under another name");
	refuses("{}", EBADMSG, "has no \"schema\": it is not a baseline of dsa");
	refuses("[]", EBADMSG, "has no \"schema\": it is not a baseline of dsa");
}

TEST(broken_files_are_named)
{
	refuses("", EBADMSG, "line 1, column 0: '[' or '{' expected near end of file");
	refuses("{\"schema\":\n \"dsa.ba", EBADMSG,
		"line 2, column 8: premature end of input near '\"dsa.ba'");
	refuses("{\"a\": NaN}", EBADMSG, "line 1, column 9: invalid token near 'NaN'");
	refuses("{\"a\": 1e999}", EBADMSG,
		"line 1, column 11: real number overflow near '1e999'");
	refuses("{\"a\": 9223372036854775808}", EBADMSG,
		"line 1, column 25: too big integer near '9223372036854775808'");
	refuses("{\"a\": 1, \"a\": 2}", EBADMSG,
		"line 1, column 12: duplicate object key near '\"a\"'");
	refuses("{\x1b[31m", EBADMSG,
		"line 1, column 2: string or '}' expected near '\\x1b'");
	refuses_size("{\"a\0\": 1}", 9, EBADMSG,
		     "line 1, column 3: control character 0x0 near '\"a'");
}

#define BASELINE(member) "{\"schema\": \"dsa.baseline/1\", " member "}"
#define SESSION(samples)                                                               \
	BASELINE("\"sessions\": [{\"when\": \"\", \"samples\": {}}, {\"when\": "       \
		 "\"\", \"samples\": {" samples "}}]")

TEST(wrong_values_are_named)
{
	refuses(BASELINE("\"version\": 1"), EBADMSG, "version: should be a text");
	refuses(BASELINE("\"command\": [1]"), EBADMSG, "command: should be a text");
	refuses(BASELINE("\"dataset\": []"), EBADMSG,
		"dataset.name: should be in an object");
	refuses(BASELINE("\"dataset\": {\"bytes\": -1}"), EBADMSG,
		"dataset.bytes: should be a whole number that is not negative");
	refuses(BASELINE("\"counted\": {\"opens\": 0.5}"), EBADMSG,
		"counted.opens: should be a whole number that is not negative");
	refuses(BASELINE("\"counted\": {\"reads\": 1e3}"), EBADMSG,
		"counted.reads: should be a whole number that is not negative");
	refuses(BASELINE("\"settings\": {\"huge_pages\": 1}"), EBADMSG,
		"settings.huge_pages: should be true or false");
	refuses(BASELINE("\"settings\": {\"cache_share\": -0.1}"), EBADMSG,
		"settings.cache_share: should be a number from 0 to 1e15");
	refuses(BASELINE("\"emulated\": {\"accelerator_per_s\": 1e308}"), EBADMSG,
		"emulated.accelerator_per_s: should be a number from 0 to 1e15");
	refuses(BASELINE("\"environment\": []"), EBADMSG,
		"environment: should be an object");
	refuses(BASELINE("\"environment\": {\"a\\nb\": 1}"), EBADMSG,
		"environment.a\\nb: should be a text");
}

TEST(wrong_samples_are_named)
{
	refuses(BASELINE("\"sessions\": {}"), EBADMSG,
		"sessions: should be an array of at most 64 sessions");
	refuses(BASELINE("\"sessions\": [1]"), EBADMSG,
		"sessions[0]: should be an object with the text \"when\" and the "
		"object "
		"\"samples\"");
	refuses(BASELINE("\"sessions\": [{\"samples\": {}}]"), EBADMSG,
		"sessions[0]: should be an object with the text \"when\" and the "
		"object "
		"\"samples\"");
	refuses(BASELINE("\"sessions\": [{\"when\": \"\", \"samples\": {}, "
			 "\"most_repetitions\": 65}]"),
		EBADMSG,
		"sessions[0]: most_repetitions: should be a number from 0 to 64");
	refuses(SESSION("\"fetch_stall\": 1"), EBADMSG,
		"sessions[1]: samples.fetch_stall: should be an array of at most 64 "
		"numbers");
	refuses(SESSION("\"fetch_stall\": [0.1, \"x\"]"), EBADMSG,
		"sessions[1]: samples.fetch_stall: [1]: should be a share from -100 to "
		"100, or null");
	refuses(SESSION("\"prep_stall\": [-101]"), EBADMSG,
		"sessions[1]: samples.prep_stall: [0]: should be a share from -100 to "
		"100, or null");
	refuses(SESSION("\"samples_per_s\": [-1]"), EBADMSG,
		"sessions[1]: samples.samples_per_s: [0]: should be a number from 0 to "
		"1e15, or null");
	refuses(SESSION("\"samples_per_s\": [1, 2, 1e308]"), EBADMSG,
		"sessions[1]: samples.samples_per_s: [2]: should be a number from 0 to "
		"1e15, or null");
	refuses(SESSION("\"fetch_stall\": [0, 0], \"samples_per_s\": [1]"), EBADMSG,
		"sessions[1]: samples.samples_per_s: should be as long as the other "
		"arrays of its session");
	refuses(SESSION("\"fetch_stall\": [], \"samples_per_s\": [1]"), EBADMSG,
		"sessions[1]: samples.samples_per_s: should be as long as the other "
		"arrays of its session");
}

/* {"schema": ..., KEY: [ITEM, ITEM, ...]} */
static char *repeated(const char *before, const char *item, int count,
		      const char *after)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fprintf(out, "{\"schema\": \"dsa.baseline/1\", %s", before);
	for (int i = 0; i < count; i++)
		fprintf(out, "%s%s", i == 0 ? "" : ",", item);
	fputs(after, out);
	fclose(out);
	return text;
}

TEST(too_many_are_refused)
{
	char *sessions =
		repeated("\"sessions\": [", "{\"when\": \"\", \"samples\": {}}",
			 BASELINE_SESSIONS + 1, "]}");
	char *samples = repeated("\"sessions\": [{\"when\": \"\", \"samples\": "
				 "{\"prep_stall\": [",
				 "0", BASELINE_REPETITIONS + 1, "]}}]}");

	refuses(sessions, EBADMSG,
		"sessions: should be an array of at most 64 sessions");
	refuses(samples, EBADMSG,
		"sessions[0]: samples.prep_stall: should be an array of at most 64 "
		"numbers");
	free(sessions);
	free(samples);
}

TEST(deep_nesting_is_refused)
{
	char *text = malloc(100001);

	memset(text, '[', 100000);
	text[100000] = '\0';
	refuses(text, EBADMSG,
		"line 1, column 2049: maximum parsing depth reached near '['");
	free(text);
}
