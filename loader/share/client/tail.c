#include "loader/share/client/tail.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/random.h"
#include "loader/base/trace.h"
#include "loader/batch_source.h"
#include "loader/loader.h"
#include "loader/options.h"
#include "loader/prep.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
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
	struct tail *tail;
	pthread_t thread;
	struct prep_worker *prep;
};

struct tail {
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

static void tail_make(const struct worker *worker, const struct dsa_batch *in,
		      const struct slot *out, uint32_t at, struct error *err)
{
	const struct tail *tail = worker->tail;
	uint64_t start = clock_now();
	int result = prep_run(
		worker->prep, (const unsigned char *)in->data + at * in->sample_bytes,
		in->sample_bytes,
		random_seed(tail->config.options->seed, in->epoch, in->samples[at]),
		out->data + at * tail->sample_bytes, err);

	trace_add(tail->config.process, TRACE_prepared_samples, 1);
	trace_add(tail->config.process, TRACE_prep_ns, clock_now() - start);
	if (result < 0)
		error_within(err, result, "sample %u of the shared loader",
			     in->samples[at]);
}

static void *tail_worker_main(void *context)
{
	struct worker *worker = context;
	struct tail *tail = worker->tail;

	pthread_setname_np(pthread_self(), "dsa-tail");
	trace_thread(tail->config.process, TRACE_STAGE_PREP);
	pthread_mutex_lock(&tail->lock);
	while (!tail->closing) {
		const struct dsa_batch *in = tail->in;
		struct error err = {0};
		uint32_t at;

		if (in == NULL || tail->begun == in->count) {
			pthread_cond_wait(&tail->work, &tail->lock);
			continue;
		}
		at = tail->begun++;
		pthread_mutex_unlock(&tail->lock);
		tail_make(worker, in, tail->out, at, &err);
		pthread_mutex_lock(&tail->lock);
		if (err.code != 0 && tail->failure.code == 0)
			tail->failure = err;
		tail->finished++;
		if (tail->finished == in->count || tail->closing)
			pthread_cond_signal(&tail->idle);
	}
	pthread_mutex_unlock(&tail->lock);
	return NULL;
}

/* ---- the feeder ---- */

/* A slot to make a batch in; NULL: the tail is closed. */
static struct slot *await_room(struct tail *tail)
{
	struct slot *slot = NULL;

	pthread_mutex_lock(&tail->lock);
	while (!tail->closing && slot == NULL) {
		for (uint32_t i = 0; i < tail->slot_count && slot == NULL; i++)
			if (tail->slots[i].state == SLOT_FREE)
				slot = &tail->slots[i];
		if (slot == NULL)
			pthread_cond_wait(&tail->room, &tail->lock);
	}
	if (slot != NULL)
		slot->state = SLOT_MADE;
	pthread_mutex_unlock(&tail->lock);
	return slot;
}

/* Has the workers make a batch; waits for them. 0, or -errno of the first failure. */
static int tail_make_all(struct tail *tail, const struct dsa_batch *in,
			 struct slot *out)
{
	int result;

	pthread_mutex_lock(&tail->lock);
	tail->in = in;
	tail->out = out;
	tail->begun = tail->finished = 0;
	pthread_cond_broadcast(&tail->work);
	while (tail->finished < (tail->closing ? tail->begun : in->count))
		pthread_cond_wait(&tail->idle, &tail->lock);
	tail->in = NULL;
	result = -tail->failure.code;
	pthread_mutex_unlock(&tail->lock);
	return result;
}

static void tail_describe(struct tail *tail, const struct dsa_batch *in,
			  struct slot *slot)
{
	struct dsa_stats stats = {0};

