#include "loader/base/error.h"
#include "profiler/profile.h"
#include "reports/compare/compare.h"
#include "reports/json/json.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static const char *const kinds[] = {"text", "json", "html", "markdown"};
enum { FORMS = sizeof(kinds) / sizeof(kinds[0]) };

static struct profile a, b;
static struct error err;

static int setup(void **state)
{
	(void)state;
	err = (struct error){0};
	profile_init(&a);
	profile_init(&b);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	profile_free(&a);
	profile_free(&b);
	return 0;
}

static void load(struct profile *profile, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "tests/data/%s.json", name);
	assert_int_equal(json_result_load(path, profile, &err), 0);
}

/* To be freed; NULL: it failed with -ENOMEM. */
static char *write_form(const char *form)
{
	const struct compare compare = {&a, &b, "before<b>", "after"};
	const struct form_style style = {.ascii = true};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int result = compare_write(form, &compare, &style, out, &err);

	fclose(out);
	if (result == 0)
		return text;
	assert_int_equal(result, -ENOMEM);
	free(text);
	return NULL;
}

static json_t *told(void)
{
	char *text = write_form("json");
	json_t *root = json_loads(text, 0, NULL);

	assert_non_null(root);
	free(text);
	return root;
}

/* What is said of a number. */
static const char *said(json_t *root, const char *name)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(root, "compared"), i, row)
	{
		if (strcmp(json_string_value(json_object_get(row, "name")), name) == 0)
			return json_string_value(json_object_get(row, "verdict"));
	}
	return "not told";
}

TEST_WITH(a_cache_s_share_is_told_only_where_it_is_known, setup, teardown)
{
	json_t *root = told();

	assert_string_equal(said(root, "configuration.cache_share"), "not told");
	json_decref(root);
	b.cache_share = .35;
	root = told();
	assert_string_equal(said(root, "configuration.cache_share"), "n/a");
	json_decref(root);
	a.cache_share = 1.5;
	b.cache_share = 2; /* both hold all */
	root = told();
	assert_string_equal(said(root, "configuration.cache_share"), "same");
	json_decref(root);
}

TEST_WITH(a_difference_is_clear_where_intervals_are_apart, setup, teardown)
{
	json_t *root;

	a.rates[TRACE_REAL] = (struct interval){100, 95, 105};
	b.rates[TRACE_REAL] = (struct interval){111, 106, 116};
	a.rates[TRACE_CACHED] = (struct interval){100, 95, 105};
	b.rates[TRACE_CACHED] = (struct interval){109, 104, 114};
	a.rates[TRACE_SYNTHETIC] = b.rates[TRACE_SYNTHETIC] =
		(struct interval){200, 199, 201};
	a.rates[TRACE_LOADED] = (struct interval){100, NAN, NAN};
	b.rates[TRACE_LOADED] = (struct interval){101, NAN, NAN};
	a.rates[TRACE_PREP] =
		(struct interval){100, 99.9, 100.1}; /* apart, but nothing */
	b.rates[TRACE_PREP] = (struct interval){100.4, 100.3, 100.5};
	b.rates[TRACE_FETCH] = (struct interval){100, 99, 101};
	a.workers = 2;
	b.workers = 3;
	a.batch = b.batch = 64;
	root = told();
	assert_string_equal(said(root, "rates.real_per_s"), "clear");
	assert_string_equal(said(root, "rates.cached_per_s"), "within noise");
	assert_string_equal(said(root, "rates.synthetic_per_s"), "same");
	assert_string_equal(said(root, "rates.loaded_per_s"), "no interval");
	assert_string_equal(said(root, "rates.prep_per_s"), "within noise");
	assert_string_equal(said(root, "rates.fetch_per_s"), "n/a");
	assert_string_equal(said(root, "configuration.workers"), "differs");
	assert_string_equal(said(root, "configuration.batch"), "same");
	assert_string_equal(said(root, "configuration.cores"), "not told");
	json_decref(root);
}

