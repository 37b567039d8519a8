/* copied_window_test.c - windows of a loader for a device: what is copied in each kind, and
 * how far ahead, by the fake driver. */
#include "profiler/session/window.h"
#include "tests/lib/driven.h"
#include "tests/lib/fake_gpu.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	PREFETCH = 3,
	SLOTS = PREFETCH + 2,
	PIXELS = 16 * 16 * 3,
	SENT = PIXELS + 8, /* bytes of a sample, and its label */
	SEEN = DRIVEN_SAMPLES,
};

static struct {
	struct fake_program program;
	uint64_t
		sums[SEEN]; /* of a sample, as a window had it on the device; 0: none */
	unsigned compared;
} trained;

static void begin(const char *settings)
{
	const struct dsa_config config = {.dataset = "synthetic:300",
					  .batch = DRIVEN_BATCH,
					  .workers = 2,
					  .prefetch = PREFETCH,
					  .size = 16,
					  .device = "cuda",
					  .seed = 5};
	char why[DSA_WHY] = "";

	memset(&trained, 0, sizeof(trained));
	fake_gpu(settings);
	fake_program_open(&trained.program);
	if (dsa_open(&config, &driven.loader, why) < 0)
		fail_msg("%s", why);
}

static void end(void)
{
	fake_program_sync(&trained.program);
	dsa_close(driven.loader);
	driven.loader = NULL;
	fake_program_close(&trained.program);
}

static uint64_t sum_of(const char *data, size_t bytes)
{
	uint64_t sum = 1;

	for (size_t i = 0; i < bytes; i++)
		sum = sum * 31 + (unsigned char)data[i];
	return sum;
}

/* A sample of the pool is the same however it came to the device. */
static void compare(const struct dsa_batch *batch, const uint32_t *samples,
		    const char *data)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		uint64_t sum =
			sum_of(data + i * batch->sample_bytes, batch->sample_bytes);
		uint64_t *before = &trained.sums[samples[i]];

		if (*before != 0)
			assert_int_equal(sum, *before);
		trained.compared += *before != 0;
		*before = sum;
	}
}

static bool take(struct dsa_device_batch *batch)
{
	return dsa_next_device(driven.loader, trained.program.stream, batch) == 1;
}

static void release(const struct dsa_device_batch *batch)
{
	assert_int_equal(
		dsa_release_device(driven.loader, batch, trained.program.stream), 0);
}

/* A step that looks at all of its batch. */
static void step(void)
{
	static char data[DRIVEN_BATCH * PIXELS * sizeof(float)];
	uint32_t samples[DRIVEN_BATCH];
	struct dsa_device_batch batch;
	size_t bytes;

	assert_true(take(&batch));
	bytes = batch.batch.count * batch.batch.sample_bytes;
	assert_true(bytes <= sizeof(data));
	memcpy(samples, batch.batch.samples, batch.batch.count * sizeof(uint32_t));
	fake_program_step(&trained.program, 0, batch.data, bytes, data);
	release(&batch);
	if (!batch.batch.repeated)
		return;
	fake_program_sync(&trained.program);
	compare(&batch.batch, samples, data);
}

static void train(const struct trace_window *window)
{
	while (atomic_load(&window->state) < TRACE_DONE)
		step();
}

static void proves_itself(const struct trace_window *raw)
{
	struct window window;

	window_measure(driven.trace, (unsigned)(raw - driven.trace->windows), &window);
	if (!window.certified)
		fail_msg("%s", window.why);
}

TEST_WITH(each_kind_copies_what_it_says, driven_setup, driven_teardown)
{
	struct trace_window *copied = driven_ask(TRACE_COPIED);
	struct trace_window *synthetic = driven_ask(TRACE_SYNTHETIC);
	struct trace_window *cached = driven_ask(TRACE_CACHED);
	struct trace_window *again = driven_ask(TRACE_COPIED);

	begin("");
	train(again);
	assert_string_equal(driven.trace->loader.device, "cuda:0");
	assert_int_equal(driven.trace->loader.device_sample_bytes, SENT);
	assert_int_equal(driven_counted(copied, TRACE_device_bytes),
			 copied->samples * SENT);
	assert_int_equal(driven_counted(copied, TRACE_device_copies), copied->steps);
	assert_int_equal(driven_counted(copied, TRACE_prepared_samples), 0);
	assert_int_equal(driven_counted(synthetic, TRACE_device_bytes), 0);
	assert_true(driven_counted(cached, TRACE_device_bytes) > 0);
	assert_int_equal(driven_counted(again, TRACE_device_bytes),
			 again->samples * SENT);
	proves_itself(copied);
	proves_itself(synthetic);
	proves_itself(again);
	assert_true(trained.compared > 0);
	end();
}

