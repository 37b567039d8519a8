/* rig.c - makes data sets and pipelines, and the batches that are to come. */
#include "tests/lib/rig.h"
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "loader/cache.h"
#include "loader/prep.h"
#include "loader/source.h"
#include "tests/lib/shard.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char rig_good[TREE_PATH], rig_bad[TREE_PATH], rig_none[TREE_PATH];
static char home[TREE_PATH]; /* where indexes are kept */

const uint32_t rig_lengths[RIG_PASSES] = {1, 7, 8, 28, 1, 28, 7, 14, 2};
const uint32_t rig_whole[1] = {RIG_FILES};

/* Global positions in these passes whose samples are bad: all of the first pass, the
 * ends of the others, a whole batch, and some. */
static const uint32_t bad_at[] = {0,  7,  15, 16, 17, 18, 19, 20, 21, 22, 26,
				  43, 44, 50, 55, 72, 75, 79, 91, 92, 93, 95};

bool rig_bad_file[RIG_FILES];
const bool rig_no_bad_file[RIG_FILES];

/* The samples of the data set `good` in one file, some of them with a gap behind. */
const char rig_one_file[] = "one.shard";
static struct shard_member members[RIG_FILES];

static void make_shard(void)
{
	char path[TREE_PATH + sizeof(rig_one_file) + 1];
	uint64_t at = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", home, rig_one_file);
	file = fopen(path, "w");
	assert_non_null(file);
	for (unsigned i = 0; i < RIG_FILES; i++) {
		members[i] = (struct shard_member){at, 3};
		at += 3 + i % 5;
		fprintf(file, "%03u%.*s", i, (int)(i % 5), "gaps");
	}
	fclose(file);
}

int rig_setup(void **state)
{
	char path[32], text[16];
	struct passes passes;

	(void)state;
	tree_make(home);
	setenv("XDG_CACHE_HOME", home, 1);
	tree_make(rig_good);
	tree_make(rig_bad);
	tree_make(rig_none);
	passes_init(&passes, RIG_FILES, rig_lengths, RIG_PASSES);
	for (size_t i = 0; i < sizeof(bad_at) / sizeof(bad_at[0]); i++)
		rig_bad_file[passes_sample(&passes, bad_at[i])] = true;
	for (unsigned i = 0; i < RIG_FILES; i++) {
		snprintf(path, sizeof(path), "/a/%03u.jpg", i);
		snprintf(text, sizeof(text), "%03u", i);
		tree_put(rig_good, path, text);
		tree_put(rig_bad, path, rig_bad_file[i] ? "" : text);
		tree_put(rig_none, path, "");
	}
	make_shard();
	return 0;
}

int rig_teardown(void **state)
{
	(void)state;
	tree_remove(rig_good);
	tree_remove(rig_bad);
	tree_remove(rig_none);
	tree_remove(home);
	return 0;
}

static void open_parts(struct rig *rig, const char *dataset, const char *settings)
{
	const struct source_config source = {0};
	struct dsa_config config = {.dataset = dataset,
				    .batch = RIG_BATCH,
				    .workers = 3,
				    .fetch_depth = 4,
				    .fetch = "pread",
				    .size = 1,
				    .type = DSA_UINT8,
				    .prep = "raw",
				    .cache = "none"};

	assert_int_equal(options_resolve(&rig->options, &config, settings, NULL), 0);
	rig->source = dataset == rig_one_file
			      ? shard_open(home, rig_one_file, members, RIG_FILES)
			      : source_open(dataset, &source, NULL);
	assert_non_null(rig->source);
	assert_int_equal(source_count(rig->source), RIG_FILES);
	rig->cache = cache_open(rig->options.cache, RIG_FILES, rig->options.cache_bytes,
				NULL);
	rig->prep = prep_open(&rig->options.image, NULL);
	rig->process = calloc(1, sizeof(*rig->process));
	assert_true(rig->cache != NULL && rig->prep != NULL && rig->process != NULL);
}

struct rig *rig_new(const char *dataset, const char *settings, const uint32_t *lengths,
		    uint32_t count)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	open_parts(rig, dataset, settings);
	passes_init(&rig->passes, RIG_FILES, lengths, count);
	sink_init(&rig->sink, 4 * RIG_BATCH);
	return rig;
}

void rig_start(struct rig *rig, const struct pipeline_point *start)
{
	const struct pipeline_point first = {0};
	const struct pipeline_parts parts = {
		.options = &rig->options,
		.source = rig->source,
		.cache = rig->cache,
		.prep = rig->prep,
		.plan = &rig->passes.plan,
		.start = start != NULL ? *start : first,
		.sink = &rig->sink.base,
		.slots = SINK_SLOTS,
		.process = rig->process,
	};
	struct error err = {0};

	rig->pipeline = pipeline_open(&parts, &err);
	if (rig->pipeline == NULL)
		fail_msg("%s", err.message);
}

