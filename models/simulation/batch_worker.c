/* batch_worker.c - walks workers through their batches. */
#include "models/simulation/batch_worker.h"

#include <errno.h>
#include <stdlib.h>

int batch_worker_init(struct pipeline *pipeline, unsigned workers)
{
	pipeline->batch_workers = calloc(workers, sizeof(*pipeline->batch_workers));
	return pipeline->batch_workers != NULL ? 0 : -ENOMEM;
}

void batch_worker_place(struct pipeline *pipeline, unsigned workers, uint64_t first)
{
	for (uint64_t batch = first; batch < first + workers; batch++)
		pipeline->batch_workers[batch % workers].batch = batch;
}

static uint32_t batch_worker_first(const struct pipeline *pipeline)
{
	return pipeline->first + pipeline->consumer_count;
}

static struct batch_worker *batch_worker_of(const struct pipeline *pipeline,
					    uint32_t who)
{
	return &pipeline->batch_workers[who - batch_worker_first(pipeline)];
}

void batch_worker_prepare(struct simulation *sim, struct pipeline *pipeline,
			  uint32_t who, uint32_t place)
{
	events_prepare(sim, pipeline, who, place);
	sim->tasks[who].until =
		batch_worker_of(pipeline, who)->since + sim->load->delay_s;
}

static void batch_worker_next(struct simulation *sim, struct pipeline *pipeline,
			      uint32_t index)
{
	const struct intake *intake = &pipeline->intake;
	struct batch_worker *worker = &pipeline->batch_workers[index];
	uint32_t slot = (uint32_t)(worker->batch % intake->ahead);
	uint32_t place = slot * intake->batch + worker->sample;
	uint32_t who = batch_worker_first(pipeline) + index;

	worker->busy = true;
	worker->since = sim->now;
	if (intake->places[place].hit && intake->policy != CACHE_PAGE)
		batch_worker_prepare(sim, pipeline, who, place);
	else
		events_read(sim, pipeline, who + sim->load->workers, place);
}

bool batch_worker_begin(struct simulation *sim, struct pipeline *pipeline)
{
	bool opened = events_open(sim, pipeline);

	for (uint32_t i = 0; i < sim->load->workers; i++)
		if (!pipeline->batch_workers[i].busy &&
		    pipeline->batch_workers[i].batch < pipeline->intake.opened)
			batch_worker_next(sim, pipeline, i);
	return opened;
}

void batch_worker_prepared(const struct simulation *sim, struct pipeline *pipeline,
			   uint32_t who)
{
	const struct intake *intake = &pipeline->intake;
	struct batch_worker *worker = batch_worker_of(pipeline, who);

	worker->busy = false;
	if (++worker->sample < intake->batches[worker->batch % intake->ahead].count)
		return;
	worker->sample = 0;
	worker->batch += sim->load->workers;
}
