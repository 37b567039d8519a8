/* json_read.c - reads run.json back, whoever wrote it. */
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "profiler/field.h"
#include "profiler/profile_change.h"
#include "reports/json/json.h"
#include "reports/json/json_part.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BUCKETS = 256 };

int json_part_wrong(struct error *err, const char *what)
{
	return error_set(err, EBADMSG, "should be %s", what);
}

static int json_read_text(const json_t *value, char **text, struct error *err)
{
	if (!json_is_string(value))
		return json_part_wrong(err, "a text");
	if (profile_text(text, "%s", json_string_value(value)) < 0)
		return error_set(err, ENOMEM, "no memory");
	return 0;
}

static int read_word(const json_t *value, const char *const *table,
		     struct profile_word *word, struct error *err)
{
	if (!json_is_string(value))
		return json_part_wrong(err, "a text");
	if (profile_word_set(word, table, json_string_value(value)) < 0)
		return error_set(err, ENOMEM, "no memory");
	return 0;
}

static int read_number(const json_t *value, double *number, struct error *err)
{
	if (!json_is_number(value))
		return json_part_wrong(err, "a number");
	*number = json_number_value(value);
	return 0;
}

static int read_integer(const json_t *value, json_int_t max, json_int_t *number,
			struct error *err)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    json_integer_value(value) > max)
		return json_part_wrong(err, "a whole number that is not negative");
	*number = json_integer_value(value);
	return 0;
}

/* The member `key` of object, when there is one. */
static int read_member(const json_t *object, const char *key, double *number,
		       struct error *err)
{
	const json_t *value = json_object_get(object, key);
	int result = value == NULL ? 0 : read_number(value, number, err);

	return result < 0 ? error_within(err, result, "%s", key) : 0;
}

static int read_interval(const json_t *value, const char *name,
			 struct interval *interval, struct error *err)
{
	int result;

	if (!json_is_object(value))
		return json_part_wrong(err, "an object");
	result = read_member(value, name, &interval->value, err);
	if (result == 0)
		result = read_member(value, "low", &interval->low, err);
	return result < 0 ? result : read_member(value, "high", &interval->high, err);
}

static int read_words(const json_t *value, char ***words, struct error *err)
{
	size_t count = json_array_size(value);
	int result = 0;

	if (!json_is_array(value))
		return json_part_wrong(err, "an array of texts");
	*words = calloc(count + 1, sizeof(**words));
	if (*words == NULL)
		return error_set(err, ENOMEM, "no memory");
	for (size_t i = 0; result == 0 && i < count; i++)
		result = json_read_text(json_array_get(value, i), &(*words)[i], err);
	return result;
}

static int read_histogram(const json_t *value, struct profile_histogram *histogram,
			  struct error *err)
{
	const json_t *counts = json_object_get(value, "counts");
	size_t buckets = json_array_size(counts);
	json_int_t count = 0;
	int result;

	if (!json_is_array(counts) || buckets > MAX_BUCKETS)
		return json_part_wrong(err, "an object with at most 256 counts");
	result = read_member(value, "low", &histogram->low, err);
	if (result < 0 || buckets == 0)
		return result;
	histogram->count = calloc(buckets, sizeof(*histogram->count));
	if (histogram->count == NULL)
		return error_set(err, ENOMEM, "no memory");
	histogram->buckets = buckets;
	for (size_t i = 0; result == 0 && i < buckets; i++) {
		result =
			read_integer(json_array_get(counts, i), LLONG_MAX, &count, err);
		histogram->count[i] = (uint64_t)count;
	}
	return result;
}

static int json_read_whole(const json_t *value, enum field_type type, void *at,
			   struct error *err)
{
	json_int_t number = 0;
	int result = read_integer(value, type == FIELD_COUNT ? INT64_MAX : INT_MAX,
				  &number, err);

