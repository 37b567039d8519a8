/* bench_fetch.c - reads with the engine alone, as deep as asked. */
#include "loader/base/blob.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/throttle.h"
#include "loader/components.h"
#include "loader/fetch.h"
#include "loader/options.h"
#include "loader/sampler.h"
#include "loader/source.h"
#include "profiler/bench/bench_work.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEEPEST = 32,       /* to warm up with */
	PROBES = 4096,      /* samples that auto may try */
	RUN_NS = 500000000, /* of a run whose length is not given */
	WARM = 1 << 30,     /* bytes that are enough to read from the page cache */
};

struct bench_fetch {
	struct source *source;
	struct sampler *sampler;
	struct throttle *throttle;
	struct fetch *fetch;
	uint32_t *probe;

	/* Guards what follows, and the sampler once there is a fetch. */
	pthread_mutex_t lock;
	uint32_t length; /* samples in the order; then it begins again */
	pthread_cond_t changed;
	uint64_t position;      /* of the next sample */
	uint64_t end, deadline; /* of this run, whichever comes first */
	uint64_t out;           /* reads in flight */
	uint64_t bytes, failed; /* of this run */
	bool warming, ended, closed;
};

static bool bench_fetch_next(void *context, bool wait, struct fetch_job *job)
{
	struct bench_fetch *stage = context;
	bool got = false;

	pthread_mutex_lock(&stage->lock);
	while (!stage->closed) {
		got = stage->position < stage->end && clock_now() < stage->deadline;
		if (got || !wait)
			break;
		stage->ended = true;
		pthread_cond_broadcast(&stage->changed);
		pthread_cond_wait(&stage->changed, &stage->lock);
	}
	if (got) {
		uint32_t at = (uint32_t)(stage->position++ % stage->length);

		*job = (struct fetch_job){.unthrottled = stage->warming};
		job->sample = sampler_sample(stage->sampler, 0, at);
		stage->out++;
	}
	pthread_mutex_unlock(&stage->lock);
	return got;
}

static void bench_fetch_done(void *context, const struct fetch_job *job,
			     struct blob *blob, int result)
{
	struct bench_fetch *stage = context;

	(void)job;
	pthread_mutex_lock(&stage->lock);
	stage->bytes += blob != NULL ? blob->size : 0;
	stage->failed += result < 0;
	if (--stage->out == 0)
		pthread_cond_broadcast(&stage->changed);
	pthread_mutex_unlock(&stage->lock);
	blob_put(blob);
}

/* Continues where the last run ended, until one of the limits. */
static void read_on(struct bench_fetch *stage, uint64_t samples, uint64_t deadline,
		    struct bench_work *work)
{
	uint64_t first;

	bench_work_now(work);
	pthread_mutex_lock(&stage->lock);
	first = stage->position;
	stage->bytes = stage->failed = 0;
	stage->ended = false;
	stage->end = first + samples;
	stage->deadline = deadline;
	pthread_cond_broadcast(&stage->changed);
	while (!stage->ended || stage->out > 0)
		pthread_cond_wait(&stage->changed, &stage->lock);
	work->samples = stage->position - first;
	work->bytes = stage->bytes;
	work->failures = stage->failed;
	pthread_mutex_unlock(&stage->lock);
	bench_work_since(work);
}

/* How many samples from the head of the order are enough to be warm. */
static uint32_t warm_length(const struct bench_fetch *stage, uint64_t samples)
{
	uint32_t all = sampler_length(stage->sampler), n = 0;
	uint64_t bytes = 0;

	if (samples > 0)
		return samples < all ? (uint32_t)samples : all;
	while (n < all && bytes < WARM)
		bytes += source_size(stage->source,
				     sampler_sample(stage->sampler, 0, n++));
	return n;
}

/* Goes to the start of the order, with nothing wanted yet. */
static void start_over(struct bench_fetch *stage, uint32_t length, bool warming)
{
	pthread_mutex_lock(&stage->lock);
	stage->position = stage->end = 0;
	stage->length = length;
	stage->warming = warming;
	pthread_mutex_unlock(&stage->lock);
}

static void bench_fetch_warm_up(struct bench_fetch *stage, uint64_t samples)
{
	uint32_t length = warm_length(stage, samples);
	struct bench_work work;

	start_over(stage, length, true);
	read_on(stage, length, UINT64_MAX, &work);
	start_over(stage, length, false);
}

