/*
 * gate.h - did it get worse? A pure function of two sides.
 *
 *	exact            worse by more than its limit: a regression. No statistics
 *	ratio, rate      a regression if p (adjusted for all of them) < alpha and the
 *	                 near end of the interval is beyond max(limit, floor); a pass if
 *	                 the far end is within the limit; else inconclusive
 *	any              an improvement where as much is known of the other direction
 *	rate             against a stored baseline only informs, unless its floor comes
 *	                 from GATE_SESSIONS sessions: machines drift between sessions
 *
 * floor: what identical code differs by, with a chance of alpha over all metrics
 * (gate_timed_set_floor()). A limit below what noise does would else leave false alarms
 * to alpha alone.
 *
 * On another machine timed metrics only inform, on another data set all of them do. Of
 * stalls their sum decides: the parts, which noise moves against each other, only tell
 * where it comes from, unless a limit was asked for.
 */
#ifndef DSA_GATE_H
#define DSA_GATE_H

#include "models/gate/gate_side.h"

enum { GATE_WHY = 320 };

struct gate_config {
	double limits[GATE_METRICS]; /* NAN: the metric's own; INFINITY: not compared */
	double alpha;                /* .05 */
	bool paired; /* repetition i of both sides was measured next to each other */
	bool looks;  /* it is judged until it knows (gate_looks.h), not once */
	bool any_environment; /* another machine is allowed, as it is where nothing is
			       * timed: then timed ones only inform */
};

/* Every limit the metric's own, alpha .05, paired. */
void gate_config_init(struct gate_config *config);

enum gate_status {
	GATE_PASSED,
	GATE_REGRESSED,
	GATE_UNDECIDED,
	GATE_MISSING, /* one side does not have it, or has nothing to compare it with */
	GATE_INFORMS, /* shown only: it can't fail a build here */
	GATE_IMPROVED, /* better, as surely as what regressed is worse */
};

/* One metric. Numbers NAN where unknown. */
struct gate_finding {
	char *name, *unit;
	enum gate_tier tier;
	enum gate_status status;
	bool more_is_worse, points;
	double base;           /* a median, or a count */
	double now;            /* a count, or what the base became with this change */
	struct interval worse; /* positive is worse; one-sided bounds */
	double p;              /* adjusted; of what improved, that it did not */
	double limit;          /* infinite: none, it only informs */
	double floor;
	double detectable;  /* the smallest change beyond the limit that is found */
	char why[GATE_WHY]; /* one line */
};

enum gate_outcome {
	GATE_PASS,
	GATE_REGRESSION,
	GATE_INCONCLUSIVE,
	GATE_MISMATCH,
	GATE_IMPROVEMENT, /* a pass, and something improved */
};

struct gate_verdict {
	enum gate_outcome outcome;
	char why[GATE_WHY]; /* one line; of a regression its first cause, if known */
	struct gate_finding *findings;
	size_t count;
	char **causes; /* why it changed, the largest first, then NULL; NULL: none */
	size_t cause_count;
	char **mismatches; /* "cpu: AMD EPYC 7763, was Xeon 8370C"; the same; also
			    * where any_environment allows them */
	size_t mismatch_count;
	bool other_data; /* the first of these tells of the data set, else of the machine */
	char **settings; /* "workers fell from 2 to 1": those that differ and are in no
			  * cause; the same */
	size_t setting_count;
	char *busy; /* one line: who else was busy, which decides nothing; NULL: nobody */
	double alpha;
	size_t base_repetitions, repetitions;
	size_t most; /* repetitions at the last look; 0: it is judged once */
	size_t next; /* those at the next one; 0: nothing is open, or this was the last */
	size_t base_sessions; /* separate ones */
	bool paired;
};

/* 0; -EINVAL: limits, alpha and repetitions can't go together (err says what can);
 * -ENOMEM. gate_verdict_free() in any case. */
int gate_judge(const struct gate_config *config, const struct gate_side *base,
	       const struct gate_side *now, struct gate_verdict *verdict,
	       struct error *err);
void gate_verdict_free(struct gate_verdict *verdict);

/* A finding more, all unknown; NULL: memory is short. */
struct gate_finding *gate_verdict_add(struct gate_verdict *verdict);

/* The finding of that name, and the first of that status; NULL: there is none. */
struct gate_finding *gate_verdict_find(const struct gate_verdict *verdict,
				       const char *name);
const struct gate_finding *gate_verdict_first(const struct gate_verdict *verdict,
					      enum gate_status status);

/* Appends a printf to a list of lines that ends with a NULL. 0 or -ENOMEM. */
int gate_lines_add(char ***lines, size_t *count, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* What was measured again, of both sides, counts, and is a regression only where it was
 * one in the first verdict, too. 0 or -ENOMEM. */
int gate_verdict_confirm(struct gate_verdict *again, const struct gate_verdict *first,
			 const struct gate_side *base, const struct gate_side *now);

/* Before anything is measured: -EINVAL when so many repetitions at most, pairs of them
 * or against those of a base (NULL: not known yet), can't reach alpha. */
int gate_check(const struct gate_config *config, const struct gate_side *base,
	       size_t repetitions, struct error *err);

const char *gate_tier_name(enum gate_tier tier);       /* "exact", "ratio", "rate" */
const char *gate_status_name(enum gate_status status); /* "pass", "regression", ... */
const char *gate_outcome_name(enum gate_outcome outcome); /* as it is written in JSON */

#endif
