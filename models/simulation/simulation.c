/* simulation.c - sets up a simulation, runs it, and says what came out. */
#include "models/simulation/simulation.h"
#include "loader/base/error.h"
#include "models/simulation/batch_worker.h"
#include "models/simulation/device_copy.h"
#include "models/simulation/events.h"
#include "models/simulation/load_check.h"

#include <errno.h>
#include <stdlib.h>

enum { SLOWEST = 8 }; /* of a job that is slower, the fewer batches are counted */

static int set_speeds(struct simulation *sim)
{
	const struct simulation_load *load = sim->load;
	size_t last = load->speeds - 1;
	size_t most = sim->pipeline_count *
		      (load->workers + load->depth +
		       (load->shared ? sim->consumers : 1) * load->compute_threads);

	sim->speed = calloc(most + 1, sizeof(*sim->speed));
	if (sim->speed == NULL)
		return -ENOMEM;
	sim->speed[0] = 1;
	for (size_t m = 1; m <= most; m++)
		sim->speed[m] = m <= last
					? load->speed[m]
					: load->speed[last] * (double)last / (double)m;
	return 0;
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

static int make_threads(const struct simulation *sim, struct pipeline *pipeline)
{
	const struct simulation_load *load = sim->load;
	uint32_t workers = pipeline->first + pipeline->consumer_count;

	pipeline->places = pipeline->intake.ahead * pipeline->intake.batch;
	pipeline->consumers =
		calloc(pipeline->consumer_count, sizeof(*pipeline->consumers));
	pipeline->waiting = calloc(pipeline->places, sizeof(*pipeline->waiting));
	if (pipeline->consumers == NULL || pipeline->waiting == NULL ||
	    agenda_init(&pipeline->ready, pipeline->places) < 0 ||
	    make_idle(&pipeline->workers, workers, load->workers) < 0)
		return -ENOMEM;
	if (load->makers != MAKERS_POOLS)
		return batch_worker_init(pipeline, load->workers);
	return make_idle(&pipeline->reads, workers + load->workers, load->depth);
}

static int make_pipeline(const struct simulation *sim, uint32_t index, uint64_t samples)
{
	struct pipeline *pipeline = &sim->pipelines[index];
	int result = index == 0 ? intake_init(&pipeline->intake, sim->load, samples)
				: intake_init_beside(&pipeline->intake,
						     &sim->pipelines->intake, samples,
						     index);

	pipeline->first = index * sim->threads;
	pipeline->consumer_count = sim->load->shared ? sim->consumers : 1;
	return result < 0 ? result : make_threads(sim, pipeline);
}

static void free_pipeline(struct pipeline *pipeline)
{
	intake_fini(&pipeline->intake);
	agenda_fini(&pipeline->ready);
	free(pipeline->consumers);
	free(pipeline->workers.who);
	free(pipeline->reads.who);
	free(pipeline->batch_workers);
	free(pipeline->waiting);
}

static void free_simulation(struct simulation *sim)
{
	/* The first one's cache may be the others' too. */
	for (uint32_t i = sim->pipelines != NULL ? sim->pipeline_count : 0; i > 0; i--)
		free_pipeline(&sim->pipelines[i - 1]);
	agenda_fini(&sim->cpu);
	agenda_fini(&sim->clock);
	free(sim->pipelines);
	free(sim->speed);
	free(sim->tasks);
	free(sim);
}

/* Batches to count: whole epochs. */
static uint64_t simulation_counted(const struct intake *intake, uint64_t samples)
{
	uint64_t epochs = samples / intake->dataset;

	return (epochs > 0 ? epochs : 1) * intake->steps;
}

/*
 * Until the batches ahead are as many as they will be: slow where the stages are nearly
 * as fast as the consumer, but then it matters little; so it is bounded.
 */
static uint64_t simulation_settling(const struct intake *intake, uint64_t count)
{
	uint64_t least = 2 * (uint64_t)intake->ahead + 16, most = 8 * least;

	return count / 4 < least ? least : count / 4 > most ? most : count / 4;
}

/* All caches go through as much in turns, as their jobs run at the same time. */
static void simulation_warm(struct simulation *sim, uint64_t settle)
{
	uint64_t batches = intake_warm(&sim->pipelines->intake, settle);

	while (sim->pipelines->intake.opened < batches)
		for (uint32_t i = 0; i < sim->pipeline_count; i++)
			intake_next(&sim->pipelines[i].intake);
}

/* Everybody begins with the batch that is opened next. */
static void place_consumers(struct simulation *sim)
{
	const struct simulation_load *load = sim->load;
	const double *each = load->job_compute_s;
	uint32_t job = 0;

	for (uint32_t i = 0; i < sim->pipeline_count; i++) {
		struct pipeline *pipeline = &sim->pipelines[i];

		pipeline->published = pipeline->released = pipeline->intake.opened;
		if (pipeline->batch_workers != NULL)
			batch_worker_place(pipeline, load->workers,
					   pipeline->intake.opened);
		for (uint32_t j = 0; j < pipeline->consumer_count; j++, job++)
			pipeline->consumers[j] = (struct consumer){
				.compute_s = each != NULL ? each[job] : load->compute_s,
				.copied = pipeline->published,
				.taken = pipeline->published,
				.released = pipeline->published,
			};
	}
}

static int simulation_make_all(struct simulation *sim, uint64_t samples)
{
	uint32_t everybody = sim->pipeline_count * sim->threads;

	sim->pipelines = calloc(sim->pipeline_count, sizeof(*sim->pipelines));
	sim->tasks = calloc(everybody, sizeof(*sim->tasks));
	if (sim->pipelines == NULL || sim->tasks == NULL || set_speeds(sim) < 0 ||
	    agenda_init(&sim->cpu, everybody) < 0 ||
	    agenda_init(&sim->clock, everybody) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < sim->pipeline_count; i++)
		if (make_pipeline(sim, i, samples) < 0)
			return -ENOMEM;
	return 0;
}

static struct simulation *new_simulation(const struct simulation_load *load,
					 uint64_t samples)
{
	struct simulation *sim = calloc(1, sizeof(*sim));
	uint64_t count, settle;

	if (sim == NULL)
		return NULL;
	sim->load = load;
	sim->random.state = load->seed;
	sim->consumers = sim->behind = load->jobs > 1 ? load->jobs : 1;
	sim->pipeline_count = load->shared ? 1 : sim->consumers;
	sim->threads = sim->consumers / sim->pipeline_count *
			       (device_copy_is_on(load) ? 2 : 1) +
		       load->workers + load->depth;
	if (simulation_make_all(sim, samples) < 0) {
		free_simulation(sim);
		return NULL;
	}
	count = simulation_counted(&sim->pipelines->intake, samples);
	settle = simulation_settling(&sim->pipelines->intake, count);
	simulation_warm(sim, settle);
	place_consumers(sim);
	sim->first = sim->pipelines->published + settle;
	sim->last = sim->first + count;
	sim->enough = sim->first + (count < SLOWEST ? 1 : count / SLOWEST);
	return sim;
}

/* Each job by the time that it took itself. False: one took none. */
static bool count_jobs(const struct simulation *sim, struct simulation_outcome *outcome)
{
	double samples = 0, hits = 0;
	uint32_t job = 0;

	for (uint32_t i = 0; i < sim->pipeline_count; i++)
		for (uint32_t j = 0; j < sim->pipelines[i].consumer_count; j++) {
			const struct consumer *consumer =
				&sim->pipelines[i].consumers[j];

			if (!(consumer->end > consumer->begin))
				return false;
			samples += (double)consumer->samples;
			hits += (double)consumer->hits;
			outcome->job_per_s[job] = (double)consumer->samples /
						  (consumer->end - consumer->begin);
			outcome->per_s += outcome->job_per_s[job++];
		}
	outcome->hit_ratio = hits / samples;
	return true;
}

static bool simulation_conclude(const struct simulation *sim,
				struct simulation_outcome *outcome)
{
	const struct sums *sums = &sim->sums;
	double seconds = sim->now - sums->begin;

	*outcome = (struct simulation_outcome){
		.blocked = sums->blocked / seconds / sim->consumers,
		.prep_busy = sums->prep / seconds,
		.fetch_busy = sums->fetch / seconds,
		.cpu_busy = sums->cpu / seconds,
		.prep_per_s = (double)sums->prepared / seconds,
	};
	return count_jobs(sim, outcome);
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
	for (uint32_t i = 0; i < sim->pipeline_count; i++)
		events_begin(sim, &sim->pipelines[i]);
	while (!simulation_done(sim))
		events_begin(sim, events_step(sim));
	if (!simulation_conclude(sim, outcome))
		result = error_set(err, EINVAL,
				   "nothing in the simulated load takes any time");
	free_simulation(sim);
	return result;
}