	tail->from->ops->stats(tail->from, &stats);
	memcpy(slot->labels, in->labels, in->count * sizeof(*in->labels));
	memcpy(slot->samples, in->samples, in->count * sizeof(*in->samples));
	slot->batch = *in;
	slot->batch.data = slot->data;
	slot->batch.labels = slot->labels;
	slot->batch.samples = slot->samples;
	slot->batch.sample_bytes = tail->sample_bytes;
	slot->batch.slot = (uint32_t)(slot - tail->slots);
	slot->next_epoch = stats.epoch;
	slot->next_step = stats.step;
}

/* Brings one batch: 1, 0 at the end of the data, -errno. */
static int tail_feed(struct tail *tail, struct slot *slot, struct error *err)
{
	struct batch_source *from = tail->from;
	struct batch_source_wait wait;
	struct dsa_batch in;
	int result = from->ops->next(from, &in, &wait, err), released;

	if (result <= 0)
		return result;
	tail_describe(tail, &in, slot);
	result = tail_make_all(tail, &in, slot);
	released = from->ops->release(from, &in, err);
	return result < 0 ? result : released < 0 ? released : 1;
}

static void tail_hand_on(struct tail *tail, const struct slot *slot, int result,
			 const struct error *err)
{
	pthread_mutex_lock(&tail->lock);
	if (result == 1)
		tail->order[(tail->first + tail->ready++) % tail->slot_count] =
			(uint32_t)(slot - tail->slots);
	else
		tail->over = true;
	if (result < 0 && tail->failure.code == 0)
		tail->failure = *err;
	pthread_cond_signal(&tail->made);
	pthread_mutex_unlock(&tail->lock);
}

static void *feeder_main(void *context)
{
	struct tail *tail = context;
	struct slot *slot;
	int result = 1;

	pthread_setname_np(pthread_self(), "dsa-tail-feed");
	while (result == 1 && (slot = await_room(tail)) != NULL) {
		struct error err = {0};

		result = tail_feed(tail, slot, &err);
		tail_hand_on(tail, slot, result, &err);
	}
	return NULL;
}

/* ---- the program ---- */

static int tail_next(struct batch_source *delivery, struct dsa_batch *batch,
		     struct batch_source_wait *wait, struct error *err)
{
	struct tail *tail = (struct tail *)delivery;
	int result = 0;

	wait->asked_ns = clock_now();
	pthread_mutex_lock(&tail->lock);
	while (tail->ready == 0 && !tail->over)
		pthread_cond_wait(&tail->made, &tail->lock);
	if (tail->ready > 0) {
		struct slot *slot = &tail->slots[tail->order[tail->first]];

		tail->first = (tail->first + 1) % tail->slot_count;
		tail->ready--;
		tail->held++;
		tail->epoch = slot->next_epoch;
		tail->step = slot->next_step;
		slot->state = SLOT_HELD;
		*batch = slot->batch;
		result = 1;
	} else if (tail->failure.code != 0) {
		*err = tail->failure;
		result = -err->code;
	}
	pthread_mutex_unlock(&tail->lock);
	wait->delivered_ns = clock_now();
	return result;
}

static int tail_release(struct batch_source *delivery, const struct dsa_batch *batch,
			struct error *err)
{
	struct tail *tail = (struct tail *)delivery;
	int result = -EINVAL;

