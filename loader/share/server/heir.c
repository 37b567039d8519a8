/* heir.c - what a server leaves to the next one, and how it goes on for one that died. */
#include "loader/base/clock.h"
#include "loader/share/server/server_state.h"
#include "loader/share/wire/takeover.h"
#include "loader/source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void fill_head(const struct share_server *server, struct takeover_head *head)
{
	const struct feed_place *last = NULL;
	uint64_t published = feed_published(server->feed);

	if (published > 0)
		last = feed_place(server->feed, published - 1);
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
	memcpy(head->cuts, server->cuts, sizeof(head->cuts));
}

void heir_save(struct share_server *server)
{
	struct takeover_head head;
	size_t bytes;

	fill_head(server, &head);
	bytes = takeover_write(&head, server->course, server->state);
	feed_save(server->feed, server->state, bytes);
}

/* ---- going on ---- */

static int heir_check(const struct share_server *server,
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

/* Those that had a seat keep their place in the stream until they are back. */
static void seat_ghosts(void *context, const struct pipeline_point *next)
{
	struct return_of *back = context;
	struct share_server *server = back->server;

	(void)next;
	server->round = back->head->round;
	for (uint32_t seat = 0; seat < FEED_SEATS && back->result == 0; seat++) {
		struct member *ghost;

		if (back->head->cuts[seat] < 0)
			continue;
		ghost = member_new(server);
		if (ghost == NULL) {
			back->result =
				error_sys(&back->err, ENOMEM, "cannot take over");
			return;
		}
		ghost->state = MEMBER_GHOST;
		ghost->stood = seat;
		ghost->offer = server->offers;
		server->ghosts++;
		back->result = course_sit(server, ghost, back->head->cuts[seat],
					  server->taken_over_at, &back->err);
	}
	heir_save(server);
}

static int go_on(struct share_server *server, struct takeover *takeover,
		 uint64_t published, struct error *err)
{
	struct return_of back = {.server = server, .head = &takeover->head};
	int result;

	server_close_stream(server);
	course_take_back(takeover->course, takeover->point.lap);
	result = server_open_stream(server, takeover->course, &takeover->point,
				    published, err);
	takeover->course = NULL; /* the server's */
	if (result < 0)
		return result;
	server->taken_over = takeover->head.generation;
	server->taken_over_at = published;
	server->awaiting = false;
	server->ghosts_until_ns =
		clock_now() + (uint64_t)(server->config.takeover_s * 1e9);
	server_locked(server, seat_ghosts, &back);
	if (back.result < 0)
		*err = back.err;
	return back.result;
}

static int heir_take_over(struct share_server *server, int fd, uint64_t generation,
			  struct error *err)
{
	struct takeover takeover = {0};
	struct feed_wreck *wreck = &server->wreck;
	int result = feed_wreck_open(fd, wreck, err);

	if (result < 0)
		return result;
	result = takeover_read(wreck, &takeover, err);
	if (result == 0)
		result = heir_check(server, &takeover, generation, err);
	if (result == 0) {
		result = go_on(server, &takeover, wreck->published, err);
		if (result < 0) /* the stream is gone: there is no way back */
			server_fail(server, err);
		else
			server_tell(server, "took over at sample %llu of the stream",
				    (unsigned long long)wreck->published);
	}
	takeover_fini(&takeover);
	if (result < 0)
		feed_wreck_close(wreck);
	return result;
}

static struct member *find_ghost(struct share_server *server, uint32_t stood)
{
	for (unsigned i = 0; i < MEMBERS; i++) {
		struct member *member = server->members[i];

		if (member != NULL && member->state == MEMBER_GHOST &&
		    member->stood == stood)
			return member;
	}
	return NULL;
}

/* Places until its epoch's end, from where this server goes on. */
static uint64_t remaining_here(const struct share_server *server,
			       const struct member *member)
{
	const struct protocol_stand *stand = &member->hello.stand;
	uint64_t remaining = stand->remaining;

	for (uint64_t at = stand->next; at < server->taken_over_at; at++) {
		const struct feed_place *place = feed_wreck_place(&server->wreck, at);

		if (place == NULL || (place->flags & (FEED_ISLAND | FEED_REPEATED)) ||
		    (place->seats >> stand->seat & 1) == 0)
			continue;
		if (--remaining == 0)
			remaining = stand->epoch_places;
	}
	return remaining;
}

/* What it says of itself must be possible. */
static bool heir_fits(const struct share_server *server,
		      const struct protocol_stand *stand)
{
	return server->taken_over == stand->generation && stand->seat < FEED_SEATS &&
	       stand->next + server->wreck.count >= server->taken_over_at &&
	       stand->next <= server->taken_over_at + server->wreck.count &&
	       stand->remaining > 0 && stand->epoch_places == server_samples(server);
}

struct inheriting {
	struct share_server *server;
	struct member *ghost, *heir;
	struct error err;
	int result;
};

/* A job that was to begin with what the loader before did not publish any more: its
 * ghost was seated too early. */
static void sit_later(struct inheriting *inheriting)
{
	struct share_server *server = inheriting->server;
	struct member *heir = inheriting->heir;

	inheriting->result = feed_sit(server->feed, heir->hello.stand.next,
				      &heir->chair, &inheriting->err);
	if (inheriting->result < 0)
		return;
	heir->seat = (uint32_t)inheriting->result;
	heir->released = heir->hello.stand.next;
	server->cuts[heir->seat] = inheriting->ghost->cut;
	server->cuts[inheriting->ghost->seat] = -1;
}

static void take_seat(struct inheriting *inheriting)
{
	struct member *ghost = inheriting->ghost, *heir = inheriting->heir;

	heir->seat = ghost->seat;
	heir->chair = ghost->chair;
	heir->released = ghost->released;
	ghost->sat = false;
}

static void heir_inherit(void *context, const struct pipeline_point *next)
{
	struct inheriting *inheriting = context;
	struct member *ghost = inheriting->ghost, *heir = inheriting->heir;

	(void)next;
	if (heir->hello.stand.next > inheriting->server->taken_over_at)
		sit_later(inheriting);
	else
		take_seat(inheriting);
	if (inheriting->result < 0)
		return;
	heir->sat = true;
	heir->cut = ghost->cut;
	heir->audit = ghost->audit;
	heir->remaining = heir->hello.stand.remaining;
	ghost->cut = -1;
	ghost->audit = NULL;
	if (heir->audit != NULL)
		audit_inherit(heir->audit, heir->name, heir->chair.start,
			      remaining_here(inheriting->server, heir));
}

int heir_hello(struct share_server *server, struct member *member, struct error *err)
{
	const struct protocol_stand *stand = &member->hello.stand;
	struct inheriting inheriting = {.server = server, .heir = member};
	int fd = protocol_take_fd(&member->inbox), result = 0;

	if (server->awaiting)
		result = fd < 0 ? error_set(err, EINVAL,
					    "the job came without its memory")
				: heir_take_over(server, fd, stand->generation, err);
	if (fd >= 0)
		close(fd);
	if (result < 0)
		return result;
	inheriting.ghost = find_ghost(server, stand->seat);
	if (inheriting.ghost == NULL || !heir_fits(server, stand))
		return error_set(err, ESTALE,
				 "this loader cannot go on where the one before "
				 "stopped: it began anew or gave up waiting");
	server_locked(server, heir_inherit, &inheriting);
	if (inheriting.result < 0) {
		*err = inheriting.err;
		return inheriting.result;
	}
	member_end(server, inheriting.ghost, NULL);
	join_welcome(server, member);
	return 0;
}

void heir_give_up(struct share_server *server)
{
	unsigned lost = 0;

	for (unsigned i = 0; i < MEMBERS; i++) {
		struct member *member = server->members[i];

		if (member == NULL || member->state != MEMBER_GHOST)
			continue;
		lost++;
		member_end(server, member, NULL);
	}
	feed_wreck_close(&server->wreck);
	if (lost > 0)
		server_tell(server, "%u of the jobs before did not come back in %.3g s",
			    lost, server->config.takeover_s);
}
