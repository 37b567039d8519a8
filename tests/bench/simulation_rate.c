/*
 * simulation_rate.c - samples a CPU second that the pipeline's simulation gets through: an
 * epoch of a million, 8 workers, 16 reads in flight, with no cache and with each.
 *
 *	simulation_rate [SAMPLES]
 */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/number.h"
#include "loader/base/random.h"
#include "models/simulation/simulation.h"

#include <err.h>
#include <stdio.h>

enum { DRAWS = 4096, RUNS = 3 };

static struct profile_draw draws[DRAWS];

static void make_draws(void)
{
	struct random random = {.state = 1};

	for (int i = 0; i < DRAWS; i++) {
		double size = 0.5 + random_unit(&random);

		draws[i] = (struct profile_draw){
			.bytes = (uint64_t)(110000 * size),
			.fetch_s = 1e-3 * size,
			.prep_s = 5e-3 * size,
		};
	}
}

static double seconds(const struct simulation_load *load, uint32_t samples,
		      struct simulation_outcome *outcome)
{
	struct error error = {0};
	double best = INFINITY;

	for (int i = 0; i < RUNS; i++) {
		uint64_t start = clock_process_cpu();

		if (simulate(load, samples, outcome, &error) < 0)
			errx(1, "%s", error.message);
		best = fmin(best, (double)(clock_process_cpu() - start) * 1e-9);
	}
	return best;
}

int main(int argc, char **argv)
{
	static const double speed[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
	static const enum cache_id policies[] = {CACHE_NONE, CACHE_MINIO,  CACHE_LRU,
						 CACHE_FIFO, CACHE_RANDOM, CACHE_PAGE};
	unsigned samples = 1000000;

	if (argc > 1 && !number_count(argv[1], UINT32_MAX, &samples))
		errx(2, "'%s' is no number of samples", argv[1]);
	make_draws();
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		const struct simulation_load load = {
			.dataset = samples,
			.batch = 64,
			.ahead = 6,
			.draws = draws,
			.draw_count = DRAWS,
			.policy = policies[i],
			.share = 0.35,
			.depth = 16,
			.fetch_threads = 1,
			.fetch_cpu_s = 1e-4,
			.fetch_scale = 1,
			.bandwidth = 150e6,
			.workers = 8,
			.prep_scale = 1,
			.compute_s = 0.04,
			.compute_threads = 1,
			.speed = speed,
			.speeds = sizeof(speed) / sizeof(speed[0]),
		};
		struct simulation_outcome outcome;
		double took = seconds(&load, samples, &outcome);

		printf("%-7s hits %.3f  %6.0f samples/s simulated, %9.0f samples in a "
		       "CPU second\n",
		       profile_caches[policies[i]], outcome.hit_ratio, outcome.per_s,
		       samples / took);
	}
	return 0;
}
