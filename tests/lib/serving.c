#include "tests/lib/serving.h"

#include <stdio.h>
#include <string.h>

static void tell(void *context, const char *line)
{
	struct serving *serving = context;

	pthread_mutex_lock(&serving->lock);
	snprintf(serving->lines[serving->count % SERVING_LINES],
		 sizeof(serving->lines[0]), "%.319s", line);
	serving->count++;
	pthread_cond_broadcast(&serving->changed);
	pthread_mutex_unlock(&serving->lock);
}

void serving_init(struct serving *serving)
{
	*serving = (struct serving){
		.loader = {.dataset = "synthetic:100",
			   .batch = SERVING_BATCH,
			   .workers = 2,
			   .prep = "raw",
			   .size = 8,
			   .type = DSA_UINT8,
			   .seed = 7},
		.config = {.socket = "socket",
			   .audit = "audit",
			   .mode = SHARE_FREE,
			   .log = tell},
	};
	pthread_mutex_init(&serving->lock, NULL);
	pthread_cond_init(&serving->changed, NULL);
}

static void *run(void *context)
{
	struct serving *serving = context;

	serving->result = share_server_run(serving->server, &serving->err);
	return NULL;
}

bool serving_start(struct serving *serving)
{
	serving->config.loader = &serving->loader;
	serving->config.context = serving;
	serving->err = (struct error){0};
	serving->server = share_server_open(&serving->config, &serving->err);
	return serving->server != NULL &&
	       pthread_create(&serving->thread, NULL, run, serving) == 0;
}

static unsigned find(const struct serving *serving, const char *text)
{
	unsigned found = 0;

	for (unsigned i = 0; i < serving->count && i < SERVING_LINES; i++)
		found += strstr(serving->lines[i], text) != NULL;
	return found;
}

void serving_wait(struct serving *serving, const char *text)
{
	pthread_mutex_lock(&serving->lock);
	while (find(serving, text) == 0)
		pthread_cond_wait(&serving->changed, &serving->lock);
	pthread_mutex_unlock(&serving->lock);
}

unsigned serving_told(struct serving *serving, const char *text)
{
	unsigned found;

	pthread_mutex_lock(&serving->lock);
	found = find(serving, text);
	pthread_mutex_unlock(&serving->lock);
	return found;
}

int serving_join(struct serving *serving)
{
	pthread_join(serving->thread, NULL);
	share_server_close(serving->server);
	serving->server = NULL;
	return serving->result;
}

int serving_stop(struct serving *serving)
{
	share_server_stop(serving->server);
	return serving_join(serving);
}

void serving_job(struct job *job, uint32_t batch)
{
	job_init(job, batch);
	strcpy(job->hello.prep, "raw");
	job->hello.size = 8;
	job->hello.type = DSA_UINT8;
	for (int i = 0; i < 3; i++)
		job->hello.std[i] = 1;
}

bool serving_verdict(const char *path, const char *text)
{
	char line[512] = "", next[512];
	FILE *file = fopen(path, "r");

	if (file == NULL)
		return false;
	while (fgets(next, sizeof(next), file) != NULL)
		strcpy(line, next);
	fclose(file);
	return strncmp(line, "verdict: ", 9) == 0 && strstr(line, text) != NULL;
}
