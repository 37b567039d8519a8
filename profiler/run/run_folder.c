/* run_folder.c - names, locks and removes the sessions of a run; makes its result. */
#include "profiler/run/run_folder.h"
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "profiler/analysis/analyse.h"
#include "profiler/preload.h"
#include "profiler/run/jobs.h"
#include "profiler/run/launch.h"
#include "profiler/run/share_job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

void run_folder_session_name(char name[16], unsigned launch)
{
	if (launch == 0)
		strcpy(name, "session");
	else
		snprintf(name, 16, "session.%u", launch % 100 + 1);
}

static void run_folder_session(char *path, const char *folder, unsigned launch)
{
	char name[16];

	run_folder_session_name(name, launch);
	snprintf(path, PATH_MAX, "%s/%s", folder, name);
}

void run_folder_hold(const char *session)
{
	int fd = open(session, O_RDWR | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
		close(fd); /* else it is closed when dsa ends, whatever ends it */
}

static bool run_folder_is_held(const char *folder)
{
	char path[PATH_MAX];
	bool held;
	int fd;

	run_folder_session(path, folder, 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	held = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	close(fd);
	return held;
}

/* True while the dsa lives that made the first session, mapped as `trace`. */
static bool run_folder_is_busy(const char *folder, const struct trace *trace)
{
	enum trace_dsa dsa = trace_dsa_state(trace, NULL);

	return dsa == TRACE_DSA_ALIVE ||
	       (dsa == TRACE_DSA_UNSEEN && run_folder_is_held(folder));
}

int run_folder_take(const char *folder, struct error *err)
{
	char path[PATH_MAX];
	struct trace *trace;
	bool busy;

	run_folder_session(path, folder, 0);
	trace = trace_map(path, false, NULL);
	busy = trace != NULL && run_folder_is_busy(folder, trace);
	trace_unmap(trace);
	if (busy)
		return error_set(err, EBUSY, "another run is writing into %s", folder);
	run_folder_forget(folder);
	return 0;
}

void run_folder_forget(const char *folder)
{
	char path[PATH_MAX];

	for (unsigned i = 0; i < ANALYSE_SESSIONS; i++) {
		run_folder_session(path, folder, i);
		unlink(path);
	}
	share_job_forget(folder);
	preload_forget(folder);
	for (unsigned i = 1; i < BARRIER_JOBS; i++) {
		launch_job_path(path, folder, i, "/session");
		unlink(path);
		launch_job_path(path, folder, i, "");
		rmdir(path); /* stays where it holds a result */
	}
}

/* ---- the result of a run whose dsa died ---- */

/* Maps the sessions of a folder; returns how many, 0 with err when there is none. */
static unsigned recover_map(const char *folder, const struct trace **traces,
			    struct error *err)
{
	char path[PATH_MAX];
	unsigned count = 0;

	while (count < ANALYSE_SESSIONS) {
		run_folder_session(path, folder, count);
		if (count > 0 && access(path, F_OK) < 0)
			break;
		traces[count] = trace_map(path, false, err);
		if (traces[count] == NULL)
			break;
		count++;
	}
	return count;
}

/* Maps those of the jobs beside the first, behind it in `traces`; returns how many. */
static unsigned recover_map_jobs(const char *folder, const struct trace **traces)
{
	char path[PATH_MAX];
	unsigned count = 1;

	for (; count < BARRIER_JOBS; count++) {
		launch_job_path(path, folder, count, "/session");
		traces[count] = trace_map(path, false, NULL);
		if (traces[count] == NULL)
			break;
	}
	return count;
}

static void recover_unmap(const struct trace *const *traces, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		trace_unmap((struct trace *)(uintptr_t)traces[i]);
}

int run_folder_map(const char *folder, struct run_folder_sessions *sessions,
		   struct error *err)
{
	struct error why = {0};
	unsigned launches = recover_map(folder, sessions->traces, &why);

	if (launches == 0) {
		if (err != NULL)
			*err = why;
		return -why.code;
	}
	sessions->launches = launches;
	sessions->count = launches - 1 +
			  recover_map_jobs(folder, sessions->traces + launches - 1);
	return 0;
}

void run_folder_unmap(struct run_folder_sessions *sessions)
{
	recover_unmap(sessions->traces, sessions->count);
	sessions->launches = sessions->count = 0;
}

struct recovery {
	const char *folder;
	run_folder_keep *keep; /* NULL: the sessions stay */
};

static int recover_status(struct profile *profile)
{
	profile->status.id = STATUS_DSA_DIED;
	return profile_text(&profile->status_why,
			    "dsa ended before the run did; this is what its session "
			    "holds");
}

/* In place of the session; where that can't be, `keep` is NULL from then on. */
static void recover_keep(struct recovery *recovery, const char *folder,
			 const struct profile *profile)
{
	if (recovery->keep != NULL && recovery->keep(folder, profile, NULL) < 0)
		recovery->keep = NULL;
}

static int recover_job(struct recovery *recovery, const struct trace *trace,
		       unsigned job, struct profile *profile, struct error *err)
{
	char folder[PATH_MAX];
	struct profile own;
	int result;

	profile_init(&own);
	result = analyse(&trace, 1, &own, err);
	if (result == 0)
		result = jobs_add(profile, job, &own, NULL);
	if (result == 0)
		result = jobs_add(&own, job, &own, NULL);
	if (result == 0)
		result = recover_status(&own);
	launch_job_path(folder, recovery->folder, job, "");
	if (result == 0)
		recover_keep(recovery, folder, &own);
	profile_free(&own);
	return result;
}

static int recover_jobs(struct recovery *recovery, const struct trace *first,
			struct profile *profile, struct error *err)
{
	const struct trace *traces[BARRIER_JOBS] = {first};
	unsigned count = recover_map_jobs(recovery->folder, traces);
	int result = count > 1 ? jobs_add(profile, 0, profile, NULL) : 0;

	for (unsigned i = 1; result == 0 && i < count; i++)
		result = recover_job(recovery, traces[i], i, profile, err);
	if (result == 0 && count > 1)
		result = jobs_together(traces, count, &profile->together,
				       &profile->prep_cpu_per_delivered_s);
	profile->shared = first->loader.shared != 0;
	recover_unmap(traces + 1, count - 1);
	return result;
}

/* The result of sessions whose dsa is dead. */
static int recover_all(struct recovery *recovery, const struct trace *const *traces,
		       unsigned count, struct profile *profile, struct error *err)
{
	int result = analyse(traces, count, profile, err);

	if (trace_dsa_state(traces[0], NULL) != TRACE_DSA_GONE) /* it seems so */
		recovery->keep = NULL;
	if (result == 0)
		result = recover_jobs(recovery, traces[0], profile, err);
	if (result == 0)
		result = preload_recover(recovery->folder, profile);
	if (result == 0)
		result = recover_status(profile);
	if (result < 0)
		return result;
	recover_keep(recovery, recovery->folder, profile);
	if (recovery->keep != NULL)
		run_folder_forget(recovery->folder);
	return 0;
}

int run_folder_recover(const char *folder, run_folder_keep *keep,
		       struct profile *profile, struct error *err)
{
	struct recovery recovery = {folder, keep};
	const struct trace *traces[ANALYSE_SESSIONS];
	struct error why = {0};
	unsigned count = recover_map(folder, traces, &why);
	int result = count == 0 ? -why.code : 0;

	if (result < 0 && err != NULL)
		*err = why;
	if (result == 0 && run_folder_is_busy(folder, traces[0]))
		result = error_set(err, EBUSY, "the run in %s is still going on",
				   folder);
	if (result == 0)
		result = recover_all(&recovery, traces, count, profile, err);
	recover_unmap(traces, count);
	return result == -ENOMEM ? error_sys(err, ENOMEM, "recovering the run")
				 : result;
}
