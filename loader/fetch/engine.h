/*
 * engine.h - what a fetch engine provides, and what it is given. Private to
 * loader/fetch/.
 *
 *	fetch_take() -> read -> fetch_due() -> wait while fetch_held() -> fetch_done()
 *
 * Each of an engine's `depth` places goes round this way; a read that the throttle
 * holds back keeps its place.
 */
#ifndef DSA_FETCH_ENGINE_H
#define DSA_FETCH_ENGINE_H

#include "loader/base/limits.h"
#include "loader/base/variants.h"
#include "loader/fetch.h"
#include "loader/fetch/reader.h"
#include "loader/fetch/reader_parts.h"

#include <pthread.h>
#include <stdatomic.h>

struct fetch_engine {
	const char *name;
	bool direct;
	/* Starts the threads and sets fetch->state. Returns 0 or -errno. */
	int (*open)(struct fetch *fetch, struct error *err);
	void (*close)(struct fetch *fetch);
	int (*set_depth)(struct fetch *fetch); /* to fetch->depth; 0 or -errno */
	void (*kick)(struct fetch *fetch);     /* as fetch_kick(); may be NULL */
	void (*flush)(struct fetch *fetch);    /* asks fetch_held() of all held again */
	uint64_t (*cpu_ns)(const struct fetch *fetch);
};

#define FETCH_DECLARE(name, text, one_thread)                                          \
	extern const struct fetch_engine fetch_##name;
FETCH_ENGINES(FETCH_DECLARE)

struct fetch {
	const struct fetch_engine *engine;
	void *state; /* the engine's */
	struct fetch_client client;
	struct throttle *throttle;
	void (*thread_started)(void *context);
	void *thread_context;
	struct reader reader;
	struct front *front; /* of a cache on disk; NULL: none */
	struct reader_total
		called; /* an engine that calls read() itself adds to it, too */
	atomic_uint depth;
	atomic_uint_fast64_t starved; /* when there last was no work for a free place */
	atomic_uint_fast64_t flushed; /* reads begun until then are not held back */
	atomic_uint_fast64_t reads, bytes, failures;
	bool hedge;
	char reason[320];
};

/* One place of the depth. */
struct fetch_place {
	struct fetch_job job;
	struct reader_parts *parts; /* that were read, for fetch_done(); NULL: a blob */
	uint64_t start;             /* of the read, for the throttle */
	uint64_t due; /* when the read, or the last one, is to be handed on */
};

/* fetch_open() for a known engine; takes depth, throttle, thread_started of config. */
struct fetch *fetch_start(const struct fetch_engine *engine,
			  const struct fetch_config *config,
			  const struct source *source,
			  const struct fetch_client *client, struct error *err);

/* The faster of the engines that fit config; writes into reason why. */
const struct fetch_engine *fetch_probe(const struct fetch_config *config,
				       const struct source *source, char *reason,
				       size_t size);

/* The first call in an engine's thread. */
void fetch_thread_started(const struct fetch *fetch);

/* The next job for a place; as client->next(). */
bool fetch_take(struct fetch *fetch, bool wait, struct fetch_place *place);

/* A read is complete: sets when it may be handed on. */
void fetch_due(struct fetch *fetch, struct fetch_place *place, const struct blob *blob);

/* Must a complete read still be held back? */
bool fetch_held(const struct fetch *fetch, const struct fetch_place *place);

/* Hands a finished job on. */
void fetch_done(struct fetch *fetch, struct fetch_place *place, struct blob *blob,
		int result);

/* Before an engine's thread waits for anything but the next job; fetch_take() does it
 * itself. */
void fetch_drained(const struct fetch *fetch);

#endif
