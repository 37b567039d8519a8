/* request_budget.c - counts and foresees requests by what windows took. */
#include "profiler/schedule/request_budget.h"

#include <math.h>

#define SPARE 1.3 /* windows go faster at times than the fastest so far */

/* Requests in flight of a fetch window, which its rate goes with. */
static double request_budget_depth(const struct trace_loader *loader,
				   const struct trace_window *ask)
{
	if (ask->kind != TRACE_FETCH)
		return 1;
	return fmax(1, ask->depth > 0 ? ask->depth : loader->fetch_depth);
}

void request_budget_learn(struct request_budget *budget,
			  const struct trace_loader *loader,
			  const struct trace_window *raw)
{
	uint64_t gets = raw->end.counters[TRACE_wanted_gets], end = raw->end.time_ns;
	double took = (double)(end - budget->time_ns) * 1e-9;
	double asked = (double)(gets - budget->gets);
	double disk = (double)raw->end.counters[TRACE_disk_samples];

	if (raw->state != TRACE_DONE || end <= budget->time_ns || gets < budget->gets)
		return;
	if (budget->time_ns > 0 && raw->kind < TRACE_KINDS)
		budget->per_s[raw->kind] =
			fmax(budget->per_s[raw->kind],
			     asked / took / request_budget_depth(loader, raw));
	if (disk > 0)
		budget->hits = disk / (disk + (double)gets);
	budget->gets = gets;
	budget->time_ns = end;
}

double request_budget_left(const struct trace *trace)
{
	uint64_t most = trace_most_gets(trace, trace->loader.dataset_samples), gets = 0;

	if (!trace->loader.remote || most == UINT64_MAX)
		return INFINITY;
	for (unsigned i = 0; i < TRACE_PROCESSES; i++)
		gets += trace->processes[i].counters[TRACE_wanted_gets];
	return gets < most ? (double)(most - gets) : 0;
}

/* Before one of its kind was seen: as the busiest of the others. */
static double request_budget_rate(const struct request_budget *budget,
				  enum trace_kind kind)
{
	double most = budget->per_s[kind];

	for (int i = 0; most == 0 && i < TRACE_KINDS; i++)
		most = fmax(most, i == TRACE_FETCH ? 0 : budget->per_s[i]);
	return most;
}

double request_budget_of(const struct request_budget *budget,
			 const struct trace_loader *loader,
			 const struct trace_window *ask, double seconds)
{
	double rate = request_budget_rate(budget, ask->kind) *
		      request_budget_depth(loader, ask);

	if (ask->kind == TRACE_SYNTHETIC || ask->kind == TRACE_COPIED)
		return SPARE * budget->per_s[ask->kind] * seconds;
	return fmax(SPARE * rate * seconds, (1 - budget->hits) * ask->stage);
}
