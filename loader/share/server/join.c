/*
 * join.c - where a job begins: at a place where others began and that is still there,
 * or at the next one that nobody has prepared yet.
 */
#include "loader/base/clock.h"
#include "loader/base/name.h"
#include "loader/gpu.h"
#include "loader/prep.h"
#include "loader/share/server/server_state.h"
#include "loader/share/wire/join_request.h"
#include "loader/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- whether it fits ---- */

/* No option of dsa serve says another mean or deviation. */
static bool join_has_own_scale(const struct prep_config *image)
{
	for (int i = 0; i < 3; i++)
		if (image->mean[i] != prep_defaults.mean[i] ||
		    image->std[i] != prep_defaults.std[i])
			return image->type != PREP_U8;
	return false;
}

/* The command for a loader that makes what the job wants, if its options can say it. */
static void join_command(const struct protocol_hello *hello,
			 const struct prep_config *image, char *text, size_t room)
{
	static const char plain[] = "dsa serve DATASET --socket PATH";

	if (strcmp(hello->prep, "image") == 0 && !join_has_own_scale(image))
		snprintf(text, room, "%s --size %u --layout %s --type %s%s", plain,
			 hello->size, hello->layout == DSA_NHWC ? "nhwc" : "nchw",
			 prep_type_names[image->type],
			 hello->evaluate != 0 ? " --evaluate" : "");
	else if (strcmp(hello->prep, "tokens") == 0)
		snprintf(text, room, "DSA_LOADER=prep=tokens,length=%u,type=%s%s %s",
			 image->length, prep_type_names[image->type],
			 image->token_bits == 0 ? "" : ",token_bits=32", plain);
	else if (strcmp(hello->prep, "audio") == 0)
		snprintf(text, room,
			 "DSA_LOADER=prep=audio,seconds=%g,rate=%u,features=%s %s",
			 image->seconds, image->rate,
			 image->features == PREP_LOGMEL ? "logmel" : "waveform", plain);
	else
		snprintf(text, room, "%s", plain);
}

static int join_check_output(const struct share_server *server,
			     const struct protocol_hello *hello, struct error *err)
{
	char theirs[PREP_OUTPUT], command[128];
	struct prep_config image;
	int result = join_request_image(hello, &image, err);

	if (result < 0)
		return result;
	prep_output(&image, theirs);
	if (server->config.decoded || strcmp(theirs, server->output) == 0)
		return 0;
	join_command(hello, &image, command, sizeof(command));
	return error_set(err, EINVAL,
			 "the loader makes '%s', the job wants '%s': start one for it: "
			 "%s",
			 server->output, theirs, command);
}

static int join_check_order(const struct share_server *server,
			    const struct protocol_hello *hello, struct error *err)
{
	bool blocks = hello->shuffle == DSA_BLOCKS;

	if ((hello->in_order != 0) == server->options.in_order &&
	    (hello->in_order != 0 || blocks == server->options.shuffle_blocks))
		return 0;
	if ((hello->in_order != 0) == server->options.in_order)
		return error_set(err, EINVAL,
				 "the loader shuffles %s, the job wants %s: start one "
				 "for it: dsa serve DATASET --socket PATH --shuffle=%s",
				 blocks ? "all samples at once" : "blocks",
				 blocks ? "blocks" : "a global shuffle",
				 blocks ? "blocks" : "global");
	return error_set(
		err, EINVAL,
		server->options.in_order
			? "the loader keeps the order, the job shuffles: start one for "
			  "it: dsa serve DATASET --socket PATH"
			: "the loader shuffles, the job wants no shuffle: start one "
			  "for it: dsa serve DATASET --socket PATH --in-order");
}

/* Two batches of a job, the one that it holds and the one that it waits for, and one of
 * the pipeline must have room. */
static int join_check_batch(const struct share_server *server, uint32_t batch,
			    struct error *err)
{
	uint32_t places = server->stream.ring != NULL
				  ? bcast_places(server->stream.ring)
				  : server->config.window * server->options.batch;
	uint32_t most = (places - server->options.batch) / 2;

	if (batch >= 1 && batch <= most)
		return 0;
	return error_set(
		err, EINVAL,
		"batches of %u do not fit into a window of %u samples: at most "
		"%u, or more with dsa serve --batch",
		batch, places, most);
}

/* Nobody is silent who was not listened to. */
static void join_forgive_silence(struct share_server *server)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *client = server->clients.at[i];

		if (client != NULL && client->state == CLIENT_PENDING)
			client->since_ns = clock_now();
	}
}

/* To allocate a large window can take longer than the job waits for an answer. */
static int join_open_stream(struct share_server *server, const struct client *first,
			    struct error *err)
{
	int result = protocol_send(first->socket, PROTOCOL_WAIT, NULL, 0, NULL, 0);

