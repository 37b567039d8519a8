/*
 * events.c - what the threads of simulated pipelines do, one after another.
 *
 * CPU tasks all advance at speed[running], so they share one virtual time: `worked`,
 * the CPU work that each running thread has done since the beginning. A task ends when
 * `worked` reaches what it was at its begin plus its work, whatever comes and goes
 * meanwhile, so that a heap by that sum is enough. What goes by the clock lies in
 * another heap.
 */
#include "models/simulation/events.h"
#include "loader/base/backoff.h"
#include "models/simulation/batch_worker.h"
#include "models/simulation/device_copy.h"

/* Longest that a place of the fetch engine catches up: loader/fetch/engine.c. */
static const double CATCH_UP_S = 0.01;

/* ---- time -------------------------------------------------------------------- */

static void begin_work(struct simulation *sim, uint32_t who, double work,
		       unsigned threads)
{
	sim->running += threads;
	agenda_put(&sim->cpu, sim->worked + work / threads, who);
}

static void events_account(struct simulation *sim, double seconds)
{
	struct sums *sums = &sim->sums;

	sums->blocked += seconds * (sim->consumers - sim->computing);
	sums->prep += seconds * sim->preparing;
	sums->fetch += seconds * sim->reading;
	sums->cpu += seconds * sim->running * sim->speed[sim->running];
}

/* ---- opening and publishing batches ------------------------------------------- */

static bool events_may_open(const struct simulation *sim,
			    const struct pipeline *pipeline)
{
	const struct simulation_load *load = sim->load;
	uint64_t opened = pipeline->intake.opened;

	if (load->no_prep || (load->loaded && pipeline->credits == 0))
		return false;
	return opened - pipeline->released < pipeline->intake.ahead &&
	       opened - pipeline->published < load->ahead;
}

/* Gives a hit of the loader's own cache to the workers, in the order of the stream;
 * what must be read waits for a reader. */
static void events_supply(struct pipeline *pipeline, uint64_t position, uint32_t place)
{
	const struct intake *intake = &pipeline->intake;

	if (pipeline->batch_workers != NULL)
		return; /* they look for it themselves */
	if (intake->places[place].hit && intake->policy != CACHE_PAGE &&
	    intake->load->hit_s == 0)
		agenda_put(&pipeline->ready, (double)position, place);
	else
		pipeline->waiting[pipeline->wait_tail++ % pipeline->places] = place;
}

bool events_open(struct simulation *sim, struct pipeline *pipeline)
{
	struct intake *intake = &pipeline->intake;
	bool opened = false;

	while (events_may_open(sim, pipeline)) {
		uint64_t first = intake->opened * intake->batch;
		uint32_t slot = intake_next(intake);

		for (uint32_t i = 0; i < intake->batches[slot].count; i++)
			events_supply(pipeline, first + i, slot * intake->batch + i);
		pipeline->credits -= sim->load->loaded;
		opened = true;
	}
	return opened;
}

static struct intake_batch *batch_of(struct pipeline *pipeline, uint64_t number)
{
	return &pipeline->intake.batches[number % pipeline->intake.ahead];
}

/* Whole, and in order. */
static void events_publish(const struct simulation *sim, struct pipeline *pipeline)
{
	while (pipeline->published < pipeline->intake.opened) {
		const struct intake_batch *head =
			batch_of(pipeline, pipeline->published);

		if (head->done < head->count)
			return;
		pipeline->published++;
		pipeline->released += sim->load->loaded;
	}
}

/* ---- prep -------------------------------------------------------------------- */

void events_prepare(struct simulation *sim, struct pipeline *pipeline, uint32_t who,
		    uint32_t place)
{
	const struct simulation_load *load = sim->load;

	sim->preparing++;
	sim->tasks[who].place = place;
	sim->tasks[who].until = sim->now + load->delay_s;
	begin_work(sim, who,
		   load->prep_scale * intake_draw(&pipeline->intake, place)->prep_s, 1);
}

static void start_prep(struct simulation *sim, struct pipeline *pipeline)
{
	uint32_t who = pipeline->workers.who[--pipeline->workers.count];

	events_prepare(sim, pipeline, who, agenda_take(&pipeline->ready));
}

/* When prep's CPU work is done: what it waits for besides. */
static void events_wait(struct simulation *sim, const struct pipeline *pipeline,
			uint32_t who)
{
	struct task *task = &sim->tasks[who];
	double wait_s = sim->load->wait_scale *
			intake_draw(&pipeline->intake, task->place)->prep_s;

	task->until = fmax(task->until, sim->now + wait_s);
}

