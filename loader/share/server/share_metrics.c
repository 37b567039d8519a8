/* share_metrics.c - what the server does, in figures. */
#include "loader/base/clock.h"
#include "loader/base/trace.h"
#include "loader/cache.h"
#include "loader/gpu.h"
#include "loader/prep.h"
#include "loader/share/server/server_state.h"
#include "loader/share/wire/status.h"
#include "loader/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct collected {
	const struct share_server *server;
	const char *datasets[SHARE_DATASETS + 1];
	char device[16];
	struct share_figures all;
	struct share_job_figures jobs[CLIENTS + PAST_JOBS];
};

/* How far a job is in its own epochs, by the places that it gave back. */
static void share_metrics_progress(const struct share_server *server,
				   const struct client *client, uint64_t released,
				   struct share_job_figures *job)
{
	uint64_t gone = released - client->handles.start, voids = client->voids;

	if (gone >= client->remaining) {
		gone -= client->remaining;
		job->epoch = 1 + gone / share_stream_samples(&server->stream);
		gone %= share_stream_samples(&server->stream);
		voids = 0;
	}
	job->position = gone > voids ? gone - voids : 0;
}

/* The same by its samples alone: where its places lie among those of others, or all of
 * them were given back when it left. Of one that was at another loader before it is not
 * known. */
static void share_metrics_progress_by_samples(const struct share_server *server,
					      const struct client *client,
					      struct share_job_figures *job)
{
	uint64_t all = source_count(client->dataset->source);
	bool known = server->stream.skipped == 0 && client->hello.resumes == 0 &&
		     client->remaining - client->voids == all;

	job->epoch = known ? job->samples / all : SHARE_UNKNOWN;
	job->position = known ? job->samples % all : SHARE_UNKNOWN;
}

/* Samples that are ready for a job. */
static uint64_t share_metrics_lag(const struct share_server *server,
				  const struct client *client, uint64_t taken)
{
	uint64_t published = bcast_published(server->stream.ring), count = 0;

	if (published <= taken || client->state != CLIENT_READING)
		return 0;
	if (server->stream.joader == NULL)
		return published - taken;
	for (uint64_t at = taken; at < published; at++) {
		const struct bcast_place *place = bcast_place(server->stream.ring, at);

		count += place != NULL && (place->readers >> client->slot & 1) != 0;
	}
	return count;
}

static const char *const share_metrics_devices[BCAST_DEVICES] = {
	[BCAST_MAPPING] = "mapping",
	[BCAST_BUFFER] = "buffer",
	[BCAST_MIRROR] = "mirror",
	[BCAST_WRITABLE] = "writable mirror",
};

static void share_metrics_slot_figures(const struct share_server *server,
				       const struct client *client,
				       struct share_job_figures *job)
{
	struct bcast_reader_state slot;

	bcast_reader_state(server->stream.ring, client->slot, &slot);
	job->slot = client->slot;
	job->device = share_metrics_devices[slot.device];
	if (slot.taken > slot.released) /* it may close just now */
		job->held_samples = slot.taken - slot.released;
	job->lag_samples = share_metrics_lag(server, client, slot.taken);
	job->lag_batches = job->lag_samples / client->hello.batch;
	job->batches = slot.batches;
	job->samples = slot.samples;
	if (server->stream.joader != NULL)
		share_metrics_progress_by_samples(server, client, job);
	else
		share_metrics_progress(server, client, slot.released, job);
	job->bytes = slot.samples * prep_sample_bytes(server->parts.prep);
	job->waits = slot.waits;
	job->waited_ns = slot.waited_ns;
}

static void share_metrics_job_figures(const struct share_server *server,
				      const struct client *client, uint64_t now,
				      struct share_job_figures *job)
{
	static const enum share_job_state states[] = {
		[CLIENT_WAITING] = SHARE_JOB_WAITING,
		[CLIENT_READING] = SHARE_JOB_READING,
		[CLIENT_DROPPED] = SHARE_JOB_DROPPED,
	};

