/*
 * gate_trials.c - what a gate says of recorded repetitions (repeat.c), trial by trial.
 *
 *	gate_trials [-n PAIRS] [-m NAME] [-l LIMIT] [-s SIDE] [-a] [-v] FILE...
 *
 * A trial takes pairs of consecutive lines, in ABBA order, until a look decides (with -n
 * PAIRS, as they are), and the next one begins where it ended, while there are lines for
 * the longest: none is used twice. With -s only lines of that side count, and both sides
 * of a trial are drawn from them: nothing differs. Else the lines' own sides count, if
 * there are two. -m: that metric alone; -l: its limit, or a list of them. -a, with -s:
 * each BASELINE consecutive lines are a baseline of one session, and each further stretch,
 * as long as the longest trial, is held against it.
 *
 * Prints one JSON object for each limit: trials by outcome, trials in which the metric was
 * a regression, the medians of what was found and of what could have been; how long each
 * trial's launches took, and how many of them were taken to last LAUNCH_S: those of which
 * it was not recorded.
 */
#include "loader/base/error.h"
#include "loader/base/math/median.h"
#include "models/gate/gate_looks.h"
#include "models/gate/gate_statistics.h"
#include "profiler/run/ab_trial.h"

#include <err.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAUNCH_S 2.5

enum { MOST = 1 << 16, OUTCOMES = 5, BASELINE = 12 };

struct line {
	int side;
	double wall_s; /* NAN: it was not recorded */
	double values[GATE_METRICS];
};

struct verify_runs {
	struct line *lines;
	size_t count;
	size_t pairs; /* 0: until a look decides */
	int metric;   /* -1: all */
	int only;     /* side; -1: both as they are */
	bool apart;   /* the sides are sessions far from each other */
	bool verbose;
};

struct found {
	unsigned trials, regressed, outcomes[OUTCOMES];
	unsigned assumed; /* launches */
	double worse[MOST], detectable[MOST], seconds[MOST];
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
	to->wall_s = number(line, "wall_s");
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

/* Of a line of a trial. */
static unsigned side_of(const struct verify_runs *trials, const struct line *lines,
			size_t index)
{
	if (trials->apart)
		return 1;
	return two_sides(trials) ? (unsigned)lines[index].side
				 : ab_trial_side((unsigned)index);
}

/* Repetitions of a side. */
static size_t first_look(const struct verify_runs *trials)
{
	return trials->pairs > 0 ? trials->pairs : gate_looks_next(0);
}

static size_t longest(const struct verify_runs *trials)
{
	return trials->pairs > 0 ? trials->pairs : GATE_LOOKS_MOST;
}

static void begin(struct gate_side *sides)
{
	for (int i = 0; i < 2; i++) {
		gate_side_init(&sides[i]);
		if (gate_side_add_session(&sides[i], "") == NULL ||
		    profile_set_fact(&sides[i].about, "cpu", "of the trials") < 0)
			err(3, "a trial");
	}
}

static const struct gate_finding *finding_of(const struct gate_verdict *verdict,
					     int metric)
{
	return metric < 0 ? NULL
			  : gate_verdict_find(verdict, gate_metrics[metric].name);
}

static void note_launches(const struct line *lines, size_t count, struct found *found)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		found->assumed += isnan(lines[i].wall_s);
		sum += isnan(lines[i].wall_s) ? LAUNCH_S : lines[i].wall_s;
	}
	found->seconds[found->trials] = sum;
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
	printf("trial %u: %s after %zu", found->trials,
	       gate_outcome_name(verdict->outcome), verdict->repetitions);
	for (size_t i = 0; i < verdict->count; i++) {
		finding = &verdict->findings[i];
		if (!isnan(finding->worse.value))
			printf("; %s %+.4f (%.4f .. %.4f) sees %.4f", finding->name,
			       finding->worse.value, finding->worse.low,
			       finding->worse.high, finding->detectable);
	}
	putchar('\n');
}

/* Judges as often as the gate looks. Returns how many lines that took; frees the
 * sides. */
static size_t play(const struct verify_runs *trials, const struct gate_config *config,
		   const struct line *lines, struct gate_side *sides,
		   struct found *found)
{
	size_t lines_each = trials->apart ? 1 : 2, used = 0;
	struct gate_verdict verdict = {.next = first_look(trials)};
	struct error error = {0};

	while (verdict.next > 0) {
		for (; used < lines_each * verdict.next; used++)
			add(&sides[side_of(trials, lines, used)], &lines[used]);
		gate_verdict_free(&verdict);
		if (gate_judge(config, &sides[0], &sides[1], &verdict, &error) < 0)
			errx(3, "%s", error.message);
	}
	note_launches(lines, used, found);
	note(trials, &verdict, found);
	gate_verdict_free(&verdict);
	gate_side_free(&sides[0]);
	gate_side_free(&sides[1]);
	return used;
}

static void judge_pairs(const struct verify_runs *trials,
			const struct gate_config *config, struct found *found)
{
	size_t most = 2 * longest(trials), at = 0;
	struct gate_side sides[2];

	while (at + most <= trials->count) {
		begin(sides);
		at += play(trials, config, &trials->lines[at], sides, found);
	}
}

static void judge_apart(const struct verify_runs *trials,
			const struct gate_config *config, struct found *found)
{
	size_t most = longest(trials);
	struct gate_side sides[2];

	for (size_t was = 0; was + BASELINE <= trials->count; was += BASELINE)
		for (size_t now = 0; now + most <= trials->count; now += most) {
			if (was < now + most && now < was + BASELINE)
				continue;
			if (found->trials == MOST)
				errx(3, "more than %d trials", MOST);
			begin(sides);
			for (size_t i = 0; i < BASELINE; i++)
				add(&sides[0], &trials->lines[was + i]);
			play(trials, config, &trials->lines[now], sides, found);
		}
}

static json_t *numbers(const double *values, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, json_real(values[i]));
	return array;
}

static void print(const struct verify_runs *trials, double limit, struct found *found)
{
	json_t *object = json_object();

	for (int i = 0; i < OUTCOMES; i++)
		json_object_set_new(object, gate_outcome_name((enum gate_outcome)i),
				    json_integer(found->outcomes[i]));
	json_object_set_new(object, "trials", json_integer(found->trials));
	json_object_set_new(object, "assumed", json_integer(found->assumed));
	json_object_set_new(object, "seconds", numbers(found->seconds, found->trials));
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
	config.looks = trials->pairs == 0;
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
	struct verify_runs trials = {.metric = -1, .only = -1};
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
	if (optind == argc || trials.pairs > GATE_PAIRS_MOST)
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
