/* gate.c - judges what was counted and what was timed, metric by metric. */
#include "models/gate/gate.h"
#include "loader/base/error.h"
#include "models/gate/gate_causes.h"
#include "models/gate/gate_config.h"
#include "models/gate/gate_fit.h"
#include "models/gate/gate_looks.h"
#include "models/gate/gate_statistics.h"
#include "models/gate/gate_timed.h"
#include "models/gate/gate_words.h"

#include <errno.h>

#define ROUNDING 1e-9 /* of a quotient of counts */

static bool is_timed(int metric)
{
	return gate_metrics[metric].tier != GATE_EXACT;
}

struct judge {
	const struct gate_config *config;
	const struct gate_side *base, *now;
	struct gate_verdict *verdict;
	bool other_machine;
	struct gate_timed timed[GATE_METRICS]; /* of those that are on */
	double p[GATE_METRICS];                /* adjusted; NAN: it does not decide */
	double better[GATE_METRICS];           /* the same of the other direction */
	unsigned deciding;
	struct error few; /* why so few repetitions decide nothing; code 0: they may */
};

static struct gate_finding *add_finding(struct judge *judge, int which)
{
	const struct gate_metric *metric = &gate_metrics[which];
	struct gate_finding *finding = gate_verdict_add(judge->verdict);

	if (finding == NULL || profile_text(&finding->name, "%s", metric->name) < 0 ||
	    profile_text(&finding->unit, "%s", metric->unit) < 0)
		return NULL;
	finding->tier = metric->tier;
	finding->more_is_worse = metric->more_is_worse;
	finding->points = metric->points;
	finding->limit = gate_config_limit(judge->config, which);
	return finding;
}

/* On by default, but nothing that either of these programs has. */
static bool is_of_neither(const struct judge *judge, int metric, bool base, bool now)
{
	return !base && !now && isnan(judge->config->limits[metric]);
}

static void gate_write_missing(struct gate_finding *finding, bool base, bool now)
{
	gate_words_write(finding, "%s; --metric %s=off leaves it out",
			 base  ? "not measured now, the base has it"
			 : now ? "the base does not have it"
			       : "neither side has it",
			 finding->name);
}

/* ---- exact ones ---- */

/* A mean of no reads is no number, but nothing is missing. */
static bool is_mean_of_none(const struct gate_side *side, int metric)
{
	return metric == gate_metric_find("mean_read_bytes") &&
	       side->about.counted.reads == 0;
}

/* Counts of the first samples of a stream are of these samples alone; and what of a
 * picture is decoded, its crop, is drawn by the seed. False: of others, and the finding
 * says so. */
static bool are_of_same_samples(const struct judge *judge, int metric,
				struct gate_finding *finding)
{
	const struct profile *base = &judge->base->about, *now = &judge->now->about;
	bool drawn = metric == gate_metric_find("decoded_pixels_per_sample") ||
		     now->counted.samples != now->dataset_samples;

	if (base->counted.samples != now->counted.samples)
		gate_words_write(
			finding,
			"counted over %.9g samples, was over %.9g: --samples as "
			"it was",
			(double)now->counted.samples, (double)base->counted.samples);
	else if (base->seed != now->seed && drawn)
		gate_words_write(finding, "another seed draws %s: --seed as it was",
				 now->counted.samples == now->dataset_samples
					 ? "other crops"
					 : "other samples");
	else
		return true;
	return false;
}

/* Another data set, of which another number of samples was counted. */
static bool is_of_other_data(const struct judge *judge)
{
	return judge->verdict->other_data &&
	       judge->base->about.counted.samples != judge->now->about.counted.samples;
}

/* There is no ratio to 0: then any more is too many. */
static bool is_beyond(const struct gate_finding *finding)
{
	if (isnan(finding->worse.value))
		return (finding->now > finding->base) == finding->more_is_worse;
	return finding->worse.value > finding->limit + ROUNDING;
}

