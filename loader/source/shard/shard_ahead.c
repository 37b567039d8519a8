/* shard_ahead.c - a thread that waits for one read after the other. */
#include "loader/source/shard/shard_ahead.h"
#include "loader/base/thread_pool.h"

#include <stdlib.h>

enum shard_ahead_state { AHEAD_IDLE, AHEAD_BEGUN, AHEAD_STOP };

struct shard_ahead {
	const struct shard_object *object;
	pthread_t thread;
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t changed;
	enum shard_ahead_state state;
	unsigned char *to;
	uint64_t from;
	size_t size;
	ssize_t got;
};

static void *shard_ahead_run(void *argument)
{
	struct shard_ahead *ahead = argument;
	const struct shard_object *object = ahead->object;

	pthread_mutex_lock(&ahead->lock);
	while (ahead->state != AHEAD_STOP) {
		if (ahead->state == AHEAD_IDLE) {
			pthread_cond_wait(&ahead->changed, &ahead->lock);
			continue;
		}
		pthread_mutex_unlock(&ahead->lock);
		ahead->got = object->read(object->state, ahead->to, ahead->size,
					  ahead->from);
		pthread_mutex_lock(&ahead->lock);
		ahead->state = AHEAD_IDLE;
		pthread_cond_signal(&ahead->changed);
	}
	pthread_mutex_unlock(&ahead->lock);
	return NULL;
}

struct shard_ahead *shard_ahead_new(const struct shard_object *object)
{
	struct shard_ahead *ahead = calloc(1, sizeof(*ahead));

	if (ahead == NULL)
		return NULL;
	ahead->object = object;
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->changed, NULL);
	if (thread_start(&ahead->thread, shard_ahead_run, ahead) == 0)
		return ahead;
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
	return NULL;
}

static void shard_ahead_set(struct shard_ahead *ahead, enum shard_ahead_state state)
{
	pthread_mutex_lock(&ahead->lock);
	while (ahead->state == AHEAD_BEGUN)
		pthread_cond_wait(&ahead->changed, &ahead->lock);
	ahead->state = state;
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
}

void shard_ahead_free(struct shard_ahead *ahead)
{
	if (ahead == NULL)
		return;
	shard_ahead_set(ahead, AHEAD_STOP);
	pthread_join(ahead->thread, NULL);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
}

void shard_ahead_begin(struct shard_ahead *ahead, unsigned char *to, uint64_t from,
		       size_t size)
{
	ahead->to = to;
	ahead->from = from;
	ahead->size = size;
	shard_ahead_set(ahead, AHEAD_BEGUN);
}

ssize_t shard_ahead_end(struct shard_ahead *ahead)
{
	shard_ahead_set(ahead, AHEAD_IDLE);
	return ahead->got;
}
