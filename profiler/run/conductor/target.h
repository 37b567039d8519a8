/*
 * target.h - the program under measurement, as a process group of its own.
 *
 * The program does not depend on dsa: no pipe, no death signal. If dsa is killed it
 * goes on. While dsa lives, processes that the program leaves behind become dsa's
 * children and are ended.
 */
#ifndef DSA_TARGET_H
#define DSA_TARGET_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct children;
struct error;
struct preload;

struct target_config {
	char *const *command; /* argv; the program is searched in PATH */
	/* NULL, or a function to call instead of a program, which has no command. It has
	 * the open files that a program would have; returns the exit status. */
	int (*run)(void *context);
	void *context;
	const char *session;           /* DSA_SESSION: absolute path */
	const char *share;             /* DSA_SHARE; NULL: left as it is */
	const char *loader;            /* DSA_LOADER; NULL or "": left as it is */
	const char *job;               /* DSA_JOB; NULL: it is not one of several */
	const struct preload *preload; /* for a loader of its own; NULL: none */
	const char *blind;     /* why there is none; NULL or "": none is wanted */
	const char *injection; /* CUDA_INJECTION64_PATH; NULL or "": left as it is */
	const char *plugin;    /* NCCL_PROFILER_PLUGIN; the same */
	unsigned cores;        /* CPUs it may use of dsa's; 0: all of them */
	bool background;       /* it gets neither dsa's terminal nor its input */
	bool output_aside;     /* its standard output goes to standard error */
	const sigset_t *mask;  /* signal mask that it starts with */
};

struct target {
	pid_t pid; /* and process group */
	bool running;
	pid_t heir; /* whose end counts once it left that in the background; 0: none */
	int status; /* when it ended: exit status, or 128 + signal; -1: unknown */
	bool foreground; /* it has the terminal whenever dsa is in the foreground */
	bool gone;       /* nothing of its group is left */
};

/*
 * Starts the program. -ENOENT, -EACCES ... with one line when it can't be started. The
 * caller has SIGCHLD, SIGTTOU and what it passes on blocked.
 */
int target_start(struct target *target, const struct target_config *config,
		 struct error *err);

/*
 * Records which of the targets ended. When one is stopped dsa stops, too, as a shell's
 * job does. `targets` are all that were started, `children` noted before the first.
 */
void target_poll(struct target *targets, unsigned count, struct children *children);

/* Sends a signal to the whole group. */
void target_signal(const struct target *target, int number);

/* Sends a signal to the program alone, or to its heir, and not to what it started; where it
 * would end that, to nobody. */
void target_notify(const struct target *target, int number);

/* Dsa has the terminal from now on where the target has it. */
void target_take_terminal(const struct target *target);

/*
 * Once all ended: ends the processes they left behind, takes the terminal back where
 * they have it. Returns one that does not end, even by SIGKILL; 0: none is left.
 */
pid_t target_clear(struct target *targets, unsigned count, struct children *children);

#endif
