/*
 * children.h - which children of dsa's belong to the programs of a launch.
 *
 * Processes that a program leaves behind become dsa's children. But dsa may have had
 * children before: those of the process that became dsa by exec.
 */
#ifndef DSA_CHILDREN_H
#define DSA_CHILDREN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { CHILDREN_OTHERS = 256 };

struct children {
	const char *session;           /* of one of the programs */
	pid_t others[CHILDREN_OTHERS]; /* that dsa had before; 0: it ended */
	unsigned count;       /* of others; those beyond the room are not in it */
	uint64_t ended_ns;    /* CPU time of others that ended, and bytes that */
	uint64_t ended_bytes; /* they read: /proc counts them as dsa's */
};

/*
 * Notes the present children: no program was started yet. `session`: an absolute path in
 * the folder that holds the programs' sessions, to be kept; NULL: there will be none.
 */
void children_note(struct children *children, const char *session);

/* True of one of those. */
bool children_is_other(const struct children *children, pid_t pid);

/* waitpid() for any child, which also notes what others used. */
pid_t children_reap(struct children *children, int *status, int options);

/*
 * Sends a signal, 0: none, to those that belong to the programs: all, or where dsa had
 * others before those that have DSA_SESSION of them in their environment. Returns one of
 * them, or one that may be: it is ending, or about to run a program; 0: there is none.
 */
pid_t children_signal(const struct children *children, int number);

#endif
