/* consumer.c - batches of a loader that several programs share (DSA_SHARE). */
#include "loader/base/clock.h"
#include "loader/base/trace.h"
#include "loader/gpu.h"
#include "loader/io_counts.h"
#include "loader/session_join.h"
#include "loader/share/client/client_prep.h"
#include "loader/share/client/consumer_state.h"
#include "loader/share/wire/class_names.h"
#include "loader/share/wire/join_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_NS = 50000000 }; /* how long a loader's death may go unseen */

/* ---- connections ---- */

static void consumer_let_go(struct connection **at)
{
	struct connection *connection = *at;

	if (connection->held > 0)
		return;
	*at = connection->next;
	connection_close(connection);
}

void consumer_leave(struct consumer *consumer)
{
	struct connection *connection = consumer->connection;

	consumer->connection = NULL;
	if (connection == NULL)
		return;
	connection->next = consumer->old;
	consumer->old = connection;
	consumer_let_go(&consumer->old);
}

static void consumer_given_back(struct consumer *consumer,
				struct connection *connection)
{
	struct connection **at = &consumer->old;

	connection->held--;
	while (*at != NULL && *at != connection)
		at = &(*at)->next;
	if (*at != NULL)
		consumer_let_go(at);
}

/* ---- batches ---- */

/* Counts each sample once: what an epoch has beyond those before. */
static void consumer_count_skipped(struct consumer *consumer, uint64_t skipped)
{
	if (consumer->skip_epoch != consumer->epoch)
		consumer->skipped = 0;
	consumer->skip_epoch = consumer->epoch;
	consumer->skipped += skipped;
	if (consumer->skipped <= consumer->most_skipped)
		return;
	trace_add(consumer->config.process, TRACE_skipped_samples,
		  consumer->skipped - consumer->most_skipped);
	consumer->most_skipped = consumer->skipped;
}

/* Places of the stream that held no sample for us: how many of them were skipped. */
static uint64_t consumer_skipped(struct consumer *consumer)
{
	uint64_t bad = bcast_bad(consumer->connection->reader);
	uint64_t voids = bad - consumer->bad;
	uint64_t stolen = voids < consumer->stolen ? voids : consumer->stolen;

	consumer->bad = bad;
	consumer->stolen -= stolen;
	consumer_count_skipped(consumer, voids - stolen);
	return voids - stolen;
}

static int consumer_take(struct consumer *consumer, const struct held_batch *held,
			 uint64_t timeout_ns, struct bcast_batch *batch,
			 struct error *err)
{
	struct bcast_reader *reader = consumer->connection->reader;
	uint32_t *labels = held->labels + held->count;
	uint32_t *samples = held->samples + held->count;
	int result = bcast_take(reader, consumer->batches.batch - held->count,
				timeout_ns, batch, labels, samples, err);

	if (result == 1)
		result = connection_own(consumer->connection, batch->count, labels,
					samples, err);
	if (result != 1 || batch->repeated)
		return result;
	sample_set_add(&consumer->had, samples, batch->count);
	trace_add(consumer->config.process, TRACE_shared_samples, batch->count);
	if (consumer_skipped(consumer) > 0 && consumer->config.options->fail)
		return error_set(
			err, EBADMSG,
			"a sample of epoch %llu, step %llu could not be read or "
			"decoded: dsa serve --status names it",
			(unsigned long long)consumer->epoch,
			(unsigned long long)consumer->step);
	return 1;
}

void consumer_end_epoch(struct consumer *consumer)
{
	consumer->step = 0;
	consumer->epoch++;
	consumer->done = consumer->epoch >= consumer->end_epoch;
	sample_set_clear(&consumer->had);
}

static void consumer_end_step(struct consumer *consumer,
			      const struct bcast_batch *batch)
{
	if (batch->repeated)
		return;
	consumer->step++;
	if (!batch->epoch_ends)
		return;
	consumer_end_epoch(consumer);
	consumer->stolen = 0;
}

/* The last batch of an epoch has no samples, or too few of them: 0, or -errno. */
static int consumer_pass_over(struct consumer *consumer, struct held_batch *held,
			      const struct bcast_batch *batch)
{
	held->count = 0;
	consumer_end_step(consumer, batch);
	return batch->count > 0 ? bcast_release(consumer->connection->reader, batch)
				: 0;
}

