/* command.c - writes a change as options of dsa whatif. */
#include "models/whatif/command.h"
#include "loader/base/io.h"
#include "loader/base/text/shell_word.h"
#include "profiler/profile_change.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void put_count(FILE *to, const char *option, unsigned value)
{
	if (value > 0)
		fprintf(to, " --%s %u", option, value);
}

/* 0 lifts what was emulated: "none". */
static void put_storage(FILE *to, const char *option, double value, const char *unit)
{
	if (value == 0)
		fprintf(to, " --%s none", option);
	else if (value > 0)
		fprintf(to, " --%s %.9g%s", option, value, unit);
}

/* "4", or their speeds: "1x+0.5x". */
static void command_put_jobs(FILE *to, const struct profile_change *change)
{
	if (change->job_speed[0] == 0) {
		put_count(to, "jobs", change->jobs);
	} else {
		fputs(" --jobs ", to);
		for (int i = 0; i < PROFILE_SPEEDS && change->job_speed[i] > 0; i++)
			fprintf(to, "%s%.9gx", i > 0 ? "+" : "", change->job_speed[i]);
	}
	if (change->share)
		fputs(" --share", to);
}

static void put_change(FILE *to, const struct profile_change *change)
{
	put_count(to, "cores", change->cores);
	put_count(to, "workers", change->workers);
	put_count(to, "batch", change->batch);
	if (!isnan(change->cache_share))
		fprintf(to, " --cache %.6g%%", 100 * change->cache_share);
	if (profile_word_known(&change->cache_policy))
		fprintf(to, " --cache-policy %s",
			profile_word(profile_caches, &change->cache_policy));
	if (!isnan(change->gpu_speed))
		fprintf(to, " --gpu-speed %.6gx", change->gpu_speed);
	put_storage(to, "storage-bandwidth", change->storage_bandwidth, "");
	put_storage(to, "storage-latency", change->storage_latency_s * 1e6, "us");
	if (profile_change_has_bucket(change))
		fprintf(to, " --storage-bucket latency=%.9gus",
			change->bucket_latency_s * 1e6);
	if (!isnan(change->bucket_per_s))
		fprintf(to, ",rate=%.9g", change->bucket_per_s);
	if (change->block_fetch > 0)
		fprintf(to, " --block-fetch f=%u,q=%u", change->block_fetch,
			change->block_threshold);
	if (change->block_capacity > 0)
		fprintf(to, ",k=%u", change->block_capacity);
	put_count(to, "fetch-depth", change->fetch_depth);
	command_put_jobs(to, change);
	put_count(to, "resize", change->resize);
	if (profile_word_known(&change->type))
		fprintf(to, " --type %s", profile_word(profile_types, &change->type));
	if (change->decoded)
		fputs(" --decoded", to);
	if (change->without != NULL) {
		fputs(" --without ", to);
		shell_word(to, change->without);
	}
}

int command_verify(const struct profile_change *change, const char *run, char **command)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (to == NULL)
		return -ENOMEM;
	fputs("dsa whatif ", to);
	shell_word(to, run);
	put_change(to, change);
	fputs(" --verify", to);
	if (io_text(to, &text) == NULL)
		return -ENOMEM;
	free(*command);
	*command = text;
	return 0;
}
