#include "loader/base/choice.h"
#include "loader/base/error.h"
#include "profiler/field.h"
#include "profiler/profile_prediction.h"
#include "reports/json/json.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define KEPT "tests/data/run-whatif.json"

static char *write_text(const struct profile *profile)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(json_result_write(profile, out, NULL), 0);
	fclose(out);
	return text;
}

static char *read_file(const char *path)
{
	char *text = calloc(1, JSON_RESULT_MAX);
	FILE *in = fopen(path, "r");

	assert_non_null(in);
	assert_true(fread(text, 1, JSON_RESULT_MAX - 1, in) > 0);
	fclose(in);
	return text;
}

TEST(what_is_read_is_written_again_unchanged)
{
	struct profile profile;
	char *kept = read_file(KEPT), *text;

	assert_int_equal(json_result_load(KEPT, &profile, NULL), 0);
	text = write_text(&profile);
	assert_string_equal(text, kept);
	free(text);
	free(kept);
	profile_free(&profile);
}

/* Puts something known into every member that the tables name. */
static void fill(const struct field *fields, void *to)
{
	static uint64_t number = 7;

	for (; fields->path != NULL; fields++) {
		void *at = (char *)to + fields->offset;

		number++;
		switch (fields->type) {
		case FIELD_TEXT:
			profile_text(at, "text %s", fields->path);
			break;
		case FIELD_KIND:
		case FIELD_STATUS:
		case FIELD_LIMIT:
		case FIELD_PROTOCOL:
		case FIELD_ENGINE:
		case FIELD_CACHE:
		case FIELD_TYPE:
		case FIELD_LOADER:
		case FIELD_SPLIT:
			*(struct profile_word *)at = (struct profile_word){1, NULL};
			break;
		case FIELD_COUNT:
			*(uint64_t *)at = number;
			break;
		case FIELD_UNSIGNED:
		case FIELD_INDEX:
			*(unsigned *)at = (unsigned)number;
			break;
		case FIELD_FLAG:
		case FIELD_YES:
			*(bool *)at = true;
			break;
		case FIELD_ANSWER:
			*(int *)at = number % 2;
			break;
		case FIELD_NUMBER:
			*(double *)at = -.125 * (double)number;
			break;
		case FIELD_SPEEDS:
			memcpy(at, (double[]){1, .5}, 2 * sizeof(double));
			break;
		case FIELD_SHARE:
		case FIELD_ESTIMATE:
			*(struct interval *)at =
				(struct interval){(double)number, .25, NAN};
			break;
		case FIELD_WORDS:
			*(char ***)at = calloc(3, sizeof(char *));
			profile_text(&(*(char ***)at)[0], "./train");
			profile_text(&(*(char ***)at)[1], "a\nb \"\xff\"");
			break;
		case FIELD_HISTOGRAM:
			*(struct profile_histogram *)at =
				(struct profile_histogram){.5, 2, calloc(2, 8)};
			break;
		case FIELD_END:
			break;
		}
	}
}

static size_t size_of(const struct field *field)
{
	if (field_table(field->type) != NULL)
		return sizeof(struct profile_word);
	switch (field->type) {
	case FIELD_SHARE:
	case FIELD_ESTIMATE:
		return sizeof(struct interval);
	case FIELD_HISTOGRAM:
		return sizeof(struct profile_histogram);
	case FIELD_FLAG:
	case FIELD_YES:
		return sizeof(bool);
	case FIELD_INDEX:
	case FIELD_ANSWER:
	case FIELD_UNSIGNED:
		return sizeof(int);
	default:
		return sizeof(uint64_t); /* a number, or a pointer */
	}
}

/* What is in no table is neither unknown at first nor freed. Of these tables that is right for
 * two numbers that no file has, and two arrays that are written in ways of their own. */
