/* The pipeline between a plan of passes and a final sink. */
#include "loader/base/error.h"
#include "loader/base/random.h"
#include "loader/base/trace.h"
#include "loader/cache.h"
#include "loader/options.h"
#include "loader/pipeline.h"
#include "loader/prep.h"
#include "loader/source.h"
#include "tests/lib/passes.h"
#include "tests/lib/shard.h"
#include "tests/lib/sink.h"
#include "tests/lib/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FILES = 211, N = 7, EACH_PASS = 9 };

/* 1, n, n + 1, 3n + 7 and others; together less than the data set. */
static const uint32_t lengths[EACH_PASS] = {1, 7, 8, 28, 1, 28, 7, 14, 2};

/* Global positions in these passes whose samples are bad in the data set `bad`: all of the
 * first pass, the ends of the others, a whole batch, and some. */
static const uint32_t bad_at[] = {0,  7,  15, 16, 17, 18, 19, 20, 21, 22, 26,
				  43, 44, 50, 55, 72, 75, 79, 91, 92, 93, 95};

static bool bad_file[FILES];
static char good[TREE_PATH], bad[TREE_PATH], none[TREE_PATH], home[TREE_PATH];

/* The samples of the data set `good` in one file, some of them with a gap behind. */
static const char one_file[] = "one.shard";
static struct shard_member members[FILES];

static void make_shard(void)
{
	char path[TREE_PATH + sizeof(one_file) + 1];
	uint64_t at = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", home, one_file);
	file = fopen(path, "w");
	assert_non_null(file);
	for (unsigned i = 0; i < FILES; i++) {
		members[i] = (struct shard_member){at, 3};
		at += 3 + i % 5;
		fprintf(file, "%03u%.*s", i, (int)(i % 5), "gaps");
	}
	fclose(file);
}

static int make_trees(void **state)
{
	char path[32], text[16];
	struct passes passes;

	(void)state;
	tree_make(home);
	setenv("XDG_CACHE_HOME", home, 1);
	tree_make(good);
	tree_make(bad);
	tree_make(none);
	passes_init(&passes, FILES, lengths, EACH_PASS);
	for (size_t i = 0; i < sizeof(bad_at) / sizeof(bad_at[0]); i++)
		bad_file[passes_sample(&passes, bad_at[i])] = true;
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "/a/%03u.jpg", i);
		snprintf(text, sizeof(text), "%03u", i);
		tree_put(good, path, text);
		tree_put(bad, path, bad_file[i] ? "" : text);
		tree_put(none, path, "");
	}
	make_shard();
	return 0;
}

static int remove_trees(void **state)
{
	(void)state;
	tree_remove(good);
	tree_remove(bad);
	tree_remove(none);
	tree_remove(home);
	return 0;
}

struct rig {
	struct options options;
	struct source *source;
	struct cache *cache;
	struct prep *prep;
	struct trace_process *process;
	struct passes passes;
	struct sink sink;
	struct pipeline *pipeline;
};

static void open_rig(struct rig *rig, const char *dataset, const char *text)
{
	const struct source_config source = {0};
	struct dsa_config config = {.dataset = dataset,
				    .batch = N,
				    .workers = 3,
				    .fetch_depth = 4,
				    .fetch = "pread",
				    .size = 1,
				    .type = DSA_UINT8,
				    .prep = "raw",
				    .cache = "none"};

	assert_int_equal(options_resolve(&rig->options, &config, text, NULL), 0);
	rig->source = dataset == one_file ? shard_open(home, one_file, members, FILES)
					  : source_open(dataset, &source, NULL);
	assert_non_null(rig->source);
	assert_int_equal(source_count(rig->source), FILES);
	rig->cache =
		cache_open(rig->options.cache, FILES, rig->options.cache_bytes, NULL);
	rig->prep = prep_open(&rig->options.image, NULL);
	rig->process = calloc(1, sizeof(*rig->process));
	assert_true(rig->cache != NULL && rig->prep != NULL && rig->process != NULL);
}

static void start_at(struct rig *rig, const struct pipeline_point *start)
{
	const struct pipeline_parts parts = {
		.options = &rig->options,
		.source = rig->source,
		.cache = rig->cache,
		.prep = rig->prep,
		.plan = &rig->passes.plan,
		.start = *start,
		.sink = &rig->sink.base,
		.slots = SINK_SLOTS,
		.process = rig->process,
	};
	struct error err = {0};

	rig->pipeline = pipeline_open(&parts, &err);
	if (rig->pipeline == NULL)
		fail_msg("%s", err.message);
}

