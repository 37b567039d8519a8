/* baseline.c - writes a side of a comparison as a baseline, and reads it back. */
#include "reports/gate/baseline.h"
#include "loader/base/error.h"
#include "profiler/profile_fields.h"
#include "reports/common/file.h"
#include "reports/json/json.h"
#include "reports/json/json_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct json_part_kind kind = {
	BASELINE_SCHEMA, "a baseline of dsa",
	"write a new one, under another name, with dsa gate --update",
	"dsa gate --update writes one, under another name"};

/* No rate, time or size of a real machine; sums and ratios of such stay finite. */
static const double MOST = 1e15;

static const double MOST_SHARE =
	100; /* an estimate of a share may lie outside 0 .. 1 */

#define MOST_REPETITIONS "most_repetitions"

#define AT(path, type, member)   FIELD_AT(profile, path, type, member)
#define LINE(path, type, member) AT(path, type, member),

const struct field baseline_fields[] = {
	AT("version", TEXT, version),
	AT("command", WORDS, command),
	AT("loader", TEXT, loader),
	AT("asked", TEXT, asked),
	AT("loader_choice", TEXT, loader_choice),
	AT("epoch_ends", TEXT, epoch_ends),
	AT("loader_kind", LOADER, loader_kind),
	AT("dataset.name", TEXT, dataset),
	PROFILE_DATASET(LINE) AT("settings.seed", COUNT, seed),
	PROFILE_LOADING(LINE, "settings.") PROFILE_STAGES(LINE, "settings.")
		PROFILE_COUNTED(LINE){NULL, FIELD_END, 0},
};

/* False for facts that change from launch to launch on one machine. */
static bool is_lasting(const char *key)
{
	static const char *const passing[] = {"time", "memory_available",
					      "dataset_device"};

	for (size_t i = 0; i < sizeof(passing) / sizeof(*passing); i++)
		if (strcmp(key, passing[i]) == 0)
			return false;
	return true;
}

/* The last name of a path, to be freed: checkouts lie in different folders. */
static char *last_name(const char *path)
{
	size_t length = strlen(path);
	const char *name;

	while (length > 1 && path[length - 1] == '/')
		length--;
	name = length > 1 ? memrchr(path, '/', length) : NULL;
	name = name == NULL ? path : name + 1;
	return strndup(name, (size_t)(path + length - name));
}

static int place_about(json_t *root, const struct profile *about)
{
	struct profile shown = *about;
	int result;

	shown.dataset = about->dataset == NULL ? NULL : last_name(about->dataset);
	if (shown.dataset == NULL && about->dataset != NULL)
		return -1;
	result = json_part_place(root, baseline_fields, &shown);
	free(shown.dataset);
	return result < 0 ? result : json_part_place_facts(root, about, is_lasting);
}

static size_t baseline_write_repetitions(const struct gate_session *session)
{
	return session->count < BASELINE_REPETITIONS ? session->count
						     : BASELINE_REPETITIONS;
}

static bool has_metric(const struct gate_session *session, size_t metric)
{
	for (size_t i = 0; i < baseline_write_repetitions(session); i++)
		if (isfinite(session->values[i][metric]))
			return gate_metrics[metric].tier != GATE_EXACT;
	return false;
}

/* The samples of one metric, null where unknown; NULL: no memory. */
static json_t *samples_value(const struct gate_session *session, size_t metric)
{
	json_t *samples = json_array();

	for (size_t i = 0; i < baseline_write_repetitions(session); i++) {
		double value = session->values[i][metric];

		samples = json_part_append(samples, isfinite(value) ? json_real(value)
								    : json_null());
	}
	return samples;
}

static json_t *session_value(const struct gate_session *session)
{
	json_t *samples = json_object(), *value;
	int result = 0;

	for (size_t i = 0; i < GATE_METRICS && result == 0; i++)
		if (has_metric(session, i))
			result = json_object_set_new(samples, gate_metrics[i].name,
						     samples_value(session, i));
	samples = json_part_whole(samples, result == 0);
	value = json_pack("{s:o, s:o}", "samples", samples, "when",
			  json_part_text(session->when == NULL ? "" : session->when));
	if (session->most > 0)
		result = json_object_set_new(value, MOST_REPETITIONS,
					     json_integer((json_int_t)session->most));
	return json_part_whole(value, result == 0);
}