/* A run measures, and it is not of the window that is on. */
static bool consumer_is_stale(const struct consumer *consumer,
			      const struct bcast_batch *batch)
{
	uint32_t turn = consumer->driver != NULL ? driver_turn(consumer->driver) : 0;

	return turn != 0 && batch->turn != turn;
}

/* Throws away what is published. */
static void consumer_drain(void *context)
{
	struct consumer *consumer = context;
	struct held_batch *held = held_batches_free(&consumer->batches);
	struct bcast_batch batch;

	while (held != NULL && consumer->connection != NULL && !consumer->done &&
	       consumer_take(consumer, held, 0, &batch, NULL) == 1)
		consumer_pass_over(consumer, held, &batch);
}

static uint32_t consumer_still(void *context)
{
	const struct consumer *consumer = context;

	return consumer->gpu != NULL ? consumer_device_still(consumer) : gpu_idle();
}

static void consumer_look(void *context, struct trace_snapshot *snapshot)
{
	struct consumer *consumer = context;

	io_counts_take(&consumer->driving, NULL, snapshot);
}

static void consumer_start_driving(struct consumer *consumer)
{
	static const struct driver_ops ops = {.drain = consumer_drain,
					      .still = consumer_still,
					      .look = consumer_look};
	const struct batch_source_config *config = &consumer->config;
	const struct trace_loader about = {
		/* what the shared loader's own session does not have */
		.seed = config->options->seed,
		.batch = config->options->batch,
		.prefetch = config->options->prefetch,
	};
	struct driver_parts parts = {
		.trace = config->trace,
		.process = config->process,
		.ops = &ops,
		.loader = consumer,
		.about = &about,
	};

	consumer->asked = true;
	if (config->undriven || config->trace == NULL)
		return;
	parts.same = session_join_continues(config->trace, config->options);
	if (driver_open(&consumer->driving, &parts))
		consumer->driver = &consumer->driving;
}

/* Whether a batch can't stay in the ring: connection_copies(), there may be no room for
 * the next one as long as it does, or its device can't copy it from there. */
static bool consumer_copies(const struct consumer *consumer,
			    const struct bcast_batch *batch)
{
	return connection_copies(consumer->connection, batch) || batch->scarce ||
	       (consumer->gpu != NULL && consumer->connection->gpu == NULL &&
		consumer->connection->mirror == NULL);
}

/* Makes a batch of what was taken. 1; 0: it is not complete, or none; -errno. */
static int consumer_keep(struct consumer *consumer, struct held_batch *held,
			 const struct bcast_batch *batch, struct error *err)
{
	struct connection *connection = consumer->connection;
	uint32_t had = held->count, all = had + batch->count;
	bool full = all == consumer->batches.batch || batch->repeated;
	bool dropped =
		!full && batch->epoch_ends && consumer->config.options->drop_last;
	int result;

	held->batch = *batch;
	/* a loader of its own fails after as many places, too: publish_gives_up() */
	if (dropped && all > 0 && consumer->step == 0 &&
	    consumer->epoch + 1 < consumer->end_epoch)
		return error_set(err, EBADMSG,
				 "no whole batch of an epoch could be read and "
				 "decoded: make batches smaller, or leave drop_last "
				 "out");
	if (all == 0 || dropped)
		return consumer_pass_over(consumer, held, batch);
	if (had == 0 && batch->data != NULL && !batch->partial &&
	    !consumer_copies(consumer, batch)) {
		held->count = all;
		held->connection = connection;
		connection->held++;
		return 1;
	}
	result = held_batches_copy(&consumer->batches, held, connection, batch);
	trace_add(consumer->config.process, TRACE_copied_bytes,
		  batch->count * consumer->batches.sample_bytes);
	return result < 0 ? result : !batch->partial;
}

/* No batch came in time. *blocked: because we hold places that its loader needs. */
static int consumer_look_around(struct consumer *consumer, struct held_batch *held,
				bool *blocked, struct error *err)
{
	struct connection *connection = consumer->connection;
	bool again = *blocked;

	if (connection->gone)
		return consumer_recover(consumer, held, -ECONNRESET, err);
	connection_look(connection);
	*blocked = !connection->gone && connection->held > 0 &&
		   bcast_blocks(connection->reader);
	return again && *blocked ? -EBUSY : 0;
}

