/* client.c - a connection: who it is, what it says, how it ends. */
#include "loader/base/clock.h"
#include "loader/share/server/server_state.h"
#include "loader/share/wire/status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* ---- coming ---- */

struct client *client_new(struct share_server *server)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *client;

		if (server->clients[i] != NULL)
			continue;
		client = calloc(1, sizeof(*client));
		if (client == NULL)
			return NULL;
		client->serial = ++server->serial;
		client->at = i;
		client->socket = client->pidfd = client->entry = -1;
		client->since_ns = clock_now();
		protocol_inbox_init(&client->inbox);
		server->clients[i] = client;
		return client;
	}
	return NULL;
}

void client_refuse(struct share_server *server, enum refusal why, pid_t pid)
{
	struct refused *refused = &server->refused[why];

	refused->unlogged++;
	refused->all++;
	refused->pid = pid;
	policy_refused(server, why, clock_now());
}

/* The process at the other end; a descriptor that tells of its death. */
static int open_peer(int socket, struct ucred *peer)
{
	socklen_t bytes = sizeof(*peer);
	int pidfd;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, peer, &bytes) < 0)
		return -errno;
	if (peer->uid != geteuid())
		return -EPERM;
	bytes = sizeof(pidfd);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &bytes) == 0)
		return pidfd;
	pidfd = (int)syscall(SYS_pidfd_open, peer->pid, 0); /* older kernels */
	return pidfd >= 0 ? pidfd : -errno;
}

/* Why nobody is taken in; pidfd: what open_peer() said. */
static enum refusal why_not(int pidfd)
{
	if (pidfd == -EPERM)
		return REFUSED_USER;
	return pidfd == -ESRCH ? REFUSED_GONE : REFUSED_FULL;
}

static void client_take_in(struct share_server *server, int socket)
{
	struct ucred peer = {0};
	int pidfd = open_peer(socket, &peer);
	struct client *client = NULL;

	if (pidfd >= 0 && server->pending < CLIENTS_PENDING)
		client = client_new(server);
	if (client == NULL) {
		close(socket);
		if (pidfd >= 0)
			close(pidfd);
		client_refuse(server, why_not(pidfd), peer.pid);
		return;
	}
	client->socket = socket;
	client->pidfd = pidfd;
	client->pid = peer.pid;
	server->pending++;
	if (server_watch(server, socket, EVENT_PEER, client) < 0 ||
	    server_watch(server, pidfd, EVENT_DEATH, client) < 0)
		client_end(server, client, NULL);
}

void client_connect(struct share_server *server)
{
	/* Not for ever: others have their turn in between. */
	for (int i = 0; i < CLIENTS_PENDING; i++) {
		bool refused;
		int socket = listener_accept(&server->listener, &refused);

		if (refused)
			client_refuse(server, REFUSED_FULL, 0);
		if (socket < 0)
			return;
		client_take_in(server, socket);
	}
}

/* ---- going ---- */

struct leaving {
	struct share_server *server;
	struct client *client;
};

/* What it gave back until now counts. */
static void end_audit(struct share_server *server, struct client *client)
{
	struct bcast_reader_state slot;

	if (client->audit == NULL)
		return;
	bcast_reader_state(server->ring, client->slot, &slot);
	audit_released(server->audit, client->audit, &slot);
	audit_leave(server->audit, client->audit);
	client->audit = NULL;
}

static void leave_locked(void *context, const struct pipeline_point *next)
{
	const struct leaving *leaving = context;
	struct share_server *server = leaving->server;
	struct client *client = leaving->client;

	(void)next;
	for (unsigned i = 0; i < server->queued_count; i++)
		if (server->queued[i] == client)
			server->queued[i--] = server->queued[--server->queued_count];
	if (!client->attached)
		return;
	end_audit(server, client);
	join_detach(server, client);
}

static void count_out(struct share_server *server, const struct client *client)
{
	if (client->state == CLIENT_READING || client->state == CLIENT_DROPPED) {
		server->attached--;
		server->left++;
	} else {
		server->pending--;
	}
}

/* had: what share_metrics_keep() has just kept; NULL: it had no slot. */
static void client_log_end(const struct share_server *server,
			   const struct client *client,
			   const struct share_job_figures *had, const char *why)
{
	if (had != NULL)
		server_log(server,
			   "%s (pid %d) %s: %llu batches, %llu samples; %u %s now",
			   client->name, (int)client->pid, why,
			   (unsigned long long)had->batches,
			   (unsigned long long)had->samples, server->attached,
			   server->attached == 1 ? "job" : "jobs");
	else
		server_log(server, "%s (pid %d) %s", client->name, (int)client->pid,
			   why);
}

