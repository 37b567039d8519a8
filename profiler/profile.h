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

#include "loader/base/variants.h"
#include "profiler/stage.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNKNOWN UINT64_MAX

/* An estimate and its 95 % interval; low and high NAN when there is none. */
struct interval {
	double value, low, high;
};

/* Half its width; NAN when it has no bounds. */
static inline double interval_half(struct interval interval)
{
	return (interval.high - interval.low) / 2;
}

/* How far it reaches from its value: more than half its width where it was cut at what
 * is possible. NAN when it has no bounds. */
static inline double interval_reach(struct interval interval)
{
	return fmax(interval.value - interval.low, interval.high - interval.value);
}

#define INTERVAL_UNKNOWN     ((struct interval){NAN, NAN, NAN})
#define PROFILE_UNKNOWN(...) INTERVAL_UNKNOWN, /* for each row of a table */

/*
 * A word of a table that ends with NULL, by its number; or one that no table has, of a
 * newer dsa or a damaged session. Results have the word.
 */
struct profile_word {
	int id;      /* -1: not of the table */
	char *other; /* what it is then; NULL: nothing is known */
};

#define PROFILE_NO_WORD ((struct profile_word){-1, NULL})

/* How a run ended. */
enum profile_status {
	STATUS_COMPLETE,
	STATUS_BUDGET,
	STATUS_REQUESTS,
	STATUS_STEPS,
	STATUS_VOID,
	STATUS_INTERRUPTED,
	STATUS_TARGET_ENDED,
	STATUS_TARGET_DIED,
	STATUS_NO_BATCH,
	STATUS_TARGET_HUNG,
	STATUS_DSA_DIED,
	STATUSES
};

/* How a run was measured. */
enum measure_protocol {
	MEASURE_INTERLEAVED, /* blocks of windows of each kind, in one launch */
	MEASURE_SEPARATE,    /* each kind in launches of its own */
	MEASURE_OBSERVE,     /* nothing is switched */
	MEASURE_COUNTED,     /* a gate's launch that counts */
	MEASURE_REPETITION,  /* a gate's launch that is timed */
	MEASURE_PROTOCOLS
};

/* Whose loader it was. */
enum profile_loader {
	LOADER_DSA,   /* libdsa's */
	LOADER_TORCH, /* torch.utils.data.DataLoader: workers that make whole batches */
	LOADER_WATCH, /* something that is iterated over */
	PROFILE_LOADERS
};

/* What limits: a stage, or of prep the cores that have no more to give. */
enum { LIMITED_BY_CORES = STAGES, PROFILE_LIMITS };

/* What tells prep and fetch apart where no windows do. */
enum profile_split {
	SPLIT_REPLAY,  /* batches, by when they were read and made */
	SPLIT_MEMORY,  /* no file is read: there is no fetch */
	SPLIT_STORAGE, /* no byte came from storage: there was none */
	SPLIT_NONE,    /* nothing does: only both together are known */
	PROFILE_SPLITS
};

extern const char *const profile_kinds[TRACE_KINDS + 1]; /* enum trace_kind */
extern const char *const profile_statuses[STATUSES + 1];
extern const char *const profile_limits[PROFILE_LIMITS + 1];
extern const char *const profile_protocols[MEASURE_PROTOCOLS + 1];
extern const char *const profile_loaders[PROFILE_LOADERS + 1];
extern const char *const profile_splits[PROFILE_SPLITS + 1];
extern const char *const profile_caches[CACHE_IDS + 1]; /* enum cache_id */
extern const char *const profile_engines[];             /* as FETCH_ENGINES */
extern const char *const profile_types[];               /* as PREP_TYPES */

/* The word itself; NULL: none. And sets it, freeing another: 0 or -ENOMEM. */
const char *profile_word(const char *const *table, const struct profile_word *word);
int profile_word_set(struct profile_word *word, const char *const *table,
		     const char *text);

bool profile_word_known(const struct profile_word *word);
bool profile_word_equal(const struct profile_word *a, const struct profile_word *b);

/* A copy of its own. 0; -ENOMEM, and *to is none. */
int profile_word_copy(struct profile_word *to, const struct profile_word *from);

