/*
 * bench_stage.h - one stage of the loader measured alone: what fetch, prep or the ring
 * can do on this machine when nothing else holds it up.
 */
#ifndef DSA_BENCH_STAGE_H
#define DSA_BENCH_STAGE_H

#include "loader/fetch.h"

#include <stdbool.h>
#include <stdint.h>

struct dsa_config;
struct error;
struct options;

/* Work of the whole process between two moments. */
struct bench_work {
	uint64_t samples, bytes, failures;
	double seconds, cpu_seconds; /* wall; user and system of all threads */
	uint64_t storage_bytes; /* that the kernel read from devices for the process */
	double samples_per_s, bytes_per_s, samples_per_cpu_s;
};

/* ---- fetch: the engine alone, without the loader's cache ---- */

struct bench_fetch;

/*
 * Opens source and engine. With options->cache "page" reads go through the kernel's
 * page cache, where they find all they want: the first `samples` of the seeded order
 * are read once here (0: about 1 GiB), and runs go round and round over them. Else
 * reads bypass it where they can. Throttled as the options say. NULL: see err.
 */
struct bench_fetch *bench_fetch_open(const struct options *options, uint64_t samples,
				     struct error *err);
void bench_fetch_close(struct bench_fetch *stage);

struct fetch_facts bench_fetch_facts(const struct bench_fetch *stage);

/* Samples that runs go over before they begin again. */
uint32_t bench_fetch_length(const struct bench_fetch *stage);

/*
 * Reads with `depth` reads in flight: `samples` samples, or for half a second when
 * that is 0. Samples are read in the seeded order, each run going on where the last
 * one ended. Returns 0 or -errno.
 */
int bench_fetch_run(struct bench_fetch *stage, unsigned depth, uint64_t samples,
		    struct bench_work *work, struct error *err);

/* ---- prep: files in the page cache -> batches, through the public interface ---- */

struct bench_prep {
	struct bench_work work;
	uint64_t batches;
	unsigned workers;
	uint64_t dataset_samples;
};

/* Called now and then with the share that is done, 0..1. */
typedef void bench_progress(void *context, double share);

struct bench_prep_config {
	const struct options *options;   /* what the loader below comes to */
	const struct dsa_config *loader; /* NULL: as DSA_LOADER alone says */
	uint64_t batches;                /* 0: for five seconds */
	double seconds;                  /* at most; 0: so many batches take */
	bench_progress *progress;        /* after each batch; NULL: nobody listens */
	void *context;
	bool (*interrupted)(void); /* asked before each batch: true ends it; or NULL */
};

/*
 * Delivers batches. The loader reads DSA_LOADER, too. The samples wanted are read once
 * before, so that storage does not matter. Returns 0 or -errno.
 */
int bench_prep_run(const struct bench_prep_config *bench, struct bench_prep *result,
		   struct error *err);

/* ---- ring: finished batches from one thread to another ---- */

struct bench_ring {
	uint64_t batches;
	uint64_t batch_bytes;
	double seconds, cpu_seconds, batches_per_s;
	double p50_s, p99_s; /* between two batches */
	bool huge;           /* in huge pages */
};

/*
 * Hands `batches` prepared batches over (0: 100000), shaped as options say. Nothing is
 * copied: the reader finds each where the writer left it, and checks that it is the
 * right one. Returns 0 or -errno.
 */
int bench_ring_run(const struct options *options, uint64_t batches,
		   struct bench_ring *result, struct error *err);

/* ---- copy: slots of the ring to a device ---- */

struct bench_copy_way {
	const char *transfer; /* "uint8", "output"; NULL: there is none */
	uint64_t batch_bytes; /* that are copied, labels apart */
	double seconds;       /* from slots to the device, and till numbers are made of
			       * them there */
	double bytes_per_s, samples_per_s; /* medians of rounds; */
	double limit_bytes_per_s; /* and of copies of as much from memory of the driver's */
};

struct bench_copy {
	char device[16];
	bool huge, unpinned;
	uint64_t batches; /* each way */
	struct bench_copy_way ways[2];
};

/*
 * Copies `batches` batches each way (0: about 16 GB of the larger ones), some in turn, shaped
 * as options say, which are of a loader for a device. 0 or -errno.
 */
int bench_copy_run(const struct options *options, uint64_t batches,
		   struct bench_copy *result, struct error *err);

#endif
