/* compare_json.c - a comparison as "dsa.compare/1", which dsa-compare(1) describes. */
#include "reports/compare/compare_part.h"
#include "reports/json/json_part.h"

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

	return json_part_whole(
		object,
		json_object_set_new(object, "name", json_part_text(row->path)) == 0 &&
			json_object_set_new(
				object, "verdict",
				json_string(compare_verdict_name(row->verdict))) == 0 &&
			json_part_number(object, change, scale * row->change) == 0 &&
			set_value(object, "a", &row->a) == 0 &&
			set_value(object, "b", &row->b) == 0);
}

static json_t *rows_value(const struct compare_rows *rows, bool machine)
{
	json_t *list = json_array();

	for (size_t i = 0; i < rows->count; i++)
		if ((rows->rows[i].group == COMPARE_MACHINE) == machine)
			list = json_part_append(list, row_value(&rows->rows[i]));
	return list;
}

static json_t *causes_value(const struct causes *causes)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < causes->count; i++)
		list = json_part_append(list, json_part_text(causes->text[i]));
	return list;
}

static json_t *root_value(const struct compare *compare,
			  const struct compare_rows *rows)
{
	return json_pack(
		"{s:s, s:o, s:o, s:o, s:o, s:o}", "schema", SCHEMA, "a",
		json_part_text(compare->a_name), "b", json_part_text(compare->b_name),
		"causes", causes_value(&rows->causes), "compared",
		rows_value(rows, false), "environment", rows_value(rows, true));
}

int compare_json(const struct compare *compare, const struct compare_rows *rows,
		 const struct form_style *style, FILE *out, struct error *err)
{
	(void)style;
	return json_part_write(root_value(compare, rows), out, "the comparison", err);
}
