/*
 * gate_trials.c - what a gate says of recorded repetitions (repeat.c), trial by trial.
 *
 *	gate_trials [-n PAIRS] [-m NAME] [-l LIMIT] [-s SIDE] [-a] [-v] FILE...
 *
 * A trial is PAIRS (8) pairs of consecutive lines, in ABBA order; none is used twice. With
 * -s only lines of that side count, and both sides of a trial are drawn from them: nothing
 * differs. Else the lines' own sides count, if there are two. -m: that metric alone;
 * -l: its limit, or a list of them. -a, with -s: each PAIRS consecutive lines are a baseline
 * of one session, and all the others are held against it.
 *
 * Prints one JSON object for each limit: trials by outcome, trials in which the metric was
 * a regression, the medians of what was found and of what could have been.
 */
#include "loader/base/error.h"
#include "loader/base/math/median.h"
#include "models/gate/gate.h"
#include "models/gate/gate_statistics.h"
#include "profiler/run/ab_trial.h"

#include <err.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 1 << 16, OUTCOMES = 5 };

struct line {
	int side;
	double values[GATE_METRICS];
};

struct verify_runs {
	struct line *lines;
	size_t count;
	size_t pairs;
	int metric; /* -1: all */
	int only;   /* side; -1: both as they are */
	bool apart; /* the sides are sessions far from each other */
	bool verbose;
};

struct found {
	unsigned trials, regressed, outcomes[OUTCOMES];
	double worse[MOST], detectable[MOST];
};

