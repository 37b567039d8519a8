/* bench.c - dsa bench fetch|prep|ring|copy: one stage of the loader alone. */
#include "cmd/common/cmd.h"
#include "cmd/common/progress.h"
#include "cmd/common/settings.h"
#include "loader/base/error.h"
#include "loader/loader.h"
#include "loader/options.h"
#include "profiler/bench/bench_stage.h"
#include "reports/common/escape.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench {
	struct settings settings;
	struct options options; /* settings, DSA_LOADER and defaults together */
	bool json;
};

enum { DEPTHS = 6, MILLION = 1000000, DIGITS = 6 /* in JSON */ };

/* What acts where batches are ready. */
#define ALL_BUT_BATCHES                                                                \
	~(1u << SETTING_BATCH | 1u << SETTING_CORES | 1u << SETTING_PREFETCH |         \
	  1u << SETTING_STEPS)

static const struct argument arguments[] = {
	{"json", 0, NULL, ARGUMENT(bench, FLAG, json), "Print the figures as JSON"},
	SETTINGS(bench),
};

/*
 * Brings options and environment together; `config` holds the command's own defaults.
 * Returns 0 or the exit status.
 */
static int bench_begin(struct bench *bench, const struct dsa_config *config,
		       const struct command *self, int argc, char **argv)
{
	struct error err = {0};
	char *text;

	argument_read(self, argc, argv, bench);
	text = settings_loader(&bench->settings, getenv("DSA_LOADER"));
	if (text == NULL || setenv("DSA_LOADER", text, 1) < 0)
		error_sys(&err, ENOMEM, "cannot read the options");
	else
		options_resolve(&bench->options, config, text, &err);
	free(text);
	if (err.code != 0)
		return cmd_refuse(&err);
	return settings_take_cores(&bench->settings, &err) < 0 ? cmd_fail(&err) : 0;
}

/* A path may hold any bytes, JSON only Unicode. */
static json_t *path_json(const char *path)
{
	char *clean = escape_utf8(path);
	json_t *text = clean != NULL ? json_string(clean) : NULL;

	free(clean);
	return text;
}

static json_t *work_json(const struct bench_work *work)
{
	return json_pack("{s:I,s:I,s:I,s:f,s:f,s:I,s:f,s:f,s:f}", "samples",
			 (json_int_t)work->samples, "bytes", (json_int_t)work->bytes,
			 "failures", (json_int_t)work->failures, "wall_s",
			 work->seconds, "cpu_s", work->cpu_seconds, "storage_bytes",
			 (json_int_t)work->storage_bytes, "samples_per_s",
			 work->samples_per_s, "bytes_per_s", work->bytes_per_s,
			 "samples_per_cpu_s", work->samples_per_cpu_s);
}

static void name_failures(const struct bench_work *work)
{
	if (work->failures > 0)
		fprintf(stderr, "samples that could not be used: %" PRIu64 "\n",
			work->failures);
}

/* ---- fetch ---- */

static int fetch_json(const struct bench *bench, const struct bench_fetch *stage,
		      const unsigned *depths, const struct bench_work *work,
		      unsigned count)
{
	json_t *points = json_array();

	for (unsigned i = 0; i < count; i++) {
		json_t *point = work_json(&work[i]);

		json_object_set_new(point, "depth", json_integer(depths[i]));
		json_array_append_new(points, point);
	}
	return cmd_print_json(json_pack("{s:s,s:o,s:s,s:s,s:s,s:o}", "stage", "fetch",
					"dataset", path_json(bench->options.dataset),
					"cache", bench->options.cache, "engine",
					bench_fetch_facts(stage).engine, "reason",
					bench_fetch_facts(stage).reason, "points",
					points),
			      DIGITS);
}

static void fetch_line(unsigned depth, const struct bench_work *work)
{
	printf("%5u %9.1f %12.0f %14.1f %14.1f\n", depth, work->bytes_per_s / MILLION,
	       work->samples_per_s, MILLION / work->samples_per_cpu_s,
	       (double)work->storage_bytes / MILLION);
	fflush(stdout);
}

static int measure_fetch(const struct bench *bench, struct bench_fetch *stage,
			 struct error *err)
{
	unsigned depths[DEPTHS] = {1, 2, 4, 8, 16, 32}, count = DEPTHS;
	struct bench_work work[DEPTHS];
	int rc = 0;

	if (bench->settings.given[SETTING_FETCH_DEPTH] != NULL) {
		depths[0] = bench->options.fetch_depth;
		count = 1;
	}
	fprintf(stderr, "%s\n", bench_fetch_facts(stage).reason);
	if (!bench->json)
		printf("%5s %9s %12s %14s %14s\n", "depth", "MB/s", "samples/s",
		       "CPU us/sample", "MB of storage");
	for (unsigned i = 0; rc == 0 && i < count; i++) {
		rc = bench_fetch_run(stage, depths[i],
				     bench->settings.steps * bench->options.batch,
				     &work[i], err);
		if (rc == 0 && !bench->json)
			fetch_line(depths[i], &work[i]);
		if (rc == 0)
			name_failures(&work[i]);
	}
	if (rc < 0)
		return cmd_fail(err);
	return bench->json ? fetch_json(bench, stage, depths, work, count) : 0;
}

