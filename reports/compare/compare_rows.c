/* compare_rows.c - which numbers and texts of two results are compared. */
#include "models/compare/differences.h"
#include "profiler/field.h"
#include "profiler/profile.h"
#include "reports/compare/compare_part.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHOSEN_RATE(id, name)      {"rates." name "_per_s", COMPARE_RATES, NULL, true},
#define CHOSEN_STALL(id, key, ...) {"stalls." key, COMPARE_STALLS, key " stall", true},

/* What is compared of a result: what begins with `path`, in this order. */
static const struct chosen {
	const char *path;
	enum compare_group group;
	const char *name; /* NULL: made of the rest of the path */
	bool measured;    /* without an interval a difference says little */
} chosen[] = {
	TRACE_STAGED(CHOSEN_RATE){"rates.loaded_per_s", COMPARE_RATES,
				  "synthetic, prep busy", true},
	{"rates.prep_per_s", COMPARE_RATES, "prep alone", true},
	{"rates.fetch_per_s", COMPARE_RATES, "fetch alone", true},
	{"cache.first_epoch_per_s", COMPARE_RATES, "first epoch", true},
	{"together.rate_per_s", COMPARE_RATES, "all jobs together", true},
	{"stalls.compute", COMPARE_STALLS, NULL, true},
	STAGE_STALLS(CHOSEN_STALL){"outside.share", COMPARE_STALLS, "outside the loop",
				   true},
	{"cache.hit_ratio", COMPARE_COUNTS, "hit ratio of the cache", true},
	{"device.copy_s_per_sample", COMPARE_COUNTS, "copy time per sample", true},
	{"counters.cpu_s_per_sample", COMPARE_COUNTS, "CPU time per sample", true},
	{"counters.program_reads_per_sample", COMPARE_COUNTS,
	 "program reads per sample", true},
	{"counters.program_bytes_per_sample", COMPARE_COUNTS,
	 "program bytes per sample", true},
	{"together.prep_cpu_s_per_sample", COMPARE_COUNTS, "prep CPU per sample", true},
	{"run.skipped_samples", COMPARE_COUNTS, "skipped samples", true},
	{"overhead", COMPARE_COUNTS, NULL, true},
	{"configuration.", COMPARE_LOADER, NULL, false},
	{"emulated.", COMPARE_LOADER, NULL, false},
	{"run.loader", COMPARE_LOADER, "options of the loader", false},
	{"run.loader_choice", COMPARE_RUN, "whose loader is measured", false},
	{"run.epoch_ends", COMPARE_RUN, "where epochs end", false},
	{"run.asked", COMPARE_RUN, NULL, false},
	{"dataset.", COMPARE_DATA, NULL, false},
	{"run.repeat", COMPARE_RUN, "command", false},
	{"run.protocol", COMPARE_RUN, "protocol", false},
	{"run.seed", COMPARE_RUN, "seed", false},
	{"run.status", COMPARE_RUN, NULL, false},
	{"limit.what", COMPARE_RUN, "limited by", false},
	{"version", COMPARE_RUN, "dsa", false},
};

/* What the prep stall is split into, below it. */
static const struct chosen split[] = {
	{"prep_split.waiting_share", COMPARE_STALLS, "prep: step waits", true},
	{"prep_split.contention_share", COMPARE_STALLS, "prep: step slowed", true},
};

bool compare_is_shown(const struct compare_row *row)
{
	return row->group <= COMPARE_COUNTS || row->verdict != COMPARE_SAME;
}

bool compare_is_clear(const struct compare_row *row)
{
	return row->verdict == COMPARE_CLEAR || row->verdict == COMPARE_DIFFERS;
}

static bool compare_rows_ends(const char *text, const char *end)
{
	size_t length = strlen(text), size = strlen(end);

	return length >= size && strcmp(text + length - size, end) == 0;
}

/* Units are in the keys' names. */
static enum compare_unit unit_of(const struct field *field)
{
	static const struct {
		const char *end;
		enum compare_unit unit;
	} table[] = {
		{"bytes_per_s", COMPARE_BYTES_PER_S},
		{"_per_s", COMPARE_RATE},
		{"bytes_per_sample", COMPARE_BYTES},
		{"_s_per_sample", COMPARE_SECONDS},
		{"bytes", COMPARE_BYTES},
		{"share", COMPARE_SHARE},
		{"hit_ratio", COMPARE_SHARE},
		{"_s", COMPARE_SECONDS},
	};

	if (field->type == FIELD_TEXT || field->type == FIELD_FLAG ||
	    field_table(field->type) != NULL)
		return COMPARE_TEXT;
	if (field->type == FIELD_SHARE)
		return COMPARE_SHARE;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (compare_rows_ends(field->path, table[i].end))
			return table[i].unit;
	return COMPARE_NUMBER;
}

static struct interval compare_rows_plain(double value)
{
	return (struct interval){value, NAN, NAN};
}

