/* policy.c - periodic checks: slow readers, silent connections, rate-limited log lines,
 * the end. */
#include "loader/base/clock.h"
#include "loader/share/server/server_state.h"

#define SECOND UINT64_C(1000000000)
#define MS     UINT64_C(1000000)

/* Limit for HELLO after connecting. */
#define HANDSHAKE_NS (5 * SECOND)
/* Limit without progress for readers that take what is left at the end. */
#define END_NS (10 * SECOND)

/* ---- lines ---- */

static void policy_log_skips(struct share_server *server)
{
	struct share_stream *stream = &server->stream;
	struct skip_lines taken;

	if (stream->pipeline == NULL)
		return;
	share_stream_lock(stream);
	taken = stream->skips;
	stream->skips.count = 0;
	stream->skips.more = 0;
	stream->skips.many = false;
	share_stream_unlock(stream);
	for (unsigned i = 0; i < taken.count; i++)
		server_log(server, "skipped %s: %s", taken.lines[i].name,
			   taken.lines[i].reason);
	if (taken.more > 0)
		server_log(server, "skipped %llu more samples",
			   (unsigned long long)taken.more);
	if (taken.many)
		server_log(server,
			   "epoch %llu lost over %d %% of its samples to reads that "
			   "failed: is the storage there? The next epoch tries them "
			   "again",
			   (unsigned long long)taken.epoch, 100 / PIPELINE_LOSSY);
}

void policy_log(struct share_server *server, uint64_t now)
{
	for (int why = 0; why < REFUSALS; why++)
		client_log_refused(server, (enum refusal)why, now);
	policy_log_skips(server);
}

/* ---- slow readers ---- */

/* It could take or release a batch. */
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
static bool policy_any_starves(struct share_server *server, uint64_t published)
{
	if (bcast_full_since(server->stream.ring) == 0)
		return false;
	for (unsigned i = 0; i < CLIENTS; i++) {
		const struct client *client = server->clients.at[i];
		struct bcast_reader_state slot;

		if (!policy_counts(client))
			continue;
		bcast_reader_state(server->stream.ring, client->slot, &slot);
		if (policy_starving(&slot, client, published))
			return true;
	}
	return false;
}

/* Since when it has held others up, without giving anything back. */
static void policy_watch_client(struct share_server *server, struct client *client,
				bool starves, uint64_t now)
{
	uint64_t published = bcast_published(server->stream.ring);
	struct bcast_reader_state slot;
	bool blocks;

	bcast_reader_state(server->stream.ring, client->slot, &slot);
	blocks = starves && slot.released == bcast_tail(server->stream.ring) &&
		 policy_idle(&slot, client, published);
	if (!blocks)
		client->blocking_ns = 0;
	else if (client->blocking_ns == 0 || slot.released != client->released)
		client->blocking_ns = now;
	client->blocks = blocks;
	if (slot.released != client->released)
		server->progress_ns = now;
	client->released = slot.released;
}

static void policy_watch_clients(struct share_server *server, uint64_t now)
{
	bool starves = policy_any_starves(server, bcast_published(server->stream.ring));
	uint64_t drop_ns = server->config.drop_ns;

	if (server->metrics.starves && starves)
		server->metrics.full_ns += now - server->watched_ns;
	server->metrics.starves = starves;
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *client = server->clients.at[i];

		if (!policy_counts(client))
			continue;
		policy_watch_client(server, client, starves, now);
		if (drop_ns > 0 && client->blocking_ns != 0 &&
		    now - client->blocking_ns >= drop_ns)
			client_drop(server, client);
	}
}

/* ---- silent connections, the end ---- */

static void policy_watch_pending(struct share_server *server, uint64_t now)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *client = server->clients.at[i];
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

	if (server->stream.ended) {
		if (server->clients.attached == 0 || now - server->progress_ns > END_NS)
			server->done = true;
		return;
	}
	if (!server->stream.begun)
		return;
	status = bcast_mirror_check(server->stream.ring, &err);
	if (status == 0)
		status = pipeline_status(server->stream.pipeline, &err);
	if (status < 0) {
		server->failure = err;
		server->result = -err.code;
	}
	if (status != 0 && share_stream_end(&server->stream, err.code, err.message))
		server->progress_ns = clock_now();
}

static void policy_watch_return(struct share_server *server, uint64_t now)
{
	if (server->await_until_ns == 0 || now < server->await_until_ns)
		return;
	server->await_until_ns = 0;
	server_log(server, "nobody came back: the data begins anew");
	join_ready(server);
	if (server->config.leave &&
	    server->clients.pending + server->clients.attached == 0)
		server->done = true; /* the last job left before */
}

static void policy_watch_rate(struct share_server *server, uint64_t now)
{
	uint64_t published = bcast_published(server->stream.ring),
		 past = now - server->metrics.rated_ns;

	if (past < SECOND)
		return;
	server->metrics.rate =
		server->metrics.rated_ns > 0
			? (uint64_t)((double)(published - server->metrics.rated) *
				     1e12 / (double)past)
			: SHARE_UNKNOWN;
	server->metrics.rated = published;
	server->metrics.rated_ns = now;
}

void policy_audit(struct share_server *server)
{
	struct share_stream *stream = &server->stream;

	if (stream->audit == NULL || stream->pipeline == NULL)
		return;
	share_stream_lock(stream);
	for (unsigned i = 0; i < CLIENTS; i++) {
		const struct client *client = server->clients.at[i];
		struct bcast_reader_state slot;

		if (client == NULL || client->audit == NULL)
			continue;
		bcast_reader_state(stream->ring, client->slot, &slot);
		audit_released(stream->audit, client->audit, &slot);
	}
	audit_forget(stream->audit, bcast_tail(stream->ring));
	share_stream_unlock(stream);
}

void policy_tick(struct share_server *server, uint64_t now)
{
	policy_log(server, now);
	policy_watch_pending(server, now);
	policy_watch_return(server, now);
	if (server->stream.ring != NULL) {
		policy_watch_clients(server, now);
		policy_audit(server);
		policy_watch_rate(server, now);
	}
	policy_end(server, now);
	server->watched_ns = now;
}

uint64_t policy_interval(const struct share_server *server)
{
	uint64_t drop = server->config.drop_ns / 8;
	bool unlogged = false;

	for (int why = 0; why < REFUSALS; why++)
		unlogged |= server->clients.refused[why].unlogged > 0;
	if (server->stream.audit != NULL && server->clients.attached > 0)
		return 20 * MS;
	if (drop > 0 && drop < 100 * MS && server->clients.attached > 1)
		return drop < 5 * MS ? 5 * MS : drop;
	if (server->clients.attached > 0 || server->await_until_ns != 0)
		return 100 * MS;
	return server->clients.pending > 0 || unlogged || server->stream.ended
		       ? 200 * MS
		       : 0;
}
