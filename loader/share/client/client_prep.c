/*
 * client_prep.c - crops, resizes and flips in the client when the server sends decoded
 * images.
 */
#include "loader/share/client/client_prep.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/random.h"
#include "loader/base/thread_pool.h"
#include "loader/base/trace.h"
#include "loader/batch_source.h"
#include "loader/loader.h"
#include "loader/options.h"
#include "loader/prep.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Beyond those made ahead: the one that the program holds, and one being made. */
enum { SPARE_SLOTS = 2, PAGE = 4096 };

struct slot {
	enum { SLOT_FREE, SLOT_MADE, SLOT_HELD } state; /* made: or being made */
	unsigned char *data;
	uint32_t *labels, *samples;
	struct dsa_batch batch;
	uint64_t next_epoch, next_step; /* of the batch after it */
};

struct worker {
	struct client_prep *stage;
	pthread_t thread;
	struct prep_worker *prep;
};

struct client_prep {
	struct batch_source base;
	struct batch_source *from; /* the feeder's, but for what any thread may call */
	struct batch_source_config config;
	struct prep *prep;
	size_t sample_bytes;
	uint32_t slot_count;
	struct slot *slots;

	pthread_mutex_t lock;      /* guards all below */
	pthread_cond_t room;       /* a slot is free */
	pthread_cond_t made;       /* a batch is ready, or there will be none */
	pthread_cond_t work, idle; /* places of a batch; none is left or in work */
	bool closing, over;        /* over: no batch comes after those that are ready */
	uint32_t *order, first, ready; /* slots that are ready: order[first ..] */
	uint64_t epoch, step;          /* of the program's next batch */
	uint32_t held;
	struct error failure; /* code 0: the data ended */

	const struct dsa_batch *in; /* in work; NULL: nothing is */
	struct slot *out;
	uint32_t begun, finished; /* places of it */

	pthread_t feeder;
	bool feeding; /* it was started */
	struct worker *workers;
	unsigned worker_count; /* that were started */
};

/* ---- workers ---- */

static void client_prep_make(const struct worker *worker, const struct dsa_batch *in,
			     const struct slot *out, uint32_t at, struct error *err)
{
	const struct client_prep *stage = worker->stage;
	uint64_t start = clock_now();
	int result = prep_run(
		worker->prep, (const unsigned char *)in->data + at * in->sample_bytes,
		in->sample_bytes,
		random_seed(stage->config.options->seed, in->epoch, in->samples[at]),
		out->data + at * stage->sample_bytes, err);

	trace_add(stage->config.process, TRACE_prepared_samples, 1);
	trace_add(stage->config.process, TRACE_prep_ns, clock_now() - start);
	if (result < 0)
		error_within(err, result, "sample %u of the shared loader",
			     in->samples[at]);
}

static void *client_prep_worker_main(void *context)
{
	struct worker *worker = context;
	struct client_prep *stage = worker->stage;

	pthread_setname_np(pthread_self(), "dsa-client-prep");
	thread_batch();
	trace_thread(stage->config.process, TRACE_STAGE_PREP);
	pthread_mutex_lock(&stage->lock);
	while (!stage->closing) {
		const struct dsa_batch *in = stage->in;
		struct error err = {0};
		uint32_t at;

		if (in == NULL || stage->begun == in->count) {
			pthread_cond_wait(&stage->work, &stage->lock);
			continue;
		}
		at = stage->begun++;
		pthread_mutex_unlock(&stage->lock);
		client_prep_make(worker, in, stage->out, at, &err);
		pthread_mutex_lock(&stage->lock);
		if (err.code != 0 && stage->failure.code == 0)
			stage->failure = err;
		stage->finished++;
		if (stage->finished == in->count || stage->closing)
			pthread_cond_signal(&stage->idle);
	}
	pthread_mutex_unlock(&stage->lock);
	return NULL;
}

/* ---- the feeder ---- */

