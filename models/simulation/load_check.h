/* load_check.h - checks a load before it is simulated. */
#ifndef DSA_SIMULATION_LOAD_CHECK_H
#define DSA_SIMULATION_LOAD_CHECK_H

#include <stdint.h>

struct error;
struct simulation_load;

/* 0, or -EINVAL and in err which member is wrong and what it may be. */
int simulation_check(const struct simulation_load *load, uint64_t samples,
		     struct error *err);

#endif
