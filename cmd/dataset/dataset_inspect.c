/* dataset_inspect.c - dsa dataset inspect: what a data set holds. */
#include "cmd/common/argument.h"
#include "cmd/common/cmd.h"
#include "cmd/common/progress.h"
#include "cmd/dataset/dataset.h"
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/source.h"
#include "profiler/dataset/inspect.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

enum { LISTED = 20 }; /* classes and broken files that are listed in text */

struct inspect_command {
	struct inspect_config config;
	struct progress progress;
	bool json;
};

#define TEXT(member) ARGUMENT(inspect_command, TEXT, member)

static const struct argument arguments[] = {
	{"full", 0, NULL, ARGUMENT(inspect_command, FLAG, config.full),
	 "Decode every picture, to find all broken ones"},
	{"threads", 0, "N", ARGUMENT_NUMBER(inspect_command, config.threads, 1, 1024),
	 "Look with N threads (default: one a core)"},
	{"image-feature", 0, "NAME", TEXT(config.image_feature),
	 "The feature of TFRecord's examples that is the picture"},
	{"label-feature", 0, "NAME", TEXT(config.label_feature),
	 "The feature that is the label (default: as the first record has them)"},
	{"relist", 0, NULL, ARGUMENT(inspect_command, FLAG, config.relist),
	 "List a bucket anew, though its listing was kept"},
	{"json", 0, NULL, ARGUMENT(inspect_command, FLAG, json), "Say it in JSON"},
	{NULL, 0, "DATASET", ARGUMENT(inspect_command, ONE, config.dataset),
	 "which DATASET?"},
	{0},
};

static void show_done(void *arg, uint32_t done, uint32_t count)
{
	struct progress *progress = arg;

	progress->total = count;
	progress_show(progress, done);
}

static json_t *law_json(const struct inspect_law *law)
{
	static const char *const keys[INSPECT_QUANTILES] = {"min", "p5",  "p25", "p50",
							    "p75", "p95", "max"};
	json_t *json = json_pack("{s:f}", "mean", law->mean);

	for (unsigned i = 0; i < INSPECT_QUANTILES; i++)
		json_object_set_new(json, keys[i],
				    json_integer((json_int_t)law->quantile[i]));
	return json;
}

static json_t *classes_json(const struct inspect *result)
{
	json_t *json = json_object();

	for (uint32_t i = 0; i < result->classes; i++) {
		char name[NAME_SHOWN];

		json_object_set_new(json,
				    name_escape(source_class(result->source, i), name,
						sizeof(name)),
				    json_integer(result->per_class[i]));
	}
	return json;
}

static json_t *sampling_json(const struct inspect *result)
{
	json_t *json = json_object();

	for (unsigned i = 0; i < INSPECT_SAMPLINGS; i++)
		json_object_set_new(json, inspect_sampling_names[i],
				    json_integer(result->sampling[i]));
	return json;
}

static json_t *broken_json(const struct inspect *result)
{
	json_t *json = json_array();

	for (uint32_t i = 0; i < result->broken; i++) {
		char name[1024];

		source_name(result->source, result->first[i].sample, name,
			    sizeof(name));
		json_array_append_new(json, json_pack("{s:s, s:s}", "path", name, "why",
						      result->first[i].why));
	}
	return json;
}

static void dataset_inspect_print_json(const char *dataset,
				       const struct inspect *result)
{
	char name[1024];
	json_t *json = json_pack(
		"{s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:o}", "path",
		name_escape(dataset, name, sizeof(name)), "images",
		(json_int_t)result->count, "ignored",
		(json_int_t)source_facts(result->source)->ignored, "bytes",
		(json_int_t)result->bytes, "classes", classes_json(result),
		"size_bytes", law_json(&result->size), "sampling",
		sampling_json(result), "gray", (json_int_t)result->gray, "cmyk",
		(json_int_t)result->cmyk, "progressive",
		(json_int_t)result->progressive, "restart_markers",
		(json_int_t)result->restarts, "broken", broken_json(result));

	if (source_facts(result->source)->features != NULL)
		json_object_set_new(
			json, "features",
			json_string(name_escape(source_facts(result->source)->features,
						name, sizeof(name))));
	if (result->readable > 0) {
		json_object_set_new(json, "width_pixels", law_json(&result->width));
		json_object_set_new(json, "height_pixels", law_json(&result->height));
	}
	cmd_print_json(json, 9);
}

