/*
 * counters.h - hardware and kernel counters for each stage of the target's loader.
 *
 *	rung		how a number was found
 *	libpfm4		hardware event by the CPU's own name for it
 *	generic		hardware event by the kernel's name
 *	software	event of the kernel
 *	proc		/proc/PID/task/TID/{stat,status,schedstat}, /proc/PID/{stat,io}
 *
 * The first rung that works on this machine serves a metric; one that none serves is
 * absent from the result, never 0. The threads are those that the session's processes
 * entered in their tables; the "process" stage is the driver's whole process.
 *
 * A struct counters belongs to one thread. libpfm4 keeps its tables for the whole
 * process and does not lock: open one at a time.
 */
#ifndef DSA_COUNTERS_H
#define DSA_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct counters;
struct error;
struct perf_event_attr;
struct profile;
struct trace;

enum { COUNTERS_SPELL_NS = 30000000 }; /* the least that a spell lasts */

struct counters_config {
	const char *root; /* in front of /proc; NULL: "" */
	/* perf_event_open(2), CPU -1, close-on-exec; a descriptor or -errno. NULL: the
	 * real one. Tests put their own here. */
	int (*open)(const struct perf_event_attr *attr, pid_t tid, int group);
};

/* What this machine offers; for doctor. */
struct counters_support {
	const char *hardware; /* "libpfm4", "generic"; NULL: none */
	const char *kernel;   /* "software", "proc" */
	char why[128];        /* why not more; "": nothing is missing */
	char fix[128];        /* what helps, a command where there is one */
};

/*
 * Finds out which rung serves each metric, by opening each on the calling thread for a
 * moment. config may be NULL. NULL: memory is short, see err.
 */
struct counters *counters_open(const struct counters_config *config, struct error *err);
void counters_close(struct counters *counters);

void counters_support(const struct counters *counters,
		      struct counters_support *support);

/*
 * Counts in spells of COUNTERS_SPELL_NS or more, once in 1.5 s or so: opens events for the
 * session's threads, at most 64 a call, reads them twice and closes them again. Call it
 * often (every 10 to 100 ms) with clock_now(): it returns at once until a read is due, which
 * takes about 20 us a thread. What happens in paired windows is left out, as the session's
 * own counters are still there. A thread that has ended keeps what was read last.
 */
void counters_poll(struct counters *counters, const struct trace *trace, uint64_t now);

/* Reads at once, and leaves the events on. True: a difference was counted, or none will be
 * while the paired window is on. */
bool counters_poll_now(struct counters *counters, const struct trace *trace);

/*
 * Adds a profile_counter for each stage and metric: what the stage's threads used for
 * each sample that it fetched, prepared or delivered meanwhile. 0 or -ENOMEM.
 */
int counters_result(const struct counters *counters, struct profile *profile);

#endif
