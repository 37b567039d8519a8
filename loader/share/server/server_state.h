/*
 * server_state.h - what the parts of the server share. Private to loader/share/.
 *
 *	server.c        opens the parts, waits for events, ends
 *	listener.c      the socket; asking for the status
 *	client.c        one connection: its messages, its end
 *	join.c          checks a join request, gives a reader slot
 *	policy.c        periodic checks: slow readers, silent connections, log lines
 *	publish_hook.c  between the pipeline and the ring
 *	scheduler_*.c   which samples come, where jobs begin
 *	share_metrics.c the status as numbers
 *	datasets.c      the data sets served
 *	profiled.c      takes part in a dsa run, in a thread of its own
 *
 * All of it belongs to the thread in share_server_run(), but for what is said to be
 * guarded by the lock: the pipeline's, held inside pipeline_at() and by the hook.
 */
#ifndef DSA_SHARE_SERVER_STATE_H
#define DSA_SHARE_SERVER_STATE_H

#include "loader/base/error.h"
#include "loader/batch_sink.h"
#include "loader/components.h"
#include "loader/options.h"
#include "loader/pipeline.h"
#include "loader/ring.h"
#include "loader/session_join.h"
#include "loader/share.h"
#include "loader/share/ring/bcast_ring.h"
#include "loader/share/schedule/joader.h"
#include "loader/share/schedule/shared_epoch.h"
#include "loader/share/server/audit.h"
#include "loader/share/wire/protocol.h"
#include "loader/share/wire/status.h"

#include <pthread.h>
#include <sys/types.h>
#include <sys/un.h>

enum {
	CLIENTS_PENDING = 64, /* connections without a slot */
	CLIENTS = BCAST_READERS + CLIENTS_PENDING,
	CLIENT_NAME = 80,
	SKIPS_LOGGED = 8, /* a tick */
	GONE = 32,        /* jobs that left and that are told of yet */
};

/* A data set that jobs may ask for. */
struct dataset {
	char name[4096];             /* real path */
	const struct source *source; /* parts.source, or a part of it */
	int classes;                 /* memfd of their names */
	int id_map; /* memfd (id_map.h); -1: samples of the ring are its own */
};

enum client_state {
	CLIENT_PENDING, /* has not said HELLO */
	CLIENT_WAITING, /* for other jobs, a round, or those of a server that died */
	CLIENT_READING,
	CLIENT_DROPPED, /* loads alone; its slot is kept for what it still holds */
};

struct client {
	enum client_state state;
	unsigned at;       /* in share_server.clients */
	uint64_t serial;   /* of all clients so far: tells events of one before it */
	int socket, pidfd; /* -1: none */
	pid_t pid;
	uint64_t since_ns; /* connected; then: took its slot */
	struct protocol_inbox inbox;
	struct protocol_hello hello;
	const struct dataset *dataset; /* what it asked for */
	char name[CLIENT_NAME];        /* of the job, safe to print */

	/* Its slot. Written with the lock held. */
	bool queued;   /* for the next round */
	bool attached; /* has one; it may not have been told yet */
	uint32_t slot;
	struct bcast_handles handles;
	int entry; /* of the shared epoch, of which it is an owner; -1: none */
	uint64_t
		remaining; /* places until its first epoch's end, from handles.start; */
	uint64_t voids;    /* of them so many before the epoch's first sample */
	struct audit_job *audit;

	bool blocks;          /* others wait for it; */
	uint64_t blocking_ns; /* since when, without its giving anything back; 0: no */
	uint64_t in_the_way_ns; /* all in all */
	uint64_t released;      /* as seen last */
};

/* Where an entry point of the shared epoch began last, as far as batches were published. */
struct entry_start {
	unsigned owners;
	bool known;
	uint64_t pass;            /* its first one */
	uint64_t sequence, voids; /* voids: places before the pass's first sample */
};

/*
 * In which order samples come, where jobs begin, and what is left for those that are
 * dropped. With the lock, but for check, open, close and plan.
 */
struct scheduler_ops {
	/* Whether the loader's config and options fit. */
	int (*check)(const struct share_server *server, struct error *err);
	int (*open)(struct share_server *server, struct error *err);
	void (*close)(struct share_server *server); /* also what was not opened */
	struct plan *(*plan)(const struct share_server *server);

