/* client.c - clients: accepts, attaches, drops and removes them. */
#include "loader/base/clock.h"
#include "loader/share/server/server_state.h"
#include "loader/share/wire/status.h"
#include "loader/source.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* A kind of refusal is logged so often. */
#define REFUSED_NS UINT64_C(1000000000)

/* ---- coming ---- */

static struct client *client_new(struct share_server *server)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *client;

		if (server->clients.at[i] != NULL)
			continue;
		client = calloc(1, sizeof(*client));
		if (client == NULL)
			return NULL;
		client->serial = ++server->clients.serial;
		client->at = i;
		client->socket = client->pidfd = client->entry = -1;
		client->since_ns = clock_now();
		protocol_inbox_init(&client->inbox);
		server->clients.at[i] = client;
		return client;
	}
	return NULL;
}

void client_log_refused(struct share_server *server, enum refusal why, uint64_t now)
{
	static const char *const reasons[REFUSALS] = {
		[REFUSED_FULL] = "there are as many as there may be",
		[REFUSED_GONE] = "their processes had ended",
		[REFUSED_USER] = "of another user",
		[REFUSED_UNSEEN] = "their processes are in a pid namespace that can't "
				   "be seen from here: run the loader and its jobs in "
				   "one, or on Linux 6.5",
		[REFUSED_GARBAGE] = "what they said is no message of dsa's",
		[REFUSED_SILENT] = "they said nothing for 5 s",
	};
	struct refused *refused = &server->clients.refused[why];

	if (refused->unlogged == 0 || (refused->logged_ns != 0 && !server->done &&
				       now - refused->logged_ns < REFUSED_NS))
		return;
	server_log(server, "refused %llu %s: %s (the last one of pid %d)",
		   (unsigned long long)refused->unlogged,
		   refused->unlogged == 1 ? "connection" : "connections", reasons[why],
		   (int)refused->pid);
	refused->unlogged = 0;
	refused->logged_ns = now;
}

void client_refuse(struct share_server *server, enum refusal why, pid_t pid)
{
	struct refused *refused = &server->clients.refused[why];

	refused->unlogged++;
	refused->all++;
	refused->pid = pid;
	client_log_refused(server, why, clock_now());
}

/* Opens a pidfd of the process at the other end: it becomes readable at its death. */
static int client_open_peer(int socket, struct ucred *peer)
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

/* Why the connection is refused; pidfd: what client_open_peer() returned. */
static enum refusal client_refusal(int pidfd)
{
	if (pidfd == -EPERM)
		return REFUSED_USER;
	if (pidfd == -EINVAL) /* of pid 0 */
		return REFUSED_UNSEEN;
	return pidfd == -ESRCH ? REFUSED_GONE : REFUSED_FULL;
}

int client_watch(const struct share_server *server, const struct client *client, int fd,
		 enum event event)
{
	uint64_t word = (uint64_t)client->at << 48 |
			(client->serial & UINT64_C(0xffffffffffff));

	return reactor_watch(&server->reactor, fd, event, word);
}

