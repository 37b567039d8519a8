#include "models/compare/causes.h"
#include "models/compare/amount_text.h"
#include "models/compare/differences.h"

#include <stdio.h>
#include <string.h>

#define LEAST .005 /* what is smaller is not told: points, or a ratio - 1 */

enum { EXPLAINED = 3 /* differences that one effect is explained with */ };

/* Something got slower or faster. */
struct effect {
	enum difference_stage stage;
	bool slower;
	bool diluted; /* it takes no other time than before, of another step */
	double size;  /* share of a step's time */
	char text[CAUSE_TEXT];
};

enum { EFFECTS = DIFFERENCE_STAGES };

struct finding {
	const struct profile *base, *now;
	struct differences differences;
	bool told[DIFFERENCES_MOST]; /* they explain something */
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
	double per_s = profile->rates.real.value;

	if (!(per_s > 0))
		return INTERVAL_UNKNOWN;
	return (struct interval){share->value / per_s, share->low / per_s,
				 share->high / per_s};
}

/* A share also changes when the rest of the step does: then there is nothing to find. */
static void causes_dilute(const struct finding *finding, const struct interval *base,
			  const struct interval *now, struct effect *effect)
{
	struct interval was = time_of(finding->base, base),
			is = time_of(finding->now, now);
	double step = 1 / finding->base->rates.real.value;
	struct amount_text_pair pair;

	if (!isfinite(was.value) || !isfinite(is.value))
		return;
	if (differences_are_clear(&was, &is, LEAST * step) &&
	    (is.value > was.value) == effect->slower)
		return;
	effect->diluted = true;
	amount_text_pair(&pair, AMOUNT_SECONDS, was.value, is.value);
	append(effect->text, ": %s a sample after %s, of a %s step", pair.to, pair.from,
	       finding->now->rates.real.value < finding->base->rates.real.value
		       ? "longer"
		       : "shorter");
}

static void find_stall(struct finding *finding, enum difference_stage stage,
		       const struct interval *base, const struct interval *now)
{
	struct effect *effect = &finding->effects[finding->effect_count];
	double points = now->value - base->value;

	if (!differences_are_clear(base, now, LEAST))
		return;
	finding->effect_count++;
	*effect = (struct effect){
		.stage = stage, .slower = points > 0, .size = fabs(points)};
	append(effect->text, "%s stall %+.1f points",
	       stage == DIFFERENCE_FETCH ? "fetch" : "prep", 100 * points);
	causes_dilute(finding, base, now, effect);
}

