/* status_test.c - the figures of a shared loader as JSON, OpenMetrics and HTTP. */
#include "loader/share/wire/status.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static const char *const datasets[] = {"/data/im\"ages\\", NULL};

static const struct share_job_figures jobs[] = {
	{.job = "a \xff\x1b\n\"job\"\xc3\xa9",
	 .state = SHARE_JOB_BEHIND,
	 .pid = 41,
	 .slot = 0,
	 .device = "mapping",
	 .batch = 64,
	 .epoch = 2,
	 .position = 10,
	 .lag_samples = 700,
	 .lag_batches = 10,
	 .held_samples = 64,
	 .waits = 3,
	 .waited_ns = 1500000000,
	 .batches = 9,
	 .samples = 576,
	 .bytes = 5760,
	 .age_ns = 2000000999},
	{.job = "late",
	 .state = SHARE_JOB_WAITING,
	 .pid = 42,
	 .slot = SHARE_UNKNOWN,
	 .batch = 32,
	 .epoch = SHARE_UNKNOWN,
	 .waited_ns = SHARE_UNKNOWN},
};

static struct share_figures figures(void)
{
	return (struct share_figures){.mode = "free",
				      .socket = "/run/dsa.sock",
				      .datasets = datasets,
				      .pid = 40,
				      .generation = UINT64_MAX - 1,
				      .uptime_ns = 61000000000,
				      .samples = UINT64_C(9007199254740993),
				      .samples_per_1000s = 1234567,
				      .drop_after_ns = SHARE_UNKNOWN,
				      .hits = 5,
				      .jobs = jobs,
				      .job_count = 2};
}

static json_int_t whole(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		fail_msg("%s is no whole number", key);
	return json_integer_value(value);
}

TEST(the_json_is_json_with_all_figures)
{
	const struct share_figures all = figures();
	json_t *root, *job;
	char *text;

	assert_int_equal(share_status_json(&all, &text), 0);
	root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "schema")),
			    "dsa.share/1");
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(root, "datasets"), 0)),
		datasets[0]);
	assert_string_equal(json_string_value(json_object_get(root, "generation")),
			    "18446744073709551614");
	assert_true(whole(root, "samples") == 9007199254740993);
	assert_true(json_real_value(json_object_get(root, "samples_per_s")) ==
		    1234.567);
	assert_true(json_real_value(json_object_get(root, "uptime_s")) == 61);
	assert_null(json_object_get(root, "drop_after_s"));
	job = json_array_get(json_object_get(root, "jobs"), 0);
	assert_string_equal(json_string_value(json_object_get(job, "job")),
			    "a \\xff\\x1b\n\"job\"\xc3\xa9");
	assert_string_equal(json_string_value(json_object_get(job, "state")), "behind");
	assert_int_equal(whole(job, "data_bytes"), 5760);
	assert_int_equal(whole(job, "slot"), 0);
	assert_string_equal(json_string_value(json_object_get(job, "device")),
			    "mapping");
	assert_true(json_real_value(json_object_get(job, "age_s")) == 2.000000);
	job = json_array_get(json_object_get(root, "jobs"), 1);
	assert_null(json_object_get(job, "slot"));
	assert_null(json_object_get(job, "device"));
	assert_null(json_object_get(job, "epoch"));
	assert_null(json_object_get(job, "waited_s"));
	assert_int_equal(whole(job, "pid"), 42);
	json_decref(root);
	free(text);
}

static void expect(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("no '%s' in:\n%s", part, text);
}

TEST(counter_metrics_have_type_unit_help_and_an_end)
{
	const struct share_figures all = figures();
	char *text;

	assert_int_equal(share_status_metrics(&all, &text), 0);
	expect(text, "# TYPE dsa_share info\n# HELP dsa_share What is served.\n"
		     "dsa_share_info{mode=\"free\",socket=\"/run/dsa.sock\","
		     "dataset=\"/data/im\\\"ages\\\\\",pid=\"40\"} 1\n");
	expect(text, "# TYPE dsa_share_uptime_seconds gauge\n"
		     "# UNIT dsa_share_uptime_seconds seconds\n"
		     "# HELP dsa_share_uptime_seconds Time since the loader began.\n"
		     "dsa_share_uptime_seconds 61.000000\n");
	expect(text, "# TYPE dsa_share_samples counter\n"
		     "# HELP dsa_share_samples Samples prepared for jobs, each "
		     "counted once.\ndsa_share_samples_total 9007199254740993\n");
	expect(text, "\ndsa_share_samples_per_second 1234.567\n");
	expect(text, "\ndsa_share_job_waited_seconds_total{job=\"a "
		     "\\\\xff\\\\x1b\\n\\\"job\\\"\xc3\xa9\",pid=\"41\",slot=\"0\"} "
		     "1.500000\n");
	expect(text, "\ndsa_share_jobs{state=\"waiting\"} 1\n");
	assert_null(strstr(text, "job=\"late\""));
	assert_null(strstr(text, "drop_after"));
	assert_string_equal(text + strlen(text) - 6, "# EOF\n");
	free(text);
}

/* Names of metric families: each of a line "# TYPE name .." is there once. */
TEST(no_family_comes_twice)
{
	const struct share_figures all = figures();
	char *text, *at;

	assert_int_equal(share_status_metrics(&all, &text), 0);
	for (at = strstr(text, "# TYPE "); at != NULL; at = strstr(at + 1, "# TYPE ")) {
		size_t length = strcspn(at + 7, " ") + 8;
		char *other = at;

		while ((other = strstr(other + 1, "# TYPE ")) != NULL)
			assert_true(strncmp(other, at, length) != 0);
	}
	free(text);
}

TEST(http_has_two_pages)
{
	static const struct {
		const char *request, *head, *in_body;
	} cases[] = {
		{"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
		 "HTTP/1.0 200 OK\r\nContent-Type: application/openmetrics-text;",
		 "# EOF\n"},
		{"GET /metrics?x=1 HTTP/1.0\r\n\r\n", "HTTP/1.0 200 OK\r\n", "# EOF\n"},
		{"GET /status\n\n",
		 "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n",
		 "\"jobs\": ["},
		{"GET /metric HTTP/1.0\r\n\r\n", "HTTP/1.0 404 Not Found\r\n",
		 "/metrics"},
		{"GET /metricsx\n\n", "HTTP/1.0 404 Not Found\r\n", "/metrics"},
		{"GET ", "HTTP/1.0 404 Not Found\r\n", "/metrics"},
		{"GET", "HTTP/1.0 404 Not Found\r\n", "/metrics"},
	};
	const struct share_figures all = figures();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *answer, *body, length[64];
		size_t bytes;

		assert_int_equal(
			share_status_http(&all, cases[i].request, &answer, &bytes), 0);
		assert_int_equal(strncmp(answer, cases[i].head, strlen(cases[i].head)),
				 0);
		body = strstr(answer, "\r\n\r\n") + 4;
		expect(body, cases[i].in_body);
		snprintf(length, sizeof(length), "\r\nContent-Length: %zu\r\n",
			 bytes - (size_t)(body - answer));
		expect(answer, length);
		assert_int_equal(strlen(answer), bytes);
		free(answer);
	}
}

TEST(memory_may_run_out)
{
	const struct share_figures all = figures();
	char *answer = NULL;
	size_t bytes;
	int rc;

	nomem_at(1);
	rc = share_status_http(&all, "GET /metrics\n\n", &answer, &bytes);
	nomem_at(0);
	assert_int_equal(rc, -ENOMEM);
}
