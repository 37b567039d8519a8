/* A program with DSA_SHARE and a device: batches are copied there from its own mapping of
 * the shared memory, or from a buffer, by the fake driver. */
#include "loader/base/trace.h"
#include "loader/gpu.h"
#include "tests/lib/actor.h"
#include "tests/lib/fake_gpu.h"
#include "tests/lib/program.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	EPOCHS = 16,
	STEPS = EPOCHS * ((ACTOR_COUNT + PROGRAM_BATCH - 1) / PROGRAM_BATCH)
};

/* A batch that a kernel has read. */
struct seen {
	struct dsa_batch batch;
	uint32_t samples[PROGRAM_BATCH], labels[PROGRAM_BATCH];
	int64_t device_labels[PROGRAM_BATCH];
	unsigned char data[PROGRAM_BATCH * ACTOR_BYTES];
	bool actors;
};

static struct {
	struct fake_program program;
	struct actor server;
	struct dsa_loader *loader;
	struct seen seen[STEPS];
	unsigned count;
	uint32_t put;    /* samples that the server has published */
	struct gpu *gpu; /* the server's; NULL: none */
} here;

/* The server's samples are bytes, colour after colour of each pixel; the program's, one
 * colour after the other. */
static void serve(bool mirrored)
{
	static struct trace_process process;
	const struct gpu_config config = {.batch = 1, .slots = 1, .process = &process};

	here.server = actor_of("s", actor_welcome, 0);
	strcpy(here.server.welcome.output, "uint8 NHWC 4");
	here.put = 0;
	here.gpu = NULL;
	if (!mirrored)
		return;
	here.gpu = gpu_open(&config, NULL);
	assert_non_null(here.gpu);
	actor_mirror(&here.server, here.gpu);
}

static void serve_no_more(void)
{
	actor_end(&here.server);
	gpu_close(here.gpu);
}

static void begin(const char *fake, const char *settings, bool mirrored)
{
	struct dsa_config config = program_config();

	fake_gpu(fake);
	config.device = "cuda";
	config.epochs = EPOCHS;
	serve(mirrored);
	here.count = 0;
	here.loader = program_joined(&here.server, &config, settings);
	fake_program_open(&here.program);
}

/* As many as there is room for. */
static void put(void)
{
	while (here.put < EPOCHS * ACTOR_COUNT &&
	       actor_put(&here.server, here.put % ACTOR_COUNT, ACTOR_PIECE, 0))
		here.put += ACTOR_PIECE;
}

static int take(struct dsa_device_batch *batch, uint64_t work)
{
	struct seen *seen = &here.seen[here.count];
	struct dsa_batch *host = &batch->batch;
	int result = dsa_next_device(here.loader, here.program.stream, batch);

	if (result != 1)
		return result;
	assert_null(host->data);
	assert_int_equal(host->sample_bytes, ACTOR_BYTES);
	seen->batch = *host;
	memcpy(seen->samples, host->samples, host->count * sizeof(uint32_t));
	memcpy(seen->labels, host->labels, host->count * sizeof(uint32_t));
	fake_program_step(&here.program, work, batch->data, host->count * ACTOR_BYTES,
			  seen->data);
	fake_program_step(&here.program, 0, batch->labels,
			  host->count * sizeof(int64_t), seen->device_labels);
	seen->actors = program_stats(here.loader).shared == 1;
	here.count++;
	return 1;
}

static void give(const struct dsa_device_batch *batch)
{
	assert_int_equal(dsa_release_device(here.loader, batch, here.program.stream),
			 0);
}

