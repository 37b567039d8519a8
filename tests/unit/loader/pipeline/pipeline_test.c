/* pipeline_test.c - the stream: passes of any length, bad samples, cuts, readers. */
#include "loader/base/error.h"
#include "loader/base/random.h"
#include "loader/pipeline/pipeline_state.h"
#include "tests/lib/rig.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdint.h>

static const char *const ways[] = {"workers=1,fetch_depth=1", "workers=3", "workers=8",
				   "workers=2,cache=minio,cache_size=50%"};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

TEST(passes_of_any_length_are_cut_alike)
{
	struct rig_expected expected;

	for (int i = 0; i < WAYS; i++) {
		struct rig *rig = rig_open(rig_good, ways[i]);

		assert_int_equal(rig_run(rig, NULL), 1);
		rig_expect(&expected, &rig->passes, rig_no_bad_file);
		assert_int_equal(expected.rows, 17);
		rig_check(&rig->sink, &expected, 0);
		assert_int_equal(pipeline_steps(rig->pipeline), 4);
		rig_close(rig);
	}
}

TEST(samples_may_be_parts_of_one_file)
{
	static const char *const engines[] = {
		"fetch=pread", "fetch=pread-direct", "fetch=uring",
		"fetch=uring-direct,cache=minio,cache_size=50%"};
	struct rig_expected expected;

	for (int i = 0; i < 4; i++) {
		struct rig *rig = rig_open(rig_one_file, engines[i]);

		assert_int_equal(pipeline_stage(rig->pipeline, 2 * RIG_BATCH, 0),
				 2 * RIG_BATCH);
		assert_int_equal(pipeline_evict(rig->pipeline, RIG_FILES), RIG_FILES);
		assert_int_equal(rig_run(rig, NULL), 1);
		rig_expect(&expected, &rig->passes, rig_no_bad_file);
		rig_check(&rig->sink, &expected, 0);
		rig_close(rig);
	}
}

TEST(places_that_nothing_fills_are_published_as_holes)
{
	struct rig_expected expected;
	uint32_t empty = 0;

	for (int i = 0; i < WAYS; i++) {
		struct rig *rig = rig_open(rig_bad, ways[i]);

		assert_int_equal(rig_run(rig, NULL), 1);
		rig_expect(&expected, &rig->passes, rig_bad_file);
		rig_check(&rig->sink, &expected, 0);
		rig_close(rig);
	}
	for (uint32_t i = 0; i < expected.rows; i++)
		empty += expected.row[i].good == 0;
	assert_true(empty >= 2); /* or this has tested less than it says */
}

/* Whoever takes over begins where a batch was the last. */
TEST(a_stream_goes_on_from_after_any_batch)
{
	struct rig_expected expected;
	struct rig *whole = rig_open(rig_bad, "");

	assert_int_equal(rig_run(whole, NULL), 1);
	rig_expect(&expected, &whole->passes, rig_bad_file);
	for (uint32_t i = 0; i < whole->sink.batches; i++) {
		const struct batch_sink_batch *told = &whole->sink.batch[i].told;
		const struct pipeline_point start = {told->pass, told->position,
						     told->stolen};
		struct rig *rig = rig_new(rig_bad, "", rig_lengths, RIG_PASSES);

		rig_start(rig, &start);
		assert_int_equal(rig_run(rig, NULL), 1);
		rig_check(&rig->sink, &expected, i + 1);
		rig_close(rig);
	}
	rig_close(whole);
}

/* Each good sample of the data set once, and a hole for each other. */
static void check_once(const struct sink *sink, const bool *is_bad)
{
	unsigned seen[RIG_FILES] = {0}, holes = 0;

	assert_int_equal(sink->places, RIG_FILES);
	for (uint32_t i = 0; i < sink->places; i++) {
		if (sink->place[i].hole) {
			holes++;
			continue;
		}
		rig_check_place(sink, i);
		seen[sink->place[i].sample]++;
	}
	for (unsigned i = 0; i < RIG_FILES; i++) {
		assert_int_equal(seen[i], !is_bad[i]);
		holes -= is_bad[i];
	}
	assert_int_equal(holes, 0);
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
	pipeline_start(rig->pipeline, &stream);
	while (pipeline_status(rig->pipeline, NULL) == 0) {
		struct pipeline_point next;

		sink_wait(&rig->sink);
		pipeline_lock(rig->pipeline, &next);
		cut_here(cutter, &next);
		pipeline_unlock(rig->pipeline);
		pipeline_released(rig->pipeline);
	}
}

