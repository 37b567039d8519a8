/*
 * recipe.c - what the loader makes of a sample, and in which order: as its settings say,
 * and where they say nothing, as the first job wants it (share_config.follow).
 */
#include "loader/prep.h"
#include "loader/share/server/server_state.h"
#include "loader/share/wire/join_request.h"

#include <errno.h>
#include <string.h>

enum { WINDOW_MOST = 4096, BATCH = 64 /* dsa_config's default */ };

static int recipe_check(const struct share_config *config,
			const struct options *options, struct error *err)
{
	if (options->world != 1)
		return error_set(err, EINVAL,
				 "a shared loader is not sharded: world is 1, not %u",
				 options->world);
	if (options->start_epoch != 0 || options->start_step != 0)
		return error_set(err, EINVAL,
				 "a shared loader begins with the first epoch: no "
				 "start_epoch, start_step");
	if (config->window < 3 || config->window > WINDOW_MOST)
		return error_set(err, EINVAL, "window is 3 to %d batches, not %u",
				 WINDOW_MOST, config->window);
	if ((uint64_t)config->window * options->batch > UINT32_MAX / 2)
		return error_set(err, EINVAL,
				 "a window of %u batches of %u is too large",
				 config->window, options->batch);
	if (config->decoded && strcmp(options->prep, "image") != 0)
		return error_set(err, EINVAL, "prep=%s has no decoded pictures",
				 options->prep);
	if (config->jobs < 1 || config->jobs > BCAST_READERS)
		return error_set(err, EINVAL, "jobs are 1 to %d, not %u", BCAST_READERS,
				 config->jobs);
	return 0;
}

/* Of the settings over a program's own. */
static int recipe_options(struct share_server *server, struct options *options,
			  const struct dsa_config *own, struct error *err)
{
	const struct share_config *config = &server->config;
	int result = options_resolve(options, own, config->settings, err);

	if (result == 0)
		result = recipe_check(config, options, err);
	if (config->decoded)
		strcpy(options->prep, "decoded"); /* options.image.op points there */
	options->drop_last = false;               /* clients form their own batches */
	return result;
}

int recipe_resolve(struct share_server *server, struct error *err)
{
	struct share_config *config = &server->config;
	struct dsa_config own = *config->loader;
	int result;

	config->window = config->window > 0 ? config->window : SHARE_WINDOW;
	config->jobs = config->jobs > 0 ? config->jobs : 1;
	config->takeover_s = config->takeover_s > 0 ? config->takeover_s : 10;
	server->stream.scheduler =
		config->mode == SHARE_JOADER ? &scheduler_joader : &scheduler_epoch;
	own.device = config->device;
	result = recipe_options(server, &server->options, &own, err);
	if (result == 0 && server->stream.scheduler->check != NULL)
		result = server->stream.scheduler->check(&server->stream, err);
	prep_output(&server->options.image, server->output);
	return result;
}

/* What the data set was opened for. */
static bool recipe_reads_alike(const struct options *a, const struct options *b)
{
	static const char *const own[] = {"tokens",
					  "audio"}; /* have files of their own */

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if ((strcmp(a->prep, own[i]) == 0) != (strcmp(b->prep, own[i]) == 0))
			return false;
	return strcmp(a->prep, "tokens") != 0 ||
	       (a->image.length == b->image.length &&
		a->image.token_bits == b->image.token_bits);
}

/* As if the first job's own config were the loader's. The data set stays open. */
int recipe_follow(struct share_server *server, const struct protocol_hello *hello,
		  struct error *err)
{
	struct options *options = &server->options, next;
	struct dsa_config config = *server->config.loader;
	int result = join_request_config(hello, &config, err);

	if (result < 0)
		return result;
	if (config.batch < BATCH)
		config.batch = BATCH;
	result = recipe_options(server, &next, &config, err);
	if (result < 0)
		return result;
	if (!recipe_reads_alike(options, &next))
		return 0; /* join_check_output() says what differs */
	options->batch = next.batch;
	options->in_order = next.in_order;
	options->shuffle_blocks = next.shuffle_blocks;
	options->image = next.image;
	memcpy(options->prep, next.prep, sizeof(options->prep));
	options->image.op = options->prep;
	prep_output(&options->image, server->output);
	return server->stream.scheduler->check != NULL
		       ? server->stream.scheduler->check(&server->stream, err)
		       : 0;
}

int recipe_open(struct share_server *server, struct error *err)
{
	int result = components_set_prep(&server->parts, &server->options, err);

	if (result == 0)
		result = share_stream_open(&server->stream, err);
	if (result < 0) {
		share_stream_close(&server->stream);
		return result;
	}
	server_log(server,
		   "samples are %s, as the first job wants: a window of %u, %.1f MB of "
		   "shared memory",
		   server->output, bcast_places(server->stream.ring),
		   (double)bcast_bytes(server->stream.ring) / 1e6);
	return 0;
}
