/* causes.c - lists effects with what explains them, then the rate, then the rest. */
#include "models/compare/causes.h"
#include "models/compare/difference_kinds.h"

#include <stdio.h>

enum { EXPLAINED = 3 /* differences that one effect is explained with */ };

/* Something got slower or faster. */
struct effect {
	enum stage stage;
	bool slower;
	bool diluted; /* it takes no other time than before, of another step */
	double size;  /* share of a step's time */
	char text[CAUSE_TEXT];
};

enum { EFFECTS = STAGES };

struct finding {
	const struct profile *base, *now;
	struct differences differences;
	bool used[DIFFERENCES_MOST]; /* they explain something */
	struct effect effects[EFFECTS];
	unsigned effect_count;
	struct causes *causes;
};

#define append(text, ...) differences_append(text, CAUSE_TEXT, __VA_ARGS__)

/* ---- effects ---- */

/* Time of a sample that goes to a share of the step. */
static struct interval time_of(const struct profile *profile,
			       const struct interval *share)
{
	double per_s = profile->rates[TRACE_REAL].value;

	if (!(per_s > 0))
		return INTERVAL_UNKNOWN;
	return (struct interval){share->value / per_s, share->low / per_s,
				 share->high / per_s};
}

/* A share also changes with the rest of the step: then there is nothing to find. */
static void causes_dilute(const struct finding *finding, const struct interval *base,
			  const struct interval *now, struct effect *effect)
{
	struct interval was = time_of(finding->base, base),
			is = time_of(finding->now, now);
	double step = 1 / finding->base->rates[TRACE_REAL].value;
	struct amount_text_pair pair;

	if (!isfinite(was.value) || !isfinite(is.value))
		return;
	if (differences_are_clear(&was, &is, DIFFERENCES_LEAST * step) &&
	    (is.value > was.value) == effect->slower)
		return;
	effect->diluted = true;
	amount_text_pair(&pair, AMOUNT_SECONDS, was.value, is.value);
	append(effect->text, ": %s a sample after %s, of a %s step", pair.to, pair.from,
	       finding->now->rates[TRACE_REAL].value <
			       finding->base->rates[TRACE_REAL].value
		       ? "longer"
		       : "shorter");
}

/* Two observed runs that are alike may differ as much: what was measured once has none. */
static bool causes_has_interval(const struct finding *finding)
{
	return !profile_is_observed(finding->base) ||
	       !profile_is_observed(finding->now);
}

static void find_stall(struct finding *finding, enum stage stage)
{
	const struct interval *base = &finding->base->stalls[stage];
	const struct interval *now = &finding->now->stalls[stage];
	struct effect *effect = &finding->effects[finding->effect_count];
	double points = now->value - base->value;

	if (profile_is_vague(finding->base) || profile_is_vague(finding->now) ||
	    !differences_are_clear(base, now, DIFFERENCES_LEAST))
		return;
	finding->effect_count++;
	*effect = (struct effect){
		.stage = stage, .slower = points > 0, .size = fabs(points)};
	append(effect->text, "%s %+.1f points%s", stage_table[stage].label,
	       100 * points,
	       causes_has_interval(finding) ? "" : " (no interval is known)");
	causes_dilute(finding, base, now, effect);
}

static void find_step(struct finding *finding)
{
	const struct interval *base = &finding->base->rates[TRACE_SYNTHETIC];
	const struct interval *now = &finding->now->rates[TRACE_SYNTHETIC];
	double share = finding->base->stalls[STAGE_COMPUTE].value;
	struct effect *effect = &finding->effects[finding->effect_count];
	struct amount_text_pair pair;

	if (!(base->value > 0) || !(now->value > 0) ||
	    !differences_are_clear(base, now, DIFFERENCES_LEAST * base->value))
		return;
	finding->effect_count++;
	amount_text_pair(&pair, AMOUNT_COUNT, base->value, now->value);
	*effect = (struct effect){
		.stage = STAGE_COMPUTE,
		.slower = now->value < base->value,
		.size = fabs(base->value / now->value - 1) *
			(isfinite(share) ? share : 1),
	};
	append(effect->text,
	       "the training step itself got %s: %s -> %s samples/s without any "
	       "loading",
	       effect->slower ? "slower" : "faster", pair.from, pair.to);
}

