/* A program's own last part of prep, of pictures that somebody else decoded. */
#include "loader/base/error.h"
#include "loader/base/random.h"
#include "loader/base/trace.h"
#include "loader/batch_source.h"
#include "loader/loader.h"
#include "loader/options.h"
#include "loader/prep/canvas.h"
#include "loader/share/client/client_prep.h"
#include "tests/lib/nomem.h"
#include "tests/lib/picture.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURES = 3, BATCH = 4, SIDE = 16, BYTES = 3 * SIDE * SIDE, MOST = 10 };

/* Delivers batches of canvases; as many as are allowed, then waits. */
struct source_of {
	struct batch_source base;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t changed;
	unsigned allowed, end, delivered, released;
	int failing; /* what next() returns at the end */
	int changes; /* what release() returns */
	bool stopped, closed;
	struct dsa_batch held;
	unsigned char *data; /* of the one batch at a time */
	uint32_t labels[BATCH], samples[BATCH];
};

static unsigned char *jpegs[PICTURES], *canvases[PICTURES];
static size_t sizes[PICTURES];
static struct options options;
static struct trace_process *process;
static struct error err;

/* ---- pictures ---- */

static unsigned char *prepare(const char *op, const void *bytes, size_t size,
			      uint64_t seed)
{
	struct prep_config config = options.image;
	struct prep *prep;
	struct prep_worker *worker;
	unsigned char *out;

	config.op = op;
	prep = prep_open(&config, NULL);
	worker = prep_worker_new(prep);
	out = aligned_alloc(64, (prep_sample_bytes(prep) + 63) / 64 * 64);
	assert_int_equal(prep_run(worker, bytes, size, seed, out, NULL), 0);
	prep_worker_free(worker);
	prep_close(prep);
	return out;
}

static int setup(void **state)
{
	const struct dsa_config config = {.dataset = "x",
					  .batch = BATCH,
					  .size = SIDE,
					  .type = DSA_UINT8,
					  .prefetch = 2,
					  .seed = 5};

	(void)state;
	process = calloc(1, sizeof(*process));
	assert_int_equal(options_resolve(&options, &config, "workers=3", &err), 0);
	for (unsigned i = 0; i < PICTURES; i++) {
		const struct picture picture = {.width = 40 + 20 * i, .height = 50};

		jpegs[i] = picture_jpeg(&picture, &sizes[i]);
		canvases[i] = prepare("decoded", jpegs[i], sizes[i], 0);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PICTURES; i++) {
		free(jpegs[i]);
		free(canvases[i]);
	}
	free(process);
	return 0;
}

/* ---- who delivers them ---- */

static int next(struct batch_source *delivery, struct dsa_batch *batch,
		struct batch_source_wait *wait, struct error *why)
{
	struct source_of *from = (struct source_of *)delivery;
	int result = 1;

	*wait = (struct batch_source_wait){0};
	pthread_mutex_lock(&from->lock);
	while (!from->stopped && from->delivered < from->end &&
	       from->delivered == from->allowed)
		pthread_cond_wait(&from->changed, &from->lock);
	if (from->stopped || from->delivered == from->end)
		result = from->stopped ? 0 : from->failing;
	for (uint32_t i = 0; result == 1 && i < BATCH; i++) {
		uint32_t sample = from->delivered * BATCH + i;

		from->samples[i] = sample;
		from->labels[i] = sample % 7;
		memcpy(from->data + (size_t)i * CANVAS_BYTES,
		       canvases[sample % PICTURES], CANVAS_BYTES);
	}
	if (result == 1)
		from->held = (struct dsa_batch){
			.data = from->data,
			.labels = from->labels,
			.samples = from->samples,
			.sample_bytes = CANVAS_BYTES,
			.count = BATCH,
			.epoch = from->delivered / 2,
			.step = from->delivered % 2,
		};
	from->delivered += result == 1;
	*batch = from->held;
	pthread_mutex_unlock(&from->lock);
	if (result < 0)
		error_set(why, -result, "the disk is gone");
	return result;
}

static int release(struct batch_source *delivery, const struct dsa_batch *batch,
		   struct error *why)
{
	struct source_of *from = (struct source_of *)delivery;
	int result;