static int place_sessions(json_t *root, const struct gate_side *side)
{
	size_t count = side->session_count;
	json_t *sessions = json_array();

	for (size_t i = count > BASELINE_SESSIONS ? count - BASELINE_SESSIONS : 0;
	     i < count; i++)
		sessions =
			json_part_append(sessions, session_value(&side->sessions[i]));
	return json_object_set_new(root, "sessions", sessions);
}

static json_t *baseline_value(const struct gate_side *side)
{
	json_t *root = json_pack("{s:s}", "schema", BASELINE_SCHEMA);

	return json_part_whole(root, place_about(root, &side->about) == 0 &&
					     place_sessions(root, side) == 0);
}

/* Samples of one metric into a column of rows; *count of them, as of those before,
 * which is SIZE_MAX for the first. */
static int read_samples(const json_t *samples, size_t metric, size_t *count,
			double (*rows)[GATE_METRICS], struct error *err)
{
	bool points = gate_metrics[metric].points;
	double least = points ? -MOST_SHARE : 0, most = points ? MOST_SHARE : MOST;
	size_t i;

	if (!json_is_array(samples) || json_array_size(samples) > BASELINE_REPETITIONS)
		return json_part_wrong(err, "an array of at most 64 numbers");
	if (*count != SIZE_MAX && json_array_size(samples) != *count)
		return json_part_wrong(err, "as long as the other arrays of its "
					    "session");
	*count = json_array_size(samples);
	for (i = 0; i < *count; i++) {
		const json_t *value = json_array_get(samples, i);
		double number = json_number_value(value);

		if (json_is_number(value) && number >= least && number <= most)
			rows[i][metric] = number;
		else if (!json_is_null(value))
			break;
	}
	if (i == *count)
		return 0;
	json_part_wrong(err, points ? "a share from -100 to 100, or null"
				    : "a number from 0 to 1e15, or null");
	return error_within(err, -EBADMSG, "[%zu]", i);
}

static int baseline_read_rows(const json_t *samples, double (*rows)[GATE_METRICS],
			      size_t *count, struct error *err)
{
	int result = 0;

	for (size_t i = 0; i < GATE_METRICS && result == 0; i++) {
		const char *name = gate_metrics[i].name;
		const json_t *column = json_object_get(samples, name);

		if (column == NULL || gate_metrics[i].tier == GATE_EXACT)
			continue;
		result = read_samples(column, i, count, rows, err);
		if (result < 0)
			error_within(err, result, "samples.%s", name);
	}
	return result;
}

static int baseline_read_most(const json_t *session, size_t *most, struct error *err)
{
	const json_t *value = json_object_get(session, MOST_REPETITIONS);
	json_int_t number = json_integer_value(value);

	*most = (size_t)number;
	if (value == NULL ||
	    (json_is_integer(value) && number >= 0 && number <= BASELINE_REPETITIONS))
		return 0;
	json_part_wrong(err, "a number from 0 to 64");
	return error_within(err, -EBADMSG, MOST_REPETITIONS);
}

static int baseline_read_row(struct gate_session *session, double row[GATE_METRICS])
{
	gate_metric_sum_stalls(row);
	return gate_session_add(session, row);
}

static int read_session(const json_t *value, struct gate_side *side, struct error *err)
{
	const char *when = json_string_value(json_object_get(value, "when"));
	const json_t *samples = json_object_get(value, "samples");
	double rows[BASELINE_REPETITIONS][GATE_METRICS];
	struct gate_session *session;
	size_t count = SIZE_MAX, most = 0;
	int result;

	if (when == NULL || !json_is_object(samples))
		return json_part_wrong(err, "an object with the text \"when\" and the "
					    "object \"samples\"");
	for (size_t i = 0; i < BASELINE_REPETITIONS * GATE_METRICS; i++)
		rows[i / GATE_METRICS][i % GATE_METRICS] = NAN;
	result = baseline_read_rows(samples, rows, &count, err);
	if (result == 0)
		result = baseline_read_most(value, &most, err);
	if (result < 0)
		return result;
	session = gate_side_add_session(side, when);
	if (session != NULL)
		session->most = most;
	for (size_t i = 0;
	     session != NULL && count != SIZE_MAX && i < count && result == 0; i++)
		result = baseline_read_row(session, rows[i]);
	return session == NULL || result < 0 ? error_set(err, ENOMEM, "no memory") : 0;
}