/* ---- effects that explain others ---- */

static const struct effect *effect_on(const struct finding *finding, enum stage stage)
{
	for (unsigned i = 0; i < finding->effect_count; i++)
		if (finding->effects[i].stage == stage)
			return &finding->effects[i];
	return NULL;
}

/* What got slower hides some of what comes before it. A small effect explains no large
 * one. */
static void causes_hide(struct finding *finding, const struct effect *by,
			enum stage stage)
{
	const struct effect *stall = effect_on(finding, stage);
	struct difference *difference;

	if (stall == NULL || stall->size > 2 * by->size || by->diluted)
		return;
	difference = difference_add(&finding->differences, DIFFERENCE_EFFECT);
	if (difference == NULL)
		return;
	difference->way[stage] = by->slower ? DIFFERENCE_FASTER : DIFFERENCE_SLOWER;
	snprintf(difference->text, sizeof(difference->text), "%s %s hides %s of it",
		 by->slower ? "slower" : "faster", stage_table[by->stage].key,
		 by->slower ? "more" : "less");
}

/* Each stage hides those below it: a slow step loading, and slow prep fetching. */
static void explain_by_effects(struct finding *finding)
{
	for (int by = 0; by < STAGES; by++) {
		const struct effect *effect = effect_on(finding, (enum stage)by);

		for (int i = STAGES - 1; effect != NULL && i > by; i--)
			causes_hide(finding, effect, (enum stage)i);
	}
	differences_sort(&finding->differences);
}

/* ---- causes ---- */

static char *causes_add(struct finding *finding, bool slows)
{
	struct causes *causes = finding->causes;
	char *text;

	if (causes->count == CAUSES_MOST)
		return NULL;
	causes->slows[causes->count] = slows;
	text = causes->text[causes->count++];
	*text = '\0';
	return text;
}

/* stage STAGES: any of them. */
static bool causes_explains(const struct difference *difference, enum stage stage,
			    bool slower)
{
	enum difference_way want = slower ? DIFFERENCE_SLOWER : DIFFERENCE_FASTER;

	for (unsigned i = 0; i < STAGES; i++)
		if ((stage == i || stage == STAGES) &&
		    (difference->way[i] == want ||
		     difference->way[i] == DIFFERENCE_EITHER))
			return true;
	return false;
}

/* One behind this one tells why, and not just where. */
static bool causes_follow(const struct finding *finding, unsigned at, enum stage stage,
			  bool slower)
{
	while (++at < finding->differences.count)
		if (finding->differences.list[at].rank != DIFFERENCE_PART &&
		    causes_explains(&finding->differences.list[at], stage, slower))
			return true;
	return false;
}

/*
 * The surest and largest differences that can have this effect; of what only may matter some
 * where no other one tells why. Parts tell where: they leave room for that.
 */
static void causes_explain(struct finding *finding, enum stage stage, bool slower,
			   char *text)
{
	unsigned count = 0, reasons = 0;

	for (unsigned i = 0; i < finding->differences.count && count < EXPLAINED; i++) {
		const struct difference *difference = &finding->differences.list[i];

		if (!causes_explains(difference, stage, slower) ||
		    (difference->rank == DIFFERENCE_BESIDE && reasons > 0) ||
		    (difference->rank == DIFFERENCE_PART && reasons == 0 &&
		     count == EXPLAINED - 1 &&
		     causes_follow(finding, i, stage, slower)))
			continue;
		reasons += difference->rank != DIFFERENCE_PART;
		append(text, "%s%s", count++ == 0 ? ": " : "; ", difference->text);
		finding->used[i] = true;
	}
	if (count == 0)
		append(text, "%snothing that was counted explains it",
		       stage == STAGE_COMPUTE ? "; " : ": ");
}

