/* loader.c - libdsa's public interface: numbers, counts and hands out what a delivery
 * (batch_source.h) brings. */
#include "loader/loader.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "loader/batch_source.h"
#include "loader/options.h"
#include "loader/prep.h"
#include "loader/session_join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct dsa_loader {
	struct options options;
	struct prep_shape shape; /* of a sample that is delivered */
	pid_t pid;               /* of the process that opened it */
	struct batch_source *delivery;
	struct enlisted session;
	uint64_t number;                   /* of the next batch */
	uint64_t held[BATCH_SOURCE_SLOTS]; /* number + 1 of a slot's batch; 0: none */
	uint64_t delivered_ns
		[BATCH_SOURCE_SLOTS]; /* when a slot's batch was delivered */
	struct error failure;
};

/* ---- opening ---- */

static int open_delivery(struct dsa_loader *loader, const char *share,
			 struct error *err)
{
	bool shared = share != NULL && *share != '\0';
	const struct batch_source_config config = {
		.options = &loader->options,
		.trace = loader->session.trace,
		.process = loader->session.process,
	};

	loader->delivery =
		shared ? consumer_open(&config, share, err) : local_open(&config, err);
	return loader->delivery != NULL ? 0 : -err->code;
}

static int loader_open_parts(struct dsa_loader *loader, const struct dsa_config *config,
			     struct error *err)
{
	int result =
		options_resolve(&loader->options, config, getenv("DSA_LOADER"), err);

	if (result == 0)
		result = session_join_open(&loader->session, &loader->options, err);
	if (result == 0)
		result = open_delivery(loader,
				       config->share != NULL ? config->share
							     : getenv("DSA_SHARE"),
				       err);
	if (result == 0)
		loader->shape = prep_shape(&loader->options.delivered);
	return result;
}

EXPORT int dsa_open(const struct dsa_config *config, struct dsa_loader **opened,
		    char *why)
{
	struct dsa_loader *loader = calloc(1, sizeof(*loader));
	struct error err = {0};
	int result;

	if (loader == NULL) {
		if (why != NULL)
			snprintf(why, DSA_WHY, "cannot open the loader: no memory");
		return -ENOMEM;
	}
	loader->pid = getpid();
	result = loader_open_parts(loader, config, &err);
	if (result == 0) {
		*opened = loader;
		return 0;
	}
	dsa_close(loader);
	if (why != NULL)
		snprintf(why, DSA_WHY, "%.255s", err.message);
	return result;
}

EXPORT void dsa_close(struct dsa_loader *loader)
{
	/* A forked child has no threads to stop, and the memory is the parent's too. */
	if (loader == NULL || loader->pid != getpid())
		return;
	if (loader->delivery != NULL)
		loader->delivery->ops->close(loader->delivery);
	session_join_close(&loader->session);
	free(loader);
}

/* ---- batches ---- */

/* Refuses calls in a forked child, and those of the other kind of loader. */
static int loader_check(struct dsa_loader *loader, bool device)
{
	if (loader->pid != getpid())
		return -EOWNERDEAD;
	if (device == loader->options.on_device)
		return 0;
	return error_set(&loader->failure, EINVAL,
			 device ? "the loader's batches are in memory: open it with a "
				  "device, or use dsa_next() and dsa_release()"
				: "the loader's batches are on a device: use "
				  "dsa_next_device() and dsa_release_device()");
}

/* What its numbers are, and how they lie. */
static void loader_shape(const struct dsa_loader *loader, struct dsa_batch *batch)
{
	const struct prep_shape *shape = &loader->shape;

	batch->type = (enum dsa_type)shape->type;
	batch->dims = shape->dims + 1;
	batch->shape[0] = batch->count;
	for (uint32_t i = 0; i < PREP_DIMS; i++)
		batch->shape[i + 1] = i < shape->dims ? shape->size[i] : 0;
}

static int loader_next(struct dsa_loader *loader, struct dsa_batch *batch)
{
	struct batch_source *delivery = loader->delivery;
	struct batch_source_wait wait;
	int result;

	if (delivery->ops->held(delivery) > loader->options.prefetch)
		return error_set(&loader->failure, EBUSY,
				 "%u batches are held: release some, keep copies, or "
				 "raise prefetch (%u)",
				 delivery->ops->held(delivery),
				 loader->options.prefetch);
	if (loader->options.steps > 0 && loader->number >= loader->options.steps)
		return 0;
	result = delivery->ops->next(delivery, batch, &wait, &loader->failure);
	if (result <= 0)
		return result;
	batch->number = loader->number++;
	loader_shape(loader, batch);
	loader->held[batch->slot] = batch->number + 1;
	loader->delivered_ns[batch->slot] = wait.delivered_ns;
	trace_add(loader->session.process, TRACE_blocked_ns,
		  wait.delivered_ns - wait.asked_ns);
	trace_add(loader->session.process, TRACE_delivered_batches, 1);
	trace_add(loader->session.process, TRACE_delivered_samples, batch->count);
	return 1;
}

