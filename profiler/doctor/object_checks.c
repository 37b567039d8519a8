/* object_checks.c - the checks of a data set that a server has: asks it for objects. */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/base/name.h"
#include "loader/net.h"
#include "loader/source.h"
#include "profiler/doctor/check.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { AT_ONCE = 8, PATIENCE_S = 10, MOST_SKEW_S = 300 };

/* Requests under way, and what came of those before. */
struct probes {
	const struct source *source;
	struct check_objects *objects;
	struct net *net;
	unsigned next, out;
	uint64_t began, bytes;
	struct probe {
		struct net_get get; /* first: probe_done() gets it */
		struct probes *all;
		uint64_t began;
		unsigned char *body;
		char path[PATH_MAX];
	} probe[AT_ONCE];
};

static const char scheme[] = "s3://";

bool doctor_is_remote(const char *dataset)
{
	return strncmp(dataset, scheme, strlen(scheme)) == 0 ||
	       strncmp(dataset, "http://", 7) == 0 ||
	       strncmp(dataset, "https://", 8) == 0;
}

/* This clock less the server's, as an answer told it; NAN: none did. */
static double probe_skew_s(const struct net_get *get)
{
	return get->date_s > 0 ? (double)time(NULL) - (double)get->date_s : NAN;
}

static void probe_done(struct net_get *get, int result);

/* Spread evenly over the data set. */
static void probe_next(struct probes *all, struct probe *probe)
{
	uint32_t count = source_count(all->source);
	unsigned most = count < CHECK_OBJECTS ? count : CHECK_OBJECTS;
	struct source_place place;

	if (all->next == most)
		return;
	source_place(all->source, (uint32_t)((uint64_t)all->next++ * count / most),
		     probe->path, &place);
	free(probe->body);
	probe->body = malloc((size_t)place.size + 1);
	if (probe->body == NULL || place.size > LIMIT_SAMPLE)
		return;
	probe->all = all;
	probe->began = clock_now();
	probe->get = (struct net_get){
		.remote = place.remote,
		.path = place.object,
		.etag = place.etag,
		.body = probe->body,
		.room = place.size,
		.from = place.offset,
		.part = place.part,
		.exact = true,
		.deadline = probe->began + PATIENCE_S * UINT64_C(1000000000),
		.done = probe_done,
	};
	all->out++;
	net_start(all->net, &probe->get);
}

static void probe_done(struct net_get *get, int result)
{
	struct probe *probe = (struct probe *)get;
	struct probes *all = probe->all;
	struct check_objects *objects = all->objects;

	all->out--;
	objects->retries += get->retries;
	if (result == 0) {
		objects->took_s[objects->answered++] = clock_since(probe->began);
		all->bytes += get->got;
	} else if (objects->failed++ == 0) {
		snprintf(objects->why, sizeof(objects->why), "%.*s", CHECK_LINE - 1,
			 get->error.message);
	}
	if (get->date_s > 0)
		objects->skew_s = probe_skew_s(get);
	probe_next(all, probe);
}

static int probe_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void probes_run(const struct source *source, struct check_objects *objects)
{
	const struct net_config config = {.most = AT_ONCE, .seed = clock_now()};
	struct probes *all = calloc(1, sizeof(*all));

	if (all == NULL)
		return;
	all->source = source;
	all->objects = objects;
	all->net = net_open(&config, NULL);
	all->began = clock_now();
	for (unsigned i = 0; all->net != NULL && i < AT_ONCE; i++)
		probe_next(all, &all->probe[i]);
	while (all->out > 0)
		net_wait(all->net, UINT64_C(1000000000));
	objects->bytes_per_s = (double)all->bytes / clock_since(all->began);
	qsort(objects->took_s, objects->answered, sizeof(*objects->took_s),
	      probe_compare);
	net_close(all->net);
	for (unsigned i = 0; i < AT_ONCE; i++)
		free(all->probe[i].body);
	free(all);
}

static void object_checks_describe(const struct net_remote *remote,
				   struct check_objects *objects)
{
	name_escape(net_remote_url(remote), objects->url, sizeof(objects->url));
	snprintf(objects->credentials, sizeof(objects->credentials), "%s",
		 net_remote_credentials(remote));
	snprintf(objects->region, sizeof(objects->region), "%s",
		 net_remote_region(remote));
}

static void object_checks_found(const struct source *source,
				struct check_objects *objects)
{
	struct source_place place;
	char path[PATH_MAX];

	source_place(source, 0, path, &place);
	object_checks_describe(place.remote, objects);
	objects->samples = source_count(source);
	objects->age_s = source_facts(source)->listing_age_s;
	probes_run(source, objects);
}