static int run_fetch(const struct command *self, int argc, char **argv)
{
	struct bench bench = {0};
	const struct dsa_config config = {.cache = "none", .cache_size = "0"};
	struct bench_fetch *stage;
	struct error err = {0};
	int status;

	status = bench_begin(&bench, &config, self, argc, argv);
	if (status != 0)
		return status;
	if (strcmp(bench.options.cache, "none") != 0 &&
	    strcmp(bench.options.cache, "page") != 0) {
		error_set(&err, EINVAL,
			  "bench fetch has no cache of its own: --cache-policy is none "
			  "or page, not '%s'",
			  bench.options.cache);
		return cmd_refuse(&err);
	}
	if (strcmp(bench.options.cache, "none") == 0 &&
	    (strcmp(bench.options.fetch, "pread") == 0 ||
	     strcmp(bench.options.fetch, "uring") == 0)) {
		error_set(&err, EINVAL,
			  "%s reads through the page cache, whatever that holds: "
			  "--cache-policy=page, or --fetch=%s-direct",
			  bench.options.fetch, bench.options.fetch);
		return cmd_refuse(&err);
	}
	stage = bench_fetch_open(&bench.options,
				 bench.settings.steps * bench.options.batch, &err);
	if (stage == NULL)
		return cmd_fail(&err);
	status = measure_fetch(&bench, stage, &err);
	bench_fetch_close(stage);
	return status;
}

static const struct command command_fetch = {
	.name = "fetch",
	.summary = "what the storage gives, by reads in flight",
	.arguments = arguments,
	.unfit = 1u << SETTING_WORKERS | 1u << SETTING_CACHE | 1u << SETTING_CACHE_DIR |
		 1u << SETTING_PREFETCH | 1u << SETTING_READ_GAP | 1u << SETTING_DELAY,
	.doc = "Read samples as fast as storage gives them, past the page cache or, "
	       "with --cache-policy=page, from it.",
	.run = run_fetch,
};

/* ---- prep ---- */

static int prep_json(const struct bench *bench, const struct bench_prep *prep)
{
	json_t *all = work_json(&prep->work);
	json_t *more = json_pack(
		"{s:s,s:o,s:I,s:I,s:i,s:i}", "stage", "prep", "dataset",
		path_json(bench->options.dataset), "dataset_samples",
		(json_int_t)prep->dataset_samples, "batches", (json_int_t)prep->batches,
		"batch", (int)bench->options.batch, "workers", (int)prep->workers);

	if (all != NULL)
		json_object_update(all, more);
	json_decref(more);
	return cmd_print_json(all, DIGITS);
}

static void prep_text(const struct bench_prep *prep)
{
	const struct bench_work *work = &prep->work;

	printf("%-18s%12u\n", "workers", prep->workers);
	printf("%-18s%12" PRIu64 "\n", "samples", work->samples);
	printf("%-18s%12.1f\n", "samples/s", work->samples_per_s);
	printf("%-18s%12.1f\n", "samples/CPU s", work->samples_per_cpu_s);
	printf("%-18s%12.1f\n", "MB of storage", (double)work->storage_bytes / MILLION);
}

static void bench_show(void *context, double share)
{
	progress_show(context, (size_t)(share * 100));
}

static int run_prep(const struct command *self, int argc, char **argv)
{
	const struct dsa_config config = {0};
	struct bench_prep_config asked = {.progress = bench_show};
	struct bench_prep prep = {0};
	struct bench bench = {0};
	struct progress progress;
	struct error err = {0};
	int status;

	status = bench_begin(&bench, &config, self, argc, argv);
	if (status != 0)
		return status;
	progress_begin(&progress, "percent", 100);
	asked.options = &bench.options;
	asked.batches = bench.settings.steps;
	asked.context = &progress;
	status = bench_prep_run(&asked, &prep, &err);
	progress_clear();
	if (status < 0)
		return cmd_fail(&err);
	name_failures(&prep.work);
	if (bench.json)
		return prep_json(&bench, &prep);
	prep_text(&prep);
	return 0;
}

static const struct command command_prep = {
	.name = "prep",
	.summary = "how fast batches are prepared from files in memory",
	.arguments = arguments,
	.doc = "Prepare batches from files in the page cache: opened, read, decoded, "
	       "cropped, resized, flipped, normalised, through the ring.",
	.run = run_prep,
};

/* ---- ring ---- */

