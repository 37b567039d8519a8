/* run_folder.c - names, locks and removes the sessions of a run. */
#include "profiler/run/run_folder.h"
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "profiler/analysis/analyse.h"
#include "profiler/run/launch.h"
#include "profiler/run/share_job.h"

#include <errno.h>
#include <fcntl.h>
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

void run_folder_session(char *path, const char *folder, unsigned launch)
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

bool run_folder_is_busy(const char *folder, const struct trace *trace)
{
	enum trace_dsa dsa = trace_dsa_state(trace);

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
	for (unsigned i = 1; i < BARRIER_JOBS; i++) {
		launch_job_path(path, folder, i, "/session");
		unlink(path);
		launch_job_path(path, folder, i, "");
		rmdir(path); /* stays where it holds a result */
	}
}
