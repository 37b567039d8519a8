/*
 * join.c - where a job begins: at a place where others began and that is still there, or
 * at the next one that nobody has prepared yet.
 */
#include "loader/base/clock.h"
#include "loader/base/name.h"
#include "loader/share/server/server_state.h"
#include "loader/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- whether it fits ---- */

static int other_output(const struct share_server *server,
			const struct protocol_hello *hello, struct error *err)
{
	char theirs[80];

	name_escape(hello->output, theirs, sizeof(theirs));
	return error_set(err, EINVAL, "the loader makes '%s', the job wants '%s'",
			 server->output, theirs);
}

/* Two batches of a job, the one that it holds and the one that it waits for, and one of
 * the pipeline must have room. */
static int check_batch(const struct share_server *server, uint32_t batch,
		       struct error *err)
{
	uint32_t places = feed_places(server->feed);
	uint32_t most = (places - server->options.batch) / 2;

	if (batch >= 1 && batch <= most)
		return 0;
	return error_set(
		err, EINVAL,
		"batches of %u do not fit into a window of %u samples: at most "
		"%u, or more with dsa serve --window",
		batch, places, most);
}

static int join_check(const struct share_server *server, struct member *member,
		      struct error *err)
{
	const struct protocol_hello *hello = &member->hello;

	if (hello->version != PROTOCOL_VERSION)
		return error_set(
			err, EPROTO,
			"the loader speaks version %d, the job version %u: use "
			"one dsa for both",
			PROTOCOL_VERSION, hello->version);
	if (hello->world != 1)
		return error_set(err, EINVAL,
				 "world is %u: a shared loader gives every job all of "
				 "the data set",
				 hello->world);
	if (offers_find(server, member, err) < 0)
		return -err->code;
	if (!server->config.decoded &&
	    (strcmp(hello->output, server->output) != 0 ||
	     hello->sample_bytes != prep_sample_bytes(server->parts.prep)))
		return other_output(server, hello, err);
	if ((hello->in_order != 0) != server->options.in_order)
		return error_set(
			err, EINVAL, "the loader %s, the job wants it otherwise",
			server->options.in_order ? "keeps the order" : "shuffles");
	return check_batch(server, hello->batch, err);
}

/* ---- seats; with the lock ---- */

static void join_open_audit(struct share_server *server, struct member *member)
{
	const struct audit_config config = {
		.name = member->name,
		.seat = member->seat,
		.start = member->chair.start,
		.remaining = member->remaining,
		.voids = member->voids,
		.partial = member->state == MEMBER_GHOST,
		.samples = source_count(member->offer->source),
		.sets = server->joader != NULL ? source_parts(server->parts.source)
					       : NULL,
		.set = (unsigned)(member->offer - server->offers),
	};

	if (server->audit != NULL)
		member->audit = audit_join(server->audit, &config);
}

int join_sit(struct share_server *server, struct member *member, uint64_t start,
	     struct error *err)
{
	int seat = feed_sit(server->feed, start, &member->chair, err);

	if (seat < 0)
		return seat;
	member->seat = (uint32_t)seat;
	member->released = start;
	member->sat = true;
	join_open_audit(server, member);
	return 0;
}

void join_stand(struct share_server *server, struct member *member)
{
	/* Once the data ended nothing waits for a seat, and who is told of the end is not
	 * to take it for a drop. */
	if (!server->ended)
		feed_stand(server->feed, member->seat);
	member->sat = false;
	server->order->leave(server, member);
}

/* ---- those that wait ---- */

struct joining {
	struct share_server *server;
	struct member *member;
	struct error err;
	int result; /* 1: it waits for the next round */
};

static void join_locked(void *context, const struct pipeline_point *next)
{
	struct joining *joining = context;
	struct share_server *server = joining->server;

	if (server->config.mode == SHARE_LOCKSTEP && server->begun &&
	    server->round >= 0) {
		server->in_line[server->in_line_count++] = joining->member;
		joining->member->in_line = true;
		joining->result = 1;
	} else {
		joining->result = server->order->begin(server, joining->member, next,
						       &joining->err);
	}
}

static void join_refuse(struct share_server *server, struct member *member,
			const struct error *err)
{
	struct protocol_refused refused = {{0}};

	snprintf(refused.why, sizeof(refused.why), "%s", err->message);
	protocol_send(member->socket, PROTOCOL_REFUSED, &refused, sizeof(refused), NULL,
		      0);
	server_tell(server, "%s (pid %d) was refused: %s", member->name,
		    (int)member->pid, err->message);
	member_end(server, member, NULL);
}

static void join_client(struct share_server *server, struct member *member)
{
	struct joining joining = {.server = server, .member = member};

	server_locked(server, join_locked, &joining);
	if (joining.result < 0)
		join_refuse(server, member, &joining.err);
	else if (joining.result == 0)
		join_welcome(server, member);
	/* with nobody there the window stayed full: what is behind it is free now */
	server->released = true;
}

/* The jobs of the round left: those in line make one of their own, where the pipeline
 * stands. Who gets no seat is asked again, alone. */