static void find_step(struct finding *finding)
{
	const struct interval *base = &finding->base->rates.synthetic;
	const struct interval *now = &finding->now->rates.synthetic;
	double share = finding->base->stalls.compute.value;
	struct effect *effect = &finding->effects[finding->effect_count];
	struct amount_text_pair pair;

	if (!(base->value > 0) || !(now->value > 0) ||
	    !differences_are_clear(base, now, LEAST * base->value))
		return;
	finding->effect_count++;
	amount_text_pair(&pair, AMOUNT_COUNT, base->value, now->value);
	*effect = (struct effect){
		.stage = DIFFERENCE_COMPUTE,
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

static const struct effect *effect_on(const struct finding *finding,
				      enum difference_stage stage)
{
	for (unsigned i = 0; i < finding->effect_count; i++)
		if (finding->effects[i].stage == stage)
			return &finding->effects[i];
	return NULL;
}

/* What got slower hides some of what comes before it. A small effect explains no large
 * one. */
static void causes_hide(struct finding *finding, const struct effect *by,
			const char *what, enum difference_stage stage)
{
	const struct effect *stall = effect_on(finding, stage);
	struct difference *difference =
		&finding->differences.list[finding->differences.count];

	if (stall == NULL || stall->size > 2 * by->size || by->diluted ||
	    finding->differences.count == DIFFERENCES_MOST)
		return;
	finding->differences.count++;
	*difference = (struct difference){.rank = DIFFERENCE_EFFECT};
	difference->way[stage] = by->slower ? DIFFERENCE_FASTER : DIFFERENCE_SLOWER;
	snprintf(difference->text, sizeof(difference->text), "%s %s hides %s of it",
		 by->slower ? "slower" : "faster", what, by->slower ? "more" : "less");
}

/* Loading is hidden behind a slow step, and fetching behind slow prep. */
static void explain_by_effects(struct finding *finding)
{
	const struct effect *step = effect_on(finding, DIFFERENCE_COMPUTE);
	const struct effect *prep = effect_on(finding, DIFFERENCE_PREP);

	if (step != NULL) {
		causes_hide(finding, step, "compute", DIFFERENCE_FETCH);
		causes_hide(finding, step, "compute", DIFFERENCE_PREP);
	}
	if (prep != NULL)
		causes_hide(finding, prep, "prep", DIFFERENCE_FETCH);
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

/* stage DIFFERENCE_STAGES: any of them. */
static bool causes_explains(const struct difference *difference,
			    enum difference_stage stage, bool slower)
{
	enum difference_way want = slower ? DIFFERENCE_SLOWER : DIFFERENCE_FASTER;

	for (unsigned i = 0; i < DIFFERENCE_STAGES; i++)
		if ((stage == i || stage == DIFFERENCE_STAGES) &&
		    (difference->way[i] == want ||
		     difference->way[i] == DIFFERENCE_EITHER))
			return true;
	return false;
}

/*
 * The surest and largest differences that can have this effect; what only may matter
 * if there are no others.
 */
static void causes_explain(struct finding *finding, enum difference_stage stage,
			   bool slower, char *text)
{
	unsigned told = 0;

	for (unsigned i = 0; i < finding->differences.count && told < EXPLAINED; i++) {
		const struct difference *difference = &finding->differences.list[i];

		if (!causes_explains(difference, stage, slower) ||
		    (difference->rank == DIFFERENCE_BESIDE && told > 0))
			continue;
		append(text, "%s%s", told++ == 0 ? ": " : "; ", difference->text);
		finding->told[i] = true;
	}
	if (told == 0)
		append(text, "%snothing that was counted explains it",
		       stage == DIFFERENCE_COMPUTE ? "; " : ": ");
}

static void tell_effects(struct finding *finding)
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
	const struct profile_stalls *a = &finding->base->stalls,
				    *b = &finding->now->stalls;
	const struct {
		const char *name;
		const struct interval *base, *now;
	} parts[] = {{"the fetch stall", &a->fetch, &b->fetch},
		     {"the prep stall", &a->prep, &b->prep},
		     {"the step itself", &a->compute, &b->compute}};
	double all = fabs(1 / finding->now->rates.real.value -
			  1 / finding->base->rates.real.value);
	double most = 0;
	const char *name = NULL;
	struct amount_text_pair pair;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		double more = time_of(finding->now, parts[i].now).value -
			      time_of(finding->base, parts[i].base).value;

		more = slower ? more : -more;
		if (more > most) {
			most = more;
			name = parts[i].name;
		}
	}
	if (name == NULL)
		return;
	amount_text_pair(&pair, AMOUNT_SECONDS, all, most);
	append(text, ": %s a sample %s, %s of it in %s", pair.from,
	       slower ? "longer" : "shorter", most > .99 * all ? "all" : pair.to, name);
}

static void tell_rate(struct finding *finding)
{
	const struct interval *base = &finding->base->rates.real;
	const struct interval *now = &finding->now->rates.real;
	bool slower = now->value < base->value;
	struct amount_text_pair pair;
	char *text;

	if (!(base->value > 0) || !(now->value > 0) ||
	    !differences_are_clear(base, now, LEAST * base->value))
		return;
	text = causes_add(finding, slower);
	if (text == NULL)
		return;
	amount_text_pair(&pair, AMOUNT_COUNT, base->value, now->value);
	append(text, "%s -> %s samples/s (%+.1f%%)", pair.from, pair.to,
	       100 * (now->value / base->value - 1));
	if (finding->effect_count > 0)
		causes_split(finding, slower, text);
	else
		causes_explain(finding, DIFFERENCE_STAGES, slower, text);
}

static void tell_rest(struct finding *finding)
{
	enum difference_rank last =
		finding->causes->count == 0 ? DIFFERENCE_MACHINE : DIFFERENCE_COUNTED;

	for (unsigned i = 0; i < finding->differences.count; i++) {
		const struct difference *difference = &finding->differences.list[i];
		char *text;

		if (difference->rank > last || finding->told[i])
			continue;
		text = causes_add(finding,
				  causes_explains(difference, DIFFERENCE_STAGES, true));
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
	find_stall(&finding, DIFFERENCE_FETCH, &base->stalls.fetch, &now->stalls.fetch);
	find_stall(&finding, DIFFERENCE_PREP, &base->stalls.prep, &now->stalls.prep);
	find_step(&finding);
	explain_by_effects(&finding);
	tell_effects(&finding);
	tell_rate(&finding);
	tell_rest(&finding);
}
