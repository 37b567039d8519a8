/* json.c - writes a profile as run.json; json_read.c reads it. */
#include "reports/json/json.h"
#include "loader/base/error.h"
#include "models/whatif/calibration.h"
#include "profiler/field.h"
#include "profiler/profile_change.h"
#include "reports/common/escape.h"
#include "reports/json/json_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

json_t *json_part_text(const char *text)
{
	char *clean = escape_utf8(text);
	json_t *value = clean == NULL ? NULL : json_string(clean);

	free(clean);
	return value;
}

int json_part_number(json_t *object, const char *key, double number)
{
	return isfinite(number) ? json_object_set_new(object, key, json_real(number))
				: 0;
}

json_t *json_part_whole(json_t *value, bool whole)
{
	if (whole)
		return value;
	json_decref(value);
	return NULL;
}

json_t *json_part_interval(const struct interval *interval, const char *name)
{
	json_t *value = json_object();

	return json_part_whole(
		value, json_part_number(value, name, interval->value) == 0 &&
			       json_part_number(value, "low", interval->low) == 0 &&
			       json_part_number(value, "high", interval->high) == 0);
}

json_t *json_part_append(json_t *array, json_t *value)
{
	return json_part_whole(array, json_array_append_new(array, value) == 0);
}

json_t *json_part_words(char *const *words)
{
	json_t *array = json_array();

	for (; words != NULL && *words != NULL; words++)
		array = json_part_append(array, json_part_text(*words));
	return array;
}

int json_part_write(json_t *root, FILE *out, const char *what, struct error *err)
{
	int result = 0;

	if (root == NULL)
		return error_set(err, ENOMEM, "no memory to write %s", what);
	errno = ENOMEM;
	if (json_dumpf(root, out, JSON_PART_FLAGS) < 0 || putc('\n', out) == EOF)
		result = error_sys(err, errno, "can't write %s", what);
	json_decref(root);
	return result;
}

/* Null: it is less than a known one can be. */
static json_t *whole_value(int64_t number, int64_t least)
{
	return number >= least ? json_integer(number) : json_null();
}

static json_t *histogram_value(const struct profile_histogram *histogram)
{
	json_t *counts;

	if (histogram->buckets == 0)
		return json_null();
	counts = json_array();
	for (size_t i = 0; i < histogram->buckets; i++)
		counts = json_part_append(
			counts, json_integer((json_int_t)histogram->count[i]));
	return json_pack("{s:o, s:f}", "counts", counts, "low", histogram->low);
}

static json_t *speeds_value(const double *speeds)
{
	json_t *array;

	if (!(speeds[0] > 0))
		return json_null();
	array = json_array();
	for (size_t i = 0; i < PROFILE_SPEEDS && speeds[i] > 0; i++)
		array = json_part_append(array, json_real(speeds[i]));
	return array;
}

static json_t *interval_value(const struct interval *interval, const char *name)
{
	bool known = isfinite(interval->value) || isfinite(interval->low) ||
		     isfinite(interval->high);

	return known ? json_part_interval(interval, name) : json_null();
}

json_t *json_part_value(enum field_type type, const void *at)
{
	switch (type) {
	case FIELD_WORDS:
		return *(char **const *)at != NULL
			       ? json_part_words(*(char **const *)at)
			       : json_null();
	case FIELD_COUNT:
		return whole_value((int64_t) * (const uint64_t *)at, 0);
	case FIELD_UNSIGNED:
		return whole_value(*(const unsigned *)at, 1);
	case FIELD_INDEX:
		return whole_value(*(const int *)at, 0);
	case FIELD_FLAG:
		return json_boolean(*(const bool *)at);
	case FIELD_YES:
		return *(const bool *)at ? json_true() : json_null();
	case FIELD_ANSWER:
		return *(const int *)at >= 0 ? json_boolean(*(const int *)at)
					     : json_null();
	case FIELD_NUMBER:
		return isfinite(*(const double *)at) ? json_real(*(const double *)at)
						     : json_null();
	case FIELD_SPEEDS:
		return speeds_value(at);
	case FIELD_SHARE:
		return interval_value(at, "share");
	case FIELD_ESTIMATE:
		return interval_value(at, "value");
	case FIELD_HISTOGRAM:
		return histogram_value(at);
	default:
		return field_text(type, at) != NULL
			       ? json_part_text(field_text(type, at))
			       : json_null();
	}
}

/* Gives value to the key that path names, making the objects on the way. */
static int json_place(json_t *object, const char *path, json_t *value)
{
	const char *dot;

	while ((dot = strchr(path, '.')) != NULL) {
		size_t length = (size_t)(dot - path);
		json_t *inner = json_object_getn(object, path, length);

		if (inner == NULL) {
			inner = json_object();
			if (json_object_setn_new(object, path, length, inner) < 0)
				break;
		}
		object = inner;
		path = dot + 1;
	}
	if (dot == NULL)
		return json_object_set_new(object, path, value);
	json_decref(value);
	return -1;
}