static enum gate_status exact_status(const struct gate_finding *finding)
{
	if (is_beyond(finding))
		return GATE_REGRESSED;
	if (isnan(finding->worse.value) ||
	    finding->worse.value < -finding->limit - ROUNDING)
		return GATE_IMPROVED;
	return GATE_PASSED;
}

static void decide_exact(const struct judge *judge, struct gate_finding *finding)
{
	finding->status = exact_status(finding);
	gate_words_exact(finding);
	if (isinf(finding->limit))
		gate_words_write(finding,
				 "info only: the program's own, beside the loader");
	if (isinf(finding->limit) || judge->verdict->other_data)
		finding->status = GATE_INFORMS;
}

/* What has no limit informs of more than nothing, where both sides know it. */
static bool is_no_news(const struct judge *judge, int metric, double was, double is)
{
	return !gate_config_decides(judge->config, metric) && !(was + is > 0);
}

/* Hits that neither side could have had; what a cache held before is seen. */
static bool is_unseen(const struct judge *judge, int metric, double was, double is)
{
	return metric == gate_metric_find("hits_per_sample") && was == 0 && is == 0 &&
	       (!gate_metric_sees_hits(&judge->base->about) ||
		!gate_metric_sees_hits(&judge->now->about));
}

static int judge_exact(struct judge *judge, int metric, double was, double is)
{
	struct gate_finding *finding;

	if (is_of_neither(judge, metric, !isnan(was), !isnan(is)) ||
	    is_mean_of_none(judge->base, metric) ||
	    is_mean_of_none(judge->now, metric) || is_no_news(judge, metric, was, is))
		return 0;
	finding = add_finding(judge, metric);
	if (finding == NULL)
		return -ENOMEM;
	finding->base = was;
	finding->now = is;
	if (isnan(was) || isnan(is)) {
		gate_write_missing(finding, !isnan(was), !isnan(is));
	} else if (is_of_other_data(judge)) {
		finding->status = GATE_INFORMS;
		gate_words_write(finding, "info only: another data set");
	} else if (!isinf(finding->limit) &&
		   !are_of_same_samples(judge, metric, finding)) {
		return 0;
	} else if (is_unseen(judge, metric, was, is)) {
		finding->status = GATE_INFORMS;
		gate_words_unseen(finding, &judge->now->about);
	} else {
		finding->worse.value =
			gate_metric_worse(&gate_metrics[metric], was, is);
		decide_exact(judge, finding);
	}
	return 0;
}

static int judge_all_exact(struct judge *judge)
{
	double was[GATE_METRICS], is[GATE_METRICS];

	gate_metric_counted(&judge->base->about, was);
	gate_metric_counted(&judge->now->about, is);
	for (int i = 0; i < GATE_METRICS; i++)
		if (!is_timed(i) && gate_config_compares(judge->config, i) &&
		    judge_exact(judge, i, was[i], is[i]) < 0)
			return -ENOMEM;
	return 0;
}

/* ---- timed ones ---- */

/* The verdict is a mismatch, whatever was timed. */
static bool is_refused_here(const struct judge *judge)
{
	return judge->other_machine && gate_config_wants_machine(judge->config);
}

static const char few_sessions[] = "the baseline needs 5 sessions";

/* Why it can't fail a build here; NULL: it can. */
static const char *why_informs(const struct judge *judge, int metric)
{
	if (judge->verdict->other_data)
		return "another data set";
	if (judge->other_machine)
		return "another machine";
	if (!gate_config_decides(judge->config, metric))
		return "a part of data_stall";
	if (!judge->config->paired && judge->timed[metric].sessions < GATE_SESSIONS &&
	    isnan(gate_metrics[metric].drift))
		return few_sessions;
	return NULL;
}

