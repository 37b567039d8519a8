/*
 * gate_metric.h - what a gate compares.
 *
 *	exact   counted over the same samples of the same stream: no noise, any change
 *	        beyond the limit is real
 *	ratio   both halves come from one repetition, so that the machine cancels
 *	rate    what the clock says; only as steady as the machine
 */
#ifndef DSA_GATE_METRIC_H
#define DSA_GATE_METRIC_H

#include "profiler/profile.h"

enum gate_tier { GATE_EXACT, GATE_RATIO, GATE_RATE };

struct gate_metric {
	const char *name; /* "opens_per_sample" */
	const char *unit; /* "", "B", "s", "samples/s"; "share": a part of 1 */
	const char *what; /* one line for people */
	enum gate_tier tier;
	bool more_is_worse;
	bool points;  /* it is a share: a change is a difference, else a part of what
		       * it was */
	bool informs; /* it tells where a change comes from, and decides only with a
		       * limit that was asked for */
	double limit; /* what a change may be, in that measure; INFINITY: it is not
		       * judged unless asked for */
	double drift; /* what sessions of identical code may differ by, taken until
		       * there are sessions enough to see it; NAN: there is no saying.
		       * Medians of the recorded ones (tests/data/gate) differ by 3
		       * points and 6 % (standard deviation) */
};

enum {
	GATE_METRICS = 12 + STAGES,
	GATE_TIMED_MOST = 4 /* that decide, in one gate */
};

extern const struct gate_metric gate_metrics[GATE_METRICS];

/* Its number, or -1. */
int gate_metric_find(const char *name);

/* The number of the metric of a stage's stall; of STAGE_COMPUTE that of them all. */
int gate_metric_stall(int stage);

/* Where the stall of all stages is unknown: it is the sum of theirs. Baselines of earlier
 * versions do not hold it. */
void gate_metric_sum_stalls(double values[GATE_METRICS]);

/* The exact metrics of a counted launch (profile.counted), NAN where unknown or
 * timed. */
void gate_metric_counted(const struct profile *counted, double values[GATE_METRICS]);

/* False where the loader has a cache, and nothing was counted that could hit it: within an
 * epoch no sample comes twice. */
bool gate_metric_sees_hits(const struct profile *counted);

/* The timed ones of one repetition, NAN where unknown or exact. */
void gate_metric_timed(const struct profile *repetition, double values[GATE_METRICS]);

/* How much worse `now` is than `base`: positive is worse, in the metric's measure. NAN:
 * one of them is unknown, or a ratio would be one to 0. */
double gate_metric_worse(const struct gate_metric *metric, double base, double now);

/* What `base` becomes when it gets so much worse. */
double gate_metric_after(const struct gate_metric *metric, double base, double worse);

#endif
