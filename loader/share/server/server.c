/* server.c - one loader for many jobs: opens the parts, waits for events, ends. */
#include "loader/base/clock.h"
#include "loader/base/random.h"
#include "loader/driver.h"
#include "loader/gpu.h"
#include "loader/share/server/server_state.h"
#include "loader/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

enum { EVENTS = 64 };

/* ---- events ---- */

static void server_handle(struct share_server *server, uint64_t word)
{
	enum event event = (enum event)(word >> 56);
	struct client *client =
		client_find(&server->clients, word >> 48 & 0xff, word & 0xffffffffffff);

	if (event >= EVENT_PEER && client == NULL)
		return; /* it is gone */
	switch (event) {
	case EVENT_CONNECT:
		client_connect(server);
		break;
	case EVENT_STOP:
		server->done = true;
		break;
	case EVENT_NOTIFY:
		reactor_drain(server->reactor.notify);
		server->released = true; /* a place may have come to the mirror */
		join_ready(server);
		policy_end(server, clock_now());
		break;
	case EVENT_PEER:
		client_receive(server, client);
		break;
	case EVENT_DEATH:
		client_end(server, client,
			   client->attached ? "ended without leaving" : NULL);
		break;
	case EVENT_ROOM:
		reactor_drain(client->handles.event);
		server->released = true;
		break;
	}
}

static int server_wait_for_events(struct share_server *server,
				  struct epoll_event *events)
{
	uint64_t interval = policy_interval(server), now = clock_now(), wait;
	int timeout = -1;

	if (interval != 0) {
		wait = now - server->watched_ns < interval
			       ? interval - (now - server->watched_ns)
			       : 0;
		timeout = (int)((wait + 999999) / 1000000);
	}
	return reactor_wait(&server->reactor, events, EVENTS, timeout);
}

/* A connection without a slot may still attach. */
static bool server_all_left(const struct share_server *server)
{
	bool came = server->clients.came > 0 || server->profiled.windows != NULL;

	return came && !server->profiled.on && server->clients.attached == 0 &&
	       server->clients.pending == 0;
}

static void server_turn(struct share_server *server)
{
	struct epoll_event events[EVENTS];
	int count = server_wait_for_events(server, events);
	uint64_t interval, now;

	for (int i = 0; i < count; i++)
		server_handle(server, events[i].data.u64);
	interval = policy_interval(server);
	now = clock_now();
	if (interval != 0 && now - server->watched_ns >= interval)
		policy_tick(server, now);
	if (server->released && server->stream.pipeline != NULL)
		pipeline_released(server->stream.pipeline);
	server->released = false;
	if (server->config.leave && server_all_left(server))
		server->done = true;
}

/* ---- opening ---- */

static int server_open_data(struct share_server *server, struct error *err)
{
	struct source *source = NULL;
	int result = datasets_source(server, &source, err);

	if (result == 0)
		result = components_open(&server->parts, &server->options, source, err);
	return result < 0 ? result : datasets_open(server, err);
}

/* Once the socket is ours: another loader may be writing to that file. */
static int server_open_audit(struct share_server *server, struct error *err)
{
	if (server->config.audit == NULL)
		return 0;
	server->stream.audit = audit_open(server->config.audit,
					  share_stream_samples(&server->stream), err);
	return server->stream.audit != NULL ? 0 : -err->code;
}

static void server_draw_generation(struct share_server *server)
{
	if (getrandom(&server->generation, sizeof(server->generation), GRND_NONBLOCK) !=
	    sizeof(server->generation))
		server->generation =
			random_seed(clock_now(), (uint64_t)getpid(),
				    source_facts(server->parts.source)->digest);
	server->generation |= 1; /* 0 is nobody's */
}

static int server_open_gpu(struct share_server *server, struct error *err)
{
	const struct gpu_config config = {
		.ordinal = server->options.device,
		.batch = 1,
		.slots = 1,
		.process = server->session.process,
	};

	if (!server->options.on_device)
		return 0;
	server->gpu = server->stream.gpu = gpu_open(&config, err);
	return server->gpu != NULL ? 0 : -err->code;
}

static int server_open_all(struct share_server *server, struct error *err)
{
	int result = recipe_resolve(server, err);

	if (result == 0)
		result = reactor_open(&server->reactor, err);
	if (result == 0)
		result = session_join_open(&server->session, &server->options, err);
	if (result == 0)
		result = server_open_gpu(server, err);
	if (result == 0)
		result = server_open_data(server, err);
	if (result < 0)
		return result;
	server_draw_generation(server);
	if (!server->config.follow || profiled_is(server))
		result = share_stream_open(&server->stream, err);
	if (result == 0)
		result = listener_open(&server->listener, server->config.socket, err);
	if (result == 0)
		result = reactor_watch(&server->reactor, server->listener.fd,
				       EVENT_CONNECT, 0);
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

	if (server == NULL)
		return error_null(
			error_sys(err, ENOMEM, "cannot open the shared loader"));
	server->config = *config;
	server->stream.config = &server->config;
	server->stream.options = &server->options;
	server->stream.parts = &server->parts;
	server->stream.session = &server->session;
	server->stream.reactor = &server->reactor;
	server->reactor = (struct reactor){-1, -1, -1};
	server->listener.fd = server->listener.spare = -1;
	server->opened_ns = clock_now();
	if (server_open_all(server, err) < 0) {
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
static void server_close_audit(struct share_server *server)
{
	struct error err = {0};
	int result;

	if (server->stream.audit == NULL)
		return;
	policy_audit(server);
	for (unsigned i = 0; i < CLIENTS; i++)
		if (server->clients.at[i] != NULL)
			server->clients.at[i]->audit = NULL; /* ends with the audit */
	share_metrics_json(server, &server->metrics.last);
	share_stream_close(&server->stream); /* its notes come from there */
	result = audit_close(server->stream.audit, &err);
	server->stream.audit = NULL;
	if (result < 0 && server->result == 0) {
		server->result = result;
		server->failure = err;
	}
}

int share_server_run(struct share_server *server, struct error *err)
{
	while (!server->done)
		server_turn(server);
	profiled_close(server);
	if (!profiled_over(server)) /* a run's jobs end with it */
		share_stream_stop(&server->stream);
	share_stream_end(&server->stream, 0, "");
	policy_log(server, clock_now());
	server_close_audit(server);
	if (server->result < 0)
		*err = server->failure;
	return server->result;
}

void share_server_stop(struct share_server *server)
{
	reactor_stop(&server->reactor);
}

void share_server_close(struct share_server *server)
{
	if (server == NULL)
		return;
	profiled_close(server);
	listener_close(&server->listener);
	for (unsigned i = 0; i < CLIENTS; i++)
		if (server->clients.at[i] != NULL)
			client_end(server, server->clients.at[i], NULL);
	share_stream_close(&server->stream);
	gpu_close(server->gpu);
	audit_close(server->stream.audit, NULL);
	datasets_close(&server->datasets);
	components_close(&server->parts);
	session_join_close(&server->session);
	reactor_close(&server->reactor);
	free(server->metrics.last);
	free(server);
}
