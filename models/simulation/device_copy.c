/* device_copy.c - one copy at a time, by the clock. */
#include "models/simulation/device_copy.h"

bool device_copy_is_on(const struct simulation_load *load)
{
	return load->copy_s > 0 && !load->loaded && !load->no_consumer;
}

/* Those who copy come behind the reads. */
static uint32_t device_copy_first(const struct simulation *sim,
				  const struct pipeline *pipeline)
{
	return pipeline->first + pipeline->consumer_count + sim->load->workers +
	       sim->load->depth;
}

static double device_copy_s(const struct simulation_load *load,
			    const struct pipeline *pipeline, uint64_t number)
{
	const struct intake *intake = &pipeline->intake;
	uint32_t count = load->no_prep ? load->batch
				       : intake->batches[number % intake->ahead].count;

	return load->copy_s * count / load->batch;
}

void device_copy_begin(struct simulation *sim, struct pipeline *pipeline,
		       uint32_t index, uint64_t complete)
{
	struct consumer *consumer = &pipeline->consumers[index];

	if (!device_copy_is_on(sim->load) || consumer->copying ||
	    consumer->copied >= complete)
		return;
	consumer->copying = true;
	agenda_put(&sim->clock,
		   sim->now + device_copy_s(sim->load, pipeline, consumer->copied),
		   device_copy_first(sim, pipeline) + index);
}

bool device_copy_is(const struct simulation *sim, const struct pipeline *pipeline,
		    uint32_t who)
{
	return who >= device_copy_first(sim, pipeline);
}

void device_copy_done(const struct simulation *sim, struct pipeline *pipeline,
		      uint32_t who)
{
	struct consumer *consumer =
		&pipeline->consumers[who - device_copy_first(sim, pipeline)];

	consumer->copying = false;
	consumer->copied++;
}
