/* dataset_convert.c - dsa dataset convert: a copy that is smaller, or in another form. */
#include "cmd/common/argument.h"
#include "cmd/common/cmd.h"
#include "cmd/common/progress.h"
#include "cmd/common/signals.h"
#include "cmd/dataset/dataset.h"
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/base/name.h"
#include "profiler/dataset/archive/shard_form.h"
#include "profiler/dataset/convert.h"
#include "profiler/dataset/new_folder.h"
#include "profiler/dataset/repack.h"
#include "profiler/dataset/unpack.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static atomic_bool convert_stop;

static void convert_ask_to_stop(int signal)
{
	(void)signal;
	atomic_store(&convert_stop, true);
}

struct convert_command {
	struct convert_config config;
	struct progress progress;
	struct repack_config repack;
	unsigned quality;
	unsigned format; /* a place in convert_forms */
	bool given;      /* the format */
	bool json;
};

static const struct shard_form *const convert_forms[] = {NULL, &shard_form_tar,
							 &shard_form_tfrecord};

static void convert_set_format(struct argp_state *state, void *asked, const char *value)
{
	struct convert_command *command = asked;

	command->given = true;
	command->format =
		strcmp(value, "tfrecord") == 0 ? 2 : strcmp(value, "tar") == 0;
	if (command->format == 0 && strcmp(value, "tree") != 0)
		argument_error(state, "--format is tree, tar or tfrecord, not '%s'",
			       value);
}

static void convert_set_folder(struct argp_state *state, void *asked, const char *path)
{
	struct convert_config *config = &((struct convert_command *)asked)->config;

	if (state->arg_num > 1)
		argument_error(state, "one folder from, one to, not '%s', too", path);
	else if (state->arg_num == 0)
		config->from = path;
	else
		config->to = path;
}

/* What only --format asks for. */
static bool convert_repacks(const struct repack_config *repack)
{
	return repack->prep != NULL || repack->image_feature != NULL ||
	       repack->label_feature != NULL || repack->shard_size > 0;
}

static void convert_check(struct argp_state *state, void *asked)
{
	const struct convert_command *command = asked;

	if (state->arg_num < 2)
		argument_error(state, "from which data set to which folder?");
	else if (command->given && command->config.resize > 0)
		argument_error(state, "--format or --resize, one at a time");
	else if (!command->given && command->config.resize == 0)
		argument_error(state, "what is to be done? (--resize, such as 256, or "
				      "--format)");
	else if (command->given && command->quality > 0)
		argument_error(state, "--quality goes with --resize: --format copies "
				      "the samples as they are");
	else if (!command->given && convert_repacks(&command->repack))
		argument_error(state, "--prep, --image-feature, --label-feature and "
				      "--shard-size go with --format");
}

#define TEXT(member)         ARGUMENT(convert_command, TEXT, member)
#define NUMBER(member, most) ARGUMENT_NUMBER(convert_command, member, 1, most)

static const struct argument arguments[] = {
	{"format", 0, "FORM", ARGUMENT_ALL_BY(CALL, convert_set_format),
	 "Copy the samples as they are, to a folder per class (tree), or to shards "
	 "(tar, tfrecord)"},
	{"prep", 0, "image|audio|tokens", ARGUMENT(convert_command, NAME, repack.prep),
	 "With --format: what its samples are (default: the first of these that there "
	 "are)"},
	{"image-feature", 0, "NAME", TEXT(repack.image_feature),
	 "The feature of TFRecord's examples that is the picture or recording"},
	{"label-feature", 0, "NAME", TEXT(repack.label_feature),
	 "The feature that is the label (default: as the first record has them)"},
	{"shard-size", 0, "SIZE",
	 ARGUMENT_BY(convert_command, repack.shard_size, dataset_set_shard),
	 "Samples in a shard, in bytes (default 32M); each thread holds one"},
	{"resize", 0, "PIXELS", NUMBER(config.resize, LIMIT_SIDE),
	 "Make the shorter side of larger pictures PIXELS long"},
	{"quality", 0, "N", NUMBER(quality, 100),
	 "Quality of JPEG, 1 to 100 (default 92)"},
	{"threads", 0, "N", NUMBER(config.threads, 1024),
	 "Convert in N threads (default: one a core)"},
	{"json", 0, NULL, ARGUMENT(convert_command, FLAG, json),
	 "Print what was made as JSON"},
	{NULL, 0, "FROM TO", ARGUMENT_ALL_BY(EACH, convert_set_folder), NULL},
	{0},
};

static int convert_print_json(const struct convert_config *config,
			      const struct convert_result *result)
{
	char name[256];
	json_t *json = json_pack(
		"{s:s, s:I, s:I, s:I, s:I, s:I, s:f}", "path",
		name_escape(config->to, name, sizeof(name)),
		result->audio ? "recordings" : "images", (json_int_t)result->samples,
		config->resize > 0 ? "resized" : "there", (json_int_t)result->resized,
		"broken", (json_int_t)result->broken, "bytes_before",
		(json_int_t)result->bytes_before, "bytes", (json_int_t)result->bytes,
		"wall_s", result->seconds);

	if (config->resize > 0) {
		json_object_set_new(json, "resize", json_integer(config->resize));
		json_object_set_new(json, "quality", json_integer(config->quality));
	}

	return cmd_print_json(json, 9);
}