static void prep_done(struct simulation *sim, struct pipeline *pipeline, uint32_t who)
{
	uint32_t slot = sim->tasks[who].place / pipeline->intake.batch;

	sim->preparing--;
	sim->sums.prepared++;
	pipeline->intake.batches[slot].done++;
	if (pipeline->batch_workers != NULL)
		batch_worker_prepared(sim, pipeline, who);
	else
		pipeline->workers.who[pipeline->workers.count++] = who;
	events_publish(sim, pipeline);
}

static bool start_preps(struct simulation *sim, struct pipeline *pipeline)
{
	bool opened = false;

	while (pipeline->workers.count > 0) {
		if (pipeline->ready.count == 0)
			opened |= events_open(sim, pipeline);
		if (pipeline->ready.count == 0)
			break;
		start_prep(sim, pipeline);
	}
	return opened;
}

/* ---- fetch ------------------------------------------------------------------- */

/* When a read begins for the throttle: fetch_throttle_start() of
 * loader/fetch/engine.c. */
static double events_throttle_start(const struct simulation *sim,
				    const struct pipeline *pipeline,
				    const struct task *task)
{
	if (task->until <= pipeline->starved || task->until > sim->now ||
	    pipeline->batch_workers != NULL)
		return sim->now;
	return fmax(task->until, sim->now - CATCH_UP_S);
}

void events_read(struct simulation *sim, struct pipeline *pipeline, uint32_t who,
		 uint32_t place)
{
	struct task *task = &sim->tasks[who];

	sim->reading++;
	task->place = place;
	task->stored = task->resting = false;
	task->tries = 0;
	task->start = events_throttle_start(sim, pipeline, task);
	pipeline->issuing++;
	begin_work(sim, who, sim->load->fetch_cpu_s, 1);
}

static void start_read(struct simulation *sim, struct pipeline *pipeline)
{
	uint32_t who = pipeline->reads.who[--pipeline->reads.count];

	events_read(sim, pipeline, who,
		    pipeline->waiting[pipeline->wait_head++ % pipeline->places]);
}

static bool start_reads(struct simulation *sim, struct pipeline *pipeline)
{
	bool opened = false;

	while (pipeline->reads.count > 0 &&
	       pipeline->issuing < sim->load->fetch_threads) {
		if (pipeline->wait_head == pipeline->wait_tail)
			opened |= events_open(sim, pipeline);
		if (pipeline->wait_head == pipeline->wait_tail) {
			pipeline->starved = sim->now;
			break;
		}
		start_read(sim, pipeline);
	}
	return opened;
}

/* When the bytes of a read have had their turn on what passed *passed before. */
static double events_transfer(double *passed, double start, double seconds)
{
	*passed = fmax(*passed + seconds, start);
	return *passed;
}

/* When the throttle lets a read go: throttle_release() of loader/base/throttle.c. All
 * jobs' reads meet at the storage, behind the throttle of each. */
static double throttle_due(struct simulation *sim, struct pipeline *pipeline,
			   const struct task *task)
{
	const struct simulation_load *load = sim->load;
	double bytes = (double)intake_draw(&pipeline->intake, task->place)->bytes, due;
	bool hit = pipeline->intake.places[task->place].hit;

	/* libdsa knows what the kernel has; a program's own loader is slowed for it, too */
	if (hit &&
	    (load->hit_s > 0 || !load->throttled || load->makers == MAKERS_POOLS))
		return sim->now;
	due = fmax(task->start + load->latency_s,
		   events_transfer(&pipeline->passed, task->start,
				   bytes / load->bandwidth));
	if (hit || !(load->joint_bandwidth > 0))
		return due;
	return fmax(due, events_transfer(&sim->passed, task->start,
					 bytes / load->joint_bandwidth));
}

static void events_hand_on(struct simulation *sim, struct pipeline *pipeline,
			   uint32_t who)
{
	uint32_t place = sim->tasks[who].place, size = pipeline->intake.batch;
	uint64_t number = pipeline->intake.batches[place / size].number;

	sim->reading--;
	if (pipeline->batch_workers != NULL) {
		batch_worker_prepare(sim, pipeline, who - sim->load->workers, place);
		return;
	}
	pipeline->reads.who[pipeline->reads.count++] = who;
	agenda_put(&pipeline->ready, (double)(number * size + place % size), place);
}

static void events_stored(struct simulation *sim, struct pipeline *pipeline,
			  uint32_t who)
{
	struct task *task = &sim->tasks[who];

	task->stored = true;
	task->until = throttle_due(sim, pipeline, task);
	if (task->until > sim->now)
		agenda_put(&sim->clock, task->until, who);
	else
		events_hand_on(sim, pipeline, who);
}

static bool events_asks_bucket(const struct simulation *sim, bool hit)
{
	return !hit && (sim->load->answer_s > 0 || sim->load->answer_rate > 0);
}