static void turn_on(struct rig *rig, const struct pipeline_turn *turn)
{
	pipeline_start(rig->pipeline, turn);
}

static struct rig *new_rig(const char *dataset, const char *text)
{
	static const struct pipeline_point start;
	struct rig *rig = calloc(1, sizeof(*rig));

	open_rig(rig, dataset, text);
	passes_init(&rig->passes, FILES, lengths, EACH_PASS);
	sink_init(&rig->sink, 4 * N);
	start_at(rig, &start);
	return rig;
}

static void close_rig(struct rig *rig)
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

static int run_to_end(struct rig *rig, struct error *err)
{
	static const struct pipeline_turn stream = {.ops = &turn_stream, .number = 77};
	int status;

	turn_on(rig, &stream);
	while ((status = pipeline_status(rig->pipeline, err)) == 0) {
		sink_wait(&rig->sink);
		pipeline_released(rig->pipeline);
	}
	return status;
}

/* ---- what is to come, made by one loop ---- */

struct row {
	uint32_t pass, position, stolen, count, good;
	uint32_t sample[N]; /* good of them */
};

struct model {
	uint32_t rows;
	struct row row[FILES];
};

static void end_row(struct row *row)
{
	for (uint32_t i = 0; i < row->count; i++)
		if (row->sample[i] != UINT32_MAX)
			row->sample[row->good++] = row->sample[i];
}

static void model_batch(struct row *row, const struct passes *passes,
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

static void model_pass(struct model *model, const struct passes *passes,
		       const bool *is_bad, uint32_t number)
{
	struct plan_pass pass;
	uint32_t at = 0, stolen = 0;

	plan_pass((struct plan *)(uintptr_t)&passes->plan, number, &pass);
	while (at < pass.length) {
		struct row *row = &model->row[model->rows++];

		*row = (struct row){.pass = number, .position = at, .stolen = stolen};
		row->count = pass.length - at < N ? pass.length - at : N;
		model_batch(row, passes, is_bad, &pass);
		at = row->position;
		stolen = row->stolen;
	}
}

static void check_content(const struct sink *sink, uint32_t at)
{
	char text[8];

	snprintf(text, sizeof(text), "%03u", sink->place[at].sample);
	assert_memory_equal(sink->bytes[at], text, 3);
	assert_int_equal(sink->place[at].label, 0);
}

static void check_batch(const struct sink *sink, const struct sink_batch *batch,
			const struct row *row)
{
	const struct batch_sink_batch *told = &batch->told;

	assert_int_equal(told->pass, row->pass);
	assert_int_equal(told->epoch, 100 + row->pass);
	assert_int_equal(told->position, row->position);
	assert_int_equal(told->step, (row->position - row->count) / N);
	assert_int_equal(told->stolen, row->stolen);
	assert_int_equal(told->count, row->count);
	assert_int_equal(told->good, row->good);
	assert_int_equal(told->turn, 77);
	assert_false(told->repeated);
	for (uint32_t i = 0; i < row->count; i++) {
		const struct batch_sink_sample *place = &sink->place[batch->first + i];

		assert_true(place->readers == UINT64_MAX);
		assert_int_equal(place->sample,
				 i < row->good ? row->sample[i] : UINT32_MAX);
		if (i < row->good)
			check_content(sink, batch->first + i);
	}
}

static void check_against(const struct sink *sink, const struct model *model,
			  uint32_t from)
{
	assert_int_equal(sink->batches, model->rows - from);
	for (uint32_t i = 0; i < sink->batches; i++)
		check_batch(sink, &sink->batch[i], &model->row[from + i]);
}

static void model_all(struct model *model, const struct passes *passes,
		      const bool *is_bad)
{
	model->rows = 0;
	for (uint32_t pass = 0; pass < passes->count; pass++)
		model_pass(model, passes, is_bad, pass);
}

static const bool nothing_bad[FILES];

static const char *const ways[] = {"workers=1,fetch_depth=1", "workers=3", "workers=8",
				   "workers=2,cache=minio,cache_size=50%"};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* ---- tests ---- */

static void passes_of_any_length_are_cut_alike(void **state)
{
	struct model model;

	(void)state;
	for (int i = 0; i < WAYS; i++) {
		struct rig *rig = new_rig(good, ways[i]);

		assert_int_equal(run_to_end(rig, NULL), 1);
		model_all(&model, &rig->passes, nothing_bad);
		assert_int_equal(model.rows, 17);
		check_against(&rig->sink, &model, 0);
		assert_int_equal(pipeline_steps(rig->pipeline), 4);
		close_rig(rig);
	}
}

static void samples_may_be_parts_of_one_file(void **state)
{
	static const char *const engines[] = {
		"fetch=pread", "fetch=pread-direct", "fetch=uring",
		"fetch=uring-direct,cache=minio,cache_size=50%"};
	struct model model;

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct rig *rig = new_rig(one_file, engines[i]);

		assert_int_equal(pipeline_stage(rig->pipeline, 2 * N, 0), 2 * N);
		assert_int_equal(pipeline_evict(rig->pipeline, FILES), FILES);
		assert_int_equal(run_to_end(rig, NULL), 1);
		model_all(&model, &rig->passes, nothing_bad);
		check_against(&rig->sink, &model, 0);
		close_rig(rig);
	}
}

