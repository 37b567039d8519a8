/* gate_words.c - composes the one-line reasons of findings and of a verdict. */
#include "models/gate/gate_words.h"
#include "models/gate/gate_fit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NUMBER = 48 };

const char *gate_tier_name(enum gate_tier tier)
{
	static const char *const names[] = {"exact", "ratio", "rate"};

	return names[tier];
}

const char *gate_status_name(enum gate_status status)
{
	static const char *const names[] = {"pass",    "regression", "inconclusive",
					    "missing", "informs",    "improvement"};

	return names[status];
}

const char *gate_outcome_name(enum gate_outcome outcome)
{
	static const char *const names[] = {"pass", "regression", "inconclusive",
					    "mismatch", "improvement"};

	return names[outcome];
}

void gate_words_write(struct gate_finding *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(finding->why, sizeof(finding->why), format, args);
	va_end(args);
}

/* ---- numbers ---- */

struct number {
	char text[NUMBER];
};

/* Of what is measured: "131072 B", "12.1%". */
static struct number value_text(const struct gate_finding *finding, double value)
{
	struct number number;

	if (isnan(value))
		snprintf(number.text, NUMBER, "n/a");
	else if (strcmp(finding->unit, "share") == 0)
		snprintf(number.text, NUMBER, "%.4g%%", value * 100);
	else
		snprintf(number.text, NUMBER, "%.6g%s%.10s", value,
			 finding->unit[0] == '\0' ? "" : " ", finding->unit);
	return number;
}

/* Of so much worse: "3.1%", "3.1 points"; of what grew as much again on "27.1 times". */
static struct number change_text(const struct gate_finding *finding, double worse)
{
	bool grew = (worse > 0) == finding->more_is_worse;
	struct number number;

	if (!finding->points && grew && fabs(worse) >= 1)
		snprintf(number.text, NUMBER, "%.3g times", 1 + fabs(worse));
	else
		snprintf(number.text, NUMBER, "%.3g%s", fabs(worse) * 100,
			 finding->points ? " points" : "%");
	return number;
}

/* "3.1% worse" or "3.1% better". */
static struct number worse_text(const struct gate_finding *finding, double worse)
{
	struct number number, change = change_text(finding, worse);

	snprintf(number.text, NUMBER, "%.38s %s", change.text,
		 worse < 0 ? "better" : "worse");
	return number;
}

/* ---- findings ---- */

void gate_words_exact(struct gate_finding *finding)
{
	struct number now = value_text(finding, finding->now);
	struct number was = value_text(finding, finding->base);
	struct number limit = change_text(finding, finding->limit);
	bool better = (finding->now < finding->base) == finding->more_is_worse;

	if (finding->now == finding->base)
		gate_words_write(finding, "%s, as it was", now.text);
	else if (finding->status == GATE_REGRESSED && isnan(finding->worse.value))
		gate_words_write(finding, "%s, was %s", now.text, was.text);
	else if (finding->status == GATE_REGRESSED)
		gate_words_write(
			finding, "%s, was %s: %s, limit %s", now.text, was.text,
			worse_text(finding, finding->worse.value).text, limit.text);
	else if (better)
		gate_words_write(finding, "%s, was %s: better", now.text, was.text);
	else
		gate_words_write(finding, "%s, was %s: within the limit of %s",
				 now.text, was.text, limit.text);
}

void gate_words_unseen(struct gate_finding *finding, const struct profile *about)
{
	gate_words_write(finding,
			 "a change of the cache is not seen, no sample comes twice "
			 "within an epoch: count two (--samples=%" PRIu64
			 ", now and in the baseline)",
			 2 * about->dataset_samples);
}

/* What a change has to be beyond: "limit 5%". */
static struct number line_text(const struct gate_finding *finding)
{
	bool noisy = finding->floor > finding->limit;
	struct number number,
		line = change_text(finding, noisy ? finding->floor : finding->limit);

	snprintf(number.text, NUMBER, "%s %.38s", noisy ? "noise" : "limit", line.text);
	return number;
}

static void gate_words_write_undecided(struct gate_finding *finding)
{
	struct number line = line_text(finding);

	if (isnan(finding->worse.low) || isnan(finding->worse.high))
		gate_words_write(finding,
				 "%s, was %s; %s: too few repetitions can be compared",
				 value_text(finding, finding->now).text,
				 value_text(finding, finding->base).text, line.text);
	else if (finding->worse.low > finding->limit &&
		 finding->worse.low <= finding->floor)
		gate_words_write(
			finding,
			"%s to %s: beyond the limit of %s, but the same program "
			"may differ by %s; p %.2g",
			change_text(finding, finding->worse.low).text,
			worse_text(finding, finding->worse.high).text,
			change_text(finding, finding->limit).text,
			change_text(finding, finding->floor).text, finding->p);
	else
		gate_words_write(finding,
				 "too noisy: anything from %s to %s fits; %s, p %.2g",
				 worse_text(finding, finding->worse.low).text,
				 worse_text(finding, finding->worse.high).text,
				 line.text, finding->p);
}

/* Of a change that is sure to be at least so large. */
static void gate_words_write_change(struct gate_finding *finding, double at_least)
{
	gate_words_write(finding, "%s, was %s: %s, at least %s; %s, p %.2g",
			 value_text(finding, finding->now).text,
			 value_text(finding, finding->base).text,
			 worse_text(finding, finding->worse.value).text,
			 change_text(finding, at_least).text, line_text(finding).text,
			 finding->p);
}