/* A slot to make a batch in; NULL: client_prep is closing. */
static struct slot *client_prep_await_room(struct client_prep *stage)
{
	struct slot *slot = NULL;

	pthread_mutex_lock(&stage->lock);
	while (!stage->closing && slot == NULL) {
		for (uint32_t i = 0; i < stage->slot_count && slot == NULL; i++)
			if (stage->slots[i].state == SLOT_FREE)
				slot = &stage->slots[i];
		if (slot == NULL)
			pthread_cond_wait(&stage->room, &stage->lock);
	}
	if (slot != NULL)
		slot->state = SLOT_MADE;
	pthread_mutex_unlock(&stage->lock);
	return slot;
}

/* Has the workers make a batch; waits for them. 0, or -errno of the first failure. */
static int client_prep_make_all(struct client_prep *stage, const struct dsa_batch *in,
				struct slot *out)
{
	int result;

	pthread_mutex_lock(&stage->lock);
	stage->in = in;
	stage->out = out;
	stage->begun = stage->finished = 0;
	pthread_cond_broadcast(&stage->work);
	while (stage->finished < (stage->closing ? stage->begun : in->count))
		pthread_cond_wait(&stage->idle, &stage->lock);
	stage->in = NULL;
	result = -stage->failure.code;
	pthread_mutex_unlock(&stage->lock);
	return result;
}

static void client_prep_describe(struct client_prep *stage, const struct dsa_batch *in,
				 struct slot *slot)
{
	struct dsa_stats stats = {0};

	stage->from->ops->stats(stage->from, &stats);
	memcpy(slot->labels, in->labels, in->count * sizeof(*in->labels));
	memcpy(slot->samples, in->samples, in->count * sizeof(*in->samples));
	slot->batch = *in;
	slot->batch.data = slot->data;
	slot->batch.labels = slot->labels;
	slot->batch.samples = slot->samples;
	slot->batch.sample_bytes = stage->sample_bytes;
	slot->batch.slot = (uint32_t)(slot - stage->slots);
	slot->next_epoch = stats.epoch;
	slot->next_step = stats.step;
}

/* Brings one batch: 1, 0 at the end of the data, -errno. */
static int client_prep_feed(struct client_prep *stage, struct slot *slot,
			    struct error *err)
{
	struct batch_source *from = stage->from;
	struct batch_source_wait wait;
	struct dsa_batch in;
	int result = from->ops->next(from, &in, &wait, err), released;

	if (result <= 0)
		return result;
	client_prep_describe(stage, &in, slot);
	result = client_prep_make_all(stage, &in, slot);
	released = from->ops->release(from, &in, err);
	return result < 0 ? result : released < 0 ? released : 1;
}

static void client_prep_hand_on(struct client_prep *stage, const struct slot *slot,
				int result, const struct error *err)
{
	pthread_mutex_lock(&stage->lock);
	if (result == 1)
		stage->order[(stage->first + stage->ready++) % stage->slot_count] =
			(uint32_t)(slot - stage->slots);
	else
		stage->over = true;
	if (result < 0 && stage->failure.code == 0)
		stage->failure = *err;
	pthread_cond_signal(&stage->made);
	pthread_mutex_unlock(&stage->lock);
}

static void *client_prep_feeder_main(void *context)
{
	struct client_prep *stage = context;
	struct slot *slot;
	int result = 1;

	pthread_setname_np(pthread_self(), "dsa-feeder");
	while (result == 1 && (slot = client_prep_await_room(stage)) != NULL) {
		struct error err = {0};

		result = client_prep_feed(stage, slot, &err);
		client_prep_hand_on(stage, slot, result, &err);
	}
	return NULL;
}

/* ---- the program ---- */

static int client_prep_next(struct batch_source *delivery, struct dsa_batch *batch,
			    struct batch_source_wait *wait, struct error *err)
{
	struct client_prep *stage = (struct client_prep *)delivery;
	int result = 0;

