/* baseline_test.c - baselines as they are written, read and kept in files. */
#include "loader/base/error.h"
#include "reports/gate/baseline.h"
#include "reports/json/json.h"
#include "tests/lib/nomem.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *write_text(const struct gate_side *side)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(baseline_write(side, out, NULL), 0);
	fclose(out);
	return text;
}

static void add_fact(struct profile *about, const char *key, const char *value)
{
	struct profile_fact *fact = profile_add_fact(about);

	profile_text(&fact->key, "%s", key);
	profile_text(&fact->value, "%s", value);
}

static void add_session(struct gate_side *side, const char *when, size_t count)
{
	struct gate_session *session = gate_side_add_session(side, when);
	double values[GATE_METRICS];

	for (size_t i = 0; i < count; i++) {
		for (size_t metric = 0; metric < GATE_METRICS; metric++)
			values[metric] = NAN;
		values[gate_metric_find("fetch_stall")] = -1e-4 / (double)(i + 3);
		values[gate_metric_find("samples_per_s")] = 1e4 / (double)(i + 3);
		if (i == 1)
			values[gate_metric_find("samples_per_s")] = NAN;
		assert_int_equal(gate_session_add(session, values), 0);
	}
}

/* Puts something known into every member that the table names. */
static void fill(struct profile *about)
{
	uint64_t number = 40;

	for (const struct field *field = baseline_fields; field->path != NULL;
	     field++) {
		void *at = (char *)about + field->offset;

		number++;
		if (field->type == FIELD_TEXT)
			profile_text(at, "text %s", field->path);
		else if (field_table(field->type) != NULL)
			((struct profile_word *)at)->id = 1;
		else if (field->type == FIELD_COUNT)
			*(uint64_t *)at = number;
		else if (field->type == FIELD_FLAG || field->type == FIELD_YES)
			*(bool *)at = true;
		else if (field->type == FIELD_NUMBER)
			*(double *)at = 1. / (double)number;
		else
			assert_int_equal(field->type, FIELD_WORDS);
	}
	about->command = calloc(3, sizeof(char *));
	about->command[0] = strdup("./train");
	about->command[1] = strdup("a\nb \"\xff\"");
}

static void init_full(struct gate_side *side)
{
	gate_side_init(side);
	fill(&side->about);
	add_fact(&side->about, "cpu", "AMD EPYC 7763");
	add_fact(&side->about, "time", "2026-11-20T20:00:00Z");
	add_fact(&side->about, "memory_available", "3.1 GiB");
	add_fact(&side->about, "dataset_device", "/dev/nvme0n1p2");
	add_session(side, "2026-11-20T20:00:00Z", 8);
	add_session(side, "2026-11-21T20:00:00Z", 5);
	side->sessions[1].most = 32;
}

TEST(what_is_read_is_written_again_unchanged)
{
	struct gate_side side, again;
	char *text, *second;

	init_full(&side);
	text = write_text(&side);
	assert_int_equal(baseline_read(text, strlen(text), &again, NULL), 0);
	second = write_text(&again);
	assert_string_equal(second, text);
	assert_int_equal(again.session_count, 2);
	assert_int_equal(again.sessions[0].count, 8);
	assert_int_equal(again.sessions[0].most, 0);
	assert_int_equal(again.sessions[1].count, 5);
	assert_int_equal(again.sessions[1].most, 32);
	assert_string_equal(again.sessions[1].when, "2026-11-21T20:00:00Z");
	assert_true(
		isnan(again.sessions[0].values[1][gate_metric_find("samples_per_s")]));
	assert_true(isnan(again.sessions[0].values[0][gate_metric_find("prep_stall")]));
	assert_true(again.sessions[0].values[5][gate_metric_find("samples_per_s")] ==
		    1250);
	assert_string_equal(again.about.command[1], "a\nb \"\\xff\"");
	assert_int_equal(again.about.counted.decoded_pixels,
			 side.about.counted.decoded_pixels);
	free(text);
	free(second);
	gate_side_free(&side);
	gate_side_free(&again);
}

