/* gate_json.c - the verdict of a gate for scripts. dsa-baseline(5) describes every key. */
#include "loader/base/error.h"
#include "reports/gate/gate_part.h"
#include "reports/json/json_part.h"

#include <errno.h>
#include <stdlib.h>

#define SCHEMA "dsa.gate/1"

static int set_text(json_t *object, const char *key, const char *text)
{
	return text == NULL || *text == '\0'
		       ? 0
		       : json_object_set_new(object, key, json_part_text(text));
}

static int gate_json_set_count(json_t *object, const char *key, size_t count)
{
	return json_object_set_new(object, key, json_integer((json_int_t)count));
}

static int set_lines(json_t *object, const char *key, char *const *lines, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; array != NULL && i < count; i++)
		if (json_array_append_new(array, json_part_text(lines[i])) < 0) {
			json_decref(array);
			return -1;
		}
	return json_object_set_new(object, key, array);
}

static int fill_numbers(json_t *object, const struct gate_finding *finding)
{
	if (json_part_number(object, "before", finding->base) < 0 ||
	    json_part_number(object, "now", finding->now) < 0 ||
	    json_part_number(object, "p", finding->p) < 0 ||
	    json_part_number(object, "limit", finding->limit) < 0 ||
	    json_part_number(object, "floor", finding->floor) < 0 ||
	    json_part_number(object, "detectable", finding->detectable) < 0)
		return -1;
	return json_object_set_new(object, "worse",
				   json_part_interval(&finding->worse, "value"));
}

static json_t *finding_value(const struct gate_finding *finding)
{
	json_t *object = json_object();

	if (object != NULL && set_text(object, "name", finding->name) == 0 &&
	    set_text(object, "unit", finding->unit) == 0 &&
	    set_text(object, "why", finding->why) == 0 &&
	    set_text(object, "tier", gate_tier_name(finding->tier)) == 0 &&
	    set_text(object, "status", gate_status_name(finding->status)) == 0 &&
	    set_text(object, "change", finding->points ? "difference" : "ratio") == 0 &&
	    set_text(object, "worse_is", finding->more_is_worse ? "more" : "less") ==
		    0 &&
	    fill_numbers(object, finding) == 0)
		return object;
	json_decref(object);
	return NULL;
}

static int fill_findings(json_t *root, const struct gate_verdict *verdict)
{
	json_t *findings = json_array();

	for (size_t i = 0; findings != NULL && i < verdict->count; i++)
		if (json_array_append_new(findings,
					  finding_value(&verdict->findings[i])) < 0) {
			json_decref(findings);
			return -1;
		}
	return json_object_set_new(root, "findings", findings);
}

static int fill_basis(json_t *root, const struct gate_verdict *verdict)
{
	if (json_part_number(root, "alpha", verdict->alpha) < 0 ||
	    gate_json_set_count(root, "repetitions", verdict->repetitions) < 0 ||
	    gate_json_set_count(root, "baseline_repetitions",
				verdict->base_repetitions) < 0 ||
	    gate_json_set_count(root, "baseline_sessions", verdict->base_sessions) < 0)
		return -1;
	return json_object_set_new(root, "paired", json_boolean(verdict->paired));
}

static int fill_told(json_t *root, const struct gate_told *told)
{
	if (set_text(root, "name", told->name) < 0 ||
	    set_text(root, "command", told->command) < 0 ||
	    set_text(root, "report", told->report) < 0 ||
	    set_text(root, "when", told->when) < 0)
		return -1;
	return json_part_number(root, "time_s", told->seconds);
}

static json_t *gate_value(const struct gate_told *told)
{
	const struct gate_verdict *verdict = told->verdict;
	json_t *root = json_pack("{s:s}", "schema", SCHEMA);

	if (root != NULL &&
	    set_text(root, "outcome", gate_outcome_name(verdict->outcome)) == 0 &&
	    set_text(root, "why", verdict->why) == 0 &&
	    set_lines(root, "causes", verdict->causes, verdict->cause_count) == 0 &&
	    set_lines(root, "mismatches", verdict->mismatches,
		      verdict->mismatch_count) == 0 &&
	    fill_basis(root, verdict) == 0 && fill_told(root, told) == 0 &&
	    fill_findings(root, verdict) == 0)
		return root;
	json_decref(root);
	return NULL;
}

int gate_json_write(const struct gate_told *told, const struct form_style *style,
		    FILE *out, struct error *err)
{
	json_t *root = gate_value(told);
	int result = 0;

	(void)style;
	if (root == NULL)
		return error_set(err, ENOMEM, "no memory to write the verdict");
	errno = ENOMEM;
	if (json_dumpf(root, out, JSON_PART_FLAGS) < 0 || putc('\n', out) == EOF)
		result = error_sys(err, errno, "can't write the verdict");
	json_decref(root);
	return result;
}