static void check(struct seen *seen)
{
	unsigned char server[PROGRAM_BATCH * ACTOR_BYTES];
	enum { AREA = ACTOR_SIDE * ACTOR_SIDE };

	for (uint32_t i = 0; i < seen->batch.count; i++) {
		assert_int_equal(seen->device_labels[i], seen->labels[i]);
		for (size_t at = 0; at < ACTOR_BYTES; at++)
			server[i * ACTOR_BYTES + at] =
				seen->data[i * ACTOR_BYTES + at % 3 * AREA + at / 3];
	}
	seen->batch.data = server;
	seen->batch.samples = seen->samples;
	seen->batch.labels = seen->labels;
	program_note(&seen->batch, seen->actors);
}

/* All that came is what was put there. */
static void end(void)
{
	fake_program_sync(&here.program);
	dsa_close(here.loader);
	for (unsigned i = 0; i < here.count; i++)
		check(&here.seen[i]);
	fake_program_close(&here.program);
	serve_no_more();
}

static void run(uint64_t work)
{
	struct dsa_device_batch batch;

	for (put(); here.count < STEPS; put()) {
		assert_int_equal(take(&batch, work), 1);
		give(&batch);
	}
	assert_int_equal(take(&batch, 0), 0);
}

static enum bcast_device told(void)
{
	struct bcast_reader_state state;

	bcast_reader_state(here.server.ring, here.server.slot, &state);
	return state.device;
}

/* The fake driver ends the test if what is copied changes before it is. */
TEST_WITH(batches_are_copied_from_the_mapping, scratch_setup, scratch_teardown)
{
	static const char *const fakes[] = {"readonly=1", "readonly=1,rate=1e6"};

	for (unsigned i = 0; i < 4; i++) {
		begin(fakes[i % 2], "", false);
		assert_int_equal(told(), BCAST_MAPPING);
		run(i < 2 ? 0 : 200000);
		assert_int_equal(program_stats(here.loader).copied_bytes, 0);
		end();
		program_once(0, EPOCHS);
	}
}

TEST_WITH(or_from_a_buffer_where_it_cant_be_registered, scratch_setup, scratch_teardown)
{
	static const char *const fakes[] = {"", "rate=1e6",
					    "readonly=1,register=refused"};

	for (unsigned i = 0; i < 3; i++) {
		begin(fakes[i], "", false);
		assert_int_equal(told(), BCAST_BUFFER);
		run(0);
		assert_int_equal(program_stats(here.loader).copied_bytes,
				 EPOCHS * ACTOR_COUNT * ACTOR_BYTES);
		end();
		program_once(0, EPOCHS);
	}
}

/* Nothing is copied by the program, whose places go round the mirror three times. */
TEST_WITH(or_are_there_already, scratch_setup, scratch_teardown)
{
	static const char *const fakes[] = {"", "rate=1e6", "mirror=1",
					    "register=refused"};

	for (unsigned i = 0; i < 8; i++) {
		begin(fakes[i % 4], "", true);
		assert_int_equal(told(), i % 4 == 2 ? BCAST_WRITABLE : BCAST_MIRROR);
		run(i < 4 ? 0 : 200000);
		assert_int_equal(program_stats(here.loader).copied_bytes, 0);
		end();
		program_once(0, EPOCHS);
	}
}

/* By a program in memory, which gives places back before they are copied. */
TEST_WITH(nothing_is_overwritten_before_it_is_copied, scratch_setup, scratch_teardown)
{
	struct dsa_config config = program_config();
	uint32_t all = EPOCHS * ACTOR_COUNT;

	fake_gpu("rate=1e6");
	serve(true);
	config.epochs = EPOCHS;
	config.layout = DSA_NHWC;
	here.loader = program_joined(&here.server, &config, "");
	while (program.count < all) {
		while (here.put < all && here.put < program.count + PROGRAM_BATCH)
			put();
		program_steps(here.loader, 1);
	}
	program_once(0, EPOCHS);
	dsa_close(here.loader);
	serve_no_more();
}

static uint64_t given_back(void)
{
	struct bcast_reader_state state;

	bcast_reader_state(here.server.ring, here.server.slot, &state);
	return state.released;
}

/* From a mapping places go back when they are copied; the program's kernels may still be
 * at work. */
