/* policy.c - what time brings: jobs that hold others up, guests that say nothing, lines
 * that are told together. */
#include "loader/base/clock.h"
#include "loader/share/server/server_state.h"

#define SECOND UINT64_C(1000000000)
#define MS     UINT64_C(1000000)

/* How long a connection may take to say who it is. */
#define HANDSHAKE_NS (5 * SECOND)
/* How long readers may take, without any progress, for what is left at the end. */
#define END_NS (10 * SECOND)

/* ---- lines ---- */

void policy_refused(struct share_server *server, enum refusal why, uint64_t now)
{
	static const char *const reasons[REFUSALS] = {
		[REFUSED_FULL] = "there are as many as there may be",
		[REFUSED_GONE] = "their processes had ended",
		[REFUSED_USER] = "of another user",
		[REFUSED_GARBAGE] = "what they said is no message of dsa's",
		[REFUSED_SILENT] = "they said nothing for 5 s",
	};
	struct refused *refused = &server->refused[why];

	if (refused->unlogged == 0 || (refused->logged_ns != 0 && !server->done &&
				       now - refused->logged_ns < SECOND))
		return;
	server_log(server, "refused %llu %s: %s (the last one of pid %d)",
		   (unsigned long long)refused->unlogged,
		   refused->unlogged == 1 ? "connection" : "connections", reasons[why],
		   (int)refused->pid);
	refused->unlogged = 0;
	refused->logged_ns = now;
}

struct skip_lines {
	struct share_server *server;
	struct skip_line logged[SKIPS_LOGGED];
	uint64_t count, more;
};

static void take_skips(void *context, const struct pipeline_point *next)
{
	struct skip_lines *lines = context;
	struct share_server *server = lines->server;

	(void)next;
	lines->count = server->skip_count;
	lines->more = server->skips_unlogged;
	for (uint64_t i = 0; i < lines->count; i++)
		lines->logged[i] = server->skips[i];
	server->skip_count = 0;
	server->skips_unlogged = 0;
}

static void log_skips(struct share_server *server)
{
	struct skip_lines lines = {.server = server};

	server_locked(server, take_skips, &lines);
	for (uint64_t i = 0; i < lines.count; i++)
		server_log(server, "skipped %s: %s", lines.logged[i].name,
			   lines.logged[i].reason);
	if (lines.more > 0)
		server_log(server, "skipped %llu more samples",
			   (unsigned long long)lines.more);
}

void policy_log(struct share_server *server, uint64_t now)
{
	for (int why = 0; why < REFUSALS; why++)
		policy_refused(server, (enum refusal)why, now);
	log_skips(server);
}

/* ---- who holds whom up ---- */

/* It could take a batch, or give one back. */
static bool policy_idle(const struct bcast_reader_state *slot,
			const struct client *client, uint64_t published)
{
	return slot->taken > slot->released ||
	       published - slot->taken >= client->hello.batch;
}

/* It has taken all that there is for it. */
static bool policy_starving(const struct bcast_reader_state *slot,
			    const struct client *client, uint64_t published)
{
	return slot->waiting && published - slot->taken < client->hello.batch;
}

static bool policy_counts(const struct client *client)
{
	return client != NULL && client->state == CLIENT_READING;
}

/* Somebody waits, and there is no room to prepare more for it. */
static bool somebody_starves(struct share_server *server, uint64_t published)
{
	if (bcast_full_since(server->ring) == 0)
		return false;
	for (unsigned i = 0; i < CLIENTS; i++) {
		const struct client *client = server->clients[i];
		struct bcast_reader_state slot;

		if (!policy_counts(client))
			continue;
		bcast_reader_state(server->ring, client->slot, &slot);
		if (policy_starving(&slot, client, published))
			return true;
	}
	return false;
}

