/* front.c - threads that read what is on disk, and pass on to the engine what is not. */
#include "loader/fetch/front.h"
#include "loader/base/clock.h"
#include "loader/base/thread_pool.h"
#include "loader/disk.h"
#include "loader/fetch/engine.h"

#include <errno.h>
#include <stdlib.h>

/* Threads are reads from the disk at once. Misses that wait for the engine are few: at the
 * end of a turn all of them are waited for. */
enum { FRONT_THREADS = 8, FRONT_MISSES = 8 };

struct front {
	struct fetch *fetch;
	struct fetch_client client;
	struct disk *disk;
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied; /* misses; */
	struct fetch_job misses[FRONT_MISSES];
	unsigned first, count; /* the oldest, and how many; lock */
	unsigned running;      /* threads; lock */
	bool closing;          /* lock */
	unsigned started;      /* threads; */
	pthread_t threads[FRONT_THREADS];
};

/* ---- what the engine sees ---- */

static bool front_next(void *context, bool wait, struct fetch_job *job)
{
	struct front *front = context;
	bool found;

	pthread_mutex_lock(&front->lock);
	while (wait && front->count == 0 && front->running > 0)
		pthread_cond_wait(&front->filled, &front->lock);
	found = front->count > 0;
	if (found) {
		*job = front->misses[front->first];
		front->first = (front->first + 1) % FRONT_MISSES;
		front->count--;
		pthread_cond_signal(&front->emptied);
	}
	pthread_mutex_unlock(&front->lock);
	return found;
}

static void front_done(void *context, const struct fetch_job *job, struct blob *blob,
		       int result)
{
	const struct front *front = context;

	if (blob != NULL && !job->hit &&
	    reader_replaced(&front->fetch->reader, job->sample))
		disk_doubt(front->disk, job->sample);
	front->client.done(front->client.context, job, blob, result);
}

static void front_drained(void *context)
{
	const struct front *front = context;

	if (front->client.drained != NULL)
		front->client.drained(front->client.context);
}

/* ---- the threads ---- */

static void front_miss(struct front *front, const struct fetch_job *job)
{
	bool closing;

	pthread_mutex_lock(&front->lock);
	while (front->count == FRONT_MISSES && !front->closing)
		pthread_cond_wait(&front->emptied, &front->lock);
	closing = front->closing;
	if (!closing) {
		front->misses[(front->first + front->count++) % FRONT_MISSES] = *job;
		pthread_cond_signal(&front->filled);
	}
	pthread_mutex_unlock(&front->lock);
	if (closing)
		front_done(front, job, NULL, -ECANCELED);
	else if (front->fetch->engine->kick != NULL)
		front->fetch->engine->kick(front->fetch);
}

static bool front_has(struct front *front, struct fetch_job *job)
{
	struct blob *blob = NULL;

	if (!job->bypass)
		blob = disk_get(front->disk, job->sample, job->quiet);
	job->hit = blob != NULL;
	if (blob != NULL)
		front_done(front, job, blob, 0);
	return blob != NULL;
}

/* What lies between two hits is one read still. */
static void front_take_each(struct front *front, const struct fetch_job *job)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i <= job->count; i++) {
		struct fetch_job each = *job;

		if (i < job->count) {
			each.sample = job->members[i];
			if (!front_has(front, &each))
				continue;
		}
		if (i > first) { /* else the members may be gone with their last hit */
			each.hit = false;
			each.sample = job->members[first];
			each.members = job->members + first;
			each.count = i - first;
			front_miss(front, &each);
		}
		first = i + 1;
	}
}

static void front_take(struct front *front, struct fetch_job *job)
{
	job->start = clock_now();
	job->calls = (struct fetch_calls){0};
	if (job->members != NULL)
		front_take_each(front, job);
	else if (!front_has(front, job))
		front_miss(front, job);
}

static void *front_run(void *context)
{
	struct front *front = context;
	struct fetch_job job;

	fetch_thread_started(front->fetch);
	while (front->client.next(front->client.context, true, &job)) {
		front_take(front, &job);
		front_drained(front);
	}
	pthread_mutex_lock(&front->lock);
	front->running--;
	pthread_cond_broadcast(&front->filled);
	pthread_mutex_unlock(&front->lock);
	return NULL;
}

/* ---- opening ---- */

int front_open(struct fetch *fetch, struct disk *disk)
{
	struct front *front = calloc(1, sizeof(*front));

	if (front == NULL)
		return -ENOMEM;
	front->fetch = fetch;
	front->client = fetch->client;
	front->disk = disk;
	front->running =
		FRONT_THREADS; /* or the engine would find that there are none */
	pthread_mutex_init(&front->lock, NULL);
	pthread_cond_init(&front->filled, NULL);
	pthread_cond_init(&front->emptied, NULL);
	fetch->front = front;
	fetch->client = (struct fetch_client){.context = front,
					      .next = front_next,
					      .done = front_done,
					      .drained = front_drained};
	return 0;
}

int front_start(struct front *front)
{
	unsigned missing;

	if (front == NULL)
		return 0;
	while (front->started < FRONT_THREADS &&
	       thread_start(&front->threads[front->started], front_run, front) == 0)
		front->started++;
	missing = FRONT_THREADS - front->started;
	pthread_mutex_lock(&front->lock);
	front->running -= missing;
	pthread_cond_broadcast(&front->filled);
	pthread_mutex_unlock(&front->lock);
	return front->started > 0 ? 0 : -EAGAIN;
}

void front_stop(struct front *front)
{
	if (front == NULL)
		return;
	pthread_mutex_lock(&front->lock);
	front->closing = true;
	pthread_cond_broadcast(&front->emptied);
	pthread_mutex_unlock(&front->lock);
	for (unsigned i = 0; i < front->started; i++)
		pthread_join(front->threads[i], NULL);
}

void front_close(struct front *front)
{
	if (front == NULL)
		return;
	while (front->count > 0) { /* that no engine has taken */
		struct fetch_job *job = &front->misses[front->first];

		front->first = (front->first + 1) % FRONT_MISSES;
		front->count--;
		front_done(front, job, NULL, -ECANCELED);
	}
	pthread_cond_destroy(&front->filled);
	pthread_cond_destroy(&front->emptied);
	pthread_mutex_destroy(&front->lock);
	free(front);
}

void front_add_stats(const struct front *front, struct fetch_stats *stats)
{
	struct disk_stats disk;

	disk_stats(front->disk, &disk);
	stats->read_calls_begun += disk.reads_begun;
	stats->read_calls += disk.reads;
	stats->read_call_bytes += disk.read_bytes;
	for (unsigned i = 0; i < front->started; i++)
		stats->cpu_ns += clock_cpu_of(front->threads[i]);
}