static void places_that_nothing_fills_are_published_as_holes(void **state)
{
	struct model model;
	uint32_t empty = 0;

	(void)state;
	for (int i = 0; i < WAYS; i++) {
		struct rig *rig = new_rig(bad, ways[i]);

		assert_int_equal(run_to_end(rig, NULL), 1);
		model_all(&model, &rig->passes, bad_file);
		check_against(&rig->sink, &model, 0);
		close_rig(rig);
	}
	for (uint32_t i = 0; i < model.rows; i++)
		empty += model.row[i].good == 0;
	assert_true(empty >= 2); /* or this has tested less than it says */
}

/* Whoever takes over begins where a batch was the last. */
static void a_stream_goes_on_from_after_any_batch(void **state)
{
	struct model model;
	struct rig *whole = new_rig(bad, "");

	(void)state;
	assert_int_equal(run_to_end(whole, NULL), 1);
	model_all(&model, &whole->passes, bad_file);
	for (uint32_t i = 0; i < whole->sink.batches; i++) {
		const struct batch_sink_batch *told = &whole->sink.batch[i].told;
		const struct pipeline_point start = {told->pass, told->position,
						     told->stolen};
		struct rig *rig = calloc(1, sizeof(*rig));

		open_rig(rig, bad, "");
		passes_init(&rig->passes, FILES, lengths, EACH_PASS);
		sink_init(&rig->sink, 4 * N);
		start_at(rig, &start);
		assert_int_equal(run_to_end(rig, NULL), 1);
		check_against(&rig->sink, &model, i + 1);
		close_rig(rig);
	}
	close_rig(whole);
}

/* Each good sample of the data set once, and a hole for each other. */
static void check_once(const struct sink *sink, const bool *is_bad)
{
	unsigned seen[FILES] = {0}, holes = 0;

	assert_int_equal(sink->places, FILES);
	for (uint32_t i = 0; i < sink->places; i++) {
		if (sink->place[i].hole) {
			holes++;
			continue;
		}
		check_content(sink, i);
		seen[sink->place[i].sample]++;
	}
	for (unsigned i = 0; i < FILES; i++) {
		assert_int_equal(seen[i], !is_bad[i]);
		holes -= is_bad[i];
	}
	assert_int_equal(holes, 0);
}

/* The end of a pass is the start of the next one. */
static uint64_t stands_at(const struct passes *passes,
			  const struct batch_sink_batch *told)
{
	return (told->pass > 0 ? passes->end[told->pass - 1] : 0) + told->position;
}

/* Batches follow one another without gaps, and passes end where they were cut. */
static void check_row(const struct sink *sink, const struct passes *passes)
{
	uint64_t at = 0, pass = 0;

	for (uint32_t i = 0; i < sink->batches; i++) {
		const struct batch_sink_batch *told = &sink->batch[i].told;

		if (at == passes->end[pass])
			pass++;
		at += told->count;
		assert_int_equal(told->pass, pass);
		assert_int_equal(
			told->position + (pass > 0 ? passes->end[pass - 1] : 0), at);
		assert_true(at <= passes->end[pass]);
	}
	assert_int_equal(at, passes->end[passes->count - 1]);
}

struct cutter {
	struct passes *passes;
	struct random random;
	unsigned cuts, full; /* full: of those, beyond what had been stolen */
};

/* As a job does that joins: at the next position that nothing used. */
static void cut_here(struct cutter *cutter, const struct pipeline_point *next)
{
	struct plan_pass pass;
	uint32_t at = next->position > next->stolen ? next->position : next->stolen;

	plan_pass(&cutter->passes->plan, next->pass, &pass);
	if (at == 0 || at >= pass.length || random_unit(&cutter->random) < .7)
		return;
	passes_cut(cutter->passes, next->pass, at);
	cutter->cuts++;
	cutter->full += next->position >= next->stolen;
}

