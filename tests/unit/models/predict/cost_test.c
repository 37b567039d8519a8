#include "models/predict/cost.h"
#include "tests/lib/test.h"

/* Easy to sum by hand: 3600 samples at 1 a second are an hour. */
static const struct prices all = {.currency = "USD",
				  .core_hour = .04,
				  .memory_gb_hour = .005,
				  .gpu_hour = 2,
				  .storage_gb_month = .73,
				  .request = 1e-6,
				  .listing = 5e-6,
				  .egress_gb = .02,
				  .accelerators = 3};
static const struct cost_use use = {
	.samples = 3600,
	.dataset_bytes = 200e9,
	.cores = 8,
	.cache_bytes = 50e9,
	.traffic = {.reads = 900, .listing = 4, .out_bytes = 50e9}};
static const struct prices none = {.core_hour = NAN,
				   .memory_gb_hour = NAN,
				   .gpu_hour = NAN,
				   .storage_gb_month = NAN,
				   .request = NAN,
				   .listing = NAN,
				   .egress_gb = NAN,
				   .accelerators = 1};

static void close_to(double value, double want)
{
	if (!(fabs(value - want) <= 1e-12 * fabs(want)))
		fail_msg("%.12g is not %.12g", value, want);
}

static double cost_at(const struct prices *prices, const struct cost_use *of,
		      double per_s)
{
	return cost_interval(prices, of, (struct interval){per_s, NAN, NAN}).value;
}

TEST(an_epoch_costs_what_its_parts_do)
{
	/* 8 cores, 50 GB of memory, 3 accelerators, 200 GB of storage; 900 reads, 4000
	 * keys listed, and 50 GB out */
	close_to(cost_at(&all, &use, 1), .32 + .25 + 6 + .2 + 900e-6 + 20e-6 + 1);
	close_to(cost_at(&all, &use, 10),
		 (.32 + .25 + 6 + .2) / 10 + 900e-6 + 20e-6 + 1);
}

TEST(each_part_alone)
{
	struct prices one[7] = {none, none, none, none, none, none, none};
	static const double costs[7] = {.32, .25, 6, .2, 900e-6, 20e-6, 1};

	one[0].core_hour = all.core_hour;
	one[1].memory_gb_hour = all.memory_gb_hour;
	one[2].gpu_hour = all.gpu_hour;
	one[2].accelerators = all.accelerators;
	one[3].storage_gb_month = all.storage_gb_month;
	one[4].request = all.request;
	one[5].listing = all.listing;
	one[6].egress_gb = all.egress_gb;
	for (int i = 0; i < 7; i++)
		close_to(cost_at(&one[i], &use, 1), costs[i]);
}

TEST(nothing_known_is_no_cost_of_0)
{
	struct cost_use unknown = use;
	struct prices prices = none;

	assert_true(isnan(cost_at(&none, &use, 1)));
	assert_true(isnan(cost_at(&all, &use, 0)));
	assert_true(isnan(cost_at(&all, &use, -1)));
	assert_true(isnan(cost_at(&all, &use, NAN)));
	unknown.cache_bytes = NAN;
	assert_true(isnan(cost_at(&all, &unknown, 1)));
	prices.core_hour = 0;
	close_to(cost_at(&prices, &unknown, 1) + 1, 1);
}

TEST(requests_of_a_run_cost_what_they_did)
{
	struct profile_requests requests = {
		.gets = 880, .retries = 20, .listing = 4, .bytes = 50000000000};

	close_to(cost_requests(&all, &requests), 900e-6 + 20e-6 + 1);
	assert_true(isnan(cost_requests(&none, &requests)));
	requests.bytes = UNKNOWN; /* an old result */
	assert_true(isnan(cost_requests(&all, &requests)));
	requests.gets = UNKNOWN; /* it asked no server */
	assert_true(isnan(cost_requests(&all, &requests)));
}

TEST(the_faster_the_cheaper)
{
	struct interval rate = {10, 8, 20};
	struct interval cost = cost_interval(&all, &use, rate);

	close_to(cost.value, cost_at(&all, &use, 10));
	close_to(cost.low, cost_at(&all, &use, 20));
	close_to(cost.high, cost_at(&all, &use, 8));
	assert_true(cost.low < cost.value && cost.value < cost.high);
	rate.value = NAN; /* only bounds are known */
	cost = cost_interval(&all, &use, rate);
	assert_true(isnan(cost.value) && cost.low < cost.high);
}