static int consumer_no_batch(struct consumer *consumer, struct held_batch *held,
			     int reason, struct error *err)
{
	if (reason == -ENODATA || reason == -ENOLINK)
		return consumer_recover(consumer, held, reason, err);
	if (reason == -EPIPE)
		error_within(err, 0, "the shared loader failed");
	return reason;
}

/* Waits for a batch: 1; 0 when there is no connection any more; -errno. */
static int consumer_wait_batch(struct consumer *consumer, struct held_batch *held,
			       struct error *err)
{
	bool blocked = false;

	while (consumer->connection != NULL && !consumer->done && !consumer->ended) {
		bool now = consumer->connection->gone || blocked; /* or never */
		struct bcast_batch batch;
		int result =
			consumer_take(consumer, held, now ? 0 : LOOK_NS, &batch, err);

		if (result == 1)
			result = consumer_is_stale(consumer, &batch)
					 ? consumer_pass_over(consumer, held, &batch)
					 : consumer_keep(consumer, held, &batch, err);
		else if (result == -EAGAIN)
			result = consumer_look_around(consumer, held, &blocked, err);
		else
			result = consumer_no_batch(consumer, held, result, err);
		if (result != 0)
			return result;
		if (consumer->driver != NULL && driver_stopped(consumer->driver))
			return 0;
	}
	/* a loader that ended may leave less than a batch */
	return consumer->alone == NULL && held->count > 0 &&
	       !consumer->config.options->drop_last;
}

static void consumer_show(struct consumer *consumer, struct held_batch *held,
			  struct dsa_batch *batch)
{
	*batch = (struct dsa_batch){
		.data = held->connection != NULL ? held->batch.data : held->copy,
		.labels = held->labels,
		.samples = held->samples,
		.sample_bytes = consumer->batches.sample_bytes,
		.count = held->count,
		.slot = (uint32_t)(held - consumer->batches.slot),
		.epoch = consumer->epoch,
		.step = consumer->step,
		.repeated = held->batch.repeated,
	};
	if (consumer->connection != NULL)
		trace_add(consumer->config.process, TRACE_ahead_samples,
			  bcast_ahead(consumer->connection->reader));
	consumer_copy(consumer, held);
	held->taken = true;
	consumer->batches.taken++;
	consumer_end_step(consumer, &held->batch);
}

/* Batches of the own pipeline, with numbers as if the shared loader had gone on. */
static int consumer_next_alone(struct consumer *consumer, struct dsa_batch *batch,
			       struct batch_source_wait *wait, struct error *err)
{
	struct batch_source *alone = consumer->alone;
	int result;

	if (consumer->ended) /* consumer_stop() came while this one was opened */
		return 0;
	result = alone->ops->next(alone, batch, wait, err);
	if (result != 1)
		return result;
	batch->slot += consumer->batches.slots;
	if (batch->epoch == consumer->alone_epoch)
		batch->step += consumer->alone_step;
	return 1;
}

static int consumer_say_busy(struct error *err)
{
	return error_set(err, EBUSY,
			 "the batches that are held are all that the shared loader has "
			 "room for: release some, keep copies, or raise dsa serve's "
			 "--window");
}

static int consumer_next_shared(struct consumer *consumer, struct dsa_batch *batch,
				struct batch_source_wait *wait, struct error *err)
{
	struct held_batch *held = held_batches_free(&consumer->batches);
	struct error *failure = &consumer->failure;
	int result;

	if (held == NULL)
		return consumer_say_busy(err);
	result = failure->code != 0 ? -failure->code
				    : consumer_wait_batch(consumer, held, failure);
	if (result == 1)
		consumer_show(consumer, held, batch);
	if (result == -EBUSY)
		return consumer_say_busy(err);
	if (result < 0 && failure->code == 0)
		error_sys(failure, -result, "cannot take a batch of the shared loader");
	if (result < 0)
		*err = *failure;
	if (consumer->done || result < 0)
		consumer_leave(consumer);
	wait->delivered_ns = clock_now();
	return result < 0 ? -failure->code : result;
}

static int consumer_next(struct batch_source *delivery, struct dsa_batch *batch,
			 struct batch_source_wait *wait, struct error *err)
{
	struct consumer *consumer = (struct consumer *)delivery;
	uint64_t asked;
	int result = 0;

