/* sides.c - makes sides up, and judges them. */
#include "tests/lib/sides.h"

#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

/* ---- sides ---- */

void sides_add_fact(struct gate_side *side, const char *key, const char *value)
{
	struct profile_fact *fact = profile_add_fact(&side->about);

	assert_non_null(fact);
	assert_int_equal(profile_text(&fact->key, "%s", key), 0);
	assert_int_equal(profile_text(&fact->value, "%s", value), 0);
}

static void begin_side(struct gate_side *side)
{
	gate_side_init(side);
	assert_int_equal(profile_text(&side->about.digest, "0123456789abcdef"), 0);
	side->about.dataset_samples = 4096;
	side->about.dataset_bytes = 400000000;
	side->about.counted = (struct profile_counted){
		.samples = 1000,
		.opens = 1000,
		.reads = 2000,
		.read_bytes = 100000000,
		.hits = 250,
		.decoded_pixels = 187500000,
		.skipped = 2,
		.device_bytes = UNKNOWN,
	};
	sides_add_fact(side, "cpu", "EPYC 7763");
	sides_add_fact(side, "cpu_threads_allowed", "2");
	sides_add_fact(side, "memory", "23.47 GiB");
	sides_add_fact(side, "dataset_storage", "NVMe");
	sides_add_fact(side, "kernel", "Linux 6.1");
}

void sides_begin(struct sides *pair)
{
	*pair = (struct sides){.dice = {1}};
	begin_side(&pair->base);
	begin_side(&pair->now);
	gate_config_init(&pair->config);
}

void sides_end(struct sides *pair)
{
	gate_side_free(&pair->base);
	gate_side_free(&pair->now);
	gate_verdict_free(&pair->verdict);
}

struct sides sides;

int sides_setup(void **state)
{
	(void)state;
	sides_begin(&sides);
	return 0;
}

int sides_teardown(void **state)
{
	(void)state;
	sides_end(&sides);
	return 0;
}

void sides_again(struct sides *pair)
{
	sides_end(pair);
	begin_side(&pair->base);
	begin_side(&pair->now);
}

double sides_normal(struct sides *pair)
{
	double length = sqrt(-2 * log(1 - random_unit(&pair->dice)));

	return length * cos(6.283185307179586 * random_unit(&pair->dice));
}

void sides_add_session(struct sides *pair, struct gate_side *side, size_t count,
		       double slower, double noise)
{
	struct gate_session *session;
	char when[CLOCK_UTC];

	snprintf(when, sizeof(when), "2026-%02u-%02uT12:00:00Z",
		 (unsigned)(1 + side->session_count / 28 % 12),
		 (unsigned)(1 + side->session_count % 28));
	session = gate_side_add_session(side, when);
	assert_non_null(session);
	for (size_t i = 0; i < count; i++) {
		struct profile repetition;
		double values[GATE_METRICS];

		profile_init(&repetition);
		repetition.stalls[STAGE_FETCH].value =
			.10 + slower + noise * sides_normal(pair);
		repetition.stalls[STAGE_PREP].value =
			.30 + slower + noise * sides_normal(pair);
		repetition.cpu_s_per_sample =
			.001 * (1 + slower) * (1 + noise * sides_normal(pair));
		repetition.rates[TRACE_REAL].value =
			1000 / (1 + slower) * (1 + noise * sides_normal(pair));
		gate_metric_timed(&repetition, values);
		assert_int_equal(gate_session_add(session, values), 0);
	}
}

void sides_add_both(struct sides *pair, double slower, double noise)
{
	sides_add_session(pair, &pair->base, 8, 0, noise);
	sides_add_session(pair, &pair->now, 8, slower, noise);
}

/* ---- limits ---- */

void sides_limit(struct sides *pair, const char *name, double limit)
{
	pair->config.limits[gate_metric_find(name)] = limit;
}

void sides_all_off(struct sides *pair)
{
	for (int i = 0; i < GATE_METRICS; i++)
		pair->config.limits[i] = INFINITY;
}

void sides_timed_off(struct sides *pair)
{
	for (int i = 0; i < GATE_METRICS; i++)
		if (gate_metrics[i].tier != GATE_EXACT)
			pair->config.limits[i] = INFINITY;
}

/* ---- verdicts ---- */

void sides_judge(struct sides *pair)
{
	struct gate_verdict *verdict = &pair->verdict;
	struct error err = {0};

	gate_verdict_free(verdict);
	if (gate_judge(&pair->config, &pair->base, &pair->now, verdict, &err) != 0)
		fail_msg("%s", err.message);
	assert_true(strlen(verdict->why) > 0);
	for (size_t i = 0; i < verdict->count; i++)
		assert_true(strlen(verdict->findings[i].why) > 0);
}

const struct gate_finding *sides_find(const struct sides *pair, const char *name)
{
	for (size_t i = 0; i < pair->verdict.count; i++)
		if (strcmp(pair->verdict.findings[i].name, name) == 0)
			return &pair->verdict.findings[i];
	return NULL;
}

struct gate_finding sides_found(const struct sides *pair, const char *name)
{
	const struct gate_finding *finding = sides_find(pair, name);

	if (finding == NULL)
		fail_msg("there is no finding %s", name);
	return *finding;
}

void sides_outcome_is(const struct sides *pair, enum gate_outcome want)
{
	if (pair->verdict.outcome != want)
		fail_msg("%s, not %s: %s", gate_outcome_name(pair->verdict.outcome),
			 gate_outcome_name(want), pair->verdict.why);
}

void sides_status_is(const struct sides *pair, const char *name, enum gate_status want)
{
	struct gate_finding finding = sides_found(pair, name);

	if (finding.status != want)
		fail_msg("%s is %s, not %s: %s", name, gate_status_name(finding.status),
			 gate_status_name(want), finding.why);
}

void says(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("'%s' does not say '%s'", text, part);
}
