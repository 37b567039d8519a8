/* gpu_batches_test.c - what arrives on a device, by the fake driver: the batches that a
 * loader in memory delivers, whatever runs ahead of whom. */
#include "loader/base/random.h"
#include "loader/prep.h"
#include "tests/lib/converted.h"
#include "tests/lib/delivered.h"
#include "tests/lib/fake_gpu.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 16, AREA = SIZE * SIZE, MOST = IMAGES_EPOCHS * IMAGES_STEPS };

static struct dsa_config device_config(void)
{
	struct dsa_config config = images_config(images_good);

	config.device = "cuda";
	return config;
}

/* A batch that a kernel has read, as the program's copy has it. */
struct seen {
	struct dsa_batch batch;
	uint32_t samples[IMAGES_BATCH], labels[IMAGES_BATCH];
	int64_t device_labels[IMAGES_BATCH];
	char data[IMAGES_BATCH * 3 * AREA * sizeof(float)];
};

static void see(struct fake_program *program, struct dsa_loader *loader, uint64_t work,
		struct seen *seen, struct dsa_device_batch *batch)
{
	struct dsa_batch *host = &batch->batch;

	assert_int_equal(dsa_next_device(loader, program->stream, batch), 1);
	assert_null(host->data);
	assert_true(host->count * host->sample_bytes <= sizeof(seen->data));
	seen->batch = *host;
	memcpy(seen->samples, host->samples, host->count * sizeof(uint32_t));
	memcpy(seen->labels, host->labels, host->count * sizeof(uint32_t));
	fake_program_step(program, work, batch->data, host->count * host->sample_bytes,
			  seen->data);
	fake_program_step(program, 0, batch->labels, host->count * sizeof(int64_t),
			  seen->device_labels);
}

/* Adds it as a loader in memory would have delivered it. */
static void add_seen(struct delivered *log, struct seen *seen)
{
	seen->batch.data = seen->data;
	seen->batch.samples = seen->samples;
	seen->batch.labels = seen->labels;
	delivered_add(log, &seen->batch);
	for (uint32_t i = 0; i < seen->batch.count; i++)
		assert_int_equal(seen->device_labels[i], seen->labels[i]);
}

/* All that a loader delivers to a program that never waits for its device. */
static struct delivered device_delivered(const struct dsa_config *config, uint64_t work)
{
	struct dsa_loader *loader = delivered_open(config);
	struct seen *seen = calloc(MOST, sizeof(*seen));
	struct delivered log = {0};
	struct dsa_device_batch batch;
	struct fake_program program;

	fake_program_open(&program);
	for (unsigned i = 0; i < MOST; i++) {
		see(&program, loader, work, &seen[i], &batch);
		assert_int_equal(dsa_release_device(loader, &batch, program.stream), 0);
	}
	assert_int_equal(dsa_next_device(loader, program.stream, &batch), 0);
	assert_int_equal(dsa_stats(loader, &log.stats), 0);
	dsa_close(loader);
	fake_program_sync(&program);
	for (unsigned i = 0; i < MOST; i++)
		add_seen(&log, &seen[i]);
	fake_program_close(&program);
	free(seen);
	return log;
}

TEST(the_device_gets_what_memory_gets)
{
	static const enum dsa_type types[] = {DSA_FLOAT32, DSA_FLOAT16, DSA_UINT8};

	fake_gpu("rate=1e9");
	setenv("DSA_LOADER", "transfer=output", 1);
	for (unsigned i = 0; i < 6; i++) {
		struct dsa_config memory = images_config(images_good);
		struct dsa_config device = device_config();
		struct delivered one, other;

		memory.type = device.type = types[i % 3];
		memory.layout = device.layout = i < 3 ? DSA_NCHW : DSA_NHWC;
		one = delivered_of(&memory);
		other = device_delivered(&device, 0);
		delivered_same(&one, 0, &other);
	}
	unsetenv("DSA_LOADER");
}

/* What the reference makes of the bytes that memory gets. */
static struct delivered reference_of(enum dsa_type type, enum dsa_layout layout)
{
	static const size_t bytes[] = {4, 2, 1};
	struct dsa_config config = images_config(images_good);
	struct converted how = {
		.type = (enum converted_type)type,
		.area = AREA,
		.step = layout == DSA_NHWC ? 3 : 1,
		.plane = layout == DSA_NHWC ? 1 : AREA,
	};
	char data[IMAGES_BATCH * 3 * AREA * sizeof(float)];
	struct delivered log = {0};
	struct dsa_loader *loader;
	struct dsa_batch batch;

	for (int c = 0; c < 3; c++) {
		how.factor[c] = 1 / (255 * prep_defaults.std[c]);
		how.offset[c] = -prep_defaults.mean[c] / prep_defaults.std[c];
	}
	config.layout = DSA_NHWC;
	loader = delivered_open(&config);
	while (dsa_next(loader, &batch) > 0) {
		struct dsa_batch made = batch;

		converted(&how, batch.data, data, batch.count);
		made.data = data;
		made.sample_bytes = 3 * AREA * bytes[type];
		delivered_add(&log, &made);
		dsa_release(loader, &batch);
	}
	dsa_close(loader);
	return log;
}

TEST(bytes_become_numbers_on_the_device)
{
	fake_gpu("rate=1e9");
	for (unsigned i = 0; i < 6; i++) {
		enum dsa_layout layout = i < 3 ? DSA_NCHW : DSA_NHWC;
		enum dsa_type type = (enum dsa_type)(i % 3);
		struct dsa_config device = device_config();
		struct delivered one = reference_of(type, layout), other;

		device.type = type;
		device.layout = layout;
		other = device_delivered(&device, 0);
		delivered_same(&one, 0, &other);
	}
}