	/* A job takes a slot. next: of the pipeline. 0 or -errno. */
	int (*begin)(struct share_server *server, struct client *client,
		     const struct pipeline_point *next, struct error *err);

	/* Its slot does not count any more; twice is allowed. */
	void (*leave)(struct share_server *server, struct client *client);

	/* The stream comes to a pass: its first batch is to be published. */
	void (*pass)(struct share_server *server, uint64_t pass);

	/* Somebody wants batches. */
	bool (*wanted)(const struct share_server *server);
};

extern const struct scheduler_ops scheduler_epoch;  /* one data set: shared_epoch.h */
extern const struct scheduler_ops scheduler_joader; /* some that overlap: joader.h */

struct listener {
	int fd, spare; /* spare: closed to be able to refuse when descriptors run out */
	struct sockaddr_un address;
	dev_t device; /* of the socket that was made: */
	ino_t inode;
};

/* What may happen often: told once a second, with a count. */
enum refusal {
	REFUSED_FULL,
	REFUSED_GONE,
	REFUSED_USER,
	REFUSED_GARBAGE,
	REFUSED_SILENT,
	REFUSALS
};

struct refused {
	uint64_t unlogged, all;
	uint64_t logged_ns; /* last */
	pid_t pid;          /* of the last one; 0: not known */
};

/* See publish_hook.c. */
struct publish_hook {
	struct batch_sink base;
	struct batch_sink *ring;
	struct share_server *server;
	uint64_t pass; /* of the last batch published; UINT64_MAX: none. Lock */
};

/* Of a job that left. */
struct gone {
	struct share_job_figures figures;
	char name[CLIENT_NAME];
};

struct skip_line {
	char name[120], reason[96];
};

struct share_server {
	struct share_config config;
	struct options options;
	struct dataset datasets[SHARE_DATASETS];
	unsigned dataset_count;
	char output[PREP_OUTPUT];
	struct enlisted session;
	struct components parts;
	uint64_t digest; /* of the data set */
	struct listener listener;
	int epoll, stop, notify; /* notify: the hook has something to tell */
	uint64_t opened_ns;
	uint64_t generation;

	/* The stream. */
	const struct scheduler_ops *scheduler;
	struct shared_epoch *shared; /* NULL: joader. Lock */
	struct joader *joader;       /* NULL: shared epoch. Lock */
	struct bcast_ring *ring;
	struct publish_hook hook;
	struct pipeline *pipeline;
	bool begun;              /* batches are made */
	bool ended;              /* readers were told */
	bool resumed;            /* a job of the loader before is there */
	uint64_t await_until_ns; /* for the jobs of the loader before; 0: it does not */

	struct entry_start entry_starts[SHARED_EPOCH_ENTRIES]; /* lock */
	int round; /* the entry point that rounds of lockstep begin at; -1: none. Lock */
	struct client *queued[CLIENTS]; /* for the next round. Lock */
	unsigned queued_count;
	struct skip_line skips[SKIPS_LOGGED]; /* to be told. Lock */
	unsigned skip_count;
	uint64_t skips_unlogged;  /* beyond them. Lock */
	_Atomic uint64_t skipped; /* all in all */

	struct client *clients[CLIENTS];
	uint64_t serial;
	unsigned pending, attached; /* connections without a slot; with one */
	uint64_t came, left, dropped;
	struct gone gone[GONE]; /* a ring: the next one to write is gone_count % GONE */
	uint64_t gone_count;
	char *last; /* status, once the stream is closed; NULL: no memory */
	struct refused refused[REFUSALS];
	struct audit *audit; /* NULL: none */

	/* In step with the jobs of a dsa run; the driver is NULL else. */
	struct driver *driver;
	pthread_t profiled_thread;
	_Atomic bool profiling; /* dsa lives, and has not seen enough */
	struct ring_shape shape;
	uint32_t repeated_turn; /* of that thread */

	bool released; /* there is room again: the pipeline is to be told */
	bool done;
	int result;
	struct error failure;
	uint64_t watched_ns;            /* the last tick */
	uint64_t progress_ns;           /* when a job gave something back */
	bool starves;                   /* a job waits and there is no room */
	uint64_t full_ns;               /* for so long, all in all */
	uint64_t rated_ns, rated, rate; /* published then; samples per 1000 s since */
};

/* ---- server.c ---- */