void client_end(struct share_server *server, struct client *client, const char *why)
{
	struct leaving leaving = {server, client};
	const struct share_job_figures *had = NULL;

	if (client->attached && server->ring != NULL)
		had = share_metrics_keep(server, client);
	if (client->attached) /* the reader has it as well: closing is not enough */
		epoll_ctl(server->epoll, EPOLL_CTL_DEL, client->handles.event, NULL);
	server_locked(server, leave_locked, &leaving);
	server->released = true;
	count_out(server, client);
	if (why != NULL)
		client_log_end(server, client, had, why);
	if (client->socket >= 0)
		close(client->socket);
	if (client->pidfd >= 0)
		close(client->pidfd);
	protocol_inbox_fini(&client->inbox);
	server->clients[client->at] = NULL;
	free(client);
}

/* ---- a job that is in the way ---- */

static void drop_locked(void *context, const struct pipeline_point *next)
{
	const struct leaving *leaving = context;
	struct share_server *server = leaving->server;

	(void)next;
	bcast_drop(server->ring, leaving->client->slot);
	end_audit(server, leaving->client);
	server->scheduler->leave(server, leaving->client);
}

void client_drop(struct share_server *server, struct client *client)
{
	struct leaving leaving = {server, client};

	server_locked(server, drop_locked, &leaving);
	client->state = CLIENT_DROPPED;
	client->blocks = false;
	server->dropped++;
	server->released = true;
	server_log(server, "%s (pid %d) held others up for %.3g s: it goes on alone",
		   client->name, (int)client->pid,
		   (double)server->config.drop_ns / 1e9);
}

/* ---- what it says ---- */

static bool answer_status(struct share_server *server, const struct client *client)
{
	char *text = NULL;
	bool sent;

	if (share_metrics_json(server, &text) < 0)
		return false;
	sent = protocol_send(client->socket, PROTOCOL_STATUS, text, strlen(text), NULL,
			     0) == 0;
	free(text);
	return sent;
}

/* One answer, and the end. */
static void answer_http(struct share_server *server, const struct client *client)
{
	char *text = NULL;
	size_t bytes;

	if (share_metrics_http(server, protocol_body(&client->inbox), &text, &bytes) ==
	    0)
		send(client->socket, text, bytes, MSG_NOSIGNAL);
	free(text);
}

enum said { SAID_FINE, SAID_NONSENSE, SAID_LAST, SAID_HELLO };

static enum said client_hear(struct share_server *server, struct client *client)
{
	switch ((unsigned)protocol_type(&client->inbox)) {
	case PROTOCOL_HELLO:
		return client->state == CLIENT_PENDING ? SAID_HELLO : SAID_NONSENSE;
	case PROTOCOL_STATUS:
		return answer_status(server, client) ? SAID_FINE : SAID_LAST;
	case PROTOCOL_HTTP:
		answer_http(server, client);
		return SAID_LAST;
	default:
		return SAID_NONSENSE;
	}
}

/* A connection that ends by itself. */
static void hang_up(struct share_server *server, struct client *client)
{
	bool known = client->state == CLIENT_READING || client->state == CLIENT_DROPPED;

	client_end(server, client, known ? "left" : NULL);
}

static void throw_out(struct share_server *server, struct client *client)
{
	pid_t pid = client->pid;

	if (client->state == CLIENT_PENDING) {
		client_end(server, client, NULL);
		client_refuse(server, REFUSED_GARBAGE, pid);
	} else {
		client_end(server, client, "said what makes no sense and was shut out");
	}
}

/* True: it is still there and there may be more. */
static bool client_answer(struct share_server *server, struct client *client)
{
	unsigned at = client->at;
	uint64_t serial = client->serial;

	switch (client_hear(server, client)) {
	case SAID_HELLO:
		join_hello(server, client, protocol_body(&client->inbox));
		client = client_find(server, at, serial);
		if (client == NULL)
			return false;
		break;
	case SAID_NONSENSE:
		throw_out(server, client);
		return false;
	case SAID_LAST:
		hang_up(server, client);
		return false;
	case SAID_FINE:
		break;
	}
	protocol_next(&client->inbox);
	return true;
}

/* Nobody has to say so much at once. */
enum { MESSAGES = 64 };

void client_receive(struct share_server *server, struct client *client)
{
	for (int i = 0; i < MESSAGES; i++) {
		int got =
			protocol_receive(client->socket, &client->inbox, MSG_DONTWAIT);

		if (got == 0 || got == -EAGAIN || got == -EINTR)
			return;
		if (got == -EPROTO) {
			throw_out(server, client);
			return;
		}
		if (got < 0) {
			hang_up(server, client);
			return;
		}
		if (!client_answer(server, client))
			return;
	}
	throw_out(server, client);
}

struct client *client_find(const struct share_server *server, unsigned at,
			   uint64_t serial)
{
	struct client *client = at < CLIENTS ? server->clients[at] : NULL;

	return client != NULL && client->serial == serial ? client : NULL;
}
