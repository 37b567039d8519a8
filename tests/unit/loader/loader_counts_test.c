/*
 * loader_counts_test.c - what delivered batches took, to the number, whoever was how
 * fast; and data that end after so many batches.
 */
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "loader/loader.h"
#include "loader/prep.h"
#include "profiler/profile.h"
#include "profiler/session/work_counts.h"
#include "tests/lib/images.h"
#include "tests/lib/picture.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = IMAGES_EPOCHS * IMAGES_STEPS, SPARE_SLOTS = 2 };

static char session[TREE_PATH + 16];

static int setup(void **state)
{
	int result = images_setup(state);

	snprintf(session, sizeof(session), "%s/session", images_home);
	return result;
}

/* After each batch of an observed run: what had been counted, and what was in it. */
struct course {
	unsigned steps;
	struct profile_counted counted[STEPS];
	uint64_t epoch[STEPS];
	uint32_t count[STEPS], sample[STEPS][IMAGES_BATCH];
};

static void take(struct dsa_loader *loader, const struct trace *trace,
		 struct course *course)
{
	struct dsa_batch batch;

	while (dsa_next(loader, &batch) > 0) {
		unsigned at = course->steps++;

		assert_true(at < STEPS);
		assert_int_equal(work_counts_read(trace, &course->counted[at]), 0);
		course->epoch[at] = batch.epoch;
		course->count[at] = batch.count;
		memcpy(course->sample[at], batch.samples,
		       batch.count * sizeof(batch.samples[0]));
		dsa_release(loader, &batch);
	}
}

static struct course run(const struct dsa_config *config)
{
	struct course course = {0};
	struct error err = {0};
	struct trace *trace = trace_create(session, 1, &err);
	struct profile_counted none;
	struct dsa_loader *loader;
	char why[DSA_WHY];

	assert_non_null(trace);
	trace->observe = 1;
	setenv("DSA_SESSION", session, 1);
	if (dsa_open(config, &loader, why) < 0)
		fail_msg("%s", why);
	assert_int_equal(work_counts_read(trace, &none), -ENODATA);
	take(loader, trace, &course);
	dsa_close(loader);
	unsetenv("DSA_SESSION");
	trace_unmap(trace);
	return course;
}

static const struct profile_counted *total(const struct course *course)
{
	return &course->counted[course->steps - 1];
}

static uint64_t bytes(const struct course *course, bool of_bad, unsigned steps)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < steps; i++)
		for (uint32_t j = 0; j < course->count[i]; j++)
			sum += images_bytes[of_bad][course->sample[i][j]];
	return sum;
}

TEST(what_is_read_ahead_is_not_counted)
{
	struct dsa_config config = images_config(images_good);
	struct course course;

	config.prefetch = 8;
	course = run(&config);
	assert_int_equal(course.steps, STEPS);
	for (unsigned i = 0, samples = 0; i < STEPS; i++) {
		const struct profile_counted *counted = &course.counted[i];

		samples += course.count[i];
		assert_int_equal(counted->samples, samples);
		assert_int_equal(counted->opens, samples);
		assert_int_equal(counted->reads, samples);
		assert_int_equal(counted->read_bytes, bytes(&course, false, i + 1));
		assert_int_equal(counted->hits, 0);
		assert_true(counted->decoded_pixels > 0);
		assert_int_equal(counted->skipped, 0);
	}
}

TEST(samples_that_are_no_good_are_counted_once)
{
	struct dsa_config config = images_config(images_bad);
	struct course course = run(&config);
	const struct profile_counted *all = total(&course);
	uint64_t vain = 0;

	for (unsigned i = 0; i < IMAGES_BAD; i++)
		vain += images_bytes[true][images_bad_ones[i]];
	assert_int_equal(all->samples, IMAGES_EPOCHS * (IMAGES_COUNT - IMAGES_BAD));
	assert_int_equal(all->skipped, IMAGES_BAD);
	assert_int_equal(all->opens, all->samples + IMAGES_BAD);
	assert_int_equal(all->reads, all->samples + IMAGES_BAD);
	assert_int_equal(all->read_bytes, bytes(&course, true, course.steps) + vain);
}

