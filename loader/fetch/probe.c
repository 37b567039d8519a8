/*
 * probe.c - which engine is the fastest here? Asks the storage, in turns.
 *
 * Each engine reads some samples, not the same ones, in the order A B B A, so that a
 * drift of the machine hits both alike. The most bytes/s wins; where they are near,
 * the least CPU time a byte. What is read faster than threads start, as from memory, is
 * read again, and more often.
 */
#include "loader/base/blob.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/fetch/engine.h"
#include "loader/source.h"

#include <math.h>
#include <stdio.h>

enum {
	ROUNDS = 4,
	ROUND_NS = 45000000, /* and what the reads in flight then still take */
	/* Reads a round. Those through the page cache leave 1/50 of the data in it. */
	MOST_SAMPLES = 1024,
	SHARE = 50,
	LEAST_NS = 10000000, /* of all rounds of an engine, to tell which is faster */
	MOST_TIMES = 100,    /* that a sample is read by one */
};

static const double tie = 0.05; /* bytes/s closer than this count as equal */

struct contender {
	const struct fetch_engine *engine;
	double bytes, wall_ns, cpu_ns;
	struct error why_not;
};

/* The client of all rounds, one after the other. */
struct round {
	const struct fetch_config *config;
	uint32_t samples;     /* in the source */
	uint32_t different;   /* samples that a round reads, */
	uint32_t length;      /* and how many, some of them again */
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t changed;
	uint64_t start, deadline; /* start: when the engine first asked */
	uint32_t next, end;
	unsigned out;
	bool ended, closed;
};

static uint32_t probe_pick(const struct round *round, uint32_t i)
{
	uint32_t of = ROUNDS * round->different;

	i = i / round->length * round->different + i % round->length % round->different;
	if (round->config->probes > 0)
		return round->config->probe[i % round->config->probes];
	return (uint32_t)((uint64_t)i * round->samples / of) % round->samples;
}

static bool round_next(void *context, bool wait, struct fetch_job *job)
{
	struct round *round = context;
	bool got;

	pthread_mutex_lock(&round->lock);
	if (round->start == 0) {
		round->start = clock_now();
		round->deadline = round->start + ROUND_NS;
	}
	got = round->next < round->end && clock_now() < round->deadline;
	if (got) {
		*job = (struct fetch_job){.sample = probe_pick(round, round->next++),
					  .unthrottled = true};
		round->out++;
	} else {
		round->ended = true;
		pthread_cond_broadcast(&round->changed);
	}
	while (!got && wait && !round->closed)
		pthread_cond_wait(&round->changed, &round->lock);
	pthread_mutex_unlock(&round->lock);
	return got;
}

/* A sample that cannot be read is named when it is needed. */
static void round_done(void *context, const struct fetch_job *job, struct blob *blob,
		       int result)
{
	struct round *round = context;

	(void)job;
	(void)result;
	blob_put(blob);
	pthread_mutex_lock(&round->lock);
	if (--round->out == 0)
		pthread_cond_broadcast(&round->changed);
	pthread_mutex_unlock(&round->lock);
}

static void round_begin(struct round *round)
{
	round->end = round->next + round->length;
	round->start = 0;
	round->ended = round->closed = false;
}

static void round_wait(struct round *round)
{
	pthread_mutex_lock(&round->lock);
	while (!round->ended || round->out > 0)
		pthread_cond_wait(&round->changed, &round->lock);
	pthread_mutex_unlock(&round->lock);
}

static void round_close(struct round *round)
{
	pthread_mutex_lock(&round->lock);
	round->closed = true;
	round->next = round->end;
	pthread_cond_broadcast(&round->changed);
	pthread_mutex_unlock(&round->lock);
}

/* One round of one engine. False if it cannot be opened. */
static bool probe_run(struct contender *one, struct round *round,
		      const struct source *source)
{
	const struct fetch_config config = {.depth = round->config->depth};
	const struct fetch_client client = {
		.context = round, .next = round_next, .done = round_done};
	struct fetch_stats stats;
	struct fetch *fetch;

	round_begin(round);
	fetch = fetch_start(one->engine, &config, source, &client, &one->why_not);
	if (fetch == NULL)
		return false;
	round_wait(round);
	one->wall_ns += (double)(clock_now() - round->start);
	fetch_stats(fetch, &stats);
	one->bytes += (double)stats.bytes;
	one->cpu_ns += (double)stats.cpu_ns;
	round_close(round);
	fetch_close(fetch);
	return true;
}