/* One window of the schedule. Times in seconds since the session began. */
struct profile_window {
	struct profile_word kind; /* of profile_kinds */
	int block;                /* -1: none */
	bool used;                /* it counts in the shares or in a curve */
	bool certified;
	bool drawn;              /* its cache hits were drawn */
	char *why;               /* what certifies it, or why it is void or not used */
	unsigned workers, depth; /* 0: as configured */
	double start_s, length_s, switch_s;
	uint64_t steps, samples;
	double per_s;                   /* samples/s, steps outside the loop left out */
	double blocked_s;               /* inside dsa_next() */
	double outside_s;               /* pauses found in it and left out */
	double cpu_s;                   /* of the whole process */
	double prep_cpu_s, fetch_cpu_s; /* of these threads */
	uint64_t read_bytes;            /* from storage, as the kernel counted */
	uint64_t fetched_bytes;         /* payload the fetch engine read */
	uint64_t hits, misses;          /* of the cache */
	uint64_t staged, staged_repeats;

	/* What stages, throttle and emulated accelerator counted: the truth of tests.
	 */
	uint64_t prepared, prep_padded; /* samples; those --prep-delay held back */
	double prep_busy_s;             /* inside prep, over all workers */
	uint64_t throttle_reads;
	double throttle_busy_s; /* the storage's token bucket was occupied */
	uint64_t emulated_samples;
	double emulated_busy_s; /* the emulated accelerator was, oversleep included */

	/* What else the machine did: on the cores that the run may use, and on the data
	 * set's device. */
	double others_cpu_s; /* CPU time of others; */
	double steal_s;      /* what the host of a virtual machine took */
	uint64_t others_read_bytes;
	double cpu_wait_s, io_wait_s; /* some task waited for it, of anyone */
	double load;                  /* average of a minute, at its end */
	double cpu_hz;
	bool disturbed; /* so that the run may have been slower for it */
};

/*
 * What else the machine did while windows were measured: means over them. Shares are of
 * the cores that the run may use.
 */
struct profile_busy {
	double others_cpu_share, steal_share;
	double others_read_share; /* of all that was read from the data set's device,
				   * where the run read much from it */
	double cpu_wait_share, io_wait_share; /* of the time: some task waited for it */
	double load, cpu_hz;
	uint64_t windows, disturbed; /* looked at; and disturbed */
	bool kept;                   /* those count in the shares all the same */
};

#define PROFILE_BUSY_UNKNOWN                                                           \
	((struct profile_busy){NAN, NAN, NAN, NAN, NAN, NAN, NAN, UNKNOWN, UNKNOWN,    \
			       false})

/* A point of P(k): prep with k workers; or of S(q): fetch with q reads in flight. */
struct profile_point {
	unsigned x; /* k or q */
	struct interval per_s;
	double bytes_per_s;      /* of encoded payload; NAN: unknown */
	double cpu_s_per_sample; /* of the stage's threads; NAN: unknown */
	double read_s; /* of a server's answer, from the request to its last byte; NAN:
			* unknown, or no server */
	bool with_consumer; /* measured with the training step at its pace beside */
	bool unthrottled;   /* emulated storage left out: what the real one gives */
};

/*
 * What one sample took where its stages were measured alone: fetch in fetch windows of
 * one read in flight, unthrottled where storage is emulated; prep in cached windows,
 * with --prep-delay if there is any. Both in real windows where batches can't be given
 * again.
 */
struct profile_draw {
	uint64_t bytes;
	double fetch_s, prep_s; /* wall time; fetch_s NAN: not measured */
};

/* Log2 histogram: count[i] values lie in [low * 2^i, low * 2^(i+1)). */
struct profile_histogram {
	double low; /* of the first bucket, in the unit of the name: s or bytes */
	size_t buckets;
	uint64_t *count;
};

/*
 * What the first `samples` samples of the stream took, each counted with the batch that
 * it was delivered in: the same in each run of the same program on the same data.
 */
struct profile_counted {
	uint64_t samples;
	uint64_t opens;      /* of files, to read them */
	uint64_t reads;      /* calls that read */
	uint64_t read_bytes; /* that these brought */
	uint64_t hits;       /* of the loader's cache: samples that were not read */
	uint64_t decoded_pixels;
	uint64_t skipped;      /* samples that could not be used */
	uint64_t device_bytes; /* copied to the device */
	/* Calls by which the program itself read meanwhile, beside the loader, and what
	 * these brought: nearly the same each time. */
	uint64_t program_reads, program_bytes;
};

struct profile_epoch {
	uint64_t epoch, hits, misses, miss_bytes;
};

/* What an epoch asks of storage: samples that no cache has, requests that list their keys,
 * a thousand each, and bytes that leave it. NAN: unknown. */
