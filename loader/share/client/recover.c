/* recover.c - where a program's batches come from when its shared loader brings no more. */
#include "loader/base/clock.h"
#include "loader/base/trace.h"
#include "loader/plan.h"
#include "loader/share/client/consumer_state.h"
#include "loader/share/wire/takeover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RETRY_NS = 20000000 };
#define KNOCK_NS UINT64_C(2000000000)

/* ---- alone ---- */

/* The numbers of a sample mean the same to both loaders only if their data set is the
 * same still. */
static int check_dataset(const struct consumer *consumer,
			 const struct batch_source *alone, struct error *err)
{
	const struct dsa_stats *about = &consumer->about;
	struct dsa_stats stats = {0};

	alone->ops->stats(alone, &stats);
	if (stats.dataset_samples == about->dataset_samples &&
	    stats.dataset_bytes == about->dataset_bytes)
		return 0;
	return error_set(err, ESTALE,
			 "%.100s has changed: the shared loader found %llu samples of "
			 "%llu bytes, now there are %llu of %llu",
			 consumer->options.dataset,
			 (unsigned long long)about->dataset_samples,
			 (unsigned long long)about->dataset_bytes,
			 (unsigned long long)stats.dataset_samples,
			 (unsigned long long)stats.dataset_bytes);
}

static int open_alone(struct consumer *consumer, const struct plan_rest *rest,
		      struct error *err)
{
	struct batch_source_config config = consumer->config;
	struct options *options = &consumer->options;
	struct batch_source *alone;

	*options = *config.options;
	options->start_epoch = rest->epoch;
	options->seed = consumer->seed; /* of made pictures, too */
	if (options->epochs > 0)
		options->epochs = (unsigned)(consumer->end_epoch - rest->epoch);
	if (consumer->decoded)
		options->image.op = "decoded";
	config.options = options;
	config.undriven = true;
	config.rest = rest->count > 0 ? rest : NULL;
	alone = local_open(&config, err);
	if (alone == NULL)
		return -err->code;
	if (check_dataset(consumer, alone, err) < 0) {
		alone->ops->close(alone);
		return -err->code;
	}
	consumer->alone = alone;
	return 0;
}

static int go_alone(struct consumer *consumer, const uint32_t *samples, uint32_t count,
		    struct error *err)
{
	const struct options *options = consumer->config.options;
	struct plan_rest rest = {consumer->epoch, samples, count};

	if (count == 0 || (options->drop_last && count < options->batch)) {
		rest.count = 0;
		rest.epoch = ++consumer->epoch;
		consumer->step = 0;
	}
	consumer->alone_epoch = consumer->epoch;
	consumer->alone_step = consumer->step;
	consumer->done = consumer->epoch >= consumer->end_epoch;
	consumer_leave(consumer);
	if (consumer->done)
		return 0;
	trace_add(consumer->config.process, TRACE_went_alone, 1);
	return open_alone(consumer, &rest, err);
}

/* What the dead loader would have read. */
static int rest_of_orphan(const struct connection *connection, uint32_t *samples,
			  uint32_t *count, struct error *err)
{
	struct bcast_orphan orphan;
	struct takeover takeover;
	int result = bcast_orphan_open(connection->memory, &orphan, err);

	if (result < 0)
		return result;
	result = takeover_read(&orphan, &takeover, err);
	if (result == 0) {
		const struct pipeline_point *point = &takeover.point;

		*count = shared_epoch_rest(
			takeover.shared, point->lap, point->position, point->stolen,
			(uint32_t)bcast_remaining(connection->reader), samples);
		takeover_fini(&takeover);
	}
	bcast_orphan_close(&orphan);
	return result;
}

/* What is taken already, but not delivered, then what there was to come. */
static int recover_outlive(struct consumer *consumer, const struct held_batch *held,
			   int reason, struct error *err)
{
	struct connection *connection = consumer->connection;
	uint32_t had = held->count, count = 0;
	uint32_t *samples =
		calloc(had + bcast_remaining(connection->reader), sizeof(*samples));
	int result;

	if (samples == NULL)
		return error_sys(err, ENOMEM, "cannot load the rest of the epoch");
	memcpy(samples, held->samples, had * sizeof(*samples));
	result = reason == -ENOLINK
			 ? connection_remainder(connection, samples + had, &count, err)
			 : rest_of_orphan(connection, samples + had, &count, err);
	if (result == 0)
		result = go_alone(consumer, samples, had + count, err);
	free(samples);
	return result;
}

/* ---- another loader ---- */

/* What is published, but less than a batch, goes into memory of our own. */
static int recover_drain(struct consumer *consumer, struct held_batch *held,
			 struct error *err)
{
	struct error none = {0};
	struct bcast_batch batch;
	int result;

	bcast_writer_died(consumer->connection->reader);
	result = consumer_take(consumer, held, 0, &batch, &none);
	if (result == 1)
		return held_batches_copy(&consumer->batches, held, consumer->connection,
					 &batch);
	if (result == -EPIPE || result == -ENODATA)
		return 0;
	*err = none;
	return result;
}

