/* dataset_make.c - dsa dataset make: a data set with a given size law. */
#include "cmd/common/argument.h"
#include "cmd/common/cmd.h"
#include "cmd/common/progress.h"
#include "cmd/common/signals.h"
#include "cmd/dataset/dataset.h"
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/base/number.h"
#include "profiler/dataset/archive/shard_form.h"
#include "profiler/dataset/make.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>

static atomic_bool stop;

static void ask_to_stop(int signal)
{
	(void)signal;
	atomic_store(&stop, true);
}

struct make {
	struct make_config config;
	unsigned format, wide; /* wide: tokens of 32 bits */
	bool json;
};

static void make_set_size(struct argp_state *state, void *size, const char *value)
{
	uint64_t bytes;

	if (!number_size(value, &bytes) || (double)bytes < MAKE_SMALLEST ||
	    (double)bytes > MAKE_LARGEST)
		argument_error(state, "--size-mean is 4K to 4M, not '%s'", value);
	else
		*(double *)size = (double)bytes;
}

#define TO(kind, member)     ARGUMENT(make, kind, member)
#define NUMBER(member, most) ARGUMENT_NUMBER(make, member, 1, most)

static const struct argument arguments[] = {
	{"count", 'n', "N", NUMBER(config.count, 100000000),
	 "Make N pictures, recordings or files of tokens (default 1000)"},
	{"seed", 's', "N", TO(WHOLE, config.seed), "Draw others (default 0)"},
	{"size-mean", 0, "SIZE", ARGUMENT_BY(make, config.size_mean, make_set_size),
	 "Mean size of the files, 4K to 4M (default 110K, as in ImageNet)"},
	{"classes", 'c', "N", NUMBER(config.classes, MAKE_CLASSES),
	 "Number of classes, up to 100 (default 10)"},
	{"format", 0, "tree|list|tar|tfrecord|audio|tokens", TO(WORD, format),
	 "Folders of pictures, one a class (default), a list of 'path label', shards; "
	 "folders of recordings or tokens"},
	{"quality", 0, "N", NUMBER(config.quality, 100),
	 "Quality of JPEG, 1 to 100 (default 91)"},
	{"shard-size", 0, "SIZE",
	 ARGUMENT_BY(make, config.shard_size, dataset_set_shard),
	 "Samples in a shard, in bytes (default 32M); each thread holds one"},
	{"token-bits", 0, "16|32", TO(WORD, wide), "Bits of a token (default 16)"},
	{"threads", 0, "N", NUMBER(config.threads, 1024),
	 "Draw in N threads (default: one a core)"},
	{"json", 0, NULL, TO(FLAG, json), "Say what was made in JSON"},
	{NULL, 0, "DIR", TO(ONE, config.dir), "which DIR is to hold the data set?"},
	{0},
};

static const char *const formats[] = {
	[MAKE_TREE] = "tree",         [MAKE_LIST] = "list",   [MAKE_TAR] = "tar",
	[MAKE_TFRECORD] = "tfrecord", [MAKE_AUDIO] = "audio", [MAKE_TOKENS] = "tokens"};

static void dataset_make_print_json(const struct make_config *config,
				    const struct make_result *result)
{
	bool audio = config->format == MAKE_AUDIO;
	bool tokens = config->format == MAKE_TOKENS;
	const char *what = audio ? "recordings" : tokens ? "files" : "images";
	char name[256], rate[32];
	json_t *json;

	snprintf(rate, sizeof(rate), "%s_per_s", what);
	json = json_pack(
		"{s:s, s:I, s:I, s:I, s:f, s:s, s:I, s:f, s:f}", "path",
		name_escape(config->dir, name, sizeof(name)), what,
		(json_int_t)config->count, "classes", (json_int_t)config->classes,
		"bytes", (json_int_t)result->bytes, "size_mean_bytes",
		(double)result->bytes / config->count, "format",
		formats[config->format], "seed", (json_int_t)config->seed, "wall_s",
		result->seconds, rate, config->count / result->seconds);
	if (tokens)
		json_object_set_new(json, "token_bits",
				    json_integer(config->token_bits));
	else if (!audio)
		json_object_set_new(json, "quality", json_integer(config->quality));
	cmd_print_json(json, 9);
}

static void dataset_make_print_text(const struct make_config *config,
				    const struct make_result *result)
{
	char name[256];

	printf("%s: %u %s of %u class%s, %.1f MB, mean %.1f KB, in %.1f s "
	       "(%.0f a second)\n",
	       name_escape(config->dir, name, sizeof(name)), config->count,
	       make_words(config->format, config->count), config->classes,
	       config->classes == 1 ? "" : "es", (double)result->bytes / 1e6,
	       (double)result->bytes / config->count / 1e3, result->seconds,
	       config->count / result->seconds);
}

static int run_make(const struct command *self, int argc, char **argv)
{
	struct make make = {.config = {.count = 1000,
				       .size_mean = 110e3,
				       .shard_size = SHARD_USUAL,
				       .classes = 10,
				       .quality = 91,
				       .threads = dataset_threads(),
				       .stop = &stop,
				       .progress = progress_show}};
	struct make_result result;
	struct progress progress;
	struct error err = {0};
	int status;

	argument_read(self, argc, argv, &make);
	make.config.format = (enum make_format)make.format;
	make.config.token_bits = make.wide != 0 ? 32 : 16;
	signals_take(SIGINT, ask_to_stop, 0);
	signals_take(SIGTERM, ask_to_stop, 0);
	signals_take(SIGHUP, ask_to_stop, 0);
	progress_begin(&progress, make_words(make.config.format, 0), make.config.count);
	make.config.arg = &progress;
	status = make_run(&make.config, &result, &err);
	progress_clear();
	if (status != 0)
		return cmd_fail(&err);
	(make.json ? dataset_make_print_json : dataset_make_print_text)(&make.config,
									&result);
	return 0;
}

const struct command command_dataset_make = {
	.name = "make",
	.summary = "make pictures, recordings or tokens that can be learnt",
	.arguments = arguments,
	.doc = "Make a data set in DIR, which must not exist or be empty.\vPictures "
	       "(JPEG) show surfaces with patterns, a pattern a class; recordings "
	       "(wav) are tones, a pitch a class; of tokens each class has other "
	       "frequent ones. All can be learnt; the same options make the same "
	       "bytes.",
	.run = run_make,
};