/* What earlier versions wrote has no data stall: it is the sum. */
TEST(older_ones_are_read)
{
	static const char text[] =
		"{\"schema\": \"dsa.baseline/1\", \"sessions\": [{\"when\": \"\", "
		"\"samples\": {\"fetch_stall\": [0.25, 0.5, null], "
		"\"prep_stall\": [0.5, -0.125, 0.5]}}, {\"when\": \"\", \"samples\": "
		"{\"data_stall\": [0.75], \"fetch_stall\": [0.25]}}]}";
	int metric = gate_metric_find("data_stall");
	struct gate_side side;

	assert_int_equal(baseline_read(text, strlen(text), &side, NULL), 0);
	assert_true(side.sessions[0].values[0][metric] == .75);
	assert_true(side.sessions[0].values[1][metric] == .375);
	assert_true(isnan(side.sessions[0].values[2][metric]));
	assert_true(side.sessions[1].values[0][metric] == .75);
	gate_side_free(&side);
}

/* The text of a small baseline, whole: what a reviewer of a change reads. */
TEST(it_is_a_text_to_be_reviewed)
{
	struct gate_side side;
	char *text;

	gate_side_init(&side);
	profile_text(&side.about.version, "0.1.0");
	profile_text(&side.about.dataset, "/home/ci/photos/");
	profile_text(&side.about.directory, "/home/ci");
	profile_text(&side.about.started, "2026-11-20T20:00:00Z");
	side.about.dataset_samples = 512;
	side.about.counted.opens = 4096;
	add_fact(&side.about, "cpu", "AMD EPYC 7763");
	add_session(&side, "2026-11-20T20:00:00Z", 2);
	text = write_text(&side);
	assert_string_equal(text, "{\n"
				  "  \"counted\": {\n"
				  "    \"opens\": 4096\n"
				  "  },\n"
				  "  \"dataset\": {\n"
				  "    \"name\": \"photos\",\n"
				  "    \"samples\": 512\n"
				  "  },\n"
				  "  \"environment\": {\n"
				  "    \"cpu\": \"AMD EPYC 7763\"\n"
				  "  },\n"
				  "  \"schema\": \"dsa.baseline/1\",\n"
				  "  \"sessions\": [\n"
				  "    {\n"
				  "      \"samples\": {\n"
				  "        \"fetch_stall\": [\n"
				  "          -3.33333333e-5,\n"
				  "          -2.5e-5\n"
				  "        ],\n"
				  "        \"samples_per_s\": [\n"
				  "          3333.33333,\n"
				  "          null\n"
				  "        ]\n"
				  "      },\n"
				  "      \"when\": \"2026-11-20T20:00:00Z\"\n"
				  "    }\n"
				  "  ],\n"
				  "  \"settings\": {\n"
				  "    \"huge_pages\": false,\n"
				  "    \"storage_is_memory\": false\n"
				  "  },\n"
				  "  \"version\": \"0.1.0\"\n"
				  "}\n");
	free(text);
	gate_side_free(&side);
}

TEST(facts_that_pass_are_left_out)
{
	struct gate_side side;
	char *text;

	init_full(&side);
	text = write_text(&side);
	assert_non_null(strstr(text, "\"cpu\""));
	assert_null(strstr(text, "\"time\""));
	assert_null(strstr(text, "memory_available"));
	assert_null(strstr(text, "/dev/nvme"));
	free(text);
	gate_side_free(&side);
}

static void the_name_of_a_path(const char *path, const char *name)
{
	struct gate_side side, again;
	char *text;

	gate_side_init(&side);
	profile_text(&side.about.dataset, "%s", path);
	text = write_text(&side);
	assert_int_equal(baseline_read(text, strlen(text), &again, NULL), 0);
	assert_string_equal(again.about.dataset, name);
	free(text);
	gate_side_free(&side);
	gate_side_free(&again);
}

