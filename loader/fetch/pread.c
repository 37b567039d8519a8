/*
 * pread.c - the engine that works everywhere: a pool of threads, one a read in flight.
 *
 * The threads take turns in asking the client for work, so that at most one waits
 * inside client->next() and a place is never given to more threads than the depth.
 */
#include "loader/base/blob.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/thread_pool.h"
#include "loader/fetch/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

struct pool {
	struct fetch *fetch;
	pthread_mutex_t lock; /* guards all up to `hold` */
	pthread_cond_t turn;  /* nobody is asking, and there is a free place */
	bool asking, over;
	unsigned threads, busy;
	pthread_t thread[LIMIT_FETCH_DEPTH];
	struct fetch_place *free[LIMIT_FETCH_DEPTH]; /* places, from [busy] on */
	struct fetch_place place[LIMIT_FETCH_DEPTH];

	pthread_mutex_t hold;
	pthread_cond_t flushed; /* held reads may go */
};

/* Gives back the place of a finished read, if any, and takes one for the next. */
static struct fetch_place *pread_turn(struct pool *pool, struct fetch_place *place)
{
	bool got;

	pthread_mutex_lock(&pool->lock);
	if (place != NULL)
		pool->free[--pool->busy] = place;
	while (!pool->over && (pool->asking || pool->busy >= pool->fetch->depth))
		pthread_cond_wait(&pool->turn, &pool->lock);
	if (pool->over) {
		pthread_mutex_unlock(&pool->lock);
		return NULL;
	}
	pool->asking = true;
	place = pool->free[pool->busy++];
	pthread_mutex_unlock(&pool->lock);

	got = fetch_take(pool->fetch, true, place);

	pthread_mutex_lock(&pool->lock);
	pool->asking = false;
	if (!got) {
		pool->over = true;
		pthread_cond_broadcast(&pool->turn);
	} else if (pool->busy < pool->fetch->depth) {
		pthread_cond_signal(&pool->turn);
	}
	pthread_mutex_unlock(&pool->lock);
	return got ? place : NULL;
}

/* Sleeps until the throttle lets the read go, or a flush does. */
static void pread_hold_back(struct pool *pool, const struct fetch_place *place)
{
	const struct timespec at = {
		.tv_sec = (time_t)(place->due / 1000000000u),
		.tv_nsec = (long)(place->due % 1000000000u),
	};

	if (!fetch_held(pool->fetch, place))
		return;
	pthread_mutex_lock(&pool->hold);
	while (fetch_held(pool->fetch, place))
		pthread_cond_timedwait(&pool->flushed, &pool->hold, &at);
	pthread_mutex_unlock(&pool->hold);
}

static void *pread_run(void *arg)
{
	struct pool *pool = arg;
	struct fetch_place *place = NULL;

	fetch_thread_started(pool->fetch);
	while ((place = pread_turn(pool, place)) != NULL) {
		struct blob *blob = NULL;
		int rc = reader_read(&pool->fetch->reader, &place->job, &blob,
				     &place->parts);

		fetch_due(pool->fetch, place, blob);
		pread_hold_back(pool, place);
		fetch_done(pool->fetch, place, blob, rc);
	}
	return NULL;
}

/* Starts the threads that the depth needs and that are not there yet, under lock. */
static int pread_grow(struct pool *pool)
{
	int rc = 0;

	while (rc == 0 && pool->threads < pool->fetch->depth) {
		rc = -thread_start(&pool->thread[pool->threads], pread_run, pool);
		pool->threads += rc == 0;
	}
	return rc;
}

static int pool_set_depth(struct fetch *fetch)
{
	struct pool *pool = fetch->state;
	int rc;

	pthread_mutex_lock(&pool->lock);
	rc = pread_grow(pool);
	pthread_cond_broadcast(&pool->turn);
	pthread_mutex_unlock(&pool->lock);
	return rc;
}

static void pool_flush(struct fetch *fetch)
{
	struct pool *pool = fetch->state;

	pthread_mutex_lock(&pool->hold); /* none is between looking and sleeping */
	pthread_cond_broadcast(&pool->flushed);
	pthread_mutex_unlock(&pool->hold);
}

static void pool_close(struct fetch *fetch)
{
	struct pool *pool = fetch->state;

	pool_flush(fetch);
	for (unsigned i = 0; i < pool->threads; i++)
		pthread_join(pool->thread[i], NULL);
	pthread_cond_destroy(&pool->flushed);
	pthread_mutex_destroy(&pool->hold);
	pthread_cond_destroy(&pool->turn);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

static int pool_open(struct fetch *fetch, struct error *err)
{
	struct pool *pool = calloc(1, sizeof(*pool));
	pthread_condattr_t monotonic;
	int rc;

	if (pool == NULL)
		return error_sys(err, ENOMEM, "cannot open the pread engine");
	pool->fetch = fetch;
	for (unsigned i = 0; i < LIMIT_FETCH_DEPTH; i++)
		pool->free[i] = &pool->place[i];
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	thread_lock_init(&pool->lock);
	pthread_cond_init(&pool->turn, NULL);
	thread_lock_init(&pool->hold);
	pthread_cond_init(&pool->flushed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	fetch->state = pool;
	pthread_mutex_lock(&pool->lock);
	rc = pread_grow(pool);
	pool->over = rc < 0; /* before any of them has asked the client */
	pthread_mutex_unlock(&pool->lock);
	if (rc < 0) {
		error_sys(err, -rc, "cannot start %u fetch threads",
			  (unsigned)fetch->depth);
		pool_close(fetch);
	}
	return rc;
}

static uint64_t pool_cpu_ns(const struct fetch *fetch)
{
	struct pool *pool = fetch->state;
	uint64_t sum = 0;

	pthread_mutex_lock(&pool->lock);
	for (unsigned i = 0; i < pool->threads; i++)
		sum += clock_cpu_of(pool->thread[i]);
	pthread_mutex_unlock(&pool->lock);
	return sum;
}

#define POOL                                                                           \
	.open = pool_open, .close = pool_close, .set_depth = pool_set_depth,           \
	.flush = pool_flush, .cpu_ns = pool_cpu_ns

const struct fetch_engine fetch_pread = {.name = "pread", POOL};
const struct fetch_engine fetch_pread_direct = {
	.name = "pread-direct", .direct = true, POOL};
