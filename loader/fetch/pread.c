/*
 * pread.c - the engine that works everywhere: a pool of threads, one a read in flight.
 *
 * The threads take turns in asking the client for work, so that at most one waits
 * inside client->next() and a place is never given to more threads than the depth.
 * Who has a job passes the turn on before it reads, which wakes another thread; where
 * reads take less than that, as from the page cache, it keeps the turn and reads alone.
 */
#include "loader/base/blob.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/thread_pool.h"
#include "loader/fetch/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum {
	QUICK_NS = 20000, /* about what waking a thread costs both */
	LATELY = 8,       /* reads, of the mean that is held against it */
	TOLD_AFTER = 16,  /* reads of a thread that reads alone */
};

struct pool {
	struct fetch *fetch;
	pthread_mutex_t lock; /* guards all up to `hold` */
	pthread_cond_t turn;  /* nobody is asking, and there is a free place */
	bool asking, over;    /* asking: or reading alone */
	unsigned threads, busy;
	int64_t lately; /* what a read took, ns */
	pthread_t thread[LIMIT_FETCH_DEPTH];
	struct fetch_place *free[LIMIT_FETCH_DEPTH]; /* places, from [busy] on */
	struct fetch_place place[LIMIT_FETCH_DEPTH];

	pthread_mutex_t hold;
	pthread_cond_t flushed; /* held reads may go */
};

/* One of the threads. */
struct pread_reader {
	struct pool *pool;
	struct fetch_place *place; /* of its read, NULL: none */
	bool alone;                /* it has kept the turn */
	unsigned untold;           /* reads done since the client was told */
};

/* Under lock. */
static void pread_pass(struct pread_reader *reader)
{
	struct pool *pool = reader->pool;

	reader->alone = false;
	pool->asking = false;
	if (pool->busy < pool->fetch->depth)
		pthread_cond_signal(&pool->turn);
}

/* Gives back the place of a finished read, if any, and waits for the turn and a place for
 * the next; false: there is none any more. */
static bool pread_turn(struct pread_reader *reader)
{
	struct pool *pool = reader->pool;
	bool over;

	pthread_mutex_lock(&pool->lock);
	if (reader->place != NULL)
		pool->free[--pool->busy] = reader->place;
	if (reader->alone)
		pool->asking = false;
	while (!pool->over && (pool->asking || pool->busy >= pool->fetch->depth))
		pthread_cond_wait(&pool->turn, &pool->lock);
	over = pool->over;
	if (!over) {
		pool->asking = true;
		reader->place = pool->free[pool->busy++];
	}
	pthread_mutex_unlock(&pool->lock);
	return !over;
}

/* The next job, in its turn; false: never again. */
static bool pread_take(struct pread_reader *reader)
{
	struct pool *pool = reader->pool;
	bool got;

	if (!pread_turn(reader))
		return false;
	got = fetch_take(pool->fetch, true, reader->place);

	pthread_mutex_lock(&pool->lock);
	reader->alone = got && pool->lately < QUICK_NS;
	if (!got) {
		pool->over = true;
		pthread_cond_broadcast(&pool->turn);
	} else if (!reader->alone) {
		pread_pass(reader);
	}
	pthread_mutex_unlock(&pool->lock);
	return got;
}

/* Who waits from here on lets others ask. */
static void pread_read_ended(struct pread_reader *reader, uint64_t took)
{
	struct pool *pool = reader->pool;

	pthread_mutex_lock(&pool->lock);
	pool->lately += ((int64_t)took - pool->lately) / LATELY;
	if (reader->alone &&
	    (pool->lately >= QUICK_NS || fetch_held(pool->fetch, reader->place)))
		pread_pass(reader);
	pthread_mutex_unlock(&pool->lock);
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
	fetch_drained(pool->fetch);
	pthread_mutex_lock(&pool->hold);
	while (fetch_held(pool->fetch, place))
		pthread_cond_timedwait(&pool->flushed, &pool->hold, &at);
	pthread_mutex_unlock(&pool->hold);
}

static void pread_read(struct pread_reader *reader)
{
	struct fetch *fetch = reader->pool->fetch;
	struct fetch_place *place = reader->place;
	struct blob *blob = NULL;
	uint64_t start = clock_now();
	int rc = reader_read(&fetch->reader, &place->job, &blob, &place->parts);

	fetch_due(fetch, place, blob);
	pread_read_ended(reader, clock_now() - start);
	pread_hold_back(reader->pool, place);
	fetch_done(fetch, place, blob, rc);
	if (reader->alone && ++reader->untold < TOLD_AFTER)
		return;
	reader->untold = 0;
	fetch_drained(fetch);
}

static void *pread_run(void *arg)
{
	struct pread_reader reader = {.pool = arg};

	fetch_thread_started(reader.pool->fetch);
	while (pread_take(&reader))
		pread_read(&reader);
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
	int rc;

	if (pool == NULL)
		return error_sys(err, ENOMEM, "cannot open the pread engine");
	pool->fetch = fetch;
	for (unsigned i = 0; i < LIMIT_FETCH_DEPTH; i++)
		pool->free[i] = &pool->place[i];
	thread_lock_init(&pool->lock);
	pthread_cond_init(&pool->turn, NULL);
	thread_lock_init(&pool->hold);
	thread_cond_init(&pool->flushed);
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
