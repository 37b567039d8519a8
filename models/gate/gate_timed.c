/* gate_timed.c - compares repetitions of pairs, and of sessions. */
#include "models/gate/gate_timed.h"
#include "loader/base/math/median.h"
#include "loader/base/math/student.h"
#include "models/gate/gate_looks.h"

#include <errno.h>

enum { MOST = GATE_PAIRS_MOST };

struct sample {
	double values[MOST];
	size_t count;
};

static size_t gate_timed_usable(const struct gate_session *session)
{
	return session->count < MOST ? session->count : MOST;
}

/* The first of the base's sessions that are compared. */
static size_t first_session(const struct gate_side *side, bool paired)
{
	size_t first = side->session_count, total = 0;

	while (first > 0) {
		total += gate_timed_usable(&side->sessions[first - 1]);
		if (total > MOST || (paired && first < side->session_count))
			break;
		first--;
	}
	return first;
}

size_t gate_timed_base(const struct gate_side *base, bool paired)
{
	size_t total = 0;

	for (size_t i = first_session(base, paired); i < base->session_count; i++)
		total += gate_timed_usable(&base->sessions[i]);
	return total;
}

/* ---- values ---- */

static void gate_timed_add(struct sample *sample, double value)
{
	if (isfinite(value))
		sample->values[sample->count++] = value;
}

static void add_session(struct sample *sample, const struct gate_session *session,
			int metric)
{
	for (size_t i = 0; i < gate_timed_usable(session); i++)
		gate_timed_add(sample, session->values[i][metric]);
}

static double gate_timed_middle(struct sample sample)
{
	return median(sample.values, sample.count);
}

/* How bad a value is, such that differences say how much worse. */
static double gate_timed_badness(const struct gate_metric *metric, double value)
{
	double sign = metric->more_is_worse ? 1 : -1;

	if (metric->points)
		return sign * value;
	return value > 0 ? sign * log(value) : NAN;
}

static struct sample gate_timed_badnesses(const struct sample *sample, int metric)
{
	struct sample bad = {.count = 0};

	for (size_t i = 0; i < sample->count; i++)
		gate_timed_add(&bad, gate_timed_badness(&gate_metrics[metric],
							sample->values[i]));
	return bad;
}

static double gate_timed_measure(const struct gate_timed *timed, double shift)
{
	if (!timed->logarithms)
		return shift;
	return timed->falls ? -expm1(-shift) : expm1(shift);
}

/* Its inverse; infinite where nothing can fall so far. */
static double gate_timed_shift(const struct gate_timed *timed, double measure)
{
	if (!timed->logarithms)
		return measure;
	if (timed->falls)
		return measure < 1 ? -log1p(-measure) : INFINITY;
	return log1p(measure);
}

static double gate_timed_known(double value)
{
	return isfinite(value) ? value : NAN;
}

/* expm1() makes a number of a bound that is infinite, which is as unknown. */
static double gate_timed_bound(const struct gate_timed *timed, double shift)
{
	return gate_timed_known(gate_timed_measure(timed, gate_timed_known(shift)));
}

static void gate_timed_set_worse(struct gate_timed *timed, int metric)
{
	timed->p = timed->shift.p;
	timed->worse = (struct interval){
		gate_timed_measure(timed, timed->shift.value),
		gate_timed_bound(timed, timed->shift.low),
		gate_timed_bound(timed, timed->shift.high),
	};
	timed->now = gate_metric_after(&gate_metrics[metric], timed->base,
				       timed->worse.value);
}

/* What count of them there are at the last look. */
static size_t gate_timed_last(const struct gate_config *config, size_t count)
{
	return config->looks && count < GATE_LOOKS_MOST ? GATE_LOOKS_MOST : count;
}

/* ---- pairs ---- */

/* The signs of differences are as likely as not where nothing changed; those of ratios - 1
 * go with their sizes. */
static void compare_pairs(const struct gate_config *config,
			  const struct gate_session *base,
			  const struct gate_session *now, int metric,
			  struct gate_timed *timed)
{
	struct sample worse = {.count = 0};
	size_t pairs = gate_timed_usable(base) < gate_timed_usable(now)
			       ? gate_timed_usable(base)
			       : gate_timed_usable(now);

	for (size_t i = 0; i < pairs; i++)
		gate_timed_add(&worse,
			       gate_timed_badness(&gate_metrics[metric],
						  now->values[i][metric]) -
				       gate_timed_badness(&gate_metrics[metric],
							  base->values[i][metric]));
	gate_statistics_paired(worse.values, worse.count,
			       gate_looks_level(config, config->alpha), &timed->shift);
	timed->pairs = worse.count;
	timed->most = gate_timed_last(config, worse.count);
	gate_timed_set_worse(timed, metric);
}

/* ---- sessions ---- */