static void begin_line(void *context, const struct pipeline_point *next)
{
	struct share_server *server = context;

	if (server->round >= 0 || server->in_line_count == 0)
		return;
	for (unsigned i = 0; i < server->in_line_count; i++) {
		struct member *member = server->in_line[i];
		struct error err = {0};

		member->in_line = false;
		(void)server->order->begin(server, member, next, &err);
	}
	server->in_line_count = 0;
	server->released = true;
}

void join_ready(struct share_server *server)
{
	unsigned waiting = 0;

	if (server->awaiting || server->ended)
		return;
	for (unsigned i = 0; i < MEMBERS; i++)
		waiting += server->members[i] != NULL &&
			   server->members[i]->state == MEMBER_WAITING;
	if (!server->begun && server->taken_over == 0 && waiting < server->config.jobs)
		return;
	server_locked(server, begin_line, server);
	for (unsigned i = 0; i < MEMBERS; i++) {
		struct member *member = server->members[i];

		if (member == NULL || member->state != MEMBER_WAITING)
			continue;
		if (member->sat)
			join_welcome(server, member); /* its round begins */
		else if (!member->in_line)
			join_client(server, member);
	}
	server_begin(server);
}

/* ---- HELLO and its answer ---- */

static void join_fill(const struct share_server *server, const struct member *member,
		      struct protocol_welcome *welcome)
{
	const struct source *source = member->offer->source;

	*welcome = (struct protocol_welcome){
		.version = PROTOCOL_VERSION,
		.seat = member->seat,
		.generation = server->generation,
		.start = member->chair.start,
		.epoch_places = source_count(source),
		.remaining = member->remaining,
		.seed = server->options.seed,
		.dataset_samples = source_count(source),
		.dataset_bytes = source_bytes(source),
		.sample_bytes = prep_sample_bytes(server->parts.prep),
		.classes = source_classes(source),
		.workers = server->options.workers,
		.audit = server->audit != NULL,
		.decoded = server->config.decoded,
		.places = feed_places(server->feed),
		.server_pid = (uint32_t)getpid(),
	};
	memcpy(welcome->output, server->output, sizeof(welcome->output));
	memcpy(welcome->dataset, member->offer->name, sizeof(welcome->dataset));
}

void join_welcome(struct share_server *server, struct member *member)
{
	const struct offer *offer = member->offer;
	const int fds[PROTOCOL_FDS] = {feed_fd(server->feed), member->chair.page,
				       member->chair.event, offer->classes,
				       offer->numbers};
	struct protocol_welcome welcome;

	join_fill(server, member, &welcome);
	if (member->state != MEMBER_GHOST)
		server->guests--;
	server->seated++;
	server->came++;
	member->state = MEMBER_READING;
	member->in_line = false;
	member->since_ns = clock_now();
	if (server_watch(server, member->chair.event, EVENT_ROOM, member) < 0 ||
	    protocol_send(member->socket, PROTOCOL_WELCOME, &welcome, sizeof(welcome),
			  fds,
			  offer->numbers >= 0 ? PROTOCOL_FDS : PROTOCOL_FDS - 1) < 0) {
		member_end(server, member, "did not take its welcome");
		return;
	}
	server_tell(server, "%s (pid %d) joined: batches of %u, %u %s now",
		    member->name, (int)member->pid, member->hello.batch, server->seated,
		    server->seated == 1 ? "job" : "jobs");
}

static void copy_hello(struct member *member, const struct protocol_hello *hello)
{
	member->hello = *hello;
	member->hello.output[sizeof(hello->output) - 1] = '\0';
	member->hello.dataset[sizeof(hello->dataset) - 1] = '\0';
	member->hello.job[sizeof(hello->job) - 1] = '\0';
	name_escape(member->hello.job[0] != '\0' ? member->hello.job : "a job",
		    member->name, sizeof(member->name));
}

/* 1: it has its answer. */
static int join_hear(struct share_server *server, struct member *member,
		     struct error *err)
{
	int result = join_check(server, member, err);

	if (result < 0)
		return result;
	if (server->ended)
		return error_set(err, ENODATA, "the data of this loader ended");
	if (member->hello.stand.generation != 0) {
		result = heir_hello(server, member, err);
		return result < 0 ? result : 1;
	}
	member->state = MEMBER_WAITING;
	return 0;
}

/* It must not think that nobody is there. */
static void tell_to_wait(struct share_server *server, struct member *member)
{
	if (member->state == MEMBER_WAITING &&
	    protocol_send(member->socket, PROTOCOL_WAIT, NULL, 0, NULL, 0) < 0)
		member_end(server, member, NULL);
}

void join_hello(struct share_server *server, struct member *member,
		const struct protocol_hello *hello)
{
	unsigned at = member->at;
	uint64_t serial = member->serial;
	struct error err = {0};
	int result;

	copy_hello(member, hello);
	result = join_hear(server, member, &err);
	if (result < 0)
		join_refuse(server, member, &err);
	join_ready(server);
	member = member_find(server, at, serial);
	if (result == 0 && member != NULL)
		tell_to_wait(server, member);
}