TEST(a_pass_may_be_cut_short_under_way)
{
	struct cutter cutter = {.random.state = 3};

	for (int i = 0; i < 40; i++) {
		struct rig *rig = rig_new(i % 2 == 0 ? rig_good : rig_bad,
					  ways[i % WAYS], rig_whole, 1);

		rig->sink.room = (2 + (uint32_t)i % 5) * RIG_BATCH;
		rig_start(rig, NULL);
		run_cutting(rig, &cutter);
		check_once(&rig->sink, i % 2 == 0 ? rig_no_bad_file : rig_bad_file);
		check_row(&rig->sink, &rig->passes);
		rig_close(rig);
	}
	assert_true(cutter.cuts > 40 && cutter.full > 0 && cutter.full < cutter.cuts);
}

TEST(places_keep_their_readers)
{
	struct rig *rig = rig_new(rig_bad, "", rig_whole, 1);

	passes_give_readers(&rig->passes);
	rig->sink.has_readers = true;
	rig_start(rig, NULL);
	assert_int_equal(rig_run(rig, NULL), 1);
	check_once(&rig->sink, rig_bad_file);
	for (uint32_t i = 0; i < RIG_FILES; i++) { /* each where it is in the pass */
		const struct batch_sink_sample *place = &rig->sink.place[i];
		uint32_t sample = passes_sample(&rig->passes, i);

		assert_int_equal(place->readers, passes_readers(i));
		assert_int_equal(place->hole, rig_bad_file[sample]);
		assert_int_equal(place->sample, place->hole ? UINT32_MAX : sample);
	}
	rig_close(rig);
}

/* What is still held for a sample in a pass. */
static struct blob *held_ahead(struct rig *rig, uint64_t pass, uint32_t sample)
{
	const struct batch batch = {.pass = pass};
	struct place place = {.sample = sample};

	return merge_take(rig->pipeline, &batch, &place);
}

/* The first samples of the second pass are new: with them its last ones are read, which the
 * cache has by the time they are wanted. */
TEST(what_came_ahead_and_was_not_wanted_is_let_go)
{
	static const uint32_t often[] = {RIG_FILES, RIG_FILES, RIG_FILES, RIG_FILES};
	struct rig *rig =
		rig_new(rig_one_file, "in_order=1,cache=minio,cache_size=1M", often, 4);
	const struct pipeline_point start = {.position = 14 * RIG_BATCH};
	struct pipeline_point end;

	rig_start(rig, &start);
	assert_int_equal(rig_run(rig, NULL), 1);
	pipeline_lock(rig->pipeline, &end);
	for (uint32_t i = 0; i < 2 * RIG_FILES; i++)
		assert_null(held_ahead(rig, i / RIG_FILES, i % RIG_FILES));
	pipeline_unlock(rig->pipeline);
	rig_close(rig);
}

TEST(a_data_set_without_a_good_sample_fails)
{
	static const uint32_t twice[] = {RIG_FILES, RIG_FILES};
	struct rig *rig = rig_new(rig_none, "", twice, 2);
	struct error err = {0};

	rig->sink.room = SINK_PLACES;
	rig_start(rig, NULL);
	assert_true(rig_run(rig, &err) < 0);
	assert_string_equal(err.message,
			    "no sample of a whole epoch could be read and decoded");
	assert_int_equal(rig->sink.places, RIG_FILES); /* all of them holes */
	rig_close(rig);
}

TEST_GROUP(rig_setup, rig_teardown);