static int ring_json(const struct bench_ring *ring)
{
	return cmd_print_json(
		json_pack("{s:s,s:I,s:I,s:f,s:f,s:f,s:f,s:f,s:b}", "stage", "ring",
			  "batches", (json_int_t)ring->batches, "batch_bytes",
			  (json_int_t)ring->batch_bytes, "wall_s", ring->seconds,
			  "cpu_s", ring->cpu_seconds, "batches_per_s",
			  ring->batches_per_s, "batch_p50_s", ring->p50_s,
			  "batch_p99_s", ring->p99_s, "huge_pages", (int)ring->huge),
		DIGITS);
}

static void ring_text(const struct bench_ring *ring)
{
	printf("%-18s%12.1f\n", "MB a batch", (double)ring->batch_bytes / MILLION);
	printf("%-18s%12.0f\n", "batches/s", ring->batches_per_s);
	printf("%-18s%12.1f\n", "us a batch, p50", ring->p50_s * MILLION);
	printf("%-18s%12.1f\n", "us a batch, p99", ring->p99_s * MILLION);
	printf("%-18s%12s\n", "huge pages", ring->huge ? "yes" : "no");
}

static int run_ring(const struct command *self, int argc, char **argv)
{
	struct bench bench = {0};
	const struct dsa_config config = {.dataset = "synthetic"};
	struct bench_ring ring = {0};
	struct error err = {0};
	int status;

	status = bench_begin(&bench, &config, self, argc, argv);
	if (status != 0)
		return status;
	if (bench_ring_run(&bench.options, bench.settings.steps, &ring, &err) < 0)
		return cmd_fail(&err);
	if (bench.json)
		return ring_json(&ring);
	ring_text(&ring);
	return 0;
}

static const struct command command_ring = {
	.name = "ring",
	.summary = "how fast finished batches change hands",
	.arguments = arguments,
	.unfit = ALL_BUT_BATCHES,
	.doc = "Hand batches that are ready from one thread to another, in place.",
	.run = run_ring,
};

/* ---- copy ---- */

static json_t *copy_way_json(const struct bench_copy_way *way)
{
	return json_pack("{s:s,s:I,s:f,s:f,s:f,s:f}", "transfer", way->transfer,
			 "batch_bytes", (json_int_t)way->batch_bytes, "wall_s",
			 way->seconds, "copy_bytes_per_s", way->bytes_per_s,
			 "limit_bytes_per_s", way->limit_bytes_per_s, "samples_per_s",
			 way->samples_per_s);
}

static int copy_json(const struct bench_copy *copy)
{
	json_t *points = json_array();

	for (int i = 0; i < 2; i++)
		if (copy->ways[i].transfer != NULL)
			json_array_append_new(points, copy_way_json(&copy->ways[i]));
	return cmd_print_json(json_pack("{s:s,s:s,s:I,s:b,s:b,s:o}", "stage", "copy",
					"device", copy->device, "batches",
					(json_int_t)copy->batches, "huge_pages",
					(int)copy->huge, "unpinned",
					(int)copy->unpinned, "points", points),
			      DIGITS);
}

static void copy_text(const struct bench_copy *copy)
{
	printf("%-18s%12s\n", "device", copy->device);
	printf("%-18s%12s\n", "huge pages", copy->huge ? "yes" : "no");
	printf("%-18s%12s\n", "pinned", copy->unpinned ? "no" : "yes");
	for (int i = 0; i < 2; i++) {
		const struct bench_copy_way *way = &copy->ways[i];

		if (way->transfer == NULL)
			continue;
		printf("%-7s%-11s%12.1f\n", way->transfer, "MB/s",
		       way->bytes_per_s / MILLION);
		printf("%-7s%-11s%12.1f\n", way->transfer, "at most",
		       way->limit_bytes_per_s / MILLION);
		printf("%-7s%-11s%12.0f\n", way->transfer, "samples/s",
		       way->samples_per_s);
	}
}

static int run_copy(const struct command *self, int argc, char **argv)
{
	struct bench bench = {0};
	const struct dsa_config config = {.dataset = "synthetic", .device = "cuda"};
	struct bench_copy copy;
	struct error err = {0};
	int status;

	status = bench_begin(&bench, &config, self, argc, argv);
	if (status != 0)
		return status;
	if (bench_copy_run(&bench.options, bench.settings.steps, &copy, &err) < 0)
		return cmd_fail(&err);
	if (bench.json)
		return copy_json(&copy);
	copy_text(&copy);
	return 0;
}

static const struct command command_copy = {
	.name = "copy",
	.summary = "how fast batches get to a device",
	.arguments = arguments,
	.unfit = ALL_BUT_BATCHES,
	.doc = "Copy batches from the ring to a device, as bytes and as they are "
	       "delivered, "
	       "and from memory of the driver's own.",
	.run = run_copy,
};

static const struct command *const below[] = {&command_fetch, &command_prep,
					      &command_ring, &command_copy, NULL};

const struct command command_bench = {
	.name = "bench",
	.summary = "measure one stage of the loader alone",
	.below = below,
};