TEST_WITH(counts_are_told_a_sample, setup, teardown)
{
	json_t *root, *row;

	a.counted = (struct profile_counted){.samples = 100, .opens = 100};
	b.counted = (struct profile_counted){.samples = 50, .opens = 100};
	root = told();
	assert_string_equal(said(root, "counted.opens_per_sample"), "differs");
	assert_string_equal(said(root, "counted.reads_per_sample"), "same");
	row = json_array_get(json_object_get(root, "compared"), 0);
	while (strcmp(json_string_value(json_object_get(row, "name")),
		      "counted.opens_per_sample") != 0) {
		json_array_remove(json_object_get(root, "compared"), 0);
		row = json_array_get(json_object_get(root, "compared"), 0);
	}
	assert_true(json_real_value(json_object_get(row, "change_share")) == 1);
	json_decref(root);
}

/* Of another loader's data set only what was read is known. */
TEST_WITH(a_size_that_is_estimated_has_no_interval, setup, teardown)
{
	json_t *root;

	a.dataset_bytes = 1000;
	b.dataset_bytes = 1100;
	root = told();
	assert_string_equal(said(root, "dataset.bytes"), "differs");
	json_decref(root);
	b.loader_kind.id = LOADER_TORCH;
	root = told();
	assert_string_equal(said(root, "dataset.bytes"), "no interval");
	json_decref(root);
}

TEST_WITH(facts_that_one_side_has_are_told, setup, teardown)
{
	json_t *root;
	struct profile_fact *fact = profile_add_fact(&b);

	profile_text(&fact->key, "cpu_new_thing");
	profile_text(&fact->value, "yes");
	fact = profile_add_fact(&b);
	profile_text(&fact->key, "time");
	profile_text(&fact->value, "now");
	root = told();
	assert_int_equal(json_array_size(json_object_get(root, "environment")), 1);
	json_decref(root);
}

/* In the forms that people read. */
TEST_WITH(why_a_side_was_not_measured_is_told, setup, teardown)
{
	a.rates[TRACE_REAL].value = 100;
	b.status.id = STATUS_TARGET_DIED;
	profile_text(&b.status_why, "the program ended with status 1");
	for (int i = 0; i < FORMS; i++) {
		bool reads = strcmp(kinds[i], "json") != 0;
		char *text = write_form(kinds[i]);

		assert_int_equal(strstr(text, "ended with status 1") != NULL, reads);
		free(text);
	}
}

TEST_WITH(an_unknown_form_is_refused, setup, teardown)
{
	const struct compare compare = {&a, &b, "a", "b"};
	const struct form_style style = {0};

	assert_int_equal(compare_write("pdf", &compare, &style, stdout, &err), -EINVAL);
	assert_string_equal(err.message, "no form of a comparison is called 'pdf'");
}

/* Each is written of everything: empty, hostile, complete. */
TEST_WITH(every_form_takes_any_result, setup, teardown)
{
	static const char *const names[] = {"run", "run-hostile", "run-died",
					    "run-whatif", "run-jobs"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		profile_free(&a);
		profile_free(&b);
		load(&a, names[i]);
		load(&b, i == 1 ? "run" : "run-hostile");
		for (int form = 0; form < FORMS; form++) {
			char *text = write_form(kinds[form]);

			assert_non_null(text);
			assert_null(strchr(text, '\033'));
			if (form >= 2) {
				assert_null(strstr(text, "<img"));
				assert_null(strstr(text, "before<b>"));
			}
			free(text);
		}
	}
}

TEST_WITH(memory_may_be_short, setup, teardown)
{
	load(&a, "run");
	load(&b, "run-hostile");
	for (int form = 0; form < FORMS; form++) {
		char *text = NULL;
		unsigned failed = 0;

		while (text == NULL) {
			nomem_at(++failed);
			text = write_form(kinds[form]);
			nomem_at(0);
			assert_true(failed < 500);
		}
		assert_true(failed > 1);
		free(text);
	}
}
