/*
 * run_folder.h - the sessions in a run's folder, and whether they are those of a run that
 * goes on.
 */
#ifndef DSA_RUN_FOLDER_H
#define DSA_RUN_FOLDER_H

#include <stdbool.h>

struct error;
struct trace;

/* Of job 0, of a launch from 0 on: "session", "session.2" ... ; its path: PATH_MAX. */
void run_folder_session_name(char name[16], unsigned launch);
void run_folder_session(char *path, const char *folder, unsigned launch);

/*
 * Locks the first session until dsa ends, so that it is seen from other containers, too.
 * There are file systems without locks.
 */
void run_folder_hold(const char *session);

/* True while the dsa lives that made the first session, mapped as `trace`. */
bool run_folder_is_busy(const char *folder, const struct trace *trace);

/* Removes what a dead dsa left; -EBUSY while one lives. */
int run_folder_take(const char *folder, struct error *err);

/* Removes the sessions, once their result is saved. */
void run_folder_forget(const char *folder);

#endif
