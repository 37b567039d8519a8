/*
 * events.c - what the threads of a simulated pipeline do, one after another.
 *
 * CPU tasks all advance at speed[running], so they share one virtual time: `worked`,
 * the CPU work that each running thread has done since the beginning. A task ends when
 * `worked` reaches what it was at its begin plus its work, whatever comes and goes
 * meanwhile, so that a heap by that sum is enough. What goes by the clock lies in
 * another heap.
 */
#include "models/simulation/events.h"

/* Longest that a place of the fetch engine catches up: loader/fetch/fetch.c. */
static const double CATCH_UP_S = 0.01;

enum { CONSUMER = 0 }; /* then the workers, then the reads in flight */

/* ---- time -------------------------------------------------------------------- */

static void begin_work(struct simulation *sim, uint32_t who, double work,
		       unsigned threads)
{
	sim->running += threads;
	agenda_put(&sim->cpu, sim->worked + work / threads, who);
}

static void account(struct simulation *sim, double seconds)
{
	const struct simulation_load *load = sim->load;
	struct sums *sums = &sim->sums;

	sums->blocked += sim->computing ? 0 : seconds;
	sums->prep += seconds * (load->workers - sim->workers.count);
	sums->fetch += seconds * (load->depth - sim->reads.count);
	sums->cpu += seconds * sim->running * sim->speed[sim->running];
}

/* ---- opening and publishing batches ------------------------------------------- */

static bool may_open(const struct simulation *sim)
{
	const struct simulation_load *load = sim->load;

	if (load->no_prep || (load->loaded && sim->credits == 0))
		return false;
	return sim->feed.opened - sim->released < load->ahead;
}

/* For a worker, in the order of the stream. */
static void make_ready(struct simulation *sim, uint64_t position, uint32_t place)
{
	agenda_put(&sim->ready, (double)position, place);
}

static void supply(struct simulation *sim, uint64_t position, uint32_t place)
{
	const struct feed *feed = &sim->feed;

	if (feed->places[place].hit && feed->policy != HITS_PAGE)
		make_ready(sim, position, place);
	else
		sim->waiting[sim->wait_tail++ % sim->places] = place;
}

/* As many batches as there are free slots for. True if one was opened. */
static bool open_batches(struct simulation *sim)
{
	bool opened = false;

	while (may_open(sim)) {
		uint64_t first = sim->feed.opened * sim->feed.batch;
		uint32_t slot = feed_next(&sim->feed);

		for (uint32_t i = 0; i < sim->feed.batches[slot].count; i++)
			supply(sim, first + i, slot * sim->feed.batch + i);
		sim->credits -= sim->load->loaded;
		opened = true;
	}
	return opened;
}

static struct feed_batch *batch_of(struct simulation *sim, uint64_t number)
{
	return &sim->feed.batches[number % sim->feed.ahead];
}

/* Whole, and in order. */
static void publish(struct simulation *sim)
{
	while (sim->published < sim->feed.opened) {
		const struct feed_batch *head = batch_of(sim, sim->published);

		if (head->done < head->count)
			return;
		sim->published++;
		sim->released += sim->load->loaded;
	}
}

/* ---- prep -------------------------------------------------------------------- */

static void start_prep(struct simulation *sim)
{
	const struct simulation_load *load = sim->load;
	uint32_t who = sim->workers.who[--sim->workers.count];
	struct task *task = &sim->tasks[who];

	task->place = agenda_take(&sim->ready);
	task->until = sim->now + load->delay_s;
	begin_work(sim, who,
		   load->prep_scale * feed_draw(&sim->feed, task->place)->prep_s, 1);
}

static void prep_done(struct simulation *sim, uint32_t who)
{
	uint32_t slot = sim->tasks[who].place / sim->feed.batch;

	sim->workers.who[sim->workers.count++] = who;
	sim->sums.prepared++;
	sim->feed.batches[slot].done++;
	publish(sim);
}

static bool start_preps(struct simulation *sim)
{
	bool opened = false;

	while (sim->workers.count > 0) {
		if (sim->ready.count == 0)
			opened |= open_batches(sim);
		if (sim->ready.count == 0)
			break;
		start_prep(sim);
	}
	return opened;
}

/* ---- fetch ------------------------------------------------------------------- */

/* When a read begins for the throttle: throttle_start() of loader/fetch/fetch.c. */
static double throttle_start(const struct simulation *sim, const struct task *task)
{
	if (task->until <= sim->starved || task->until > sim->now)
		return sim->now;
	return fmax(task->until, sim->now - CATCH_UP_S);
}

static void start_read(struct simulation *sim)
{
	uint32_t who = sim->reads.who[--sim->reads.count];
	struct task *task = &sim->tasks[who];

	task->place = sim->waiting[sim->wait_head++ % sim->places];
	task->stored = false;
	task->start = throttle_start(sim, task);
	sim->issuing++;
	begin_work(sim, who, sim->load->fetch_cpu_s, 1);
}

static bool start_reads(struct simulation *sim)
{
	bool opened = false;

	while (sim->reads.count > 0 && sim->issuing < sim->load->fetch_threads) {
		if (sim->wait_head == sim->wait_tail)
			opened |= open_batches(sim);
		if (sim->wait_head == sim->wait_tail) {
			sim->starved = sim->now;
			break;
		}
		start_read(sim);
	}
	return opened;
}

