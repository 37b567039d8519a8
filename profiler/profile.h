/*
 * profile.h - one measured run as plain numbers with units: the result.
 *
 * profiler/ fills it from a session, reports/ shows it and writes it as run.json and
 * reads it back, models/ predicts from it. It knows no clock, file or thread. A number
 * that was not measured is NAN (double), UNKNOWN (count) or NULL (text), never 0;
 * arrays may be empty. Strings and arrays belong to the profile: end it with
 * profile_free(). Memory comes from malloc, so profile_add_*() and profile_text() build
 * it piece by piece.
 */
#ifndef DSA_PROFILE_H
#define DSA_PROFILE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNKNOWN UINT64_MAX

/* An estimate and its 95 % interval; low and high NAN when there is none. */
struct interval {
	double value, low, high;
};

#define INTERVAL_UNKNOWN ((struct interval){NAN, NAN, NAN})

/* Shares of a step's wall time; value of the three sums to 1. May be negative. */
struct profile_stalls {
	struct interval compute, prep, fetch;
};

struct profile_rates {                           /* samples/s */
	struct interval real, cached, synthetic; /* of the three windows */
	struct interval loaded; /* synthetic while workers prepare as much */
	struct interval prep;   /* what prep alone sustains, configured workers */
	struct interval fetch;  /* what fetch alone sustains, cache hits counted */
};

/* One window of the schedule. Times in seconds since the session began. */
struct profile_window {
	char *kind; /* trace_kind_name() */
	int block;  /* -1: none */
	bool used;  /* it counts in the shares or in a curve */
	bool certified;
	bool drawn;              /* its cache hits were drawn */
	char *why;               /* what certifies it, or why it is void or not used */
	unsigned workers, depth; /* 0: as configured */
	double start_s, length_s, switch_s;
	uint64_t steps, samples;
	double per_s;           /* samples/s, steps outside the loop left out */
	double blocked_s;       /* inside dsa_next() */
	double outside_s;       /* pauses found in it and left out */
	double cpu_s;           /* of the whole process */
	uint64_t read_bytes;    /* from storage, as the kernel counted */
	uint64_t fetched_bytes; /* payload the fetch engine read */
	uint64_t hits, misses;  /* of the cache */
	uint64_t staged, staged_repeats;

	/* What stages, throttle and emulated accelerator counted: the truth of tests.
	 */
	uint64_t prepared, prep_padded; /* samples; those --prep-delay held back */
	double prep_busy_s;             /* inside prep, over all workers */
	uint64_t throttle_reads;
	double throttle_busy_s; /* the storage's token bucket was occupied */
	uint64_t emulated_samples;
	double emulated_busy_s; /* the emulated accelerator was, oversleep included */
};

/* A point of P(k): prep with k workers; or of S(q): fetch with q reads in flight. */
struct profile_point {
	unsigned x; /* k or q */
	struct interval per_s;
	double bytes_per_s;      /* of encoded payload; NAN: unknown */
	double cpu_s_per_sample; /* of the stage's threads; NAN: unknown */
	bool with_consumer; /* measured with the training step at its pace beside */
};

/* Log2 histogram: count[i] values lie in [low * 2^i, low * 2^(i+1)). */
struct profile_histogram {
	double low; /* of the first bucket, in the unit of the name: s or bytes */
	size_t buckets;
	uint64_t *count;
};

struct profile_epoch {
	uint64_t epoch, hits, misses, miss_bytes;
};

/* A sample that could not be used; `name` is escaped already. */
struct profile_skip {
	uint64_t sample;
	char *name, *reason;
};

/* "cycles" of stage "prep", per sample, and by which rung of the ladder. */
struct profile_counter {
	char *stage; /* fetch, prep, consumer, process */
	char *name;  /* cycles, instructions, task_clock_s, page_faults, ... */
	char *rung;  /* "libpfm4", "generic", "software", "proc" */
	double per_sample;
	double running; /* share of the time it was on a counter: 1 unless multiplexed
			 */
};

struct profile_process {
	uint64_t pid;
	char *role; /* "driver", "loader" */
	uint64_t threads;
	double cpu_s;
	uint64_t read_bytes, samples;
};

