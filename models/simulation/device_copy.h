/*
 * device_copy.h - copies of batches to the device, between batch complete and consumer:
 * for each consumer in order and one after another, as far ahead as there are slots.
 */
#ifndef DSA_SIMULATION_DEVICE_COPY_H
#define DSA_SIMULATION_DEVICE_COPY_H

#include "models/simulation/events.h"

/* Whether batches reach the consumers by copies. */
bool device_copy_is_on(const struct simulation_load *load);

/* Begins with the next batch below `complete`, if there is one, the copies rest. */
void device_copy_begin(struct simulation *sim, struct pipeline *pipeline,
		       uint32_t index, uint64_t complete);

/* True when `who` copies; and it is done. */
bool device_copy_is(const struct simulation *sim, const struct pipeline *pipeline,
		    uint32_t who);
void device_copy_done(const struct simulation *sim, struct pipeline *pipeline,
		      uint32_t who);

#endif