/*
 * How long the storage has a read after the thread's work on it, which is in the time
 * that it takes alone. A hit of the kernel's cache takes none.
 */
static double own_latency(const struct simulation *sim, const struct intake *intake,
			  uint32_t place)
{
	const struct simulation_load *load = sim->load;
	double alone = load->fetch_scale * intake_draw(intake, place)->fetch_s;
	bool hit = intake->places[place].hit;

	if (hit)
		return load->hit_s;
	if (events_asks_bucket(sim, hit))
		return load->answer_s;
	if (isnan(alone))
		return 0;
	return alone - load->fetch_cpu_s;
}

/* Whether this request is one too many: a second's worth may come at once. */
static bool events_over_rate(struct simulation *sim)
{
	double rate = sim->load->answer_rate;

	sim->spent = fmax(0, sim->spent - (sim->now - sim->since) * rate);
	sim->since = sim->now;
	if (sim->spent + 1 > fmax(rate, 1))
		return true;
	sim->spent++;
	return false;
}

/* Refused ones rest, all others are done. */
static void events_answered(struct simulation *sim, struct pipeline *pipeline,
			    uint32_t who)
{
	struct task *task = &sim->tasks[who];

	if (!task->refused) {
		events_stored(sim, pipeline, who);
		return;
	}
	task->resting = true;
	agenda_put(&sim->clock,
		   sim->now + backoff_rest_s(BACKOFF_FIRST_S, task->tries++,
					     random_unit(&sim->random)),
		   who);
}

/* The request is sent, or the read begins. */
static void events_request(struct simulation *sim, struct pipeline *pipeline,
			   uint32_t who)
{
	struct task *task = &sim->tasks[who];
	double latency = own_latency(sim, &pipeline->intake, task->place);

	task->resting = false;
	task->refused =
		sim->load->answer_rate > 0 &&
		events_asks_bucket(sim, pipeline->intake.places[task->place].hit) &&
		events_over_rate(sim);
	if (latency > 0)
		agenda_put(&sim->clock, sim->now + latency, who);
	else
		events_answered(sim, pipeline, who);
}

static void events_issued(struct simulation *sim, struct pipeline *pipeline,
			  uint32_t who)
{
	pipeline->issuing--;
	events_request(sim, pipeline, who);
}

/* ---- the consumers ------------------------------------------------------------- */

static void count_batch(struct simulation *sim, struct consumer *consumer,
			const struct intake_batch *batch)
{
	if (consumer->taken == sim->first) {
		consumer->begin = sim->now;
		if (consumer == sim->pipelines->consumers)
			sim->sums = (struct sums){.begin = sim->now};
	}
	if (consumer->taken < sim->first || consumer->taken > sim->last)
		return;
	consumer->end = sim->now;
	consumer->samples = consumer->pending;
	consumer->hits = consumer->found;
	consumer->pending += batch->count;
	consumer->found += batch->hits;
}

static void events_release(const struct simulation *sim, struct pipeline *pipeline,
			   struct consumer *consumer)
{
	uint64_t least = ++consumer->released;

	for (uint32_t i = 0; i < pipeline->consumer_count; i++)
		if (pipeline->consumers[i].released < least)
			least = pipeline->consumers[i].released;
	if (!sim->load->loaded)
		pipeline->released = least;
}

/* Takes a batch and computes on it. */
static void events_take(struct simulation *sim, struct pipeline *pipeline,
			uint32_t index, const struct intake_batch *batch)
{
	const struct simulation_load *load = sim->load;
	struct consumer *consumer = &pipeline->consumers[index];
	double share = (double)batch->count / load->batch;
	uint32_t who = pipeline->first + index;

	count_batch(sim, consumer, batch);
	sim->behind -= consumer->taken == sim->enough;
	sim->ended |= consumer->taken == sim->last;
	consumer->taken++;
	pipeline->credits += load->loaded;
	if (load->no_consumer || load->makers == MAKERS_TURNS)
		events_release(sim, pipeline, consumer);
	if (load->no_consumer)
		return;
	consumer->computing = true;
	sim->computing++;
	sim->tasks[who].until = sim->now + consumer->compute_s * share;
	begin_work(sim, who, load->compute_cpu_s * share, load->compute_threads);
}

static void events_computed(struct simulation *sim, struct pipeline *pipeline,
			    uint32_t who)
{
	struct consumer *consumer = &pipeline->consumers[who - pipeline->first];

	sim->running -= sim->tasks[who].spinning;
	sim->tasks[who].spinning = false;
	consumer->computing = false;
	sim->computing--;
	if (sim->load->makers != MAKERS_TURNS)
		events_release(sim, pipeline, consumer);
}

/* Batches so far that cost nothing, or are whole, in order. */
static uint64_t events_complete(const struct simulation *sim,
				const struct pipeline *pipeline)
{
	return sim->load->no_prep ? pipeline->released + pipeline->intake.ahead
				  : pipeline->published;
}

