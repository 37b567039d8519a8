/* client.h - the connections of a server, and the jobs at their other ends. Private to
 * loader/share/. */
#ifndef DSA_SHARE_CLIENT_H
#define DSA_SHARE_CLIENT_H

#include "loader/share/ring/bcast_ring.h"
#include "loader/share/server/reactor.h"
#include "loader/share/wire/protocol.h"
#include <sys/types.h>

struct audit_job;
struct dataset;
struct share_server;
struct share_stream;

enum {
	CLIENTS_PENDING = 64, /* connections without a slot */
	CLIENTS = BCAST_READERS + CLIENTS_PENDING,
	CLIENT_NAME = 80,
};

enum client_state {
	CLIENT_PENDING, /* has not said HELLO */
	CLIENT_WAITING, /* for other jobs, a round, or those of a server that died */
	CLIENT_READING,
	CLIENT_DROPPED, /* loads alone; its slot is kept for what it still holds */
};

struct client {
	enum client_state state;
	unsigned at;       /* in clients.at */
	uint64_t serial;   /* unique: recognises events of an earlier client */
	int socket, pidfd; /* -1: none */
	pid_t pid;
	uint64_t since_ns; /* connected; then: took its slot */
	struct protocol_inbox inbox;
	struct protocol_hello hello;
	const struct dataset *dataset; /* what it asked for */
	char name[CLIENT_NAME];        /* of the job, safe to print */

	/* Its slot. Written with the lock held. */
	bool queued;   /* for the next round */
	bool attached; /* holds a slot; WELCOME may not be sent yet */
	uint32_t slot;
	struct bcast_handles handles;
	int entry;          /* of the shared epoch, of which it is an owner; -1: none */
	uint64_t remaining; /* places from handles.start to its first epoch's end; */
	uint64_t voids;     /* of them so many before the epoch's first sample */
	struct audit_job *audit;

	bool blocks;          /* others wait for it */
	uint64_t blocking_ns; /* since when, without a release; 0: it does not */
	uint64_t released;    /* as seen last */
};

/* Reasons to refuse a connection; each is logged once a second, with a count. */
enum refusal {
	REFUSED_FULL,
	REFUSED_GONE,
	REFUSED_USER,
	REFUSED_UNSEEN,
	REFUSED_GARBAGE,
	REFUSED_SILENT,
	REFUSALS
};

struct refused {
	uint64_t unlogged, all;
	uint64_t logged_ns; /* last */
	pid_t pid;          /* of the last one; 0: not known */
};

struct clients {
	struct client *at[CLIENTS];
	uint64_t serial;
	unsigned pending, attached; /* connections without a slot; with one */
	uint64_t came, left, dropped;
	uint64_t unfit; /* refused for what they want */
	struct refused refused[REFUSALS];
};

/* ---- client.c: their lives ---- */

void client_connect(struct share_server *server);

/* Removes a client; logs `why`, NULL logs nothing. Frees it. */
void client_end(struct share_server *server, struct client *client, const char *why);

/* The client that an event is about; NULL: it is gone. */
struct client *client_find(const struct clients *clients, unsigned at, uint64_t serial);
int client_watch(const struct share_server *server, const struct client *client, int fd,
		 enum event event);

/* Lets a client that blocks others load alone. */
void client_drop(struct share_server *server, struct client *client);

/* Counts a connection that was refused, and logs what is due. */
void client_refuse(struct share_server *server, enum refusal why, pid_t pid);
void client_log_refused(struct share_server *server, enum refusal why, uint64_t now);

/* With the lock: gives a client a slot from `start` on. */
int client_attach(struct share_stream *stream, struct client *client, uint64_t start,
		  struct error *err);

/* ---- join.c: the way to a slot ---- */

/* The client may be gone afterwards. */
void join_hello(struct share_server *server, struct client *client,
		const struct protocol_hello *hello);
void join_ready(struct share_server *server); /* those that wait, if they may */

/* ---- requests.c: what they say; the client may be gone afterwards ---- */

void client_receive(struct share_server *server, struct client *client);

#endif
