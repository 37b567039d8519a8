/*
 * server_state.h - what the parts of the server share. Private to loader/share/.
 *
 *	server.c    opens the parts, waits for events, ends      tap.c     pipeline -> feed
 *	socket.c    where it listens                             heir.c    goes on for a
 *	member.c    a connection: its messages, its end                    server that died
 *	join.c      who is let in                                gauges.c  figures of it all
 *	policy.c    what time brings: drop-outs, time-outs       rest.c    of dropped jobs
 *	order_*.c   which samples come, where jobs begin         offers.c  the data sets
 *	conducted.c takes part in a dsa run, in a thread of its own
 *
 * All of it belongs to the thread in share_server_run(), but for what is said to be
 * guarded by the lock: the pipeline's, held inside pipeline_at() and by the tap.
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
#include "loader/share/ring/feed.h"
#include "loader/share/server/joader.h"
#include "loader/share/wire/audit.h"
#include "loader/share/wire/course.h"
#include "loader/share/wire/protocol.h"
#include "loader/share/wire/status.h"

#include <pthread.h>
#include <sys/types.h>
#include <sys/un.h>

enum {
	GUESTS = 64, /* connections without a seat */
	MEMBERS = FEED_SEATS + GUESTS,
	MEMBER_NAME = 80,
	SKIPS_TOLD = 8, /* a tick */
	GONE = 32,      /* jobs that left and that are told of yet */
};

/* A data set that jobs may ask for. */
struct offer {
	char name[4096];             /* real path */
	const struct source *source; /* parts.source, or a part of it */
	int classes;                 /* memfd of their names */
	int numbers; /* memfd (numbers.h); -1: samples of the feed are its own */
};

enum member_state {
	MEMBER_GUEST,   /* has not said HELLO */
	MEMBER_WAITING, /* for other jobs, a round, or those of a server that died */
	MEMBER_READING,
	MEMBER_DROPPED, /* loads alone; its seat is kept for what it still holds */
	MEMBER_GHOST, /* of a server that died: has a seat and did not come back yet */
};

struct member {
	enum member_state state;
	unsigned at;       /* in share_server.members */
	uint64_t serial;   /* of all members so far: tells events of one before it */
	int socket, pidfd; /* -1: none */
	pid_t pid;
	uint64_t since_ns; /* connected; then: took its seat */
	struct protocol_inbox inbox;
	struct protocol_hello hello;
	const struct offer *offer; /* what it asked for */
	char name[MEMBER_NAME];    /* of the job, safe to print */
	bool told_to_wait;

	/* Its seat. Written with the lock held. */
	bool in_line; /* for the next round */
	bool sat;     /* has one; it may not have been told yet */
	uint32_t seat;
	struct feed_seat chair;
	int cut;            /* of the course, of which it is an owner; -1: none */
	uint64_t remaining; /* places until its first epoch's end, from chair.start; */
	uint64_t voids;     /* of them so many before the epoch's first sample */
	uint32_t stood;     /* ghosts: its seat at the server before */
	struct audit_job *audit;

	bool blocks;          /* others wait for it; */
	uint64_t blocking_ns; /* since when, without its giving anything back; 0: no */
	uint64_t in_the_way_ns; /* all in all */
	uint64_t released;      /* as seen last */
};

/* Where a cut of the course began last, as far as batches were published. */
struct beginning {
	unsigned owners;
	bool known;
	uint64_t lap;             /* its first one */
	uint64_t sequence, voids; /* voids: places before the lap's first sample */
};

/*
 * In which order samples come, where jobs begin, and what is left for those that are
 * dropped. With the lock, but for check, open, close and plan.
 */
struct order_ops {
	/* Whether the loader's config and options fit. */
	int (*check)(const struct share_server *server, struct error *err);
	int (*open)(struct share_server *server, struct error *err);
	void (*close)(struct share_server *server); /* also what was not opened */
	struct plan *(*plan)(const struct share_server *server);

	/* A job takes a seat. next: of the pipeline. 0 or -errno. */
	int (*begin)(struct share_server *server, struct member *member,
		     const struct pipeline_point *next, struct error *err);

	/* Its seat does not count any more; twice is allowed. */
	void (*leave)(struct share_server *server, struct member *member);

	/* The stream comes to a lap: its first batch is to be published. */
	void (*lap)(struct share_server *server, uint64_t lap);

