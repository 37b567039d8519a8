/* compare_json.c - a comparison as "dsa.compare/1"; dsa-compare(1) describes its keys. */
#include "loader/base/error.h"
#include "reports/compare/compare_part.h"
#include "reports/json/json_part.h"

#include <errno.h>

#define SCHEMA "dsa.compare/1"

/* A text, or {"value", "low", "high"}. */
static json_t *compare_json_value_of(const struct compare_value *value)
{
	return value->text != NULL ? json_part_text(value->text)
				   : json_part_interval(&value->number, "value");
}

static int set_value(json_t *object, const char *key, const struct compare_value *value)
{
	if (value->text == NULL && !isfinite(value->number.value))
		return 0;
	return json_object_set_new(object, key, compare_json_value_of(value));
}

static json_t *row_value(const struct compare_row *row)
{
	json_t *object = json_object();
	const char *change =
		row->unit == COMPARE_SHARE ? "change_points" : "change_share";
	double scale = row->unit == COMPARE_SHARE ? 100 : 1;

	if (json_object_set_new(object, "name", json_part_text(row->path)) < 0 ||
	    json_object_set_new(object, "verdict",
				json_string(compare_verdict_name(row->verdict))) < 0 ||
	    json_part_number(object, change, scale * row->change) < 0 ||
	    set_value(object, "a", &row->a) < 0 ||
	    set_value(object, "b", &row->b) < 0) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static int append_rows(json_t *list, const struct compare_rows *rows, bool machine)
{
	for (size_t i = 0; i < rows->count; i++)
		if ((rows->rows[i].group == COMPARE_MACHINE) == machine &&
		    json_array_append_new(list, row_value(&rows->rows[i])) < 0)
			return -1;
	return 0;
}

static int append_causes(json_t *list, const struct causes *causes)
{
	for (unsigned i = 0; i < causes->count; i++)
		if (json_array_append_new(list, json_part_text(causes->text[i])) < 0)
			return -1;
	return 0;
}

static json_t *root_value(const struct compare *compare,
			  const struct compare_rows *rows)
{
	json_t *causes = json_array(), *numbers = json_array(), *machine = json_array();
	json_t *root = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "schema", SCHEMA,
				 "a", json_part_text(compare->a_name), "b",
				 json_part_text(compare->b_name), "causes", causes,
				 "compared", numbers, "environment", machine);

	if (root != NULL && append_causes(causes, &rows->causes) == 0 &&
	    append_rows(numbers, rows, false) == 0 &&
	    append_rows(machine, rows, true) == 0)
		return root;
	json_decref(root);
	return NULL;
}

static int compare_json_put(const char *text, size_t size, void *out)
{
	return fwrite(text, 1, size, out) == size ? 0 : -1;
}

int compare_json(const struct compare *compare, const struct compare_rows *rows,
		 const struct form_style *style, FILE *out, struct error *err)
{
	json_t *root = root_value(compare, rows);
	int result = 0;

	(void)style;
	if (root == NULL)
		return error_set(err, ENOMEM, "no memory for the comparison");
	errno = ENOMEM;
	if (json_dump_callback(root, compare_json_put, out, JSON_PART_FLAGS) < 0 ||
	    putc('\n', out) == EOF)
		result = error_sys(err, errno, "can't write the comparison");
	json_decref(root);
	return result;
}