void gate_words_timed(struct gate_finding *finding)
{
	if (finding->status == GATE_UNDECIDED)
		gate_words_write_undecided(finding);
	else if (finding->status == GATE_REGRESSED)
		gate_words_write_change(finding, finding->worse.low);
	else if (finding->status == GATE_IMPROVED)
		gate_words_write_change(finding, finding->worse.high);
	else if (finding->worse.high <= 0)
		gate_words_write(finding, "%s, was %s: no worse",
				 value_text(finding, finding->now).text,
				 value_text(finding, finding->base).text);
	else
		gate_words_write(finding, "at most %s, %s",
				 worse_text(finding, finding->worse.high).text,
				 line_text(finding).text);
}

/* ---- the verdict ---- */

static size_t count_status(const struct gate_verdict *verdict, enum gate_status status)
{
	size_t count = 0;

	for (size_t i = 0; i < verdict->count; i++)
		count += verdict->findings[i].status == status;
	return count;
}

/* The first of a kind speaks for all. */
static void gate_words_write_first(struct gate_verdict *verdict,
				   enum gate_status status, const char *what)
{
	const struct gate_finding *finding = gate_verdict_first(verdict, status);
	size_t more = count_status(verdict, status) - 1;
	int length = snprintf(verdict->why, GATE_WHY, "%s%s: %.170s", what,
			      finding->name, finding->why);

	if (more > 0)
		snprintf(verdict->why + length, GATE_WHY - (size_t)length,
			 "; and %zu more", more);
}

/* "fetch stall +18.2 points: mean read fell ... (fetch_stall and 2 more)". */
static void gate_words_write_cause(struct gate_verdict *verdict)
{
	size_t more = count_status(verdict, GATE_REGRESSED) - 1;
	int length =
		snprintf(verdict->why, GATE_WHY, "%.240s (%.48s", verdict->causes[0],
			 gate_verdict_first(verdict, GATE_REGRESSED)->name);

	if (more > 0)
		snprintf(verdict->why + length, GATE_WHY - (size_t)length,
			 " and %zu more)", more);
	else
		strcat(verdict->why, ")");
}

static void gate_words_write_inconclusive(struct gate_verdict *verdict)
{
	if (gate_verdict_first(verdict, GATE_MISSING) != NULL)
		gate_words_write_first(verdict, GATE_MISSING, "not compared: ");
	else if (gate_verdict_first(verdict, GATE_UNDECIDED) != NULL)
		gate_words_write_first(verdict, GATE_UNDECIDED, "");
	else if (verdict->count > 0)
		gate_words_write_first(verdict, GATE_INFORMS,
				       "nothing that was compared decides; ");
	else
		snprintf(verdict->why, GATE_WHY,
			 "nothing was compared: every metric is off or unknown");
}

/* What would decide here, had it been counted; NULL: nothing. */
static const struct gate_finding *
gate_words_unseen_of(const struct gate_verdict *verdict)
{
	for (size_t i = 0; i < verdict->count; i++)
		if (verdict->findings[i].tier == GATE_EXACT &&
		    verdict->findings[i].status == GATE_INFORMS &&
		    isfinite(verdict->findings[i].limit))
			return &verdict->findings[i];
	return NULL;
}

static void gate_words_write_pass(struct gate_verdict *verdict)
{
	const struct gate_finding *unseen = gate_words_unseen_of(verdict);
	size_t inform = count_status(verdict, GATE_INFORMS);
	int length = snprintf(verdict->why, GATE_WHY,
			      "%zu of %zu metrics within their limits",
			      count_status(verdict, GATE_PASSED), verdict->count);

	if (inform > 0)
		length += snprintf(verdict->why + length, GATE_WHY - (size_t)length,
				   ", %zu for information only", inform);
	if (unseen != NULL)
		snprintf(verdict->why + length, GATE_WHY - (size_t)length,
			 "; %s: %.180s", unseen->name, unseen->why);
}

/* "the data set changed (999 samples, was 1000): record a new baseline". */
static void gate_words_write_mismatch(struct gate_verdict *verdict)
{
	const char *first = verdict->mismatches[0];

	if (verdict->other_data)
		snprintf(verdict->why, GATE_WHY, "the data set changed (%.200s)%s",
			 first + strlen(GATE_FIT_DATA),
			 verdict->paired ? "" : ": record a new baseline");
	else
		snprintf(verdict->why, GATE_WHY, "another machine (%.200s)%s", first,
			 verdict->paired ? ""
					 : ": record a baseline here (--update), or "
					   "allow it (--allow-env-change)");
}

void gate_words_verdict(struct gate_verdict *verdict)
{
	switch (verdict->outcome) {
	case GATE_PASS:
		gate_words_write_pass(verdict);
		break;
	case GATE_REGRESSION:
		if (verdict->cause_count > 0)
			gate_words_write_cause(verdict);
		else
			gate_words_write_first(verdict, GATE_REGRESSED, "");
		break;
	case GATE_IMPROVEMENT:
		gate_words_write_first(verdict, GATE_IMPROVED, "");
		break;
	case GATE_INCONCLUSIVE:
		gate_words_write_inconclusive(verdict);
		break;
	case GATE_MISMATCH:
		gate_words_write_mismatch(verdict);
		break;
	}
}
