/* bench_prep.c - delivers batches through the public interface, with files warm. */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/loader.h"
#include "loader/options.h"
#include "profiler/bench/bench_work.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { DISCARDED = 2 }; /* batches: threads start, memory is touched first */

static const uint64_t run_ns = 5000000000; /* when no length is given */

/* Reads what will be delivered into the page cache. Returns how many samples that is.
 */
static int bench_prep_warm_up(const struct options *options, uint64_t samples,
			      uint32_t *length, struct error *err)
{
	struct options warm = *options;
	struct bench_fetch *stage;

	strcpy(warm.fetch, "pread");
	strcpy(warm.cache, "page");
	stage = bench_fetch_open(&warm, samples, err);
	if (stage == NULL)
		return -err->code;
	*length = bench_fetch_length(stage);
	bench_fetch_close(stage);
	return 0;
}

struct listener {
	bench_progress *progress;
	void *context;
};

/* The next batch, counted. Returns 1, 0 at the end, or -errno. */
static int take_one(struct dsa_loader *loader, struct bench_prep *result,
		    struct error *err)
{
	struct dsa_batch batch;
	int rc = dsa_next(loader, &batch);

	if (rc < 0)
		return error_set(err, -rc, "%s", dsa_why(loader));
	if (rc == 0)
		return 0;
	result->batches++;
	result->work.samples += batch.count;
	result->work.bytes += batch.count * batch.sample_bytes;
	dsa_release(loader, &batch);
	return 1;
}

/* Progress is by time or by count, whichever is further. */
static double share_done(const struct bench_prep *result, uint64_t batches,
			 uint64_t elapsed)
{
	double by_time = (double)elapsed / (double)run_ns;
	double by_count = (double)result->batches / (double)batches;

	return by_count > by_time ? by_count : by_time;
}

/* `timed`: at most run_ns. */
static int bench_prep_deliver(struct dsa_loader *loader, uint64_t batches, bool timed,
			      const struct listener *listener,
			      struct bench_prep *result, struct error *err)
{
	uint64_t start = clock_now(), elapsed = 0;
	int rc = 1;

	*result = (struct bench_prep){0};
	bench_work_now(&result->work);
	while (rc > 0 && result->batches < batches && (!timed || elapsed < run_ns)) {
		rc = take_one(loader, result, err);
		elapsed = clock_now() - start;
		if (listener->progress != NULL)
			listener->progress(
				listener->context,
				share_done(result, batches, timed ? elapsed : 0));
	}
	bench_work_since(&result->work);
	if (rc >= 0 && result->batches == 0)
		return error_set(err, ENODATA, "no batch was delivered");
	return rc < 0 ? rc : 0;
}

/* How many batches may be asked for, so that all samples wanted are warm. */
static uint64_t batches_warm(const struct dsa_stats *stats, uint32_t length,
			     unsigned batch)
{
	uint64_t whole = length / batch;

	if (length >= stats->dataset_samples)
		return UINT64_MAX; /* the next epoch is as warm */
	return whole > DISCARDED ? whole - DISCARDED : 1;
}

int bench_prep_run(const struct options *options, uint64_t batches,
		   bench_progress *progress, void *context, struct bench_prep *result,
		   struct error *err)
{
	const struct dsa_config config = {0};
	const struct listener listener = {progress, context}, nobody = {NULL, NULL};
	uint64_t wanted = (batches + DISCARDED) * options->batch;
	bool timed = batches == 0;
	struct bench_prep ignored;
	struct dsa_loader *loader;
	struct dsa_stats stats;
	char why[DSA_WHY];
	uint32_t length = 0;
	int rc = bench_prep_warm_up(options, timed ? 0 : wanted, &length, err);

	if (rc < 0)
		return rc;
	rc = dsa_open(&config, &loader, why);
	if (rc < 0)
		return error_set(err, -rc, "%s", why);
	dsa_stats(loader, &stats);
	if (timed)
		batches = batches_warm(&stats, length, options->batch);
	rc = bench_prep_deliver(loader, DISCARDED, false, &nobody, &ignored, err);
	if (rc == 0)
		rc = bench_prep_deliver(loader, batches, timed, &listener, result, err);
	dsa_stats(loader, &stats);
	result->work.failures = stats.skipped;
	result->workers = stats.workers;
	result->dataset_samples = stats.dataset_samples;
	dsa_close(loader);
	return rc;
}