/* ---- a data set that was refused ---- */

struct clock_probe {
	struct net_get get; /* first: clock_done() gets it */
	bool answered;
};

static void clock_done(struct net_get *get, int result)
{
	(void)result;
	((struct clock_probe *)get)->answered = true;
}

/* Any answer tells the server's clock. */
static double object_checks_skew(const struct net_remote *remote)
{
	const struct net_config config = {.most = 1};
	struct net *net = net_open(&config, NULL);
	struct clock_probe probe = {
		.get = {.remote = remote,
			.path = "",
			.head = true,
			.first = true,
			.deadline = clock_now() + PATIENCE_S * UINT64_C(1000000000),
			.done = clock_done}};

	if (net == NULL)
		return NAN;
	net_start(net, &probe.get);
	while (!probe.answered)
		net_wait(net, UINT64_C(1000000000));
	net_close(net);
	return probe_skew_s(&probe.get);
}

static void object_checks_refused(const char *dataset, struct check_objects *objects)
{
	char bucket[CHECK_LINE];
	struct net_remote *remote;

	if (strncmp(dataset, scheme, strlen(scheme)) != 0) {
		remote = net_remote_web(dataset, NULL);
	} else {
		const char *name = dataset + strlen(scheme);

		snprintf(bucket, sizeof(bucket), "%.*s", (int)strcspn(name, "/"), name);
		remote = net_remote_bucket(bucket, NULL);
	}
	if (remote == NULL)
		return;
	object_checks_describe(remote, objects);
	objects->skew_s = object_checks_skew(remote);
	net_remote_close(remote);
}

void check_ask_objects(struct check_subject *subject)
{
	struct check_objects *objects = &subject->objects;
	struct error err = {0};
	const struct source_config config = {.threads = 1};
	struct source *source = source_open(subject->dataset, &config, &err);

	objects->skew_s = NAN;
	if (source == NULL) {
		snprintf(objects->why, sizeof(objects->why), "%.*s", CHECK_LINE - 1,
			 err.message);
		object_checks_refused(subject->dataset, objects);
		return;
	}
	object_checks_found(source, objects);
	source_close(source);
}

void check_remote(struct doctor_line *line, const struct check_subject *subject)
{
	const struct check_objects *objects = &subject->objects;

	if (objects->samples == 0)
		check_report(line, DOCTOR_BROKEN,
			     "see \"Buckets and web servers\" in dsa_loader(3)", "%s",
			     objects->why);
	else
		check_report(line, DOCTOR_OK, NULL, "%u samples, listed %.0f s ago",
			     objects->samples, objects->age_s);
}

void check_endpoint(struct doctor_line *line, const struct check_subject *subject)
{
	const struct check_objects *objects = &subject->objects;

	if (objects->url[0] != '\0')
		check_report(line, DOCTOR_OK, NULL, "%s%s%s", objects->url,
			     objects->region[0] != '\0' ? ", region " : "",
			     objects->region);
}

void check_credentials(struct doctor_line *line, const struct check_subject *subject)
{
	if (subject->objects.url[0] != '\0')
		check_report(line, DOCTOR_OK, NULL, "%s", subject->objects.credentials);
}

void check_server_clock(struct doctor_line *line, const struct check_subject *subject)
{
	double skew_s = subject->objects.skew_s;

	if (isnan(skew_s))
		return;
	check_report(line, fabs(skew_s) > MOST_SKEW_S ? DOCTOR_LIMITED : DOCTOR_OK,
		     "set this machine's clock: signatures are refused from 15 min on",
		     "this machine's is %.0f s %s the server's", fabs(skew_s),
		     skew_s >= 0 ? "ahead of" : "behind");
}

void check_requests(struct doctor_line *line, const struct check_subject *subject)
{
	const struct check_objects *objects = &subject->objects;
	unsigned count = objects->answered;

	if (objects->samples == 0)
		return;
	if (count == 0 || objects->failed > 0)
		check_report(line, count == 0 ? DOCTOR_BROKEN : DOCTOR_LIMITED,
			     "mend what the server says of it, or leave them out",
			     "%u of %u objects can't be read: %.120s", objects->failed,
			     objects->failed + count, objects->why);
	else
		check_report(line, DOCTOR_OK, NULL,
			     "p50 %.1f ms, p99 %.1f ms a GET, %.1f MB/s with %d at "
			     "once; %u of %u sent again",
			     1e3 * objects->took_s[count / 2],
			     1e3 * objects->took_s[count * 99 / 100],
			     1e-6 * objects->bytes_per_s, AT_ONCE, objects->retries,
			     count);
}
