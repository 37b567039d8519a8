/* member.c - a connection: who it is, what it says, how it ends. */
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

struct member *member_new(struct share_server *server)
{
	for (unsigned i = 0; i < MEMBERS; i++) {
		struct member *member;

		if (server->members[i] != NULL)
			continue;
		member = calloc(1, sizeof(*member));
		if (member == NULL)
			return NULL;
		member->serial = ++server->serial;
		member->at = i;
		member->socket = member->pidfd = member->cut = -1;
		member->since_ns = clock_now();
		protocol_inbox_init(&member->inbox);
		server->members[i] = member;
		return member;
	}
	return NULL;
}

void member_refuse(struct share_server *server, enum refusal why, pid_t pid)
{
	struct refused *refused = &server->refused[why];

	refused->untold++;
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

static void member_take_in(struct share_server *server, int socket)
{
	struct ucred peer = {0};
	int pidfd = open_peer(socket, &peer);
	struct member *member = NULL;

	if (pidfd >= 0 && server->guests < GUESTS)
		member = member_new(server);
	if (member == NULL) {
		close(socket);
		if (pidfd >= 0)
			close(pidfd);
		member_refuse(server, why_not(pidfd), peer.pid);
		return;
	}
	member->socket = socket;
	member->pidfd = pidfd;
	member->pid = peer.pid;
	server->guests++;
	if (server_watch(server, socket, EVENT_PEER, member) < 0 ||
	    server_watch(server, pidfd, EVENT_DEATH, member) < 0)
		member_end(server, member, NULL);
}

void member_connect(struct share_server *server)
{
	/* Not for ever: others have their turn in between. */
	for (int i = 0; i < GUESTS; i++) {
		bool refused;
		int socket = listener_accept(&server->listener, &refused);

		if (refused)
			member_refuse(server, REFUSED_FULL, 0);
		if (socket < 0)
			return;
		member_take_in(server, socket);
	}
}

/* ---- going ---- */

struct leaving {
	struct share_server *server;
	struct member *member;
};

/* What it gave back until now counts. */
static void end_audit(struct share_server *server, struct member *member)
{
	struct feed_seat_state seat;

	if (member->audit == NULL)
		return;
	feed_seat_state(server->feed, member->seat, &seat);
	audit_released(server->audit, member->audit, &seat);
	audit_leave(server->audit, member->audit);
	member->audit = NULL;
}

static void leave_locked(void *context, const struct pipeline_point *next)
{
	const struct leaving *leaving = context;
	struct share_server *server = leaving->server;
	struct member *member = leaving->member;

	(void)next;
	for (unsigned i = 0; i < server->in_line_count; i++)
		if (server->in_line[i] == member)
			server->in_line[i--] = server->in_line[--server->in_line_count];
	if (!member->sat)
		return;
	end_audit(server, member);
	join_stand(server, member);
}

static void count_out(struct share_server *server, const struct member *member)
{
	if (member->state == MEMBER_GHOST) {
		server->ghosts--;
		return;
	}
	if (member->state == MEMBER_READING || member->state == MEMBER_DROPPED) {
		server->seated--;
		server->left++;
	} else {
		server->guests--;
	}
}

/* had: what gauges_keep() has just kept; NULL: it had no seat. */
static void member_tell_end(const struct share_server *server,
			    const struct member *member,
			    const struct share_job_figures *had, const char *why)
{
	if (had != NULL)
		server_tell(server,
			    "%s (pid %d) %s: %llu batches, %llu samples; %u %s now",
			    member->name, (int)member->pid, why,
			    (unsigned long long)had->batches,
			    (unsigned long long)had->samples, server->seated,
			    server->seated == 1 ? "job" : "jobs");
	else
		server_tell(server, "%s (pid %d) %s", member->name, (int)member->pid,
			    why);
}

void member_end(struct share_server *server, struct member *member, const char *why)
{
	struct leaving leaving = {server, member};
	const struct share_job_figures *had = NULL;

	if (member->sat && member->state != MEMBER_GHOST && server->feed != NULL)
		had = gauges_keep(server, member);
	if (member->sat) /* the reader has it as well: closing is not enough */
		epoll_ctl(server->epoll, EPOLL_CTL_DEL, member->chair.event, NULL);
	server_locked(server, leave_locked, &leaving);
	server->released = true;
	count_out(server, member);
	if (why != NULL)
		member_tell_end(server, member, had, why);
	if (member->socket >= 0)
		close(member->socket);
	if (member->pidfd >= 0)
		close(member->pidfd);
	protocol_inbox_fini(&member->inbox);
	server->members[member->at] = NULL;
	free(member);
}

/* ---- a job that is in the way ---- */

struct dropping {
	struct share_server *server;
	struct member *member;
	int result;
};

static void drop_locked(void *context, const struct pipeline_point *next)
{
	struct dropping *dropping = context;
	struct share_server *server = dropping->server;
	struct member *member = dropping->member;

	(void)next;
	dropping->result = rest_drop(server, member);
	if (dropping->result < 0)
		return;
	end_audit(server, member);
	server->order->leave(server, member);
}

void member_drop(struct share_server *server, struct member *member)
{
	struct dropping dropping = {.server = server, .member = member};

	server_locked(server, drop_locked, &dropping);
	if (dropping.result == -EPIPE || dropping.result == -EAGAIN) {
		member_end(server, member, "held others up and did not listen");
		return;
	}
	if (dropping.result < 0)
		return; /* no memory now: the next tick comes */
	member->state = MEMBER_DROPPED;
	member->blocks = false;
	server->dropped++;
	server->released = true;
	server_tell(server, "%s (pid %d) held others up for %.3g s: it goes on alone",
		    member->name, (int)member->pid,
		    (double)server->config.drop_ns / 1e9);
}

/* ---- what it says ---- */

static bool answer_status(struct share_server *server, const struct member *member)
{
	char *text = NULL;
	bool sent;

	if (gauges_json(server, &text) < 0)
		return false;
	sent = protocol_send(member->socket, PROTOCOL_STATUS, text, strlen(text), NULL,
			     0) == 0;
	free(text);
	return sent;
}

/* One answer, and the end. */
static void answer_http(struct share_server *server, const struct member *member)
{
	char *text = NULL;
	size_t bytes;

	if (gauges_http(server, protocol_body(&member->inbox), &text, &bytes) == 0)
		send(member->socket, text, bytes, MSG_NOSIGNAL);
	free(text);
}

enum said { SAID_FINE, SAID_NONSENSE, SAID_LAST, SAID_HELLO };

static enum said member_hear(struct share_server *server, struct member *member)
{
	switch ((unsigned)protocol_type(&member->inbox)) {
	case PROTOCOL_HELLO:
		return member->state == MEMBER_GUEST ? SAID_HELLO : SAID_NONSENSE;
	case PROTOCOL_STATUS:
		return answer_status(server, member) ? SAID_FINE : SAID_LAST;
	case PROTOCOL_HTTP:
		answer_http(server, member);
		return SAID_LAST;
	default:
		return SAID_NONSENSE;
	}
}

/* A connection that ends by itself. */
static void hang_up(struct share_server *server, struct member *member)
{
	bool known = member->state == MEMBER_READING || member->state == MEMBER_DROPPED;

	member_end(server, member, known ? "left" : NULL);
}

static void throw_out(struct share_server *server, struct member *member)
{
	pid_t pid = member->pid;

	if (member->state == MEMBER_GUEST) {
		member_end(server, member, NULL);
		member_refuse(server, REFUSED_GARBAGE, pid);
	} else {
		member_end(server, member, "said what makes no sense and was shut out");
	}
}

/* True: it is still there and there may be more. */
static bool member_answer(struct share_server *server, struct member *member)
{
	unsigned at = member->at;
	uint64_t serial = member->serial;

	switch (member_hear(server, member)) {
	case SAID_HELLO:
		join_hello(server, member, protocol_body(&member->inbox));
		member = member_find(server, at, serial);
		if (member == NULL)
			return false;
		break;
	case SAID_NONSENSE:
		throw_out(server, member);
		return false;
	case SAID_LAST:
		hang_up(server, member);
		return false;
	case SAID_FINE:
		break;
	}
	protocol_next(&member->inbox);
	return true;
}

/* Nobody has to say so much at once. */
enum { MESSAGES = 64 };

void member_receive(struct share_server *server, struct member *member)
{
	for (int i = 0; i < MESSAGES; i++) {
		int got =
			protocol_receive(member->socket, &member->inbox, MSG_DONTWAIT);

		if (got == 0 || got == -EAGAIN || got == -EINTR)
			return;
		if (got == -EPROTO) {
			throw_out(server, member);
			return;
		}
		if (got < 0) {
			hang_up(server, member);
			return;
		}
		if (!member_answer(server, member))
			return;
	}
	throw_out(server, member);
}

struct member *member_find(const struct share_server *server, unsigned at,
			   uint64_t serial)
{
	struct member *member = at < MEMBERS ? server->members[at] : NULL;

	return member != NULL && member->serial == serial ? member : NULL;
}
