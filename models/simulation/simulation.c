/* simulation.c - sets up a simulation, runs it, and says what came out. */
#include "models/simulation.h"
#include "loader/base/error.h"
#include "models/simulation/events.h"
#include "models/simulation/load_check.h"

#include <errno.h>
#include <stdlib.h>

static void set_speeds(struct simulation *sim)
{
	const struct simulation_load *load = sim->load;
	size_t last = load->speeds - 1;

	sim->speed[0] = 1;
	for (size_t m = 1; m <= SIMULATION_THREADS; m++)
		sim->speed[m] = m <= last
					? load->speed[m]
					: load->speed[last] * (double)last / (double)m;
}

static int make_idle(struct idle *idle, uint32_t first, uint32_t count)
{
	idle->who = calloc(count, sizeof(*idle->who));
	if (idle->who == NULL)
		return -ENOMEM;
	while (idle->count < count) {
		idle->who[idle->count] = first + count - 1 - idle->count;
		idle->count++;
	}
	return 0;
}

static int make_threads(struct simulation *sim)
{
	const struct simulation_load *load = sim->load;
	uint32_t everybody = 1 + load->workers + load->depth;

	sim->tasks = calloc(everybody, sizeof(*sim->tasks));
	sim->waiting = calloc(sim->places, sizeof(*sim->waiting));
	if (sim->tasks == NULL || sim->waiting == NULL ||
	    agenda_init(&sim->cpu, everybody) < 0 ||
	    agenda_init(&sim->clock, everybody) < 0 ||
	    agenda_init(&sim->ready, sim->places) < 0 ||
	    make_idle(&sim->workers, 1, load->workers) < 0)
		return -ENOMEM;
	return make_idle(&sim->reads, 1 + load->workers, load->depth);
}

static void free_simulation(struct simulation *sim)
{
	feed_fini(&sim->feed);
	agenda_fini(&sim->cpu);
	agenda_fini(&sim->clock);
	agenda_fini(&sim->ready);
	free(sim->workers.who);
	free(sim->reads.who);
	free(sim->waiting);
	free(sim->tasks);
	free(sim);
}

/* Batches to count: whole epochs. */
static uint64_t counted(const struct feed *feed, uint64_t samples)
{
	uint64_t epochs = samples / feed->dataset;

	return (epochs > 0 ? epochs : 1) * feed->steps;
}

/*
 * Until the batches ahead are as many as they will be: slow where the stages are nearly
 * as fast as the consumer, but then it matters little; so it is bounded.
 */
static uint64_t settling(const struct feed *feed, uint64_t count)
{
	uint64_t least = 2 * (uint64_t)feed->ahead + 16, most = 8 * least;

	return count / 4 < least ? least : count / 4 > most ? most : count / 4;
}

static struct simulation *new_simulation(const struct simulation_load *load,
					 uint64_t samples)
{
	struct simulation *sim = calloc(1, sizeof(*sim));
	uint64_t count, settle;

	if (sim == NULL)
		return NULL;
	sim->load = load;
	set_speeds(sim);
	if (feed_init(&sim->feed, load, samples) < 0)
		goto no_memory;
	sim->places = sim->feed.ahead * sim->feed.batch;
	if (make_threads(sim) < 0)
		goto no_memory;
	count = counted(&sim->feed, samples);
	settle = settling(&sim->feed, count);
	feed_warm(&sim->feed, settle);
	sim->published = sim->taken = sim->released = sim->feed.opened;
	sim->first = sim->taken + settle;
	sim->last = sim->first + count;
	return sim;

no_memory:
	free_simulation(sim);
	return NULL;
}

static void conclude(const struct simulation *sim, struct simulation_outcome *outcome)
{
	const struct sums *sums = &sim->sums;
	double seconds = sim->now - sums->begin, samples = (double)sums->samples;

	*outcome = (struct simulation_outcome){
		.per_s = samples / seconds,
		.hit_ratio = (double)sums->hits / samples,
		.blocked = sums->blocked / seconds,
		.prep_busy = sums->prep / seconds,
		.fetch_busy = sums->fetch / seconds,
		.cpu_busy = sums->cpu / seconds,
		.prep_per_s = (double)sums->prepared / seconds,
	};
}

int simulate(const struct simulation_load *load, uint64_t samples,
	     struct simulation_outcome *outcome, struct error *err)
{
	int result = simulation_check(load, samples, err);
	struct simulation *sim;

	if (result < 0)
		return result;
	sim = new_simulation(load, samples);
	if (sim == NULL)
		return error_sys(err, ENOMEM, "cannot simulate");
	for (events_begin(sim); sim->taken <= sim->last; events_begin(sim))
		events_step(sim);
	if (sim->now > sim->sums.begin)
		conclude(sim, outcome);
	else
		result = error_set(err, EINVAL,
				   "nothing in the simulated load takes any time");
	free_simulation(sim);
	return result;
}