	assert_ptr_equal(batch->data, from->data);
	memset(from->data, 0xa5, (size_t)BATCH * CANVAS_BYTES); /* it is no one's now */
	pthread_mutex_lock(&from->lock);
	from->released++;
	result = from->changes;
	pthread_mutex_unlock(&from->lock);
	if (result < 0)
		error_set(why, -result, "it changed");
	return result;
}

static void stop(struct batch_source *delivery)
{
	struct source_of *from = (struct source_of *)delivery;

	pthread_mutex_lock(&from->lock);
	from->stopped = true;
	pthread_cond_broadcast(&from->changed);
	pthread_mutex_unlock(&from->lock);
}

static void stats(const struct batch_source *delivery, struct dsa_stats *stats)
{
	struct source_of *from = (struct source_of *)(uintptr_t)delivery;

	pthread_mutex_lock(&from->lock);
	stats->epoch = from->delivered / 2;
	stats->step = from->delivered % 2;
	stats->classes = 7;
	pthread_mutex_unlock(&from->lock);
}

static const char *class_name(const struct batch_source *delivery, uint32_t label)
{
	(void)delivery;
	return label == 6 ? "emu" : NULL;
}

static void closes(struct batch_source *delivery)
{
	struct source_of *from = (struct source_of *)delivery;

	assert_false(from->closed);
	from->closed = true;
	free(from->data);
}

static void allow(struct source_of *from, unsigned allowed)
{
	pthread_mutex_lock(&from->lock);
	from->allowed = allowed;
	pthread_cond_broadcast(&from->changed);
	pthread_mutex_unlock(&from->lock);
}

static void source_init(struct source_of *from, unsigned allowed, unsigned end)
{
	static const struct batch_source_ops ops = {
		.next = next,
		.release = release,
		.stop = stop,
		.stats = stats,
		.class_name = class_name,
		.close = closes,
	};

	*from = (struct source_of){
		.base.ops = &ops,
		.allowed = allowed,
		.end = end,
		.data = aligned_alloc(64, (size_t)BATCH * CANVAS_BYTES),
	};
	pthread_mutex_init(&from->lock, NULL);
	pthread_cond_init(&from->changed, NULL);
}

/* ---- tests ---- */

static struct batch_source *open_tail(struct source_of *from)
{
	const struct batch_source_config config = {.options = &options,
						   .process = process};

	err = (struct error){0};
	return client_prep_open(&from->base, &config, &err);
}

static int take(struct batch_source *tail, struct dsa_batch *batch)
{
	struct batch_source_wait wait;
	int result;

	err = (struct error){0};
	result = tail->ops->next(tail, batch, &wait, &err);
	assert_true(wait.delivered_ns >= wait.asked_ns);
	return result;
}

/* Each sample is what a pipeline of its own would have made of the JPEG. */
static void check(const struct dsa_batch *batch, unsigned number)
{
	assert_int_equal(batch->count, BATCH);
	assert_int_equal(batch->sample_bytes, BYTES);
	assert_int_equal(batch->epoch, number / 2);
	assert_int_equal(batch->step, number % 2);
	for (uint32_t i = 0; i < BATCH; i++) {
		uint32_t sample = number * BATCH + i;
		unsigned which = sample % PICTURES;
		unsigned char *want =
			prepare("image", jpegs[which], sizes[which],
				random_seed(options.seed, batch->epoch, sample));

		assert_int_equal(batch->samples[i], sample);
		assert_int_equal(batch->labels[i], sample % 7);
		assert_memory_equal((const char *)batch->data + i * (size_t)BYTES, want,
				    BYTES);
		free(want);
	}
}

TEST(pictures_become_the_programs_own_samples)
{
	struct source_of from;
	struct batch_source *tail;
	struct dsa_batch batch;
	struct dsa_stats after = {0};

	source_init(&from, MOST, MOST);
	tail = open_tail(&from);
	assert_non_null(tail);
	for (unsigned i = 0; i < MOST; i++) {
		assert_int_equal(take(tail, &batch), 1);
		check(&batch, i);
		tail->ops->stats(tail, &after);
		assert_int_equal(after.epoch, (i + 1) / 2);
		assert_int_equal(after.step, (i + 1) % 2);
		assert_int_equal(tail->ops->held(tail), 1);
		assert_int_equal(tail->ops->release(tail, &batch, &err), 0);
	}
	assert_int_equal(take(tail, &batch), 0);
	assert_int_equal(take(tail, &batch), 0);
	assert_int_equal(after.classes, 7);
	assert_string_equal(tail->ops->class_name(tail, 6), "emu");
	assert_int_equal(process->counters[TRACE_prepared_samples], MOST * BATCH);
	tail->ops->close(tail);
	assert_int_equal(from.released, MOST);
	assert_true(from.closed);
}

