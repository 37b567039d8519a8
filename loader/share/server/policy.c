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

	if (refused->untold == 0 ||
	    (refused->told_ns != 0 && !server->done && now - refused->told_ns < SECOND))
		return;
	server_tell(server, "refused %llu %s: %s (the last one of pid %d)",
		    (unsigned long long)refused->untold,
		    refused->untold == 1 ? "connection" : "connections", reasons[why],
		    (int)refused->pid);
	refused->untold = 0;
	refused->told_ns = now;
}

struct skip_lines {
	struct share_server *server;
	struct skip_told told[SKIPS_TOLD];
	uint64_t count, more;
};

static void take_skips(void *context, const struct pipeline_point *next)
{
	struct skip_lines *lines = context;
	struct share_server *server = lines->server;

	(void)next;
	lines->count = server->skip_count;
	lines->more = server->skips_untold;
	for (uint64_t i = 0; i < lines->count; i++)
		lines->told[i] = server->skips[i];
	server->skip_count = 0;
	server->skips_untold = 0;
}

static void tell_skips(struct share_server *server)
{
	struct skip_lines lines = {.server = server};

	server_locked(server, take_skips, &lines);
	for (uint64_t i = 0; i < lines.count; i++)
		server_tell(server, "skipped %s: %s", lines.told[i].name,
			    lines.told[i].reason);
	if (lines.more > 0)
		server_tell(server, "skipped %llu more samples",
			    (unsigned long long)lines.more);
}

void policy_tell(struct share_server *server, uint64_t now)
{
	for (int why = 0; why < REFUSALS; why++)
		policy_refused(server, (enum refusal)why, now);
	tell_skips(server);
}

/* ---- who holds whom up ---- */

/* It could take a batch, or give one back. */
static bool policy_idle(const struct feed_seat_state *seat, const struct member *member,
			uint64_t published)
{
	return seat->taken > seat->released ||
	       published - seat->taken >= member->hello.batch;
}

/* It has taken all that there is for it. */
static bool policy_starving(const struct feed_seat_state *seat,
			    const struct member *member, uint64_t published)
{
	return seat->waiting && published - seat->taken < member->hello.batch;
}

static bool policy_counts(const struct member *member)
{
	return member != NULL &&
	       (member->state == MEMBER_READING || member->state == MEMBER_GHOST);
}

/* Somebody waits, and there is no room to prepare more for it. */
static bool somebody_starves(struct share_server *server, uint64_t published)
{
	if (feed_full_since(server->feed) == 0)
		return false;
	for (unsigned i = 0; i < MEMBERS; i++) {
		const struct member *member = server->members[i];
		struct feed_seat_state seat;

		if (!policy_counts(member))
			continue;
		feed_seat_state(server->feed, member->seat, &seat);
		if (policy_starving(&seat, member, published))
			return true;
	}
	return false;
}

/* Since when it has held others up, without giving anything back. */
static void watch_member(struct share_server *server, struct member *member,
			 bool starves, uint64_t now)
{
	uint64_t published = feed_published(server->feed);
	struct feed_seat_state seat;
	bool blocks;

	feed_seat_state(server->feed, member->seat, &seat);
	blocks = starves && seat.released == feed_tail(server->feed) &&
		 policy_idle(&seat, member, published);
	if (blocks && member->blocks)
		member->in_the_way_ns += now - server->watched_ns;
	if (!blocks)
		member->blocking_ns = 0;
	else if (member->blocking_ns == 0 || seat.released != member->released)
		member->blocking_ns = now;
	member->blocks = blocks;
	if (seat.released != member->released)
		server->progress_ns = now;
	member->released = seat.released;
}

static void watch_members(struct share_server *server, uint64_t now)
{
	bool starves = somebody_starves(server, feed_published(server->feed));
	uint64_t drop_ns = server->config.drop_ns;

	if (server->starves && starves)
		server->full_ns += now - server->watched_ns;
	server->starves = starves;
	for (unsigned i = 0; i < MEMBERS; i++) {
		struct member *member = server->members[i];

		if (!policy_counts(member))
			continue;
		watch_member(server, member, starves, now);
		if (drop_ns > 0 && member->state == MEMBER_READING &&
		    member->blocking_ns != 0 && now - member->blocking_ns >= drop_ns)
			member_drop(server, member);
	}
}

/* ---- guests, the end ---- */

static void watch_guests(struct share_server *server, uint64_t now)
{
	for (unsigned i = 0; i < MEMBERS; i++) {
		struct member *member = server->members[i];
		pid_t pid;

		if (member == NULL || member->state != MEMBER_GUEST ||
		    now - member->since_ns < HANDSHAKE_NS)
			continue;
		pid = member->pid;
		member_end(server, member, NULL);
		member_refuse(server, REFUSED_SILENT, pid);
	}
}

void policy_end(struct share_server *server, uint64_t now)
{
	struct error err = {0};
	int status;

	if (server->ended) {
		if (server->seated == 0 || now - server->progress_ns > END_NS)
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
	if (server->ghosts_until_ns == 0 || now < server->ghosts_until_ns)
		return;
	server->ghosts_until_ns = 0;
	if (server->awaiting) {
		server->awaiting = false;
		server_tell(server, "nobody came back: the data begins anew");
		join_ready(server);
		if (server->config.leave && server->guests + server->seated == 0)
			server->done = true; /* the last job left before */
	} else {
		heir_give_up(server);
	}
}

static void watch_rate(struct share_server *server, uint64_t now)
{
	uint64_t published = feed_published(server->feed),
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
	for (unsigned i = 0; i < MEMBERS; i++) {
		struct member *member = server->members[i];
		struct feed_seat_state seat;

		if (member == NULL || member->audit == NULL)
			continue;
		feed_seat_state(server->feed, member->seat, &seat);
		audit_released(server->audit, member->audit, &seat);
	}
	audit_forget(server->audit, feed_tail(server->feed));
}

void policy_audit(struct share_server *server)
{
	if (server->audit != NULL)
		server_locked(server, audit_all, server);
}

void policy_tick(struct share_server *server, uint64_t now)
{
	policy_tell(server, now);
	watch_guests(server, now);
	watch_return(server, now);
	watch_members(server, now);
	policy_audit(server);
	watch_rate(server, now);
	policy_end(server, now);
	server->watched_ns = now;
}

uint64_t policy_interval(const struct share_server *server)
{
	uint64_t drop = server->config.drop_ns / 8;
	bool untold = false;

	for (int why = 0; why < REFUSALS; why++)
		untold |= server->refused[why].untold > 0;
	if (server->audit != NULL && server->seated > 0)
		return 20 * MS;
	if (drop > 0 && drop < 100 * MS && server->seated > 1)
		return drop < 5 * MS ? 5 * MS : drop;
	if (server->seated > 0 || server->ghosts_until_ns != 0)
		return 100 * MS;
	return server->guests > 0 || untold || server->ended ? 200 * MS : 0;
}