static double probe_speed(const struct contender *one)
{
	return one->wall_ns > 0 ? one->bytes * 1e3 / one->wall_ns : 0; /* MB/s */
}

/* How much CPU a byte costs a, as a share of b's. */
static double probe_cost(const struct contender *a, const struct contender *b)
{
	return a->cpu_ns * b->bytes / (b->cpu_ns * a->bytes);
}

static const struct contender *probe_judge(const struct contender *a,
					   const struct contender *b, char *reason,
					   size_t size)
{
	const struct contender *best = probe_speed(a) >= probe_speed(b) ? a : b;
	const struct contender *other = best == a ? b : a;

	if (other->bytes > 0 && probe_speed(other) >= probe_speed(best) * (1 - tie)) {
		if (probe_cost(best, other) > 1) {
			best = other;
			other = best == a ? b : a;
		}
		snprintf(reason, size, "%s: %.0f MB/s, as %s, with %.0f %% of its CPU",
			 best->engine->name, probe_speed(best), other->engine->name,
			 100 * probe_cost(best, other));
	} else if (best->bytes > 0) {
		snprintf(reason, size, "%s: %.0f MB/s against %s %.0f",
			 best->engine->name, probe_speed(best), other->engine->name,
			 probe_speed(other));
	} else {
		snprintf(reason, size, "%s: no sample could be read",
			 best->engine->name);
	}
	return best;
}

static uint32_t round_length(const struct fetch_config *config, uint32_t samples)
{
	uint32_t most = config->kernel_cache ? samples / SHARE / ROUNDS : MOST_SAMPLES;

	if (config->probes > 0 && most > (config->probes + ROUNDS - 1) / ROUNDS)
		most = (config->probes + ROUNDS - 1) / ROUNDS;
	if (most < config->depth)
		return config->depth;
	return most < MOST_SAMPLES ? most : MOST_SAMPLES;
}

/* False if one cannot be opened. */
static bool probe_turn(struct contender *a, struct contender *b, struct round *round,
		       const struct source *source)
{
	round->next = 0;
	a->bytes = a->wall_ns = a->cpu_ns = 0;
	b->bytes = b->wall_ns = b->cpu_ns = 0;
	return probe_run(a, round, source) && probe_run(b, round, source) &&
	       probe_run(b, round, source) && probe_run(a, round, source);
}

/* Rounds that take longer than those that took so long together. */
static void probe_repeat(struct round *round, double ns)
{
	round->length *= (uint32_t)fmin(LEAST_NS / fmax(ns, 1) + 1, MOST_TIMES);
}

const struct fetch_engine *fetch_probe(const struct fetch_config *config,
				       const struct source *source, char *reason,
				       size_t size)
{
	struct contender uring = {.engine = config->kernel_cache ? &fetch_uring
								 : &fetch_uring_direct};
	struct contender pread = {.engine = config->kernel_cache ? &fetch_pread
								 : &fetch_pread_direct};
	struct round round = {.config = config,
			      .samples = source_count(source),
			      .lock = PTHREAD_MUTEX_INITIALIZER,
			      .changed = PTHREAD_COND_INITIALIZER};
	const struct contender *best = &pread;
	bool able;

	round.different = round.length = round_length(config, round.samples);
	able = probe_turn(&uring, &pread, &round, source);
	if (able && uring.wall_ns < LEAST_NS && pread.wall_ns < LEAST_NS) {
		probe_repeat(&round, fmin(uring.wall_ns, pread.wall_ns));
		able = probe_turn(&uring, &pread, &round, source);
	}
	if (able)
		best = probe_judge(&uring, &pread, reason, size);
	else
		snprintf(reason, size, "%s: %s", pread.engine->name,
			 uring.why_not.message);
	pthread_cond_destroy(&round.changed);
	pthread_mutex_destroy(&round.lock);
	return best->engine;
}
