/* gate_run.c - measures, judges, and measures once more before a build fails. */
#include "cmd/common/cmd.h"
#include "cmd/gate/gate_options.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "models/compare/differences.h"
#include "models/gate/gate_fit.h"
#include "models/gate/gate_shares.h"
#include "reports/gate/baseline.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int gate_options_fail(int code, const struct error *err)
{
	int status = cmd_fail(err);

	if (code == -EINVAL) /* what so few repetitions can't reach */
		return 2;
	return code == -ECHILD || code == -ETIMEDOUT ? GATE_STATUS_TARGET : status;
}

/* What is compared with what. With --against both are measured, the base second. */
struct sides {
	struct gate_side now, base;
};

static int gate_run_load_baseline(const struct gate_options *ask,
				  struct gate_side *base, struct error *err)
{
	int result = baseline_load(ask->baseline, base, err);

	if (result == 0)
		result = gate_shares_check(base, err);
	return result == -ERANGE ? error_within(err, result, "%s", ask->baseline)
				 : result;
}

/* Of a folder what dsa run or dsa gate wrote there. */
static const char *gate_run_file(const char *run, char path[PATH_MAX])
{
	struct stat about;

	if (stat(run, &about) < 0 || !S_ISDIR(about.st_mode))
		return run;
	snprintf(path, PATH_MAX, "%s/measured.json", run);
	if (access(path, F_OK) < 0)
		snprintf(path, PATH_MAX, "%s/run.json", run);
	return path;
}

/* It is judged as it was measured. */
static int gate_run_load_run(struct gate_options *ask, struct gate_side *now,
			     struct error *err)
{
	char path[PATH_MAX];
	int result = baseline_load_any(gate_run_file(ask->run, path), now, err);

	ask->config.looks = result == 0 && now->session_count > 0 &&
			    now->sessions[now->session_count - 1].most > 0;
	return result;
}

static int gate_run_load(struct gate_options *ask, struct sides *sides,
			 struct error *err)
{
	int result = 0;

	if (ask->baseline != NULL)
		result = gate_run_load_baseline(ask, &sides->base, err);
	if (result == -ENOENT)
		error_set(err, ENOENT,
			  "there is no baseline %s: make one: dsa gate --baseline %s "
			  "--update -- CMD",
			  ask->baseline, ask->baseline);
	if (result == 0 && ask->run != NULL)
		result = gate_run_load_run(ask, &sides->now, err);
	return result;
}

/* -ECANCELED, that they do not fit, is not an error here: the verdict says so. */
static int measure_sides(struct gate_options *ask, struct sides *sides,
			 struct error *err)
{
	struct measure_config against = ask->measure;
	struct gate_side measured[2];
	int result;

	against.startup.command = ask->against;
	gate_side_init(&measured[0]);
	gate_side_init(&measured[1]);
	result = gate_options_measure(ask, ask->against != NULL ? &against : NULL,
				      ask->baseline != NULL ? &sides->base : NULL,
				      measured, err);
	gate_side_free(&sides->now);
	sides->now = measured[0];
	if (ask->against != NULL) {
		gate_side_free(&sides->base);
		sides->base = measured[1];
	}
	return result == -ECANCELED ? 0 : result;
}

/* Measures both sides again: only what regresses again is a regression. */
static int gate_run_confirm(struct gate_options *ask, struct sides *sides,
			    struct gate_verdict *verdict, struct error *err)
{
	struct gate_verdict again = {0};
	int result = measure_sides(ask, sides, err);

	if (result == 0)
		result = gate_judge(&ask->config, &sides->base, &sides->now, &again,
				    err);
	if (result == 0 &&
	    gate_verdict_confirm(&again, verdict, &sides->base, &sides->now) < 0)
		result = error_sys(err, ENOMEM, "judging two sides once more");
	if (result == 0) {
		gate_verdict_free(verdict);
		*verdict = again;
	} else {
		gate_verdict_free(&again);
	}
	return result;
}

static int gate_run_keep(const struct gate_options *ask, const struct gate_side *side,
			 struct error *err)
{
	char path[PATH_MAX];

	if (ask->output == NULL || ask->run != NULL)
		return 0;
	snprintf(path, sizeof(path), "%s/measured.json", ask->output);
	return baseline_save(side, path, err);
}

static int gate_run_judge(struct gate_options *ask, struct sides *sides,
			  struct gate_verdict *verdict, struct error *err)
{
	int result = gate_run_load(ask, sides, err);

	if (result == 0 && ask->run == NULL && ask->against == NULL && ask->pairs > 0)
		result = gate_check(&ask->config, &sides->base, ask->pairs, err);
	if (result == 0 && ask->run == NULL)
		result = measure_sides(ask, sides, err);
	if (result == 0)
		result = gate_judge(&ask->config, &sides->base, &sides->now, verdict,
				    err);
	if (result == 0 && ask->confirm && verdict->outcome == GATE_REGRESSION)
		result = gate_run_confirm(ask, sides, verdict, err);
	return result == 0 ? gate_run_keep(ask, &sides->now, err) : result;
}

