/* scheduler_epoch.c - jobs on one data set: where they begin, what they miss when they are
 * dropped, and what another loader needs to go on (failover.c). */
#include "loader/share/server/server_state.h"

#include <errno.h>
#include <stdlib.h>

static struct shared_epoch_config config_of(const struct share_server *server)
{
	return (struct shared_epoch_config){
		.count = server_samples(server),
		.seed = server->options.seed,
		.in_order = server->options.in_order,
		.end_epoch = server_end_epoch(server),
	};
}

static int scheduler_epoch_check(const struct share_server *server, struct error *err)
{
	(void)server;
	(void)err;
	return 0;
}

static int open_epoch(struct share_server *server, struct error *err)
{
	const struct shared_epoch_config config = config_of(server);

	server->shared = shared_epoch_open(&config, err);
	server->round = -1;
	return server->shared != NULL ? 0 : -err->code;
}

static void close_epoch(struct share_server *server)
{
	shared_epoch_close(server->shared);
	server->shared = NULL;
}

static struct plan *scheduler_epoch_plan(const struct share_server *server)
{
	return shared_epoch_plan(server->shared);
}

/* ---- where jobs begin ---- */

static int scheduler_epoch_attach(struct share_server *server, struct client *client,
				  int entry, uint64_t start, struct error *err)
{
	int result = join_attach(server, client, start, err);

	if (result < 0)
		return result;
	client->entry = entry;
	server->entry_starts[entry].owners++;
	return 0;
}

/* Who waits for its next pass would wait for ever. */
static void end_round(struct share_server *server)
{
	server->round = -1;
	if (server->queued_count > 0)
		publish_hook_notify(&server->hook);
}

static void scheduler_epoch_leave(struct share_server *server, struct client *client)
{
	if (client->entry < 0)
		return;
	shared_epoch_put(server->shared, (unsigned)client->entry);
	if (--server->entry_starts[client->entry].owners == 0) {
		server->entry_starts[client->entry] = (struct entry_start){0};
		if (server->round == client->entry)
			end_round(server);
	}
	client->entry = -1;
}

/* The cut that began last of those that are still in the ring; -1: none. */
static int recent_entry(const struct share_server *server)
{
	uint64_t tail = bcast_tail(server->ring);
	int found = -1;

	for (int entry = 0; entry < SHARED_EPOCH_ENTRIES; entry++) {
		const struct entry_start *at = &server->entry_starts[entry];

		if (at->owners > 0 && at->known && at->sequence >= tail &&
		    (found < 0 || at->sequence > server->entry_starts[found].sequence))
			found = entry;
	}
	return found;
}

/* A cut where the pipeline stands. */
static int new_entry(struct share_server *server, const struct pipeline_point *next,
		     struct error *err)
{
	uint32_t position =
		next->stolen > next->position ? next->stolen : next->position;
	int entry = shared_epoch_enter(server->shared, next->pass, position);

	if (entry < 0) {
		error_set(err, -entry,
			  "no more jobs can begin at the moment: try again");
		return entry;
	}
	server->entry_starts[entry] = (struct entry_start){
		.owners = server->entry_starts[entry].owners,
		.known = true,
		.pass = shared_epoch_began(server->shared, (unsigned)entry),
		.sequence = bcast_reserved(server->ring),
		.voids = position - next->position,
	};
	return entry;
}

/* The client is an owner of the cut then. */
static int attach_at(struct share_server *server, struct client *client, int entry,
		     struct error *err)
{
	const struct entry_start *at = &server->entry_starts[entry];
	int result;

	client->voids = at->voids;
	client->remaining = server_samples(server) + at->voids;
	result = scheduler_epoch_attach(server, client, entry, at->sequence, err);
	if (result < 0)
		shared_epoch_put(server->shared, (unsigned)entry);
	return result;
}

static int scheduler_epoch_begin(struct share_server *server, struct client *client,
				 const struct pipeline_point *next, struct error *err)
{
	int entry = recent_entry(server), result = -EINVAL;

	if (entry >= 0) {
		shared_epoch_ref(server->shared, (unsigned)entry);
		result = attach_at(server, client, entry, err);
	}
	if (result == -EINVAL) { /* none, or readers have just let it go */
		entry = new_entry(server, next, err);
		result = entry < 0 ? entry : attach_at(server, client, entry, err);
	}
	if (result == 0 && server->round < 0)
		server->round = entry;
	return result;
}

/* Who gets no slot waits for the next one. */
static void join_round(struct share_server *server)
{
	unsigned waiting = 0;

	for (unsigned i = 0; i < server->queued_count; i++) {
		struct client *client = server->queued[i];
		struct error err = {0};

		shared_epoch_ref(server->shared, (unsigned)server->round);
		if (attach_at(server, client, server->round, &err) < 0)
			server->queued[waiting++] = client;
	}
	server->queued_count = waiting;
}

/* Whoever is to begin here must have a slot before readers can let it go. */
static void begin_at(struct share_server *server, int entry, uint64_t pass)
{
	struct entry_start *start = &server->entry_starts[entry];

	/* an earlier cut may have had that number */
	if (start->owners == 0 || pass < start->pass)
		return;
	start->known = true;
	start->sequence = bcast_published(server->ring);
	start->voids = 0;
	if (entry != server->round || server->queued_count == 0)
		return;
	join_round(server);
	publish_hook_notify(&server->hook);
}

static void begin_pass(struct share_server *server, uint64_t pass)
{
	int entry = shared_epoch_entry_of(server->shared, pass);

	if (entry >= 0)
		begin_at(server, entry, pass);
}

static bool scheduler_epoch_wanted(const struct share_server *server)
{
	(void)server;
	return true;
}

const struct scheduler_ops scheduler_epoch = {
	.check = scheduler_epoch_check,
	.open = open_epoch,
	.close = close_epoch,
	.plan = scheduler_epoch_plan,
	.begin = scheduler_epoch_begin,
	.leave = scheduler_epoch_leave,
	.pass = begin_pass,
	.wanted = scheduler_epoch_wanted,
};
