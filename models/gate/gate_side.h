/*
 * gate_side.h - one side of a comparison: what was measured of one command, where, and
 * of what. A baseline is a side that was written to a file.
 *
 *	side { about, exact, sessions { when, repetitions { value of each metric } } }
 *
 * Repetitions are launches of about 2 s. Those of one session followed one another on
 * one machine; those of different sessions are not exchangeable: machines drift.
 */
#ifndef DSA_GATE_SIDE_H
#define DSA_GATE_SIDE_H

#include "models/gate/gate_metric.h"

struct gate_session {
	char *when;                     /* ISO 8601, UTC */
	double (*values)[GATE_METRICS]; /* of each repetition; NAN: unknown */
	size_t count;
	size_t most; /* there were to be, had looks not ended it; 0: it was not looked
		      * at before its end */
};

struct gate_side {
	struct profile about; /* version, command, loader, environment, what was loaded;
				 no measurements but `counted` */
	struct gate_session *sessions;
	size_t session_count;
};

/* Nothing known. gate_side_free() ends it. */
void gate_side_init(struct gate_side *side);
void gate_side_free(struct gate_side *side);

/* NULL: memory is short. Pointers to earlier sessions are void after that. */
struct gate_session *gate_side_add_session(struct gate_side *side, const char *when);

/*
 * Sessions that began within an hour saw the same machine, and are one for what
 * machines drift by; so are those of which it is not known when. The end of those that
 * are one with session `first`.
 */
size_t gate_side_separate(const struct gate_side *side, size_t first);

/* How many there are, counted so; from GATE_SESSIONS on their drift is known. */
enum { GATE_SESSIONS = 5 };
size_t gate_side_separate_count(const struct gate_side *side);

/* 0 or -ENOMEM. */
int gate_session_add(struct gate_session *session, const double values[GATE_METRICS]);

/* Copies what says where and of what a profile was measured, in place of what was
 * there; counts stay when the profile has none. 0 or -ENOMEM. */
int gate_side_describe(struct gate_side *side, const struct profile *profile);

/* A whole run as a side of one session, whose repetitions are its balanced blocks
 * (those with a used and certified window of each kind). 0 or -ENOMEM. */
int gate_side_of_run(struct gate_side *side, const struct profile *run);

#endif
