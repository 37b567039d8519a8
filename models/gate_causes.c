#include "models/gate_causes.h"
#include "models/causes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct gate_finding *find(const struct gate_verdict *verdict,
				       const char *name)
{
	for (size_t i = 0; i < verdict->count; i++)
		if (strcmp(verdict->findings[i].name, name) == 0)
			return &verdict->findings[i];
	return NULL;
}

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
static int add(struct gate_verdict *verdict, const char *text, const char *more)
{
	size_t count = verdict->cause_count;
	char **causes = realloc(verdict->causes, (count + 2) * sizeof(*causes));

	if (causes == NULL)
		return -ENOMEM;
	verdict->causes = causes;
	causes[count] = causes[count + 1] = NULL;
	if (profile_text(&causes[count], "%s%s%s", text, more == NULL ? "" : ": ",
			 more == NULL ? "" : more) < 0)
		return -ENOMEM;
	verdict->cause_count++;
	return 0;
}

static int add_regressions(struct gate_verdict *verdict)
{
	for (size_t i = 0; i < verdict->count; i++)
		if (verdict->findings[i].status == GATE_REGRESSED &&
		    add(verdict, verdict->findings[i].name, verdict->findings[i].why) <
			    0)
			return -ENOMEM;
	return 0;
}

int gate_causes_list(const struct gate_side *base, const struct gate_side *now,
		     struct gate_verdict *verdict)
{
	struct profile was = base->about, is = now->about; /* their texts stay there */
	struct causes causes;

	show_stall(find(verdict, "fetch_stall"), &was.stalls.fetch, &is.stalls.fetch);
	show_stall(find(verdict, "prep_stall"), &was.stalls.prep, &is.stalls.prep);
	show_rate(find(verdict, "samples_per_s"), &was.rates.real, &is.rates.real);
	causes_find(&was, &is, &causes);
	for (unsigned i = 0; i < causes.count; i++)
		if (add(verdict, causes.text[i], NULL) < 0)
			return -ENOMEM;
	return causes.count > 0 ? 0 : add_regressions(verdict);
}