static bool events_has(const struct simulation *sim, const struct pipeline *pipeline,
		       const struct consumer *consumer)
{
	if (sim->load->loaded)
		return true;
	if (device_copy_is_on(sim->load))
		return consumer->taken < consumer->copied;
	return consumer->taken < events_complete(sim, pipeline);
}

/* Asks for a batch. True if one was there. */
static bool events_ask(struct simulation *sim, struct pipeline *pipeline,
		       uint32_t index)
{
	const struct simulation_load *load = sim->load;
	const struct consumer *consumer = &pipeline->consumers[index];
	const struct intake_batch synthetic = {.count = load->batch,
					       .hits = load->batch};
	bool ready = load->loaded || load->no_prep;

	if (consumer->computing || simulation_done(sim) ||
	    !events_has(sim, pipeline, consumer))
		return false;
	events_take(sim, pipeline, index,
		    ready ? &synthetic : batch_of(pipeline, consumer->taken));
	return true;
}

/* ---- what happens ------------------------------------------------------------- */

static bool events_begin_makers(struct simulation *sim, struct pipeline *pipeline)
{
	bool more;

	if (pipeline->batch_workers != NULL)
		return batch_worker_begin(sim, pipeline);
	more = start_preps(sim, pipeline);
	return start_reads(sim, pipeline) || more;
}

static bool events_begin_parts(struct simulation *sim, struct pipeline *pipeline)
{
	bool more = events_begin_makers(sim, pipeline);

	for (uint32_t i = 0; i < pipeline->consumer_count; i++) {
		more |= events_ask(sim, pipeline, i);
		device_copy_begin(sim, pipeline, i, events_complete(sim, pipeline));
	}
	return more;
}

void events_begin(struct simulation *sim, struct pipeline *pipeline)
{
	while (events_begin_parts(sim, pipeline))
		;
}

static struct pipeline *pipeline_of(struct simulation *sim, uint32_t who)
{
	return sim->pipeline_count == 1 ? sim->pipelines
					: &sim->pipelines[who / sim->threads];
}

static bool is_consumer(const struct pipeline *pipeline, uint32_t who)
{
	return who - pipeline->first < pipeline->consumer_count;
}

static bool is_worker(const struct simulation *sim, const struct pipeline *pipeline,
		      uint32_t who)
{
	return !is_consumer(pipeline, who) &&
	       who - pipeline->first < pipeline->consumer_count + sim->load->workers;
}

/* By the clock. */
static void events_passed(struct simulation *sim, uint32_t who)
{
	struct pipeline *pipeline = pipeline_of(sim, who);

	if (is_consumer(pipeline, who))
		events_computed(sim, pipeline, who);
	else if (is_worker(sim, pipeline, who))
		prep_done(sim, pipeline, who);
	else if (device_copy_is(sim, pipeline, who))
		device_copy_done(sim, pipeline, who);
	else if (sim->tasks[who].stored)
		events_hand_on(sim, pipeline, who);
	else if (sim->tasks[who].resting)
		events_request(sim, pipeline, who);
	else
		events_answered(sim, pipeline, who);
}

/* The CPU work is done. */
static void events_worked(struct simulation *sim, uint32_t who)
{
	struct pipeline *pipeline = pipeline_of(sim, who);
	bool computes = is_consumer(pipeline, who);
	bool prepares = is_worker(sim, pipeline, who);

	sim->running -= computes ? sim->load->compute_threads : 1;
	if (prepares && sim->load->wait_scale > 0)
		events_wait(sim, pipeline, who);
	if (!computes && !prepares)
		events_issued(sim, pipeline, who);
	else if (sim->tasks[who].until > sim->now) {
		sim->tasks[who].spinning = computes && sim->load->compute_spins;
		sim->running += sim->tasks[who].spinning;
		agenda_put(&sim->clock, sim->tasks[who].until, who);
	} else {
		events_passed(sim, who);
	}
}

struct pipeline *events_step(struct simulation *sim)
{
	uint32_t who;
	double speed = sim->speed[sim->running];
	double next = agenda_next(&sim->cpu), clock = agenda_next(&sim->clock);
	double end = sim->now + (next - sim->worked) / speed;

	if (end <= clock) {
		events_account(sim, end - sim->now);
		sim->now = end;
		sim->worked = next;
		who = agenda_take(&sim->cpu);
		events_worked(sim, who);
	} else {
		events_account(sim, clock - sim->now);
		sim->worked = fmin(sim->worked + (clock - sim->now) * speed, next);
		sim->now = clock;
		who = agenda_take(&sim->clock);
		events_passed(sim, who);
	}
	return pipeline_of(sim, who);
}