static int read_sessions(const json_t *root, struct gate_side *side, struct error *err)
{
	const json_t *sessions = json_object_get(root, "sessions");
	size_t count = json_array_size(sessions);
	int result = 0;

	if (sessions == NULL)
		return 0;
	if (!json_is_array(sessions) || count > BASELINE_SESSIONS) {
		json_part_wrong(err, "an array of at most 64 sessions");
		return error_within(err, -EBADMSG, "sessions");
	}
	for (size_t i = 0; i < count && result == 0; i++) {
		result = read_session(json_array_get(sessions, i), side, err);
		if (result < 0)
			error_within(err, result, "sessions[%zu]", i);
	}
	return result;
}

static int baseline_check_numbers(const struct profile *about, struct error *err)
{
	for (const struct field *field = baseline_fields; field->path != NULL;
	     field++) {
		const void *at = (const char *)about + field->offset;
		double number = field->type == FIELD_NUMBER ? *(const double *)at : 0;

		if (!(number < 0 || number > MOST))
			continue;
		json_part_wrong(err, "a number from 0 to 1e15");
		return error_within(err, -EBADMSG, "%s", field->path);
	}
	return 0;
}

static int read_root(json_t *root, struct gate_side *side, struct error *err)
{
	int result = json_part_schema(root, &kind, err);

	if (result == 0)
		result = json_part_read(root, baseline_fields, &side->about, err);
	if (result == 0)
		result = baseline_check_numbers(&side->about, err);
	if (result == 0)
		result = json_part_read_facts(root, &side->about, err);
	return result < 0 ? result : read_sessions(root, side, err);
}

/* Reads back what is to be written, so that the next run does not find it damaged. */
static int check_root(json_t *root, struct error *err)
{
	struct gate_side read;
	int result;

	gate_side_init(&read);
	result = read_root(root, &read, err);
	gate_side_free(&read);
	return result < 0 ? error_within(err, result, "the baseline can't hold this")
			  : 0;
}

int baseline_write(const struct gate_side *side, FILE *out, struct error *err)
{
	json_t *root = baseline_value(side);
	int result = root == NULL ? 0 : check_root(root, err);

	if (result == 0)
		return json_part_write(root, out, "the baseline", err);
	json_decref(root);
	return result;
}

static int baseline_fill(FILE *out, const void *side, struct error *err)
{
	return baseline_write(side, out, err);
}

int baseline_save(const struct gate_side *side, const char *path, struct error *err)
{
	return file_save(path, baseline_fill, side, err);
}

int baseline_read(const char *text, size_t size, struct gate_side *side,
		  struct error *err)
{
	json_t *root = json_part_parse(text, size, err);
	int result;

	gate_side_init(side);
	if (root == NULL)
		return -EBADMSG;
	result = read_root(root, side, err);
	json_decref(root);
	if (result < 0)
		gate_side_free(side);
	return result;
}

static int read_run(const char *text, size_t size, struct gate_side *side,
		    struct error *err)
{
	struct profile run;
	int result = json_result_read(text, size, &run, err);

	if (result < 0)
		return result;
	if (gate_side_of_run(side, &run) < 0)
		result = error_set(err, ENOMEM, "no memory");
	profile_free(&run);
	return result;
}

/* True for run.json, of any dsa, by its schema. Text that is not JSON is refused as a
 * baseline. */
static bool is_run(const char *text, size_t size)
{
	json_t *root = json_part_parse(text, size, NULL);
	const char *schema = json_string_value(json_object_get(root, "schema"));
	bool run = schema != NULL && strncmp(schema, JSON_RESULT_SCHEMA,
					     strcspn(JSON_RESULT_SCHEMA, "/") + 1) == 0;

	json_decref(root);
	return run;
}

static int baseline_parse(const char *path, bool any, struct gate_side *side,
			  struct error *err)
{
	size_t size = 0;
	int result;
	char *text = json_part_slurp(path, kind.what, &size, &result, err);

	gate_side_init(side);
	if (text == NULL)
		return result;
	if (any && is_run(text, size))
		result = read_run(text, size, side, err);
	else
		result = baseline_read(text, size, side, err);
	free(text);
	if (result == 0)
		return 0;
	gate_side_free(side);
	return error_within(err, result, "%s", path);
}

int baseline_load(const char *path, struct gate_side *side, struct error *err)
{
	return baseline_parse(path, false, side, err);
}

int baseline_load_any(const char *path, struct gate_side *side, struct error *err)
{
	return baseline_parse(path, true, side, err);
}
