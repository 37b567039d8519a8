/* recover.c - continues when a shared loader drops the client, ends or dies. */
#include "loader/base/clock.h"
#include "loader/base/permutation.h"
#include "loader/base/trace.h"
#include "loader/plan.h"
#include "loader/share/client/consumer_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RETRY_NS = 20000000 };
#define KNOCK_NS UINT64_C(2000000000)

/* ---- alone ---- */

/* The numbers of a sample mean the same to both loaders only if their data set is the
 * same still. */
static int recover_check_dataset(const struct consumer *consumer,
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

static int recover_open_alone(struct consumer *consumer, const struct plan_rest *rest,
			      struct error *err)
{
	struct batch_source_config config = consumer->config;
	struct options *options = &consumer->options;
	struct batch_source *alone;

	*options = *config.options;
	options->start_epoch = rest->epoch;
	options->seed = consumer->seed; /* of made pictures, too */
	consumer_set_features(consumer->features, options);
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
	if (recover_check_dataset(consumer, alone, err) < 0) {
		alone->ops->close(alone);
		return -err->code;
	}
	consumer->alone = alone;
	return 0;
}

static int recover_go_alone(struct consumer *consumer, const uint32_t *samples,
			    uint32_t count, struct error *err)
{
	const struct options *options = consumer->config.options;
	struct plan_rest rest = {consumer->epoch, samples, count};

	if (count == 0 || (options->drop_last && count < options->batch)) {
		consumer_end_epoch(consumer);
		rest.count = 0;
		rest.epoch = consumer->epoch;
	}
	consumer->alone_epoch = consumer->epoch;
	consumer->alone_step = consumer->step;
	consumer_leave(consumer);
	if (consumer->done)
		return 0;
	trace_add(consumer->config.process, TRACE_went_alone, 1);
	return recover_open_alone(consumer, &rest, err);
}

/* As components_blocks() has it of the same data set. */
static struct permutation_blocks recover_blocks(const struct consumer *consumer)
{
	if (!consumer->config.options->shuffle_blocks)
		return (struct permutation_blocks){0};
	return permutation_blocks_of(consumer->about.dataset_bytes,
				     consumer->had.samples);
}

/* In the order that a loader of its own would have read them. */
static uint32_t recover_missing(const struct consumer *consumer, uint32_t *samples)
{
	uint32_t all = consumer->had.samples, count = 0;

	if (!consumer->config.options->in_order)
		permutation_draw(samples, all, recover_blocks(consumer), consumer->seed,
				 consumer->epoch);
	for (uint32_t i = 0; i < all; i++) {
		uint32_t sample = consumer->config.options->in_order ? i : samples[i];

		if (!sample_set_has(&consumer->had, sample))
			samples[count++] = sample;
	}
	return count;
}

static int recover_alone(struct consumer *consumer, struct error *err)
{
	uint32_t *samples = calloc(consumer->had.samples, sizeof(*samples));
	int result;

	if (samples == NULL)
		return error_sys(err, ENOMEM, "cannot load the rest of the epoch");
	result = recover_go_alone(consumer, samples, recover_missing(consumer, samples),
				  err);
	free(samples);
	return result;
}

/* ---- another loader ---- */

/* A loader with too many at its door closes it without a word, and one that was started
 * together with its jobs may not listen yet: whoever was turned away knocks again, also
 * where no other loader is to come. */
static uint64_t recover_keep_trying(const struct consumer *consumer, uint64_t since,
				    int code)
{
	const struct options *options = consumer->config.options;
	uint64_t wait = (uint64_t)(options->takeover * 1e9);
	bool again = code == EPIPE || (consumer->connection == NULL && !options->alone);

	if (consumer->ended || !connection_unreachable(code))
		return 0;
	return since + (again && wait < KNOCK_NS ? KNOCK_NS : wait);
}

struct connection *consumer_reach(struct consumer *consumer,
				  const struct sample_set *had, struct error *err)
{
	const struct connection_config config = {consumer->path, &consumer->hello, had,
						 &consumer->ended};
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
		if (now >= recover_keep_trying(consumer, began, failure.code))
			return NULL;
		clock_sleep_until(now + RETRY_NS);
	}
}

/* The numbers of samples must mean what they meant at the loader before. */
static int recover_check(const struct consumer *consumer,
			 const struct protocol_welcome *welcome, struct error *err)
{
	const struct dsa_stats *about = &consumer->about;

	if (welcome->dataset_samples != about->dataset_samples ||
	    welcome->dataset_bytes != about->dataset_bytes)
		return error_set(err, ESTALE,
				 "cannot take over: the loader before had other data");
	if (strcmp(welcome->features, consumer->features) != 0)
		return error_set(
			err, ESTALE,
			"cannot take over: the loader before read the features "
			"'%.100s' of records",
			consumer->features);
	if ((welcome->decoded != 0) != consumer->decoded)
		return error_set(err, ESTALE,
				 "cannot take over: the loader before delivered other "
				 "samples");
	return 0;
}

static int recover_rejoin(struct consumer *consumer, struct error *err)
{
	struct connection *connection;

	if (sample_set_missing(&consumer->had) == 0)
		consumer_end_epoch(consumer);
	if (consumer->done)
		return 0;
	consumer->hello.resumes = 1;
	connection = consumer_reach(consumer, &consumer->had, err);
	if (connection == NULL)
		return -err->code;
	if (recover_check(consumer, &connection->welcome, err) < 0) {
		connection_close(connection);
		return -err->code;
	}
	consumer_leave(consumer);
	consumer_begin(consumer, connection);
	return 0;
}

/* ---- which way to go on ---- */

static int recover_no_loader(const struct consumer *consumer, int reason,
			     struct error *err)
{
	const struct connection *connection = consumer->connection;
	bool died = reason == -ECONNRESET;
	bool stopped = !died && bcast_stopped(connection->reader);

	return error_set(err,
			 died      ? EPIPE
			 : stopped ? ECANCELED
				   : ENODATA,
			 "the shared loader at %.80s (process %u) %s before epoch "
			 "%llu, step %llu: resume there, or set alone=load or "
			 "takeover=10s in DSA_LOADER",
			 consumer->path, connection->welcome.server_pid,
			 died      ? "died"
			 : stopped ? "was stopped"
				   : "ended its data",
			 (unsigned long long)consumer->epoch,
			 (unsigned long long)consumer->step);
}

/* Without a number of epochs the data ends with the loader's, but not where that one was
 * stopped: a model that is half trained must not look like a finished one. */
static bool recover_ends_here(const struct consumer *consumer, int reason)
{
	const struct connection *connection = consumer->connection;

	return reason == -ENODATA && consumer->end_epoch == UINT64_MAX &&
	       !bcast_stopped(connection->reader);
}

int consumer_recover(struct consumer *consumer, struct held_batch *held, int reason,
		     struct error *err)
{
	const struct options *options = consumer->config.options;
	struct error why = {0};

	if (reason != -ENOLINK && recover_ends_here(consumer, reason)) {
		consumer->done = true;
		return 0;
	}
	sample_set_remove(&consumer->had, held->samples, held->count);
	held->count = 0;
	if (reason == -ENOLINK)
		return recover_alone(consumer, err);
	if (options->takeover > 0 && recover_rejoin(consumer, &why) == 0)
		return 0;
	if (options->alone && !consumer->ended)
		return recover_alone(consumer, err);
	if (why.code == 0 || connection_unreachable(why.code))
		return recover_no_loader(consumer, reason, err);
	*err = why;
	return -err->code;
}
