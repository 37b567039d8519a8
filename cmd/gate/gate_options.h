/*
 * gate_options.h - the options of dsa gate, and the parts that carry them out.
 *
 *	gate_options.c  options
 *	gate_measure.c  measures both sides
 *	gate_run.c      measure -> judge -> confirm -> print; --update
 *	gate_check.c    --self-test
 *	gate_print.c    every form that was asked for; the exit status
 */
#ifndef DSA_GATE_OPTIONS_H
#define DSA_GATE_OPTIONS_H

#include "cmd/common/settings.h"
#include "models/gate/gate.h"
#include "profiler/run/measure.h"

struct error;

enum {
	GATE_STATUS_INCONCLUSIVE = 4,
	GATE_STATUS_TARGET = 5, /* failed, hung, asked for no batch */
	GATE_STATUS_MISMATCH = 6
};

struct gate_options {
	struct settings settings;
	struct measure_config measure; /* of the command that is judged */
	struct gate_config config;
	const char *baseline, *run; /* files; NULL: none */
	char **against;             /* the other command; NULL: none */
	unsigned pairs;             /* with config.looks at most */
	double seconds;             /* of a repetition */
	uint64_t samples;
	bool update, confirm, self_test;
	double regression;  /* --max-regression; NAN: none */
	double slowdown;    /* that the self-test injects, a ratio - 1 */
	int inconclusive;   /* exit status for it */
	const char *output; /* folder; NULL: none is kept */
	const char *junit, *markdown;
	bool github, json, quiet, verbose;
};

/* Each returns the exit status, and has said why when it is not 0. */
int gate_options_judge(struct gate_options *ask);
int gate_options_update(struct gate_options *ask);
int gate_options_check(struct gate_options *ask);

/*
 * Measures sides[0], and with `other` sides[1] beside it in turns: exact counts, then
 * ask->pairs repetitions each, if there are any, as one more session; with looks until
 * one decides, against sides[1] or `base`. It stops as soon as `base` does not fit
 * (NULL: it is not looked at). 0 or -errno as ab_trial_run(); -ECANCELED: it does not
 * fit.
 */
int gate_options_measure(const struct gate_options *ask,
			 const struct measure_config *other,
			 const struct gate_side *base, struct gate_side *sides,
			 struct error *err);

/* Prints and saves the verdict in every form asked for. Returns the exit status. */
int gate_print(const struct gate_options *ask, const struct gate_verdict *verdict,
	       double seconds);

/* "-": standard output. NULL is not. */
bool gate_options_is_standard(const char *path);

/* Before anything is measured: whether what is asked for can be written. 0 or -errno. */
int gate_options_writable(const struct gate_options *ask, struct error *err);

/* Says why it could not be measured, or judged. Returns the exit status: 5 when it is the
 * target's fault, 2 when what was asked for can't be. */
int gate_options_fail(int code, const struct error *err);

#endif
