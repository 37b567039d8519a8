/*
 * batch_worker.h - workers that make whole batches, in turn, as torch's DataLoader has
 * them.
 *
 * Batch i belongs to worker i mod workers. It goes through the samples: from the cache,
 * or by a read; then prep; then the next.
 */
#ifndef DSA_SIMULATION_BATCH_WORKER_H
#define DSA_SIMULATION_BATCH_WORKER_H

#include "models/simulation/events.h"

/* 0 or -ENOMEM; free(pipeline->batch_workers) ends them. */
int batch_worker_init(struct pipeline *pipeline, unsigned workers);

/* Their first batches are those from `first` on. */
void batch_worker_place(struct pipeline *pipeline, unsigned workers, uint64_t first);

/* Those who are free begin with their next sample. True if a batch was opened. */
bool batch_worker_begin(struct simulation *sim, struct pipeline *pipeline);

/* `who` has what it prepares. */
void batch_worker_prepare(struct simulation *sim, struct pipeline *pipeline,
			  uint32_t who, uint32_t place);

/* `who` has prepared its sample. */
void batch_worker_prepared(const struct simulation *sim, struct pipeline *pipeline,
			   uint32_t who);

#endif
