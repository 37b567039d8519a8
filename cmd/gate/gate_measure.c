/* gate_measure.c - measures the sides of a gate in short launches. */
#include "cmd/common/progress.h"
#include "cmd/gate/gate_options.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "models/gate/gate_config.h"
#include "models/gate/gate_fit.h"
#include "models/gate/gate_looks.h"
#include "profiler/run/ab_trial.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct measuring {
	const struct gate_options *ask;
	const struct gate_side *base;
	struct gate_side *sides;
	struct gate_session *sessions[2];
	unsigned side_count;
	size_t next; /* repetitions of each side at the next look; 0: there is none */
};

/* The next look may be the last. */
static void gate_measure_progress(void *context, const struct ab_trial_progress *news)
{
	const struct measuring *measuring = context;
	size_t later =
		measuring->next == 0 ? 0 : measuring->ask->pairs - measuring->next;
	unsigned left = news->of - news->done;
	double least = left - (double)(later * measuring->side_count);
	FILE *to = progress_line();

	fprintf(to, "%u of %s%u launches", news->done, later > 0 ? "at most " : "",
		news->of);
	if (later > 0 && !isnan(news->left_s))
		fprintf(to, ", %.0f to %.0f s left", news->left_s / left * least,
			news->left_s);
	else if (!isnan(news->left_s))
		fprintf(to, ", %.0f s left", news->left_s);
}

/* -ECANCELED where sides can't be compared: then nothing need be timed. */
static int compare_early(const struct measuring *measuring, struct error *err)
{
	struct gate_fit fit;
	int result;

	if (measuring->base == NULL)
		return 0;
	result = gate_fit_check(&measuring->base->about, &measuring->sides[0].about,
				false, &fit);
	if (result < 0)
		error_sys(err, -result, "comparing");
	else if (fit.other_data || (fit.other_machine &&
				    gate_config_wants_machine(&measuring->ask->config)))
		result = -ECANCELED;
	gate_fit_free(&fit);
	return result;
}

static void gate_measure_print(unsigned side, const double values[GATE_METRICS])
{
	progress_clear();
	fprintf(stderr, "side %u:", side + 1);
	for (int i = 0; i < GATE_METRICS; i++)
		if (!isnan(values[i]))
			fprintf(stderr, " %s %.6g", gate_metrics[i].name, values[i]);
	putc('\n', stderr);
}

/* 1: what there is decides, or nothing is to follow. */
static int gate_measure_look(struct measuring *measuring, struct error *err)
{
	const struct gate_side *sides = measuring->sides;
	const struct gate_side *base =
		measuring->side_count > 1 ? &sides[1] : measuring->base;
	struct gate_verdict verdict;
	int result;

	for (unsigned i = 0; i < measuring->side_count; i++)
		if (measuring->sessions[i]->count != measuring->next)
			return 0;
	result = gate_judge(&measuring->ask->config, base, &sides[0], &verdict, err);
	measuring->next = verdict.next;
	gate_verdict_free(&verdict);
	return result < 0 ? result : measuring->next == 0;
}

static int gate_measure_take(void *context, enum ab_trial_what what, unsigned side,
			     const struct profile *profile, struct error *err)
{
	struct measuring *measuring = context;
	double values[GATE_METRICS];
	int result;

	if (what == AB_TRIAL_COUNTED) {
		gate_metric_counted(profile, values);
		result = gate_side_describe(&measuring->sides[side], profile);
	} else {
		gate_metric_timed(profile, values);
		profile_busy_join(&measuring->sides[side].about.busy, &profile->busy);
		result = gate_session_add(measuring->sessions[side], values);
	}
	if (measuring->ask->verbose)
		gate_measure_print(side, values);
	if (result < 0)
		return error_sys(err, -result, "keeping what was measured");
	if (what == AB_TRIAL_COUNTED)
		return compare_early(measuring, err);
	return measuring->next > 0 ? gate_measure_look(measuring, err) : 0;
}

static int add_sessions(struct measuring *measuring, struct error *err)
{
	const struct gate_options *ask = measuring->ask;
	char when[CLOCK_UTC];

	clock_utc(when);
	for (unsigned i = 0; i < measuring->side_count; i++) {
		measuring->sessions[i] =
			gate_side_add_session(&measuring->sides[i], when);
		if (measuring->sessions[i] == NULL)
			return error_sys(err, ENOMEM, "keeping what was measured");
		measuring->sessions[i]->most = ask->config.looks ? ask->pairs : 0;
	}
	measuring->next = ask->config.looks ? gate_looks_next(0) : 0;
	return 0;
}

/* The programs write into `folder`, apart from the verdict. */
static void gate_measure_aside(struct measure_config configs[2], const char *folder)
{
	for (int i = 0; i < 2; i++) {
		configs[i].folder = folder;
		configs[i].startup.output_aside = true;
	}
}

/* Makes a private folder for sessions, which is removed afterwards. */
static int gate_measure_make_folder(char folder[PATH_MAX], struct error *err)
{
	const char *parent = getenv("TMPDIR");

	if (parent == NULL)
		parent = "/tmp";
	if (snprintf(folder, PATH_MAX, "%s/dsa-gate-XXXXXX", parent) >= PATH_MAX)
		return error_sys(err, ENAMETOOLONG, "cannot make a folder in %.80s",
				 parent);
	return mkdtemp(folder) != NULL
		       ? 0
		       : error_sys(err, errno, "cannot make a folder in %s", parent);
}

int gate_options_measure(const struct gate_options *ask,
			 const struct measure_config *other,
			 const struct gate_side *base, struct gate_side *sides,
			 struct error *err)
{
	struct measuring measuring = {
		.ask = ask,
		.base = base,
		.sides = sides,
		.side_count = other != NULL ? 2 : 1,
	};
	struct measure_config configs[2] = {ask->measure};
	const struct ab_trial_config trial = {
		.sides = {&configs[0], &configs[1]},
		.side_count = measuring.side_count,
		.pairs = ask->pairs,
		.seconds = ask->seconds,
		.samples = ask->samples,
		.take = gate_measure_take,
		.progress = progress_wanted(ask->quiet) ? gate_measure_progress : NULL,
		.context = &measuring,
	};
	char folder[PATH_MAX];
	int result = ask->pairs > 0 ? add_sessions(&measuring, err) : 0;

	if (result == 0)
		result = gate_measure_make_folder(folder, err);
	if (result < 0)
		return result;
	if (other != NULL)
		configs[1] = *other;
	gate_measure_aside(configs, folder);
	result = ab_trial_run(&trial, err);
	progress_clear();
	rmdir(folder);
	return result;
}
