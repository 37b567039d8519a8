/* gate_part.c - order, signs, numbers and sentences that the forms share. */
#include "reports/gate/gate_part.h"
#include "loader/base/io.h"
#include "models/gate/gate_side.h"
#include "models/gate/gate_statistics.h"
#include "reports/common/escape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *gate_part_outcome_sign(enum gate_outcome outcome, bool plain)
{
	static const char *const signs[][2] = {
		[GATE_PASS] = {"✓", "+"},         [GATE_REGRESSION] = {"✗", "X"},
		[GATE_INCONCLUSIVE] = {"?", "?"}, [GATE_MISMATCH] = {"≠", "!"},
		[GATE_IMPROVEMENT] = {"▲", "^"},
	};

	return signs[outcome][plain];
}

const char *gate_part_status_sign(enum gate_status status, bool plain)
{
	static const char *const signs[][2] = {
		[GATE_PASSED] = {"✓", "+"},    [GATE_REGRESSED] = {"✗", "X"},
		[GATE_UNDECIDED] = {"?", "?"}, [GATE_MISSING] = {"∅", "!"},
		[GATE_INFORMS] = {"·", "."},   [GATE_IMPROVED] = {"▲", "^"},
	};

	return signs[status][plain];
}

/* Exact ones with all their digits: one open more in a thousand samples shows. */
static void gate_part_value(char *to, const struct gate_finding *finding, double number)
{
	bool share = strcmp(finding->unit, "share") == 0;

	if (!isfinite(number))
		snprintf(to, FORMAT_SIZE, "n/a");
	else if (finding->tier == GATE_EXACT)
		snprintf(to, FORMAT_SIZE, share ? "%.8g%%" : "%.8g",
			 share ? 100 * number : number);
	else if (share)
		format_percent(to, number);
	else if (strcmp(finding->unit, "s") == 0)
		format_seconds(to, number);
	else if (strcmp(finding->unit, "B") == 0)
		format_bytes(to, number);
	else
		format_rate(to, number);
}

static const char *gate_part_measure(const struct gate_finding *finding)
{
	return finding->points ? " pt" : "%";
}

/* "+18.2", in hundredths; small ones keep two digits. */
static void gate_part_change(char *to, double share)
{
	double hundredths = 100 * share;

	if (!isfinite(share))
		snprintf(to, FORMAT_SIZE, "%s",
			 isnan(share) ? "n/a"
			 : share > 0  ? "+inf"
				      : "-inf");
	else if (share == 0)
		snprintf(to, FORMAT_SIZE, "0");
	else if (fabs(hundredths) < .05 || fabs(hundredths) >= 1e5)
		snprintf(to, FORMAT_SIZE, "%+.2g", hundredths);
	else
		snprintf(to, FORMAT_SIZE, "%+.*f", fabs(hundredths) < 999.5,
			 hundredths);
}

/* A size of a change, without a sign: "5", "0.1". */
static void gate_part_amount(char *to, double share)
{
	snprintf(to, FORMAT_SIZE, "%.3g", 100 * share);
}

static void gate_part_range(char *to, size_t size, const struct gate_finding *finding)
{
	char low[FORMAT_SIZE], high[FORMAT_SIZE];
	bool up = finding->more_is_worse;
	size_t at = 0;

	to[0] = '\0';
	if (finding->tier == GATE_EXACT || isnan(finding->worse.low) ||
	    isnan(finding->worse.high))
		return;
	gate_part_change(low, up ? finding->worse.low : -finding->worse.high);
	gate_part_change(high, up ? finding->worse.high : -finding->worse.low);
	at = (size_t)snprintf(to, size, "%s .. %s%s", low, high,
			      gate_part_measure(finding));
	if (isfinite(finding->p))
		snprintf(to + at, size - at, ", p %.2g", finding->p);
}