EXPORT int dsa_next(struct dsa_loader *loader, struct dsa_batch *batch)
{
	int result = loader_check(loader, false);

	return result < 0 ? result : loader_next(loader, batch);
}

/* A slot may have another batch by now, which must not go with one that is gone. */
static int loader_check_held(struct dsa_loader *loader, const struct dsa_batch *batch)
{
	if (batch->slot < BATCH_SOURCE_SLOTS &&
	    loader->held[batch->slot] == batch->number + 1)
		return 0;
	return error_set(
		&loader->failure, EINVAL,
		"a batch was released that is not held: each is released once");
}

static int loader_release(struct dsa_loader *loader, const struct dsa_batch *batch)
{
	loader->held[batch->slot] = 0;
	return loader->delivery->ops->release(loader->delivery, batch,
					      &loader->failure);
}

EXPORT int dsa_release(struct dsa_loader *loader, const struct dsa_batch *batch)
{
	int result = loader_check(loader, false);

	if (result == 0)
		result = loader_check_held(loader, batch);
	return result < 0 ? result : loader_release(loader, batch);
}

/* ---- batches on a device ---- */

EXPORT int dsa_next_device(struct dsa_loader *loader, void *stream,
			   struct dsa_device_batch *batch)
{
	struct batch_source *delivery = loader->delivery;
	int result = loader_check(loader, true), failed;

	if (result < 0)
		return result;
	delivery->ops->device_ask(delivery, stream);
	result = loader_next(loader, &batch->batch);
	delivery->ops->device_ask(delivery, NULL);
	if (result <= 0)
		return result;
	failed = delivery->ops->device_wait(delivery, batch, stream, &loader->failure);
	if (failed == 0)
		return result;
	loader_release(loader, &batch->batch);
	return failed;
}

EXPORT int dsa_wait_device(struct dsa_loader *loader,
			   const struct dsa_device_batch *batch, void *stream)
{
	struct dsa_device_batch again = *batch;
	int result = loader_check(loader, true);

	return result < 0 ? result
			  : loader->delivery->ops->device_wait(
				    loader->delivery, &again, stream, &loader->failure);
}

EXPORT int dsa_release_device(struct dsa_loader *loader,
			      const struct dsa_device_batch *batch, void *stream)
{
	struct batch_source *delivery = loader->delivery;
	int result = loader_check(loader, true), failed;

	if (result == 0)
		result = loader_check_held(loader, &batch->batch);
	if (result < 0)
		return result;
	failed = delivery->ops->device_release(delivery, &batch->batch, stream,
					       &loader->failure);
	result = loader_release(loader, &batch->batch);
	return failed < 0 ? failed : result;
}

EXPORT int dsa_compute(struct dsa_loader *loader, const struct dsa_batch *batch,
		       double rate)
{
	uint64_t start, busy;

	if (loader->pid != getpid())
		return -EOWNERDEAD;
	rate *= loader->options.gpu_speed;
	if (!(rate > 0) || batch->slot >= BATCH_SOURCE_SLOTS)
		return -EINVAL;
	start = loader->delivered_ns[batch->slot];
	busy = (uint64_t)(batch->count / rate * 1e9 + 0.5);
	prctl(PR_SET_TIMERSLACK, 1);
	clock_sleep_until(start + busy);
	trace_add(loader->session.process, TRACE_emulated_batches, 1);
	trace_add(loader->session.process, TRACE_emulated_samples, batch->count);
	trace_add(loader->session.process, TRACE_emulated_asked_ns, busy);
	trace_add(loader->session.process, TRACE_emulated_busy_ns, clock_now() - start);
	if (loader->delivery->ops->emulated != NULL)
		loader->delivery->ops->emulated(loader->delivery, rate);
	return 0;
}

/* ---- looking ---- */

EXPORT int dsa_stats(const struct dsa_loader *loader, struct dsa_stats *stats)
{
	const struct enlisted *session = &loader->session;

	if (loader->pid != getpid())
		return -EOWNERDEAD;
	*stats = (struct dsa_stats){
		.samples = session_join_counter(session, TRACE_delivered_samples),
		.batches = session_join_counter(session, TRACE_delivered_batches),
		.skipped = session_join_counter(session, TRACE_skipped_samples),
		.fetched_bytes = session_join_counter(session, TRACE_fetched_bytes),
		.blocked_ns = session_join_counter(session, TRACE_blocked_ns),
		.copied_bytes = session_join_counter(session, TRACE_copied_bytes),
	};
	loader->delivery->ops->stats(loader->delivery, stats);
	return 0;
}

EXPORT const char *dsa_why(const struct dsa_loader *loader)
{
	return loader->failure.message;
}

EXPORT const char *dsa_class(const struct dsa_loader *loader, uint32_t label)
{
	return loader->delivery->ops->class_name(loader->delivery, label);
}
