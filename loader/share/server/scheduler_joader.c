/* scheduler_joader.c - jobs on data sets that overlap: each begins with the next sample that is
 * drawn, and what is left for one that is dropped is known from what it still wants. */
#include "loader/share/server/server_state.h"
#include "loader/source.h"

#include <errno.h>

static int scheduler_joader_check(const struct share_server *server, struct error *err)
{
	const struct options *options = &server->options;

	if (options->in_order || options->epochs > 0)
		return error_set(err, EINVAL,
				 "in joader mode samples are drawn, for as many epochs "
				 "as each job wants: leave out %s",
				 options->in_order ? "in_order" : "epochs");
	if (server->config.jobs > JOADER_JOBS)
		return error_set(err, EINVAL,
				 "in joader mode jobs are at most %d, not %u",
				 JOADER_JOBS, server->config.jobs);
	return 0;
}

static int open_joader(struct share_server *server, struct error *err)
{
	const struct joader_config config = {
		.count = server_samples(server),
		.sets = source_parts(server->parts.source),
		.seed = server->options.seed,
	};

	server->joader = joader_open(&config, err);
	return server->joader != NULL ? 0 : -err->code;
}

static void close_joader(struct share_server *server)
{
	joader_close(server->joader);
	server->joader = NULL;
}

static struct plan *scheduler_joader_plan(const struct share_server *server)
{
	return joader_plan(server->joader);
}

static int scheduler_joader_begin(struct share_server *server, struct client *client,
				  const struct pipeline_point *next, struct error *err)
{
	unsigned set = (unsigned)(client->dataset - server->datasets);
	int result;

	(void)next;
	if (joader_jobs(server->joader) == JOADER_JOBS)
		return error_set(err, EBUSY,
				 "there are %d jobs: no more in joader mode",
				 JOADER_JOBS);
	client->remaining = source_count(client->dataset->source);
	result = join_attach(server, client, bcast_reserved(server->ring), err);
	if (result < 0)
		return result;
	joader_join(server->joader, client->slot, set);
	return 0;
}

static void scheduler_joader_leave(struct share_server *server, struct client *client)
{
	joader_leave(server->joader, client->slot);
}

static void scheduler_joader_pass(struct share_server *server, uint64_t pass)
{
	(void)server;
	(void)pass;
}

static bool scheduler_joader_wanted(const struct share_server *server)
{
	return joader_jobs(server->joader) > 0;
}

const struct scheduler_ops scheduler_joader = {
	.check = scheduler_joader_check,
	.open = open_joader,
	.close = close_joader,
	.plan = scheduler_joader_plan,
	.begin = scheduler_joader_begin,
	.leave = scheduler_joader_leave,
	.pass = scheduler_joader_pass,
	.wanted = scheduler_joader_wanted,
};
