/*
 * cost.h - what an epoch costs, from prices of the parts that it occupies.
 *
 *	cost = hours x (cores x core + cache GB x memory + accelerators x accelerator)
 *	     + data set GB x storage x hours / 730
 *	     + reads x request + listing x listing + GB out x egress
 *	hours = samples / (samples/s) / 3600
 */
#ifndef DSA_COST_H
#define DSA_COST_H

#include "profiler/profile.h"

/* In one currency; NAN: not given, and then left out of the cost. */
struct prices {
	char currency[8];
	char date[16];           /* of the prices: "2026-11-20" */
	double core_hour;        /* a virtual CPU for an hour */
	double memory_gb_hour;   /* a GB (1e9 bytes) of memory */
	double gpu_hour;         /* an accelerator */
	double storage_gb_month; /* a GB kept, 730 hours */
	double request;          /* a read */
	double listing;          /* a request that lists a thousand keys */
	double egress_gb;        /* a GB that leaves the storage */
	unsigned accelerators;   /* that the job has */
};

/* False: no price is given. */
bool cost_any_price(const struct prices *prices);

/* What the requests of a measured run cost, those that were sent again, too. NAN: it asked
 * no server, no price of that is given, or it is not known how much it asked for. */
double cost_requests(const struct prices *prices,
		     const struct profile_requests *requests);

/* What an epoch takes up. */
struct cost_use {
	double samples, dataset_bytes;
	double cores;
	double cache_bytes;
	struct profile_traffic traffic;
};

/*
 * Of an epoch at these samples/s: the faster the cheaper. NAN when no price is given,
 * or what one is for is not known (NAN) in `use`, or nothing comes out (per_s is not
 * above 0).
 */
struct interval cost_interval(const struct prices *prices, const struct cost_use *use,
			      struct interval per_s);

#endif