static void client_take_in(struct share_server *server, int socket)
{
	struct ucred peer = {0};
	int pidfd = client_open_peer(socket, &peer);
	struct client *client = NULL;

	if (pidfd >= 0 && server->clients.pending < CLIENTS_PENDING)
		client = client_new(server);
	if (client == NULL) {
		close(socket);
		if (pidfd >= 0)
			close(pidfd);
		client_refuse(server, client_refusal(pidfd), peer.pid);
		return;
	}
	client->socket = socket;
	client->pidfd = pidfd;
	client->pid = peer.pid;
	server->clients.pending++;
	if (client_watch(server, client, socket, EVENT_PEER) < 0 ||
	    client_watch(server, client, pidfd, EVENT_DEATH) < 0)
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

/* ---- slots; with the lock ---- */

static void client_open_audit(struct share_stream *stream, struct client *client)
{
	const struct audit_config config = {
		.name = client->name,
		.slot = client->slot,
		.start = client->handles.start,
		.remaining = client->remaining,
		.voids = client->voids,
		.samples = source_count(client->dataset->source),
		.sets = stream->joader != NULL ? source_parts(stream->parts->source)
					       : NULL,
		.set = client->dataset->set,
	};

	if (stream->audit != NULL)
		client->audit = audit_join(stream->audit, &config);
}

int client_attach(struct share_stream *stream, struct client *client, uint64_t start,
		  struct error *err)
{
	int slot = bcast_attach(stream->ring, start, &client->handles, err);

	if (slot < 0)
		return slot;
	client->slot = (uint32_t)slot;
	client->released = start;
	client->attached = true;
	client_open_audit(stream, client);
	return 0;
}

static void client_detach(struct share_stream *stream, struct client *client)
{
	/* After the end nothing waits for a slot; a reader must see the end, not a
	 * drop. */
	if (!stream->ended)
		bcast_detach(stream->ring, client->slot);
	client->attached = false;
	stream->scheduler->leave(stream, client);
}

/* ---- going ---- */

/* What it gave back until now counts. */
static void client_end_audit(const struct share_stream *stream, struct client *client)
{
	struct bcast_reader_state slot;

	if (client->audit == NULL)
		return;
	bcast_reader_state(stream->ring, client->slot, &slot);
	audit_released(stream->audit, client->audit, &slot);
	audit_leave(stream->audit, client->audit);
	client->audit = NULL;
}

/* Its figures, as it left; NULL: it had no slot, or the stream is closed. */
static const struct share_job_figures *client_leave(struct share_server *server,
						    struct client *client)
{
	struct share_stream *stream = &server->stream;
	const struct share_job_figures *had = NULL;

	if (stream->pipeline == NULL)
		return NULL;
	share_stream_lock(stream);
	for (unsigned i = 0; i < stream->queued_count; i++)
		if (stream->queued[i] == client)
			stream->queued[i--] = stream->queued[--stream->queued_count];
	if (client->attached) {
		had = share_metrics_keep(server, client);
		client_end_audit(stream, client);
		client_detach(stream, client);
	}
	share_stream_unlock(stream);
	return had;
}

static void client_count_out(struct share_server *server, const struct client *client)
{
	if (client->state == CLIENT_READING || client->state == CLIENT_DROPPED) {
		server->clients.attached--;
		server->clients.left++;
	} else {
		server->clients.pending--;
	}
}

static void client_log_end(const struct share_server *server,
			   const struct client *client,
			   const struct share_job_figures *had, const char *why)
{
	if (had != NULL)
		server_log(server,
			   "%s (pid %d) %s: %llu batches, %llu samples; %u %s now",
			   client->name, (int)client->pid, why,
			   (unsigned long long)had->batches,
			   (unsigned long long)had->samples, server->clients.attached,
			   server->clients.attached == 1 ? "job" : "jobs");
	else
		server_log(server, "%s (pid %d) %s", client->name, (int)client->pid,
			   why);
}

void client_end(struct share_server *server, struct client *client, const char *why)
{
	const struct share_job_figures *had;

	if (client->attached) /* the reader has it as well: closing is not enough */
		reactor_forget(&server->reactor, client->handles.event);
	had = client_leave(server, client);
	server->released = true;
	client_count_out(server, client);
	if (why != NULL)
		client_log_end(server, client, had, why);
	if (client->socket >= 0)
		close(client->socket);
	if (client->pidfd >= 0)
		close(client->pidfd);
	protocol_inbox_fini(&client->inbox);
	server->clients.at[client->at] = NULL;
	free(client);
}

/* ---- a job that is in the way ---- */

void client_drop(struct share_server *server, struct client *client)
{
	struct share_stream *stream = &server->stream;

	share_stream_lock(stream);
	bcast_drop(stream->ring, client->slot);
	client_end_audit(stream, client);
	stream->scheduler->leave(stream, client);
	share_stream_unlock(stream);
	client->state = CLIENT_DROPPED;
	client->blocks = false;
	server->clients.dropped++;
	server->released = true;
	server_log(server, "%s (pid %d) held others up for %.3g s: it goes on alone",
		   client->name, (int)client->pid,
		   (double)server->config.drop_ns / 1e9);
}

struct client *client_find(const struct clients *clients, unsigned at, uint64_t serial)
{
	struct client *client = at < CLIENTS ? clients->at[at] : NULL;

	return client != NULL && client->serial == serial ? client : NULL;
}