	if (!consumer->asked)
		consumer_start_driving(consumer);
	if (consumer->driver != NULL &&
	    driver_request(consumer->driver, clock_now(), 0) == 0)
		return 0;
	asked = clock_now();
	if (consumer->alone == NULL)
		result = consumer_next_shared(consumer, batch, wait, err);
	if (result == 0 && consumer->alone != NULL)
		result = consumer_next_alone(consumer, batch, wait, err);
	wait->asked_ns = asked;
	if (result == 1 && consumer->driver != NULL)
		driver_delivered(consumer->driver, batch->count, 0,
				 wait->delivered_ns - asked);
	else if (result == 0 && consumer->driver != NULL)
		driver_data_ended(consumer->driver);
	return result;
}

static int consumer_release(struct batch_source *delivery,
			    const struct dsa_batch *batch, struct error *err)
{
	struct consumer *consumer = (struct consumer *)delivery;
	struct batch_source *alone = consumer->alone;
	struct held_batch *held;
	struct connection *connection;
	int result = 0;

	if (batch->slot >= consumer->batches.slots) {
		/* no more of it: that of a program of DSA_1 is shorter */
		const struct dsa_batch its = {
			.slot = batch->slot - consumer->batches.slots,
		};

		return alone != NULL ? alone->ops->release(alone, &its, err) : -EINVAL;
	}
	held = &consumer->batches.slot[batch->slot];
	if (!held->taken)
		return -EINVAL;
	consumer_copied(consumer, held);
	connection = held->connection;
	held->taken = false;
	held->connection = NULL;
	held->count = 0;
	consumer->batches.taken--;
	if (connection == NULL)
		return 0;
	result = bcast_release(connection->reader, &held->batch);
	if (result == -EBADMSG)
		error_set(
			err, EBADMSG,
			"the batch of epoch %llu, step %llu changed while it was held",
			(unsigned long long)batch->epoch,
			(unsigned long long)batch->step);
	consumer_given_back(consumer, connection);
	return result;
}

static unsigned consumer_held(const struct batch_source *delivery)
{
	const struct consumer *consumer = (const struct consumer *)delivery;
	const struct batch_source *alone = consumer->alone;

	return consumer->batches.taken + (alone != NULL ? alone->ops->held(alone) : 0);
}

static void consumer_stop(struct batch_source *delivery)
{
	struct consumer *consumer = (struct consumer *)delivery;
	struct batch_source *alone;

	consumer->ended = true;
	alone = consumer->alone;
	if (alone != NULL)
		alone->ops->stop(alone);
}

static void consumer_emulated(struct batch_source *delivery, double rate)
{
	const struct consumer *consumer = (const struct consumer *)delivery;

	if (consumer->driver != NULL)
		driver_emulated(consumer->driver, rate);
}

/* ---- looking ---- */

static void consumer_stats(const struct batch_source *delivery, struct dsa_stats *stats)
{
	const struct consumer *consumer = (const struct consumer *)delivery;
	const struct batch_source *alone = consumer->alone;
	const struct dsa_stats *about = &consumer->about;

	if (alone != NULL) {
		alone->ops->stats(alone, stats);
		if (stats->epoch == consumer->alone_epoch)
			stats->step += consumer->alone_step;
	} else {
		stats->epoch = consumer->epoch;
		stats->step = consumer->step;
		stats->workers = about->workers;
	}
	stats->shared = alone != NULL ? 2 : 1;
	stats->steps_per_epoch = about->steps_per_epoch;
	stats->dataset_samples = about->dataset_samples;
	stats->dataset_bytes = about->dataset_bytes;
	stats->classes = about->classes;
}

static const char *consumer_class(const struct batch_source *delivery, uint32_t label)
{
	const struct consumer *consumer = (const struct consumer *)delivery;

	return class_names_get(consumer->classes, consumer->about.classes, label);
}

/* ---- opening ---- */

static void consumer_close(struct batch_source *delivery)
{
	struct consumer *consumer = (struct consumer *)delivery;
	struct batch_source *alone = consumer->alone;

	if (consumer->driver != NULL)
		driver_close(consumer->driver);
	if (alone != NULL)
		alone->ops->close(alone);
	gpu_twins_close(consumer->twins);
	consumer_leave(consumer);
	while (consumer->old != NULL) {
		consumer->old->held = 0;
		consumer_let_go(&consumer->old);
	}
	gpu_close(consumer->gpu);
	held_batches_fini(&consumer->batches);
	sample_set_fini(&consumer->had);
	free(consumer->classes);
	free(consumer->path);
	free(consumer);
}