	/* The samples that come for a job behind the last place published: room for those
	 * of its data set; and places without a sample before them. Returns how many. */
	uint32_t (*rest)(const struct share_server *server, const struct member *member,
			 const struct feed_place *last, uint32_t *voids,
			 uint32_t *samples);

	/* Somebody wants batches. */
	bool (*wanted)(const struct share_server *server);
};

extern const struct order_ops order_course; /* one data set: course.h */
extern const struct order_ops order_joader; /* some that overlap: joader.h */

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
	uint64_t untold, all;
	uint64_t told_ns; /* last */
	pid_t pid;        /* of the last one; 0: not known */
};

/* See tap.c. */
struct tap {
	struct batch_sink base;
	struct batch_sink *feed;
	struct share_server *server;
	uint64_t lap; /* of the last batch published; UINT64_MAX: none. Lock */
};

/* Of a job that left. */
struct gone {
	struct share_job_figures figures;
	char name[MEMBER_NAME];
};

struct skip_told {
	char name[120], reason[96];
};

struct share_server {
	struct share_config config;
	struct options options;
	struct offer offers[SHARE_DATASETS];
	unsigned offer_count;
	char output[PREP_OUTPUT];
	struct enlisted session;
	struct components parts;
	uint64_t digest; /* of the data set */
	struct listener listener;
	int epoll, stop, news; /* news: the tap has something to tell */
	uint64_t opened_ns;
	uint64_t generation;

	/* The stream; opened again when it takes over. */
	const struct order_ops *order;
	struct course *course; /* NULL: joader. Lock */
	struct joader *joader; /* NULL: course. Lock */
	struct feed *feed;
	struct tap tap;
	struct pipeline *pipeline;
	struct pipeline_point start; /* where it began */
	void *state; /* room for takeover_write(). NULL: there is none. Lock */
	size_t state_bytes;
	bool begun; /* batches are made */
	bool ended; /* readers were told */

	bool awaiting;          /* it may still take over */
	uint64_t taken_over;    /* generation that it took over from; 0: none */
	uint64_t taken_over_at; /* sequence number */
	uint64_t
		ghosts_until_ns; /* how long those may take to come back; 0: none may */
	unsigned ghosts;
	struct feed_wreck wreck; /* while there are ghosts */

	struct beginning beginnings[COURSE_CUTS]; /* lock */
	int32_t cuts[FEED_SEATS]; /* of who sits there; -1: none. Lock */
	int round; /* the cut that rounds of lockstep begin at; -1: none. Lock */
	struct member *in_line[MEMBERS]; /* for the next round. Lock */
	unsigned in_line_count;
	struct skip_told skips[SKIPS_TOLD]; /* to be told. Lock */
	unsigned skip_count;
	uint64_t skips_untold;    /* beyond them. Lock */
	_Atomic uint64_t skipped; /* all in all */

	struct member *members[MEMBERS];
	uint64_t serial;
	unsigned guests, seated; /* connections without a seat; with one */
	uint64_t came, left, dropped;
	struct gone gone[GONE]; /* a ring: the next one to write is gone_count % GONE */
	uint64_t gone_count;
	char *last; /* status, once the stream is closed; NULL: no memory */
	struct refused refused[REFUSALS];
	struct audit *audit; /* NULL: none */

