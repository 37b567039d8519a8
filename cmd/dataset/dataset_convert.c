/* dataset_convert.c - dsa dataset convert: a copy with smaller pictures. */
#include "cmd/common/argument.h"
#include "cmd/common/cmd.h"
#include "cmd/common/progress.h"
#include "cmd/common/signals.h"
#include "cmd/dataset/dataset.h"
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/base/name.h"
#include "profiler/dataset/convert.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>

static atomic_bool convert_stop;

static void convert_ask_to_stop(int signal)
{
	(void)signal;
	atomic_store(&convert_stop, true);
}

struct convert_command {
	struct convert_config config;
	struct progress progress;
	unsigned quality;
	bool json;
};

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

static void convert_check(struct argp_state *state, void *asked)
{
	const struct convert_command *command = asked;

	if (state->arg_num < 2)
		argument_error(state, "from which folder to which?");
	else if (command->config.resize == 0)
		argument_error(state,
			       "how large are they to be? (--resize, such as 256)");
}

#define NUMBER(member, most) ARGUMENT_NUMBER(convert_command, member, 1, most)

static const struct argument arguments[] = {
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
		"{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "path",
		name_escape(config->to, name, sizeof(name)), "images",
		(json_int_t)result->samples, "resize", (json_int_t)config->resize,
		"resized", (json_int_t)result->resized, "broken",
		(json_int_t)result->broken, "quality", (json_int_t)config->quality,
		"bytes_before", (json_int_t)result->bytes_before, "bytes",
		(json_int_t)result->bytes, "wall_s", result->seconds);

	return cmd_print_json(json, 9);
}

static int convert_print_text(const struct convert_config *config,
			      const struct convert_result *result)
{
	char name[256];

	printf("%s: %u of %u pictures resized to %u pixels, %.1f MB instead of %.1f "
	       "MB, "
	       "in %.1f s\n",
	       name_escape(config->to, name, sizeof(name)), result->resized,
	       result->samples, config->resize, (double)result->bytes / 1e6,
	       (double)result->bytes_before / 1e6, result->seconds);
	for (uint32_t i = 0; i < result->broken && i < CONVERT_NAMED; i++)
		printf("broken: %s\n", result->named[i]);
	if (result->broken > CONVERT_NAMED)
		printf("broken: %u more; dsa dataset inspect lists them\n",
		       result->broken - CONVERT_NAMED);
	return 0;
}

static int convert_main(const struct command *self, int argc, char **argv)
{
	struct convert_command asked = {.config = {.threads = dataset_threads(),
						   .stop = &convert_stop,
						   .progress = progress_show_of},
					.quality = CONVERT_QUALITY};
	struct convert_result result;
	struct error err = {0};
	int status;

	argument_read(self, argc, argv, &asked);
	asked.config.quality = (int)asked.quality;
	asked.config.arg = &asked.progress;
	signals_take(SIGINT, convert_ask_to_stop, 0);
	signals_take(SIGTERM, convert_ask_to_stop, 0);
	progress_begin(&asked.progress, "pictures", 0);
	status = convert_run(&asked.config, &result, &err);
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
	.summary = "make a copy with smaller pictures",
	.arguments = arguments,
	.check = convert_check,
	.doc = "Copy the data set FROM, a folder per class, to TO, which must not "
	       "exist "
	       "or be empty, with smaller pictures.\vSmaller pictures are decoded "
	       "faster and read faster; random crops of them have less detail.",
	.run = convert_main,
};