static void compare_rows_value_of(struct compare_value *value,
				  const struct field *field,
				  const struct profile *profile)
{
	const void *at = (const char *)profile + field->offset;

	*value = (struct compare_value){.number = INTERVAL_UNKNOWN,
					.text = field_text(field->type, at)};
	switch (field->type) {
	case FIELD_FLAG:
		value->text = *(const bool *)at ? "yes" : "no";
		break;
	case FIELD_COUNT:
		if (*(const uint64_t *)at != UNKNOWN)
			value->number =
				compare_rows_plain((double)*(const uint64_t *)at);
		break;
	case FIELD_NUMBER:
		value->number = compare_rows_plain(*(const double *)at);
		if (compare_rows_ends(field->path, "cache_share") &&
		    value->number.value > 1)
			value->number.value = 1; /* it holds all */
		break;
	case FIELD_SHARE:
	case FIELD_ESTIMATE:
		value->number = *(const struct interval *)at;
		break;
	default:
		break;
	}
}

static bool compare_rows_is_known(const struct compare_value *value)
{
	return value->text != NULL || isfinite(value->number.value);
}

bool compare_has_interval(const struct compare_value *value)
{
	return isfinite(value->number.low) && isfinite(value->number.high);
}

static enum compare_verdict compare_rows_judge(const struct compare_row *row,
					       bool measured)
{
	const struct compare_value *a = &row->a, *b = &row->b;
	double least = row->unit == COMPARE_SHARE ? DIFFERENCES_LEAST
						  : DIFFERENCES_LEAST * a->number.value;

	if (!compare_rows_is_known(a) || !compare_rows_is_known(b))
		return row->none != NULL ? COMPARE_DIFFERS : COMPARE_UNKNOWN;
	if (row->unit == COMPARE_TEXT)
		return strcmp(a->text, b->text) == 0 ? COMPARE_SAME : COMPARE_DIFFERS;
	if (a->number.value == b->number.value)
		return COMPARE_SAME;
	if (!measured)
		return COMPARE_DIFFERS;
	if (!compare_has_interval(a) && !compare_has_interval(b))
		return COMPARE_UNSURE;
	if (row->unit == COMPARE_SHARE && (interval_reach(a->number) >= PROFILE_VAGUE ||
					   interval_reach(b->number) >= PROFILE_VAGUE))
		return COMPARE_NOISE;
	return differences_are_clear(&a->number, &b->number, least) ? COMPARE_CLEAR
								    : COMPARE_NOISE;
}

static double change_of(const struct compare_row *row)
{
	double a = row->a.number.value, b = row->b.number.value;

	return row->unit == COMPARE_SHARE ? b - a : a == 0 ? NAN : b / a - 1;
}

/* "first_epoch_per_s" as "first epoch". */
static void name_of(struct compare_row *row, const char *path)
{
	static const char *const units[] = {"_bytes_per_s", "_per_s", "_share", "_s"};
	size_t length;

	snprintf(row->name, sizeof(row->name), "%s", path);
	length = strlen(row->name);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (compare_rows_ends(row->name, units[i])) {
			row->name[length - strlen(units[i])] = '\0';
			break;
		}
	for (char *at = row->name; *at != '\0'; at++)
		if (*at == '_' || *at == '.')
			*at = ' ';
}