	if (result < 0)
		return error_sys(err, -result, "the job hung up");
	result = recipe_open(server, err);
	join_forgive_silence(server);
	return result;
}

static int join_check_samples(struct share_server *server, const struct client *client,
			      struct error *err)
{
	const struct protocol_hello *hello = &client->hello;
	bool first = server->stream.ring == NULL;
	int result = first ? recipe_follow(server, hello, err) : 0;

	if (result == 0)
		result = join_check_output(server, hello, err);
	if (result == 0)
		result = join_check_order(server, hello, err);
	if (result == 0)
		result = join_check_batch(server, hello->batch, err);
	return result == 0 && first ? join_open_stream(server, client, err) : result;
}

static int join_check(struct share_server *server, struct client *client,
		      struct error *err)
{
	const struct protocol_hello *hello = &client->hello;

	if (hello->version != PROTOCOL_VERSION)
		return error_set(
			err, EPROTO,
			"the loader speaks version %d, the job version %u: use "
			"one dsa for both",
			PROTOCOL_VERSION, hello->version);
	if (hello->world != 1)
		return error_set(err, EINVAL,
				 "world is %u: a shared loader gives every job all of "
				 "the data set: leave out world",
				 hello->world);
	if (datasets_find(&server->datasets, client, err) < 0)
		return -err->code;
	return join_check_samples(server, client, err);
}

/* ---- WELCOME ---- */

/* Its batches go to the device that the samples are on. */
static bool join_is_mirrored(const struct share_server *server,
			     const struct client *client)
{
	struct gpu_uuid uuid;

	if (server->gpu == NULL)
		return false;
	uuid = gpu_uuid(server->gpu);
	return memcmp(uuid.bytes, client->hello.device, sizeof(uuid.bytes)) == 0;
}

static void join_fill(const struct share_server *server, const struct client *client,
		      struct protocol_welcome *welcome)
{
	const struct source *source = client->dataset->source;

	*welcome = (struct protocol_welcome){
		.version = PROTOCOL_VERSION,
		.slot = client->slot,
		.start = client->handles.start,
		.epoch_places = source_count(source),
		.remaining = client->remaining,
		.seed = server->options.seed,
		.dataset_samples = source_count(source),
		.dataset_bytes = source_facts(source)->bytes,
		.sample_bytes = prep_sample_bytes(server->parts.prep),
		.classes = source_facts(source)->classes,
		.workers = server->options.workers,
		.audit = server->stream.audit != NULL,
		.decoded = server->config.decoded,
		.server_pid = (uint32_t)getpid(),
		.mirrored = join_is_mirrored(server, client),
	};
	memcpy(welcome->output, server->output, sizeof(welcome->output));
	memcpy(welcome->dataset, client->dataset->name, sizeof(welcome->dataset));
	if (source_facts(source)->features != NULL)
		snprintf(welcome->features, sizeof(welcome->features), "%s",
			 source_facts(source)->features);
}

static void join_welcome(struct share_server *server, struct client *client)
{
	const struct dataset *dataset = client->dataset;
	int fds[PROTOCOL_FDS] = {bcast_fd(server->stream.ring), client->handles.page,
				 client->handles.event, dataset->classes};
	unsigned count = 4;
	struct protocol_welcome welcome;

	join_fill(server, client, &welcome);
	if (welcome.mirrored)
		fds[count++] = bcast_mirror_fd(server->stream.ring);
	if (dataset->id_map >= 0)
		fds[count++] = dataset->id_map;
	server->clients.pending--;
	server->clients.attached++;
	server->clients.came++;
	client->state = CLIENT_READING;
	client->since_ns = clock_now();
	if (client_watch(server, client, client->handles.event, EVENT_ROOM) < 0 ||
	    protocol_send(client->socket, PROTOCOL_WELCOME, &welcome, sizeof(welcome),
			  fds, count) < 0) {
		client_end(server, client, "did not take its welcome");
		return;
	}
	server_log(server, "%s (pid %d) joined: batches of %u, %u %s now", client->name,
		   (int)client->pid, client->hello.batch, server->clients.attached,
		   server->clients.attached == 1 ? "job" : "jobs");
}

/* ---- those that wait ---- */

/* 1: it waits for the next round. */
static int join_begin(struct share_stream *stream, struct client *client,
		      struct error *err)
{
	int result = 1;

	share_stream_lock(stream);
	if (stream->config->mode == SHARE_LOCKSTEP && stream->begun &&
	    stream->round >= 0) {
		stream->queued[stream->queued_count++] = client;
		client->queued = true;
	} else {
		result = stream->scheduler->begin(stream, client, err);
	}
	share_stream_unlock(stream);
	return result;
}

