/* server.c - one loader for many jobs: opens the parts, waits for what happens, ends. */
#include "loader/base/clock.h"
#include "loader/base/random.h"
#include "loader/driver.h"
#include "loader/share/server/server_state.h"
#include "loader/source.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

enum { WINDOW_MOST = 4096, EVENTS = 64 };

uint32_t server_samples(const struct share_server *server)
{
	return source_count(server->parts.source);
}

uint64_t server_end_epoch(const struct share_server *server)
{
	return server->options.epochs > 0 ? server->options.epochs : UINT64_MAX;
}

void server_log(const struct share_server *server, const char *format, ...)
{
	char line[512];
	va_list arguments;

	if (server->config.log == NULL)
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	server->config.log(server->config.context, line);
}

void server_locked(struct share_server *server,
		   void (*call)(void *context, const struct pipeline_point *next),
		   void *context)
{
	if (server->pipeline != NULL)
		pipeline_at(server->pipeline, call, context);
}

/* ---- events ---- */

static uint64_t event_word(enum event event, const struct client *client)
{
	uint64_t word = (uint64_t)event << 56;

	if (client != NULL)
		word |= (uint64_t)client->at << 48 | (client->serial & 0xffffffffffff);
	return word;
}

int server_watch(struct share_server *server, int fd, enum event event,
		 const struct client *client)
{
	struct epoll_event wanted = {.events = EPOLLIN,
				     .data.u64 = event_word(event, client)};

	return epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &wanted) == 0 ? 0 : -errno;
}

static void server_drain(int fd)
{
	uint64_t count;

	(void)!read(fd, &count, sizeof(count)); /* 0 of it is as good */
}

static void handle_client(struct share_server *server, enum event event,
			  struct client *client)
{
	switch (event) {
	case EVENT_PEER:
		client_receive(server, client);
		break;
	case EVENT_DEATH:
		client_end(server, client,
			   client->attached ? "ended without leaving" : NULL);
		break;
	case EVENT_ROOM:
		server_drain(client->handles.event);
		server->released = true;
		break;
	default:
		break;
	}
}

static void server_handle(struct share_server *server, uint64_t word)
{
	enum event event = (enum event)(word >> 56);
	struct client *client;

	switch (event) {
	case EVENT_CONNECT:
		client_connect(server);
		break;
	case EVENT_STOP:
		server->done = true;
		break;
	case EVENT_NOTIFY:
		server_drain(server->notify);
		join_ready(server);
		policy_end(server, clock_now());
		break;
	default:
		client = client_find(server, word >> 48 & 0xff, word & 0xffffffffffff);
		if (client != NULL)
			handle_client(server, event, client);
	}
}

static int wait_for_events(struct share_server *server, struct epoll_event *events)
{
	uint64_t interval = policy_interval(server), now = clock_now(), wait;
	int timeout = -1;

	if (interval != 0) {
		wait = now - server->watched_ns < interval
			       ? interval - (now - server->watched_ns)
			       : 0;
		timeout = (int)((wait + 999999) / 1000000);
	}
	return epoll_wait(server->epoll, events, EVENTS, timeout);
}

/* Who is at the door may still come in. */
static bool all_left(const struct share_server *server)
{
	bool came = server->came > 0 || server->driver != NULL;

	return came && !server->profiling && server->attached == 0 &&
	       server->pending == 0;
}

static void server_turn(struct share_server *server)
{
	struct epoll_event events[EVENTS];
	int count = wait_for_events(server, events);
	uint64_t interval, now;

	for (int i = 0; i < count; i++)
		server_handle(server, events[i].data.u64);
	interval = policy_interval(server);
	now = clock_now();
	if (interval != 0 && now - server->watched_ns >= interval)
		policy_tick(server, now);
	if (server->released)
		pipeline_released(server->pipeline);
	server->released = false;
	if (server->config.leave && all_left(server))
		server->done = true;
}

/* ---- the stream ---- */

static void note_skip(void *context, uint32_t sample, int code, const char *reason)
{
	struct share_server *server = context;
	struct skip_line *skip;

	server->skipped++;
	if (server->session.trace != NULL)
		driver_skip(server->session.trace, server->parts.source, sample, code,
			    reason);
	if (server->skip_count == SKIPS_LOGGED) {
		server->skips_unlogged++;
		return;
	}
	skip = &server->skips[server->skip_count++];
	source_name(server->parts.source, sample, skip->name, sizeof(skip->name));
	snprintf(skip->reason, sizeof(skip->reason), "%s", reason);
}

static uint32_t server_slots(const struct share_server *server)
{
	return server->options.prefetch < server->config.window
		       ? server->options.prefetch
		       : server->config.window;
}