	wait->asked_ns = clock_now();
	pthread_mutex_lock(&stage->lock);
	while (stage->ready == 0 && !stage->over)
		pthread_cond_wait(&stage->made, &stage->lock);
	if (stage->ready > 0) {
		struct slot *slot = &stage->slots[stage->order[stage->first]];

		stage->first = (stage->first + 1) % stage->slot_count;
		stage->ready--;
		stage->held++;
		stage->epoch = slot->next_epoch;
		stage->step = slot->next_step;
		slot->state = SLOT_HELD;
		*batch = slot->batch;
		result = 1;
	} else if (stage->failure.code != 0) {
		*err = stage->failure;
		result = -err->code;
	}
	pthread_mutex_unlock(&stage->lock);
	wait->delivered_ns = clock_now();
	return result;
}

static int client_prep_release(struct batch_source *delivery,
			       const struct dsa_batch *batch, struct error *err)
{
	struct client_prep *stage = (struct client_prep *)delivery;
	int result = -EINVAL;

	(void)err;
	if (batch->slot >= stage->slot_count)
		return -EINVAL;
	pthread_mutex_lock(&stage->lock);
	if (stage->slots[batch->slot].state == SLOT_HELD) {
		stage->slots[batch->slot].state = SLOT_FREE;
		stage->held--;
		pthread_cond_signal(&stage->room);
		result = 0;
	}
	pthread_mutex_unlock(&stage->lock);
	return result;
}

static unsigned client_prep_held(const struct batch_source *delivery)
{
	return ((const struct client_prep *)delivery)
		->held; /* the program's thread's own */
}

static void client_prep_stop(struct batch_source *delivery)
{
	struct client_prep *stage = (struct client_prep *)delivery;

	pthread_mutex_lock(&stage->lock);
	stage->over = true;
	pthread_cond_signal(&stage->made);
	pthread_mutex_unlock(&stage->lock);
}

static void client_prep_stats(const struct batch_source *delivery,
			      struct dsa_stats *stats)
{
	struct client_prep *stage =
		(struct client_prep *)(uintptr_t)delivery; /* its lock */

	stage->from->ops->stats(stage->from, stats);
	pthread_mutex_lock(&stage->lock);
	stats->epoch = stage->epoch;
	stats->step = stage->step;
	pthread_mutex_unlock(&stage->lock);
}

static const char *client_prep_class(const struct batch_source *delivery,
				     uint32_t label)
{
	const struct batch_source *from = ((const struct client_prep *)delivery)->from;

	return from->ops->class_name(from, label);
}

/* ---- opening and closing ---- */

static int client_prep_open_slots(struct client_prep *stage)
{
	uint32_t batch = stage->config.options->batch;
	size_t bytes = (batch * stage->sample_bytes + PAGE - 1) / PAGE * PAGE;

	stage->slot_count = stage->config.options->prefetch + SPARE_SLOTS;
	stage->slots = calloc(stage->slot_count, sizeof(*stage->slots));
	stage->order = calloc(stage->slot_count, sizeof(*stage->order));
	if (stage->slots == NULL || stage->order == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < stage->slot_count; i++) {
		struct slot *slot = &stage->slots[i];

		slot->data = aligned_alloc(PAGE, bytes);
		slot->labels = calloc(batch, 2 * sizeof(*slot->labels));
		if (slot->data == NULL || slot->labels == NULL)
			return -ENOMEM;
		slot->samples = slot->labels + batch;
	}
	return 0;
}

static int client_prep_start_workers(struct client_prep *stage)
{
	unsigned count = stage->config.options->workers;

	stage->workers = calloc(count, sizeof(*stage->workers));
	if (stage->workers == NULL)
		return -ENOMEM;
	for (; stage->worker_count < count; stage->worker_count++) {
		struct worker *worker = &stage->workers[stage->worker_count];
		int code = ENOMEM;

		worker->stage = stage;
		worker->prep = prep_worker_new(stage->prep);
		if (worker->prep != NULL)
			code = thread_start(&worker->thread, client_prep_worker_main,
					    worker);
		if (code != 0) {
			prep_worker_free(worker->prep);
			return -code;
		}
	}
	return 0;
}