static double number(const json_t *line, const char *key)
{
	const json_t *value = json_object_get(line, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static void add_line(struct verify_runs *trials, const char *text, const char *path)
{
	json_error_t why;
	json_t *line = json_loads(text, 0, &why);
	struct line *to = &trials->lines[trials->count];

	if (line == NULL)
		errx(3, "%s: %s", path, why.text);
	to->side = (int)number(line, "side");
	for (int i = 0; i < GATE_METRICS; i++)
		to->values[i] = gate_metrics[i].tier == GATE_EXACT
					? NAN
					: number(line, gate_metrics[i].name);
	gate_metric_sum_stalls(to->values);
	json_decref(line);
	if (trials->only >= 0 && to->side != trials->only)
		return;
	if (++trials->count == MOST)
		errx(3, "more than %d lines", MOST);
}

static void read_lines(struct verify_runs *trials, const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = NULL;
	size_t room = 0;

	if (in == NULL)
		err(3, "%s", path);
	while (getline(&text, &room, in) > 0)
		add_line(trials, text, path);
	free(text);
	fclose(in);
}

static bool two_sides(const struct verify_runs *trials)
{
	for (size_t i = 0; i < trials->count; i++)
		if (trials->lines[i].side != trials->lines[0].side)
			return true;
	return false;
}

static void add(struct gate_side *side, const struct line *line)
{
	if (gate_session_add(&side->sessions[0], line->values) < 0)
		err(3, "a trial");
}

/* Lines that are next to each other, in pairs. */
static void fill_pairs(const struct verify_runs *trials, size_t at,
		       struct gate_side *sides)
{
	const struct line *lines = &trials->lines[at];
	bool own = two_sides(trials);

	for (size_t i = 0; i < 2 * trials->pairs; i++)
		add(&sides[own ? (unsigned)lines[i].side : ab_trial_side((unsigned)i)],
		    &lines[i]);
}

static void begin(struct gate_side *sides)
{
	for (int i = 0; i < 2; i++) {
		gate_side_init(&sides[i]);
		if (gate_side_add_session(&sides[i], "") == NULL)
			err(3, "a trial");
	}
}

static const struct gate_finding *finding_of(const struct gate_verdict *verdict,
					     int metric)
{
	return metric < 0 ? NULL
			  : gate_verdict_find(verdict, gate_metrics[metric].name);
}

static void note(const struct verify_runs *trials, const struct gate_verdict *verdict,
		 struct found *found)
{
	const struct gate_finding *finding = finding_of(verdict, trials->metric);

	found->outcomes[verdict->outcome]++;
	found->regressed += verdict->outcome == GATE_REGRESSION;
	found->worse[found->trials] = finding != NULL ? finding->worse.value : 0;
	found->detectable[found->trials] = finding != NULL ? finding->detectable : 0;
	found->trials++;
	if (!trials->verbose)
		return;
	printf("trial %u: %s", found->trials, gate_outcome_name(verdict->outcome));
	for (size_t i = 0; i < verdict->count; i++) {
		finding = &verdict->findings[i];
		if (!isnan(finding->worse.value))
			printf("; %s %+.4f (%.4f .. %.4f) sees %.4f", finding->name,
			       finding->worse.value, finding->worse.low,
			       finding->worse.high, finding->detectable);
	}
	putchar('\n');
}

/* Frees the sides. */
static void judge(const struct verify_runs *trials, const struct gate_config *config,
		  struct gate_side *sides, struct found *found)
{
	struct gate_verdict verdict = {0};
	struct error error = {0};

	for (int i = 0; i < 2; i++)
		if (profile_set_fact(&sides[i].about, "cpu", "of the trials") < 0)
			err(3, "a trial");
	if (gate_judge(config, &sides[0], &sides[1], &verdict, &error) < 0)
		errx(3, "%s", error.message);
	note(trials, &verdict, found);
	gate_verdict_free(&verdict);
	gate_side_free(&sides[0]);
	gate_side_free(&sides[1]);
}

static void judge_pairs(const struct verify_runs *trials,
			const struct gate_config *config, struct found *found)
{
	struct gate_side sides[2];
	size_t lines = 2 * trials->pairs;

	for (size_t at = 0; at + lines <= trials->count; at += lines) {
		begin(sides);
		fill_pairs(trials, at, sides);
		judge(trials, config, sides, found);
	}
}

static void judge_apart(const struct verify_runs *trials,
			const struct gate_config *config, struct found *found)
{
	size_t sessions = trials->count / trials->pairs;
	struct gate_side sides[2];

	if (sessions * sessions > MOST)
		errx(3, "more than %d trials", MOST);
	for (size_t i = 0; i < sessions * sessions; i++) {
		const struct line *was = &trials->lines[i / sessions * trials->pairs];
		const struct line *now = &trials->lines[i % sessions * trials->pairs];

		if (was == now)
			continue;
		begin(sides);
		for (size_t j = 0; j < trials->pairs; j++) {
			add(&sides[0], &was[j]);
			add(&sides[1], &now[j]);
		}
		judge(trials, config, sides, found);
	}
}

static void print(const struct verify_runs *trials, double limit, struct found *found)
{
	json_t *object = json_object();

	for (int i = 0; i < OUTCOMES; i++)
		json_object_set_new(object, gate_outcome_name((enum gate_outcome)i),
				    json_integer(found->outcomes[i]));
	json_object_set_new(object, "trials", json_integer(found->trials));
	if (trials->metric >= 0 && found->trials > 0) {
		json_object_set_new(object, "worse",
				    json_real(median(found->worse, found->trials)));
		json_object_set_new(
			object, "detectable",
			json_real(median(found->detectable, found->trials)));
	}
	if (!isnan(limit))
		json_object_set_new(object, "limit", json_real(limit));
	json_dumpf(object, stdout, JSON_SORT_KEYS);
	putchar('\n');
	json_decref(object);
}

static void judge_all(const struct verify_runs *trials, char *limits)
{
	static struct found found;
	struct gate_config config;
	char *word = limits != NULL ? strtok(limits, ",") : NULL;

	gate_config_init(&config);
	config.paired = !trials->apart;
	for (int i = 0; i < GATE_METRICS; i++)
		if (gate_metrics[i].tier == GATE_EXACT ||
		    (trials->metric >= 0 && i != trials->metric))
			config.limits[i] = INFINITY;
	do {
		double limit = word != NULL ? strtod(word, NULL) : NAN;

		if (trials->metric >= 0)
			config.limits[trials->metric] = limit;
		found = (struct found){0};
		(trials->apart ? judge_apart : judge_pairs)(trials, &config, &found);
		print(trials, limit, &found);
		word = word != NULL ? strtok(NULL, ",") : NULL;
	} while (word != NULL);
}

int main(int argc, char **argv)
{
	struct verify_runs trials = {.pairs = 8, .metric = -1, .only = -1};
	char *limits = NULL;
	int option;

	while ((option = getopt(argc, argv, "n:m:l:s:av")) != -1)
		switch (option) {
		case 'n':
			trials.pairs = strtoul(optarg, NULL, 10);
			break;
		case 'm':
			trials.metric = gate_metric_find(optarg);
			break;
		case 'l':
			limits = optarg;
			break;
		case 's':
			trials.only = (int)strtol(optarg, NULL, 10);
			break;
		case 'a':
			trials.apart = true;
			break;
		case 'v':
			trials.verbose = true;
			break;
		default:
			return 2;
		}
	if (optind == argc || trials.pairs == 0 || trials.pairs > GATE_PAIRS_MOST)
		errx(2, "usage: gate_trials [-n PAIRS] [-m NAME] [-l LIMIT,...] "
			"[-s SIDE] [-a] [-v] FILE...");
	trials.lines = calloc(MOST, sizeof(*trials.lines));
	if (trials.lines == NULL)
		err(3, "lines");
	for (; optind < argc; optind++)
		read_lines(&trials, argv[optind]);
	judge_all(&trials, limits);
	free(trials.lines);
	return 0;
}
