/* gauges.c - what the server does, in figures. */
#include "loader/base/clock.h"
#include "loader/base/trace.h"
#include "loader/cache.h"
#include "loader/prep.h"
#include "loader/share/server/server_state.h"
#include "loader/share/wire/status.h"
#include "loader/source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct gauges {
	struct share_server *server;
	const char *datasets[SHARE_DATASETS + 1];
	struct share_figures all;
	struct share_job_figures jobs[MEMBERS + GONE];
};

/* How far a job is in its own epochs, by the places that it gave back. */
static void gauges_progress(const struct share_server *server,
			    const struct member *member, uint64_t released,
			    struct share_job_figures *job)
{
	uint64_t gone = released - member->chair.start, voids = member->voids;

	if (gone >= member->remaining) {
		gone -= member->remaining;
		job->epoch = 1 + gone / server_samples(server);
		gone %= server_samples(server);
		voids = 0;
	}
	job->position = gone > voids ? gone - voids : 0;
}

/* The same by its samples alone: where its places lie among those of others, or all of
 * them were given back when it left. */
static void progress_by_samples(const struct share_server *server,
				const struct member *member,
				struct share_job_figures *job)
{
	uint64_t all = source_count(member->offer->source);
	bool known = server->skipped == 0 && member->remaining - member->voids == all;

	job->epoch = known ? job->samples / all : SHARE_UNKNOWN;
	job->position = known ? job->samples % all : SHARE_UNKNOWN;
}

/* Samples that are ready for a job. */
static uint64_t gauges_lag(const struct share_server *server,
			   const struct member *member, uint64_t taken)
{
	uint64_t published = feed_published(server->feed), count = 0;

	if (published <= taken || member->state != MEMBER_READING)
		return 0;
	if (server->joader == NULL)
		return published - taken;
	for (uint64_t at = taken; at < published; at++) {
		const struct feed_place *place = feed_place(server->feed, at);

		count += place != NULL && (place->seats >> member->seat & 1) != 0;
	}
	return count;
}

static void seat_figures(const struct share_server *server, const struct member *member,
			 struct share_job_figures *job)
{
	struct feed_seat_state seat;

	feed_seat_state(server->feed, member->seat, &seat);
	job->seat = member->seat;
	job->held_samples = seat.taken - seat.released;
	job->lag_samples = gauges_lag(server, member, seat.taken);
	job->lag_batches = job->lag_samples / member->hello.batch;
	job->batches = seat.batches;
	job->samples = seat.samples;
	if (server->joader != NULL)
		progress_by_samples(server, member, job);
	else
		gauges_progress(server, member, seat.released, job);
	job->bytes = seat.samples * prep_sample_bytes(server->parts.prep);
	job->waits = seat.waits;
	job->waited_ns = seat.waited_ns;
}

static void job_figures(const struct share_server *server, const struct member *member,
			uint64_t now, struct share_job_figures *job)
{
	static const enum share_job_state states[] = {
		[MEMBER_WAITING] = SHARE_JOB_WAITING,
		[MEMBER_READING] = SHARE_JOB_READING,
		[MEMBER_DROPPED] = SHARE_JOB_DROPPED,
	};

	*job = (struct share_job_figures){
		.job = member->name,
		.state = member->blocks ? SHARE_JOB_BEHIND : states[member->state],
		.pid = (uint64_t)member->pid,
		.seat = SHARE_UNKNOWN,
		.batch = member->hello.batch,
		.age_ns = now - member->since_ns,
	};
	if (member->sat)
		seat_figures(server, member, job);
}

const struct share_job_figures *gauges_keep(struct share_server *server,
					    const struct member *member)
{
	struct gone *gone = &server->gone[server->gone_count++ % GONE];

	job_figures(server, member, clock_now(), &gone->figures);
	progress_by_samples(server, member, &gone->figures);
	memcpy(gone->name, member->name, sizeof(gone->name));
	gone->figures.job = gone->name;
	gone->figures.state = SHARE_JOB_LEFT;
	gone->figures.seat = SHARE_UNKNOWN; /* somebody else's from now on */
	gone->figures.lag_samples = gone->figures.lag_batches = SHARE_UNKNOWN;
	gone->figures.held_samples = SHARE_UNKNOWN;
	return &gone->figures;
}

static void fill_gone(struct gauges *gauges)
{
	const struct share_server *server = gauges->server;
	uint64_t count = server->gone_count, i = count > GONE ? count - GONE : 0;

	for (; i < count; i++)
		gauges->jobs[gauges->all.job_count++] = server->gone[i % GONE].figures;
}