	if (result < 0)
		return result;
	if (type == FIELD_COUNT)
		*(uint64_t *)at = (uint64_t)number;
	else if (type == FIELD_UNSIGNED)
		*(unsigned *)at = (unsigned)number;
	else
		*(int *)at = (int)number;
	return 0;
}

static int read_flag(const json_t *value, bool *flag, struct error *err)
{
	if (!json_is_boolean(value))
		return json_part_wrong(err, "true or false");
	*flag = json_is_true(value);
	return 0;
}

static int read_answer(const json_t *value, int *answer, struct error *err)
{
	bool flag = false;
	int result = read_flag(value, &flag, err);

	if (result == 0)
		*answer = flag;
	return result;
}

static int read_speeds(const json_t *value, double *speeds, struct error *err)
{
	size_t count = json_array_size(value);
	int result = 0;

	if (!json_is_array(value) || count > PROFILE_SPEEDS)
		return json_part_wrong(err, "an array of at most 16 numbers above 0");
	for (size_t i = 0; result == 0 && i < count; i++) {
		result = read_number(json_array_get(value, i), &speeds[i], err);
		if (result == 0 && !(speeds[i] > 0))
			result = json_part_wrong(err, "an array of numbers above 0");
	}
	return result;
}

static int read_value(const json_t *value, enum field_type type, void *at,
		      struct error *err)
{
	if (field_table(type) != NULL)
		return read_word(value, field_table(type), at, err);
	switch (type) {
	case FIELD_TEXT:
		return json_read_text(value, at, err);
	case FIELD_WORDS:
		return read_words(value, at, err);
	case FIELD_FLAG:
	case FIELD_YES:
		return read_flag(value, at, err);
	case FIELD_ANSWER:
		return read_answer(value, at, err);
	case FIELD_NUMBER:
		return read_number(value, at, err);
	case FIELD_SPEEDS:
		return read_speeds(value, at, err);
	case FIELD_SHARE:
		return read_interval(value, "share", at, err);
	case FIELD_ESTIMATE:
		return read_interval(value, "value", at, err);
	case FIELD_HISTOGRAM:
		return read_histogram(value, at, err);
	default:
		return json_read_whole(value, type, at, err);
	}
}

/* Follows path from object; *found is NULL when a key on the way is not there. */
static int json_read_follow(const json_t *object, const char *path,
			    const json_t **found, struct error *err)
{
	for (;;) {
		size_t length = strcspn(path, ".");

		if (!json_is_object(object))
			return json_part_wrong(err, "in an object");
		object = json_object_getn(object, path, length);
		path += length;
		if (object == NULL || *path == '\0')
			break;
		path++;
	}
	*found = object;
	return 0;
}

int json_part_read(const json_t *object, const struct field *fields, void *to,
		   struct error *err)
{
	for (const struct field *field = fields; field->path != NULL; field++) {
		const json_t *value = NULL;
		int result = json_read_follow(object, field->path, &value, err);

		if (result == 0 && value != NULL)
			result = read_value(value, field->type,
					    (char *)to + field->offset, err);
		if (result < 0)
			return error_within(err, result, "%s", field->path);
	}
	return 0;
}

static int read_list(const json_t *root, const struct field_list *list,
		     struct profile *profile, struct error *err)
{
	const json_t *values = NULL;
	int result = json_read_follow(root, list->path, &values, err);

	if (result == 0 && values != NULL && !json_is_array(values))
		result = json_part_wrong(err, "an array");
	for (size_t i = 0; result == 0 && i < json_array_size(values); i++) {
		void *element = field_add(list, profile);

		result = element == NULL ? error_set(err, ENOMEM, "no memory")
					 : json_part_read(json_array_get(values, i),
							  list->fields, element, err);
		if (result < 0)
			return error_within(err, result, "%s[%zu]", list->path, i);
	}
	return result < 0 ? error_within(err, result, "%s", list->path) : 0;
}