TEST(a_data_set_has_the_last_name_of_its_path)
{
	the_name_of_a_path("photos", "photos");
	the_name_of_a_path("a/b//", "b");
	the_name_of_a_path("/photos", "photos");
	the_name_of_a_path("/", "/");
	the_name_of_a_path("///", "/");
	the_name_of_a_path("", "");
	the_name_of_a_path("s3://bucket/train", "train");
}

TEST(the_oldest_sessions_and_the_last_repetitions_are_dropped)
{
	struct gate_side side, again;
	char *text, when[16];

	gate_side_init(&side);
	for (int i = 0; i < BASELINE_SESSIONS + 3; i++) {
		snprintf(when, sizeof(when), "day %d", i);
		add_session(&side, when, i == 5 ? BASELINE_REPETITIONS + 2 : 2);
	}
	text = write_text(&side);
	assert_int_equal(baseline_read(text, strlen(text), &again, NULL), 0);
	assert_int_equal(again.session_count, BASELINE_SESSIONS);
	assert_string_equal(again.sessions[0].when, "day 3");
	assert_string_equal(again.sessions[BASELINE_SESSIONS - 1].when, "day 66");
	assert_int_equal(again.sessions[2].count, BASELINE_REPETITIONS);
	free(text);
	gate_side_free(&side);
	gate_side_free(&again);
}

TEST(keys_of_a_later_version_are_left_alone)
{
	static const char text[] =
		"{\"schema\": \"dsa.baseline/1\", \"gpu\": {\"x\": [1]}, \"sessions\": "
		"[{\"when\": \"\", \"mood\": 3, \"samples\": {\"h2d_bytes\": \"many\", "
		"\"opens_per_sample\": 7, \"fetch_stall\": [0.25]}}]}";
	struct gate_side side;

	assert_int_equal(baseline_read(text, strlen(text), &side, NULL), 0);
	assert_int_equal(side.sessions[0].count, 1);
	assert_true(side.sessions[0].values[0][gate_metric_find("fetch_stall")] == .25);
	assert_true(isnan(
		side.sessions[0].values[0][gate_metric_find("opens_per_sample")]));
	gate_side_free(&side);
}

TEST(what_can_not_be_read_is_not_written)
{
	FILE *out = fopen("/dev/null", "w");
	struct error err = {0};
	struct gate_side side;

	gate_side_init(&side);
	side.about.emulated_per_s = 1e300;
	assert_int_equal(baseline_write(&side, out, &err), -EBADMSG);
	assert_string_equal(err.message,
			    "the baseline can't hold this: emulated.accelerator_per_s: "
			    "should be a number from 0 to 1e15");
	fclose(out);
	gate_side_free(&side);
}

TEST_WITH(load_names_the_file, scratch_setup, scratch_teardown)
{
	struct error err = {0};
	struct gate_side side;

	assert_int_equal(baseline_load("nowhere.json", &side, &err), -ENOENT);
	assert_string_equal(err.message,
			    "can't open nowhere.json: No such file or directory");
	assert_int_equal(baseline_load("/dev/null", &side, &err), -EBADMSG);
	assert_string_equal(err.message, "/dev/null: is not a file");
	scratch_file("large.json", JSON_RESULT_MAX + 1);
	assert_int_equal(baseline_load("large.json", &side, &err), -EBADMSG);
	assert_string_equal(err.message,
			    "large.json: is larger than 8 MiB: it is not a "
			    "baseline of dsa");
	scratch_text("cut.json", "{\"schema\": ");
	assert_int_equal(baseline_load_any("cut.json", &side, &err), -EBADMSG);
	assert_string_equal(err.message,
			    "cut.json: line 1, column 11: unexpected token near "
			    "end of file");
}