/* Since when it has held others up, without giving anything back. */
static void watch_client(struct share_server *server, struct client *client,
			 bool starves, uint64_t now)
{
	uint64_t published = bcast_published(server->ring);
	struct bcast_reader_state slot;
	bool blocks;

	bcast_reader_state(server->ring, client->slot, &slot);
	blocks = starves && slot.released == bcast_tail(server->ring) &&
		 policy_idle(&slot, client, published);
	if (blocks && client->blocks)
		client->in_the_way_ns += now - server->watched_ns;
	if (!blocks)
		client->blocking_ns = 0;
	else if (client->blocking_ns == 0 || slot.released != client->released)
		client->blocking_ns = now;
	client->blocks = blocks;
	if (slot.released != client->released)
		server->progress_ns = now;
	client->released = slot.released;
}

static void watch_clients(struct share_server *server, uint64_t now)
{
	bool starves = somebody_starves(server, bcast_published(server->ring));
	uint64_t drop_ns = server->config.drop_ns;

	if (server->starves && starves)
		server->full_ns += now - server->watched_ns;
	server->starves = starves;
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *client = server->clients[i];

		if (!policy_counts(client))
			continue;
		watch_client(server, client, starves, now);
		if (drop_ns > 0 && client->blocking_ns != 0 &&
		    now - client->blocking_ns >= drop_ns)
			client_drop(server, client);
	}
}

/* ---- guests, the end ---- */

static void watch_pending(struct share_server *server, uint64_t now)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *client = server->clients[i];
		pid_t pid;

		if (client == NULL || client->state != CLIENT_PENDING ||
		    now - client->since_ns < HANDSHAKE_NS)
			continue;
		pid = client->pid;
		client_end(server, client, NULL);
		client_refuse(server, REFUSED_SILENT, pid);
	}
}

void policy_end(struct share_server *server, uint64_t now)
{
	struct error err = {0};
	int status;

	if (server->ended) {
		if (server->attached == 0 || now - server->progress_ns > END_NS)
			server->done = true;
		return;
	}
	if (!server->begun)
		return;
	status = pipeline_status(server->pipeline, &err);
	if (status < 0)
		server_fail(server, &err);
	else if (status > 0)
		server_end(server);
}

static void watch_return(struct share_server *server, uint64_t now)
{
	if (server->await_until_ns == 0 || now < server->await_until_ns)
		return;
	server->await_until_ns = 0;
	server_log(server, "nobody came back: the data begins anew");
	join_ready(server);
	if (server->config.leave && server->pending + server->attached == 0)
		server->done = true; /* the last job left before */
}

static void watch_rate(struct share_server *server, uint64_t now)
{
	uint64_t published = bcast_published(server->ring),
		 past = now - server->rated_ns;

	if (past < SECOND)
		return;
	server->rate = server->rated_ns > 0
			       ? (uint64_t)((double)(published - server->rated) * 1e12 /
					    (double)past)
			       : SHARE_UNKNOWN;
	server->rated = published;
	server->rated_ns = now;
}

static void audit_all(void *context, const struct pipeline_point *next)
{
	struct share_server *server = context;

	(void)next;
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *client = server->clients[i];
		struct bcast_reader_state slot;

		if (client == NULL || client->audit == NULL)
			continue;
		bcast_reader_state(server->ring, client->slot, &slot);
		audit_released(server->audit, client->audit, &slot);
	}
	audit_forget(server->audit, bcast_tail(server->ring));
}

void policy_audit(struct share_server *server)
{
	if (server->audit != NULL)
		server_locked(server, audit_all, server);
}

void policy_tick(struct share_server *server, uint64_t now)
{
	policy_log(server, now);
	watch_pending(server, now);
	watch_return(server, now);
	watch_clients(server, now);
	policy_audit(server);
	watch_rate(server, now);
	policy_end(server, now);
	server->watched_ns = now;
}

uint64_t policy_interval(const struct share_server *server)
{
	uint64_t drop = server->config.drop_ns / 8;
	bool unlogged = false;

	for (int why = 0; why < REFUSALS; why++)
		unlogged |= server->refused[why].unlogged > 0;
	if (server->audit != NULL && server->attached > 0)
		return 20 * MS;
	if (drop > 0 && drop < 100 * MS && server->attached > 1)
		return drop < 5 * MS ? 5 * MS : drop;
	if (server->attached > 0 || server->await_until_ns != 0)
		return 100 * MS;
	return server->pending > 0 || unlogged || server->ended ? 200 * MS : 0;
}
