/* dataset_make.c - dsa dataset make: a data set with a given size law. */
#include "cmd/common/argument.h"
#include "cmd/common/cmd.h"
#include "cmd/common/progress.h"
#include "cmd/common/signals.h"
#include "cmd/dataset/dataset.h"
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/base/number.h"
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
	unsigned format; /* 1: list */
	bool json;
};

enum { KEY_SIZE_MEAN = 256, KEY_FORMAT, KEY_THREADS, KEY_JSON, KEY_QUALITY };

static const struct argp_option make_options[] = {
	{"count", 'n', "N", 0, "Make N pictures (default 1000)", 0},
	{"seed", 's', "N", 0, "Draw other pictures (default 0)", 0},
	{"size-mean", KEY_SIZE_MEAN, "SIZE", 0,
	 "Mean size of the files, 4K to 4M (default 110K, as in ImageNet)", 0},
	{"classes", 'c', "N", 0, "Of N classes, up to 100 (default 10)", 0},
	{"format", KEY_FORMAT, "tree|list", 0,
	 "One folder per class (default), or a list of 'path label'", 0},
	{"quality", KEY_QUALITY, "N", 0, "Quality of JPEG, 1 to 100 (default 91)", 0},
	{"threads", KEY_THREADS, "N", 0, "Draw in N threads (default: one a core)", 0},
	{"json", KEY_JSON, NULL, 0, "Say what was made in JSON", 0},
	{0},
};

static void parse_size(struct argp_state *state, const char *arg, double *size)
{
	uint64_t bytes;

	if (!number_size(arg, &bytes) || (double)bytes < MAKE_SMALLEST ||
	    (double)bytes > MAKE_LARGEST)
		argp_error(state, "--size-mean is 4K to 4M, not '%s'", arg);
	else
		*size = (double)bytes;
}

static const struct argument make_arguments[] = {
#define NUMBER(key, member, most) ARGUMENT_NUMBER(make, key, member, 1, most)
	NUMBER('n', config.count, 100000000),
	ARGUMENT(make, 's', WHOLE, config.seed),
	NUMBER('c', config.classes, MAKE_CLASSES),
	ARGUMENT(make, KEY_FORMAT, WORD, format),
	NUMBER(KEY_QUALITY, config.quality, 100),
	NUMBER(KEY_THREADS, config.threads, 1024),
	ARGUMENT(make, KEY_JSON, FLAG, json),
	{0},
#undef NUMBER
};

static error_t parse_make(int key, char *arg, struct argp_state *state)
{
	struct make *make = state->input;
	struct make_config *config = &make->config;

	switch (key) {
	case KEY_SIZE_MEAN:
		parse_size(state, arg, &config->size_mean);
		return 0;
	case ARGP_KEY_ARG:
		if (config->dir != NULL)
			argp_error(state, "one DIR at a time");
		config->dir = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which DIR is to hold the pictures?");
		return 0;
	default:
		return argument_take(make_options, make_arguments, key, arg, state);
	}
}

static const struct argp make_argp = {
	.options = make_options,
	.parser = parse_make,
	.args_doc = "DIR",
	.doc = "Make a data set of JPEG pictures in DIR, which must not exist or be "
	       "empty.\vThe pictures show surfaces with patterns, a pattern a class, "
	       "and can be learnt; the same options make the same bytes.",
};

static void show_made(void *arg, uint32_t made)
{
	progress_show(arg, made);
}

static void dataset_make_print_json(const struct make_config *config,
				    const struct make_result *result)
{
	char name[256];
	json_t *json = json_pack(
		"{s:s, s:I, s:I, s:I, s:f, s:s, s:I, s:i, s:f, s:f}", "path",
		name_escape(config->dir, name, sizeof(name)), "images",
		(json_int_t)config->count, "classes", (json_int_t)config->classes,
		"bytes", (json_int_t)result->bytes, "size_mean_bytes",
		(double)result->bytes / config->count, "format",
		config->list ? "list" : "tree", "seed", (json_int_t)config->seed,
		"quality", config->quality, "wall_s", result->seconds, "images_per_s",
		config->count / result->seconds);

	cmd_print_json(json, 9);
}

static void dataset_make_print_text(const struct make_config *config,
				    const struct make_result *result)
{
	char name[256];

	printf("%s: %u pictures of %u classes, %.1f MB, mean %.1f KB, in %.1f s "
	       "(%.0f a second)\n",
	       name_escape(config->dir, name, sizeof(name)), config->count,
	       config->classes, (double)result->bytes / 1e6,
	       (double)result->bytes / config->count / 1e3, result->seconds,
	       config->count / result->seconds);
}

static int run_make(int argc, char **argv)
{
	struct make make = {.config = {.count = 1000,
				       .size_mean = 110e3,
				       .classes = 10,
				       .quality = 91,
				       .threads = dataset_threads(),
				       .stop = &stop,
				       .progress = show_made}};
	struct make_result result;
	struct progress progress;
	struct error err = {0};
	int status;

	argp_parse(&make_argp, argc, argv, 0, NULL, &make);
	make.config.list = make.format == 1;
	signals_take(SIGINT, ask_to_stop, 0);
	signals_take(SIGTERM, ask_to_stop, 0);
	progress_begin(&progress, "pictures", make.config.count);
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
	.summary = "make JPEG pictures that can be learnt, of a given mean size",
	.argp = &make_argp,
	.run = run_make,
};
