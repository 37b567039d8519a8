/*
 * gate_timed.h - what the repetitions of two sides say of one timed metric.
 *
 *	paired     the last session of each, repetition by repetition
 *	else       the last session against those of the base, newest first, as many as
 *	           a test takes
 *
 * Ratios are compared by their logarithms.
 */
#ifndef DSA_GATE_TIMED_H
#define DSA_GATE_TIMED_H

#include "models/gate/gate.h"
#include "models/gate/gate_statistics.h"

/* In the metric's measure, positive is worse. Numbers NAN where unknown. */
struct gate_timed {
	size_t base_count, count; /* repetitions that know it */
	size_t sessions;          /* of the base that do, separate ones */
	double base;              /* median */
	double now;               /* what that became; of one side alone its median */
	struct interval worse;    /* one-sided bounds */
	double p;                 /* not adjusted */
	double floor; /* what the same code may differ by: gate_timed_set_floor() */
	double noise; /* the level that the floor of pairs has; 0: it has none */
	double drift; /* standard deviation of a session's median from the mean of those
		       * there are, as tested; NAN: fewer than 2 */
	struct gate_shift shift; /* as tested */
	size_t pairs;            /* the test is worth so many */
	size_t most;             /* that of the last look would be; else the same */
	bool logarithms;         /* of ratios were tested */
	bool falls;              /* they are below 1 where it is worse */
};

/* 0 or -ENOMEM. */
int gate_timed_compare(const struct gate_config *config, const struct gate_side *base,
		       const struct gate_side *now, int metric,
		       struct gate_timed *timed);

/*
 * What this metric may differ by where nothing changed, with a chance of alpha over so
 * many that decide. Of pairs, what as many that scatter so are found to differ by, at
 * the level of a look; between sessions, of which a look sees no more, a one-sided
 * prediction of one session more, and below GATE_SESSIONS of them what the metric says.
 */
void gate_timed_set_floor(const struct gate_config *config, unsigned deciding,
			  int metric, struct gate_timed *timed);

/* The smallest change beyond the limit that would be found, at the last look at the
 * latest, with so many that decide. */
double gate_timed_detectable(const struct gate_config *config,
			     const struct gate_timed *timed, double limit,
			     unsigned deciding);

/* Repetitions of a side that are compared: of its last session, where they are paired
 * or it is the side that is judged. */
size_t gate_timed_base(const struct gate_side *base, bool paired);

#endif
