/*
 * target.h - the program under measurement, as a process group of its own.
 *
 * Nothing in it depends on us: no pipe, no death signal. If we are killed it goes on.
 * While we live, processes that it leaves behind become our children and are ended.
 */
#ifndef DSA_TARGET_H
#define DSA_TARGET_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct error;

struct target_config {
	char *const *command; /* argv; the program is searched in PATH */
	/* NULL, or what it does instead of a program; the value is its exit status. */
	int (*run)(void *context);
	void *context;
	const char *session;  /* DSA_SESSION: absolute path */
	const char *share;    /* DSA_SHARE; NULL: left as it is */
	const char *loader;   /* DSA_LOADER; NULL or "": left as it is */
	const char *job;      /* DSA_JOB; NULL: it is not one of several */
	unsigned cores;       /* CPUs it may use, of ours; 0: all of them */
	bool background;      /* it has neither our terminal nor our input */
	bool output_aside;    /* its standard output goes to standard error */
	const sigset_t *mask; /* signal mask that it starts with */
};

struct target {
	pid_t pid; /* and process group */
	bool running;
	int status;      /* when it ended: exit status, or 128 + signal */
	bool foreground; /* it has our terminal */
	bool gone;       /* nothing of its group is left */
};

/*
 * Starts the program. -ENOENT, -EACCES ... with one line when it can't be started. The
 * caller has SIGCHLD, SIGTTOU and what it passes on blocked.
 */
int target_start(struct target *target, const struct target_config *config,
		 struct error *err);

/*
 * Takes note of which of them ended, or stopped (then we stop too, as a shell's job
 * does). They are all that were started.
 */
void target_poll(struct target *targets, unsigned count);

/* Sends a signal to the whole group. */
void target_signal(const struct target *target, int number);

/* After all ended: ends whatever they left behind, and takes the terminal back. */
void target_clear(struct target *targets, unsigned count);

#endif
