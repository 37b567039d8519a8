/* gate_looks.c - the looks of a gate, and what part of alpha each has. */
#include "models/gate/gate_looks.h"

#include <math.h>

static const size_t gate_looks[GATE_LOOKS] = {7, 10, 14, 20, GATE_LOOKS_MOST};

size_t gate_looks_next(size_t repetitions)
{
	for (size_t i = 0; i < GATE_LOOKS; i++)
		if (gate_looks[i] > repetitions)
			return gate_looks[i];
	return 0;
}

/* .05 / 3 at .05, and as its power 13/12. */
double gate_looks_level(const struct gate_config *config, double alpha)
{
	double level = .05 / 3 * pow(alpha / .05, 13. / 12);

	return config->looks ? fmax(level, alpha / GATE_LOOKS) : alpha;
}

double gate_looks_p(const struct gate_config *config, double p)
{
	double all = .05 * pow(p / (.05 / 3), 12. / 13);

	return config->looks ? fmin(1, fmin(all, GATE_LOOKS * p)) : p;
}
