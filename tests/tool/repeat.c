/*
 * repeat.c - records timed repetitions of the example trainer, a JSON line each.
 *
 *	repeat [-o FILE] [-b SETTINGS] [-t OPTION] N SECONDS DATASET
 *	       [TRAINER'S OPTION...]
 *
 * N repetitions of SECONDS each. With -o they are appended to FILE, and those that it has
 * count: after an interruption the same words go on. With -b every second repetition, in
 * ABBA order, has these loader settings too (-b prep_delay=2ms): its "side" is 1. With -t
 * its trainer has this option too, behind all others (-t --emulate-gpu=500). DSA_LOADER is
 * of both sides. Metrics are those of models/gate/gate_metric.h.
 */
#include "loader/base/error.h"
#include "models/gate/gate_metric.h"
#include "profiler/run/ab_trial.h"

#include <err.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct record {
	const char *file;  /* NULL: standard output */
	const char *other; /* settings of side 1; NULL: none beside the others' */
	const char *other_option; /* its trainer's; NULL: none */
	char *loaders[2];
	char **commands[2];
	unsigned count;
	struct measure_config config;
	double seconds;
};

/* Lines that a file has; half of a line at its end is cut off. */
static unsigned lines_of(int fd)
{
	unsigned lines = 0;
	off_t whole = 0, at = 0;
	char text[1 << 16];
	ssize_t length;

	while ((length = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < length; i++) {
			at++;
			if (text[i] != '\n')
				continue;
			lines++;
			whole = at;
		}
	if (length < 0 || (whole < at && ftruncate(fd, whole) < 0))
		err(3, "what was recorded");
	return lines;
}

static void set(json_t *line, const char *key, double value)
{
	if (isfinite(value))
		json_object_set_new(line, key, json_real(value));
}

static char *line_of(const struct profile *profile, unsigned index, unsigned side)
{
	json_t *line = json_object();
	double values[GATE_METRICS];
	char *text;

	json_object_set_new(line, "index", json_integer(index));
	json_object_set_new(line, "side", json_integer(side));
	if (profile->started != NULL)
		json_object_set_new(line, "started", json_string(profile->started));
	set(line, "wall_s", profile->wall_s);
	gate_metric_timed(profile, values);
	for (int i = 0; i < GATE_METRICS; i++)
		set(line, gate_metrics[i].name, values[i]);
	set(line, "cached_per_s", profile->rates[TRACE_CACHED].value);
	set(line, "synthetic_per_s", profile->rates[TRACE_SYNTHETIC].value);
	text = json_dumps(line, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(6));
	json_decref(line);
	return text;
}

/* In one piece, so that no half of it is read. */
static void append(int fd, const struct profile *profile, unsigned index, unsigned side)
{
	char *text = line_of(profile, index, side), *line;
	int length = text == NULL ? -1 : asprintf(&line, "%s\n", text);

	if (length < 0 || write(fd, line, (size_t)length) != length)
		err(3, "recording");
	free(line);
	free(text);
}

static int repeat(const struct record *record, int fd, unsigned index,
		  struct error *error)
{
	bool sides = record->other != NULL || record->other_option != NULL;
	unsigned side = sides ? ab_trial_side(index) : 0;
	struct measure_config config = record->config;
	const struct short_run repetition = {
		.config = &config, .seconds = record->seconds, .tries = AB_TRIAL_TRIES};
	struct profile profile;
	int result;

	config.startup.loader = record->loaders[side];
	config.startup.command = record->commands[side];
	config.seed = sides ? index / 2 : index;
	profile_init(&profile);
	result = short_run_time(&repetition, &profile, error);
	if (result == 0)
		append(fd, &profile, index, side);
	profile_free(&profile);
	return result;
}

static int repeat_all(const struct record *record, int fd)
{
	unsigned index = record->file == NULL ? 0 : lines_of(fd);
	int result = 0;

	for (; result == 0 && index < record->count; index++) {
		struct error error = {0};

		result = repeat(record, fd, index, &error);
		if (result < 0)
			warnx("repetition %u: %s", index, error.message);
	}
	return result;
}

/* The trainer of the same build. */
static char *trainer(void)
{
	char self[PATH_MAX], *path;
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length < 0)
		err(3, "where this program lies");
	self[length] = '\0';
	for (int up = 0; up < 3; up++)
		*strrchr(self, '/') = '\0';
	if (asprintf(&path, "%s/examples/train", self) < 0)
		err(3, "the trainer's name");
	return path;
}

/* last: one more option, or NULL. */
static char **command_of(char *dataset, char **options, int count, const char *last)
{
	char **command = calloc((size_t)count + 5, sizeof(*command));

	if (command == NULL)
		err(3, "the trainer's words");
	command[0] = trainer();
	command[1] = strdup("--dataset");
	command[2] = dataset;
	memcpy(command + 3, options, (size_t)count * sizeof(*command));
	if (last != NULL)
		command[count + 3] = strdup(last);
	return command;
}

static void set_loaders(struct record *record)
{
	const char *both = getenv("DSA_LOADER");

	both = both == NULL ? "" : both;
	if (asprintf(&record->loaders[0], "%s", both) < 0 ||
	    asprintf(&record->loaders[1], "%s%s%s", both, *both != '\0' ? "," : "",
		     record->other == NULL ? "" : record->other) < 0)
		err(3, "the loader's settings");
}

int main(int argc, char **argv)
{
	const char *temporary = getenv("TMPDIR");
	struct record record = {.config = {.timeout_s = 60,
					   .grace_s = 10,
					   .startup.output_aside = true}};
	char folder[PATH_MAX];
	int option, fd = STDOUT_FILENO, result;

	while ((option = getopt(argc, argv, "+o:b:t:")) != -1)
		switch (option) {
		case 'o':
			record.file = optarg;
			break;
		case 'b':
			record.other = optarg;
			break;
		case 't':
			record.other_option = optarg;
			break;
		default:
			return 2;
		}
	if (argc - optind < 3)
		errx(2, "usage: repeat [-o FILE] [-b SETTINGS] [-t OPTION] N SECONDS "
			"DATASET [TRAINER'S OPTION...]");
	record.count = (unsigned)strtoul(argv[optind], NULL, 10);
	record.seconds = strtod(argv[optind + 1], NULL);
	for (int side = 0; side < 2; side++)
		record.commands[side] = command_of(
			argv[optind + 2], argv + optind + 3, argc - optind - 3,
			side == 1 ? record.other_option : NULL);
	set_loaders(&record);
	if (record.file != NULL)
		fd = open(record.file, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		err(3, "%s", record.file);
	snprintf(folder, sizeof(folder), "%s/repeat-XXXXXX",
		 temporary == NULL ? "/tmp" : temporary);
	if (mkdtemp(folder) == NULL)
		err(3, "%s", folder);
	record.config.folder = folder;
	result = repeat_all(&record, fd);
	rmdir(folder);
	return result < 0 ? 3 : 0;
}