TEST(threads_engines_and_depths_change_no_count)
{
	static const char *const engines[] = {"pread", "uring", "pread-direct",
					      "uring-direct"};
	static const char *const sets[] = {images_good, images_bad};

	for (unsigned set = 0; set < 2; set++) {
		struct dsa_config config = images_config(sets[set]);
		struct course one = run(&config);

		for (unsigned i = 0; i < 16; i++) {
			struct course other;

			config.fetch = engines[i % 4];
			config.workers = 1u << i / 4;
			config.prefetch = 1 + i / 2;
			config.fetch_depth = 1 + i * 3 % 16;
			other = run(&config);
			assert_memory_equal(&one, &other, sizeof(one));
		}
	}
}

TEST(short_ends_that_nobody_wants_cost_the_next_batch)
{
	struct dsa_config config = images_config(images_bad);
	struct course one, other;

	config.drop_last = 1;
	one = run(&config);
	assert_true(total(&one)->opens > total(&one)->samples + total(&one)->skipped);
	for (unsigned i = 0; i < 6; i++) {
		config.workers = 1 + i % 3;
		config.prefetch = 1 + i;
		other = run(&config);
		assert_memory_equal(&one, &other, sizeof(one));
	}
}

/* Of its first epoch's batch; STEPS: none held it. */
static unsigned batch_before(const struct course *course, unsigned step,
			     uint32_t sample)
{
	for (unsigned i = 0; i < step; i++)
		for (uint32_t j = 0; j < course->count[i]; j++)
			if (course->sample[i][j] == sample)
				return i;
	return STEPS;
}

/* A batch goes into the cache when its slot is filled anew. */
TEST(hits_are_those_of_slots_filled_anew)
{
	struct dsa_config config = images_config(images_good);

	config.cache = "minio";
	config.cache_size = "100%";
	for (config.prefetch = 1; config.prefetch <= 8; config.prefetch++) {
		unsigned slots = config.prefetch + SPARE_SLOTS;
		struct course course = run(&config);
		uint64_t hits = 0;

		for (unsigned i = 0; i < course.steps; i++) {
			for (uint32_t j = 0; j < course.count[i]; j++)
				hits += batch_before(&course, i, course.sample[i][j]) +
						slots <=
					i;
			assert_int_equal(course.counted[i].hits, hits);
			assert_int_equal(course.counted[i].opens,
					 course.counted[i].samples - hits);
		}
		assert_true(hits > 0);
	}
}

TEST(bytes_in_memory_are_not_read)
{
	struct dsa_config config = images_config("synthetic:30");
	struct course course = run(&config);

	assert_int_equal(total(&course)->samples, IMAGES_EPOCHS * 30);
	assert_int_equal(total(&course)->opens, 0);
	assert_int_equal(total(&course)->reads, 0);
	assert_int_equal(total(&course)->read_bytes, 0);
}

TEST(what_is_not_decoded_has_no_pixels)
{
	struct dsa_config config = images_config(images_good);
	struct course course;

	config.prep = "raw";
	course = run(&config);
	assert_int_equal(total(&course)->opens, IMAGES_EPOCHS * IMAGES_COUNT);
	assert_int_equal(total(&course)->decoded_pixels, 0);
}

/* ---- windows ---- */

static void ask(struct trace *trace, enum trace_kind kind, uint32_t flags)
{
	struct trace_window *window = &trace->windows[trace->window_count];

	window->kind = kind;
	window->flags = flags;
	window->hit = .5;
	window->settle = 1;
	window->min_steps = 6;
	window->length_ns = 1000000;
	window->stage = 4 * IMAGES_BATCH;
	window->block = UINT32_MAX;
	atomic_fetch_add(&trace->window_count, 1);
}