/* The mean of the sessions from first to end; NAN: none knows the metric. */
static double middle_of(const struct gate_side *base, size_t first, size_t end,
			int metric)
{
	double sum = 0, count = 0;

	for (size_t i = first; i < end; i++) {
		struct sample sample = {.count = 0}, bad;

		add_session(&sample, &base->sessions[i], metric);
		bad = gate_timed_badnesses(&sample, metric);
		if (bad.count == 0)
			continue;
		sum += gate_timed_middle(bad);
		count++;
	}
	return count > 0 ? sum / count : NAN;
}

/* Medians of sessions scatter as sessions do; a further one is as far from their
 * mean. */
static void set_drift(const struct gate_side *base, int metric,
		      struct gate_timed *timed)
{
	double mean = 0, squares = 0, count = 0;

	for (size_t i = 0, end; i < base->session_count; i = end) {
		double value, step;

		end = gate_side_separate(base, i);
		value = middle_of(base, i, end, metric);
		if (isnan(value))
			continue;
		count++;
		step = value - mean; /* Welford's recurrence */
		mean += step / count;
		squares += step * step * (count - 1) / count;
	}
	timed->sessions = (size_t)count;
	timed->drift = count < 2 ? NAN : sqrt(squares / (count - 1) * (1 + 1 / count));
}

/* As many pairs tell as much. */
static size_t gate_timed_worth(size_t base, size_t now)
{
	return base + now > 0 ? 2 * base * now / (base + now) : 0;
}

static int compare_samples(const struct gate_config *config,
			   const struct gate_side *base, const struct sample *was,
			   const struct sample *is, int metric,
			   struct gate_timed *timed)
{
	struct sample old = gate_timed_badnesses(was, metric),
		      new = gate_timed_badnesses(is, metric);

	if (gate_statistics_unpaired(old.values, old.count, new.values, new.count,
				     gate_looks_level(config, config->alpha),
				     &timed->shift) < 0)
		return -ENOMEM;
	timed->pairs = gate_timed_worth(old.count, new.count);
	timed->most = gate_timed_worth(old.count, gate_timed_last(config, new.count));
	gate_timed_set_worse(timed, metric);
	set_drift(base, metric, timed);
	return 0;
}

int gate_timed_compare(const struct gate_config *config, const struct gate_side *base,
		       const struct gate_side *now, int metric,
		       struct gate_timed *timed)
{
	struct sample was = {.count = 0}, is = {.count = 0};

	*timed = (struct gate_timed){
		.worse = INTERVAL_UNKNOWN,
		.p = NAN,
		.floor = NAN,
		.drift = NAN,
	};
	for (size_t i = first_session(base, config->paired); i < base->session_count;
	     i++)
		add_session(&was, &base->sessions[i], metric);
	if (now->session_count > 0)
		add_session(&is, &now->sessions[now->session_count - 1], metric);
	timed->logarithms = !gate_metrics[metric].points;
	timed->falls = !gate_metrics[metric].more_is_worse;
	timed->base_count = was.count;
	timed->count = is.count;
	timed->base = gate_timed_middle(was);
	timed->now = gate_timed_middle(is);
	if (was.count == 0 || is.count == 0)
		return 0;
	if (!config->paired)
		return compare_samples(config, base, &was, &is, metric, timed);
	compare_pairs(config, &base->sessions[base->session_count - 1],
		      &now->sessions[now->session_count - 1], metric, timed);
	return 0;
}

void gate_timed_set_floor(const struct gate_config *config, unsigned deciding,
			  int metric, struct gate_timed *timed)
{
	unsigned freedom = (unsigned)timed->sessions - 1;
	double alpha = config->alpha / deciding;

	timed->noise = config->paired ? gate_looks_level(config, alpha) : 0;
	if (config->paired)
		timed->floor = gate_timed_measure(
			timed, gate_statistics_noise(timed->shift.spread, timed->pairs,
						     timed->noise));
	else if (timed->sessions >= GATE_SESSIONS)
		timed->floor = gate_timed_measure(
			timed, timed->drift * student_t(1 - 2 * alpha, freedom));
	else
		timed->floor = gate_metrics[metric].drift;
}

static double gate_timed_smallest(const struct gate_timed *timed, double alpha,
				  double noise)
{
	return gate_statistics_detectable(timed->shift.spread, timed->most, alpha,
					  noise);
}

/* All have to be: the bound beyond limit and floor, and p below Holm's first level. */
double gate_timed_detectable(const struct gate_config *config,
			     const struct gate_timed *timed, double limit,
			     unsigned deciding)
{
	double alpha = gate_looks_level(config, config->alpha);
	double first = gate_looks_level(config, config->alpha / deciding);
	bool drifts = timed->noise == 0 && !isnan(timed->floor);
	double beyond = drifts ? fmax(limit, timed->floor) : limit, most;

	beyond = gate_timed_shift(timed, beyond);
	most = fmax(beyond + gate_timed_smallest(timed, alpha, 0),
		    gate_timed_smallest(timed, first, 0));
	if (timed->noise > 0)
		most = fmax(most, gate_timed_smallest(timed, alpha, timed->noise));
	return gate_timed_bound(timed, most) - limit;
}