	*job = (struct share_job_figures){
		.job = client->name,
		.state = client->blocks ? SHARE_JOB_BEHIND : states[client->state],
		.pid = (uint64_t)client->pid,
		.slot = SHARE_UNKNOWN,
		.batch = client->hello.batch,
		.age_ns = now - client->since_ns,
	};
	if (client->attached)
		share_metrics_slot_figures(server, client, job);
}

const struct share_job_figures *share_metrics_keep(struct share_server *server,
						   const struct client *client)
{
	struct past_job *past =
		&server->metrics.past[server->metrics.past_count++ % PAST_JOBS];

	share_metrics_job_figures(server, client, clock_now(), &past->figures);
	share_metrics_progress_by_samples(server, client, &past->figures);
	memcpy(past->name, client->name, sizeof(past->name));
	past->figures.job = past->name;
	past->figures.state = SHARE_JOB_LEFT;
	past->figures.slot = SHARE_UNKNOWN; /* somebody else's from now on */
	past->figures.lag_samples = past->figures.lag_batches = SHARE_UNKNOWN;
	past->figures.held_samples = SHARE_UNKNOWN;
	return &past->figures;
}

static void share_metrics_fill_gone(struct collected *metrics)
{
	const struct share_server *server = metrics->server;
	uint64_t count = server->metrics.past_count,
		 i = count > PAST_JOBS ? count - PAST_JOBS : 0;

	for (; i < count; i++)
		metrics->jobs[metrics->all.job_count++] =
			server->metrics.past[i % PAST_JOBS].figures;
}

static void share_metrics_fill_jobs(struct collected *metrics, uint64_t now)
{
	const struct share_server *server = metrics->server;

	for (unsigned i = 0; i < CLIENTS; i++) {
		const struct client *client = server->clients.at[i];

		if (client == NULL || client->state == CLIENT_PENDING)
			continue;
		share_metrics_job_figures(server, client, now,
					  &metrics->jobs[metrics->all.job_count]);
		metrics->all.job_count++;
	}
	metrics->all.jobs = metrics->jobs;
}

static const char *share_metrics_mode_name(enum share_mode mode)
{
	static const char *const names[] = {[SHARE_LOCKSTEP] = "lockstep",
					    [SHARE_FREE] = "free",
					    [SHARE_JOADER] = "joader"};

	return names[mode];
}

/* Since the first batch was wanted. */
static uint64_t share_metrics_mean_rate(const struct share_stream *stream, uint64_t now)
{
	if (stream->ring == NULL || !stream->begun || now <= stream->begun_ns)
		return SHARE_UNKNOWN;
	return (uint64_t)((double)bcast_published(stream->ring) * 1e12 /
			  (double)(now - stream->begun_ns));
}

/* Of late; until that is known, which takes two ticks, from the beginning on. Without
 * readers there is no tick that would update it. */
static uint64_t share_metrics_rate(const struct share_server *server, uint64_t now)
{
	if (server->metrics.rated_ns == 0 || server->metrics.rate == SHARE_UNKNOWN)
		return share_metrics_mean_rate(&server->stream, now);
	return now - server->metrics.rated_ns < UINT64_C(3000000000)
		       ? server->metrics.rate
		       : 0;
}

static uint64_t share_metrics_counter(const struct share_server *server,
				      enum trace_counter which)
{
	return session_join_counter(&server->session, which);
}

