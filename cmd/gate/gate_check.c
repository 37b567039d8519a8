/* gate_check.c - --self-test: finds out whether this gate would find a slowdown. */
#include "cmd/common/cmd.h"
#include "cmd/gate/gate_options.h"
#include "loader/base/error.h"
#include "loader/base/math/median.h"
#include "models/gate/gate_statistics.h"
#include "profiler/run/apply.h"
#include "reports/gate/baseline.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Command, loader and its settings of the baseline, where none were typed. */
static void gate_check_take_settings(struct gate_options *ask,
				     const struct gate_side *base)
{
	if (ask->measure.startup.command == NULL && profile_can_repeat(&base->about))
		ask->measure.startup.command = base->about.command;
	if (ask->measure.startup.loader == NULL ||
	    ask->measure.startup.loader[0] == '\0') {
		ask->measure.startup.loader = base->about.loader;
		ask->measure.startup.asked = base->about.asked;
	}
	if (ask->measure.startup.choice == PRELOAD_AUTO)
		ask->measure.startup.choice =
			apply_choice_named(base->about.loader_choice);
	ask->measure.startup.own_epochs |= apply_own_epochs(&base->about);
}

/* The median of the last session's rates, samples/s. */
static double gate_check_rate_of(const struct gate_side *side)
{
	const struct gate_session *session = &side->sessions[side->session_count - 1];
	int metric = gate_metric_find("samples_per_s");
	double values[GATE_PAIRS_MOST];
	size_t count = 0;

	for (size_t i = 0; i < session->count && count < GATE_PAIRS_MOST; i++)
		if (!isnan(session->values[i][metric]))
			values[count++] = session->values[i][metric];
	return count > 0 ? median(values, count) : NAN;
}

/*
 * Seconds that prep of a sample is to take so that all workers together deliver at the
 * slowed rate, which no faster stage can hide. NAN: the rate is unknown.
 */
static double gate_check_delay_s(const struct gate_options *ask,
				 const struct gate_side *side)
{
	double workers = fmax(1, (double)side->about.workers);

	return side->about.workers == UNKNOWN
		       ? NAN
		       : workers * (1 + ask->slowdown) / gate_check_rate_of(side);
}

/* The options with that delay, to be freed. NULL: memory is short. */
static char *gate_check_slowed(const char *before, double delay_s)
{
	char *text;

	if (asprintf(&text, "%s%sprep_delay=%.0fns", before != NULL ? before : "",
		     before != NULL && before[0] != '\0' ? "," : "", 1e9 * delay_s) < 0)
		return NULL;
	return text;
}

static int gate_check_compare(struct gate_options *ask,
			      const struct measure_config *other,
			      struct gate_side *sides, struct gate_verdict *verdict,
			      struct error *err)
{
	int result;

	gate_side_init(&sides[0]);
	gate_side_init(&sides[1]);
	result = gate_options_measure(ask, other, NULL, sides, err);
	if (result == 0)
		result = gate_judge(&ask->config, &sides[1], &sides[0], verdict, err);
	return result;
}

static void gate_check_print(const struct gate_options *ask, const char *what,
			     const struct gate_verdict *verdict, bool right)
{
	if (ask->quiet)
		return;
	printf("%-36s %s: %s%s\n", what, gate_outcome_name(verdict->outcome),
	       verdict->why, right ? "" : "  <- wrong");
	for (size_t i = 0; i < verdict->count; i++) {
		const struct gate_finding *finding = &verdict->findings[i];

		if (finding->tier != GATE_EXACT)
			printf("  %-34s %s\n", finding->name, finding->why);
	}
}

/* Both sides the same: a regression would be a false alarm. */
static int gate_check_without(struct gate_options *ask, struct gate_side *sides,
			      bool *right, struct error *err)
{
	struct gate_verdict verdict = {0};
	int result = gate_check_compare(ask, &ask->measure, sides, &verdict, err);

	*right = verdict.outcome != GATE_REGRESSION;
	if (result == 0)
		gate_check_print(ask, "nothing changed", &verdict, *right);
	gate_verdict_free(&verdict);
	return result;
}

/* The side that is judged is the slowed one. */
static int gate_check_slow(struct gate_options *ask, double delay_s,
			   struct gate_verdict *verdict, struct error *err)
{
	const struct measure_config usual = ask->measure;
	char *loader = gate_check_slowed(usual.startup.loader, delay_s);
	char *asked = gate_check_slowed(usual.startup.asked, delay_s);
	struct gate_side sides[2];
	int result = -ENOMEM;

	ask->measure.startup.loader = loader;
	ask->measure.startup.asked = asked;
	gate_side_init(&sides[0]);
	gate_side_init(&sides[1]);
	if (loader != NULL && asked != NULL)
		result = gate_check_compare(ask, &usual, sides, verdict, err);
	else
		error_sys(err, ENOMEM, "slowing the program down");
	ask->measure = usual;
	free(loader);
	free(asked);
	gate_side_free(&sides[0]);
	gate_side_free(&sides[1]);
	return result;
}

static int gate_check_with(struct gate_options *ask, const struct gate_side *plain,
			   bool *right, struct error *err)
{
	double delay_s = gate_check_delay_s(ask, plain);
	struct gate_verdict verdict = {0};
	char what[64];
	int result;

	if (!isfinite(delay_s))
		return error_set(err, ENODATA,
				 "the rate of the program is unknown: nothing can be "
				 "slowed down by a known part of it");
	result = gate_check_slow(ask, delay_s, &verdict, err);
	*right = verdict.outcome == GATE_REGRESSION;
	snprintf(what, sizeof(what), "prep slowed, by %.3g%% in all",
		 100 * ask->slowdown);
	if (result == 0)
		gate_check_print(ask, what, &verdict, *right);
	gate_verdict_free(&verdict);
	return result;
}

static int gate_check_answer(struct gate_options *ask, bool *right, struct error *err)
{
	struct gate_side sides[2];
	bool quiet_is_right, slow_is_right = false;
	int result = gate_check_without(ask, sides, &quiet_is_right, err);

	if (result == 0)
		result = gate_check_with(ask, &sides[0], &slow_is_right, err);
	*right = quiet_is_right && slow_is_right;
	gate_side_free(&sides[0]);
	gate_side_free(&sides[1]);
	return result;
}

int gate_options_check(struct gate_options *ask)
{
	struct gate_side base;
	struct error err = {0};
	bool right = false;
	int result = 0;

	gate_side_init(&base);
	if (ask->baseline != NULL)
		result = baseline_load(ask->baseline, &base, &err);
	gate_check_take_settings(ask, &base);
	if (result == 0 && ask->measure.startup.command == NULL)
		result = error_set(&err, EINVAL,
				   "%s names no command that can be run again: "
				   "give one after --",
				   ask->baseline);
	if (result == 0)
		result = gate_check_answer(ask, &right, &err);
	gate_side_free(&base);
	if (result < 0)
		return gate_options_fail(result, &err);
	if (!ask->quiet)
		puts(right ? "this gate finds it"
			   : "this gate does not find it here: take more --pairs, a "
			     "quieter machine, larger limits (--metric), or counts "
			     "alone (--pairs 0)");
	return right ? 0 : 1;
}
