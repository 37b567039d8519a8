/* dataset_inspect.c - dsa dataset inspect: what a data set holds. */
#include "cmd/common/argument.h"
#include "cmd/common/cmd.h"
#include "cmd/common/progress.h"
#include "cmd/dataset/dataset.h"
#include "cmd/dataset/inspect_print.h"
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/prep.h"
#include "profiler/dataset/inspect.h"

#include <stddef.h>

struct inspect_command {
	struct inspect_config config;
	struct progress progress;
	unsigned wide; /* tokens are of 32 bits */
	bool json;
};

#define TEXT(member) ARGUMENT(inspect_command, TEXT, member)

static const struct argument arguments[] = {
	{"full", 0, NULL, ARGUMENT(inspect_command, FLAG, config.full),
	 "Decode every picture or recording whole, to find all broken ones"},
	{"prep", 0, "image|audio|tokens", ARGUMENT(inspect_command, NAME, config.prep),
	 "What its samples are (default: the first of these that there are)"},
	{"length", 0, "N",
	 ARGUMENT_NUMBER(inspect_command, config.length, 1, LIMIT_LENGTH),
	 "Tokens of a window, which has one more (default 1024)"},
	{"token-bits", 0, "16|32", ARGUMENT(inspect_command, WORD, wide),
	 "Bits of a token in files whose names do not say (default 16)"},
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

static int run_inspect(const struct command *self, int argc, char **argv)
{
	struct inspect_command command = {.config = {.threads = dataset_threads(),
						     .length = prep_defaults.length,
						     .progress = show_done}};
	struct error err = {0};
	struct inspect result;
	int status;

	command.config.arg = &command.progress;
	argument_read(self, argc, argv, &command);
	command.config.token_bits = command.wide != 0 ? 32 : 16;
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
	       "shards, a bucket or web server, holds: classes, sizes, kinds of JPEG "
	       "or of recordings, tokens, broken files.",
	.run = run_inspect,
};
