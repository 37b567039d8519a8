/* cost.c - adds up the prices of what an epoch occupies. */
#include "models/predict/cost.h"

#define GB          1e9
#define MONTH_HOURS 730.

/* A part whose price is not given is left out; one whose amount is not known makes the
 * sum unknown. */
static double cost_part(double price, double amount)
{
	return isnan(price) ? 0 : price * amount;
}

static bool cost_has_traffic(const struct prices *prices)
{
	return !isnan(prices->request) || !isnan(prices->listing) ||
	       !isnan(prices->egress_gb);
}

bool cost_any_price(const struct prices *prices)
{
	return !isnan(prices->core_hour) || !isnan(prices->memory_gb_hour) ||
	       !isnan(prices->gpu_hour) || !isnan(prices->storage_gb_month) ||
	       cost_has_traffic(prices);
}

static double cost_of_traffic(const struct prices *prices,
			      const struct profile_traffic *traffic)
{
	return cost_part(prices->request, traffic->reads) +
	       cost_part(prices->listing, traffic->listing) +
	       cost_part(prices->egress_gb, traffic->out_bytes / GB);
}

static double cost_count(uint64_t count)
{
	return count == UNKNOWN ? NAN : (double)count;
}

double cost_requests(const struct prices *prices,
		     const struct profile_requests *requests)
{
	/* a result that lacks them is of a dsa that sent none beside */
	uint64_t hedges = requests->hedges != UNKNOWN ? requests->hedges : 0;
	const struct profile_traffic traffic = {
		.reads = cost_count(requests->gets) + cost_count(requests->retries) +
			 (double)hedges,
		.listing = cost_count(requests->listing),
		.out_bytes = cost_count(requests->bytes),
	};

	return cost_has_traffic(prices) && requests->gets != UNKNOWN
		       ? cost_of_traffic(prices, &traffic)
		       : NAN;
}

static double cost_epoch(const struct prices *prices, const struct cost_use *use,
			 double per_s)
{
	double hours = use->samples / per_s / 3600;
	double an_hour = cost_part(prices->core_hour, use->cores) +
			 cost_part(prices->memory_gb_hour, use->cache_bytes / GB) +
			 cost_part(prices->gpu_hour, prices->accelerators) +
			 cost_part(prices->storage_gb_month / MONTH_HOURS,
				   use->dataset_bytes / GB);

	if (!cost_any_price(prices) || !(per_s > 0))
		return NAN;
	return hours * an_hour + cost_of_traffic(prices, &use->traffic);
}

struct interval cost_interval(const struct prices *prices, const struct cost_use *use,
			      struct interval per_s)
{
	return (struct interval){cost_epoch(prices, use, per_s.value),
				 cost_epoch(prices, use, per_s.high),
				 cost_epoch(prices, use, per_s.low)};
}