	(void)err;
	if (batch->slot >= tail->slot_count)
		return -EINVAL;
	pthread_mutex_lock(&tail->lock);
	if (tail->slots[batch->slot].state == SLOT_HELD) {
		tail->slots[batch->slot].state = SLOT_FREE;
		tail->held--;
		pthread_cond_signal(&tail->room);
		result = 0;
	}
	pthread_mutex_unlock(&tail->lock);
	return result;
}

static unsigned tail_held(const struct batch_source *delivery)
{
	return ((const struct tail *)delivery)->held; /* the program's thread's own */
}

static void tail_stop(struct batch_source *delivery)
{
	struct tail *tail = (struct tail *)delivery;

	pthread_mutex_lock(&tail->lock);
	tail->over = true;
	pthread_cond_signal(&tail->made);
	pthread_mutex_unlock(&tail->lock);
}

static void tail_emulated(struct batch_source *delivery, double rate)
{
	(void)delivery;
	(void)rate; /* no session is driven here */
}

static void tail_stats(const struct batch_source *delivery, struct dsa_stats *stats)
{
	struct tail *tail = (struct tail *)(uintptr_t)delivery; /* its lock */

	tail->from->ops->stats(tail->from, stats);
	pthread_mutex_lock(&tail->lock);
	stats->epoch = tail->epoch;
	stats->step = tail->step;
	pthread_mutex_unlock(&tail->lock);
}

static const char *tail_class(const struct batch_source *delivery, uint32_t label)
{
	const struct batch_source *from = ((const struct tail *)delivery)->from;

	return from->ops->class_name(from, label);
}

/* ---- opening and closing ---- */

static int open_slots(struct tail *tail)
{
	uint32_t batch = tail->config.options->batch;
	size_t bytes = (batch * tail->sample_bytes + PAGE - 1) / PAGE * PAGE;

	tail->slot_count = tail->config.options->prefetch + SPARE_SLOTS;
	tail->slots = calloc(tail->slot_count, sizeof(*tail->slots));
	tail->order = calloc(tail->slot_count, sizeof(*tail->order));
	if (tail->slots == NULL || tail->order == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < tail->slot_count; i++) {
		struct slot *slot = &tail->slots[i];

		slot->data = aligned_alloc(PAGE, bytes);
		slot->labels = calloc(batch, 2 * sizeof(*slot->labels));
		if (slot->data == NULL || slot->labels == NULL)
			return -ENOMEM;
		slot->samples = slot->labels + batch;
	}
	return 0;
}

static int start_workers(struct tail *tail)
{
	unsigned count = tail->config.options->workers;

	tail->workers = calloc(count, sizeof(*tail->workers));
	if (tail->workers == NULL)
		return -ENOMEM;
	for (; tail->worker_count < count; tail->worker_count++) {
		struct worker *worker = &tail->workers[tail->worker_count];
		int code = ENOMEM;

		worker->tail = tail;
		worker->prep = prep_worker_new(tail->prep);
		if (worker->prep != NULL)
			code = pthread_create(&worker->thread, NULL, tail_worker_main,
					      worker);
		if (code != 0) {
			prep_worker_free(worker->prep);
			return -code;
		}
	}
	return 0;
}

/* The host's signals are for its own threads. */
static int tail_start_threads(struct tail *tail)
{
	sigset_t all, before;
	int result;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = start_workers(tail);
	if (result == 0)
		result = -pthread_create(&tail->feeder, NULL, feeder_main, tail);
	tail->feeding = result == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return result;
}

static void tail_stop_threads(struct tail *tail)
{
	tail->from->ops->stop(tail->from);
	pthread_mutex_lock(&tail->lock);
	tail->closing = true;
	pthread_cond_broadcast(&tail->room);
	pthread_cond_broadcast(&tail->work);
	pthread_cond_broadcast(&tail->idle);
	pthread_mutex_unlock(&tail->lock);
	if (tail->feeding)
		pthread_join(tail->feeder, NULL);
	for (unsigned i = 0; i < tail->worker_count; i++) {
		pthread_join(tail->workers[i].thread, NULL);
		prep_worker_free(tail->workers[i].prep);
	}
}

static void tail_close(struct batch_source *delivery)
{
	struct tail *tail = (struct tail *)delivery;

	tail_stop_threads(tail);
	for (uint32_t i = 0; tail->slots != NULL && i < tail->slot_count; i++) {
		free(tail->slots[i].data);
		free(tail->slots[i].labels);
	}
	free(tail->slots);
	free(tail->order);
	free(tail->workers);
	prep_close(tail->prep);
	tail->from->ops->close(tail->from);
	pthread_mutex_destroy(&tail->lock);
	pthread_cond_destroy(&tail->room);
	pthread_cond_destroy(&tail->made);
	pthread_cond_destroy(&tail->work);
	pthread_cond_destroy(&tail->idle);
	free(tail);
}

static const struct batch_source_ops tail_ops = {
	.next = tail_next,
	.release = tail_release,
	.held = tail_held,
	.stop = tail_stop,
	.emulated = tail_emulated,
	.stats = tail_stats,
	.class_name = tail_class,
	.close = tail_close,
};

static int tail_open_parts(struct tail *tail, struct error *err)
{
	struct prep_config config = tail->config.options->image;
	struct dsa_stats stats = {0};
	int result;

	config.op = "canvas";
	tail->prep = prep_open(&config, err);
	if (tail->prep == NULL)
		return -err->code;
	tail->sample_bytes = prep_sample_bytes(tail->prep);
	tail->from->ops->stats(tail->from, &stats);
	tail->epoch = stats.epoch;
	tail->step = stats.step;
	result = open_slots(tail);
	if (result == 0)
		result = tail_start_threads(tail);
	return result == 0 ? 0
			   : error_sys(err, -result, "cannot prepare shared pictures");
}

struct batch_source *tail_open(struct batch_source *from,
			       const struct batch_source_config *config,
			       struct error *err)
{
	struct tail *tail = calloc(1, sizeof(*tail));

	if (tail == NULL) {
		error_sys(err, ENOMEM, "cannot prepare shared pictures");
		from->ops->close(from);
		return NULL;
	}
	tail->base.ops = &tail_ops;
	tail->from = from;
	tail->config = *config;
	pthread_mutex_init(&tail->lock, NULL);
	pthread_cond_init(&tail->room, NULL);
	pthread_cond_init(&tail->made, NULL);
	pthread_cond_init(&tail->work, NULL);
	pthread_cond_init(&tail->idle, NULL);
	if (tail_open_parts(tail, err) == 0)
		return &tail->base;
	tail_close(&tail->base);
	return NULL;
}