/* The host does not round to bytes. */
TEST(they_are_within_half_a_level_of_memorys)
{
	struct dsa_config memory = images_config(images_good), device = device_config();
	struct dsa_loader *loaders[2];
	struct fake_program program;
	struct dsa_device_batch there;
	struct dsa_batch here;
	struct seen seen;
	double most = 0;

	fake_gpu("rate=1e9");
	memory.type = device.type = DSA_FLOAT32;
	loaders[0] = delivered_open(&memory);
	loaders[1] = delivered_open(&device);
	fake_program_open(&program);
	for (unsigned i = 0; i < MOST; i++) {
		const float *a, *b = (const float *)(const void *)seen.data;

		assert_int_equal(dsa_next(loaders[0], &here), 1);
		a = here.data;
		see(&program, loaders[1], 0, &seen, &there);
		fake_program_sync(&program);
		for (size_t at = 0; at < (size_t)here.count * 3 * AREA; at++) {
			float std = prep_defaults.std[at / AREA % 3];
			double levels =
				fabs((double)(a[at] - b[at])) * 255 * (double)std;

			most = levels > most ? levels : most;
		}
		dsa_release(loaders[0], &here);
		dsa_release_device(loaders[1], &there, program.stream);
	}
	assert_true(most < .5001 && most > .4);
	dsa_close(loaders[0]);
	dsa_close(loaders[1]);
	fake_program_close(&program);
}

/* The fake driver looks at every byte when work executes. */
TEST(whoever_is_slow_nothing_is_overwritten)
{
	static const char *const rates[] = {"rate=1e6", "rate=2e7", "rate=1e10"};
	static const uint64_t works[] = {0, 100000, 1000000}; /* ns of a batch */
	struct dsa_config memory = images_config(images_good);
	struct delivered one = delivered_of(&memory);

	for (unsigned i = 0; i < 9; i++) {
		struct dsa_config config = device_config();
		struct delivered other;

		config.prefetch = 1 + i % 4;
		fake_gpu(rates[i % 3]);
		setenv("DSA_LOADER", "transfer=output", 1);
		other = device_delivered(&config, works[i / 3]);
		unsetenv("DSA_LOADER");
		delivered_same(&one, 0, &other);
	}
}

/* Holds up to four batches and gives them back in any order, or not at all. */
static void random_schedule(uint64_t seed, const struct delivered *want)
{
	struct dsa_config config = device_config();
	struct random draw = {seed};
	struct dsa_loader *loader;
	struct seen *seen = calloc(MOST, sizeof(*seen));
	struct dsa_device_batch held[4];
	struct delivered log = {0};
	struct fake_program program;
	unsigned count = 0, ends = (unsigned)random_below(&draw, MOST), taken = 0;

	config.prefetch = 4;
	loader = delivered_open(&config);
	fake_program_open(&program);
	while (taken < ends) {
		if (count < 4 && random_below(&draw, 2) == 0) {
			see(&program, loader, random_below(&draw, 300000),
			    &seen[taken++], &held[count++]);
		} else if (count > 0) {
			unsigned at = (unsigned)random_below(&draw, count);

			assert_int_equal(
				dsa_release_device(loader, &held[at], program.stream),
				0);
			held[at] = held[--count];
		}
	}
	while (count > 0 && random_below(&draw, 4) > 0)
		dsa_release_device(loader, &held[--count], program.stream);
	if (count > 0) /* memory of those that it keeps goes with the loader */
		fake_program_sync(&program);
	dsa_close(loader);
	fake_program_sync(&program);
	for (unsigned i = 0; i < taken; i++)
		add_seen(&log, &seen[i]);
	assert_memory_equal(log.row, want->row, log.samples * sizeof(log.row[0]));
	fake_program_close(&program);
	free(seen);
}

TEST(any_order_will_do)
{
	struct delivered want = reference_of(DSA_UINT8, DSA_NCHW);
	unsigned most = getenv("SOAK") != NULL ? 1000 : 50;

	for (unsigned seed = 1; seed <= most; seed++) {
		fake_gpu(seed % 3 == 0 ? "rate=3e6" : "rate=1e8");
		random_schedule(seed, &want);
	}
}

TEST(a_second_stream_can_wait_too)
{
	struct dsa_config config = device_config();
	struct delivered want = reference_of(DSA_UINT8, DSA_NCHW), log = {0};
	struct fake_program one, other;
	struct dsa_loader *loader;
	struct dsa_device_batch batch;
	struct seen seen = {0};

	fake_gpu("rate=1e6");
	loader = delivered_open(&config);
	fake_program_open(&one);
	fake_program_open(&other);
	see(&one, loader, 0, &seen, &batch);
	assert_int_equal(dsa_wait_device(loader, &batch, other.stream), 0);
	fake_program_sync(&one);
	memset(seen.data, 0, sizeof(seen.data));
	fake_program_step(&other, 0, batch.data,
			  batch.batch.count * batch.batch.sample_bytes, seen.data);
	fake_program_sync(&other);
	add_seen(&log, &seen);
	assert_memory_equal(log.row, want.row, log.samples * sizeof(log.row[0]));
	assert_int_equal(dsa_release_device(loader, &batch, one.stream), 0);
	assert_int_equal(dsa_release_device(loader, &batch, one.stream), -EINVAL);
	assert_int_equal(dsa_wait_device(loader, &batch, one.stream), -EINVAL);
	dsa_close(loader);
	fake_program_close(&other);
	fake_program_close(&one);
}

TEST_GROUP(images_setup, images_teardown);