static int open_ring(struct share_server *server, struct error *err)
{
	const struct bcast_config config = {
		.places = server->config.window * server->options.batch,
		.slots = server_slots(server),
		.batch = server->options.batch,
		.sample_bytes = prep_sample_bytes(server->parts.prep),
		.audit = server->config.audit != NULL,
	};

	server->ring = bcast_open(&config, err);
	return server->ring != NULL ? 0 : -err->code;
}

static int server_open_pipeline(struct share_server *server, struct error *err)
{
	const struct pipeline_parts parts = {
		.options = &server->options,
		.source = server->parts.source,
		.cache = server->parts.cache,
		.prep = server->parts.prep,
		.plan = server->scheduler->plan(server),
		.sink = &server->hook.base,
		.slots = server_slots(server),
		.throttle = server->parts.throttle,
		.process = server->session.process,
	};

	server->pipeline = pipeline_open(&parts, err);
	if (server->pipeline == NULL)
		return -err->code;
	pipeline_on_skip(server->pipeline, note_skip, server);
	return 0;
}

static int server_open_stream(struct share_server *server, struct error *err)
{
	int result = server->scheduler->open(server, err);

	if (result == 0)
		result = open_ring(server, err);
	if (result < 0)
		return result;
	publish_hook_open(&server->hook, server);
	return server_open_pipeline(server, err);
}

static void server_close_stream(struct share_server *server)
{
	pipeline_close(server->pipeline);
	bcast_close(server->ring);
	if (server->scheduler != NULL)
		server->scheduler->close(server);
	server->pipeline = NULL;
	server->ring = NULL;
}

void server_begin(struct share_server *server)
{
	const struct pipeline_turn stream = {.ops = &turn_stream};

	if (server->begun || server->attached == 0)
		return;
	server->begun = true;
	if (!profiled_is(server))
		pipeline_start(server->pipeline, &stream);
}

static void server_finish(struct share_server *server, int code, const char *why)
{
	if (server->ended || server->ring == NULL)
		return;
	server->ended = true;
	server->progress_ns = clock_now();
	bcast_end(server->ring, code, why);
}

void server_end(struct share_server *server)
{
	server_finish(server, 0, "");
}

void server_fail(struct share_server *server, const struct error *err)
{
	server->failure = *err;
	server->result = -err->code;
	server_finish(server, err->code, err->message);
}

/* ---- opening ---- */

static int server_check_config(const struct share_config *config,
			       const struct options *options, struct error *err)
{
	if (options->world != 1)
		return error_set(err, EINVAL,
				 "a shared loader is not sharded: world is 1, not %u",
				 options->world);
	if (options->start_epoch != 0 || options->start_step != 0)
		return error_set(err, EINVAL,
				 "a shared loader begins with the first epoch: no "
				 "start_epoch, start_step");
	if (config->window < 3 || config->window > WINDOW_MOST)
		return error_set(err, EINVAL, "window is 3 to %d batches, not %u",
				 WINDOW_MOST, config->window);
	if ((uint64_t)config->window * options->batch > UINT32_MAX / 2)
		return error_set(err, EINVAL,
				 "a window of %u batches of %u is too large",
				 config->window, options->batch);
	if (config->decoded && strcmp(options->prep, "image") != 0)
		return error_set(err, EINVAL, "prep=%s has no decoded pictures",
				 options->prep);
	if (config->jobs < 1 || config->jobs > BCAST_READERS)
		return error_set(err, EINVAL, "jobs are 1 to %d, not %u", BCAST_READERS,
				 config->jobs);
	return 0;
}

static int server_resolve(struct share_server *server, struct error *err)
{
	struct share_config *config = &server->config;
	struct options *options = &server->options;
	int result = options_resolve(options, config->loader, config->settings, err);

	if (result < 0)
		return result;
	config->window = config->window > 0 ? config->window : SHARE_WINDOW;
	config->jobs = config->jobs > 0 ? config->jobs : 1;
	config->takeover_s = config->takeover_s > 0 ? config->takeover_s : 10;
	options->drop_last = false; /* each job cuts its own batches */
	server->scheduler =
		config->mode == SHARE_JOADER ? &scheduler_joader : &scheduler_epoch;
	result = server_check_config(config, options, err);
	if (result == 0)
		result = server->scheduler->check(server, err);
	if (config->decoded) /* options.image.op points there */
		strcpy(options->prep, "decoded");
	prep_output(&options->image, server->output);
	return result;
}