TEST_WITH(the_pool_is_copied_once_as_it_is_filled, driven_setup, driven_teardown)
{
	const struct trace_window *window = driven_ask(TRACE_SYNTHETIC);
	const uint64_t *before = window->begin.counters;

	begin("");
	train(window);
	assert_true(before[TRACE_device_copies] > PREFETCH + 2);
	assert_true(before[TRACE_device_copies] * DRIVEN_BATCH <=
		    before[TRACE_prepared_samples]);
	end();
}

/* As the pipeline would, which has so many ready. */
TEST_WITH(copies_run_ahead, driven_setup, driven_teardown)
{
	const _Atomic uint64_t *copies =
		&driven.trace->processes[0].counters[TRACE_device_copies];
	uint64_t before;

	begin("");
	train(driven_ask(TRACE_SYNTHETIC));
	driven_ask(TRACE_COPIED)->length_ns = UINT64_MAX / 2;
	while (driven.trace->window_now < 2)
		step();
	before = *copies;
	step();
	assert_int_equal(*copies, before + 1);
	end();
}

/* It gets a batch as long as it may have one. */
TEST_WITH(a_program_may_hold_some, driven_setup, driven_teardown)
{
	struct dsa_device_batch held[SLOTS];

	driven_ask(TRACE_COPIED)->length_ns = UINT64_MAX / 2;
	begin("");
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < SLOTS - 1; i++) {
			assert_true(take(&held[i]));
			for (int j = 0; j < i; j++)
				assert_true(held[j].data != held[i].data);
		}
		for (int i = 0; i < SLOTS - 1; i++)
			release(&held[i]);
	}
	end();
}

TEST_WITH(its_ends_wait_for_the_device, driven_setup, driven_teardown)
{
	struct trace_window *copied = driven_ask(TRACE_COPIED);

	begin("rate=1e8");
	train(copied);
	assert_int_equal(copied->made.devices, TRACE_AWAITED);
	end();
}

/* A batch takes 620 us to copy: steps of a program far ahead last as long. */
TEST_WITH(a_step_takes_as_long_as_its_copy, driven_setup, driven_teardown)
{
	struct trace_window *copied = driven_ask(TRACE_COPIED);
	double ns;

	copied->min_steps = 100;
	begin("rate=1e7");
	while (atomic_load(&copied->state) < TRACE_DONE) {
		struct dsa_device_batch batch;

		assert_true(take(&batch));
		release(&batch);
	}
	ns = (double)(copied->end.time_ns - copied->begin.time_ns) / copied->steps;
	assert_true(ns >= .98 * DRIVEN_BATCH * SENT / 1e7 * 1e9);
	ns = (double)driven_counted(copied, TRACE_device_copy_ns) / copied->steps;
	assert_true(ns >= .98 * DRIVEN_BATCH * SENT / 1e7 * 1e9);
	end();
}

/* What the driver's settings are, they are from now on. */
static void set(const char *settings)
{
	struct cuda cuda;

	fake_gpu(settings);
	assert_int_equal(cuda_open(&cuda, NULL), 0);
}

/* Not for 64 batches, which go through no cache of the host's there. */
TEST_WITH(the_device_has_room_for_8_batches_more, driven_setup, driven_teardown)
{
	struct trace_window *synthetic = driven_ask(TRACE_SYNTHETIC);

	begin("memory=1e6");
	train(synthetic);
	assert_int_equal(synthetic->state, TRACE_DONE);
	end();
}

TEST_WITH(where_it_has_not_the_window_says_so, driven_setup, driven_teardown)
{
	struct trace_window *synthetic = driven_ask(TRACE_SYNTHETIC);

	begin("");
	set("memory=1000");
	train(synthetic);
	assert_int_equal(synthetic->state, TRACE_REFUSED);
	assert_non_null(strstr(driven.trace->pool_why, "for 8 batches"));
	assert_non_null(strstr(driven.trace->pool_why, "out of memory"));
	end();
	set("");
}

/* Its copies would not be what the ring's are. */
TEST_WITH(a_pool_that_can_not_be_registered_is_refused, driven_setup, driven_teardown)
{
	struct trace_window *copied = driven_ask(TRACE_COPIED), *again;

	begin("");
	set("register=refused");
	train(copied);
	again = driven_ask(TRACE_COPIED);
	train(again);
	assert_int_equal(copied->state, TRACE_REFUSED);
	assert_int_equal(again->state, TRACE_REFUSED);
	assert_non_null(strstr(driven.trace->pool_why, "beside it not"));
	end();
	set("");
}

TEST_WITH(without_a_device_it_is_refused, driven_setup, driven_teardown)
{
	struct trace_window *copied = driven_ask(TRACE_COPIED);
	struct driven_audit audit = {{0}, 0, 0};

	driven_open("");
	driven_train(copied, &audit, 100);
	assert_int_equal(copied->state, TRACE_REFUSED);
}