static void causes_list_effects(struct finding *finding)
{
	for (;;) {
		struct effect *largest = NULL;
		char *text;

		for (unsigned i = 0; i < finding->effect_count; i++)
			if (finding->effects[i].size > 0 &&
			    (largest == NULL ||
			     finding->effects[i].size > largest->size))
				largest = &finding->effects[i];
		if (largest == NULL)
			return;
		text = causes_add(finding, largest->slower);
		if (text != NULL)
			append(text, "%s", largest->text);
		if (text != NULL && !largest->diluted)
			causes_explain(finding, largest->stage, largest->slower, text);
		largest->size = 0;
	}
}

/* ---- the rate, and what no effect was seen of ---- */

/* "; 120 us a sample longer, 100 us of it in the fetch stall". */
static void causes_split(const struct finding *finding, bool slower, char *text)
{
	double all = fabs(1 / finding->now->rates[TRACE_REAL].value -
			  1 / finding->base->rates[TRACE_REAL].value);
	double most = 0;
	int stage = -1;
	struct amount_text_pair pair;

	for (int i = STAGES - 1; i >= 0; i--) {
		double more = time_of(finding->now, &finding->now->stalls[i]).value -
			      time_of(finding->base, &finding->base->stalls[i]).value;

		more = slower ? more : -more;
		if (more > most) {
			most = more;
			stage = i;
		}
	}
	if (stage < 0)
		return;
	amount_text_pair(&pair, AMOUNT_SECONDS, all, most);
	append(text, ": %s a sample %s, %s of it in the %s", pair.from,
	       slower ? "longer" : "shorter", most > .99 * all ? "all" : pair.to,
	       stage == STAGE_COMPUTE ? "step itself" : stage_table[stage].label);
}

static void causes_list_rate(struct finding *finding)
{
	const struct interval *base = &finding->base->rates[TRACE_REAL];
	const struct interval *now = &finding->now->rates[TRACE_REAL];
	bool slower = now->value < base->value;
	struct amount_text_pair pair;
	char *text;

	if (!(base->value > 0) || !(now->value > 0) ||
	    !differences_are_clear(base, now, DIFFERENCES_LEAST * base->value))
		return;
	text = causes_add(finding, slower);
	if (text == NULL)
		return;
	amount_text_pair(&pair, AMOUNT_COUNT, base->value, now->value);
	append(text, "%s -> %s samples/s (%+.1f%%%s)", pair.from, pair.to,
	       100 * (now->value / base->value - 1),
	       causes_has_interval(finding) ? "" : ", no interval is known");
	if (finding->effect_count > 0)
		causes_split(finding, slower, text);
	else
		causes_explain(finding, STAGES, slower, text);
}

static void causes_list_rest(struct finding *finding)
{
	enum difference_rank last =
		finding->causes->count == 0 ? DIFFERENCE_MACHINE : DIFFERENCE_COUNTED;

	for (unsigned i = 0; i < finding->differences.count; i++) {
		const struct difference *difference = &finding->differences.list[i];
		char *text;

		if (difference->rank > last || finding->used[i])
			continue;
		text = causes_add(finding, causes_explains(difference, STAGES, true));
		if (text == NULL)
			return;
		append(text, "%s%s%s", difference->text,
		       *difference->aside == '\0' ? "" : ": ", difference->aside);
	}
}

void causes_find(const struct profile *base, const struct profile *now,
		 struct causes *causes)
{
	struct finding finding = {.base = base, .now = now, .causes = causes};

	causes->count = 0;
	differences_find(base, now, &finding.differences);
	for (int i = STAGES - 1; i > STAGE_COMPUTE; i--)
		find_stall(&finding, (enum stage)i);
	find_step(&finding);
	explain_by_effects(&finding);
	causes_list_effects(&finding);
	causes_list_rate(&finding);
	causes_list_rest(&finding);
}