static void print_law(const char *what, const struct inspect_law *law)
{
	printf("%-8s%9.0f", what, law->mean);
	for (unsigned i = 0; i < INSPECT_QUANTILES; i++)
		printf("%9" PRIu64, law->quantile[i]);
	putchar('\n');
}

static void print_laws(const struct inspect *result)
{
	printf("%-8s%9s%9s", "", "mean", "least");
	for (unsigned i = 1; i + 1 < INSPECT_QUANTILES; i++)
		printf("%7.0f %%", 100 * inspect_shares[i]);
	printf("%9s\n", "most");
	print_law("bytes", &result->size);
	if (result->readable > 0) {
		print_law("width", &result->width);
		print_law("height", &result->height);
	}
}

static void print_kinds(const struct inspect *result)
{
	const struct {
		const char *name;
		uint32_t count;
	} others[] = {{"gray", result->gray},
		      {"CMYK", result->cmyk},
		      {"progressive", result->progressive},
		      {"with restart markers", result->restarts}};
	const char *between = "";

	printf("JPEG    ");
	for (unsigned i = 0; i < INSPECT_SAMPLINGS; i++)
		if (result->sampling[i] > 0) {
			printf("%s%u %s", between, result->sampling[i],
			       inspect_sampling_names[i]);
			between = ", ";
		}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].count > 0) {
			printf("%s%u %s", between, others[i].count, others[i].name);
			between = ", ";
		}
	putchar('\n');
}

static void print_classes(const struct inspect *result)
{
	char name[NAME_SHOWN];

	printf("classes ");
	for (uint32_t i = 0; i < result->classes && i < LISTED; i++)
		printf("%s%s %u", i > 0 ? ", " : "",
		       name_escape(source_class(result->source, i), name, sizeof(name)),
		       result->per_class[i]);
	if (result->classes > LISTED)
		printf(" and %u more; --json lists all", result->classes - LISTED);
	putchar('\n');
}

static void print_broken(const struct inspect *result)
{
	char name[1024];

	printf("broken  %u\n", result->broken);
	for (uint32_t i = 0; i < result->broken && i < LISTED; i++)
		printf("        %s: %s\n",
		       source_name(result->source, result->first[i].sample, name,
				   sizeof(name)),
		       result->first[i].why);
	if (result->broken > LISTED)
		printf("        and %u more; --json names all\n",
		       result->broken - LISTED);
}

static void dataset_inspect_print_text(const char *dataset,
				       const struct inspect *result)
{
	char name[1024];

	printf("%s: %u file%s of %u class%s, %.1f MB\n",
	       name_escape(dataset, name, sizeof(name)), result->count,
	       result->count == 1 ? "" : "s", result->classes,
	       result->classes == 1 ? "" : "es", (double)result->bytes / 1e6);
	print_laws(result);
	if (result->readable > 0)
		print_kinds(result);
	print_classes(result);
	if (source_facts(result->source)->features != NULL)
		printf("records %s\n",
		       name_escape(source_facts(result->source)->features, name,
				   sizeof(name)));
	printf("ignored %llu\n",
	       (unsigned long long)source_facts(result->source)->ignored);
	print_broken(result);
}

static int run_inspect(const struct command *self, int argc, char **argv)
{
	struct inspect_command command = {
		.config = {.threads = dataset_threads(), .progress = show_done}};
	struct error err = {0};
	struct inspect result;
	int status;

	command.config.arg = &command.progress;
	argument_read(self, argc, argv, &command);
	progress_begin(&command.progress, "files", 0);
	status = inspect_run(&command.config, &result, &err);
	progress_clear();
	if (status != 0)
		return cmd_fail(&err);
	(command.json ? dataset_inspect_print_json
		      : dataset_inspect_print_text)(command.config.dataset, &result);
	inspect_free(&result);
	return 0;
}

const struct command command_dataset_inspect = {
	.name = "inspect",
	.summary = "say what a data set holds: sizes, kinds, broken files",
	.arguments = arguments,
	.doc = "Say what DATASET, a folder, a list of 'path label', tar or TFRecord "
	       "shards, a bucket or web server, holds: classes, sizes, kinds of JPEG, "
	       "broken files.",
	.run = run_inspect,
};