TEST_WITH(a_run_is_a_side_too, scratch_setup, scratch_teardown)
{
	struct error err = {0};
	struct gate_side side;

	scratch_text("run.json",
		     "{\"schema\": \"dsa.result/1\", \"version\": \"0.9\"}");
	assert_int_equal(baseline_load_any("run.json", &side, &err), 0);
	assert_string_equal(side.about.version, "0.9");
	gate_side_free(&side);
	assert_int_equal(baseline_load("run.json", &side, &err), -EPROTO);
	scratch_text("run.json", "{\"schema\": \"dsa.result/1\", \"version\": 9}");
	assert_int_equal(baseline_load_any("run.json", &side, &err), -EBADMSG);
	assert_string_equal(err.message, "run.json: version: should be a text");
	scratch_text("base.json",
		     "{\"schema\": \"dsa.baseline/1\", \"version\": \"0.8\"}");
	assert_int_equal(baseline_load_any("base.json", &side, &err), 0);
	assert_string_equal(side.about.version, "0.8");
	gate_side_free(&side);
}

TEST_WITH(a_baseline_is_written_whole_or_not_at_all, scratch_setup, scratch_teardown)
{
	struct error err = {0};
	struct gate_side side, again;

	init_full(&side);
	assert_int_equal(baseline_save(&side, "base.json", NULL), 0);
	assert_int_equal(baseline_load("base.json", &again, NULL), 0);
	gate_side_free(&again);
	side.about.prep_delay_s = 1e300;
	assert_int_equal(baseline_save(&side, "base.json", &err), -EBADMSG);
	assert_int_equal(baseline_load("base.json", &again, NULL), 0);
	gate_side_free(&again);
	side.about.prep_delay_s = NAN;
	assert_int_equal(baseline_save(&side, "/dev/full", &err), -ENOSPC);
	assert_string_equal(err.message,
			    "/dev/full: can't write: No space left on device");
	gate_side_free(&side);
}

/* Others leave this folder. */
TEST_FIRST(the_manual_tells_every_key, NULL, NULL)
{
	char manual[1 << 16] = "", entry[128];
	FILE *in = fopen("man/dsa-baseline.5", "r");

	assert_non_null(in);
	assert_true(fread(manual, 1, sizeof(manual) - 1, in) > 0);
	fclose(in);
	for (const struct field *field = baseline_fields; field->path != NULL;
	     field++) {
		snprintf(entry, sizeof(entry), "\n.It Va %s\n", field->path);
		if (strstr(manual, entry) == NULL)
			fail_msg("man/dsa-baseline.5 does not describe %s",
				 field->path);
	}
	for (int i = 0; i < GATE_METRICS; i++)
		if (gate_metrics[i].tier != GATE_EXACT) {
			snprintf(entry, sizeof(entry), "\n.It Va %s\n",
				 gate_metrics[i].name);
			assert_non_null(strstr(manual, entry));
		}
}

static void *wrapped_malloc(size_t size)
{
	return malloc(size);
}

/*
 * Each allocation fails once: those of ours in reading, and of jansson too in writing. (A
 * jansson that has no memory for a character of a text goes on without it, and past its
 * end.)
 */
TEST(short_memory_is_an_error)
{
	struct gate_side side, again;
	unsigned nth = 0;
	int result = -1;
	char *text;

	init_full(&side);
	text = write_text(&side);
	for (; result != 0; nth++) {
		nomem_at(nth + 1);
		result = baseline_read(text, strlen(text), &again, NULL);
		nomem_at(0);
		assert_true(result == 0 || result == -ENOMEM);
		if (result != 0)
			assert_null(again.sessions);
	}
	gate_side_free(&again);
	assert_true(nth > 15);
	json_set_alloc_funcs(wrapped_malloc, free);
	for (nth = 0, result = -1; result != 0; nth++) {
		FILE *out = fopen("/dev/null", "w");

		nomem_at(nth + 1);
		result = baseline_write(&side, out, NULL);
		nomem_at(0);
		assert_true(result == 0 || result == -ENOMEM);
		fclose(out);
	}
	assert_true(nth > 200);
	json_set_alloc_funcs(malloc, free);
	gate_side_free(&side);
	free(text);
}
