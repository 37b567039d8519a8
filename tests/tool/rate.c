/* rate.c - measure_rate() as a command: FOLDER BUDGET_S PRECISION DSA_LOADER CMD... */
#include "loader/base/error.h"
#include "profiler/run/measure.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct measure_config config = {.timeout_s = 60,
					.grace_s = 10,
					.seed = 1,
					.startup.output_aside = true};
	struct measure_rate rate;
	struct error err = {0};

	if (argc < 6)
		return 2;
	config.folder = argv[1];
	config.budget_s = strtod(argv[2], NULL);
	config.precision = strtod(argv[3], NULL);
	config.startup.loader = argv[4];
	config.startup.command = argv + 5;
	if (measure_rate(&config, &rate, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		return 3;
	}
	printf("%.6g %.6g %.6g %.6g %u %s\n", rate.per_s.value, rate.per_s.low,
	       rate.per_s.high, rate.hit_ratio, rate.windows, rate.why);
	return 0;
}