/* The samples that the runs reach last. */
static uint32_t list_probes(struct bench_fetch *stage)
{
	uint32_t count = 0;

	stage->probe = malloc(PROBES * sizeof(stage->probe[0]));
	if (stage->probe == NULL)
		return 0;
	for (uint32_t at = stage->length; at > 0 && count < PROBES; count++)
		stage->probe[count] = sampler_sample(stage->sampler, 0, --at);
	return count;
}

static int open_samples(struct bench_fetch *stage, const struct options *options,
			struct error *err)
{
	struct sampler_config sampler = {.seed = options->seed,
					 .rank = options->rank,
					 .world = options->world,
					 .in_order = options->in_order};

	stage->source = components_source(options, options->dataset, err);
	if (stage->source == NULL)
		return -1;
	sampler.count = source_count(stage->source);
	if (options->shuffle_blocks)
		sampler.blocks = permutation_blocks_of(
			source_facts(stage->source)->bytes, sampler.count);
	stage->sampler = sampler_open(&sampler, err);
	if (stage->sampler == NULL)
		return -1;
	stage->length = sampler_length(stage->sampler);
	if (stage->length == 0)
		return error_set(err, EINVAL, "rank %u of %u has no samples",
				 options->rank, options->world);
	return 0;
}

static int open_engine(struct bench_fetch *stage, const struct options *options,
		       struct error *err)
{
	const struct fetch_client client = {
		.context = stage, .next = bench_fetch_next, .done = bench_fetch_done};
	struct fetch_config config = {
		.engine = options->fetch,
		.kernel_cache = strcmp(options->cache, "page") == 0,
		.depth = DEEPEST,
	};

	if (options->storage_bandwidth > 0 || options->storage_latency > 0) {
		stage->throttle = throttle_new(options->storage_bandwidth,
					       options->storage_latency);
		if (stage->throttle == NULL)
			return error_sys(err, ENOMEM, "cannot slow the storage down");
	}
	config.throttle = stage->throttle;
	config.probes = list_probes(stage);
	config.probe = stage->probe;
	stage->fetch = fetch_open(&config, stage->source, &client, err);
	return stage->fetch != NULL ? 0 : -1;
}

struct bench_fetch *bench_fetch_open(const struct options *options, uint64_t samples,
				     struct error *err)
{
	struct bench_fetch *stage = calloc(1, sizeof(*stage));

	if (stage == NULL)
		return error_null(error_sys(err, ENOMEM, "cannot measure fetch"));
	pthread_mutex_init(&stage->lock, NULL);
	pthread_cond_init(&stage->changed, NULL);
	if (open_samples(stage, options, err) < 0 ||
	    open_engine(stage, options, err) < 0) {
		bench_fetch_close(stage);
		return NULL;
	}
	if (strcmp(options->cache, "page") == 0)
		bench_fetch_warm_up(stage, samples);
	return stage;
}

void bench_fetch_close(struct bench_fetch *stage)
{
	if (stage == NULL)
		return;
	pthread_mutex_lock(&stage->lock);
	stage->closed = true;
	pthread_cond_broadcast(&stage->changed);
	pthread_mutex_unlock(&stage->lock);
	fetch_close(stage->fetch);
	throttle_free(stage->throttle);
	sampler_close(stage->sampler);
	source_close(stage->source);
	pthread_cond_destroy(&stage->changed);
	pthread_mutex_destroy(&stage->lock);
	free(stage->probe);
	free(stage);
}

struct fetch_facts bench_fetch_facts(const struct bench_fetch *stage)
{
	return fetch_facts(stage->fetch);
}

uint32_t bench_fetch_length(const struct bench_fetch *stage)
{
	return stage->length;
}

int bench_fetch_run(struct bench_fetch *stage, unsigned depth, uint64_t samples,
		    struct bench_work *work, struct error *err)
{
	uint64_t deadline = samples > 0 ? UINT64_MAX : clock_now() + RUN_NS;
	int rc = fetch_set_depth(stage->fetch, depth);

	if (rc < 0)
		return error_sys(err, -rc, "cannot have %u reads in flight", depth);
	if (stage->throttle != NULL)
		throttle_reset(stage->throttle);
	read_on(stage, samples > 0 ? samples : UINT32_MAX, deadline, work);
	if (work->failures == work->samples)
		return error_set(err, EIO, "none of %llu samples could be read",
				 (unsigned long long)work->samples);
	return 0;
}
