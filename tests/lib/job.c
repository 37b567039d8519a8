#include "tests/lib/job.h"
#include "loader/base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST = 4096 }; /* samples of a batch */

void job_init(struct job *job, uint32_t batch)
{
	*job = (struct job){.socket = -1, .memory = -1};
	protocol_inbox_init(&job->inbox);
	job->hello = (struct protocol_hello){
		.version = PROTOCOL_VERSION,
		.batch = batch,
		.world = 1,
	};
	snprintf(job->hello.job, sizeof(job->hello.job), "batches of %u", batch);
}

int job_connect(struct job *job, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	job->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (job->socket < 0 ||
	    connect(job->socket, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return 0;
}

int job_hello(struct job *job)
{
	return protocol_send(job->socket, PROTOCOL_HELLO, &job->hello,
			     sizeof(job->hello), NULL, 0);
}

static int receive(struct job *job)
{
	int got;

	do
		got = protocol_receive(job->socket, &job->inbox, 0);
	while (got == 0 || got == -EINTR);
	return got;
}

static bool had(const void *context, uint32_t sample)
{
	const struct job *job = context;

	return job->seen[sample] > 0;
}

static int read_feed(struct job *job)
{
	struct error err = {0};
	int numbers;
	struct bcast_reader_config config = {
		.slot = job->welcome.slot,
		.start = job->welcome.start,
		.epoch_places = job->welcome.epoch_places,
		.remaining = job->welcome.remaining,
		.audit = job->welcome.audit != 0,
	};

	if (job->hello.resumes != 0) {
		config.had = had;
		config.context = job;
	}
	config.memory = protocol_take_fd(&job->inbox);
	config.page = protocol_take_fd(&job->inbox);
	config.event = protocol_take_fd(&job->inbox);
	close(protocol_take_fd(&job->inbox)); /* classes */
	numbers = protocol_take_fd(&job->inbox);
	config.partial = numbers >= 0;
	if (numbers >= 0 && id_map_read(numbers, &job->id_map, &err) < 0)
		return -EIO;
	close(numbers);
	job->memory = dup(config.memory);
	job->reader = bcast_reader_open(&config, &err);
	if (job->seen == NULL)
		job->seen = calloc(job->welcome.dataset_samples, sizeof(*job->seen));
	snprintf(job->why, sizeof(job->why), "%s", err.message);
	return job->reader != NULL && job->seen != NULL ? 0 : -EIO;
}

int job_answer(struct job *job)
{
	for (;;) {
		int got = receive(job), type, result = 0;

		if (got < 0)
			return got;
		type = (int)protocol_type(&job->inbox);
		if (type == PROTOCOL_WELCOME) {
			memcpy(&job->welcome, protocol_body(&job->inbox),
			       sizeof(job->welcome));
			result = read_feed(job);
		} else if (type == PROTOCOL_REFUSED) {
			snprintf(job->why, sizeof(job->why), "%s",
				 (const char *)protocol_body(&job->inbox));
		}
		protocol_next(&job->inbox);
		if (type != PROTOCOL_WAIT)
			return result < 0 ? result : type;
		job->waits = true;
	}
}

int job_join(struct job *job, const char *path)
{
	int result = job_connect(job, path);

	if (result == 0)
		result = job_hello(job);
	return result == 0 ? job_answer(job) : result;
}

static void count(struct job *job, const uint32_t *samples, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		job->seen[samples[i]]++;
	job->in_epoch += count;
}

/* Samples of the ring become those of its data set; as many as are in there. */
static uint32_t own(struct job *job, uint32_t *samples, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (job->id_map.of != NULL)
			samples[i] = id_map_find(&job->id_map, samples[i]).sample;
		if (samples[i] < job->welcome.dataset_samples)
			samples[kept++] = samples[i];
	}
	job->wrong += kept < count;
	return kept;
}

static void end_epoch(struct job *job)
{
	uint64_t once = 0, all = job->welcome.dataset_samples;

	for (uint64_t i = 0; i < all; i++)
		once += job->seen[i] == 1;
	job->wrong += once != job->in_epoch || once != all - job->unreadable;
	job->epochs++;
	job->in_epoch = 0;
	memset(job->seen, 0, all * sizeof(*job->seen));
}

int job_take(struct job *job, uint64_t timeout_ns, struct bcast_batch *batch)
{
	uint32_t labels[MOST], samples[MOST];
	struct error err = {0};
	int result = bcast_take(job->reader, job->hello.batch, timeout_ns, batch,
				labels, samples, &err);

	if (result != 1) {
		snprintf(job->why, sizeof(job->why), "%s", err.message);
		return result;
	}
	count(job, samples, own(job, samples, batch->count));
	if (batch->epoch_ends)
		end_epoch(job);
	return 1;
}

void job_release(struct job *job, const struct bcast_batch *batch)
{
	if (batch->count > 0) /* an epoch may end without another sample */
		job->wrong += bcast_release(job->reader, batch) != 0;
}

int job_step(struct job *job, uint64_t timeout_ns)
{
	struct bcast_batch batch;
	int result = job_take(job, timeout_ns, &batch);

	if (result == 1)
		job_release(job, &batch);
	return result;
}

/* True: the loader hung up. */
static bool hung_up(const struct job *job)
{
	char byte;

	return recv(job->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

int job_run(struct job *job, unsigned epochs)
{
	while (job->epochs < epochs) {
		int result = job_step(job, 50000000);

		if (result == -EAGAIN && hung_up(job)) {
			result = job_step(job, 0); /* it may have come before */
			if (result == -EAGAIN)
				return -EPIPE;
		}
		if (result < 0 && result != -EAGAIN)
			return result;
	}
	return 0;
}

unsigned job_rest(struct job *job)
{
	unsigned count = 0;

	for (uint64_t i = 0; i < job->welcome.dataset_samples; i++)
		if (job->seen[i] == 0) {
			job->seen[i] = 1;
			count++;
		}
	job->in_epoch += count;
	end_epoch(job);
	return count;
}

void job_resume(struct job *job, struct job *before)
{
	job_init(job, before->hello.batch);
	job->hello = before->hello;
	job->hello.resumes = 1;
	job->seen = before->seen;
	job->in_epoch = before->in_epoch;
	job->wrong = before->wrong;
	before->seen = NULL;
}

void job_leave(struct job *job)
{
	if (job->reader != NULL)
		bcast_reader_close(job->reader);
	if (job->socket >= 0)
		close(job->socket);
	if (job->memory >= 0)
		close(job->memory);
	protocol_inbox_fini(&job->inbox);
	id_map_fini(&job->id_map);
	free(job->seen);
	*job = (struct job){.socket = -1, .memory = -1};
}
