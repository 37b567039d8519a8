/* order_course.c - jobs on one data set: where they begin, what they miss when they are
 * dropped, and what another loader needs to go on (heir.c). */
#include "loader/share/server/server_state.h"
#include "loader/share/wire/takeover.h"

#include <errno.h>
#include <stdlib.h>

static struct course_config config_of(const struct share_server *server)
{
	return (struct course_config){
		.count = server_samples(server),
		.seed = server->options.seed,
		.in_order = server->options.in_order,
		.end_epoch = server_end_epoch(server),
	};
}

static int order_course_check(const struct share_server *server, struct error *err)
{
	(void)server;
	(void)err;
	return 0;
}

/* The course may be there: that of a loader that died. */
static int open_course(struct share_server *server, struct error *err)
{
	const struct course_config config = config_of(server);

	if (server->course == NULL)
		server->course = course_open(&config, err);
	if (server->course == NULL)
		return -err->code;
	server->round = -1;
	for (int i = 0; i < FEED_SEATS; i++)
		server->cuts[i] = -1;
	server->state_bytes = takeover_bytes(&config);
	server->state = malloc(server->state_bytes);
	return server->state != NULL
		       ? 0
		       : error_sys(err, ENOMEM, "cannot open the shared loader");
}

static void close_course(struct share_server *server)
{
	course_close(server->course);
	free(server->state);
	server->course = NULL;
	server->state = NULL;
}

static struct plan *order_course_plan(const struct share_server *server)
{
	return course_plan(server->course);
}

/* ---- where jobs begin ---- */

int course_sit(struct share_server *server, struct member *member, int cut,
	       uint64_t start, struct error *err)
{
	int result = join_sit(server, member, start, err);

	if (result < 0)
		return result;
	member->cut = server->cuts[member->seat] = cut;
	server->beginnings[cut].owners++;
	return 0;
}

/* Who waits for its next lap would wait for ever. */
static void end_round(struct share_server *server)
{
	server->round = -1;
	if (server->in_line_count > 0)
		tap_news(&server->tap);
}

static void order_course_leave(struct share_server *server, struct member *member)
{
	if (member->cut < 0)
		return;
	course_put(server->course, (unsigned)member->cut);
	if (--server->beginnings[member->cut].owners == 0) {
		server->beginnings[member->cut] = (struct beginning){0};
		if (server->round == member->cut)
			end_round(server);
	}
	member->cut = server->cuts[member->seat] = -1;
	heir_save(server);
}

/* The cut that began last of those that are still in the feed; -1: none. */
static int recent_cut(const struct share_server *server)
{
	uint64_t tail = feed_tail(server->feed);
	int found = -1;

	for (int cut = 0; cut < COURSE_CUTS; cut++) {
		const struct beginning *at = &server->beginnings[cut];

		if (at->owners > 0 && at->known && at->sequence >= tail &&
		    (found < 0 || at->sequence > server->beginnings[found].sequence))
			found = cut;
	}
	return found;
}

/* A cut where the pipeline stands. */
static int new_cut(struct share_server *server, const struct pipeline_point *next,
		   struct error *err)
{
	uint32_t position =
		next->stolen > next->position ? next->stolen : next->position;
	int cut = course_cut(server->course, next->lap, position);

	if (cut < 0) {
		error_set(err, -cut, "no more jobs can begin at the moment: try again");
		return cut;
	}
	server->beginnings[cut] = (struct beginning){
		.owners = server->beginnings[cut].owners,
		.known = true,
		.lap = course_began(server->course, (unsigned)cut),
		.sequence = feed_reserved(server->feed),
		.voids = position - next->position,
	};
	return cut;
}

/* The member is an owner of the cut then. */
static int sit_at(struct share_server *server, struct member *member, int cut,
		  struct error *err)
{
	const struct beginning *at = &server->beginnings[cut];
	int result;

	member->voids = at->voids;
	member->remaining = server_samples(server) + at->voids;
	result = course_sit(server, member, cut, at->sequence, err);
	if (result < 0)
		course_put(server->course, (unsigned)cut);
	return result;
}

static int order_course_begin(struct share_server *server, struct member *member,
			      const struct pipeline_point *next, struct error *err)
{
	int cut = recent_cut(server), result = -EINVAL;

	if (cut >= 0) {
		course_ref(server->course, (unsigned)cut);
		result = sit_at(server, member, cut, err);
	}
	if (result == -EINVAL) { /* none, or readers have just let it go */
		cut = new_cut(server, next, err);
		result = cut < 0 ? cut : sit_at(server, member, cut, err);
	}
	if (result == 0 && server->round < 0)
		server->round = cut;
	heir_save(server);
	return result;
}

/* Who gets no seat waits for the next one. */
static void join_round(struct share_server *server)
{
	unsigned waiting = 0;

	for (unsigned i = 0; i < server->in_line_count; i++) {
		struct member *member = server->in_line[i];
		struct error err = {0};

		course_ref(server->course, (unsigned)server->round);
		if (sit_at(server, member, server->round, &err) < 0)
			server->in_line[waiting++] = member;
	}
	server->in_line_count = waiting;
}

/* Whoever is to begin here must have a seat before readers can let it go. */
static void begin_at(struct share_server *server, int cut, uint64_t lap)
{
	struct beginning *beginning = &server->beginnings[cut];

	/* an earlier cut may have had that number */
	if (beginning->owners == 0 || lap < beginning->lap)
		return;
	beginning->known = true;
	beginning->sequence = feed_published(server->feed);
	beginning->voids = 0;
	if (cut != server->round || server->in_line_count == 0)
		return;
	join_round(server);
	tap_news(&server->tap);
}

static void begin_lap(struct share_server *server, uint64_t lap)
{
	int cut = course_cut_of(server->course, lap);

	if (cut >= 0)
		begin_at(server, cut, lap);
	heir_save(server);
}

/* ---- jobs that go on alone ---- */

static uint32_t order_course_rest(const struct share_server *server,
				  const struct member *member,
				  const struct feed_place *last, uint32_t *voids,
				  uint32_t *samples)
{
	(void)member;
	if (last->stolen > last->position)
		*voids = last->stolen - last->position;
	return course_rest(server->course, last->lap, last->position, last->stolen,
			   server_samples(server), samples);
}

static bool order_course_wanted(const struct share_server *server)
{
	(void)server;
	return true;
}

const struct order_ops order_course = {
	.check = order_course_check,
	.open = open_course,
	.close = close_course,
	.plan = order_course_plan,
	.begin = order_course_begin,
	.leave = order_course_leave,
	.lap = begin_lap,
	.rest = order_course_rest,
	.wanted = order_course_wanted,
};