/* A row, unless neither side knows it. 0 or -ENOMEM. */
static int add_row(struct compare_rows *rows, const struct compare_row *row,
		   bool measured)
{
	struct compare_row *grown, *added;

	if (!compare_rows_is_known(&row->a) && !compare_rows_is_known(&row->b))
		return 0;
	grown = realloc(rows->rows, (rows->count + 1) * sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	rows->rows = grown;
	added = &grown[rows->count++];
	*added = *row;
	added->verdict = compare_rows_judge(added, measured);
	added->change = change_of(added);
	rows->settings += added->group > COMPARE_COUNTS;
	rows->same += !compare_is_shown(added);
	return 0;
}

/* True where the data set was not counted, but estimated by what was read of it. */
static bool compare_rows_estimated(const struct compare *compare,
				   const struct field *field)
{
	return strcmp(field->path, "dataset.bytes") == 0 &&
	       (differences_is_estimated(compare->a) ||
		differences_is_estimated(compare->b));
}

static int add_field(struct compare_rows *rows, const struct compare *compare,
		     const struct chosen *of, const struct field *field)
{
	struct compare_row row = {
		.group = of->group, .unit = unit_of(field), .path = field->path};
	const char *dot = strchr(field->path, '.');

	if (strncmp(field->path, "emulated.", strlen("emulated.")) == 0)
		row.none = "none";
	compare_rows_value_of(&row.a, field, compare->a);
	compare_rows_value_of(&row.b, field, compare->b);
	name_of(&row, of->name != NULL ? of->name
		      : dot == NULL    ? field->path
				       : dot + 1);
	return add_row(rows, &row,
		       of->measured || compare_rows_estimated(compare, field));
}

static int add_chosen(struct compare_rows *rows, const struct compare *compare,
		      const struct chosen *of)
{
	size_t length = strlen(of->path);
	bool all = of->path[length - 1] == '.';
	int result = 0;

	for (const struct field *field = field_profile;
	     result == 0 && field->path != NULL; field++)
		if (strncmp(field->path, of->path, length) == 0 &&
		    (all || field->path[length] == '\0'))
			result = add_field(rows, compare, of, field);
	return result;
}

/* ---- counts of the stream, a sample each ---- */

static struct interval per_sample(const struct profile_counted *counted, size_t at)
{
	const uint64_t *count = (const void *)((const char *)counted + at);

	return compare_rows_plain(profile_quotient(*count, counted->samples));
}

static int add_counted(struct compare_rows *rows, const struct compare *compare)
{
	static const struct {
		const char *path, *name;
		enum compare_unit unit;
		size_t at;
	} table[] = {
		{"counted.opens_per_sample", "files opened or GETs per sample",
		 COMPARE_NUMBER, offsetof(struct profile_counted, opens)},
		{"counted.reads_per_sample", "reads per sample", COMPARE_NUMBER,
		 offsetof(struct profile_counted, reads)},
		{"counted.read_bytes_per_sample", "bytes read per sample",
		 COMPARE_BYTES, offsetof(struct profile_counted, read_bytes)},
		{"counted.hits_per_sample", "cache hits per sample", COMPARE_NUMBER,
		 offsetof(struct profile_counted, hits)},
		{"counted.decoded_pixels_per_sample", "decoded pixels per sample",
		 COMPARE_NUMBER, offsetof(struct profile_counted, decoded_pixels)},
		{"counted.device_bytes_per_sample", "bytes copied per sample",
		 COMPARE_BYTES, offsetof(struct profile_counted, device_bytes)},
	};
	int result = 0;

	for (size_t i = 0; result == 0 && i < sizeof(table) / sizeof(table[0]); i++) {
		struct compare_row row = {.group = COMPARE_COUNTS,
					  .unit = table[i].unit,
					  .path = table[i].path};

		row.a.number = per_sample(&compare->a->counted, table[i].at);
		row.b.number = per_sample(&compare->b->counted, table[i].at);
		name_of(&row, table[i].name);
		result = add_row(rows, &row, false);
	}
	return result;
}

/* ---- the machine ---- */

static int add_fact(struct compare_rows *rows, const struct compare *compare,
		    const char *key)
{
	struct compare_row row = {.group = COMPARE_MACHINE, .path = key};

	row.a = (struct compare_value){profile_fact_of(compare->a, key),
				       INTERVAL_UNKNOWN};
	row.b = (struct compare_value){profile_fact_of(compare->b, key),
				       INTERVAL_UNKNOWN};
	name_of(&row, key);
	return add_row(rows, &row, false);
}

/* These differ always, and say nothing. */
static bool is_passing(const char *key)
{
	return strcmp(key, "time") == 0 || strcmp(key, "memory_available") == 0;
}

/* Those of a, then those that only b has. */
static int add_facts(struct compare_rows *rows, const struct compare *compare)
{
	const struct profile *a = compare->a, *b = compare->b;
	int result = 0;

	for (size_t i = 0; result == 0 && i < a->fact_count; i++)
		if (!is_passing(a->environment[i].key))
			result = add_fact(rows, compare, a->environment[i].key);
	for (size_t i = 0; result == 0 && i < b->fact_count; i++)
		if (!is_passing(b->environment[i].key) &&
		    profile_fact_of(a, b->environment[i].key) == NULL)
			result = add_fact(rows, compare, b->environment[i].key);
	return result;
}

/* NULL: no memory. */
static char *name_side(const char *name, const struct profile *profile)
{
	char *why = format_string(format_ending, profile), *text = NULL;

	if (why != NULL && isfinite(profile->rates[TRACE_REAL].value))
		text = strdup(name);
	else if (why != NULL && asprintf(&text, "%s, not measured%s%s", name,
					 *why == '\0' ? "" : ": ", why) < 0)
		text = NULL;
	free(why);
	return text;
}

int compare_rows_init(const struct compare *compare, struct compare_rows *rows)
{
	int result = 0;

	*rows = (struct compare_rows){0};
	rows->a_name = name_side(compare->a_name, compare->a);
	rows->b_name = name_side(compare->b_name, compare->b);
	if (rows->a_name == NULL || rows->b_name == NULL)
		return -ENOMEM;
	causes_find(compare->a, compare->b, &rows->causes);
	for (size_t i = 0; result == 0 && i < sizeof(chosen) / sizeof(chosen[0]); i++) {
		result = add_chosen(rows, compare, &chosen[i]);
		if (strcmp(chosen[i].path, "stalls.prep") != 0)
			continue;
		for (size_t j = 0; result == 0 && j < sizeof(split) / sizeof(split[0]);
		     j++)
			result = add_chosen(rows, compare, &split[j]);
	}
	if (result == 0)
		result = add_counted(rows, compare);
	return result < 0 ? result : add_facts(rows, compare);
}

void compare_rows_fini(struct compare_rows *rows)
{
	free(rows->rows);
	free(rows->a_name);
	free(rows->b_name);
	*rows = (struct compare_rows){0};
}