static int client_prep_start_threads(struct client_prep *stage)
{
	int result = client_prep_start_workers(stage);

	if (result == 0)
		result = -thread_start(&stage->feeder, client_prep_feeder_main, stage);
	stage->feeding = result == 0;
	return result;
}

static void client_prep_stop_threads(struct client_prep *stage)
{
	stage->from->ops->stop(stage->from);
	pthread_mutex_lock(&stage->lock);
	stage->closing = true;
	pthread_cond_broadcast(&stage->room);
	pthread_cond_broadcast(&stage->work);
	pthread_cond_broadcast(&stage->idle);
	pthread_mutex_unlock(&stage->lock);
	if (stage->feeding)
		pthread_join(stage->feeder, NULL);
	for (unsigned i = 0; i < stage->worker_count; i++) {
		pthread_join(stage->workers[i].thread, NULL);
		prep_worker_free(stage->workers[i].prep);
	}
}

static void client_prep_close(struct batch_source *delivery)
{
	struct client_prep *stage = (struct client_prep *)delivery;

	client_prep_stop_threads(stage);
	for (uint32_t i = 0; stage->slots != NULL && i < stage->slot_count; i++) {
		free(stage->slots[i].data);
		free(stage->slots[i].labels);
	}
	free(stage->slots);
	free(stage->order);
	free(stage->workers);
	prep_close(stage->prep);
	stage->from->ops->close(stage->from);
	pthread_mutex_destroy(&stage->lock);
	pthread_cond_destroy(&stage->room);
	pthread_cond_destroy(&stage->made);
	pthread_cond_destroy(&stage->work);
	pthread_cond_destroy(&stage->idle);
	free(stage);
}

static const struct batch_source_ops client_prep_ops = {
	.next = client_prep_next,
	.release = client_prep_release,
	.held = client_prep_held,
	.stop = client_prep_stop,
	.stats = client_prep_stats,
	.class_name = client_prep_class,
	.close = client_prep_close,
};

static int client_prep_open_parts(struct client_prep *stage, struct error *err)
{
	struct prep_config config = stage->config.options->image;
	struct dsa_stats stats = {0};
	int result;

	config.op = "canvas";
	stage->prep = prep_open(&config, err);
	if (stage->prep == NULL)
		return -err->code;
	stage->sample_bytes = prep_sample_bytes(stage->prep);
	stage->from->ops->stats(stage->from, &stats);
	stage->epoch = stats.epoch;
	stage->step = stats.step;
	result = client_prep_open_slots(stage);
	if (result == 0)
		result = client_prep_start_threads(stage);
	return result == 0 ? 0
			   : error_sys(err, -result, "cannot prepare shared pictures");
}

struct batch_source *client_prep_open(struct batch_source *from,
				      const struct batch_source_config *config,
				      struct error *err)
{
	struct client_prep *stage = calloc(1, sizeof(*stage));

	if (stage == NULL) {
		error_sys(err, ENOMEM, "cannot prepare shared pictures");
		from->ops->close(from);
		return NULL;
	}
	stage->base.ops = &client_prep_ops;
	stage->from = from;
	stage->config = *config;
	pthread_mutex_init(&stage->lock, NULL);
	pthread_cond_init(&stage->room, NULL);
	pthread_cond_init(&stage->made, NULL);
	pthread_cond_init(&stage->work, NULL);
	pthread_cond_init(&stage->idle, NULL);
	if (client_prep_open_parts(stage, err) == 0)
		return &stage->base;
	client_prep_close(&stage->base);
	return NULL;
}