static int open_events(struct share_server *server, struct error *err)
{
	server->epoll = epoll_create1(EPOLL_CLOEXEC);
	server->notify = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	server->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->epoll < 0 || server->notify < 0 || server->stop < 0 ||
	    server_watch(server, server->notify, EVENT_NOTIFY, NULL) < 0 ||
	    server_watch(server, server->stop, EVENT_STOP, NULL) < 0)
		return error_sys(err, errno, "cannot open the shared loader");
	return 0;
}

static int open_data(struct share_server *server, struct error *err)
{
	struct source *source = NULL;
	int result = datasets_source(server, &source, err);

	if (result == 0)
		result = components_open(&server->parts, &server->options, source, err);
	if (result == 0)
		result = datasets_open(server, err);
	if (result < 0)
		return result;
	server->digest = source_digest(server->parts.source);
	return 0;
}

/* Once the socket is ours: another loader may be writing to that file. */
static int server_open_audit(struct share_server *server, struct error *err)
{
	if (server->config.audit == NULL)
		return 0;
	server->audit = audit_open(server->config.audit, server_samples(server), err);
	return server->audit != NULL ? 0 : -err->code;
}

static void draw_generation(struct share_server *server)
{
	if (getrandom(&server->generation, sizeof(server->generation), GRND_NONBLOCK) !=
	    sizeof(server->generation))
		server->generation =
			random_seed(clock_now(), (uint64_t)getpid(), server->digest);
	server->generation |= 1; /* 0 is nobody's */
}

static int open_all(struct share_server *server, struct error *err)
{
	int result = server_resolve(server, err);

	if (result == 0)
		result = open_events(server, err);
	if (result == 0)
		result = session_join_open(&server->session, err);
	if (result == 0)
		result = open_data(server, err);
	if (result < 0)
		return result;
	draw_generation(server);
	result = server_open_stream(server, err);
	if (result == 0)
		result = listener_open(&server->listener, server->config.socket, err);
	if (result == 0)
		result = server_watch(server, server->listener.fd, EVENT_CONNECT, NULL);
	if (result == 0)
		result = server_open_audit(server, err);
	if (result == 0)
		result = profiled_open(server, err);
	return result;
}

struct share_server *share_server_open(const struct share_config *config,
				       struct error *err)
{
	struct share_server *server = calloc(1, sizeof(*server));

	if (server == NULL) {
		error_sys(err, ENOMEM, "cannot open the shared loader");
		return NULL;
	}
	server->config = *config;
	server->epoll = server->notify = server->stop = -1;
	server->listener.fd = server->listener.spare = -1;
	server->opened_ns = clock_now();
	if (open_all(server, err) < 0) {
		share_server_close(server);
		return NULL;
	}
	if (config->takeover)
		server->await_until_ns =
			server->opened_ns + (uint64_t)(server->config.takeover_s * 1e9);
	return server;
}

/* ---- running ---- */

/* The verdict is part of what running came to. */
static void close_audit(struct share_server *server)
{
	struct error err = {0};
	int result;

	if (server->audit == NULL)
		return;
	policy_audit(server);
	for (unsigned i = 0; i < CLIENTS; i++)
		if (server->clients[i] != NULL)
			server->clients[i]->audit = NULL; /* ends with the audit */
	share_metrics_json(server, &server->last);
	server_close_stream(server); /* its notes come from there */
	result = audit_close(server->audit, &err);
	server->audit = NULL;
	if (result < 0 && server->result == 0) {
		server->result = result;
		server->failure = err;
	}
}

/* The data did not end by itself; but a run's jobs end with it. */
static void server_stop(struct share_server *server)
{
	if (!profiled_over(server) && !server->ended && server->ring != NULL) {
		server->ended = true;
		bcast_stop(server->ring);
	}
	server_end(server);
}

int share_server_run(struct share_server *server, struct error *err)
{
	while (!server->done)
		server_turn(server);
	profiled_close(server);
	server_stop(server);
	policy_log(server, clock_now());
	close_audit(server);
	if (server->result < 0)
		*err = server->failure;
	return server->result;
}

void share_server_stop(struct share_server *server)
{
	uint64_t one = 1;

	(void)!write(server->stop, &one, sizeof(one)); /* full: it is told already */
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void share_server_close(struct share_server *server)
{
	if (server == NULL)
		return;
	profiled_close(server);
	listener_close(&server->listener);
	for (unsigned i = 0; i < CLIENTS; i++)
		if (server->clients[i] != NULL)
			client_end(server, server->clients[i], NULL);
	server_close_stream(server);
	audit_close(server->audit, NULL);
	datasets_close(server);
	components_close(&server->parts);
	session_join_close(&server->session);
	free(server->last);
	close_fd(server->stop);
	close_fd(server->notify);
	close_fd(server->epoll);
	free(server);
}
