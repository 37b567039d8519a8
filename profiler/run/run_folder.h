/*
 * run_folder.h - the sessions in a run's folder: whether they are those of a run that goes
 * on, and the result of one that does not.
 */
#ifndef DSA_RUN_FOLDER_H
#define DSA_RUN_FOLDER_H

#include "profiler/analysis/analyse.h"
#include "profiler/run/conductor/barrier.h"

struct error;
struct profile;
struct trace;

enum { RUN_FOLDER_SESSIONS = ANALYSE_SESSIONS + BARRIER_JOBS };

/* Of job 0, of a launch from 0 on: "session", "session.2" ... */
void run_folder_session_name(char name[16], unsigned launch);

/*
 * Locks the first session until dsa ends, so that it is seen from other containers, too.
 * There are file systems without locks.
 */
void run_folder_hold(const char *session);

/* Keeps a result in a folder: 0 or -errno. */
typedef int run_folder_keep(const char *folder, const struct profile *profile,
			    struct error *err);

/*
 * Makes a result of the sessions in `folder`, each job's, and keeps it in their place
 * where `keep` can; they stay where it can't. -ENOENT: there is none.
 */
int run_folder_recover(const char *folder, run_folder_keep *keep,
		       struct profile *profile, struct error *err);

/* Removes what a dead dsa left; -EBUSY while one lives. */
int run_folder_take(const char *folder, struct error *err);

/* The sessions of a folder, mapped: those of the launches of job 0, and of other jobs. */
struct run_folder_sessions {
	const struct trace *traces[RUN_FOLDER_SESSIONS];
	unsigned launches, count;
};

/* 0, to be ended with run_folder_unmap(); or -errno: there is none, or it can't be read. */
int run_folder_map(const char *folder, struct run_folder_sessions *sessions,
		   struct error *err);
void run_folder_unmap(struct run_folder_sessions *sessions);

/* Removes the sessions, once their result is saved. */
void run_folder_forget(const char *folder);

#endif