	/* In step with the jobs of a dsa run; the driver is NULL else. */
	struct driver *driver;
	pthread_t conducted;
	_Atomic bool led; /* dsa lives, and has not seen enough */
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

/* Opens course (NULL: anew; the server's from now on), feed and pipeline so that they go
 * on from a point. */
int server_open_stream(struct share_server *server, struct course *course,
		       const struct pipeline_point *start, uint64_t sequence,
		       struct error *err);
void server_close_stream(struct share_server *server);

/* Batches are made from now on. */
void server_begin(struct share_server *server);

/* Calls back with the lock held. */
void server_locked(struct share_server *server,
		   void (*call)(void *context, const struct pipeline_point *next),
		   void *context);

__attribute__((format(printf, 2, 3))) void
server_tell(const struct share_server *server, const char *format, ...);

/* What an event of epoll is about. */
enum event {
	EVENT_CONNECT,
	EVENT_STOP,
	EVENT_NEWS,
	EVENT_PEER,
	EVENT_DEATH,
	EVENT_ROOM
};

/* Waits for fd to be readable. member: NULL: none. */
int server_watch(struct share_server *server, int fd, enum event event,
		 const struct member *member);

/* The data ended; or failed. Readers are told. */
void server_end(struct share_server *server);
void server_fail(struct share_server *server, const struct error *err);

uint32_t server_samples(const struct share_server *server); /* of the data set */
uint64_t server_end_epoch(const struct share_server *server);

/* ---- socket.c ---- */

int listener_open(struct listener *listener, const char *path, struct error *err);
void listener_close(struct listener *listener);

/* The next connection; -1: none waits now. refused: there was one, and no descriptor. */
int listener_accept(struct listener *listener, bool *refused);

/* ---- tap.c: the pipeline's sink. lap: what the next batch goes on with. ---- */

void tap_open(struct tap *tap, struct share_server *server, uint64_t lap);
void tap_news(const struct tap *tap); /* wakes the server */

/* ---- member.c ---- */

void member_connect(struct share_server *server);
void member_receive(struct share_server *server, struct member *member);
struct member *member_new(struct share_server *server); /* NULL: no room, no memory */

/* It is gone; why: how that is told; NULL: it is not. Frees it. */
void member_end(struct share_server *server, struct member *member, const char *why);

/* The member that an event is about; NULL: it is gone. */
struct member *member_find(const struct share_server *server, unsigned at,
			   uint64_t serial);

void member_drop(struct share_server *server, struct member *member);

/* Counts, and tells what may be told. */
void member_refuse(struct share_server *server, enum refusal why, pid_t pid);

/* ---- join.c ---- */

/* The member may be gone afterwards. */
void join_hello(struct share_server *server, struct member *member,
		const struct protocol_hello *hello);
void join_ready(struct share_server *server); /* those that wait, if they may */
void join_welcome(struct share_server *server, struct member *member);

/* With the lock: gives a member a seat from `start` on. */
int join_sit(struct share_server *server, struct member *member, uint64_t start,
	     struct error *err);
void join_stand(struct share_server *server, struct member *member);

/* ---- offers.c: the data sets ---- */

/* Opens them as one; *source is the caller's. NULL: there is but the loader's own, which
 * the caller opens. */
int offers_source(struct share_server *server, struct source **source,
		  struct error *err);
int offers_open(struct share_server *server, struct error *err);
void offers_close(struct share_server *server);

/* The one that a member asks for: its offer. -EINVAL: there is no such. */
int offers_find(const struct share_server *server, struct member *member,
		struct error *err);

/* What a sample of the stream is called in the member's data set. */
uint32_t offers_number(const struct share_server *server, const struct member *member,
		       uint32_t sample);

/* ---- order_course.c ---- */

/* With the lock: a seat for a member that is an owner of the cut. */
int course_sit(struct share_server *server, struct member *member, int cut,
	       uint64_t start, struct error *err);

/* ---- rest.c: jobs that are dropped ---- */

/* With the lock: tells it the rest of its epoch, and drops it. 0; -ENOMEM, or what
 * protocol_send() says: then it is not dropped. */
int rest_drop(struct share_server *server, struct member *member);

/* ---- heir.c ---- */

/* With the lock. */
void heir_save(struct share_server *server);
int heir_hello(struct share_server *server, struct member *member, struct error *err);
void heir_give_up(struct share_server *server); /* waiting for those not back yet */

/* ---- conducted.c: the session of a dsa run decides what batches are made of ---- */

bool conducted_is(const struct share_server *server);
bool conducted_over(const struct share_server *server); /* the run has ended */
int conducted_open(struct share_server *server, struct error *err);
void conducted_close(struct share_server *server);

/* ---- policy.c ---- */

void policy_tick(struct share_server *server, uint64_t now);
uint64_t policy_interval(const struct share_server *server); /* ns; 0: no tick */
void policy_tell(struct share_server *server, uint64_t now); /* what is not told yet */
void policy_refused(struct share_server *server, enum refusal why, uint64_t now);
void policy_audit(struct share_server *server);
void policy_end(struct share_server *server, uint64_t now); /* has the data ended? */

/* ---- gauges.c ---- */

/* A job with a seat leaves: what it had, which is told of for a while. */
const struct share_job_figures *gauges_keep(struct share_server *server,
					    const struct member *member);
int gauges_json(struct share_server *server, char **text);
int gauges_http(struct share_server *server, const char *request, char **answer,
		size_t *bytes);

#endif
