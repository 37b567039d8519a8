/* failover.c - what a server leaves to the next one, and how it goes on for one that died. */
#include "loader/base/clock.h"
#include "loader/share/server/server_state.h"
#include "loader/share/wire/takeover.h"
#include "loader/source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void fill_head(const struct share_server *server, struct takeover_head *head)
{
	const struct bcast_place *last = NULL;
	uint64_t published = bcast_published(server->ring);

	if (published > 0)
		last = bcast_place(server->ring, published - 1);
	*head = (struct takeover_head){
		.generation = server->generation,
		.digest = server->digest,
		.seed = server->options.seed,
		.end_epoch = server_end_epoch(server),
		.samples = server_samples(server),
		.in_order = server->options.in_order,
		.mode = server->config.mode,
		.round = server->round,
		.start = server->start,
		.lap = last != NULL ? last->lap : server->start.lap,
	};
	memcpy(head->entries, server->entries, sizeof(head->entries));
}

void failover_save(struct share_server *server)
{
	struct takeover_head head;
	size_t bytes;

	fill_head(server, &head);
	bytes = takeover_write(&head, server->shared, server->state);
	bcast_save(server->ring, server->state, bytes);
}

/* ---- going on ---- */

static int failover_check(const struct share_server *server,
			  const struct takeover *takeover, uint64_t generation,
			  struct error *err)
{
	const struct takeover_head *head = &takeover->head;
	const char *what = NULL;

	if (head->generation != generation)
		what = "comes from yet another loader";
	else if (head->digest != server->digest ||
		 head->samples != server_samples(server))
		what = "had other data";
	else if (head->seed != server->options.seed ||
		 (head->in_order != 0) != server->options.in_order)
		what = "had another order (--seed, --in-order)";
	else if (head->mode != server->config.mode)
		what = "had another --mode";
	else if (head->end_epoch != server_end_epoch(server))
		what = "had other --epochs";
	return what == NULL ? 0
			    : error_set(err, ESTALE,
					"cannot take over: the loader before %s", what);
}

struct return_of {
	struct share_server *server;
	const struct takeover_head *head;
	struct error err;
	int result;
};

/* Those that had a slot keep their place in the stream until they are back. */
static void reserve_slots(void *context, const struct pipeline_point *next)
{
	struct return_of *back = context;
	struct share_server *server = back->server;

	(void)next;
	server->round = back->head->round;
	for (uint32_t slot = 0; slot < BCAST_READERS && back->result == 0; slot++) {
		struct client *reserved;

		if (back->head->entries[slot] < 0)
			continue;
		reserved = client_new(server);
		if (reserved == NULL) {
			back->result =
				error_sys(&back->err, ENOMEM, "cannot take over");
			return;
		}
		reserved->state = CLIENT_RESERVED;
		reserved->old_slot = slot;
		reserved->dataset = server->datasets;
		server->reserved++;
		back->result =
			scheduler_attach(server, reserved, back->head->entries[slot],
					 server->taken_over_at, &back->err);
	}
	failover_save(server);
}

static int go_on(struct share_server *server, struct takeover *takeover,
		 uint64_t published, struct error *err)
{
	struct return_of back = {.server = server, .head = &takeover->head};
	int result;

	server_close_stream(server);
	shared_epoch_take_back(takeover->shared, takeover->point.lap);
	result = server_open_stream(server, takeover->shared, &takeover->point,
				    published, err);
	takeover->shared = NULL; /* the server's */
	if (result < 0)
		return result;
	server->taken_over = takeover->head.generation;
	server->taken_over_at = published;
	server->awaiting = false;
	server->reserved_until_ns =
		clock_now() + (uint64_t)(server->config.takeover_s * 1e9);
	server_locked(server, reserve_slots, &back);
	if (back.result < 0)
		*err = back.err;
	return back.result;
}

static int failover_take_over(struct share_server *server, int fd, uint64_t generation,
			      struct error *err)
{
	struct takeover takeover = {0};
	struct bcast_orphan *orphan = &server->orphan;
	int result = bcast_orphan_open(fd, orphan, err);

	if (result < 0)
		return result;
	result = takeover_read(orphan, &takeover, err);
	if (result == 0)
		result = failover_check(server, &takeover, generation, err);
	if (result == 0) {
		result = go_on(server, &takeover, orphan->published, err);
		if (result < 0) /* the stream is gone: there is no way back */
			server_fail(server, err);
		else
			server_log(server, "took over at sample %llu of the stream",
				   (unsigned long long)orphan->published);
	}
	takeover_fini(&takeover);
	if (result < 0)
		bcast_orphan_close(orphan);
	return result;
}

