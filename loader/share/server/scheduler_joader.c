/* scheduler_joader.c - clients of data sets that overlap: each begins with the next
 * sample that is drawn. */
#include "loader/base/error.h"
#include "loader/components.h"
#include "loader/options.h"
#include "loader/share/schedule/joader.h"
#include "loader/share/server/datasets.h"
#include "loader/share/server/share_stream.h"
#include "loader/source.h"

#include <errno.h>

static int scheduler_joader_check(const struct share_stream *stream, struct error *err)
{
	const struct options *options = stream->options;

	if (options->in_order || options->epochs > 0 || options->shuffle_blocks)
		return error_set(err, EINVAL,
				 "in joader mode samples are drawn, for as many epochs "
				 "as each job wants: leave out %s",
				 options->in_order     ? "in_order"
				 : options->epochs > 0 ? "epochs"
						       : "shuffle=blocks");
	if (stream->config->jobs > JOADER_JOBS)
		return error_set(err, EINVAL,
				 "in joader mode jobs are at most %d, not %u",
				 JOADER_JOBS, stream->config->jobs);
	return 0;
}

static int scheduler_joader_open(struct share_stream *stream, struct error *err)
{
	const struct joader_config config = {
		.count = share_stream_samples(stream),
		.sets = source_parts(stream->parts->source),
		.seed = stream->options->seed,
	};

	stream->joader = joader_open(&config, err);
	if (stream->joader == NULL)
		return -err->code;
	stream->plan = joader_plan(stream->joader);
	return 0;
}

static void scheduler_joader_close(struct share_stream *stream)
{
	joader_close(stream->joader);
	stream->joader = NULL;
}

static int scheduler_joader_begin(struct share_stream *stream, struct client *client,
				  struct error *err)
{
	int result;

	if (joader_jobs(stream->joader) == JOADER_JOBS)
		return error_set(err, EBUSY,
				 "there are %d jobs: no more in joader mode",
				 JOADER_JOBS);
	client->remaining = source_count(client->dataset->source);
	result = client_attach(stream, client, bcast_reserved(stream->ring), err);
	if (result < 0)
		return result;
	joader_join(stream->joader, client->slot, client->dataset->set);
	return 0;
}

static void scheduler_joader_leave(struct share_stream *stream, struct client *client)
{
	joader_leave(stream->joader, client->slot);
}

static bool scheduler_joader_wanted(const struct share_stream *stream)
{
	return joader_jobs(stream->joader) > 0;
}

const struct scheduler_ops scheduler_joader = {
	.check = scheduler_joader_check,
	.open = scheduler_joader_open,
	.close = scheduler_joader_close,
	.begin = scheduler_joader_begin,
	.leave = scheduler_joader_leave,
	.wanted = scheduler_joader_wanted,
};
