#include "models/gate/gate_causes.h"
#include "models/compare/causes.h"

#include <errno.h>
#include <stdlib.h>

static void show_stall(const struct gate_finding *finding, struct interval *base,
		       struct interval *now)
{
	if (finding == NULL || finding->status != GATE_REGRESSED)
		return;
	base->value = finding->base;
	now->value = finding->now;
}

/* Stalls in seconds need it. Unless it regressed the intervals are one, so that nothing
 * follows from it. */
static void show_rate(const struct gate_finding *finding, struct interval *base,
		      struct interval *now)
{
	if (finding == NULL)
		return;
	base->value = finding->base;
	now->value = finding->now;
	if (finding->status == GATE_REGRESSED)
		return;
	base->low = now->low = fmin(finding->base, finding->now);
	base->high = now->high = fmax(finding->base, finding->now);
}

/* Appends it, before the NULL that ends the list. */
static int gate_causes_add(struct gate_verdict *verdict, const char *text)
{
	size_t count = verdict->cause_count;
	char **causes = realloc(verdict->causes, (count + 2) * sizeof(*causes));

	if (causes == NULL)
		return -ENOMEM;
	verdict->causes = causes;
	causes[count] = causes[count + 1] = NULL;
	if (profile_text(&causes[count], "%s", text) < 0)
		return -ENOMEM;
	verdict->cause_count++;
	return 0;
}

static void gate_causes_forget(struct gate_verdict *verdict)
{
	for (size_t i = 0; i < verdict->cause_count; i++)
		free(verdict->causes[i]);
	free(verdict->causes);
	verdict->causes = NULL;
	verdict->cause_count = 0;
}

int gate_causes_list(const struct gate_side *base, const struct gate_side *now,
		     struct gate_verdict *verdict)
{
	struct profile was = base->about, is = now->about; /* their texts stay there */
	bool regressed = verdict->outcome == GATE_REGRESSION;
	struct causes causes;

	gate_causes_forget(verdict);
	if (verdict->outcome == GATE_PASS)
		return 0;
	show_stall(gate_verdict_find(verdict, "fetch_stall"), &was.stalls.fetch,
		   &is.stalls.fetch);
	show_stall(gate_verdict_find(verdict, "prep_stall"), &was.stalls.prep,
		   &is.stalls.prep);
	show_rate(gate_verdict_find(verdict, "samples_per_s"), &was.rates.real,
		  &is.rates.real);
	causes_find(&was, &is, &causes);
	for (unsigned i = 0; i < causes.count; i++)
		if ((causes.slows[i] || !regressed) &&
		    gate_causes_add(verdict, causes.text[i]) < 0)
			return -ENOMEM;
	return 0;
}
