/* pipeline_turn_test.c - turns beside the stream: staged, repeated, thrown away. */
#include "loader/base/error.h"
#include "tests/lib/rig.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The end of a pass is the start of the next one. */
static uint64_t stands_at(const struct passes *passes,
			  const struct batch_sink_batch *told)
{
	return (told->pass > 0 ? passes->end[told->pass - 1] : 0) + told->position;
}

TEST(turns_put_back_what_was_not_published)
{
	static const struct pipeline_turn stream = {.ops = &turn_stream,
						    .number = RIG_TURN};
	struct rig *rig = rig_open(rig_bad, "");
	struct rig_expected expected;
	unsigned turns = 0;

	rig_expect(&expected, &rig->passes, rig_bad_file);
	for (; pipeline_status(rig->pipeline, NULL) == 0; turns++) {
		pipeline_start(rig->pipeline, &stream);
		sink_wait(&rig->sink);
		pipeline_stop(rig->pipeline);
		assert_int_equal(rig->sink.rewound, turns + 1);
		assert_int_equal(rig->sink.reserved, 0);
	}
	assert_true(turns > 1);
	rig_check(&rig->sink, &expected, 0);
	rig_close(rig);
}

/* One turn, until so many batches have been published or discarded in it. */
static void run_batches(struct rig *rig, const struct pipeline_turn *turn,
			unsigned count)
{
	count += rig->sink.batches + rig->sink.discarded;
	pipeline_start(rig->pipeline, turn);
	while (sink_wait(&rig->sink) < count)
		pipeline_released(rig->pipeline);
	pipeline_stop(rig->pipeline);
}

/* Staged: two batches of the stream, then repeats, after which the stream stands where
 * it stood before them. */
TEST(repeats_leave_the_stream_alone)
{
	const struct pipeline_turn staged = {.ops = &turn_staged, .number = RIG_TURN};
	const struct pipeline_turn prep = {.ops = &turn_prep};
	struct rig *rig = rig_open(rig_good, "");
	uint64_t epoch, step;
	struct rig_expected expected;
	uint32_t mark;

	rig_expect(&expected, &rig->passes, rig_no_bad_file);
	assert_int_equal(pipeline_stage(rig->pipeline, 2 * RIG_BATCH, 0),
			 2 * RIG_BATCH);
	run_batches(rig, &staged, 6);
	for (uint32_t i = 0; i < rig->sink.batches; i++) {
		const struct batch_sink_batch *told = &rig->sink.batch[i].told;

		assert_int_equal(told->repeated, i > 1);
		assert_int_equal(stands_at(&rig->passes, told), i > 0 ? 8 : 1);
		assert_int_equal(told->good, i > 0 ? RIG_BATCH : 1);
		for (uint32_t j = 0; j < told->good; j++)
			rig_check_place(&rig->sink, rig->sink.batch[i].first + j);
	}
	pipeline_position(rig->pipeline, &epoch, &step);
	assert_int_equal(epoch, 102); /* the third pass, for the second was whole */
	assert_int_equal(step, 0);
	mark = rig->sink.batches;
	assert_int_equal(pipeline_stage(rig->pipeline, 9, 0), 9);
	run_batches(rig, &prep, 10);
	assert_int_equal(rig->sink.batches, mark); /* thrown away, each of them */
	rig->sink.batches = rig->sink.places = 0;
	assert_int_equal(rig_run(rig, NULL), 1);
	rig_check(&rig->sink, &expected, 2);
	rig_close(rig);
}

/* What was staged for a position is not what the position holds any more. */
TEST(staged_bytes_are_used_for_their_own_sample_alone)
{
	const struct pipeline_turn staged = {.ops = &turn_staged};
	struct rig *rig = rig_new(rig_good, "", rig_whole, 1);
	struct pipeline_point next;

	rig_start(rig, NULL);
	assert_int_equal(pipeline_stage(rig->pipeline, 4 * RIG_BATCH, 0),
			 4 * RIG_BATCH);
	pipeline_lock(rig->pipeline, &next);
	assert_int_equal(next.pass, 0);
	assert_int_equal(next.position, 0);
	passes_cut(&rig->passes, 0, 5);
	pipeline_unlock(rig->pipeline);
	rig->passes.samples--; /* another order: 210 is no multiple of 37 either */
	run_batches(rig, &staged, 3);
	assert_int_equal(rig->sink.batch[0].told.count, 5);
	for (uint32_t i = 0; i < rig->sink.places; i++)
		rig_check_place(&rig->sink, i);
	rig_close(rig);
}

