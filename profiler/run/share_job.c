/* share_job.c - finds out what the programs load, and serves it. */
#include "profiler/run/share_job.h"
#include "loader/base/error.h"
#include "loader/base/io.h"
#include "loader/base/trace.h"
#include "loader/loader.h"
#include "loader/share.h"
#include "profiler/session/merge_shared.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { COULD_NOT = 3 }; /* exit status */

/* ---- what the program loads ---- */

/* The programs, each started with its own loader. */
struct look {
	struct conductor_job jobs[BARRIER_JOBS];
	unsigned count;
};

/* Runs them until each has taken a batch. */
static int run_once(const struct launch *launch, struct look *look, struct error *err)
{
	const struct measure_config *config = launch->config;
	const struct conductor_config conductor = {
		.schedule = {.budget_s = config->budget_s, .only = -1},
		.observe = true,
		.timeout_s = config->timeout_s,
		.grace_s = config->grace_s,
		.steps = 1,
	};
	struct conductor_end end;
	int result = conduct(&conductor, look->jobs, look->count, &end, err);

	if (result == 0 && end.why == CONDUCTOR_INTERRUPTED)
		return error_set(err, EINTR, "interrupted: %s", end.text);
	for (unsigned i = 0; result == 0 && i < look->count; i++)
		if (!look->jobs[i].trace->loader_ready)
			return error_set(err, ETIMEDOUT, "%s",
					 end.text[0] != '\0' ? end.text
							     : look->jobs[i].left);
	return result;
}

/* The program's own settings in the syntax of DSA_LOADER. "float32 NCHW 224" is split,
 * and so is "int64 tokens 1024": words in lower case are values, too. */
static char *settings_of(const struct trace_loader *loader, uint32_t batch,
			 const char *given)
{
	char *text = NULL, type[16] = "", layout[16] = "";
	unsigned image = 0, length = 0, bits = 0;
	double seconds = 0;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (to == NULL)
		return NULL;
	fprintf(to, "batch=%u,workers=%u,fetch_depth=%u,prefetch=%u,seed=%" PRIu64,
		batch, loader->workers, loader->fetch_depth, loader->prefetch,
		loader->seed);
	fprintf(to, ",prep=%s,cache=%s,shuffle=%s", loader->prep, loader->cache,
		loader->shuffle_run > 0 ? "blocks" : "global");
	if (loader->cache_capacity > 0)
		fprintf(to, ",cache_size=%" PRIu64, loader->cache_capacity);
	if (sscanf(loader->output, "%15s %15s %lfs %uHz", type, layout, &seconds,
		   &image) == 4)
		fprintf(to, ",features=%s,seconds=%g,rate=%u", layout, seconds, image);
	else if (sscanf(loader->output, "%15s tokens %u of %u bits", type, &length,
			&bits) >= 2)
		fprintf(to, ",type=%s,length=%u%s%.0u", type, length,
			bits != 0 ? ",token_bits=" : "", bits);
	else if (sscanf(loader->output, "%15s %15s %u", type, layout, &image) == 3)
		fprintf(to, ",type=%s,layout=%s,size=%u", type,
			strcmp(layout, "NHWC") == 0 ? "nhwc" : "nchw", image);
	if (given != NULL && given[0] != '\0')
		fprintf(to, ",%s", given);
	return io_text(to, &text);
}

static void look_path(char *path, const char *folder, unsigned job)
{
	snprintf(path, PATH_MAX, "%s/loader/look-%u", folder, job % BARRIER_JOBS);
}

static int open_look(struct look *look, const struct launch *launch, const char *folder,
		     struct error *err)
{
	const struct measure_config *config = launch->config;

	/* Copies of one program load the same: one of them is enough. */
	look->count = config->startup.commands != NULL ? config->startup.jobs : 1;
	for (unsigned i = 0; i < look->count; i++) {
		struct conductor_job *job = &look->jobs[i];

		look_path(job->session, folder, i);
		job->target = (struct target_config){
			.command = launch_command(config, i),
			.loader = config->startup.loader,
			.share = "",
			.job = config->startup.jobs > 0 ? "0" : NULL,
			.cores = config->startup.cores,
			.background = true,
			.output_aside = config->startup.output_aside,
		};
		if (job->target.command == NULL)
			return error_sys(err, ENOMEM, "starting the program");
		job->trace = trace_create(job->session, config->seed, err);
		if (job->trace == NULL)
			return -EIO;
	}
	return 0;
}

/* What its loaders asked servers for belongs to the run: it stands in the last slot of the
 * shared loader's session. */
