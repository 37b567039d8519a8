/* gate_json.c - the verdict of a gate for scripts, which dsa-baseline(5) describes. */
#include "profiler/field.h"
#include "reports/gate/gate_part.h"
#include "reports/json/json_part.h"

#include <stdlib.h>

#define SCHEMA "dsa.gate/1"

static const struct field finding_numbers[] = {
	FIELD_AT(gate_finding, "before", NUMBER, base),
	FIELD_AT(gate_finding, "now", NUMBER, now),
	FIELD_AT(gate_finding, "p", NUMBER, p),
	FIELD_AT(gate_finding, "limit", NUMBER, limit),
	FIELD_AT(gate_finding, "floor", NUMBER, floor),
	FIELD_AT(gate_finding, "detectable", NUMBER, detectable),
	{NULL, FIELD_END, 0},
};

/* Sets a key unless the text is NULL or empty. */
static int set_text(json_t *object, const char *key, const char *text)
{
	return text == NULL || *text == '\0'
		       ? 0
		       : json_object_set_new(object, key, json_part_text(text));
}

static json_t *finding_value(const struct gate_finding *finding)
{
	json_t *object = json_pack("{s:s, s:s, s:s, s:s, s:o}", "tier",
				   gate_tier_name(finding->tier), "status",
				   gate_status_name(finding->status), "change",
				   finding->points ? "difference" : "ratio", "worse_is",
				   finding->more_is_worse ? "more" : "less", "worse",
				   json_part_interval(&finding->worse, "value"));

	return json_part_whole(
		object, set_text(object, "name", finding->name) == 0 &&
				set_text(object, "unit", finding->unit) == 0 &&
				set_text(object, "why", finding->why) == 0 &&
				json_part_place(object, finding_numbers, finding) == 0);
}

static json_t *findings_value(const struct gate_verdict *verdict)
{
	json_t *findings = json_array();

	for (size_t i = 0; i < verdict->count; i++)
		findings = json_part_append(findings,
					    finding_value(&verdict->findings[i]));
	return findings;
}

static json_t *verdict_value(const struct gate_verdict *verdict)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:b}", "schema",
			 SCHEMA, "outcome", gate_outcome_name(verdict->outcome),
			 "causes", json_part_words(verdict->causes), "mismatches",
			 json_part_words(verdict->mismatches), "settings",
			 json_part_words(verdict->settings), "findings",
			 findings_value(verdict), "repetitions",
			 (json_int_t)verdict->repetitions, "baseline_repetitions",
			 (json_int_t)verdict->base_repetitions, "baseline_sessions",
			 (json_int_t)verdict->base_sessions, "paired", verdict->paired);
}

/* Sets a key to a text, which it frees. 0 or -1. */
static int take_text(json_t *object, const char *key, char *text)
{
	int result = text == NULL ? -1 : set_text(object, key, text);

	free(text);
	return result;
}

/* Where looks decide how many repetitions there are. */
static int set_most(json_t *object, const struct gate_verdict *verdict)
{
	return verdict->most == 0
		       ? 0
		       : json_object_set_new(object, "most_repetitions",
					     json_integer((json_int_t)verdict->most));
}

static json_t *gate_value(const struct gate_report *report)
{
	json_t *root = verdict_value(report->verdict);

	return json_part_whole(
		root,
		set_text(root, "why", report->verdict->why) == 0 &&
			take_text(root, "advice", gate_part_advice(report->verdict)) ==
				0 &&
			set_most(root, report->verdict) == 0 &&
			set_text(root, "busy", report->verdict->busy) == 0 &&
			set_text(root, "name", report->name) == 0 &&
			set_text(root, "command", report->command) == 0 &&
			set_text(root, "report", report->link) == 0 &&
			set_text(root, "when", report->when) == 0 &&
			json_part_number(root, "alpha", report->verdict->alpha) == 0 &&
			json_part_number(root, "time_s", report->seconds) == 0);
}

int gate_json_write(const struct gate_report *report,
		    const struct gate_finding *const *ranked,
		    const struct form_style *style, FILE *out, struct error *err)
{
	(void)ranked;
	(void)style;
	return json_part_write(gate_value(report), out, "the verdict", err);
}
