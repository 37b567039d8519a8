/* load.h - loads of the simulated pipeline for tests to vary. */
#ifndef DSA_TESTS_LOAD_H
#define DSA_TESTS_LOAD_H

#include "models/simulation/simulation.h"

enum { LOAD_BYTES = 100000 }; /* of a sample */

/* A pipeline in which nothing takes any time, on more cores than it has threads. */
struct simulation_load load_plain(void);

/* What comes of it; fails the test where it can't be simulated. */
struct simulation_outcome load_run(const struct simulation_load *load,
				   uint64_t samples);

#endif