void gate_part_cells(const struct gate_finding *finding, struct gate_cells *cells)
{
	gate_part_value(cells->base, finding, finding->base);
	gate_part_value(cells->now, finding, finding->now);
	gate_part_change(cells->change, finding->more_is_worse ? finding->worse.value
							       : -finding->worse.value);
	if (isfinite(finding->worse.value))
		strcat(cells->change, gate_part_measure(finding));
	gate_part_range(cells->range, sizeof(cells->range), finding);
	snprintf(cells->limit, sizeof(cells->limit), "none");
	if (isfinite(finding->limit)) {
		gate_part_amount(cells->limit, finding->limit);
		strcat(cells->limit, gate_part_measure(finding));
	}
}

char *const *gate_part_causes(const struct gate_verdict *verdict, size_t *count)
{
	bool said =
		verdict->cause_count > 0 && strncmp(verdict->why, verdict->causes[0],
						    strlen(verdict->causes[0])) == 0;

	*count = verdict->cause_count - said;
	return said ? verdict->causes + 1 : verdict->causes;
}

/* How much worse it got; what is unknown comes last. */
static double gate_part_excess(const struct gate_finding *finding)
{
	return isnan(finding->worse.value) ? -INFINITY : finding->worse.value;
}

static int by_severity(const void *a, const void *b)
{
	static const int severity[] = {
		[GATE_REGRESSED] = 0, [GATE_MISSING] = 1, [GATE_UNDECIDED] = 2,
		[GATE_IMPROVED] = 3,  [GATE_INFORMS] = 4, [GATE_PASSED] = 5,
	};
	const struct gate_finding *const *left = a, *const *right = b;
	int order = severity[(*left)->status] - severity[(*right)->status];

	if (order == 0 && gate_part_excess(*left) != gate_part_excess(*right))
		order = gate_part_excess(*left) > gate_part_excess(*right) ? -1 : 1;
	return order != 0 ? order : (*left > *right) - (*left < *right);
}

const struct gate_finding **gate_part_rank(const struct gate_verdict *verdict)
{
	const struct gate_finding **ranked =
		calloc(verdict->count + 1, sizeof(*ranked));

	for (size_t i = 0; ranked != NULL && i < verdict->count; i++)
		ranked[i] = &verdict->findings[i];
	if (ranked != NULL)
		qsort(ranked, verdict->count, sizeof(*ranked), by_severity);
	return ranked;
}

int gate_part_rows(const struct gate_finding *const *ranked, size_t count, size_t most,
		   gate_part_row *row, struct gate_rows *rows)
{
	FILE *out;
	size_t end = 0;

	*rows = (struct gate_rows){0};
	out = open_memstream(&rows->text, &rows->size);
	if (out == NULL)
		return -ENOMEM;
	for (; rows->shown < count; rows->shown++) {
		row(out, ranked[rows->shown], rows->shown);
		if (fflush(out) == EOF || rows->size > most)
			break;
		end = rows->size;
	}
	if (io_text(out, &rows->text) == NULL)
		return -ENOMEM;
	rows->size = end;
	rows->text[end] = '\0';
	return 0;
}

static void see_timed(FILE *out, const struct gate_finding *finding)
{
	double least = finding->limit + finding->detectable;
	/* After more repetitions there is less. */
	bool noisy = finding->floor > finding->limit && finding->floor < least;
	double from = noisy ? finding->floor : finding->limit;
	char all[FORMAT_SIZE], part[FORMAT_SIZE], more[FORMAT_SIZE], name[64];

	gate_part_amount(all, least);
	gate_part_amount(part, from);
	gate_part_amount(more, least - from);
	fprintf(out, "%s from %s%s on (%s %s + %s)",
		escape_to(name, sizeof(name), finding->name), all,
		gate_part_measure(finding), noisy ? "noise" : "limit", part, more);
}