struct profile_traffic {
	double reads, listing, out_bytes;
};

#define PROFILE_NO_TRAFFIC ((struct profile_traffic){NAN, NAN, NAN})

/* A sample that could not be used; `name` is escaped already. */
struct profile_skip {
	uint64_t sample;
	char *name, *reason;
};

/* What takes over a batch that lies ready, among the parts. */
#define PROFILE_HANDOVER "hand-over"

/* A part of making samples: a transform, or what stands beside these. */
struct profile_part {
	char *name;
	uint64_t calls; /* in the batches that were looked at */
	double mean_s; /* of a sample, by the wall clock: I/O left out, and parts inside */
	double share; /* of all of them */
};

/* A sample that took longer to make than most, I/O left out. */
struct profile_slow {
	uint64_t sample; /* of the data set */
	char *file;      /* that was opened for it; NULL: none */
	double prep_s;
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
	char *role; /* "driver", "loader", "worker" */
	uint64_t threads;
	double cpu_s; /* of a worker: while it made batches */
	uint64_t read_bytes, samples;
	uint64_t batches; /* made, of a loader of the program's own */
};

/*
 * What a device did in the windows of one kind that count, or in an observed run: the first
 * four are all of length_s (profiler/device.h).
 */
struct profile_device {
	uint64_t pid, device;     /* its number within the process */
	struct profile_word kind; /* of profile_kinds */
	double length_s;
	double busy_s, copy_s, data_s, host_s;
	double overlap_s, collective_s; /* of busy_s */
};

/* What a rank waited in collectives for others of this machine (profiler/rank_waits.h); or,
 * of ranks that were measured together, for batches of its own: all else is unknown then. */
struct profile_rank {
	uint64_t communicator, rank, ranks, pid;
	uint64_t compared;         /* collectives */
	double inside_s, waited_s; /* of one, on average; of the one, */
	uint64_t last;        /* the rank that it waited for most; UNKNOWN: none, */
	double last_s;        /* and of that, for this one */
	double blocked_share; /* of the time of real windows */
};

/* A line of the environment: "cpu", "AMD EPYC ..."; keys are unique. */
struct profile_fact {
	char *key, *value;
};

/* The evidence beside the difference: what was blocked, and on what. */
#define PROFILE_DEVICE_IDLE                                                            \
	"device idle for data" /* begins the basis where it is that */

struct profile_proof {
	double share[STAGES]; /* of wall time */
	double fetch_half;    /* of fetch's interval, by what windows differ in; NAN:
			       * unknown */
	double slowed_half;   /* of the interval of what prep slows the step by; NAN:
			       * unknown */
	char *basis;          /* how it was found, one line */
};

/* One of several jobs that were measured together. Times in real windows. */
struct profile_job {
	uint64_t job; /* its number, from 0 */
	char *command;
	int target_status;                  /* as profile.target_status */
	struct interval rates[TRACE_RATES]; /* samples/s */
	struct interval stalls[STAGES];
	double blocked_share; /* of wall time, waiting in dsa_next() */
	double ahead_batches; /* shared: published and not taken yet, mean */
	bool dropped;         /* left the shared loader and loaded alone */
	char *waits_for;      /* "prep", "fetch", "job 2"; NULL: for nobody */
	char *why;            /* one line */
};

/*
 * The run as it was, from its stages alone: what the models make of rates they have
 * not seen. `why` is NULL when these agree, and the models may predict.
 */
struct profile_model {
	struct interval real, cached;    /* samples/s, modelled */
	double real_error, cached_error; /* modelled / measured - 1 */
	char *why;                       /* why they may not */
};

/*
 * How a program with a loader of its own prepares pictures, and what libdsa's prep of the
 * same took once the program had ended: a sample's CPU time, and samples/s, on all cores of
 * the run. In evaluation, of some of its files: how far libdsa's pixels are from its own.
 */
struct profile_own_recipe {
	char *kind;    /* "train", "evaluate"; NULL: no recipe was seen */
	char *type;    /* "float32", "uint8" */
	uint64_t size; /* pixels of a side */
	char *folder;  /* of its pictures */
	char *lacks;   /* what of it libdsa has not; NULL: it has all */
	char *code;    /* what to write in place of its loader, in Python */
	struct interval cpu_s, per_s;
	uint64_t pictures; /* that were compared */
	double psnr;       /* dB, of bytes, over all of these */
};

/* PSNR from which on pixels are said to be the same: decoders may round a bit otherwise. */
#define PROFILE_SAME_PSNR 40