static void fill_jobs(struct gauges *gauges, uint64_t now)
{
	const struct share_server *server = gauges->server;

	for (unsigned i = 0; i < MEMBERS; i++) {
		const struct member *member = server->members[i];

		if (member == NULL || member->state == MEMBER_GUEST ||
		    member->state == MEMBER_GHOST)
			continue;
		job_figures(server, member, now, &gauges->jobs[gauges->all.job_count]);
		gauges->all.job_count++;
	}
	gauges->all.jobs = gauges->jobs;
}

static const char *mode_name(enum share_mode mode)
{
	static const char *const names[] = {[SHARE_LOCKSTEP] = "lockstep",
					    [SHARE_FREE] = "free",
					    [SHARE_JOADER] = "joader"};

	return names[mode];
}

/* Where nobody reads no tick comes that would see it stand still. */
static uint64_t gauges_rate(const struct share_server *server, uint64_t now)
{
	if (server->rated_ns == 0)
		return SHARE_UNKNOWN;
	return now - server->rated_ns < UINT64_C(3000000000) ? server->rate : 0;
}

static uint64_t gauges_counter(const struct share_server *server,
			       enum trace_counter which)
{
	return atomic_load_explicit(&server->session.process->counters[which],
				    memory_order_relaxed);
}

static void fill_constant(struct gauges *gauges)
{
	const struct share_server *server = gauges->server;
	struct share_figures *all = &gauges->all;

	for (unsigned i = 0; i < server->offer_count; i++)
		gauges->datasets[i] = server->offers[i].name;
	all->mode = mode_name(server->config.mode);
	all->socket = server->listener.address.sun_path;
	all->datasets = gauges->datasets;
	all->pid = (uint64_t)getpid();
	all->generation = server->generation;
	all->dataset_samples = server_samples(server);
	all->dataset_bytes = source_bytes(server->parts.source);
	all->memory_bytes = feed_bytes(server->feed);
	all->sample_bytes = prep_sample_bytes(server->parts.prep);
	all->window = feed_places(server->feed);
	all->drop_after_ns =
		server->config.drop_ns > 0 ? server->config.drop_ns : SHARE_UNKNOWN;
	all->workers = server->options.workers;
}

static void gauges_fill(void *context, const struct pipeline_point *next)
{
	struct gauges *gauges = context;
	struct share_server *server = gauges->server;
	struct share_figures *all = &gauges->all;
	uint64_t now = clock_now();
	struct cache_stats cache;

	cache_stats(server->parts.cache, &cache);
	fill_constant(gauges);
	all->uptime_ns = now - server->opened_ns;
	all->lap = next->lap;
	all->parts =
		server->course != NULL ? course_parts(server->course) : SHARE_UNKNOWN;
	all->samples = feed_published(server->feed);
	all->samples_per_1000s = gauges_rate(server, now);
	all->skipped = server->skipped;
	all->hits = cache.hits;
	all->misses = cache.misses;
	all->fetched_bytes = gauges_counter(server, TRACE_fetched_bytes);
	all->full_ns = server->full_ns;
	all->came = server->came;
	all->left = server->left;
	all->dropped = server->dropped;
	for (int i = 0; i < REFUSALS; i++)
		all->refused += server->refused[i].all;
	fill_gone(gauges);
	fill_jobs(gauges, now);
}

static int read_gauges(struct share_server *server, struct gauges *gauges)
{
	*gauges = (struct gauges){.server = server};
	if (server->pipeline == NULL) /* taking over failed */
		return -ENODATA;
	server_locked(server, gauges_fill, gauges);
	gauges->all.prep_cpu_ns = pipeline_prep_cpu(server->pipeline);
	return 0;
}

int gauges_json(struct share_server *server, char **text)
{
	struct gauges gauges;
	int result = read_gauges(server, &gauges);

	return result < 0 ? result : share_status_json(&gauges.all, text);
}

int gauges_http(struct share_server *server, const char *request, char **answer,
		size_t *bytes)
{
	struct gauges gauges;
	int result = read_gauges(server, &gauges);

	return result < 0 ? result
			  : share_status_http(&gauges.all, request, answer, bytes);
}

int share_server_status(struct share_server *server, char **json, struct error *err)
{
	int result;

	if (server->feed != NULL) {
		result = gauges_json(server, json);
	} else {
		*json = server->last != NULL ? strdup(server->last) : NULL;
		result = *json != NULL ? 0 : -ENOMEM;
	}
	return result == 0 ? 0 : error_sys(err, -result, "cannot tell how it goes");
}