int json_part_place(json_t *object, const struct field *fields, const void *from)
{
	for (const struct field *field = fields; field->path != NULL; field++) {
		json_t *value = json_part_value(field->type,
						(const char *)from + field->offset);

		if (!json_is_null(value) && json_place(object, field->path, value) < 0)
			return -1;
	}
	return 0;
}

static int place_list(json_t *root, const struct field_list *list,
		      const struct profile *profile)
{
	const char *const *array = (const void *)((const char *)profile + list->array);
	const size_t *count = (const void *)((const char *)profile + list->count);
	json_t *values;

	if (list->if_any && *count == 0)
		return 0;
	values = json_array();
	for (size_t i = 0; values != NULL && i < *count; i++) {
		json_t *value = json_object();
		int placed =
			json_part_place(value, list->fields, *array + i * list->size);

		values = json_part_append(values, json_part_whole(value, placed == 0));
	}
	return json_place(root, list->path, values);
}

/* How good the predictions were: of what the result holds, and never read back. */
static int place_score(json_t *root, const struct profile *profile)
{
	struct calibration score;
	json_t *value;

	if (profile->verification_count == 0)
		return 0;
	if (calibration_measure(profile, &score) < 0)
		return -1;
	value = json_pack("{s:I, s:I, s:I, s:I}", "count", (json_int_t)score.count,
			  "workloads", (json_int_t)score.workloads, "first_right",
			  (json_int_t)score.first_right, "first_within",
			  (json_int_t)score.first_within);
	value = json_part_whole(
		value,
		json_part_number(value, "mean_absolute_error", score.mean) == 0 &&
			json_part_number(value, "p95_absolute_error", score.p95) == 0 &&
			json_part_number(value, "worst_absolute_error", score.worst) ==
				0 &&
			json_part_number(value, "mean_error", score.bias) == 0 &&
			json_part_number(value, "covered_share", score.covered) == 0);
	return json_object_set_new(root, "score", value);
}

int json_part_place_facts(json_t *root, const struct profile *profile,
			  bool (*keep)(const char *key))
{
	json_t *facts = json_object();
	int result = 0;

	for (size_t i = 0; result == 0 && i < profile->fact_count; i++) {
		const struct profile_fact *fact = &profile->environment[i];

		if (keep == NULL || keep(fact->key))
			result = json_object_set_new(facts, fact->key,
						     json_part_text(fact->value));
	}
	facts = json_part_whole(facts, result == 0);
	return json_object_set_new(root, "environment", facts);
}

/* {"bytes": [...], "fetch_s": [...], "prep_s": [...]}: an element a draw, null for what
 * was not measured. */
static int place_draws(json_t *root, const struct profile *profile)
{
	json_t *draws = json_object();
	int result = 0;

	for (const struct field *field = field_draw; result == 0 && field->path != NULL;
	     field++) {
		json_t *array = json_array();

		for (size_t i = 0; i < profile->draw_count && i < JSON_RESULT_DRAWS;
		     i++)
			array = json_part_append(
				array,
				json_part_value(field->type,
						(const char *)&profile->draws[i] +
							field->offset));
		result = json_object_set_new(draws, field->path, array);
	}
	return json_object_set_new(root, "draws", json_part_whole(draws, result == 0));
}

static json_t *result_value(const struct profile *profile)
{
	json_t *root = json_pack("{s:s}", "schema", JSON_RESULT_SCHEMA);
	int result = root == NULL ? -1 : json_part_place(root, field_profile, profile);

	for (size_t i = 0; result == 0 && field_lists[i].path != NULL; i++)
		result = place_list(root, &field_lists[i], profile);
	if (result == 0)
		result = json_part_place_facts(root, profile, NULL);
	if (result == 0)
		result = place_score(root, profile);
	if (result == 0 && profile->draw_count > 0)
		result = place_draws(root, profile);
	return json_part_whole(root, result == 0);
}

/* jansson puts each element on a line of its own; numbers get one line together. */
static void json_pack_numbers(const char *text, FILE *out)
{
	bool in_text = false, in_numbers = false;

	for (; *text != '\0'; text++) {
		if (in_numbers && (*text == '\n' || *text == ' '))
			continue;
		putc(*text, out);
		if (in_text && *text == '\\')
			putc(*++text, out);
		else if (*text == '"')
			in_text = !in_text;
		else if (in_numbers && *text == ',')
			putc(' ', out);
		else if (in_numbers && *text == ']')
			in_numbers = false;
		else if (!in_text && *text == '[')
			in_numbers = strchr("{[\"]",
					    text[1 + strspn(text + 1, "\n ")]) == NULL;
	}
}

int json_result_write(const struct profile *profile, FILE *out, struct error *err)
{
	json_t *root = result_value(profile);
	char *text = root == NULL ? NULL : json_dumps(root, JSON_PART_FLAGS);

	json_decref(root);
	if (text == NULL)
		return error_set(err, ENOMEM, "no memory to write the result");
	errno = ENOMEM;
	json_pack_numbers(text, out);
	putc('\n', out);
	free(text);
	return ferror(out) ? error_sys(err, errno, "can't write the result") : 0;
}