/* Staging goes past the last pass: what it reads then is only repeated. */
TEST(staging_never_runs_out_of_samples)
{
	const struct pipeline_turn staged = {.ops = &turn_staged};
	struct rig *rig = rig_open(rig_good, "");

	assert_int_equal(pipeline_stage(rig->pipeline, 3 * RIG_FILES, 0),
			 3 * RIG_FILES);
	assert_int_equal(rig_run(rig, NULL), 1);
	pipeline_stop(rig->pipeline);
	rig->sink.batches = rig->sink.places = 0;
	assert_int_equal(pipeline_stage(rig->pipeline, RIG_BATCH, 0), RIG_BATCH);
	run_batches(rig, &staged, 3);
	assert_true(rig->sink.batch[0].told.repeated);
	rig_close(rig);
}

/* ---- a reader that takes what is published ---- */

static uint32_t first_slot; /* of the first batch that was published */
static void (*publish)(struct batch_sink *sink, uint32_t slot,
		       const struct batch_sink_batch *batch,
		       const struct batch_sink_sample *samples);

static void note_first(struct batch_sink *sink, uint32_t slot,
		       const struct batch_sink_batch *batch,
		       const struct batch_sink_sample *samples)
{
	if (batch->step == 0 && batch->pass == 0)
		first_slot = slot;
	publish(sink, slot, batch, samples);
}

static uint64_t published(struct sink *sink)
{
	uint64_t samples = 0;

	pthread_mutex_lock(&sink->lock);
	for (uint32_t i = 0; i < sink->batches; i++)
		samples += sink->batch[i].told.good;
	pthread_mutex_unlock(&sink->lock);
	return samples;
}

/* Until it was taken, or thrown away, what is prepared is ahead of the reader. */
TEST(it_is_ahead_by_what_is_prepared_and_not_taken)
{
	static const struct pipeline_turn stream = {.ops = &turn_stream};
	struct rig *rig = rig_open(rig_good, "");
	struct batch_sink_ops kept = *rig->sink.base.ops;
	uint64_t ahead;

	publish = kept.publish;
	kept.publish = note_first;
	kept.final = false;
	rig->sink.base.ops = &kept;
	assert_int_equal(pipeline_ahead(rig->pipeline), 0);
	pipeline_start(rig->pipeline, &stream);
	/* There is no room for one more batch: nothing changes any more. */
	do
		ahead = pipeline_ahead(rig->pipeline);
	while (ahead <= 3 * RIG_BATCH || ahead != published(&rig->sink));
	pipeline_delivered(rig->pipeline, first_slot);
	assert_int_equal(pipeline_ahead(rig->pipeline),
			 ahead - rig->sink.batch[0].told.good);
	pipeline_stop(rig->pipeline);
	assert_int_equal(pipeline_ahead(rig->pipeline), 0);
	rig_close(rig);
}

/* The data set's files are where nobody looks for them, or back again. */
static void move_files(bool away)
{
	static const char *const at[] = {"a", "away"};
	char from[TREE_PATH + 8], to[TREE_PATH + 8];

	snprintf(from, sizeof(from), "%s/%s", rig_good, at[!away]);
	snprintf(to, sizeof(to), "%s/%s", rig_good, at[away]);
	assert_int_equal(rename(from, to), 0);
}

/* No sample of the stream can be read, but all that are staged after it. */
TEST(what_could_not_be_read_before_is_used_once_it_is_staged)
{
	const struct pipeline_turn staged = {.ops = &turn_staged};
	struct rig *rig = rig_open(rig_good, "");
	struct error err = {0};
	int status;

	move_files(true);
	status = rig_run(rig, NULL);
	move_files(false);
	assert_int_equal(status, 1);
	pipeline_stop(rig->pipeline);
	rig->sink.batches = rig->sink.places = 0;
	assert_int_equal(pipeline_stage(rig->pipeline, RIG_BATCH, 0), RIG_BATCH);
	pipeline_start(rig->pipeline, &staged);
	while (sink_wait(&rig->sink) == 0 && pipeline_status(rig->pipeline, &err) >= 0)
		;
	pipeline_stop(rig->pipeline);
	assert_string_equal(err.message, "");
	assert_int_equal(rig->sink.batch[0].told.good, RIG_BATCH);
	rig_close(rig);
}

TEST_GROUP(rig_setup, rig_teardown);
