#include "loader/base/error.h"
#include "loader/options.h"
#include "profiler/bench/bench_stage.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct options *read_options(struct options *options, const char *text)
{
	const struct dsa_config config = {.dataset = "synthetic:40", .cache = "none"};

	assert_int_equal(options_resolve(options, &config, text, NULL), 0);
	return options;
}

TEST(fetch_reads_as_many_as_it_is_told)
{
	struct options options;
	struct bench_fetch *stage =
		bench_fetch_open(read_options(&options, "fetch=pread"), 0, NULL);

	assert_non_null(stage);
	assert_string_equal(bench_fetch_facts(stage).engine, "pread");
	assert_int_equal(bench_fetch_length(stage), 40);
	for (unsigned depth = 1; depth <= 64; depth *= 4) {
		struct bench_work work;

		assert_int_equal(bench_fetch_run(stage, depth, 100, &work, NULL), 0);
		assert_int_equal(work.samples, 100);
		assert_int_equal(work.failures, 0);
		assert_true(work.bytes > 100);
		assert_true(work.samples_per_s > 0 && work.samples_per_cpu_s > 0);
	}
	bench_fetch_close(stage);
}

TEST(a_warm_run_keeps_to_what_was_read_before)
{
	struct options options;
	struct bench_fetch *stage = bench_fetch_open(
		read_options(&options, "fetch=pread,cache=page"), 7, NULL);
	struct bench_work seven, more;

	assert_int_equal(bench_fetch_length(stage), 7);
	assert_int_equal(bench_fetch_run(stage, 2, 7, &seven, NULL), 0);
	assert_int_equal(bench_fetch_run(stage, 2, 21, &more, NULL), 0);
	assert_int_equal(more.bytes, 3 * seven.bytes);
	bench_fetch_close(stage);
}

TEST(a_throttle_is_obeyed_but_not_while_warming_up)
{
	struct options options;
	/* Warming up at this rate would take hours. */
	struct bench_fetch *stage = bench_fetch_open(
		read_options(&options, "fetch=pread,cache=page,storage_latency=10m"),
		40, NULL);

	assert_non_null(stage);
	bench_fetch_close(stage);

	stage = bench_fetch_open(
		read_options(&options, "fetch=pread,storage_latency=4ms"), 0, NULL);
	for (int i = 0; i < 2; i++) {
		struct bench_work work;

		assert_int_equal(bench_fetch_run(stage, 2, 20, &work, NULL), 0);
		assert_true(work.samples_per_s <= 500);
	}
	bench_fetch_close(stage);
}

TEST(fetch_says_what_it_lacks)
{
	struct options options;
	struct error err = {0};

	read_options(&options, "world=50,rank=45");
	assert_null(bench_fetch_open(&options, 0, &err));
	assert_string_equal(err.message, "rank 45 of 50 has no samples");
	strcpy(options.dataset, "/nowhere");
	assert_null(bench_fetch_open(&options, 0, &err));
	assert_int_equal(err.code, ENOENT);
}

TEST(fetch_says_so_when_memory_runs_out)
{
	struct bench_fetch *stage = NULL;
	struct options options;
	unsigned failures = 0;

	read_options(&options, "fetch=pread,storage_latency=1ms");
	while (stage == NULL) {
		struct error err = {0};

		nomem_at(failures + 1);
		stage = bench_fetch_open(&options, 0, &err);
		/* Without room for its samples, auto may try any. */
		assert_int_equal(err.code, stage == NULL ? ENOMEM : 0);
		failures += stage == NULL;
	}
	nomem_at(0);
	assert_true(failures > 4);
	bench_fetch_close(stage);
}

TEST(prep_delivers_as_many_as_it_is_told)
{
	struct bench_prep prep;
	struct options options;
	struct bench_prep_config bench = {.options = &options, .batches = 9};

	setenv("DSA_LOADER", "dataset=synthetic:40,batch=8,workers=2,size=32", 1);
	read_options(&options, getenv("DSA_LOADER"));
	assert_int_equal(bench_prep_run(&bench, &prep, NULL), 0);
	assert_int_equal(prep.batches, 9);
	assert_int_equal(prep.work.samples, 72);
	assert_int_equal(prep.work.bytes, 72 * 3 * 32 * 32 * 4);
	assert_int_equal(prep.workers, 2);
	assert_int_equal(prep.dataset_samples, 40);
	unsetenv("DSA_LOADER");
}

/* Once the first two batches were thrown away and four taken. */
static bool interrupted_later(void)
{
	static unsigned asked = 0;

	return ++asked == 7;
}

TEST(prep_ends_where_it_is_interrupted)
{
	struct bench_prep prep;
	struct options options;
	struct bench_prep_config bench = {
		.options = &options, .batches = 9, .interrupted = interrupted_later};

	setenv("DSA_LOADER", "dataset=synthetic:40,batch=8,workers=1,size=32", 1);
	read_options(&options, getenv("DSA_LOADER"));
	assert_int_equal(bench_prep_run(&bench, &prep, NULL), 0);
	assert_int_equal(prep.batches, 4);
	unsetenv("DSA_LOADER");
}

static void last_share(void *context, double share)
{
	double *last = context;

	assert_true(share >= *last);
	*last = share;
}

TEST(prep_tells_how_far_it_is)
{
	struct bench_prep prep;
	struct options options;
	double last = 0;
	struct bench_prep_config bench = {.options = &options,
					  .batches = 3,
					  .progress = last_share,
					  .context = &last};

	setenv("DSA_LOADER", "dataset=synthetic:40,batch=8,workers=1,size=32", 1);
	read_options(&options, getenv("DSA_LOADER"));
	assert_int_equal(bench_prep_run(&bench, &prep, NULL), 0);
	assert_true(last == 1);
	unsetenv("DSA_LOADER");
}

TEST(the_ring_hands_every_batch_over)
{
	struct bench_ring ring;
	struct options options;

	read_options(&options, "batch=2,prefetch=3,size=32");
	assert_int_equal(bench_ring_run(&options, 5000, &ring, NULL), 0);
	assert_int_equal(ring.batches, 5000);
	assert_int_equal(ring.batch_bytes, 2 * 3 * 32 * 32 * 4);
	assert_true(ring.p50_s <= ring.p99_s);
	assert_true(ring.batches_per_s > 0);
}

TEST(the_ring_says_so_when_memory_runs_out)
{
	struct bench_ring ring;
	struct options options;
	unsigned failures = 0;
	int rc = -1;

	read_options(&options, "batch=2,size=32");
	while (rc < 0) {
		struct error err = {0};

		nomem_at(failures + 1);
		rc = bench_ring_run(&options, 10, &ring, &err);
		assert_int_equal(err.code, rc < 0 ? ENOMEM : 0);
		failures += rc < 0;
	}
	nomem_at(0);
	assert_true(failures > 2);
}