static void share_metrics_fill_constant(struct collected *metrics)
{
	const struct share_server *server = metrics->server;
	struct share_figures *all = &metrics->all;

	for (unsigned i = 0; i < server->datasets.count; i++)
		metrics->datasets[i] = server->datasets.at[i].name;
	all->mode = share_metrics_mode_name(server->config.mode);
	all->socket = server->listener.address.sun_path;
	all->datasets = metrics->datasets;
	all->pid = (uint64_t)getpid();
	all->generation = server->generation;
	all->dataset_samples = share_stream_samples(&server->stream);
	all->dataset_bytes = source_facts(server->parts.source)->bytes;
	all->drop_after_ns =
		server->config.drop_ns > 0 ? server->config.drop_ns : SHARE_UNKNOWN;
	all->workers = server->options.workers;
	if (server->gpu != NULL)
		snprintf(metrics->device, sizeof(metrics->device), "%s",
			 gpu_facts(server->gpu).name);
	all->device = server->gpu != NULL ? metrics->device : NULL;
	all->device_bytes = server->gpu != NULL
				    ? share_metrics_counter(server, TRACE_device_bytes)
				    : SHARE_UNKNOWN;
}

static void share_metrics_fill_counts(struct collected *metrics, uint64_t now)
{
	const struct share_server *server = metrics->server;
	struct share_figures *all = &metrics->all;
	struct cache_stats cache;

	cache_stats(server->parts.cache, &cache);
	all->uptime_ns = now - server->opened_ns;
	all->samples_per_1000s = share_metrics_rate(server, now);
	all->skipped = server->stream.skipped;
	all->hits = cache.hits;
	all->misses = cache.misses;
	all->fetched_bytes = share_metrics_counter(server, TRACE_fetched_bytes);
	all->full_ns = server->metrics.full_ns;
	all->came = server->clients.came;
	all->left = server->clients.left;
	all->dropped = server->clients.dropped;
	all->refused = server->clients.unfit;
	for (int i = 0; i < REFUSALS; i++)
		all->refused += server->clients.refused[i].all;
}

/* With the lock. */
static void share_metrics_fill_stream(struct collected *metrics)
{
	const struct share_stream *stream = &metrics->server->stream;
	struct share_figures *all = &metrics->all;

	all->memory_bytes = bcast_bytes(stream->ring);
	all->sample_bytes = prep_sample_bytes(stream->parts->prep);
	all->window = bcast_places(stream->ring);
	all->lap = stream->next.pass;
	all->parts = stream->shared != NULL ? shared_epoch_parts(stream->shared)
					    : SHARE_UNKNOWN;
	all->samples = bcast_published(stream->ring);
	share_metrics_fill_gone(metrics);
	share_metrics_fill_jobs(metrics, clock_now());
}

/* Before there is a stream there were no jobs. */
static void share_metrics_read(struct share_server *server, struct collected *metrics)
{
	*metrics = (struct collected){
		.server = server,
		.all = {.memory_bytes = SHARE_UNKNOWN,
			.sample_bytes = SHARE_UNKNOWN,
			.window = SHARE_UNKNOWN,
			.lap = SHARE_UNKNOWN,
			.parts = SHARE_UNKNOWN},
	};
	share_metrics_fill_constant(metrics);
	share_metrics_fill_counts(metrics, clock_now());
	if (server->stream.pipeline == NULL)
		return;
	share_stream_lock(&server->stream);
	share_metrics_fill_stream(metrics);
	share_stream_unlock(&server->stream);
	metrics->all.prep_cpu_ns = pipeline_prep_cpu(server->stream.pipeline);
}

int share_metrics_json(struct share_server *server, char **text)
{
	struct collected metrics;

	share_metrics_read(server, &metrics);
	return share_status_json(&metrics.all, text);
}

int share_metrics_http(struct share_server *server, const char *request, char **answer,
		       size_t *bytes)
{
	struct collected metrics;

	share_metrics_read(server, &metrics);
	return share_status_http(&metrics.all, request, answer, bytes);
}

int share_server_status(struct share_server *server, char **json, struct error *err)
{
	int result;

	if (server->metrics.last == NULL) {
		result = share_metrics_json(server, json);
	} else {
		*json = strdup(server->metrics.last);
		result = *json != NULL ? 0 : -ENOMEM;
	}
	return result == 0 ? 0 : error_sys(err, -result, "cannot report the status");
}