static void run_cutting(struct rig *rig, struct cutter *cutter)
{
	static const struct pipeline_turn stream = {.ops = &turn_stream};

	cutter->passes = &rig->passes;
	turn_on(rig, &stream);
	while (pipeline_status(rig->pipeline, NULL) == 0) {
		struct pipeline_point next;

		sink_wait(&rig->sink);
		pipeline_lock(rig->pipeline, &next);
		cut_here(cutter, &next);
		pipeline_unlock(rig->pipeline);
		pipeline_released(rig->pipeline);
	}
}

static void a_pass_may_be_cut_short_under_way(void **state)
{
	const uint32_t whole[] = {FILES};
	struct cutter cutter = {.random.state = 3};

	(void)state;
	for (int i = 0; i < 40; i++) {
		static const struct pipeline_point start;
		struct rig *rig = calloc(1, sizeof(*rig));

		open_rig(rig, i % 2 == 0 ? good : bad, ways[i % WAYS]);
		passes_init(&rig->passes, FILES, whole, 1);
		sink_init(&rig->sink, (2 + i % 5) * N);
		start_at(rig, &start);
		run_cutting(rig, &cutter);
		check_once(&rig->sink, i % 2 == 0 ? nothing_bad : bad_file);
		check_row(&rig->sink, &rig->passes);
		close_rig(rig);
	}
	assert_true(cutter.cuts > 40 && cutter.full > 0 && cutter.full < cutter.cuts);
}

static void places_keep_their_readers(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	const uint32_t whole[] = {FILES};
	static const struct pipeline_point start;

	(void)state;
	open_rig(rig, bad, "");
	passes_init(&rig->passes, FILES, whole, 1);
	passes_give_readers(&rig->passes);
	sink_init(&rig->sink, 4 * N);
	rig->sink.has_readers = true;
	start_at(rig, &start);
	assert_int_equal(run_to_end(rig, NULL), 1);
	check_once(&rig->sink, bad_file);
	for (uint32_t i = 0; i < FILES; i++) { /* each where it is in the pass */
		const struct batch_sink_sample *place = &rig->sink.place[i];
		uint32_t sample = passes_sample(&rig->passes, i);

		assert_int_equal(place->readers, passes_readers(i));
		assert_int_equal(place->hole, bad_file[sample]);
		assert_int_equal(place->sample, place->hole ? UINT32_MAX : sample);
	}
	close_rig(rig);
}

static void turns_put_back_what_was_not_published(void **state)
{
	static const struct pipeline_turn stream = {.ops = &turn_stream, .number = 77};
	struct rig *rig = new_rig(bad, "");
	struct model model;
	unsigned turns = 0;

	(void)state;
	model_all(&model, &rig->passes, bad_file);
	for (; pipeline_status(rig->pipeline, NULL) == 0; turns++) {
		turn_on(rig, &stream);
		sink_wait(&rig->sink);
		pipeline_stop(rig->pipeline);
		assert_int_equal(rig->sink.rewound, turns + 1);
		assert_int_equal(rig->sink.reserved, 0);
	}
	assert_true(turns > 1);
	check_against(&rig->sink, &model, 0);
	close_rig(rig);
}

/* One turn, until so many batches have been published or discarded in it. */
static void run_batches(struct rig *rig, const struct pipeline_turn *turn,
			unsigned count)
{
	count += rig->sink.batches + rig->sink.discarded;
	turn_on(rig, turn);
	while (sink_wait(&rig->sink) < count)
		pipeline_released(rig->pipeline);
	pipeline_stop(rig->pipeline);
}

/* Staged: two batches of the stream, then repeats, after which the stream stands where
 * it stood before them. */