static void give_back(bool mirrored)
{
	struct dsa_device_batch one, other;

	begin("readonly=1", "", mirrored);
	put();
	assert_int_equal(take(&one, 0), 1);
	assert_int_equal(take(&other, 50000000), 1);
	assert_int_equal(given_back(), 0);
	give(&other);
	assert_int_equal(given_back(), 0);
	give(&one);
	assert_int_equal(given_back(), 2 * PROGRAM_BATCH);
	assert_int_equal(dsa_release_device(here.loader, &one, here.program.stream),
			 -EINVAL);
	assert_int_equal(dsa_wait_device(here.loader, &one, here.program.stream),
			 -EINVAL);
	end();
}

TEST_WITH(places_go_back_when_they_are_copied, scratch_setup, scratch_teardown)
{
	give_back(false);
	give_back(true);
}

/* Also with batches of its ring in hand. */
static void go_on_alone(bool mirrored)
{
	struct dsa_device_batch held[2], batch;

	begin("readonly=1", "alone=load", mirrored);
	put();
	assert_int_equal(take(&held[0], 0), 1);
	assert_int_equal(take(&held[1], 0), 1);
	actor_die(&here.server);
	while (here.count < STEPS && take(&batch, 0) == 1)
		give(&batch);
	assert_int_equal(program_stats(here.loader).shared, 2);
	give(&held[0]);
	give(&held[1]);
	end();
	program_once(0, EPOCHS);
}

TEST_WITH(a_loader_that_died_is_followed_by_one_of_its_own, scratch_setup,
	  scratch_teardown)
{
	go_on_alone(false);
	go_on_alone(true);
}

/* It is in the others' way: with batches in hand that its device still reads, while what it
 * has given back is written again. */
static void drop(bool mirrored)
{
	struct dsa_device_batch given, held[2], batch;

	begin("readonly=1,rate=1e6", "", mirrored);
	put();
	assert_int_equal(take(&given, 0), 1);
	assert_int_equal(take(&held[0], 0), 1);
	assert_int_equal(take(&held[1], 5000000), 1);
	give(&given);
	bcast_drop(here.server.ring, here.server.slot);
	put();
	assert_true(here.put > ACTOR_PLACES);
	while (here.count < STEPS && take(&batch, 0) == 1)
		give(&batch);
	assert_int_equal(program_stats(here.loader).shared, 2);
	give(&held[1]);
	give(&held[0]);
	end();
	program_once(0, EPOCHS);
}

TEST_WITH(a_slow_one_that_is_dropped_goes_on_alone, scratch_setup, scratch_teardown)
{
	drop(false);
	drop(true);
}

static void take_over(bool mirrored)
{
	struct dsa_device_batch batch;

	begin("readonly=1", "takeover=10s", mirrored);
	actor_put_all(&here.server, 0, 30);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(take(&batch, 0), 1);
		give(&batch);
	}
	serve_no_more();
	serve(mirrored);
	put();
	actor_start(&here.server);
	while (here.count < STEPS && take(&batch, 0) == 1) {
		give(&batch);
		put();
	}
	actor_join(&here.server);
	assert_int_equal(here.server.hello.resumes, 1);
	assert_int_equal(told(), mirrored ? BCAST_MIRROR : BCAST_MAPPING);
	end();
	program_once(0, EPOCHS);
}

TEST_WITH(another_loader_takes_over, scratch_setup, scratch_teardown)
{
	take_over(false);
	take_over(true);
}

TEST_WITH(a_device_that_is_not_there_is_one_line, scratch_setup, scratch_teardown)
{
	struct dsa_config config = program_config();
	struct dsa_loader *loader;

	fake_gpu("devices=0");
	config.device = "cuda";
	assert_int_equal(program_open(&config, "s", "", &loader), -ENODEV);
	assert_string_equal(program.why, "device: the NVIDIA driver finds no device");
}