/* The batch was read for its own sake: in a real window, or in none. */
static bool is_real(const struct trace *trace, const struct dsa_batch *batch)
{
	const struct trace_window *window = &trace->windows[trace->window_now - 1];

	return !batch->repeated &&
	       (window->kind == TRACE_REAL || window->state >= TRACE_DONE);
}

/* Samples, their bytes, from the stream itself, until all windows are over. */
static uint64_t real_samples(struct dsa_loader *loader, const struct trace *trace,
			     uint64_t *sum)
{
	const struct trace_window *last = &trace->windows[trace->window_count - 1];
	struct dsa_batch batch;
	uint64_t samples = 0;

	while (last->state < TRACE_DONE) {
		assert_int_equal(dsa_next(loader, &batch), 1);
		if (is_real(trace, &batch)) {
			samples += batch.count;
			for (uint32_t i = 0; i < batch.count; i++)
				*sum += images_bytes[false][batch.samples[i]];
		}
		dsa_release(loader, &batch);
	}
	return samples;
}

TEST(what_windows_do_beside_the_stream_is_not_counted)
{
	struct trace *trace = trace_create(session, 1, NULL);
	struct dsa_config config = images_config(images_good);
	struct profile_counted counted;
	struct dsa_loader *loader;
	uint64_t samples, sum = 0;

	assert_non_null(trace);
	ask(trace, TRACE_REAL, 0);
	ask(trace, TRACE_CACHED, 0);
	ask(trace, TRACE_SYNTHETIC, 0);
	ask(trace, TRACE_FETCH, 0);
	ask(trace, TRACE_REAL, TRACE_WARM);
	ask(trace, TRACE_PREP, 0);
	ask(trace, TRACE_REAL, TRACE_DRAW);
	ask(trace, TRACE_REAL, 0);
	setenv("DSA_SESSION", session, 1);
	config.epochs = 0;
	assert_int_equal(dsa_open(&config, &loader, NULL), 0);
	unsetenv("DSA_SESSION");
	samples = real_samples(loader, trace, &sum);
	assert_int_equal(work_counts_read(trace, &counted), 0);
	assert_true(samples < counted.samples);
	assert_int_equal(counted.opens, samples);
	assert_int_equal(counted.reads, samples);
	assert_int_equal(counted.read_bytes, sum);
	dsa_close(loader);
	trace_unmap(trace);
}

/* ---- pixels ---- */

/* Of its JPEG without the last `less` bytes. */
static uint64_t pixels(const struct prep_config *config, const struct picture *picture,
		       size_t less)
{
	struct prep *prep = prep_open(config, NULL);
	struct prep_worker *worker = prep_worker_new(prep);
	size_t size;
	unsigned char *jpeg = picture_jpeg(picture, &size);
	void *out = aligned_alloc(64, (prep_sample_bytes(prep) + 63) / 64 * 64);
	uint64_t count;

	prep_run(worker, jpeg, less < size ? size - less : 0, 3, out, NULL);
	count = prep_pixels(worker);
	free(out);
	free(jpeg);
	prep_worker_free(worker);
	prep_close(prep);
	return count;
}

TEST(pixels_are_rows_by_the_columns_of_the_crop)
{
	const struct picture wide = {.width = 200, .height = 64};
	const struct picture cut = {.width = 64, .height = 64};
	struct prep_config config = prep_defaults;

	config.op = "decoded";
	assert_int_equal(pixels(&config, &wide, 0), 200 * 64);
	assert_int_equal(pixels(&config, &wide, SIZE_MAX), 0);
	config.op = "raw";
	assert_int_equal(pixels(&config, &wide, 0), 0);
	config.op = "image";
	config.evaluate = true;
	config.size = config.resize = 64;
	assert_int_equal(pixels(&config, &cut, 0), 64 * 64);
	/* Columns 68 to 131 and, from a block on, what is needed beside them. */
	assert_int_equal(pixels(&config, &wide, 0), 64 * (132 + 1 + 4 - 64));
	config.size = 32; /* rows 16 to 47, not those above */
	assert_int_equal(pixels(&config, &cut, 0), (32 + 1) * (48 + 1 + 4 - 8));
	/* No end marker: the last row proves the rest. */
	assert_int_equal(pixels(&config, &cut, 2), (32 + 2) * (48 + 1 + 4 - 8));
}