static void repeats_leave_the_stream_alone(void **state)
{
	const struct pipeline_turn staged = {.ops = &turn_staged, .number = 77};
	const struct pipeline_turn prep = {.ops = &turn_prep};
	struct rig *rig = new_rig(good, "");
	uint64_t epoch, step;
	struct model model;
	uint32_t mark;

	(void)state;
	model_all(&model, &rig->passes, nothing_bad);
	assert_int_equal(pipeline_stage(rig->pipeline, 2 * N, 0), 2 * N);
	run_batches(rig, &staged, 6);
	for (uint32_t i = 0; i < rig->sink.batches; i++) {
		const struct batch_sink_batch *told = &rig->sink.batch[i].told;

		assert_int_equal(told->repeated, i > 1);
		assert_int_equal(stands_at(&rig->passes, told), i > 0 ? 8 : 1);
		assert_int_equal(told->good, i > 0 ? N : 1);
		for (uint32_t j = 0; j < told->good; j++)
			check_content(&rig->sink, rig->sink.batch[i].first + j);
	}
	pipeline_position(rig->pipeline, &epoch, &step);
	assert_int_equal(epoch, 102); /* the third pass, for the second was whole */
	assert_int_equal(step, 0);
	mark = rig->sink.batches;
	assert_int_equal(pipeline_stage(rig->pipeline, 9, 0), 9);
	run_batches(rig, &prep, 10);
	assert_int_equal(rig->sink.batches, mark); /* thrown away, each of them */
	rig->sink.batches = rig->sink.places = 0;
	assert_int_equal(run_to_end(rig, NULL), 1);
	check_against(&rig->sink, &model, 2);
	close_rig(rig);
}

/* What was staged for a position is not what the position holds any more. */
static void staged_bytes_are_used_for_their_own_sample_alone(void **state)
{
	const struct pipeline_turn staged = {.ops = &turn_staged};
	static const struct pipeline_point start;
	const uint32_t whole[] = {FILES};
	struct rig *rig = calloc(1, sizeof(*rig));
	struct pipeline_point next;

	(void)state;
	open_rig(rig, good, "");
	passes_init(&rig->passes, FILES, whole, 1);
	sink_init(&rig->sink, 4 * N);
	start_at(rig, &start);
	assert_int_equal(pipeline_stage(rig->pipeline, 4 * N, 0), 4 * N);
	pipeline_lock(rig->pipeline, &next);
	assert_int_equal(next.pass, 0);
	assert_int_equal(next.position, 0);
	passes_cut(&rig->passes, 0, 5);
	pipeline_unlock(rig->pipeline);
	rig->passes.samples--; /* another order: 210 is no multiple of 37 either */
	run_batches(rig, &staged, 3);
	assert_int_equal(rig->sink.batch[0].told.count, 5);
	for (uint32_t i = 0; i < rig->sink.places; i++)
		check_content(&rig->sink, i);
	close_rig(rig);
}

/* Staging goes past the last pass: what it reads then is only repeated. */
static void staging_never_runs_out_of_samples(void **state)
{
	const struct pipeline_turn staged = {.ops = &turn_staged};
	struct rig *rig = new_rig(good, "");

	(void)state;
	assert_int_equal(pipeline_stage(rig->pipeline, 3 * FILES, 0), 3 * FILES);
	assert_int_equal(run_to_end(rig, NULL), 1);
	pipeline_stop(rig->pipeline);
	rig->sink.batches = rig->sink.places = 0;
	assert_int_equal(pipeline_stage(rig->pipeline, N, 0), N);
	run_batches(rig, &staged, 3);
	assert_true(rig->sink.batch[0].told.repeated);
	close_rig(rig);
}

static void a_data_set_without_a_good_sample_fails(void **state)
{
	static const uint32_t twice[] = {FILES, FILES};
	static const struct pipeline_point start;
	struct rig *rig = calloc(1, sizeof(*rig));
	struct error err = {0};

	(void)state;
	open_rig(rig, none, "");
	passes_init(&rig->passes, FILES, twice, 2);
	sink_init(&rig->sink, SINK_PLACES);
	start_at(rig, &start);
	assert_true(run_to_end(rig, &err) < 0);
	assert_string_equal(err.message,
			    "no sample of a whole epoch could be read and decoded");
	assert_int_equal(rig->sink.places, FILES); /* all of them holes */
	close_rig(rig);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passes_of_any_length_are_cut_alike),
		cmocka_unit_test(samples_may_be_parts_of_one_file),
		cmocka_unit_test(places_that_nothing_fills_are_published_as_holes),
		cmocka_unit_test(a_stream_goes_on_from_after_any_batch),
		cmocka_unit_test(a_pass_may_be_cut_short_under_way),
		cmocka_unit_test(places_keep_their_readers),
		cmocka_unit_test(turns_put_back_what_was_not_published),
		cmocka_unit_test(repeats_leave_the_stream_alone),
		cmocka_unit_test(staged_bytes_are_used_for_their_own_sample_alone),
		cmocka_unit_test(staging_never_runs_out_of_samples),
		cmocka_unit_test(a_data_set_without_a_good_sample_fails),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("pipeline", tests, make_trees, remove_trees);
}
