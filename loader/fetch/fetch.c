/* fetch.c - opens the fetch engine that is asked for or, for auto, the fastest. */
#include "loader/fetch.h"
#include "loader/base/choice.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/fetch/engine.h"
#include "loader/fetch/front.h"
#include "loader/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FETCH_ADDRESS(name, text, one_thread) &fetch_##name,
static const struct fetch_engine *const engines[] = {FETCH_ENGINES(FETCH_ADDRESS)};

/* Adds what the engine's name does not promise. */
static bool fetch_is_remote(const struct fetch *fetch)
{
	return source_facts(fetch->reader.source)->remote;
}

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

/* The engine for what servers have, and for nothing else. */
static const struct fetch_engine *fetch_remote(const char *asked, bool remote,
					       char *reason, size_t size,
					       struct error *err)
{
	bool net = strcmp(asked, fetch_net.name) == 0;

	if (remote && !net && strcmp(asked, "auto") != 0)
		return error_null(
			error_set(err, EINVAL,
				  "the %s engine reads files: a bucket or web "
				  "server is read by auto or net",
				  asked));
	if (!remote && net)
		return error_null(error_set(
			err, EINVAL,
			"the net engine reads buckets and web servers, but the data "
			"set is on this machine: auto finds the best one"));
	snprintf(reason, size, net ? "net: as asked" : "net: a server has the samples");
	return &fetch_net;
}

struct fetch *fetch_open(const struct fetch_config *config, const struct source *source,
			 const struct fetch_client *client, struct error *err)
{
	int at = choice_find(FETCH_ENGINE_NAMES, config->engine); /* 0: auto */
	const struct fetch_engine *engine = at > 0 ? engines[at - 1] : NULL;
	struct fetch *fetch;
	char reason[192], names[CHOICE_TEXT];

	if (config->depth < 1 || config->depth > LIMIT_FETCH_DEPTH)
		return error_null(error_set(err, EINVAL,
					    "fetch depth is 1 to %d, not %u",
					    LIMIT_FETCH_DEPTH, config->depth));
	if (source_facts(source)->remote || engine == &fetch_net) {
		engine = fetch_remote(config->engine, source_facts(source)->remote,
				      reason, sizeof(reason), err);
		if (engine == NULL)
			return NULL;
	} else if (at == 0) {
		engine = fetch_probe(config, source, reason, sizeof(reason));
	} else {
		snprintf(reason, sizeof(reason), "%s: as asked", config->engine);
	}
	if (engine == NULL)
		return error_null(error_set(
			err, EINVAL, "no fetch engine is called '%s'; there are %s",
			config->engine, choice_list(FETCH_ENGINE_NAMES, ", ", names)));
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
	front_stop(fetch->front);
	fetch->engine->close(fetch);
	front_close(fetch->front);
	reader_fini(&fetch->reader);
	free(fetch);
}

struct fetch_facts fetch_facts(const struct fetch *fetch)
{
	return (struct fetch_facts){
		.engine = fetch->engine->name,
		.reason = fetch->reason,
		.direct = fetch->reader.mode == READER_DIRECT || fetch_is_remote(fetch),
		.memory = fetch->reader.memory && !fetch_is_remote(fetch),
		.remote = fetch_is_remote(fetch),
	};
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

void fetch_hold(struct fetch *fetch, bool hold)
{
	fetch->called.held = hold;
}

void fetch_stats(const struct fetch *fetch, struct fetch_stats *stats)
{
	stats->read_calls = fetch->called.reads;
	stats->read_call_bytes = fetch->called.bytes;
	stats->read_calls_begun = fetch->called.begun;
	stats->reads = fetch->reads;
	stats->bytes = fetch->bytes;
	stats->failures = fetch->failures;
	stats->cpu_ns = fetch->engine->cpu_ns(fetch);
	if (fetch->front != NULL)
		front_add_stats(fetch->front, stats);
}
