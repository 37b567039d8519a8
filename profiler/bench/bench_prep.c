/* bench_prep.c - delivers batches through the public interface, with files warm. */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/loader.h"
#include "loader/options.h"
#include "profiler/bench/bench_work.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { DISCARDED = 2 }; /* batches */

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

/* For how long it delivers at the most. */
static uint64_t bench_prep_limit(const struct bench_prep_config *bench)
{
	if (bench->seconds > 0)
		return (uint64_t)(bench->seconds * 1e9);
	return bench->batches == 0 ? run_ns : UINT64_MAX;
}

static bool bench_prep_goes_on(const struct bench_prep_config *bench)
{
	return bench->interrupted == NULL || !bench->interrupted();
}

static int bench_prep_deliver(const struct bench_prep_config *bench, uint64_t batches,
			      struct dsa_loader *loader, struct bench_prep *result,
			      struct error *err)
{
	uint64_t limit = bench_prep_limit(bench), start = clock_now(), elapsed = 0;
	bool timed = bench->batches == 0;
	int rc = 1;

	*result = (struct bench_prep){0};
	bench_work_now(&result->work);
	while (rc > 0 && result->batches < batches && elapsed < limit &&
	       bench_prep_goes_on(bench)) {
		rc = take_one(loader, result, err);
		elapsed = clock_now() - start;
		if (bench->progress != NULL)
			bench->progress(
				bench->context,
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

/* Threads start, and memory is touched first. */
static int bench_prep_begin(const struct bench_prep_config *bench,
			    struct dsa_loader *loader, struct error *err)
{
	const struct bench_prep_config first = {.batches = DISCARDED,
						.interrupted = bench->interrupted};
	struct bench_prep ignored;

	return bench_prep_deliver(&first, DISCARDED, loader, &ignored, err);
}

int bench_prep_run(const struct bench_prep_config *bench, struct bench_prep *result,
		   struct error *err)
{
	const struct dsa_config none = {0};
	uint64_t batches = bench->batches;
	uint64_t wanted = (batches + DISCARDED) * bench->options->batch;
	struct dsa_loader *loader;
	struct dsa_stats stats;
	char why[DSA_WHY];
	uint32_t length = 0;
	int rc = bench_prep_warm_up(bench->options, batches == 0 ? 0 : wanted, &length,
				    err);

	if (rc < 0)
		return rc;
	rc = dsa_open(bench->loader != NULL ? bench->loader : &none, &loader, why);
	if (rc < 0)
		return error_set(err, -rc, "%s", why);
	dsa_stats(loader, &stats);
	if (batches == 0)
		batches = batches_warm(&stats, length, bench->options->batch);
	rc = bench_prep_begin(bench, loader, err);
	if (rc == 0)
		rc = bench_prep_deliver(bench, batches, loader, result, err);
	dsa_stats(loader, &stats);
	result->work.failures = stats.skipped;
	result->workers = stats.workers;
	result->dataset_samples = stats.dataset_samples;
	dsa_close(loader);
	return rc;
}