/* A line of the environment: "cpu", "AMD EPYC ..."; keys are unique. */
struct profile_fact {
	char *key, *value;
};

/* The evidence beside the difference: what was blocked, and on what. */
struct profile_proof {
	double prep, fetch; /* shares of wall time */
	char *basis;        /* how it was found, one line */
};

struct profile {
	char *version;    /* of dsa */
	char *started;    /* ISO 8601, UTC */
	char *status;     /* "complete", "budget", "target died", "interrupted", ... */
	char *status_why; /* one line, NULL when complete */
	char *protocol;   /* interleaved, separate, observe */
	char **command;   /* argv of the target, NULL terminated */
	char *repeat;     /* a dsa command line that measures this again */
	double wall_s;    /* of the whole run */
	double budget_s, precision; /* asked: seconds, share */
	double budget_needed_s;     /* for the precision; NAN when it was reached */
	int target_status; /* exit status of the target; 128+n by signal; -1 unknown */
	uint64_t seed;

	/* What was loaded and how. */
	char *dataset, *source, *digest;
	uint64_t dataset_samples, dataset_bytes, classes;
	uint64_t batch, workers, fetch_depth, prefetch, cores;
	char *engine, *engine_reason, *cache, *prep, *output;
	uint64_t cache_capacity_bytes, sample_bytes;
	double cache_share; /* capacity / data set; NAN for none and page */
	double storage_bandwidth, storage_latency_s,
		prep_delay_s;  /* emulated; NAN: none */
	double emulated_per_s; /* accelerator; NAN: it is real */
	bool storage_is_memory;
	bool huge_pages;

	/* What was found. */
	struct profile_stalls stalls;
	struct profile_rates rates;
	struct profile_proof proof;
	double proof_gap;       /* largest disagreement of the two proofs, share */
	double prep_waiting;    /* prep stall: consumer blocked, share of wall time; */
	double prep_contention; /* consumer slowed because prep takes its cores */
	double outside_s; /* time outside the loop of steps, inside the windows' span */
	double outside_share; /* of the time from first to last request */
	char *limit;          /* what limits today: "compute", "prep", "fetch", ... */
	char *limit_why;      /* one line */
	struct interval overhead;  /* of the instrumentation, share of CPU per sample */
	double overhead_floor;     /* systematic floor added to each interval, share */
	struct interval hit_ratio; /* of the cache in real windows */
	bool cache_emulated;
	double first_epoch_per_s; /* real rate before the cache is warm; NAN unknown */
	double cpu_s_per_sample;  /* whole process, real windows */
	uint64_t skipped, dropped_records;
	uint64_t blocks; /* complete balanced blocks used */

	struct profile_window *windows;
	size_t window_count;
	struct profile_point *prep_curve, *fetch_curve;
	size_t prep_points, fetch_points;
	struct profile_histogram fetch_s, prep_s, bytes;
	struct profile_epoch *epochs;
	size_t epoch_count;
	struct profile_skip *skips;
	size_t skip_count;
	struct profile_counter *counters;
	size_t counter_count;
	struct profile_process *processes;
	size_t process_count;
	struct profile_fact *environment;
	size_t fact_count;
};

/* Every number unknown, every text NULL, every array empty. */
void profile_init(struct profile *profile);
void profile_free(struct profile *profile);

/*
 * Each appends one element, with its numbers unknown, and returns it; NULL when memory
 * is short. Pointers to earlier elements are void after that.
 */
struct profile_window *profile_add_window(struct profile *profile);
struct profile_point *profile_add_prep_point(struct profile *profile);
struct profile_point *profile_add_fetch_point(struct profile *profile);
struct profile_epoch *profile_add_epoch(struct profile *profile);
struct profile_skip *profile_add_skip(struct profile *profile);
struct profile_counter *profile_add_counter(struct profile *profile);
struct profile_process *profile_add_process(struct profile *profile);
struct profile_fact *profile_add_fact(struct profile *profile);

/* Sets *text to a printf of its own, freeing what was there. 0 or -ENOMEM. */
int profile_text(char **text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