/* For all looks, and for all metrics. */
static void adjust(const struct judge *judge, double p[GATE_METRICS])
{
	for (int i = 0; i < GATE_METRICS; i++)
		if (!isnan(p[i]))
			p[i] = gate_looks_p(judge->config, p[i]);
	gate_statistics_holm(p, GATE_METRICS);
}

static int compare_timed(struct judge *judge)
{
	for (int i = 0; i < GATE_METRICS; i++) {
		struct gate_timed *timed = &judge->timed[i];

		judge->p[i] = judge->better[i] = NAN;
		if (!is_timed(i) || !gate_config_compares(judge->config, i))
			continue;
		if (gate_timed_compare(judge->config, judge->base, judge->now, i,
				       timed) < 0)
			return -ENOMEM;
		if (why_informs(judge, i) != NULL || timed->base_count == 0 ||
		    timed->count == 0)
			continue;
		judge->p[i] = timed->p;
		judge->better[i] = timed->shift.better;
		judge->deciding++;
	}
	adjust(judge, judge->p);
	adjust(judge, judge->better);
	for (int i = 0; i < GATE_METRICS; i++)
		if (!isnan(judge->p[i]))
			gate_timed_set_floor(judge->config, judge->deciding, i,
					     &judge->timed[i]);
	return 0;
}

static void decide_timed(const struct judge *judge, int metric,
			 struct gate_finding *finding)
{
	const struct gate_timed *timed = &judge->timed[metric];
	double line = fmax(finding->limit, isnan(timed->floor) ? 0 : timed->floor);

	double alpha = judge->config->alpha;

	finding->p = judge->p[metric];
	finding->detectable =
		gate_timed_detectable(judge->config, timed, finding->limit,
				      judge->deciding > 0 ? judge->deciding : 1);
	if (finding->p < alpha && finding->worse.low > line)
		finding->status = GATE_REGRESSED;
	else if (judge->better[metric] < alpha && finding->worse.high < -line)
		finding->status = GATE_IMPROVED;
	else if (finding->worse.high <= finding->limit)
		finding->status = GATE_PASSED;
	else
		finding->status = GATE_UNDECIDED;
	if (finding->status == GATE_IMPROVED)
		finding->p = judge->better[metric];
	gate_words_timed(finding);
}

static void gate_write_few(struct gate_finding *finding, const char *why)
{
	finding->status = GATE_MISSING;
	gate_words_write(finding, "%s", why);
}

static int judge_timed(struct judge *judge, int metric)
{
	const struct gate_timed *timed = &judge->timed[metric];
	const char *why = why_informs(judge, metric);
	bool was = timed->base_count > 0, is = timed->count > 0;
	struct gate_finding *finding;

	if (is_of_neither(judge, metric, was, is) ||
	    ((!was || !is) && !gate_config_decides(judge->config, metric)))
		return 0;
	finding = add_finding(judge, metric);
	if (finding == NULL)
		return -ENOMEM;
	finding->base = timed->base;
	finding->now = timed->now;
	finding->worse = timed->worse;
	finding->floor = timed->floor;
	finding->p = timed->p;
	if (was && !is && is_refused_here(judge))
		gate_words_write(finding, "not timed: another machine");
	else if (!was || !is)
		gate_write_missing(finding, was, is);
	else if (why != NULL)
		finding->status = GATE_INFORMS;
	else if (judge->few.code == 0)
		decide_timed(judge, metric, finding);
	else
		gate_write_few(finding, judge->few.message);
	if (why == few_sessions && finding->status == GATE_INFORMS)
		gate_words_write(finding, "info only: %s (has %zu)", why,
				 timed->sessions);
	else if (finding->status == GATE_INFORMS)
		gate_words_write(finding, "info only: %s", why);
	return 0;
}