TEST(every_member_is_in_a_table)
{
	static char covered[sizeof(struct profile)];
	const size_t pointer = sizeof(void *);
	size_t left = 0, most = 2 * (pointer + sizeof(size_t)) + 2 * sizeof(double);

	for (const struct field *field = field_profile; field->path != NULL; field++)
		memset(covered + field->offset, 1, size_of(field));
	for (const struct field_list *list = field_lists; list->path != NULL; list++) {
		memset(covered + list->array, 1, pointer);
		memset(covered + list->count, 1, sizeof(size_t));
	}
	for (size_t i = 0; i + 8 <= sizeof(covered); i += 8)
		left += memchr(covered + i, 1, 8) == NULL ? 8 : 0;
	if (left != most)
		fail_msg("%zu bytes are in no table, not %zu", left, most);
}

TEST(every_member_finds_its_way_back)
{
	struct profile profile, again;
	char *text, *second;

	profile_init(&profile);
	fill(field_profile, &profile);
	for (const struct field_list *list = field_lists; list->path != NULL; list++)
		fill(list->fields, field_add(list, &profile));
	text = write_text(&profile);
	for (const struct field *field = field_profile; field->path != NULL; field++) {
		const char *dot = strrchr(field->path, '.');

		assert_non_null(strstr(text, dot == NULL ? field->path : dot + 1));
	}
	assert_int_equal(json_result_read(text, strlen(text), &again, NULL), 0);
	assert_string_equal(again.command[1], "a\nb \"\\xff\"");
	assert_int_equal(again.windows[0].misses, profile.windows[0].misses);
	assert_true(again.stalls[STAGE_PREP].value == profile.stalls[STAGE_PREP].value);
	assert_true(isnan(again.stalls[STAGE_PREP].high));
	second = write_text(&again);
	assert_string_equal(second, text);
	free(text);
	free(second);
	profile_free(&profile);
	profile_free(&again);
}

TEST(the_unknown_is_absent)
{
	struct profile profile;
	char *text;

	profile_init(&profile);
	text = write_text(&profile);
	assert_null(strstr(text, "stalls\": {"));
	assert_null(strstr(text, "null"));
	assert_null(strstr(text, "target_status"));
	free(text);
	profile_free(&profile);
}

/* Beyond the machine's cores a prediction may have bounds and no value. */
TEST(bounds_without_a_value_are_kept)
{
	struct profile profile, again;
	struct profile_prediction *prediction;
	char *text;

	profile_init(&profile);
	prediction = profile_add_prediction(&profile);
	prediction->change.cache_share = 0;
	prediction->per_s = (struct interval){NAN, 100, 190};
	text = write_text(&profile);
	assert_null(strstr(text, "\"value\""));
	assert_int_equal(json_result_read(text, strlen(text), &again, NULL), 0);
	assert_true(isnan(again.predictions[0].per_s.value));
	assert_true(again.predictions[0].per_s.low == 100);
	assert_true(again.predictions[0].per_s.high == 190);
	assert_true(again.predictions[0].change.cache_share == 0);
	assert_true(profile_change_equal(&again.predictions[0].change,
					 &profile.predictions[0].change));
	free(text);
	profile_free(&profile);
	profile_free(&again);
}

TEST(speeds_of_jobs_are_numbers_above_0)
{
	static const char *const wrong[] = {"[1, 0]", "[-1]", "[\"fast\"]", "2",
					    "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct error err = {0};
		struct profile profile;
		char text[160];

		snprintf(text, sizeof(text),
			 "{\"schema\": \"dsa.result/1\", \"predictions\": "
			 "[{\"change\": {\"job_speeds\": %s}}]}",
			 wrong[i]);
		assert_int_equal(json_result_read(text, strlen(text), &profile, &err),
				 -EBADMSG);
		assert_non_null(strstr(err.message, "change.job_speeds"));
	}
}

TEST(changes_of_jobs_are_told_apart)
{
	struct profile_change a, b;

	a = PROFILE_NO_CHANGE;
	b = PROFILE_NO_CHANGE;
	a.jobs = b.jobs = 2;
	a.share = true;
	assert_false(profile_change_equal(&a, &b));
	b.share = true;
	a.job_speed[0] = a.job_speed[1] = b.job_speed[0] = 1;
	b.job_speed[1] = .5;
	assert_false(profile_change_equal(&a, &b));
	a.job_speed[1] = .5;
	assert_true(profile_change_equal(&a, &b));
}

