/*
 * simulation.h - a loader's pipeline as a discrete-event simulation: one load, a number
 * of samples, and the rate that comes out.
 *
 *	stream -> [a slot is free] -> cache? -> fetch thread(s) -> storage -> prep
 *	       workers -> batch complete, in order -> copied to the device, if any
 *	       -> consumer takes it -> computes -> gives it back
 *
 * or, of a loader whose workers make whole batches, as torch's DataLoader has them:
 *
 *	batch i -> worker i mod W, after its last one: each sample from cache or
 *	       storage, then prep -> batch complete, in order -> consumer takes it, and
 *	       another one is given out -> computes
 *
 * What it follows is said in loader/pipeline.h and loader/base/throttle.h, and in
 * profiler/turns/turn_replay.h. CPU work (prep, the fetch threads' share of a read, the
 * consumer's computing) shares the cores by processor sharing: with m threads that want
 * to run, each runs at speed[m]. Storage, emulated delays and an accelerator's time go by
 * the clock, beside them.
 *
 * Several jobs at once: each has a pipeline as above for itself, on the same cores and
 * the same storage; or one pipeline feeds them all, and a batch is given back when the
 * last of them has used it:
 *
 *	... -> batch complete, in order -> kept for those behind -+-> job 0 computes
 *	                                                          +-> job 1 computes
 *
 * Pure and deterministic: the same load, the same numbers.
 */
#ifndef DSA_SIMULATION_H
#define DSA_SIMULATION_H

#include "loader/base/limits.h"
#include "loader/base/permutation.h"
#include "profiler/profile.h"

struct error;

enum {
	SIMULATION_THREADS = 512, /* workers + depth + compute threads of a job */
	SIMULATION_JOBS = LIMIT_JOBS,
};

/* Who makes a batch. */
enum simulation_makers {
	MAKERS_POOLS,   /* prep workers, each of any sample, and who reads for them */
	MAKERS_TURNS,   /* workers in turn, each by itself all of a batch */
	MAKERS_TRAINER, /* the consumer, when it asks: 1 worker, 1 batch ahead */
};

struct simulation_load {
	/* The stream. A sample's draw is fixed, and draws are shared out evenly:
	 * sample i has draws[i * draw_count / dataset]. */
	uint32_t dataset; /* samples in an epoch */
	uint32_t batch;   /* samples in a full batch; an epoch's last may be short */
	uint32_t ahead;   /* slots: batches open, published or held at once; of workers
			   * in turn: given out and not taken yet */
	uint64_t seed;
	struct permutation_blocks blocks; /* how it is shuffled */
	const struct profile_draw *draws;
	size_t draw_count;

	/* The cache of encoded samples; no hits when share is 0. nextuse hits as minio
	 * does: for one reader nothing hits more. */
	enum cache_id policy;
	double share; /* of the data set's bytes */
	double hit_s; /* of a cache on disk: what a hit takes, which is a read beside the
		       * others, but of no throttle; 0: it is in memory */

	enum simulation_makers makers; /* not pools: depth = workers, not shared */

	/* Fetch: a read costs its thread CPU work, then storage has it: its latency,
	 * and its turn on the transfer, one after another at bandwidth (throttle.h). */
	unsigned depth;         /* reads in flight, at the most */
	unsigned fetch_threads; /* 1: io_uring; depth: pread */
	double fetch_cpu_s;     /* CPU work of a read, at speed 1 */
	double fetch_scale; /* x the draw's fetch_s: what a read takes of the storage
				 * itself, alone, its CPU work included; none where
				 * that is NAN */
	double latency_s;   /* emulated: a read takes at least so long */
	double bandwidth;   /* bytes/s of all transfers together; INFINITY: no end */
	/* The storage is a bucket: an answer takes answer_s, whatever its draw, and begins
	 * when the request is sent. More than `answer_rate` requests a second, a second's
	 * worth of which may come at once, are refused: the read keeps its place, rests
	 * (loader/base/backoff.h), and asks again. All jobs ask the same one. 0 and 0: none;
	 * a rate of 0: no limit. */
	double answer_s, answer_rate;
	bool throttled; /* latency_s and bandwidth are the throttle's: policy "page"'s
			   * hits, which are reads too, wait as long. Else these cost
			   * the thread's CPU work alone */

	/* Prep: CPU work prep_scale x the draw's prep_s, then by the clock wait_scale x
	 * that; done delay_s after it began, of workers in turn after its read began,
	 * if all this is done earlier. */
	unsigned workers;
	double prep_scale, wait_scale;
	double delay_s;

	/* A copy to the device, of a full batch; of a short one in proportion. By the
	 * clock, one after another of a consumer, also where batches cost nothing
	 * (no_prep: a copied window). 0: there is none. */
	double copy_s;

	/* The consumer, for a full batch; for a short one in proportion. A step takes
	 * compute_s by the clock from the batch's delivery on, and longer where its CPU
	 * work takes longer: threads share that evenly, and end together. */
	double compute_cpu_s; /* CPU work at speed 1, of all threads together */
	double compute_s;
	unsigned compute_threads;
	bool compute_spins; /* once that is done a thread of it is busy until the step is:
			     * it looks again and again whether a device is done */

	/* speed[m], m = 1 .. speeds-1: how fast a thread runs when m want to, as a
	 * share of one that runs alone; beyond them m * speed[m] stays as it is at the
	 * end. */
	const double *speed;
	size_t speeds;

	/* Jobs. All read the same data set; where each has its own cache in an order of
	 * its own, where they share the kernel's (policy "page") in the same order. */
	unsigned jobs;               /* 0 or 1: one */
	const double *job_compute_s; /* each job's compute_s; NULL: the same for all */
	bool shared;     /* one pipeline feeds them all: `ahead` of its batches are open
			  * at once, at the most, */
	uint32_t window; /* so many are open, or kept until the last job used them */
	double joint_bandwidth; /* not shared: bytes/s of the transfers of all jobs,
				 * each of which has `bandwidth` to itself; 0: no end */

	bool all_hits;    /* every sample is a hit: a cached window */
	bool no_prep;     /* nothing to fetch or prepare: a synthetic window */
	bool loaded;      /* the same, while prep works at the consumer's pace */
	bool no_consumer; /* batches are thrown away at once: a prep-only or fetch-only
			   * window, with all_hits or without prep; its slots count */
};

struct simulation_outcome {
	double per_s; /* samples delivered a second, after the pipeline settled; of
			   * all jobs, one that is delivered to two counting twice */
	double job_per_s[SIMULATION_JOBS]; /* the same of each of them */
	double hit_ratio;                  /* of the samples counted in that */
	double blocked; /* share of the time that the consumer waited for a batch;
			   * mean of the jobs */
	double prep_busy,
		fetch_busy; /* mean workers, mean reads in flight: all jobs' */
	double cpu_busy;    /* CPU work a second, in cores at speed 1 */
	double prep_per_s;  /* samples prepared a second */
};

/*
 * Runs about `samples` samples after the cache was brought to its steady state and the
 * pipeline was left to settle. Counts whole epochs, one at least, so that hits and
 * draws are averaged over all of it. A data set of more samples than asked for is
 * scaled down to these, with the share that it has in the cache; but to no less than
 * 2^14, nor than 2^16 where hits change over the epoch, and for policy "page" always to
 * 2^16. 0; -EINVAL when the load makes no sense (err names the member); -ENOMEM.
 */
int simulate(const struct simulation_load *load, uint64_t samples,
	     struct simulation_outcome *outcome, struct error *err);

#endif