/* With too few repetitions counts decide all the same. */
static int judge_all_timed(struct judge *judge)
{
	const struct gate_verdict *verdict = judge->verdict;
	int result = compare_timed(judge);

	if (result == 0)
		gate_config_reaches(judge->config, verdict->base_repetitions,
				    verdict->most > 0 ? verdict->most
						      : verdict->repetitions,
				    judge->deciding, &judge->few);
	for (int i = 0; result == 0 && i < GATE_METRICS; i++)
		if (is_timed(i) && gate_config_compares(judge->config, i))
			result = judge_timed(judge, i);
	return result;
}

/* ---- together ---- */

static enum gate_outcome outcome_of(const struct judge *judge)
{
	const struct gate_verdict *verdict = judge->verdict;

	if (verdict->other_data || is_refused_here(judge))
		return GATE_MISMATCH;
	if (gate_verdict_first(verdict, GATE_REGRESSED) != NULL)
		return GATE_REGRESSION;
	if (gate_verdict_first(verdict, GATE_UNDECIDED) != NULL ||
	    gate_verdict_first(verdict, GATE_MISSING) != NULL)
		return GATE_INCONCLUSIVE;
	if (gate_verdict_first(verdict, GATE_IMPROVED) != NULL)
		return GATE_IMPROVEMENT;
	return gate_verdict_first(verdict, GATE_PASSED) != NULL ? GATE_PASS
								: GATE_INCONCLUSIVE;
}

/* What is missing now will be at any look. */
static size_t next_look(const struct judge *judge)
{
	const struct gate_verdict *verdict = judge->verdict;
	bool open = verdict->outcome == GATE_INCONCLUSIVE &&
		    gate_verdict_first(verdict, GATE_UNDECIDED) != NULL;

	return judge->config->looks && open ? gate_looks_next(verdict->repetitions) : 0;
}

/* Moves the lines to the verdict. 0 or -ENOMEM. */
static int check_fit(struct judge *judge)
{
	struct gate_fit fit;
	int result = gate_fit_check(&judge->base->about, &judge->now->about,
				    judge->config->paired, &fit);

	judge->verdict->other_data = fit.other_data;
	judge->other_machine = fit.other_machine;
	judge->verdict->mismatches = fit.lines;
	judge->verdict->mismatch_count = fit.count;
	return result;
}

/* Of what was timed now; a baseline does not know, and counts have no noise. 0 or
 * -ENOMEM. */
static int note_busy(struct judge *judge)
{
	struct profile_busy busy = judge->now->about.busy;

	if (judge->verdict->repetitions == 0)
		return 0;
	profile_busy_join(&busy, &judge->base->about.busy);
	return profile_busy_text(&busy, false, &judge->verdict->busy);
}

static int judge_sides(struct judge *judge)
{
	int result = check_fit(judge);

	if (result == 0)
		result = note_busy(judge);
	if (result == 0)
		result = judge_all_exact(judge);
	if (result == 0)
		result = judge_all_timed(judge);
	if (result < 0)
		return result;
	judge->verdict->outcome = outcome_of(judge);
	judge->verdict->next = next_look(judge);
	if (judge->verdict->outcome != GATE_MISMATCH)
		result = gate_causes_list(judge->base, judge->now, judge->verdict);
	gate_words_verdict(judge->verdict);
	return result;
}

int gate_judge(const struct gate_config *config, const struct gate_side *base,
	       const struct gate_side *now, struct gate_verdict *verdict,
	       struct error *err)
{
	struct judge judge = {
		.config = config, .base = base, .now = now, .verdict = verdict};
	int result;

	*verdict = (struct gate_verdict){
		.outcome = GATE_INCONCLUSIVE,
		.alpha = config->alpha,
		.base_repetitions = gate_timed_base(base, config->paired),
		.repetitions = gate_timed_base(now, true),
		.most = config->looks ? GATE_LOOKS_MOST : 0,
		.base_sessions = gate_side_separate_count(base),
		.paired = config->paired,
	};
	result = gate_config_check(config, err);
	if (result == 0)
		result = judge_sides(&judge);
	if (result == -ENOMEM)
		error_sys(err, ENOMEM, "judging two sides");
	return result;
}