/* When the throttle lets a read go: throttle_release() of loader/throttle.c. */
static double throttle_due(struct simulation *sim, const struct task *task)
{
	const struct simulation_load *load = sim->load;
	double bytes = (double)feed_draw(&sim->feed, task->place)->bytes;

	if (sim->feed.places[task->place].hit && !load->throttled)
		return sim->now;
	sim->passed = fmax(sim->passed + bytes / load->bandwidth, task->start);
	return fmax(task->start + load->latency_s, sim->passed);
}

static void hand_on(struct simulation *sim, uint32_t who)
{
	uint32_t place = sim->tasks[who].place, size = sim->feed.batch;
	uint64_t number = sim->feed.batches[place / size].number;

	sim->reads.who[sim->reads.count++] = who;
	make_ready(sim, number * size + place % size, place);
}

static void stored(struct simulation *sim, uint32_t who)
{
	struct task *task = &sim->tasks[who];

	task->stored = true;
	task->until = throttle_due(sim, task);
	if (task->until > sim->now)
		agenda_put(&sim->clock, task->until, who);
	else
		hand_on(sim, who);
}

/*
 * How long the storage has a read after the thread's work on it, which is in the time
 * that it takes alone. What the kernel's cache holds is none of its business.
 */
static double own_latency(const struct simulation *sim, uint32_t place)
{
	const struct simulation_load *load = sim->load;
	double alone = load->fetch_scale * feed_draw(&sim->feed, place)->fetch_s;

	if (isnan(alone) || sim->feed.places[place].hit)
		return 0;
	return alone - load->fetch_cpu_s;
}

static void issued(struct simulation *sim, uint32_t who)
{
	double latency = own_latency(sim, sim->tasks[who].place);

	sim->issuing--;
	if (latency > 0)
		agenda_put(&sim->clock, sim->now + latency, who);
	else
		stored(sim, who);
}

/* ---- the consumer ------------------------------------------------------------- */

static void count_batch(struct simulation *sim, const struct feed_batch *batch)
{
	if (sim->taken == sim->first)
		sim->sums = (struct sums){.begin = sim->now};
	if (sim->taken < sim->first || sim->taken >= sim->last)
		return;
	sim->sums.samples += batch->count;
	sim->sums.hits += batch->hits;
}

/* Takes a batch and computes on it. */
static void take(struct simulation *sim, const struct feed_batch *batch)
{
	const struct simulation_load *load = sim->load;
	double share = (double)batch->count / load->batch;

	count_batch(sim, batch);
	sim->taken++;
	sim->credits += load->loaded;
	if (load->no_consumer) {
		sim->released++;
		return;
	}
	sim->computing = true;
	sim->tasks[CONSUMER].until = sim->now + load->compute_s * share;
	begin_work(sim, CONSUMER, load->compute_cpu_s * share, load->compute_threads);
}

static void computed(struct simulation *sim)
{
	sim->computing = false;
	sim->released += !sim->load->loaded;
}

/* Asks for a batch. True if one was there. */
static bool ask(struct simulation *sim)
{
	const struct feed_batch synthetic = {.count = sim->load->batch,
					     .hits = sim->load->batch};

	if (sim->computing || sim->taken > sim->last)
		return false;
	if (sim->load->loaded || sim->load->no_prep) {
		take(sim, &synthetic);
		return true;
	}
	if (sim->taken == sim->published)
		return false;
	take(sim, batch_of(sim, sim->taken));
	return true;
}

/* ---- what happens ------------------------------------------------------------- */

void events_begin(struct simulation *sim)
{
	bool more;

	do {
		more = start_preps(sim);
		more |= start_reads(sim);
		more |= ask(sim);
	} while (more);
}

static bool is_worker(const struct simulation *sim, uint32_t who)
{
	return who <= sim->load->workers;
}

/* By the clock. */
static void passed(struct simulation *sim, uint32_t who)
{
	if (who == CONSUMER)
		computed(sim);
	else if (is_worker(sim, who))
		prep_done(sim, who);
	else if (sim->tasks[who].stored)
		hand_on(sim, who);
	else
		stored(sim, who);
}

/* The CPU work is done. */
static void worked(struct simulation *sim, uint32_t who)
{
	bool reads = who != CONSUMER && !is_worker(sim, who);

	sim->running -= who == CONSUMER ? sim->load->compute_threads : 1;
	if (reads)
		issued(sim, who);
	else if (sim->tasks[who].until > sim->now)
		agenda_put(&sim->clock, sim->tasks[who].until, who);
	else
		passed(sim, who);
}

void events_step(struct simulation *sim)
{
	double speed = sim->speed[sim->running];
	double next = agenda_next(&sim->cpu), clock = agenda_next(&sim->clock);
	double end = sim->now + (next - sim->worked) / speed;

	if (end <= clock) {
		account(sim, end - sim->now);
		sim->now = end;
		sim->worked = next;
		worked(sim, agenda_take(&sim->cpu));
	} else {
		account(sim, clock - sim->now);
		sim->worked = fmin(sim->worked + (clock - sim->now) * speed, next);
		sim->now = clock;
		passed(sim, agenda_take(&sim->clock));
	}
}
