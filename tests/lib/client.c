#include "tests/lib/client.h"
#include "loader/base/blob.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/fetch.h"
#include "tests/lib/test.h"

#include <stddef.h>

bool client_next(void *context, bool wait, struct fetch_job *job)
{
	struct client *client = context;
	bool got;

	pthread_mutex_lock(&client->lock);
	while (wait && !client->closed && client->next == client->end) {
		client->waits++;
		pthread_cond_broadcast(&client->changed);
		pthread_cond_wait(&client->changed, &client->lock);
	}
	got = client->next < client->end;
	if (got) {
		*job = (struct fetch_job){.tag = client->next * 3 + 1,
					  .sample = client->next,
					  .unthrottled = client->unthrottled,
					  .members = client->members,
					  .count = client->end};
		client->out += client->members != NULL ? client->end : 1;
		client->next += client->members != NULL ? client->end : 1;
		if (client->most_out < client->out)
			client->most_out = client->out;
		pthread_cond_broadcast(&client->changed);
	}
	pthread_mutex_unlock(&client->lock);
	return got;
}

void client_done(void *context, const struct fetch_job *job, struct blob *blob,
		 int result)
{
	struct client *client = context;

	pthread_mutex_lock(&client->lock);
	assert_int_equal(job->tag, client->members != NULL ? 1 : job->sample * 3 + 1);
	assert_true(job->start > 0 && job->start <= clock_now());
	assert_null(client->blob[job->sample]);
	client->blob[job->sample] = blob;
	client->result[job->sample] = result;
	client->calls.opens += job->calls.opens;
	client->calls.reads += job->calls.reads;
	client->calls.bytes += job->calls.bytes;
	client->out--;
	client->done++;
	client->undrained++;
	pthread_cond_broadcast(&client->changed);
	pthread_mutex_unlock(&client->lock);
}

void client_drained(void *context)
{
	struct client *client = context;

	pthread_mutex_lock(&client->lock);
	client->undrained = 0;
	pthread_cond_broadcast(&client->changed);
	pthread_mutex_unlock(&client->lock);
}

void client_thread_started(void *context)
{
	struct client *client = context;
	char name[16];

	pthread_getname_np(pthread_self(), name, sizeof(name));
	assert_string_equal(name, "dsa-fetch");
	pthread_mutex_lock(&client->lock);
	client->started++;
	pthread_mutex_unlock(&client->lock);
}

void client_init(struct client *client, uint32_t end)
{
	*client = (struct client){.end = end};
	pthread_mutex_init(&client->lock, NULL);
	pthread_cond_init(&client->changed, NULL);
}

void client_set(struct client *client, bool *what, bool to)
{
	pthread_mutex_lock(&client->lock);
	*what = to;
	pthread_cond_broadcast(&client->changed);
	pthread_mutex_unlock(&client->lock);
}

void client_want(struct client *client, uint32_t end)
{
	pthread_mutex_lock(&client->lock);
	client->end = end;
	pthread_cond_broadcast(&client->changed);
	pthread_mutex_unlock(&client->lock);
}

void client_wait(struct client *client, const unsigned *what, unsigned least)
{
	pthread_mutex_lock(&client->lock);
	while (*what < least)
		pthread_cond_wait(&client->changed, &client->lock);
	pthread_mutex_unlock(&client->lock);
}

void client_flush(struct client *client, struct fetch *fetch, unsigned done)
{
	unsigned now;

	do {
		fetch_flush(fetch);
		pthread_mutex_lock(&client->lock);
		now = client->done;
		pthread_mutex_unlock(&client->lock);
	} while (now < done);
}

void client_fini(struct client *client)
{
	for (int i = 0; i < CLIENT_MOST; i++)
		blob_put(client->blob[i]);
	pthread_cond_destroy(&client->changed);
	pthread_mutex_destroy(&client->lock);
}

struct fetch *client_open(struct client *client, const struct source *source,
			  const char *engine, unsigned depth, struct throttle *throttle)
{
	const struct fetch_config config = {.engine = engine,
					    .depth = depth,
					    .throttle = throttle,
					    .thread_started = client_thread_started};
	const struct fetch_client calls = {client, client_next, client_done,
					   client_drained};
	struct error err = {0};
	struct fetch *fetch = fetch_open(&config, source, &calls, &err);

	assert_string_equal(err.message, "");
	assert_non_null(fetch);
	return fetch;
}

void client_read(struct client *client, const struct source *source, const char *engine,
		 uint32_t count)
{
	struct fetch *fetch;

	client_init(client, count);
	fetch = client_open(client, source, engine, 4, NULL);
	client_wait(client, &client->done, count);
	client_set(client, &client->closed, true);
	fetch_close(fetch);
	assert_int_equal(client->undrained, 0);
}