/* Batches are made from now on. */
void server_begin(struct share_server *server);

/* Calls back with the lock held. */
void server_locked(struct share_server *server,
		   void (*call)(void *context, const struct pipeline_point *next),
		   void *context);

__attribute__((format(printf, 2, 3))) void server_log(const struct share_server *server,
						      const char *format, ...);

/* What an event of epoll is about. */
enum event {
	EVENT_CONNECT,
	EVENT_STOP,
	EVENT_NOTIFY,
	EVENT_PEER,
	EVENT_DEATH,
	EVENT_ROOM
};

/* Waits for fd to be readable. client: NULL: none. */
int server_watch(struct share_server *server, int fd, enum event event,
		 const struct client *client);

/* The data ended; or failed. Readers are told. */
void server_end(struct share_server *server);
void server_fail(struct share_server *server, const struct error *err);

uint32_t server_samples(const struct share_server *server); /* of the data set */
uint64_t server_end_epoch(const struct share_server *server);

/* ---- listener.c ---- */

int listener_open(struct listener *listener, const char *path, struct error *err);
void listener_close(struct listener *listener);

/* The next connection; -1: none waits now. refused: there was one, and no descriptor. */
int listener_accept(struct listener *listener, bool *refused);

/* ---- publish_hook.c: the pipeline's sink ---- */

void publish_hook_open(struct publish_hook *hook, struct share_server *server);
void publish_hook_notify(const struct publish_hook *hook); /* wakes the server */

/* ---- client.c ---- */

void client_connect(struct share_server *server);
void client_receive(struct share_server *server, struct client *client);
struct client *client_new(struct share_server *server); /* NULL: no room, no memory */

/* It is gone; why: how that is told; NULL: it is not. Frees it. */
void client_end(struct share_server *server, struct client *client, const char *why);

/* The client that an event is about; NULL: it is gone. */
struct client *client_find(const struct share_server *server, unsigned at,
			   uint64_t serial);

void client_drop(struct share_server *server, struct client *client);

/* Counts, and tells what may be told. */
void client_refuse(struct share_server *server, enum refusal why, pid_t pid);

/* ---- join.c ---- */

/* The client may be gone afterwards. */
void join_hello(struct share_server *server, struct client *client,
		const struct protocol_hello *hello);
void join_ready(struct share_server *server); /* those that wait, if they may */
void join_welcome(struct share_server *server, struct client *client);

/* With the lock: gives a client a slot from `start` on. */
int join_attach(struct share_server *server, struct client *client, uint64_t start,
		struct error *err);
void join_detach(struct share_server *server, struct client *client);

/* ---- datasets.c: the data sets ---- */

/* Opens them as one; *source is the caller's. NULL: there is but the loader's own, which
 * the caller opens. */
int datasets_source(struct share_server *server, struct source **source,
		    struct error *err);
int datasets_open(struct share_server *server, struct error *err);
void datasets_close(struct share_server *server);

/* The one that a client asks for: its data set. -EINVAL: there is no such. */
int datasets_find(const struct share_server *server, struct client *client,
		  struct error *err);

/* What a sample of the stream is called in the client's data set. */
uint32_t datasets_id(const struct share_server *server, const struct client *client,
		     uint32_t sample);

/* ---- profiled.c: the session of a dsa run decides what batches are made of ---- */

bool profiled_is(const struct share_server *server);
bool profiled_over(const struct share_server *server); /* the run has ended */
int profiled_open(struct share_server *server, struct error *err);
void profiled_close(struct share_server *server);

/* ---- policy.c ---- */

void policy_tick(struct share_server *server, uint64_t now);
uint64_t policy_interval(const struct share_server *server); /* ns; 0: no tick */
void policy_log(struct share_server *server, uint64_t now);  /* what is not told yet */
void policy_refused(struct share_server *server, enum refusal why, uint64_t now);
void policy_audit(struct share_server *server);
void policy_end(struct share_server *server, uint64_t now); /* has the data ended? */

/* ---- share_metrics.c ---- */

/* A job with a slot leaves: what it had, which is told of for a while. */
const struct share_job_figures *share_metrics_keep(struct share_server *server,
						   const struct client *client);
int share_metrics_json(struct share_server *server, char **text);
int share_metrics_http(struct share_server *server, const char *request, char **answer,
		       size_t *bytes);

#endif