int gate_options_judge(struct gate_options *ask)
{
	struct gate_verdict verdict = {0};
	uint64_t began = clock_now();
	struct error err = {0};
	struct sides sides;
	int result, status = 0;

	gate_side_init(&sides.now);
	gate_side_init(&sides.base);
	result = gate_run_judge(ask, &sides, &verdict, &err);
	if (result == 0 || verdict.count > 0) /* one that could not be confirmed, too */
		status =
			gate_print(ask, &verdict, (double)(clock_now() - began) * 1e-9);
	if (result < 0)
		status = gate_options_fail(result, &err);
	gate_verdict_free(&verdict);
	gate_side_free(&sides.now);
	gate_side_free(&sides.base);
	return status;
}

/* ---- the baseline ---- */

static void gate_run_print_updated(const struct gate_options *ask,
				   const struct gate_side *side)
{
	size_t sessions = gate_side_separate_count(side);

	if (ask->quiet)
		return;
	printf("%s: counts of %llu samples", ask->baseline,
	       (unsigned long long)side->about.counted.samples);
	if (sessions > 0)
		printf(", %zu %s", sessions, sessions == 1 ? "session" : "sessions");
	if (sessions > 0 && sessions < GATE_SESSIONS)
		printf("; %zu more, an hour apart, and rates can fail a build",
		       GATE_SESSIONS - sessions);
	putchar('\n');
	if (!gate_metric_sees_hits(&side->about))
		printf("no sample comes twice in them, so that a change of the cache "
		       "is "
		       "not seen: --samples=%llu counts two epochs\n",
		       2 * (unsigned long long)side->about.dataset_samples);
}

/* Loads the old baseline. 1: there is one; 0: not yet. */
static int take_old(const struct gate_options *ask, struct gate_side *old,
		    struct error *err)
{
	int result = gate_run_load_baseline(ask, old, err);

	if (result == 0)
		return 1;
	if (result != -ENOENT)
		return result;
	*err = (struct error){0};
	return 0;
}

/* A program that reads differently also takes another time. */
static bool reads_alike(const struct profile_counted *old,
			const struct profile_counted *now)
{
	return old->samples == now->samples && old->opens == now->opens &&
	       old->reads == now->reads && old->read_bytes == now->read_bytes &&
	       old->hits == now->hits;
}

/* The first setting that differs; "": none. */
static void gate_run_setting(const struct gate_side *old, const struct gate_side *side,
			     char text[DIFFERENCE_TEXT])
{
	struct differences all;

	text[0] = '\0';
	differences_find(&old->about, &side->about, &all);
	for (unsigned i = 0; i < all.count && text[0] == '\0'; i++)
		if (all.list[i].rank == DIFFERENCE_SET)
			strcpy(text, all.list[i].text);
}

/* True when data, machine, settings and reads are the same: then old sessions stay valid.
 * Else *why says what is not. */
static bool gate_run_fits(const struct gate_side *old, const struct gate_side *side,
			  char why[DIFFERENCE_TEXT])
{
	struct gate_fit fit;
	bool same = gate_fit_check(&old->about, &side->about, false, &fit) == 0 &&
		    !fit.other_data && !fit.other_machine;

	gate_fit_free(&fit);
	strcpy(why, "it was of another machine or other data");
	if (!same)
		return false;
	gate_run_setting(old, side, why);
	if (why[0] != '\0')
		return false;
	strcpy(why, "it was read otherwise");
	return reads_alike(&old->about.counted, &side->about.counted);
}

/* Appends the sessions of a side; counts and environment become those of that side. */
static int gate_run_append(struct gate_side *to, const struct gate_side *side)
{
	int result = gate_side_describe(to, &side->about);

	for (size_t i = 0; result == 0 && i < side->session_count; i++) {
		const struct gate_session *from = &side->sessions[i];
		struct gate_session *session = gate_side_add_session(to, from->when);

		result = session == NULL ? -ENOMEM : 0;
		for (size_t j = 0; result == 0 && j < from->count; j++)
			result = gate_session_add(session, from->values[j]);
	}
	return result;
}

static int gate_run_update(struct gate_options *ask, struct gate_side *old,
			   struct gate_side *side, struct error *err)
{
	int had = take_old(ask, old, err), result = had;
	char why[DIFFERENCE_TEXT];
	bool anew;

	if (result >= 0)
		result = gate_options_measure(ask, NULL, NULL, side, err);
	if (result == 0)
		result = gate_shares_check(side, err);
	if (result < 0)
		return result;
	anew = had == 0 || !gate_run_fits(old, side, why);
	if (!anew && gate_run_append(old, side) < 0)
		return error_sys(err, ENOMEM, "adding to the baseline");
	result = baseline_save(anew ? side : old, ask->baseline, err);
	if (result == 0 && anew && had > 0 && !ask->quiet)
		fprintf(stderr, "dsa: %s begins anew: %s\n", ask->baseline, why);
	if (result == 0)
		gate_run_print_updated(ask, anew ? side : old);
	return result;
}

int gate_options_update(struct gate_options *ask)
{
	struct gate_side old, side;
	struct error err = {0};
	int result;

	gate_side_init(&old);
	gate_side_init(&side);
	result = gate_run_update(ask, &old, &side, &err);
	gate_side_free(&old);
	gate_side_free(&side);
	return result < 0 ? gate_options_fail(result, &err) : 0;
}
