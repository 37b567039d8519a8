/* server_run.c - the profile of such a run. */
#include "tests/lib/server_run.h"
#include "tests/lib/known_run.h"

void server_run_make(struct profile *profile, double most)
{
	const struct known_run run = {.compute_per_s = 1500,
				      .prep_s = 1e-3,
				      .cores = 2,
				      .workers = 2,
				      .bandwidth = 1e12,
				      .real = fmin(4 / SERVER_ANSWER_S, most)};

	known_run_make(profile, &run);
	profile->storage_bandwidth = NAN;
	profile->fetch_depth = 4;
	profile_word_set(&profile->engine, profile_engines, "net");
	profile->fetch_points = 0;
	for (unsigned q = 1; q <= 32; q *= q == 1 ? 4 : 8) {
		struct profile_point *point = profile_add_fetch_point(profile);

		point->x = q;
		point->read_s = fmax(SERVER_ANSWER_S, q / most);
		point->per_s.value = .9 * q / point->read_s;
		point->bytes_per_s = point->per_s.value * 100000;
		point->cpu_s_per_sample = 50e-6;
	}
	profile->requests.gets = 1000;
}
