#include "tests/lib/load.h"
#include "loader/base/error.h"
#include "tests/lib/test.h"

static const double many_cores[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
				    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static const struct profile_draw equal = {.bytes = LOAD_BYTES, .fetch_s = NAN};

struct simulation_load load_plain(void)
{
	return (struct simulation_load){
		.dataset = 1000,
		.batch = 10,
		.ahead = 6,
		.draws = &equal,
		.draw_count = 1,
		.depth = 16,
		.fetch_threads = 16,
		.fetch_scale = 1,
		.bandwidth = INFINITY,
		.workers = 4,
		.prep_scale = 1,
		.compute_threads = 1,
		.speed = many_cores,
		.speeds = sizeof(many_cores) / sizeof(many_cores[0]),
	};
}

struct simulation_outcome load_run(const struct simulation_load *load, uint64_t samples)
{
	struct simulation_outcome outcome = {0};
	struct error error = {0};

	if (simulate(load, samples, &outcome, &error) < 0)
		fail_msg("%s", error.message);
	return outcome;
}