struct rig *rig_open(const char *dataset, const char *settings)
{
	struct rig *rig = rig_new(dataset, settings, rig_lengths, RIG_PASSES);

	rig_start(rig, NULL);
	return rig;
}

int rig_run(struct rig *rig, struct error *err)
{
	static const struct pipeline_turn stream = {.ops = &turn_stream,
						    .number = RIG_TURN};
	int status;

	pipeline_start(rig->pipeline, &stream);
	while ((status = pipeline_status(rig->pipeline, err)) == 0) {
		sink_wait(&rig->sink);
		pipeline_released(rig->pipeline);
	}
	return status;
}

void rig_close(struct rig *rig)
{
	pipeline_close(rig->pipeline);
	if (rig->sink.breach != NULL)
		fail_msg("broken: %s", rig->sink.breach);
	assert_int_equal(rig->passes.out_of_range, 0);
	sink_fini(&rig->sink);
	prep_close(rig->prep);
	cache_close(rig->cache);
	source_close(rig->source);
	free(rig->process);
	free(rig);
}

/* ---- what is to come ---- */

static void end_row(struct rig_row *row)
{
	for (uint32_t i = 0; i < row->count; i++)
		if (row->sample[i] != UINT32_MAX)
			row->sample[row->good++] = row->sample[i];
}

static void expect_batch(struct rig_row *row, const struct passes *passes,
			 const bool *is_bad, const struct plan_pass *pass)
{
	uint32_t first = row->position, end = first + row->count, donor;

	for (uint32_t i = 0; i < row->count; i++) {
		uint32_t sample = passes_sample(passes, pass->first + first + i);

		row->sample[i] =
			first + i < row->stolen || is_bad[sample] ? UINT32_MAX : sample;
	}
	for (uint32_t i = 0; i < row->count; i++) {
		if (row->sample[i] != UINT32_MAX)
			continue;
		donor = row->stolen > end ? row->stolen : end;
		for (; donor < pass->length && row->sample[i] == UINT32_MAX; donor++) {
			uint32_t sample = passes_sample(passes, pass->first + donor);

			row->stolen = donor + 1;
			row->sample[i] = is_bad[sample] ? UINT32_MAX : sample;
		}
	}
	row->position = end;
	end_row(row);
}

static void expect_pass(struct rig_expected *expected, const struct passes *passes,
			const bool *is_bad, uint32_t number)
{
	struct plan_pass pass;
	uint32_t at = 0, stolen = 0;

	plan_pass((struct plan *)(uintptr_t)&passes->plan, number, &pass);
	while (at < pass.length) {
		struct rig_row *row = &expected->row[expected->rows++];

		*row = (struct rig_row){
			.pass = number, .position = at, .stolen = stolen};
		row->count =
			pass.length - at < RIG_BATCH ? pass.length - at : RIG_BATCH;
		expect_batch(row, passes, is_bad, &pass);
		at = row->position;
		stolen = row->stolen;
	}
}

void rig_expect(struct rig_expected *expected, const struct passes *passes,
		const bool *is_bad)
{
	expected->rows = 0;
	for (uint32_t pass = 0; pass < passes->count; pass++)
		expect_pass(expected, passes, is_bad, pass);
}

void rig_check_place(const struct sink *sink, uint32_t at)
{
	char text[8];

	snprintf(text, sizeof(text), "%03u", sink->place[at].sample);
	assert_memory_equal(sink->bytes[at], text, 3);
	assert_int_equal(sink->place[at].label, 0);
}

static void check_batch(const struct sink *sink, const struct sink_batch *batch,
			const struct rig_row *row)
{
	const struct batch_sink_batch *told = &batch->told;

	assert_int_equal(told->pass, row->pass);
	assert_int_equal(told->epoch, 100 + row->pass);
	assert_int_equal(told->position, row->position);
	assert_int_equal(told->step, (row->position - row->count) / RIG_BATCH);
	assert_int_equal(told->stolen, row->stolen);
	assert_int_equal(told->count, row->count);
	assert_int_equal(told->good, row->good);
	assert_int_equal(told->turn, RIG_TURN);
	assert_false(told->repeated);
	for (uint32_t i = 0; i < row->count; i++) {
		const struct batch_sink_sample *place = &sink->place[batch->first + i];

		assert_true(place->readers == UINT64_MAX);
		assert_int_equal(place->sample,
				 i < row->good ? row->sample[i] : UINT32_MAX);
		if (i < row->good)
			rig_check_place(sink, batch->first + i);
	}
}

void rig_check(const struct sink *sink, const struct rig_expected *expected,
	       uint32_t from)
{
	assert_int_equal(sink->batches, expected->rows - from);
	for (uint32_t i = 0; i < sink->batches; i++)
		check_batch(sink, &sink->batch[i], &expected->row[from + i]);
}