/* ---- the end ---- */

static unsigned batches(struct dsa_loader *loader)
{
	struct dsa_batch batch;
	unsigned count = 0;

	while (dsa_next(loader, &batch) > 0) {
		count++;
		dsa_release(loader, &batch);
	}
	assert_int_equal(dsa_next(loader, &batch), 0); /* it stays so */
	return count;
}

static unsigned batches_with(const char *settings)
{
	struct dsa_config config = images_config(images_good);
	struct dsa_loader *loader;
	char why[DSA_WHY];
	unsigned count;

	setenv("DSA_LOADER", settings, 1);
	if (dsa_open(&config, &loader, why) < 0)
		fail_msg("%s", why);
	unsetenv("DSA_LOADER");
	count = batches(loader);
	dsa_close(loader);
	return count;
}

TEST(steps_end_the_data)
{
	assert_int_equal(batches_with("steps=1"), 1);
	assert_int_equal(batches_with("steps=9"), 9);   /* an epoch's end */
	assert_int_equal(batches_with("steps=20"), 20); /* in the third */
	assert_int_equal(batches_with("steps=0"), STEPS);
	assert_int_equal(batches_with("steps=1000"), STEPS);
	assert_int_equal(batches_with("steps=3,steps=0"), STEPS);
}

TEST(steps_of_a_parent_are_not_the_childs)
{
	struct dsa_config config = images_config(images_good);
	struct dsa_loader *loader;
	struct dsa_batch batch;
	int status;
	pid_t pid;

	setenv("DSA_LOADER", "steps=1", 1);
	assert_int_equal(dsa_open(&config, &loader, NULL), 0);
	unsetenv("DSA_LOADER");
	assert_int_equal(dsa_next(loader, &batch), 1);
	pid = fork();
	if (pid == 0)
		_exit(dsa_next(loader, &batch) == -EOWNERDEAD ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(dsa_release(loader, &batch), 0);
	assert_int_equal(dsa_next(loader, &batch), 0);
	dsa_close(loader);
}

/* ---- what a session does not say ---- */

TEST(a_shared_loader_does_not_say)
{
	struct trace *trace = calloc(1, sizeof(*trace));
	struct profile_counted counted = {.opens = 5};

	assert_non_null(trace);
	assert_int_equal(work_counts_read(trace, &counted), -ENODATA);
	trace->driver = TRACE_PROCESSES + 1; /* damaged */
	assert_int_equal(work_counts_read(trace, &counted), -ENODATA);
	trace->driver = 2;
	assert_int_equal(work_counts_read(trace, &counted), -ENODATA);
	trace_add(&trace->processes[1], TRACE_delivered_samples, 40);
	trace_add(&trace->processes[1], TRACE_shared_samples, 1);
	assert_int_equal(work_counts_read(trace, &counted), -ENODATA);
	assert_int_equal(counted.opens, 5);
	trace->processes[1].counters[TRACE_shared_samples] = 0;
	trace_add(&trace->processes[1], TRACE_counted_hits, 40);
	assert_int_equal(work_counts_read(trace, &counted), 0);
	assert_int_equal(counted.samples, 40);
	assert_int_equal(counted.hits, 40);
	assert_int_equal(counted.opens, 0);
	free(trace);
}

TEST_GROUP(setup, images_teardown);