struct profile_recipe; /* profiler/profile_prediction.h has these */
struct profile_prediction;
struct profile_verification;

struct profile {
	char *version;                /* of dsa */
	char *started;                /* ISO 8601, UTC */
	struct profile_word status;   /* of profile_statuses */
	char *status_why;             /* one line, NULL when complete */
	struct profile_word protocol; /* of profile_protocols */
	char **command;               /* argv of the target, NULL terminated */
	char *repeat;                 /* a dsa command line that measures this again */
	char *loader;                 /* DSA_LOADER that the program ran under */
	char *asked;                /* and DSA_ASKED: of it what dsa itself was given */
	char *loader_choice;        /* --loader: auto, dsa, torch, none */
	char *epoch_ends;           /* own: they ended as by themselves; auto: data was
				     * repeated in them; NULL: not known */
	char *directory;            /* that it ran in */
	double wall_s;              /* of the whole run */
	double budget_s, precision; /* asked: seconds, share */
	double budget_needed_s;     /* for the precision; NAN when it was reached */
	int target_status; /* exit status of the target; 128+n by signal; -1 unknown */
	uint64_t seed;

	/* What was loaded and how. */
	char *dataset, *source, *digest;
	uint64_t dataset_samples, dataset_bytes, classes;
	uint64_t batch, workers, fetch_depth, prefetch, steps_per_epoch, cores;
	/* Shuffled in blocks: samples of a run, and of a window, and how far a batch is
	 * from uniform (permutation_design_effect()). UNKNOWN, NAN: all at once. */
	uint64_t shuffle_run, shuffle_window;
	double shuffle_design_effect;
	bool fetch_depth_auto; /* it was found by what requests to servers took */
	uint64_t loaders; /* that the program opened; the first is the one measured */
	uint64_t
		beside; /* of them, others of which each step has batches, too; UNKNOWN:
			   * there are none */
	uint64_t rank,
		world; /* of a job's the one that is told of; UNKNOWN: it has no others,
			       * as far as is known */
	struct profile_word loader_kind; /* of profile_loaders; see profile_loader() */
	bool untrained;    /* no backward() followed a batch of the program's loader */
	bool reads_ahead;  /* another thread asks it for batches than trains */
	double handover_s; /* time of the training thread to take over a batch that lies
			    * ready, which synthetic windows do not have */
	/* Where the program makes its batches itself: what a worker would take to pickle
	 * one, into memory that processes share, and the training process to unpickle it. */
	double share_s, unpickle_s;
	struct profile_word engine, cache; /* of profile_engines, profile_caches */
	char *engine_reason, *prep, *output;
	char *features; /* of TFRecord's examples, picture and label; NULL: no records */
	uint64_t cache_capacity_bytes, sample_bytes;
	double cache_share; /* capacity / data set; NAN for none and page */
	double storage_bandwidth, storage_latency_s,
		prep_delay_s;  /* emulated; NAN: none */
	double emulated_per_s; /* accelerator; NAN: it is real */
	bool storage_is_memory;
	/* Of a data set that servers have: objects asked for in all windows, requests for
	 * them that were sent again, samples lost with servers that ended the data as they
	 * refused it or gave no answer, second requests beside late ones, requests that
	 * listed them, and how old that listing was; bytes that came, and what all that costs. UNKNOWN, NAN: it lies on this
	 * machine. */
	struct profile_requests {
		uint64_t gets, retries, lost, hedges, listing;
		double listing_age_s;
		uint64_t bytes;
		uint64_t
			most; /* objects that it might ask for; UNKNOWN, too: any number */
		uint64_t
			needed; /* for the precision, about; UNKNOWN, too: it was reached */
		double cost; /* in profile.currency; NAN, too: no prices were given */
	} requests;
	/* Of a cache on local disk, in all windows: samples it had, and that were written to
	 * it or could not be; files that were torn or foreign; samples that had changed;
	 * whether it ended writing, as the disk is full; and what a hit takes, its mean.
	 * UNKNOWN: there is none. NAN, too: nothing was found there. */
	struct profile_disk_cache {
		uint64_t hits, written, refused, dropped, stale, full;
		double hit_s;
	} disk_cache;
	bool huge_pages;
	char *device; /* that batches are copied to, "cuda:0"; NULL: none, nor what follows */
	char *device_memory;           /* "pinned"; "unpinned": it could not be */
	char *transfer;                /* "uint8": converted on the device; "output" */
	uint64_t device_sample_bytes;  /* copied of a sample */
	struct interval device_copy_s; /* that a copy takes the device, of a sample */