static void gate_part_see(FILE *out, const struct gate_verdict *verdict)
{
	size_t exact = 0, timed = 0;

	for (size_t i = 0; i < verdict->count; i++) {
		const struct gate_finding *finding = &verdict->findings[i];

		exact += finding->tier == GATE_EXACT &&
			 isfinite(finding->worse.value) && isfinite(finding->limit);
		if (finding->tier == GATE_EXACT || !isfinite(finding->detectable) ||
		    !isfinite(finding->limit) || timed == GATE_TIMED_MOST)
			continue;
		fputs(timed++ > 0 ? ", " : "", out);
		see_timed(out, finding);
	}
	if (exact > 0)
		fprintf(out, "%sany change of %zu exact count%s beyond its limit",
			timed > 0 ? "; " : "", exact, exact == 1 ? "" : "s");
}

char *gate_part_seen(const struct gate_verdict *verdict)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return NULL;
	gate_part_see(out, verdict);
	return io_text(out, &text);
}

const char *gate_part_status(enum gate_status status)
{
	if (status == GATE_INFORMS)
		return "info";
	return status == GATE_MISSING ? "not compared" : gate_status_name(status);
}

/* What sessions differ by is more than the limit, and no repetition makes it less. */
static bool gate_part_drifts(const struct gate_verdict *verdict)
{
	const struct gate_finding *first = gate_verdict_first(verdict, GATE_UNDECIDED);

	return !verdict->paired && verdict->base_sessions < GATE_SESSIONS &&
	       first != NULL && first->floor > first->limit;
}

char *gate_part_advice(const struct gate_verdict *verdict)
{
	size_t pairs = 2 * verdict->repetitions;
	char *text = NULL;
	int length;

	if (verdict->outcome != GATE_INCONCLUSIVE)
		return strdup("");
	if (gate_verdict_first(verdict, GATE_MISSING) != NULL)
		return strdup(
			"record the baseline anew (--update), or leave out what it "
			"lacks (--metric NAME=off)");
	if (gate_part_drifts(verdict))
		length = asprintf(&text,
				  "measure both sides in turns (--against), or the "
				  "baseline on other days, too (--update): it needs "
				  "%d sessions and has %zu",
				  GATE_SESSIONS, verdict->base_sessions);
	else
		length = asprintf(
			&text,
			"take more repetitions (--pairs %zu), a quieter runner, %sor "
			"counts alone, which have no noise (--pairs 0)",
			pairs < 16                ? 16
			: pairs > GATE_PAIRS_MOST ? GATE_PAIRS_MOST
						  : pairs,
			verdict->paired ? "" : "both sides in turns (--against), ");
	return length < 0 ? NULL : text;
}

/* "8"; of looks "decided after 12 of at most 32". */
static void gate_part_count(char *to, size_t size, const struct gate_verdict *verdict)
{
	bool open = verdict->outcome == GATE_INCONCLUSIVE;
	int length = 0;

	if (verdict->most > 0)
		length = snprintf(to, size, "%sdecided after ", open ? "un" : "");
	length += snprintf(to + length, size - (size_t)length, "%zu",
			   verdict->repetitions);
	if (verdict->most > 0)
		snprintf(to + length, size - (size_t)length, " of at most %zu",
			 verdict->most);
}

char *gate_part_basis(const struct gate_verdict *verdict, double seconds)
{
	char count[64], against[96] = " pairs", alpha[32] = "", time[FORMAT_SIZE],
			*text = NULL;
	const char *comma = isfinite(seconds) ? ", " : "";
	int length;

	gate_part_count(count, sizeof(count), verdict);
	if (!verdict->paired)
		snprintf(against, sizeof(against),
			 " repetitions against %zu of %zu session%s",
			 verdict->base_repetitions, verdict->base_sessions,
			 verdict->base_sessions == 1 ? "" : "s");
	if (isfinite(verdict->alpha))
		snprintf(alpha, sizeof(alpha), ", alpha %.3g", verdict->alpha);
	format_seconds(time, seconds);
	if (!isfinite(seconds))
		*time = '\0';
	length = verdict->repetitions == 0
			 ? asprintf(&text, "exact counts alone%s%s", comma, time)
			 : asprintf(&text, "%s%s%s%s%s", count, against, alpha, comma,
				    time);
	return length < 0 ? NULL : text;
}