static void join_refuse(struct share_server *server, struct client *client,
			const struct error *err)
{
	struct protocol_refused refused = {{0}};

	snprintf(refused.why, sizeof(refused.why), "%s", err->message);
	protocol_send(client->socket, PROTOCOL_REFUSED, &refused, sizeof(refused), NULL,
		      0);
	server->clients.unfit++;
	server_log(server, "%s (pid %d) was refused: %s", client->name,
		   (int)client->pid, err->message);
	client_end(server, client, NULL);
}

static void join_client(struct share_server *server, struct client *client)
{
	struct error err = {0};
	int result = join_begin(&server->stream, client, &err);

	if (result < 0)
		join_refuse(server, client, &err);
	else if (result == 0)
		join_welcome(server, client);
	/* with nobody there the window stayed full: what is behind it is free now */
	server->released = true;
}

/* The jobs of the round left: those in line make one of their own, where the pipeline
 * stands. A client that gets no slot tries again, alone. With the lock. */
static void join_begin_queued(struct share_server *server)
{
	struct share_stream *stream = &server->stream;

	if (stream->round >= 0 || stream->queued_count == 0)
		return;
	for (unsigned i = 0; i < stream->queued_count; i++) {
		struct client *client = stream->queued[i];
		struct error err = {0};

		client->queued = false;
		(void)stream->scheduler->begin(stream, client, &err);
	}
	stream->queued_count = 0;
	server->released = true;
}

enum join_next { JOIN_NOTHING, JOIN_WELCOME, JOIN_BEGIN };

/* What is to be done with a client. With the lock. */
static enum join_next join_look(struct client *client)
{
	if (client == NULL || client->state != CLIENT_WAITING)
		return JOIN_NOTHING;
	if (!client->attached)
		return client->queued ? JOIN_NOTHING : JOIN_BEGIN;
	client->queued = false;
	return JOIN_WELCOME;
}

/* Until the lock is had a round may begin in a prep thread, which attaches clients. */
static void join_waiting(struct share_server *server)
{
	enum join_next next[CLIENTS];

	share_stream_lock(&server->stream);
	join_begin_queued(server);
	for (unsigned i = 0; i < CLIENTS; i++)
		next[i] = join_look(server->clients.at[i]);
	share_stream_unlock(&server->stream);
	for (unsigned i = 0; i < CLIENTS; i++)
		if (next[i] == JOIN_WELCOME)
			join_welcome(server, server->clients.at[i]);
		else if (next[i] == JOIN_BEGIN)
			join_client(server, server->clients.at[i]);
}

void join_ready(struct share_server *server)
{
	unsigned waiting = 0;

	if (server->await_until_ns != 0 || server->stream.ended)
		return;
	for (unsigned i = 0; i < CLIENTS; i++)
		waiting += server->clients.at[i] != NULL &&
			   server->clients.at[i]->state == CLIENT_WAITING;
	if (!server->stream.begun && !server->resumed && waiting < server->config.jobs)
		return;
	join_waiting(server);
	if (!server->stream.begun && server->clients.attached > 0)
		share_stream_begin(&server->stream, server->profiled.windows == NULL);
}

/* ---- HELLO and its answer ---- */

static void join_copy_hello(struct client *client, const struct protocol_hello *hello)
{
	client->hello = *hello;
	client->hello.prep[sizeof(hello->prep) - 1] = '\0';
	client->hello.dataset[sizeof(hello->dataset) - 1] = '\0';
	client->hello.job[sizeof(hello->job) - 1] = '\0';
	name_escape(client->hello.job[0] != '\0' ? client->hello.job : "a job",
		    client->name, sizeof(client->name));
}

static int join_hear(struct share_server *server, struct client *client,
		     struct error *err)
{
	int result;

	if (server->stream.ended)
		return error_set(err, ENODATA,
				 "the data of this loader ended: start another one");
	result = join_check(server, client, err);
	if (result < 0)
		return result;
	if (client->hello.resumes != 0 && server->await_until_ns != 0) {
		server_log(server, "took over: jobs of the loader before are back");
		server->await_until_ns = 0;
		server->resumed = true;
	}
	client->state = CLIENT_WAITING;
	return 0;
}

/* It must not think that nobody is there. */
static void join_send_wait(struct share_server *server, struct client *client)
{
	if (client->state == CLIENT_WAITING &&
	    protocol_send(client->socket, PROTOCOL_WAIT, NULL, 0, NULL, 0) < 0)
		client_end(server, client, NULL);
}

void join_hello(struct share_server *server, struct client *client,
		const struct protocol_hello *hello)
{
	unsigned at = client->at;
	uint64_t serial = client->serial;
	struct error err = {0};
	int result;

	join_copy_hello(client, hello);
	result = join_hear(server, client, &err);
	if (result < 0)
		join_refuse(server, client, &err);
	join_ready(server);
	client = client_find(&server->clients, at, serial);
	if (result == 0 && client != NULL)
		join_send_wait(server, client);
}