	/* What was found. */
	/* Shares of a step's wall time; their values sum to 1, and may be negative. */
	struct interval stalls[STAGES];
	struct profile_word split; /* of profile_splits; none: windows do */
	char *split_why;           /* one line */

	/* Samples/s of the kinds of windows that show the run; of loaded ones; and what
	 * prep with the configured workers and fetch, cache hits counted, sustain
	 * alone. */
	struct interval rates[TRACE_RATES];
	struct profile_proof proof;
	double proof_gap;       /* largest disagreement of the two proofs, share */
	double prep_waiting;    /* prep stall: consumer blocked, share of wall time; */
	double prep_contention; /* consumer slowed because prep takes its cores */
	double outside_s; /* time outside the loop of steps, inside the windows' span */
	double outside_share;           /* of the time from first to last request */
	struct profile_word limit;      /* what limits today, of profile_limits, */
	struct profile_word limit_next; /* and what would without that stall */
	char *limit_why;                /* one line */
	char *bound_why; /* why the data stalls are an upper bound, one line; NULL: none */
	struct interval overhead;  /* of the instrumentation, share of CPU per sample */
	double overhead_floor;     /* systematic floor added to each interval, share */
	struct interval hit_ratio; /* of the cache in real windows */
	bool cache_emulated;
	double first_epoch_per_s; /* real rate before the cache is warm; NAN unknown */
	double cpu_s_per_sample;  /* whole process, real windows */
	/* Calls by which the program itself reads, beside the loader, and what these
	 * bring; real windows. */
	double program_reads_per_sample, program_bytes_per_sample;

	/* Of a program with a loader of its own. */
	uint64_t
		epoch_starts; /* that were seen, and what they take on average until the */
	double epoch_start_s; /* first batch comes; */
	double epoch_end_s;   /* then until its workers have ended, which do with it; */
	double epoch_saved_s; /* and what of both workers that persist would save */
	uint64_t mapped_files,
		connections;       /* of its batches: what these read is not seen */
	uint64_t unseen_processes; /* there was no room for them */
	double coverage; /* of the bytes its loader's processes read, what was seen of them */
	char **files_written;        /* while its data was repeated; NULL: none */
	uint64_t files_written_more; /* there was no room for their names */
	uint64_t
		files_kept; /* of what it overwrote then; and what could not be kept, */
	uint64_t files_lost;
	char **lost_files; /* some of which have names; NULL: none */
	char *put_back; /* script that puts all kept ones back; NULL: there is none */
	struct profile_part *parts; /* the costliest first */
	size_t part_count;
	struct profile_slow *slowest; /* the slowest first */
	size_t slow_count;
	uint64_t looked_samples; /* that parts and slowest are of */
	uint64_t skipped, dropped_records;
	struct profile_counted counted; /* only by dsa gate */
	uint64_t blocks;                /* complete balanced blocks used */
	struct profile_busy busy;
	char *busy_why; /* one line of it; NULL: nobody else was busy, or who knows */

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
	struct profile_device *devices; /* each with a row for each kind of window */
	size_t device_count;
	char *devices_by; /* what saw them, or why nothing did; NULL: nothing was to */
	uint64_t devices_lost; /* records that it could not give */
	struct profile_rank *ranks;
	size_t rank_count;
	struct profile_fact *environment;
	size_t fact_count;
	struct profile_draw *draws;
	size_t draw_count;
	struct profile_recipe *recipes;
	size_t recipe_count;
	struct profile_own_recipe own_recipe;

	/* Several jobs measured at once: then what is above is of job 0, or of the
	 * loader that they share. */
	struct profile_job *jobs;
	size_t job_count;
	bool shared;                     /* they had one loader */
	struct interval together;        /* samples/s of all jobs, real windows */
	double prep_cpu_per_delivered_s; /* prep's CPU time per sample that a job got */

