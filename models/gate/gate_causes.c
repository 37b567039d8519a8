/* gate_causes.c - compares both sides again, with what the findings allow. */
#include "models/gate/gate_causes.h"
#include "models/compare/causes.h"
#include "models/compare/differences.h"

#include <errno.h>
#include <string.h>

static bool did_change(const struct gate_finding *finding)
{
	return finding != NULL &&
	       (finding->status == GATE_REGRESSED || finding->status == GATE_IMPROVED);
}

/* True of a part that surely changed as the whole did. */
static bool is_part_of(const struct gate_finding *whole,
		       const struct gate_finding *finding)
{
	if (!did_change(whole))
		return false;
	return whole->status == GATE_REGRESSED ? finding->worse.low > 0
					       : finding->worse.high < 0;
}

static void show_stall(const struct gate_finding *whole,
		       const struct gate_finding *finding, struct interval *base,
		       struct interval *now)
{
	if (finding == NULL || !(did_change(finding) || is_part_of(whole, finding)))
		return;
	base->value = finding->base;
	now->value = finding->now;
}

/* Stalls in seconds need it. Unless it changed the intervals are one, so that nothing
 * follows from it. */
static void show_rate(const struct gate_finding *finding, struct interval *base,
		      struct interval *now)
{
	if (finding == NULL)
		return;
	base->value = finding->base;
	now->value = finding->now;
	if (did_change(finding))
		return;
	base->low = now->low = fmin(finding->base, finding->now);
	base->high = now->high = fmax(finding->base, finding->now);
}

/* ---- settings ---- */

static bool is_told(const struct gate_verdict *verdict, const char *setting)
{
	for (size_t i = 0; i < verdict->cause_count; i++)
		if (strstr(verdict->causes[i], setting) != NULL)
			return true;
	return false;
}

/* Also of a pass: it may compare what was not meant to be compared. */
static int gate_causes_settings(const struct gate_side *base,
				const struct gate_side *now,
				struct gate_verdict *verdict)
{
	struct differences all;

	profile_free_texts(verdict->settings);
	verdict->settings = NULL;
	verdict->setting_count = 0;
	differences_find(&base->about, &now->about, &all);
	for (unsigned i = 0; i < all.count; i++)
		if (all.list[i].rank == DIFFERENCE_SET &&
		    !is_told(verdict, all.list[i].text) &&
		    gate_lines_add(&verdict->settings, &verdict->setting_count, "%s",
				   all.list[i].text) < 0)
			return -ENOMEM;
	return 0;
}

/* ---- causes ---- */

int gate_causes_list(const struct gate_side *base, const struct gate_side *now,
		     struct gate_verdict *verdict)
{
	struct profile was = base->about, is = now->about; /* their texts stay there */
	bool regressed = verdict->outcome == GATE_REGRESSION;
	const struct gate_finding *whole = gate_verdict_find(verdict, "data_stall");
	struct causes causes;

	was.busy.kept = is.busy.kept = false; /* the findings allow for it */
	profile_free_texts(verdict->causes);
	verdict->causes = NULL;
	verdict->cause_count = 0;
	if (verdict->outcome == GATE_PASS)
		return gate_causes_settings(base, now, verdict);
	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++)
		show_stall(whole,
			   gate_verdict_find(verdict,
					     gate_metrics[gate_metric_stall(i)].name),
			   &was.stalls[i], &is.stalls[i]);
	show_rate(gate_verdict_find(verdict, "samples_per_s"), &was.rates[TRACE_REAL],
		  &is.rates[TRACE_REAL]);
	causes_find(&was, &is, &causes);
	for (unsigned i = 0; i < causes.count; i++)
		if ((causes.slows[i] || !regressed) &&
		    gate_lines_add(&verdict->causes, &verdict->cause_count, "%s",
				   causes.text[i]) < 0)
			return -ENOMEM;
	return gate_causes_settings(base, now, verdict);
}