static int convert_print_text(const struct convert_config *config,
			      const struct convert_result *result)
{
	char name[256];

	name_escape(config->to, name, sizeof(name));
	if (config->resize > 0)
		printf("%s: %u of %u pictures resized to %u pixels, %.1f MB instead of "
		       "%.1f MB, in %.1f s\n",
		       name, result->resized, result->samples, config->resize,
		       (double)result->bytes / 1e6, (double)result->bytes_before / 1e6,
		       result->seconds);
	else
		printf("%s: %u of %u %s, %u of them there already, %.1f MB, in "
		       "%.1f s\n",
		       name, result->samples - result->broken, result->samples,
		       result->audio ? "recordings" : "pictures", result->resized,
		       (double)result->bytes / 1e6, result->seconds);
	for (uint32_t i = 0; i < result->broken && i < CONVERT_NAMED; i++)
		printf("broken: %s\n", result->named[i]);
	if (result->broken > CONVERT_NAMED)
		printf("broken: %u more; dsa dataset inspect lists them\n",
		       result->broken - CONVERT_NAMED);
	return 0;
}

static int convert_repack(struct convert_command *asked, struct convert_result *result,
			  struct error *err)
{
	struct repack_config *repack = &asked->repack;

	repack->from = asked->config.from;
	repack->to = asked->config.to;
	repack->form = convert_forms[asked->format];
	repack->threads = asked->config.threads;
	repack->stop = asked->config.stop;
	repack->progress = asked->config.progress;
	repack->arg = asked->config.arg;
	return repack_run(repack, result, err);
}

/* Compressed archives, which are no data set until they are unpacked. */
static int convert_unpack(struct convert_command *asked, struct error *err)
{
	const struct unpack_config config = {.from = asked->config.from,
					     .to = asked->config.to,
					     .prep = asked->repack.prep,
					     .stop = asked->config.stop,
					     .progress = asked->config.progress,
					     .arg = asked->config.arg};
	struct unpack_result result;
	char name[256];
	int status;

	if (convert_forms[asked->format] != &shard_form_tar)
		return error_set(err, ENOTSUP,
				 "compressed archives become tar archives (--format "
				 "tar), and these anything else");
	status = unpack_run(&config, &result, err);
	progress_clear();
	if (status < 0)
		return status;
	name_escape(asked->config.to, name, sizeof(name));
	if (asked->json)
		return cmd_print_json(json_pack("{s:s, s:I, s:I, s:I}", "path", name,
						"archives", (json_int_t)result.archives,
						"there", (json_int_t)result.there,
						"bytes", (json_int_t)result.bytes),
				      9);
	printf("%s: %u %s unpacked, %u of them there already, %.1f MB\n", name,
	       result.archives, result.archives == 1 ? "archive" : "archives",
	       result.there, (double)result.bytes / 1e6);
	return 0;
}

/* Of a data set that has compressed archives beside its samples. */
static void convert_warn_of_archives(const char *from)
{
	unsigned count = unpack_count(from);
	char name[256];

	if (count > 0)
		fprintf(stderr,
			"dsa: %u compressed archive%s in '%s' %s no part of the copy: "
			"those of a folder without samples are unpacked\n",
			count, count == 1 ? "" : "s",
			name_escape(from, name, sizeof(name)),
			count == 1 ? "is" : "are");
}

static int convert_main(const struct command *self, int argc, char **argv)
{
	struct convert_command asked = {.config = {.threads = dataset_threads(),
						   .stop = &convert_stop,
						   .progress = progress_show_of}};
	struct convert_result result;
	struct error err = {0};
	int status;

	argument_read(self, argc, argv, &asked);
	if (asked.repack.shard_size == 0)
		asked.repack.shard_size = SHARD_USUAL;
	asked.config.quality = asked.quality > 0 ? (int)asked.quality : CONVERT_QUALITY;
	asked.config.arg = &asked.progress;
	signals_take(SIGINT, convert_ask_to_stop, 0);
	signals_take(SIGTERM, convert_ask_to_stop, 0);
	signals_take(SIGHUP, convert_ask_to_stop, 0);
	if (new_folder_check_outside(asked.config.to, asked.config.from, &err) < 0)
		return cmd_fail(&err);
	if (asked.given && unpack_claims(asked.config.from, asked.repack.prep)) {
		progress_begin(&asked.progress, "archives", 0);
		status = convert_unpack(&asked, &err);
		return status < 0 ? cmd_fail(&err) : status;
	}
	if (asked.given)
		convert_warn_of_archives(asked.config.from);
	progress_begin(&asked.progress, "samples", 0);
	status = asked.given ? convert_repack(&asked, &result, &err)
			     : convert_run(&asked.config, &result, &err);
	progress_clear();
	if (status < 0)
		return cmd_fail(&err);
	status = (asked.json ? convert_print_json : convert_print_text)(&asked.config,
									&result);
	convert_result_free(&result);
	return status;
}

const struct command command_dataset_convert = {
	.name = "convert",
	.summary = "make a copy with smaller pictures, or in another form",
	.arguments = arguments,
	.check = convert_check,
	.doc = "Copy the data set FROM to TO, which must not exist or be empty: a "
	       "folder "
	       "per class with smaller pictures (--resize), or any data set in another "
	       "form (--format), which goes on where it was interrupted.\vSmaller "
	       "pictures are decoded faster and read faster; random crops of them have "
	       "less detail. Shards are read faster from slow storage.",
	.run = convert_main,
};