TEST(batches_that_are_held_stay_as_they_are)
{
	struct source_of from;
	struct batch_source *tail;
	struct dsa_batch held[3], more;

	source_init(&from, MOST, MOST);
	tail = open_tail(&from);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(take(tail, &held[i]), 1);
	for (unsigned i = 0; i < 4; i++) { /* the fourth slot alone goes round */
		assert_int_equal(take(tail, &more), 1);
		check(&more, 3 + i);
		assert_int_equal(tail->ops->release(tail, &more, &err), 0);
		assert_int_equal(tail->ops->release(tail, &more, &err), -EINVAL);
	}
	for (unsigned i = 0; i < 3; i++)
		check(&held[i], i);
	more.slot = 99;
	assert_int_equal(tail->ops->release(tail, &more, &err), -EINVAL);
	tail->ops->close(tail);
}

TEST(a_failure_comes_after_what_was_made)
{
	struct source_of from;
	struct batch_source *tail;
	struct dsa_batch batch;

	source_init(&from, MOST, 2);
	from.failing = -EIO;
	tail = open_tail(&from);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(take(tail, &batch), 1);
	check(&batch, 1);
	assert_int_equal(take(tail, &batch), -EIO);
	assert_string_equal(err.message, "the disk is gone");
	assert_int_equal(take(tail, &batch), -EIO);
	tail->ops->close(tail);
}

TEST(a_batch_that_changed_meanwhile_is_not_delivered)
{
	struct source_of from;
	struct batch_source *tail;
	struct dsa_batch batch;

	source_init(&from, MOST, MOST);
	from.changes = -EBADMSG;
	tail = open_tail(&from);
	assert_int_equal(take(tail, &batch), -EBADMSG);
	assert_string_equal(err.message, "it changed");
	tail->ops->close(tail);
}

TEST(what_is_no_picture_is_named)
{
	struct source_of from;
	struct batch_source *tail;
	struct dsa_batch batch;
	uint32_t *magic = (uint32_t *)(void *)canvases[1];

	*magic ^= 1;
	source_init(&from, MOST, MOST);
	tail = open_tail(&from);
	assert_int_equal(take(tail, &batch), -EBADMSG);
	assert_non_null(strstr(err.message, "sample 1 of the shared loader: "));
	tail->ops->close(tail);
	*magic ^= 1;
}

TEST(close_waits_for_nobody)
{
	struct source_of from;
	struct batch_source *tail;
	struct dsa_batch batch;

	source_init(&from, 0, MOST); /* nothing ever comes */
	tail = open_tail(&from);
	tail->ops->close(tail);
	assert_true(from.closed);

	source_init(&from, MOST, MOST); /* everything is full */
	tail = open_tail(&from);
	assert_int_equal(take(tail, &batch), 1);
	tail->ops->close(tail);

	source_init(&from, 1, MOST);
	tail = open_tail(&from);
	assert_int_equal(take(tail, &batch), 1);
	tail->ops->stop(tail);
	assert_int_equal(take(tail, &batch), 0);
	allow(&from, MOST);
	tail->ops->close(tail);
}

TEST(memory_that_runs_out_is_told)
{
	struct source_of from;
	struct batch_source *tail = NULL;
	unsigned nth = 0;

	while (tail == NULL) {
		source_init(&from, 0, MOST);
		nomem_at(++nth);
		tail = open_tail(&from);
		nomem_at(0);
		assert_true(tail != NULL || (err.code == ENOMEM && from.closed));
		assert_true(nth < 100);
	}
	assert_true(nth > 10);
	tail->ops->close(tail);
}

TEST_GROUP(setup, teardown);