static struct client *find_reserved(struct share_server *server, uint32_t old_slot)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *client = server->clients[i];

		if (client != NULL && client->state == CLIENT_RESERVED &&
		    client->old_slot == old_slot)
			return client;
	}
	return NULL;
}

/* Places until its epoch's end, from where this server goes on. */
static uint64_t remaining_here(const struct share_server *server,
			       const struct client *client)
{
	const struct protocol_resume_point *resume = &client->hello.resume;
	uint64_t remaining = resume->remaining;

	for (uint64_t at = resume->next; at < server->taken_over_at; at++) {
		const struct bcast_place *place =
			bcast_orphan_place(&server->orphan, at);

		if (place == NULL || (place->flags & (BCAST_GAP | BCAST_REPEATED)) ||
		    (place->readers >> resume->slot & 1) == 0)
			continue;
		if (--remaining == 0)
			remaining = resume->epoch_places;
	}
	return remaining;
}

/* What it says of itself must be possible. */
static bool failover_fits(const struct share_server *server,
			  const struct protocol_resume_point *resume)
{
	return server->taken_over == resume->generation &&
	       resume->slot < BCAST_READERS &&
	       resume->next + server->orphan.count >= server->taken_over_at &&
	       resume->next <= server->taken_over_at + server->orphan.count &&
	       resume->remaining > 0 && resume->epoch_places == server_samples(server);
}

struct inheriting {
	struct share_server *server;
	struct client *reserved, *client;
	struct error err;
	int result;
};

/* A job that was to begin with what the loader before did not publish any more: its
 * ghost was seated too early. */
static void attach_later(struct inheriting *inheriting)
{
	struct share_server *server = inheriting->server;
	struct client *client = inheriting->client;

	inheriting->result = bcast_attach(server->ring, client->hello.resume.next,
					  &client->handles, &inheriting->err);
	if (inheriting->result < 0)
		return;
	client->slot = (uint32_t)inheriting->result;
	client->released = client->hello.resume.next;
	server->entries[client->slot] = inheriting->reserved->entry;
	server->entries[inheriting->reserved->slot] = -1;
}

static void take_slot(struct inheriting *inheriting)
{
	struct client *reserved = inheriting->reserved, *client = inheriting->client;

	client->slot = reserved->slot;
	client->handles = reserved->handles;
	client->released = reserved->released;
	reserved->attached = false;
}

static void failover_inherit(void *context, const struct pipeline_point *next)
{
	struct inheriting *inheriting = context;
	struct client *reserved = inheriting->reserved, *client = inheriting->client;

	(void)next;
	if (client->hello.resume.next > inheriting->server->taken_over_at)
		attach_later(inheriting);
	else
		take_slot(inheriting);
	if (inheriting->result < 0)
		return;
	client->attached = true;
	client->entry = reserved->entry;
	client->audit = reserved->audit;
	client->remaining = client->hello.resume.remaining;
	reserved->entry = -1;
	reserved->audit = NULL;
	if (client->audit != NULL)
		audit_inherit(client->audit, client->name, client->handles.start,
			      remaining_here(inheriting->server, client));
}

int failover_join(struct share_server *server, struct client *client, struct error *err)
{
	const struct protocol_resume_point *resume = &client->hello.resume;
	struct inheriting inheriting = {.server = server, .client = client};
	int fd = protocol_take_fd(&client->inbox), result = 0;

	if (server->awaiting)
		result = fd < 0 ? error_set(err, EINVAL,
					    "the job came without its memory")
				: failover_take_over(server, fd, resume->generation,
						     err);
	if (fd >= 0)
		close(fd);
	if (result < 0)
		return result;
	inheriting.reserved = find_reserved(server, resume->slot);
	if (inheriting.reserved == NULL || !failover_fits(server, resume))
		return error_set(err, ESTALE,
				 "this loader cannot go on where the one before "
				 "stopped: it began anew or gave up waiting");
	server_locked(server, failover_inherit, &inheriting);
	if (inheriting.result < 0) {
		*err = inheriting.err;
		return inheriting.result;
	}
	client_end(server, inheriting.reserved, NULL);
	join_welcome(server, client);
	return 0;
}

void failover_give_up(struct share_server *server)
{
	unsigned lost = 0;

	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *client = server->clients[i];

		if (client == NULL || client->state != CLIENT_RESERVED)
			continue;
		lost++;
		client_end(server, client, NULL);
	}
	bcast_orphan_close(&server->orphan);
	if (lost > 0)
		server_log(server, "%u of the jobs before did not come back in %.3g s",
			   lost, server->config.takeover_s);
}