static void look_count(const struct look *look, struct trace *loader)
{
	struct trace_process *process = &loader->processes[TRACE_PROCESSES - 1];

	process->pid = (uint32_t)getpid();
	for (unsigned i = 0; i < look->count; i++)
		merge_shared_totals(process, look->jobs[i].trace);
}

static void close_look(struct look *look)
{
	for (unsigned i = 0; i < look->count; i++) {
		profile_free_texts(look->jobs[i].target.command);
		trace_unmap(look->jobs[i].trace);
	}
}

/* Takes the first program's settings, and the largest batch of all programs. */
static int share_job_take_settings(struct share_job *share, const struct look *look,
				   const char *given, struct error *err)
{
	const struct trace_loader *loader = &look->jobs[0].trace->loader;
	uint32_t batch = 0;

	for (unsigned i = 0; i < look->count; i++)
		if (look->jobs[i].trace->loader.batch > batch)
			batch = look->jobs[i].trace->loader.batch;
	memcpy(share->dataset, loader->dataset, sizeof(share->dataset));
	share->settings = settings_of(loader, batch, given);
	return share->settings != NULL ? 0
				       : error_sys(err, ENOMEM, "sharing the loader");
}

static int look_at(struct share_job *share, const struct launch *launch,
		   struct error *err)
{
	struct look *look = calloc(1, sizeof(*look));
	int result;

	if (look == NULL)
		return error_sys(err, ENOMEM, "sharing the loader");
	result = open_look(look, launch, share->folder, err);
	if (result == 0)
		result = run_once(launch, look, err);
	if (result == 0) {
		look_count(look, share->job.trace);
		result = share_job_take_settings(share, look,
						 launch->config->startup.loader, err);
	}
	close_look(look);
	free(look);
	return result;
}

/* ---- the loader ---- */

/* Serves until the jobs have left; runs in the loader's process. */
static int share_job_serve(void *context)
{
	const struct share_job *share = context;
	const struct dsa_config loader = {.dataset = share->dataset};
	const struct share_config config = {
		.loader = &loader,
		.settings = share->settings,
		.device = share->device,
		.socket = share->socket,
		.mode = SHARE_FREE,
		.jobs = 1, /* the run begins when all are there */
		.leave = true,
	};
	struct error err = {0};
	struct share_server *server = share_server_open(&config, &err);
	int result = server != NULL ? share_server_run(server, &err) : -err.code;

	share_server_close(server);
	if (result < 0)
		fprintf(stderr, "dsa: the shared loader: %s\n", err.message);
	return result < 0 ? COULD_NOT : 0;
}

static int make_session(struct share_job *share, const struct launch *launch,
			struct error *err)
{
	const struct measure_config *config = launch->config;
	struct target_config *target = &share->job.target;

	share->job.trace = trace_create(share->job.session, config->seed, err);
	if (share->job.trace == NULL)
		return -EIO;
	target->run = share_job_serve;
	target->context = share;
	target->cores = config->startup.cores;
	target->background = true;
	target->output_aside = config->startup.output_aside;
	return 0;
}

int share_job_open(struct share_job *share, const struct launch *launch,
		   struct error *err)
{
	char inner[PATH_MAX];
	int result;

	*share = (struct share_job){.device = launch->config->startup.device};
	result = launch_folder(launch->config->folder, share->folder, err);
	if (result < 0)
		return result;
	/* In a separate folder: the server locks the folder that holds its socket. */
	snprintf(inner, PATH_MAX, "%s/loader", share->folder);
	snprintf(share->job.session, PATH_MAX, "%s/loader/session", share->folder);
	snprintf(share->socket, PATH_MAX, "%s/loader/socket", share->folder);
	if (strlen(share->socket) >= sizeof((struct sockaddr_un){0}.sun_path))
		return error_set(err, ENAMETOOLONG,
				 "the path of %s is too long for a socket in it: use "
				 "another folder (-o)",
				 share->folder);
	if (mkdir(inner, 0700) < 0 && errno != EEXIST)
		return error_sys(err, errno, "cannot make the folder %s", inner);
	result = make_session(share, launch, err);
	return result < 0 ? result : look_at(share, launch, err);
}

void share_job_close(struct share_job *share)
{
	trace_unmap(share->job.trace);
	free(share->settings);
	if (share->folder[0] != '\0')
		share_job_forget(share->folder);
}

void share_job_forget(const char *folder)
{
	static const char *const names[] = {"session", "socket",
					    ""}; /* the folder last */
	char path[PATH_MAX];

	for (unsigned i = 0; i < BARRIER_JOBS; i++) {
		look_path(path, folder, i);
		unlink(path);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, PATH_MAX, "%s/loader/%s", folder, names[i]);
		remove(path);
	}
}