TEST(draws_are_kept_side_by_side)
{
	struct profile profile, again;
	char *text;

	profile_init(&profile);
	*profile_add_draw(&profile) = (struct profile_draw){110000, .0025, .004};
	*profile_add_draw(&profile) = (struct profile_draw){UNKNOWN, NAN, .005};
	text = write_text(&profile);
	assert_non_null(strstr(text, "    \"bytes\": [110000, null],\n"
				     "    \"fetch_s\": [0.0025, null],\n"
				     "    \"prep_s\": [0.004, 0.005]\n  },\n"));
	assert_int_equal(json_result_read(text, strlen(text), &again, NULL), 0);
	assert_int_equal(again.draw_count, 2);
	assert_int_equal(again.draws[0].bytes, 110000);
	assert_true(again.draws[0].fetch_s == .0025);
	assert_int_equal(again.draws[1].bytes, UNKNOWN);
	assert_true(isnan(again.draws[1].fetch_s) && again.draws[1].prep_s == .005);
	free(text);
	profile_free(&profile);
	profile_free(&again);
}

TEST(whether_it_was_covered_may_be_unknown)
{
	struct profile profile, again;
	char *text;

	profile_init(&profile);
	for (int covered = -1; covered <= 1; covered++)
		profile_add_verification(&profile)->covered = covered;
	text = write_text(&profile);
	assert_int_equal(json_result_read(text, strlen(text), &again, NULL), 0);
	assert_int_equal(again.verification_count, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(again.verifications[i].covered, i - 1);
	free(text);
	profile_free(&profile);
	profile_free(&again);
}

TEST(every_number_has_a_word)
{
	for (int i = 0; i < TRACE_KINDS; i++)
		assert_non_null(profile_kinds[i]);
	for (int i = 0; i < STATUSES; i++)
		assert_non_null(profile_statuses[i]);
	for (int i = 0; i < PROFILE_LIMITS; i++)
		assert_non_null(profile_limits[i]);
	for (int i = 0; i < MEASURE_PROTOCOLS; i++)
		assert_non_null(profile_protocols[i]);
	for (int i = 0; i < PROFILE_LOADERS; i++)
		assert_non_null(profile_loaders[i]);
	for (int i = 0; i < CACHE_IDS; i++)
		assert_int_equal(choice_find(CACHE_POLICY_NAMES, profile_caches[i]), i);
}

TEST(words_of_a_newer_dsa_are_kept)
{
	static const char *const result =
		"{\"schema\": \"dsa.result/1\", \"run\": {\"status\": \"asleep\", "
		"\"protocol\": \"observe\"}, \"configuration\": {\"engine\": \"ring\", "
		"\"cache\": \"arc\"}, \"predictions\": [{\"change\": "
		"{\"cache_policy\": "
		"\"lru\"}}, {\"change\": {\"cache_policy\": \"lirs\"}}], "
		"\"limit\": {\"what\": \"cores\"}, "
		"\"windows\": [{\"kind\": \"cached\"}, {\"kind\": \"warped\"}, {}]}";
	struct profile profile;
	char *text;

	assert_int_equal(json_result_read(result, strlen(result), &profile, NULL), 0);
	assert_int_equal(profile.limit.id, LIMITED_BY_CORES);
	assert_int_equal(profile.protocol.id, MEASURE_OBSERVE);
	assert_true(profile_has_own_cache(&profile)); /* whatever it is */
	assert_int_equal(profile.predictions[0].change.cache_policy.id, CACHE_LRU);
	assert_int_equal(profile.windows[0].kind.id, TRACE_CACHED);
	assert_int_equal(profile.windows[1].kind.id, -1);
	assert_null(profile_word(profile_kinds, &profile.windows[2].kind));
	text = write_text(&profile);
	assert_non_null(strstr(text, "\"status\": \"asleep\""));
	assert_non_null(strstr(text, "\"what\": \"cores\""));
	assert_non_null(strstr(text, "\"kind\": \"cached\""));
	assert_non_null(strstr(text, "\"kind\": \"warped\""));
	assert_non_null(strstr(text, "\"protocol\": \"observe\""));
	assert_non_null(strstr(text, "\"engine\": \"ring\""));
	assert_non_null(strstr(text, "\"cache\": \"arc\""));
	assert_non_null(strstr(text, "\"cache_policy\": \"lirs\""));
	free(text);
	profile_free(&profile);
}

/* libdsa's where a result does not say; of one that nobody knows nothing is taken. */
TEST(whose_loader_it_was_is_known)
{
	static const struct {
		const char *result;
		int loader;
	} cases[] = {
		{"{\"schema\": \"dsa.result/1\"}", LOADER_DSA},
		{"{\"schema\": \"dsa.result/1\", \"loader\": {\"kind\": \"torch\"}}",
		 LOADER_TORCH},
		{"{\"schema\": \"dsa.result/1\", \"loader\": {\"kind\": \"grain\"}}",
		 -1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct profile profile;

		assert_int_equal(json_result_read(cases[i].result,
						  strlen(cases[i].result), &profile,
						  NULL),
				 0);
		assert_int_equal(profile_loader(&profile), cases[i].loader);
		profile_free(&profile);
	}
}

static void refuses(const char *text, int code, const char *message)
{
	struct error err = {0};
	struct profile profile;

	assert_int_equal(json_result_read(text, strlen(text), &profile, &err), -code);
	assert_string_equal(err.message, message);
	assert_null(profile.version);
	profile_free(&profile);
}

TEST(other_schemas_are_refused_by_name)
{
	refuses("{\"schema\": \"dsa.result/2\"}", EPROTO,
		"has schema \"dsa.result/2\", this dsa reads \"dsa.result/1\"; use the "
		"dsa that wrote it");
	refuses("{\"schema\": \"dsa.baseline/1\"}", EPROTO,
		"has schema \"dsa.baseline/1\": it is not a result of dsa; dsa run "
		"writes one");
	refuses("{\"schema\": 1}", EBADMSG,
		"has no \"schema\": it is not a result of dsa");
	refuses("[]", EBADMSG, "has no \"schema\": it is not a result of dsa");
}

TEST(broken_files_are_named)
{
	refuses("{\"schema\": \"dsa.res", EBADMSG,
		"line 1, column 19: premature end of input near '\"dsa.res'");
	refuses("", EBADMSG, "line 1, column 0: '[' or '{' expected near end of file");
	refuses("{\"schema\": NaN}", EBADMSG,
		"line 1, column 14: invalid token near 'NaN'");
	refuses("{\"schema\": 1e999}", EBADMSG,
		"line 1, column 16: real number overflow near '1e999'");
}

#define RESULT(member) "{\"schema\": \"dsa.result/1\", " member "}"

TEST(wrong_kinds_are_named)
{
	refuses(RESULT("\"rates\": {\"real_per_s\": {\"value\": \"x\"}}"), EBADMSG,
		"rates.real_per_s: value: should be a number");
	refuses(RESULT("\"rates\": []"), EBADMSG,
		"rates.real_per_s: should be in an object");
	refuses(RESULT("\"run\": {\"seed\": -1}"), EBADMSG,
		"run.seed: should be a whole number that is not negative");
	refuses(RESULT("\"run\": {\"command\": [1]}"), EBADMSG,
		"run.command: should be a text");
	refuses(RESULT("\"windows\": [{}, {\"used\": 1}]"), EBADMSG,
		"windows[1]: used: should be true or false");
	refuses(RESULT("\"windows\": {}"), EBADMSG, "windows: should be an array");
	refuses(RESULT("\"environment\": {\"cpu\": 1}"), EBADMSG,
		"environment.cpu: should be a text");
	refuses(RESULT("\"histograms\": {\"prep_s\": {\"counts\": [1, -1]}}"), EBADMSG,
		"histograms.prep_s: should be a whole number that is not negative");
	refuses(RESULT("\"predictions\": [{\"change\": {\"cores\": -1}}]"), EBADMSG,
		"predictions[0]: change.cores: should be a whole number that is not "
		"negative");
	refuses(RESULT("\"verifications\": [{\"covered\": 1}]"), EBADMSG,
		"verifications[0]: covered: should be true or false");
}

#define DRAWS(bytes, fetch, prep)                                                      \
	RESULT("\"draws\": {\"bytes\": [" bytes "], \"fetch_s\": [" fetch              \
	       "], \"prep_s\": [" prep "]}")
#define LENGTHS                                                                        \
	"draws: should be an object of three arrays, bytes, fetch_s and prep_s, of "   \
	"one length that is at most 65536"

TEST(draws_that_do_not_fit_are_refused)
{
	struct error err = {0};
	struct profile profile;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	refuses(DRAWS("1, 2", "1, 2", "1"), EBADMSG, LENGTHS);
	refuses(RESULT("\"draws\": []"), EBADMSG, LENGTHS);
	refuses(RESULT("\"draws\": {\"bytes\": []}"), EBADMSG, LENGTHS);
	refuses(DRAWS("-1", "1", "1"), EBADMSG,
		"draws: bytes: should be a whole number that is not negative");
	refuses(DRAWS("1", "1", "-1"), EBADMSG,
		"draws: prep_s: should be an array of numbers that are not negative");
	refuses(DRAWS("1", "\"\"", "1"), EBADMSG,
		"draws: fetch_s: should be an array of numbers that are not negative");
	fputs("{\"schema\": \"dsa.result/1\", \"draws\": {\"bytes\": [0", out);
	for (int i = 0; i < 65536; i++)
		fputs(",0", out);
	fputs("], \"fetch_s\": [], \"prep_s\": []}}", out);
	fclose(out);
	assert_int_equal(json_result_read(text, size, &profile, &err), -EBADMSG);
	assert_string_equal(err.message, LENGTHS);
	free(text);
}

TEST(deep_nesting_is_refused)
{
	char *text = malloc(100001);
	struct profile profile;

	memset(text, '[', 100000);
	text[100000] = '\0';
	assert_int_equal(json_result_read(text, 100000, &profile, NULL), -EBADMSG);
	free(text);
}

TEST(load_names_the_file)
{
	struct error err = {0};
	struct profile profile;

	assert_int_equal(json_result_load("/nowhere/run.json", &profile, &err),
			 -ENOENT);
	assert_string_equal(err.message,
			    "can't open /nowhere/run.json: No such file or directory");
	assert_int_equal(json_result_load("/dev/null", &profile, &err), -EBADMSG);
	assert_string_equal(err.message, "/dev/null: is not a file");
}

static void is_told(const char *manual, const char *key)
{
	const char *at = manual;
	char entry[128];

	snprintf(entry, sizeof(entry), "Va %s", key);
	while ((at = strstr(at, entry)) != NULL) {
		at += strlen(entry);
		if (*at == '\n' || *at == ' ')
			return;
	}
	fail_msg("man/dsa-result.5 does not describe %s", key);
}

TEST(the_manual_tells_every_key)
{
	char *manual = read_file("man/dsa-result.5");

	for (const struct field *field = field_profile; field->path != NULL; field++)
		is_told(manual, field->path);
	for (const struct field_list *list = field_lists; list->path != NULL; list++) {
		is_told(manual, list->path);
		for (const struct field *field = list->fields; field->path != NULL;
		     field++)
			is_told(manual, field->path);
	}
	free(manual);
}

static void *wrapped_malloc(size_t size)
{
	return malloc(size);
}

/* Every allocation of jansson and of ours fails once. */
TEST(short_memory_is_an_error)
{
	char *kept = read_file(KEPT);
	struct profile profile;
	unsigned nth = 0, step = 1;
	int result = -1;

	json_set_alloc_funcs(wrapped_malloc, free);
	for (; result != 0; nth += step) {
		nomem_at(nth + 1);
		result = json_result_read(kept, strlen(kept), &profile, NULL);
		nomem_at(0);
		if (result != 0)
			assert_true(result == -ENOMEM || result == -EBADMSG);
		step = nth < 100 ? 1 : 37;
	}
	for (nth = 0, result = -1; result != 0; nth += step) {
		FILE *out = fopen("/dev/null", "w");

		nomem_at(nth + 1);
		result = json_result_write(&profile, out, NULL);
		nomem_at(0);
		assert_true(result == 0 || result == -ENOMEM);
		fclose(out);
		step = nth < 100 ? 1 : 37;
	}
	assert_true(nth > 1000);
	json_set_alloc_funcs(malloc, free);
	profile_free(&profile);
	free(kept);
}
