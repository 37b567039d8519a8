/*
 * conductor_state.h - what the parts of the conductor share; private to them.
 *
 *	conductor.c		starts the programs, waits, looks
 *	conductor_windows.c	asks for windows
 *	conductor_end.c		ends them
 */
#ifndef DSA_CONDUCTOR_STATE_H
#define DSA_CONDUCTOR_STATE_H

#include "profiler/host/children.h"
#include "profiler/host/load_watch.h"
#include "profiler/run/conductor/conductor.h"

struct job {
	struct conductor_job *given; /* by the caller */
	struct trace *trace;
	struct schedule *schedule; /* the first one's leads */
	bool stopping;
	uint64_t terminate, kill; /* when to send these; 0: sent, or not yet */
	unsigned kills;           /* sent */
	uint64_t progress;        /* barrier_life() when it changed last */
	uint64_t moved;           /* when that was; 0: not seen yet */
	bool silent;              /* it was told that it asks for no batch */
	uint64_t
		alone_ns; /* when it was told that the program goes on without dsa; 0: it
			    * was not */
};

struct conductor {
	const struct conductor_config *config;
	/* The jobs; a shared loader comes last. */
	struct job jobs[BARRIER_MEMBERS];
	struct target targets[BARRIER_MEMBERS];
	struct children children;
	unsigned count;           /* of both */
	const struct job *loader; /* NULL: none */
	unsigned merged;        /* windows of the loader that the jobs' sessions have */
	struct barrier barrier; /* which jobs take part, in step or alone */
	struct load_watch load;
	struct conductor_end *end;
	uint64_t started;         /* later by the time that the machine slept */
	uint64_t polled, checked; /* when that was done last */
	bool stopping;
	bool repeats;    /* the first window began, which was told */
	bool background; /* it was told that a process is waited for */
	uint64_t ended;  /* when its command did; 0: it did not, or left none */
	bool bounded;    /* it was told how many objects may be asked for */
};

/* ---- conductor_end.c ---- */

/* True until the job leaves the launch. */
bool conductor_has(const struct conductor *conductor, unsigned job);
bool conductor_is_loader(const struct conductor *conductor, unsigned job);

/* The first job that is in; -1: none. */
int conductor_first(const struct conductor *conductor);

/* Seconds since all had asked for a batch. */
double conductor_elapsed(const struct conductor *conductor);

/* Ends the data of all jobs. Only the first call counts: it records why. */
void conductor_stop(struct conductor *conductor, enum conductor_why why,
		    const char *text, ...) __attribute__((format(printf, 3, 4)));

/* The budget is used up. */
void conductor_spent(struct conductor *conductor);

/* Stops as somebody wants who sent a signal. */
void conductor_interrupt(struct conductor *conductor, int number);

/* Takes a job out: its data ends, the others go on; the last one ends the run. */
void conductor_leave(struct conductor *conductor, unsigned number,
		     enum conductor_why why, const char *text, ...)
	__attribute__((format(printf, 4, 5)));

/* Sends the signals that are due to a program that does not leave. */
void conductor_escalate(struct conductor *conductor, unsigned number);

/* Stops when the data of all jobs ended with the samples they were to have: what the
 * programs do from then on is their way out. */
void conductor_note_data_end(struct conductor *conductor);

/* True of one program that goes on without dsa: nothing but its own end, or a signal, ends
 * it. Several are ended by conductor_check(). */
bool conductor_is_alone(const struct conductor *conductor);

/* Of one program whose command ended well: a process that it left in the background, while
 * that trains or nobody asked for a batch yet; 0: none, or its time to leave is over. */
pid_t conductor_background(const struct conductor *conductor);

/* Tells, once, of a program that goes on without dsa, or ends it. */
void conductor_note_unmeasured(struct conductor *conductor, unsigned number);

/* Lets a job leave that trains no more, as its data is repeated. */
void conductor_note_skipping(struct conductor *conductor, unsigned number);

/* Lets a job leave whose program ended before its data did. */
void conductor_note_end(struct conductor *conductor, unsigned number);

/* Stops at the end of the budget or of the steps; lets jobs leave that hang, or ask for no
 * batch, unless these are waited for. */
void conductor_check(struct conductor *conductor);

/* ---- conductor_windows.c ---- */

/* Asks for windows while the schedule has some; stops when it says so. */
void conductor_extend(struct conductor *conductor);

/* Copies what the shared loader's windows brought into the jobs' sessions: those asked
 * for since the last call, which are over. */
void conductor_windows_merge(struct conductor *conductor);

/* The same of the last ones, cut short, and of what it did between them: when all have
 * ended. */
void conductor_windows_conclude(struct conductor *conductor);

/* Asks for one window that lasts as long as the program. */
void conductor_observe(struct trace *trace);

#endif