	/* What the models say of it, and what came of that. */
	struct profile_model model;
	char *currency;       /* of costs: "USD"; NULL: no prices were given */
	struct interval cost; /* of an epoch of the run as it was, modelled; */
	struct profile_traffic traffic; /* what that epoch asks of servers */
	struct profile_prediction *predictions;
	size_t prediction_count;
	struct profile_verification *verifications;
	size_t verification_count;
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
struct profile_device *profile_add_device(struct profile *profile);
struct profile_rank *profile_add_rank(struct profile *profile);
struct profile_fact *profile_add_fact(struct profile *profile);
struct profile_part *profile_add_part(struct profile *profile);
struct profile_slow *profile_add_slow(struct profile *profile);
struct profile_draw *profile_add_draw(struct profile *profile);
struct profile_recipe *profile_add_recipe(struct profile *profile);
struct profile_job *profile_add_job(struct profile *profile);
struct profile_prediction *profile_add_prediction(struct profile *profile);
struct profile_verification *profile_add_verification(struct profile *profile);

/* An interval of a share that reaches so far tells nothing; nor does one of a rate that
 * reaches so much of its value. */
#define PROFILE_VAGUE .5

/* True of a rate whose interval reaches a half of it or further, to either side: it judges no
 * prediction. False where it has none. */
static inline bool profile_rate_is_vague(struct interval rate)
{
	return interval_reach(rate) >= PROFILE_VAGUE * rate.value;
}

/* True when a share may be just anything, or is not possible; and where others were busy,
 * though no interval tells what came of it. Of shares of a job, STAGES of them (declared so,
 * gcc 12 with -fsanitize=thread warns falsely); of the profile's own. */
bool profile_stalls_are_vague(const struct profile *profile,
			      const struct interval *stalls);
bool profile_is_vague(const struct profile *profile);

/*
 * True when the interval of what training waits for data, all stalls together, is no
 * wider than that wait, or narrow enough to say that there is none; or where no interval
 * is known. And the shares are not vague. Else there is no verdict.
 */
bool profile_has_answer(const struct profile *profile);

/* True when that holds of the interval of each share: then a bar may show them. */
bool profile_has_shares(const struct profile *profile);

/* False where a stall that was not seen may all the same be larger than what is sure of
 * the stage that seems to limit. */
bool profile_tells_limit(const struct profile *profile, int stage);

/* True when nothing was switched: there are no windows, blocks and intervals. */
bool profile_is_observed(const struct profile *profile);

/* Whose loader it was, enum profile_loader: libdsa's where the result does not say; -1
 * where it is of a newer dsa. */
int profile_loader(const struct profile *profile);

/* True where the loader itself caches samples: not with none, nor with the kernel's
 * page cache, which counts no samples. False where the cache is unknown. */
bool profile_has_own_cache(const struct profile *profile);

/* True where reports show the stage: always, or where an optional one was measured. */
bool profile_has_stage(const struct profile *profile, int stage);

/* Part of a step that kernels take, by the device that ran most of them in synthetic
 * windows, where it waits for nothing. NAN: unknown. */
double profile_kernel_part(const struct profile *profile);

/* Seconds that a window measured: all of it but pauses. */
double profile_measured_s(const struct profile_window *window);

/* count / of; NAN where one is unknown, or `of` is 0. */
double profile_quotient(uint64_t count, uint64_t of);

/* The part of that name that a program could leave out: no hand-over, and one whose time is
 * known. NULL: there is none. */
const struct profile_part *profile_part_of(const struct profile *profile,
					   const char *name);

/* The value of a fact of the environment; it stays the profile's. NULL: not told. */
const char *profile_fact_of(const struct profile *profile, const char *key);

/* Stands in a command for a byte that was no UTF-8 (U+FFFD). */
#define PROFILE_LOST "\xef\xbf\xbd"

/* True when the command can be run again: it is known, and nothing of it was lost. */
bool profile_can_repeat(const struct profile *profile);

/* Adds launches to those that `busy` is of. */
void profile_busy_join(struct profile_busy *busy, const struct profile_busy *more);

/* Sets *text to one line, which names who else was busy and what came of it; leaves it
 * where nobody was. `can_observe`: --observe is advice. 0 or -ENOMEM. */
int profile_busy_text(const struct profile_busy *busy, bool can_observe, char **text);

/* Appends a fact; none, not half of one, where memory is short. 0 or -ENOMEM. */
int profile_set_fact(struct profile *profile, const char *key, const char *value);

/* Sets *text to a copy; NULL leaves it as it is. 0 or -ENOMEM. */
int profile_copy_text(char **text, const char *from);

/* A copy of texts in an array that ends with NULL. NULL: memory is short. */
char **profile_copy_texts(char *const *from);

/* Frees such texts, and the array. NULL: there is none. */
void profile_free_texts(char *const *texts);

/* Sets *text to a printf of its own, freeing what was there. 0 or -ENOMEM. */
int profile_text(char **text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