static int check_resume(const struct protocol_resume_point *resume,
			const struct protocol_welcome *welcome, struct error *err)
{
	if (welcome->start == resume->next && welcome->remaining == resume->remaining &&
	    welcome->epoch_places == resume->epoch_places)
		return 0;
	return error_set(err, EPROTO,
			 "the shared loader that took over does not go on where the "
			 "one before ended");
}

static int recover_adopt(struct consumer *consumer, struct connection *connection,
			 const struct protocol_resume_point *resume, struct error *err)
{
	if (check_resume(resume, &connection->welcome, err) < 0) {
		connection_close(connection);
		return -err->code;
	}
	consumer_leave(consumer);
	consumer->connection = connection;
	return 0;
}

/* A loader with too many at its door closes it without a word: whoever was turned away
 * knocks again, also where no other loader is to come. */
static uint64_t keep_trying(const struct consumer *consumer, uint64_t since, int code)
{
	uint64_t wait = (uint64_t)(consumer->config.options->takeover * 1e9);

	if (consumer->ended || !connection_unreachable(code))
		return 0;
	return since + (code == EPIPE && wait < KNOCK_NS ? KNOCK_NS : wait);
}

struct connection *consumer_reach(struct consumer *consumer, int before,
				  struct error *err)
{
	const struct connection_config config = {consumer->path, &consumer->hello,
						 before, &consumer->ended};
	uint64_t began = clock_now(), now = began;

	for (;; now = clock_now()) {
		struct error failure = {0};
		struct connection *connection = connection_open(&config, &failure);
		bool nobody = failure.code == ENOENT || failure.code == ECONNREFUSED;

		if (connection != NULL)
			return connection;
		if (err->code != EPIPE ||
		    !nobody) /* else: it ended while we joined it */
			*err = failure;
		if (now >= keep_trying(consumer, began, failure.code))
			return NULL;
		clock_sleep_until(now + RETRY_NS);
	}
}

static int recover_rejoin(struct consumer *consumer, struct error *err)
{
	const struct connection *before = consumer->connection;
	struct protocol_resume_point *resume = &consumer->hello.resume;
	struct connection *connection;

	*resume = (struct protocol_resume_point){
		.generation = before->welcome.generation,
		.next = bcast_next(before->reader),
		.remaining = bcast_remaining(before->reader),
		.epoch_places = before->welcome.epoch_places,
		.epoch = consumer->epoch,
		.slot = before->welcome.slot,
	};
	connection = consumer_reach(consumer, before->memory, err);
	return connection != NULL ? recover_adopt(consumer, connection, resume, err)
				  : -err->code;
}

/* ---- what became of it ---- */

static int recover_no_loader(const struct consumer *consumer, int reason,
			     struct error *err)
{
	const struct connection *connection = consumer->connection;
	bool died = reason == -ECONNRESET;
	const char *advice = connection_copies(connection)
				     ? "begin that epoch again: in joader mode nobody "
				       "knows what else it would have had"
				     : "resume there, or set alone=load or "
				       "takeover=10s in DSA_LOADER";

	return error_set(err, died ? EPIPE : ENODATA,
			 "the shared loader at %.80s (process %u) %s before epoch "
			 "%llu, step %llu: %s",
			 consumer->path, connection->welcome.server_pid,
			 died ? "died" : "ended its data",
			 (unsigned long long)consumer->epoch,
			 (unsigned long long)consumer->step, advice);
}

/* The data of who asked for no number of epochs ends with its loader's; where that was
 * stopped, it may be told otherwise. */
static bool ends_here(const struct consumer *consumer, int reason)
{
	const struct options *options = consumer->config.options;
	const struct connection *connection = consumer->connection;

	if (reason != -ENODATA || consumer->end_epoch != UINT64_MAX)
		return false;
	if (!bcast_stopped(connection->reader))
		return true;
	return options->takeover <= 0 && !options->alone &&
	       !connection_copies(connection);
}

int consumer_recover(struct consumer *consumer, struct held_batch *held, int reason,
		     struct error *err)
{
	const struct options *options = consumer->config.options;
	struct error why = {0};
	int result;

	if (reason == -ENOLINK)
		return recover_outlive(consumer, held, reason, err);
	if (ends_here(consumer, reason)) {
		consumer->done = true;
		return 0;
	}
	result = recover_drain(consumer, held, err);
	if (result == -ENOLINK) /* it was dropped before that loader died */
		return recover_outlive(consumer, held, result, err);
	if (result < 0)
		return result;
	if (connection_copies(
		    consumer->connection)) /* its order is nowhere but in it */
		return recover_no_loader(consumer, reason, err);
	if (options->takeover > 0 && recover_rejoin(consumer, &why) == 0)
		return 0;
	if (options->alone && !consumer->ended)
		return recover_outlive(consumer, held, reason, err);
	if (why.code == 0 || connection_unreachable(why.code))
		return recover_no_loader(consumer, reason, err);
	*err = why;
	return -err->code;
}