static const struct batch_source_ops consumer_ops = {
	.next = consumer_next,
	.release = consumer_release,
	.device_ask = consumer_device_ask,
	.device_wait = consumer_device_wait,
	.device_release = consumer_device_release,
	.held = consumer_held,
	.stop = consumer_stop,
	.emulated = consumer_emulated,
	.stats = consumer_stats,
	.class_name = consumer_class,
	.close = consumer_close,
};

static void consumer_describe(struct consumer *consumer)
{
	const struct protocol_welcome *welcome = &consumer->connection->welcome;
	const struct options *options = consumer->config.options;
	uint64_t steps = welcome->epoch_places / options->batch;

	if (!options->drop_last && welcome->epoch_places % options->batch > 0)
		steps++;
	consumer->about = (struct dsa_stats){
		.steps_per_epoch = steps,
		.dataset_samples = welcome->dataset_samples,
		.dataset_bytes = welcome->dataset_bytes,
		.classes = welcome->classes,
		.workers = welcome->workers,
	};
	consumer->classes = consumer->connection->classes;
	consumer->connection->classes = NULL;
	consumer->decoded = welcome->decoded != 0;
	consumer->seed = welcome->seed;
	memcpy(consumer->features, welcome->features, sizeof(consumer->features));
}

void consumer_begin(struct consumer *consumer, struct connection *connection)
{
	const struct protocol_welcome *welcome = &connection->welcome;

	consumer->connection = connection;
	consumer->bad = 0;
	consumer->stolen = welcome->remaining > welcome->epoch_places
				   ? welcome->remaining - welcome->epoch_places
				   : 0;
	if (consumer->gpu != NULL)
		connection_use_device(connection, consumer->gpu);
}

static int consumer_join(struct consumer *consumer, const char *path, struct error *err)
{
	const struct options *options = consumer->config.options;
	int result = join_request_fill(&consumer->hello, options, err);
	struct connection *connection;

	if (result < 0)
		return result;
	result = consumer_open_gpu(consumer, err);
	if (result < 0)
		return result;
	consumer->path = strdup(path);
	if (consumer->path == NULL)
		return error_sys(err, ENOMEM, "cannot open the loader");
	connection = consumer_reach(consumer, NULL, err);
	if (connection == NULL)
		return -err->code;
	consumer_begin(consumer, connection);
	if (held_batches_init(&consumer->batches, CONSUMER_SLOTS(options),
			      options->batch, connection->welcome.sample_bytes) < 0 ||
	    sample_set_init(&consumer->had,
			    (uint32_t)connection->welcome.dataset_samples) < 0)
		return error_sys(err, ENOMEM, "cannot open the loader");
	consumer->epoch = options->start_epoch;
	consumer->end_epoch = options->epochs > 0
				      ? options->start_epoch + options->epochs
				      : UINT64_MAX;
	consumer_describe(consumer);
	if (consumer->decoded && strcmp(options->prep, "image") != 0)
		return error_set(err, EINVAL,
				 "DSA_SHARE: the shared loader delivers decoded "
				 "pictures, this program wants prep=%s",
				 options->prep);
	if (consumer_check_features(consumer, err) < 0)
		return -err->code;
	return consumer_open_twins(consumer, err);
}

struct batch_source *consumer_open(const struct batch_source_config *config,
				   const char *path, struct error *err)
{
	struct consumer *consumer = calloc(1, sizeof(*consumer));

	if (consumer == NULL)
		return error_null(error_sys(err, ENOMEM, "cannot open the loader"));
	consumer->base.ops = &consumer_ops;
	consumer->config = *config;
	if (consumer_join(consumer, path, err) == 0)
		return consumer->decoded
			       ? client_prep_open(&consumer->base, config, err)
			       : &consumer->base;
	consumer_close(&consumer->base);
	if (!config->options->alone || !connection_unreachable(err->code))
		return NULL;
	*err = (struct error){0};
	trace_add(config->process, TRACE_went_alone, 1);
	return local_open(config, err);
}