int json_part_read_facts(json_t *root, struct profile *profile, struct error *err)
{
	json_t *facts = json_object_get(root, "environment"), *value;
	char shown[NAME_SHOWN];
	const char *key;

	if (facts != NULL && !json_is_object(facts))
		return error_within(err, json_part_wrong(err, "an object"),
				    "environment");
	json_object_foreach(facts, key, value)
	{
		struct profile_fact *fact = profile_add_fact(profile);
		int result = fact == NULL || profile_text(&fact->key, "%s", key) < 0
				     ? error_set(err, ENOMEM, "no memory")
				     : json_read_text(value, &fact->value, err);

		if (result < 0)
			return error_within(err, result, "environment.%s",
					    name_escape(key, shown, sizeof(shown)));
	}
	return 0;
}

/* Element i of every array; null: it was not measured. */
static int read_draw(const json_t *draws, size_t i, struct profile_draw *draw,
		     struct error *err)
{
	if (draw == NULL)
		return error_set(err, ENOMEM, "no memory");
	for (const struct field *field = field_draw; field->path != NULL; field++) {
		const json_t *value =
			json_array_get(json_object_get(draws, field->path), i);
		void *at = (char *)draw + field->offset;
		int result = 0;

		if (json_is_null(value))
			continue;
		if (field->type == FIELD_NUMBER &&
		    !(json_is_number(value) && json_number_value(value) >= 0))
			result = json_part_wrong(
				err, "an array of numbers that are not negative");
		else
			result = read_value(value, field->type, at, err);
		if (result < 0)
			return error_within(err, result, "%s", field->path);
	}
	return 0;
}

static int read_draws(const json_t *root, struct profile *profile, struct error *err)
{
	const json_t *draws = json_object_get(root, "draws");
	size_t count = json_array_size(json_object_get(draws, "bytes"));
	bool equal = count <= JSON_RESULT_DRAWS;
	int result = 0;

	if (draws == NULL)
		return 0;
	for (const struct field *field = field_draw; field->path != NULL; field++) {
		const json_t *array = json_object_get(draws, field->path);

		equal = equal && json_is_array(array) &&
			json_array_size(array) == count;
	}
	if (!equal)
		result = json_part_wrong(
			err, "an object of three arrays, bytes, fetch_s and "
			     "prep_s, of one length that is at most 65536");
	for (size_t i = 0; result == 0 && i < count; i++)
		result = read_draw(draws, i, profile_add_draw(profile), err);
	return result < 0 ? error_within(err, result, "draws") : 0;
}

static const struct json_part_kind kind = {JSON_RESULT_SCHEMA, "a result of dsa",
					   "use the dsa that wrote it",
					   "dsa run writes one"};

static int read_result(json_t *root, struct profile *profile, struct error *err)
{
	int result = json_part_schema(root, &kind, err);

	if (result == 0)
		result = json_part_read(root, field_profile, profile, err);
	for (size_t i = 0; result == 0 && field_lists[i].path != NULL; i++)
		result = read_list(root, &field_lists[i], profile, err);
	if (result == 0)
		result = json_part_read_facts(root, profile, err);
	return result < 0 ? result : read_draws(root, profile, err);
}

int json_result_read(const char *text, size_t size, struct profile *profile,
		     struct error *err)
{
	json_t *root = json_part_parse(text, size, err);
	int result;

	profile_init(profile);
	if (root == NULL)
		return -EBADMSG;
	result = read_result(root, profile, err);
	json_decref(root);
	if (result < 0)
		profile_free(profile);
	return result;
}

int json_result_load(const char *path, struct profile *profile, struct error *err)
{
	size_t size = 0;
	int result;
	char *text = json_part_slurp(path, kind.what, &size, &result, err);

	profile_init(profile);
	if (text == NULL)
		return result;
	result = json_result_read(text, size, profile, err);
	free(text);
	return result < 0 ? error_within(err, result, "%s", path) : 0;
}
