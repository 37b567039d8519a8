/* rank_loads.c - divides what ranks waited for their batches by what a step takes. */
#include "profiler/preload/rank_loads.h"
#include "profiler/io_page.h"
#include "profiler/profile.h"

#include <errno.h>
#include <math.h>

static int rank_loads_add_row(const struct io_ranks *ranks, uint32_t rank,
			      double step_s, struct profile *profile)
{
	struct profile_rank *row = profile_add_rank(profile);

	if (row == NULL)
		return -ENOMEM;
	row->rank = rank;
	row->ranks = ranks->world;
	row->pid = ranks->ranks[rank].owner & ((UINT64_C(1) << IO_PID_BITS) - 1);
	row->blocked_share = (double)ranks->ranks[rank].blocked_ns * 1e-9 /
			     (double)ranks->ranks[rank].batches / step_s;
	return 0;
}

int rank_loads_add(const struct io_page *page, struct profile *profile)
{
	const struct io_ranks *ranks = &page->ranks;
	double step_s =
		profile_quotient(profile->batch, 1) / profile->rates[TRACE_REAL].value;
	int result = 0;

	if (ranks->world > IO_RANKS || !(step_s > 0))
		return 0;
	for (uint32_t i = 0; i < ranks->world; i++)
		if (ranks->ranks[i].batches == 0)
			return 0;
	for (uint32_t i = 0; result == 0 && i < ranks->world; i++)
		result = rank_loads_add_row(ranks, i, step_s, profile);
	return result;
}
