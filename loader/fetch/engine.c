/* engine.c - what all fetch engines do alike: take a job, hold it back, hand it on. */
#include "loader/fetch/engine.h"
#include "loader/base/blob.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/throttle.h"
#include "loader/fetch/front.h"
#include "loader/source.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { CATCH_UP_NS = 10000000 };

void fetch_thread_started(const struct fetch *fetch)
{
	pthread_setname_np(pthread_self(), "dsa-fetch");
	if (fetch->thread_started != NULL)
		fetch->thread_started(fetch->thread_context);
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
		if (!wait)
			return false;
		fetch_drained(fetch);
		if (!client->next(client->context, true, &place->job))
			return false;
		fetch->starved = clock_now();
	}
	place->job.start = clock_now();
	place->job.hit = false;
	place->job.calls = (struct fetch_calls){0};
	place->parts = NULL;
	place->start = fetch_throttle_start(fetch, place);
	return true;
}

void fetch_due(struct fetch *fetch, struct fetch_place *place, const struct blob *blob)
{
	struct throttle *throttle = fetch->throttle;
	const struct reader_parts *parts = place->parts;

	place->due = 0;
	if (throttle != NULL && (blob != NULL || parts != NULL) &&
	    !place->job.unthrottled)
		place->due =
			throttle_release(throttle, place->start,
					 parts != NULL ? parts->bytes : blob->size);
}

bool fetch_held(const struct fetch *fetch, const struct fetch_place *place)
{
	return place->due > 0 && place->job.start > fetch->flushed &&
	       place->due > clock_now();
}

/* Keeps the sample alone of what was read; one that is broken ends, and *blob is NULL. */
static int fetch_unseal(struct fetch *fetch, struct fetch_job *job, struct blob **blob)
{
	struct source_part part = {.size = (*blob)->size};
	const char *why = NULL;
	int result = source_unseal(fetch->reader.source, job->sample, (*blob)->data,
				   &part, &why);

	if (result == 0) {
		blob_cut(*blob, part.skip, part.size);
		return 0;
	}
	blob_put(*blob);
	*blob = NULL;
	job->why = why;
	return result;
}

static void fetch_hand_on(struct fetch *fetch, struct fetch_place *place,
			  struct blob *blob, int result)
{
	if (blob != NULL) {
		fetch->reads++;
		fetch->bytes += blob->size;
		result = fetch_unseal(fetch, &place->job, &blob);
	}
	fetch->failures += blob == NULL;
	fetch->client.done(fetch->client.context, &place->job, blob, result);
}

/* A sample's own bytes of a read that brought several; NULL: no memory. */
static struct blob *fetch_part(const struct fetch *fetch, uint32_t sample,
			       const struct blob *whole, uint64_t from)
{
	struct source_place at;
	struct blob *blob;
	char path[PATH_MAX];

	source_place(fetch->reader.source, sample, path, &at);
	blob = blob_pool_take(fetch->reader.pool, at.size);
	if (blob != NULL)
		memcpy(blob->data, whole->data + (at.offset - from), at.size);
	return blob;
}

/* Of files, what could not be read together may be read alone but for one of them. */
static void fetch_split(struct fetch *fetch, const struct fetch_place *place,
			struct blob *whole, int result)
{
	struct reader_parts *parts = place->parts, *none = NULL;
	struct fetch_place each = *place;
	struct source_place first;
	char path[PATH_MAX];

	source_place(fetch->reader.source, place->job.members[0], path, &first);
	each.job.members = NULL;
	if (parts != NULL)
		reader_parts_fill(parts);
	for (uint32_t i = 0; i < place->job.count; i++) {
		struct blob *blob = NULL;
		int rc = result;

		each.job.sample = place->job.members[i];
		if (parts != NULL)
			blob = parts->samples[i].blob;
		else if (whole != NULL)
			blob = fetch_part(fetch, each.job.sample, whole, first.offset);
		else if (first.object == NULL)
			rc = reader_read(&fetch->reader, &each.job, &blob, &none);
		if (whole != NULL && blob == NULL)
			rc = -ENOMEM;
		each.job.members = place->job.members;
		fetch_hand_on(fetch, &each, blob, rc);
		each.job.members = NULL;
		each.job.calls = (struct fetch_calls){0};
		each.job.why = place->job.why;
		if (parts != NULL)
			parts->samples[i].blob = NULL;
	}
	reader_parts_free(parts);
	blob_put(whole);
}

void fetch_done(struct fetch *fetch, struct fetch_place *place, struct blob *blob,
		int result)
{
	if (place->job.members == NULL)
		fetch_hand_on(fetch, place, blob, result);
	else
		fetch_split(fetch, place, blob, result);
}

void fetch_drained(const struct fetch *fetch)
{
	if (fetch->client.drained != NULL)
		fetch->client.drained(fetch->client.context);
}

static int fetch_open_engine(struct fetch *fetch, struct error *err)
{
	int result = fetch->engine->open(fetch, err);

	if (result == 0 && front_start(fetch->front) < 0) {
		fetch->engine->close(fetch);
		result = error_sys(err, EAGAIN, "cannot start threads for the cache");
	}
	return result;
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
	fetch->thread_context = client->context;
	fetch->depth = config->depth;
	fetch->hedge = config->hedge;
	if (reader_init(&fetch->reader, source, engine->direct, &fetch->called) < 0)
		goto no_memory;
	if (config->disk != NULL && front_open(fetch, config->disk) < 0) {
		reader_fini(&fetch->reader);
		goto no_memory;
	}
	if (fetch_open_engine(fetch, err) == 0)
		return fetch;
	front_close(fetch->front);
	reader_fini(&fetch->reader);
	free(fetch);
	return NULL;

no_memory:
	free(fetch);
	error_sys(err, ENOMEM, "cannot open the %s engine", engine->name);
	return NULL;
}
