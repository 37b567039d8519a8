#include "loader/fetch.h"
#include "loader/base/blob.h"
#include "loader/base/choice.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/throttle.h"
#include "loader/fetch/engine.h"
#include "loader/source.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CATCH_UP_NS = 10000000 };

#define FETCH_ADDRESS(name, text) &fetch_##name,
static const struct fetch_engine *const engines[] = {FETCH_ENGINES(FETCH_ADDRESS)};

static const struct fetch_engine *fetch_find(const char *name)
{
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (strcmp(engines[i]->name, name) == 0)
			return engines[i];
	return NULL;
}

int fetch_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -rc;
}

void fetch_thread_started(const struct fetch *fetch)
{
	pthread_setname_np(pthread_self(), "dsa-fetch");
	if (fetch->thread_started != NULL)
		fetch->thread_started(fetch->client.context);
}

/*
 * When a read begins for the throttle. In a place that found its work waiting, that is
 * when the place's last read was due: what it overslept, and what handing on took, is
 * not the storage's. But a real storage that is slower than the throttle must not
 * earn a burst, so little is caught up at a time.
 */
static uint64_t fetch_throttle_start(const struct fetch *fetch,
				     const struct fetch_place *place)
{
	uint64_t now = place->job.start;

	if (place->due <= fetch->starved || place->due > now)
		return now;
	return place->due > now - CATCH_UP_NS ? place->due : now - CATCH_UP_NS;
}

bool fetch_take(struct fetch *fetch, bool wait, struct fetch_place *place)
{
	const struct fetch_client *client = &fetch->client;
	bool got = client->next(client->context, false, &place->job);

	if (!got) {
		fetch->starved = clock_now();
		if (!wait || !client->next(client->context, true, &place->job))
			return false;
		fetch->starved = clock_now();
	}
	place->job.start = clock_now();
	place->job.calls = (struct fetch_calls){0};
	place->start = fetch_throttle_start(fetch, place);
	return true;
}

void fetch_due(struct fetch *fetch, struct fetch_place *place, const struct blob *blob)
{
	struct throttle *throttle = fetch->throttle;

	place->due = 0;
	if (throttle != NULL && blob != NULL && !place->job.unthrottled)
		place->due = throttle_release(throttle, place->start, blob->size);
}

bool fetch_held(const struct fetch *fetch, const struct fetch_place *place)
{
	return place->due > 0 && place->job.start > fetch->flushed &&
	       place->due > clock_now();
}

void fetch_done(struct fetch *fetch, const struct fetch_place *place, struct blob *blob,
		int result)
{
	if (blob != NULL) {
		fetch->reads++;
		fetch->bytes += blob->size;
	} else {
		fetch->failures++;
	}
	fetch->client.done(fetch->client.context, &place->job, blob, result);
}

/* Adds what the engine's name does not promise. */
static void fetch_explain(struct fetch *fetch, const char *reason)
{
	const char *note = "";

	if (fetch->reader.memory)
		note = fetch->engine->direct ? "; buffered, since storage is memory"
					     : "; storage is memory";
	else if (fetch->reader.mode == READER_DROP)
		note = "; no direct I/O on this file system, so buffered and dropped "
		       "from the page cache after each read";
	snprintf(fetch->reason, sizeof(fetch->reason), "%s%s", reason, note);
}

struct fetch *fetch_start(const struct fetch_engine *engine,
			  const struct fetch_config *config,
			  const struct source *source,
			  const struct fetch_client *client, struct error *err)
{
	struct fetch *fetch = calloc(1, sizeof(*fetch));

	if (fetch == NULL)
		goto no_memory;
	fetch->engine = engine;
	fetch->client = *client;
	fetch->throttle = config->throttle;
	fetch->thread_started = config->thread_started;
	fetch->depth = config->depth;
	if (reader_init(&fetch->reader, source, engine->direct) < 0)
		goto no_memory;
	if (engine->open(fetch, err) == 0)
		return fetch;
	reader_fini(&fetch->reader);
	free(fetch);
	return NULL;

no_memory:
	free(fetch);
	error_sys(err, ENOMEM, "cannot open the %s engine", engine->name);
	return NULL;
}

struct fetch *fetch_open(const struct fetch_config *config, const struct source *source,
			 const struct fetch_client *client, struct error *err)
{
	const struct fetch_engine *engine;
	struct fetch *fetch;
	char reason[192], names[CHOICE_TEXT];

	if (config->depth < 1 || config->depth > LIMIT_FETCH_DEPTH) {
		error_set(err, EINVAL, "fetch depth is 1 to %d, not %u",
			  LIMIT_FETCH_DEPTH, config->depth);
		return NULL;
	}
	if (strcmp(config->engine, "auto") == 0) {
		engine = fetch_probe(config, source, reason, sizeof(reason));
	} else {
		engine = fetch_find(config->engine);
		snprintf(reason, sizeof(reason), "%s: as asked", config->engine);
	}
	if (engine == NULL) {
		error_set(err, EINVAL, "no fetch engine is called '%s'; there are %s",
			  config->engine, choice_list(FETCH_ENGINE_NAMES, ", ", names));
		return NULL;
	}
	fetch = fetch_start(engine, config, source, client, err);
	if (fetch != NULL)
		fetch_explain(fetch, reason);
	return fetch;
}

void fetch_close(struct fetch *fetch)
{
	if (fetch == NULL)
		return;
	fetch->flushed = UINT64_MAX;
	fetch->engine->close(fetch);
	reader_fini(&fetch->reader);
	free(fetch);
}

const char *fetch_engine(const struct fetch *fetch)
{
	return fetch->engine->name;
}

const char *fetch_reason(const struct fetch *fetch)
{
	return fetch->reason;
}

bool fetch_direct(const struct fetch *fetch)
{
	return fetch->reader.mode == READER_DIRECT;
}

bool fetch_memory(const struct fetch *fetch)
{
	return fetch->reader.memory;
}

int fetch_set_depth(struct fetch *fetch, unsigned depth)
{
	if (depth < 1 || depth > LIMIT_FETCH_DEPTH)
		return -EINVAL;
	fetch->depth = depth;
	fetch->starved = clock_now(); /* no place owes for the time it did not exist */
	return fetch->engine->set_depth(fetch);
}

void fetch_kick(struct fetch *fetch)
{
	if (fetch->engine->kick != NULL)
		fetch->engine->kick(fetch);
}

void fetch_evict(const struct fetch *fetch, uint32_t sample)
{
	reader_evict(&fetch->reader, sample);
}

void fetch_flush(struct fetch *fetch)
{
	fetch->flushed = clock_now();
	fetch->engine->flush(fetch);
}

void fetch_stats(const struct fetch *fetch, struct fetch_stats *stats)
{
	stats->reads = fetch->reads;
	stats->bytes = fetch->bytes;
	stats->failures = fetch->failures;
	stats->cpu_ns = fetch->engine->cpu_ns(fetch);
}
