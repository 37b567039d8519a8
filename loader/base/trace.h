/*
 * trace.h - the session: one shared page between dsa and what runs in the target.
 *
 * A file in the run's folder, mapped MAP_SHARED by dsa and by everyone who finds
 * DSA_SESSION in the environment. This header is all that writers and readers share.
 *
 *	+--------------------+ 0
 *	| header             |  who, clock, stop flag, how many windows are asked
 *	| loader description |  what the driver loads and how
 *	| about              |  JSON text of dsa: configuration and environment
 *	| processes[]        |  one slot each: counters, histograms, threads
 *	| windows[]          |  dsa asks, the driver executes and answers
 *	| steps[]            |  what the training loop did inside the windows
 *	| samples[]          |  what fetch and prep took for samples: of real windows,
 *	|                    |  some of cached ones, some of reads one at a time
 *	| epochs[] skips[]   |
 *	| loads[]            |  what else the machine did during each window, from dsa
 *	| batches[]          |  what batches took that a loader of the program's own made,
 *	|                    |  in real windows
 *	| spans[]            |  when devices computed and copied, as CUPTI says
 *	| collectives[]      |  when ranks came to NCCL's collectives, and when these ended
 *	+--------------------+ fixed size, allocated in full when it is made
 *
 * The driver is the one loader that delivers the training batches. Writers never fail,
 * and wait only for jobs in step: where room ends they count what they dropped. Every
 * time is CLOCK_MONOTONIC in nanoseconds. Numbers that two sides touch at once are
 * _Atomic; all else is written by one side and read by the other after the atomic that
 * publishes it (state, *_count). A SIGKILL at any moment leaves a readable file.
 *
 * Several jobs that are measured together have a session each, with the same windows
 * under the same numbers, and dsa keeps them in step:
 *
 *	each switches and settles	progress = TRACE_SETTLED, and goes on unmeasured
 *	all have: may_begin passes	each measures until it has enough,
 *					progress = TRACE_ENOUGH, and goes on measuring
 *	all have: may_end passes	each ends it, and goes on in its mode, unmeasured
 *	all have: the next is asked
 *
 * Where they share a loader, that has a session too, and takes part: it executes the
 * windows, and the jobs throw away batches that are not of the window's turn.
 */
#ifndef DSA_TRACE_H
#define DSA_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct error;

#define TRACE_MAGIC   "dsa-sess"
#define TRACE_VERSION 25

enum {
	TRACE_PROCESSES = 32,
	TRACE_THREADS = 192, /* in a process slot */
	TRACE_WINDOWS = 1024,
	TRACE_STEPS = 1 << 17,
	TRACE_TOGETHER = 64, /* batches that a program takes for a step, at most */
	TRACE_WINDOW_STEPS = 1024, /* step records of one window; then they merge */
	TRACE_SAMPLES = 1 << 18,
	TRACE_BATCHES = 1 << 15,
	TRACE_SPANS = 1 << 17,
	TRACE_COLLECTIVES = 1 << 16,
	TRACE_EPOCHS = 1024,
	TRACE_SKIPS = 32,
	TRACE_ABOUT = 1 << 16,
	TRACE_WHY = 160,
	TRACE_DATASET = 512, /* bytes of its name */
	TRACE_NO_LIST = 64,
	TRACE_BUCKETS =
		48, /* bucket b counts values in [2^b, 2^(b+1)); 0 takes 0 too */
};

/*
 * Kinds of windows, and their names in results. The first have a stage of a step each
 * (profiler/stage.h); with LOADED they deliver batches; all but FILL show a rate.
 * REAL		storage and cache as asked
 * CACHED	the stream's next samples, staged in RAM, really prepared
 * SYNTHETIC	batches prepared earlier, delivered again
 * COPIED	the same, copied to the device again each time: of a loader that has one
 * LOADED	synthetic, while workers prepare as much and throw it away
 * PREP		prep only, from RAM, nothing delivered
 * FETCH	fetch only, unread files, caches bypassed, nothing delivered
 */
#define TRACE_STAGED(X)                                                                \
	X(REAL, "real")                                                                \
	X(CACHED, "cached")                                                            \
	X(SYNTHETIC, "synthetic")                                                      \
	X(COPIED, "copied")

#define TRACE_RATED(X)                                                                 \
	TRACE_STAGED(X)                                                                \
	X(LOADED, "loaded")                                                            \
	X(PREP, "prep")                                                                \
	X(FETCH, "fetch")

enum trace_kind {
#define TRACE_NUMBER(id, name) TRACE_##id,
	TRACE_RATED(TRACE_NUMBER)
#undef TRACE_NUMBER
		TRACE_RATES,
	TRACE_FILL = TRACE_RATES, /* brings the cache to its steady state */
	TRACE_KINDS
};

enum {
	TRACE_DRAW = 1, /* real: hits are drawn with probability `hit` from a resident
			   * pool, misses read from unread files */
	TRACE_WARM = 2, /* real: files are read into the page cache just before */
	TRACE_PAIRED =
		4, /* prep: each sample twice, once bare of clocks and counters and
			   * once with them, in turning order: what they cost */
	TRACE_WARMUP = 8, /* not used for any figure: the program's first steps */
	TRACE_EPOCH = 16, /* real: from an epoch's edge to the next one, or to a later
			   * one if `length` or `min_steps` ask for more; refused if it
			   * is cut. Follows a real window without a switch */
	TRACE_UNTHROTTLED = 32, /* fetch: without the emulated storage */
	TRACE_ASIDE = 64, /* another job of the run does this alone: the driver waits
			   * inside dsa_next() until that is over, and refuses */
	TRACE_UNMERGED = 128, /* what the shared loader did in it is not in it yet */
};

enum trace_state { TRACE_ASKED, TRACE_RUNNING, TRACE_DONE, TRACE_REFUSED };

/* How far a window is, as its driver sees it. Of jobs in step one that is settled waits
 * for the others. */
enum trace_progress { TRACE_SWITCHING, TRACE_SETTLED, TRACE_MEASURING, TRACE_ENOUGH };

/*
 * Totals since a process opened its first loader in this slot. Append; never reorder.
 *
 * counted_*: what the batches delivered so far took, of the stream in its real turns;
 * samples that were tried for their places in vain too, since they cost as much. What
 * is read ahead and not delivered, staged, repeated or put back is not in it, so that
 * after so many batches of a run without windows these are the same each time that the
 * same program runs on the same data. A cache's hits depend on `prefetch` too: what a
 * batch brought is in the cache when its slot is filled anew. A shared loader does not
 * know who gets what: its consumers' are 0, which says nothing.
 */
#define TRACE_COUNTERS(X)                                                              \
	X(delivered_batches, "batches handed to the training step")                    \
	X(delivered_samples, "samples in them")                                        \
	X(blocked_ns, "time spent waiting inside dsa_next()")                          \
	X(prepared_samples, "samples prepared, thrown away ones too")                  \
	X(prep_ns, "wall time inside prep, padding included")                          \
	X(prep_cpu_ns, "CPU time of the prep threads")                                 \
	X(prep_padded, "samples that --prep-delay padded to its deadline")             \
	X(fetched_samples, "samples the fetch engine read, staging apart")             \
	X(fetched_bytes, "payload bytes of them")                                      \
	X(fetch_ns, "time from start to hand-on of each, added up")                    \
	X(fetch_cpu_ns, "CPU time of the fetch engine's threads")                      \
	X(hit_samples, "samples the cache had")                                        \
	X(hit_bytes, "bytes of them")                                                  \
	X(staged_samples, "samples read ahead of a window, unthrottled")               \
	X(staged_bytes, "bytes of them")                                               \
	X(throttle_reads, "reads that passed the storage throttle")                    \
	X(throttle_bytes, "bytes of them")                                             \
	X(throttle_busy_ns, "time the throttle's bucket was occupied")                 \
	X(skipped_samples, "samples that could not be read or decoded")                \
	X(emulated_batches, "batches the emulated accelerator took")                   \
	X(emulated_samples, "samples in them")                                         \
	X(emulated_busy_ns, "time it really was busy, oversleep included")             \
	X(emulated_asked_ns, "time it was asked to be busy: samples / rate")           \
	X(bare_cpu_ns, "CPU time of the samples of paired windows, bare")              \
	X(full_cpu_ns, "the same of the same samples, with clocks and counters")       \
	X(shared_samples, "samples that a shared loader delivered")                    \
	X(copied_bytes, "bytes of shared batches that did not lie in a row")           \
	X(went_alone, "times that a shared loader was left for a pipeline of its own") \
	X(ahead_samples, "what a shared loader had ready beyond each batch, added up") \
	X(counted_opens, "of delivered samples: files opened to read them, or GETs")   \
	X(counted_reads, "calls that read them")                                       \
	X(counted_read_bytes, "bytes that these brought")                              \
	X(counted_hits, "samples the cache had, so that they were not read")           \
	X(counted_pixels, "pixels decoded for them")                                   \
	X(counted_skipped, "samples that could not be used, each once")                \
	X(wanted_gets, "objects that servers were asked for")                          \
	X(retried_gets, "requests for them that were sent again")                      \
	X(prepared_bytes, "encoded bytes of the prepared samples")                     \
	X(device_copies, "batches copied to the device")                               \
	X(device_bytes, "bytes of them, those of the labels too")                      \
	X(device_copy_ns, "time that the device took to copy them, by its events")     \
	X(counted_device_bytes, "of delivered samples: bytes copied to the device")    \
	X(disk_samples, "samples that a cache on disk had, staging apart")             \
	X(disk_bytes, "bytes of them")                                                 \
	X(disk_ns, "time from start to hand-on of each, added up")                     \
	X(disk_written, "samples written to it")                                       \
	X(disk_refused, "samples not written, as the disk was slow or failed")         \
	X(disk_dropped, "files of it that were torn or foreign")                       \
	X(disk_stale, "samples in it that had changed where they come from")           \
	X(disk_full, "1: the disk is full or fails, and takes no more than it has")    \
	X(lost_samples, "samples that servers which ended the data did not give")      \
	X(listing_gets, "requests that listed a remote data set")                      \
	X(hedged_gets, "requests beside those whose answers were late")                \
	X(backwards, "backward passes, where another thread takes the batches")        \
	X(backward_ns, "from the one before the first of them to the last")

enum trace_counter {
#define NUMBER(name, meaning) TRACE_##name,
	TRACE_COUNTERS(NUMBER)
#undef NUMBER
		TRACE_COUNT
};

enum trace_histogram { TRACE_FETCH_NS, TRACE_PREP_NS, TRACE_BYTES, TRACE_HISTOGRAMS };

enum trace_stage { TRACE_STAGE_FETCH = 1, TRACE_STAGE_PREP, TRACE_STAGE_CONSUMER };

struct trace_thread {
	_Atomic uint32_t tid;   /* 0: free; claimed by compare and exchange */
	_Atomic uint32_t stage; /* enum trace_stage; 0: not said yet */
};

struct trace_process {
	_Atomic uint32_t pid;    /* 0: free; claimed by compare and exchange */
	_Atomic uint32_t closed; /* 1: its loader is; the next one counts on from it */
	uint64_t started_ns;
	struct trace_thread threads[TRACE_THREADS];
	_Atomic uint64_t counters[TRACE_COUNT];
	char dataset[TRACE_DATASET];     /* of its loader now */
	_Atomic uint64_t skipped_before; /* of its skipped samples: those of other data,
					  * which loaders before this one had */
	_Atomic uint64_t histograms[TRACE_HISTOGRAMS][TRACE_BUCKETS];
};

/* Whether a loader of libdsa's may still come, of which the program goes on. */
enum trace_unmeasured { TRACE_SO_FAR = 1, TRACE_NEVER /* it has no libdsa */ };

/* How far a program came in an epoch that goes on, as its data is repeated. */
enum trace_beyond {
	TRACE_GIVEN = 1, /* a batch beyond the end that the epoch would have had; */
	TRACE_SKIPPED,   /* it trains from none of these; */
	TRACE_ENDLESS    /* there is no end: its sampler goes on, whatever its length */
};

/* What was done about devices that compute later than they are asked to. */
enum trace_devices {
	TRACE_NO_DEVICES,
	TRACE_UNAWAITED, /* they can't be waited for, and steps seem shorter than they are */
	TRACE_AWAITED, /* the program's steps so far had been computed at its ends */
	TRACE_CAPTURED /* a graph was recorded, and nothing could be waited for */
};

/* True where a window ends once devices have done what they were given. */
static inline bool trace_is_awaited(uint32_t devices)
{
	return devices == TRACE_AWAITED || devices == TRACE_CAPTURED;
}

/* How batches read that was no call: it can't be timed, counted or brought into memory.
 * The same numbers as in profiler/io_page.h. */
enum trace_unseen {
	TRACE_MAPPED = 1, /* mapped files */
	TRACE_SOCKET = 2, /* connections */
	TRACE_FORKED = 4, /* processes that were started */
	TRACE_CALLS = 16, /* calls that are not seen, such as those of io_uring */
};

/*
 * What proves a window of a loader that the program brought, whose processes dsa does not
 * know: of the batches that these made from the switch to the window on, each counted when
 * it was made.
 */
struct trace_made {
	uint32_t batches;
	uint32_t other; /* of them: opened or read else than when they were listed */
	uint32_t lost;  /* and those whose records were lost */
	uint32_t opens;
	uint64_t bytes;         /* that they read, */
	uint64_t storage_bytes; /* and of these waited for storage */
	/* What their processes read, as the kernel counts it, and what was seen of that,
	 * between two looks of each near the window's ends. */
	uint64_t proc_bytes, seen_bytes;
	uint64_t io_ns;
	uint64_t throttled; /* calls that the emulated storage held back */
	uint64_t
		renewed_ns; /* between steps: what the program changed was copied anew */
	/* Of the files that are listed, at the switch's end and the window's: bytes that
	 * batches read of them, and how many lay in the page cache. 0 of 0: none. And how
	 * many were to be evicted before. */
	uint64_t listed_bytes, begin_resident, end_resident; /* UINT64_MAX: unknown */
	uint64_t evicted_bytes;
	uint32_t unlisted; /* parts of files that the list has no room for */
	uint32_t devices;  /* enum trace_devices: of either end the one that says more;
			   * of any loader */
	uint32_t unseen;   /* enum trace_unseen, of any of its batches */
};

/* What a process looked like at one moment; a window holds two. */
struct trace_snapshot {
	uint64_t time_ns;
	uint64_t cpu_ns;      /* of the whole process */
	uint64_t read_bytes;  /* of /proc/self/io: from storage; UINT64_MAX: unknown */
	uint64_t cache_bytes; /* resident in the loader's cache */
	/* Of real windows: calls by which the process and its descendants read, and what
	 * these brought (syscr and rchar of /proc/PID/io), without the driving loader's;
	 * UINT64_MAX: unknown. Those of io_uring and of mapped files are no calls. */
	uint64_t program_reads, program_bytes;
	uint64_t counters[TRACE_COUNT];
};

struct trace_window {
	/* Asked by dsa, before header.window_count passes it. */
	uint32_t kind, flags;
	uint32_t block;     /* of the balanced schedule; UINT32_MAX: none */
	uint32_t workers;   /* prep: threads at work; 0: as configured */
	uint32_t depth;     /* fetch: reads in flight; 0: as configured */
	uint32_t settle;    /* steps thrown away after the switch */
	uint32_t min_steps; /* measured ones, at the least */
	uint32_t stage; /* samples to stage in RAM; synthetic: to have ready, 0: many */
	uint64_t length_ns; /* of the measured part, at the least */
	uint64_t limit_ns;  /* of the measured part, at the most; 0: none */
	double hit;         /* with TRACE_DRAW: probability */

	/* Answered by the driver, published by state. */
	_Atomic uint32_t state;
	_Atomic uint32_t progress; /* enum trace_progress */
	_Atomic uint32_t turn;     /* of a shared loader: number of its batches in this
				* window. Its driver says so, and dsa passes it on to
				* the jobs; 0: not yet, or none */
	uint32_t steps;            /* measured */
	uint32_t first_step;       /* index of its first step record; */
	uint32_t step_records;     /* and how many there are */
	uint32_t first_sample;     /* index of its first sample record; */
	uint32_t sample_records;
	uint32_t staged;         /* samples staged */
	uint32_t staged_repeats; /* samples delivered beyond them, from the start again
				  */
	uint64_t switch_ns;      /* when the switch to it began */
	uint64_t samples;        /* measured: delivered, or prepared, or fetched */
	struct trace_snapshot begin, end; /* of the measured part */
	uint32_t most_steps;    /* measured ones, as the loader has no more; 0: any */
	uint32_t first_batch;   /* index of its first record of a batch; */
	uint32_t batch_records; /* and how many there are */
	uint32_t cut;           /* 1: the program began another epoch in it */
	uint64_t outside_ns;    /* of steps left out, which were no steps of the loop */
	struct trace_made made;
	uint64_t catch_up_ns; /* waited before `begin`: driver_ops.ahead */
	uint32_t settled;     /* batches that were given before it, thrown away */
};

/* A step that computes for longer than this, and than so many typical ones, is a pause. */
#define TRACE_PAUSE_NS    50000000
#define TRACE_PAUSE_TIMES 8

/* `steps` consecutive steps: from the request of the first to the request after. */
struct trace_step {
	uint64_t request_ns; /* the program asked for the first batch */
	uint64_t end_ns;     /* it asked for the batch after the last */
	uint64_t blocked_ns; /* of this, waiting inside dsa_next() */
	uint64_t longest_ns; /* longest compute part (wall less blocked) of one step */
	uint32_t window;
	uint32_t steps;
	uint32_t samples;
	uint32_t epoch;
	/* Batches that the program takes before it computes, at the most: of so many steps the
	 * last one computes for all. */
	uint32_t together;
};

/*
 * Of real windows all in stream order, until their room ends; of cached ones some
 * batches; of fetch windows of one read in flight some reads, spread over the window.
 * Times saturate at 4.29 s.
 */
struct trace_sample {
	uint32_t window;
	uint32_t batch;  /* step within the window, settling ones included */
	uint32_t sample; /* number in the data set */
	uint32_t bytes;  /* encoded */
	uint32_t
		fetch_ns; /* 0: a hit in memory, or not fetched in this kind of window */
	uint32_t prep_ns; /* 0: not prepared in it */
};

/* A batch that a process made, in the order in which they were ready. */
struct trace_batch {
	uint32_t window;
	uint32_t worker; /* pid of the process */
	uint64_t begin_ns, end_ns;
	uint64_t io_ns;  /* of this, in calls that open or read */
	uint64_t cpu_ns; /* of the process meanwhile */
	uint64_t bytes;  /* that these calls brought */
	uint32_t samples;
	uint32_t opens;
	uint32_t epoch; /* of an observed program's; it counts them from 0 */
};

/* What a device did in a span. */
enum trace_work {
	TRACE_KERNEL,
	TRACE_COLLECTIVE, /* a kernel of NCCL, which waits for other ranks, too */
	TRACE_COPY_IN,    /* from host to device */
	TRACE_COPY_OUT,
	TRACE_COPY_PEER, /* between devices, or within one */
	TRACE_MEMSET,
	TRACE_WORKS
};

/*
 * A stretch in which a device was at one kind of work. Neighbours with short pauses in
 * between are one span, whose pauses add up to idle_ns. A process appends its own in the
 * order of their ends, all of a device and kind apart; several processes' mix.
 */
struct trace_span {
	uint64_t start_ns, end_ns;
	uint64_t idle_ns; /* of this, nothing of its kind was at work */
	uint32_t pid;
	uint16_t device; /* ordinal within the process */
	uint16_t work;   /* enum trace_work */
};

enum { TRACE_FUNCTION = 16 }; /* bytes of a name, with the 0 behind it */

/*
 * A rank's part of a collective of NCCL: from the first of its channels to the last, by the
 * timer of its device. What lag_ns is added to that is CLOCK_MONOTONIC, or later: how long
 * after a channel's end that was told, at the least.
 */
struct trace_collective {
	uint64_t communicator; /* the same for all of its ranks, */
	uint64_t number;       /* and this counts collectives of a function */
	uint64_t start_ns, stop_ns;
	int64_t lag_ns;
	uint32_t pid;
	uint32_t rank, ranks;
	char function[TRACE_FUNCTION]; /* "AllReduce" */
};

/*
 * What dsa saw of the whole machine while a window was measured, or for a quarter of a
 * second up to its end where it is shorter: sums over the CPUs that the run may use.
 * Own is what dsa started, with all its descendants, and dsa itself. UINT64_MAX or NAN:
 * unknown.
 */
struct trace_load {
	uint64_t length_ns; /* that it was looked at; 0: it was not */
	uint64_t cpu_ns;    /* CPU time that there was: CPUs, or their quota where
				     * that is nearer to its end, times length */
	uint64_t own_ns, others_ns; /* of it, used */
	uint64_t steal_ns;          /* and taken by the host of a virtual machine */
	uint64_t queue_ns;  /* that threads of the run waited for a CPU, together */
	uint64_t own_bytes; /* read from storage; and by others from the device
				     * of the data set */
	uint64_t others_bytes;
	uint64_t cpu_wait_ns, io_wait_ns; /* some task waited (PSI), of anyone */
	double load;                      /* average of the last minute, */
	double hz;                        /* mean clock rate: both at its end */
};

/* Cache hits over an epoch, real windows alone. */
struct trace_epoch {
	_Atomic uint64_t hits, misses, miss_bytes;
};

struct trace_skip {
	_Atomic uint32_t
		slot; /* whose loader skipped it: process slot + 1, set when the
				* rest is; 0: one of other data than the slot has now */
	uint32_t sample;
	uint32_t code;  /* errno value */
	char name[160]; /* escaped, shortened in the middle */
	char reason[120];
};

/* Whose loader drives: libdsa's, or one that the program brought: PyTorch's DataLoader,
 * or whatever it iterates over. */
enum trace_loader_kind { TRACE_LIBDSA, TRACE_TORCH, TRACE_WATCH, TRACE_LOADER_KINDS };

/* Who asks it for batches: the thread that trains, or another one; then what a step was blocked
 * is that one's wait, or what training waited for a queue that it fills. */
enum trace_apart { TRACE_NOT_APART, TRACE_APART, TRACE_QUEUED };

/* What the driver loads and how; filled before loader_ready is set. */
struct trace_loader {
	char dataset[TRACE_DATASET], source[16];
	char engine[16], engine_reason[160];
	char cache[16], prep[16], output[32]; /* "float32 NCHW 224" */
	char features[512]; /* of records: picture and label, escaped; "": none */
	uint64_t dataset_samples, dataset_bytes, digest;
	uint64_t cache_capacity; /* bytes; 0 for none and page */
	uint32_t cache_on_disk;  /* 1: that of disk_* */
	uint64_t sample_bytes;   /* prepared */
	uint64_t seed, steps_per_epoch;
	uint32_t shuffle_run, shuffle_window; /* permutation_blocks; 0: not in blocks */
	uint32_t classes, batch, workers, fetch_depth, prefetch, slots;
	uint32_t direct;     /* 1: reads bypass the page cache */
	uint32_t memory;     /* 1: the storage is memory */
	uint32_t remote;     /* 1: servers have samples: nothing is read of a disk */
	uint32_t huge_pages; /* 1: the ring has them */
	uint32_t shared;     /* 1: several jobs have this one loader */
	uint32_t size, layout, type, evaluate; /* as in struct prep_config */
	double storage_bandwidth, storage_latency, prep_delay; /* B/s, s, s; 0: none */
	double listing_age_s; /* of a remote data set's listing that was kept, when that
			       * was opened; 0: it was listed then */
	double emulated_per_s; /* emulated accelerator; 0: none seen so far */
	uint32_t kind;         /* enum trace_loader_kind */
	uint32_t estimated;    /* 1: dataset_bytes is, from the batches made so far */
	uint32_t any_order;    /* 1: batches come as they are ready, not in turn */
	uint32_t untrained;    /* 1: no backward() followed a batch of it */
	uint32_t apart;        /* enum trace_apart */
	uint32_t beside;       /* other loaders of which each step has batches, too */
	/* Why its batches can't be given again, so that there are no cached windows, and
	 * real ones go on with the stream: "an IterableDataset"; "": they can, so far. */
	char no_list[TRACE_NO_LIST];
	char device[16];       /* that batches are copied to: "cuda:0"; "": none */
	uint32_t unpinned;     /* 1: the ring could not be registered with it */
	uint32_t device_uint8; /* 1: bytes are copied, and converted on the device */
	uint64_t device_sample_bytes; /* copied of a sample */
	uint32_t
		fetch_depth_auto; /* 1: it follows what requests take until windows begin
				    * that count, and is brought up to date */
	uint32_t rank, world; /* of a job's ranks the one that is told of; 0, 0: it has
			       * no others, as far as is known */
};

struct trace {
	char magic[8];
	uint32_t version;
	uint32_t bytes; /* of the whole file */
	uint32_t dsa_pid;
	_Atomic uint32_t
		loaders;     /* that the program opened: the first drives, and those
				   * that drive on after it are not counted */
	uint64_t dsa_start;  /* starttime in /proc/PID/stat: detects reused pids */
	uint64_t created_ns; /* clock base: CLOCK_MONOTONIC and CLOCK_REALTIME */
	uint64_t created_real_ns; /* at the same moment */
	uint64_t seed;

	_Atomic uint32_t stop;         /* dsa: the loader is to end the data */
	_Atomic uint32_t observe;      /* dsa: no windows, leave the training alone */
	_Atomic uint32_t window_count; /* dsa: windows asked so far */
	_Atomic uint32_t window_now;   /* driver: windows begun so far */
	_Atomic uint32_t driver;       /* process slot + 1 that drives; 0: none yet */
	_Atomic uint32_t loader_ready;
	_Atomic uint32_t step_count; /* records, driver */
	_Atomic uint32_t sample_count;
	_Atomic uint32_t skip_count; /* may pass TRACE_SKIPS: the rest has no name */
	_Atomic uint64_t dropped_steps, dropped_samples,
		dropped_batches;           /* records there was no room for */
	_Atomic uint64_t first_request_ns; /* the first batch was asked for */
	_Atomic uint64_t last_request_ns;  /* and the last one so far */
	_Atomic uint64_t driver_done;      /* when the driver closed; 0: one drives */

	/* Of one of several jobs in step, all from dsa. */
	_Atomic uint32_t in_step;            /* 0: at its own pace (again) */
	_Atomic uint32_t may_begin, may_end; /* windows below may be measured; end */

	_Atomic uint32_t heartbeat; /* dsa: changes several times a second */
	uint32_t dsa_pid_ns;        /* inode of its pid namespace; 0: unknown */

	/* dsa, before there is a driver: where the data ends. */
	uint32_t until_once;    /* 1: with what the data set has, if that is less */
	uint64_t until_samples; /* with the batch that reaches so many; 0: it goes on */
	/* dsa, too: objects that the driver may ask servers for, TRACE_ONE_EPOCH: as many as
	 * its data set has samples; 0: any number. And from the loader, when it wants more
	 * and asks for none. */
	uint64_t most_gets;
	_Atomic uint32_t gets_spent;

	struct trace_loader loader;
	char about[TRACE_ABOUT]; /* dsa: JSON object, ends with 0 */
	struct trace_process processes[TRACE_PROCESSES];
	struct trace_window windows[TRACE_WINDOWS];
	struct trace_epoch epochs[TRACE_EPOCHS]; /* the last one takes all after it */
	struct trace_skip skips[TRACE_SKIPS];
	struct trace_step steps[TRACE_STEPS];
	struct trace_sample samples[TRACE_SAMPLES];
	struct trace_load loads[TRACE_WINDOWS]; /* dsa, of windows that ended */

	/* Of a loader that the program brought. */
	struct trace_batch batches[TRACE_BATCHES];
	_Atomic uint32_t batch_count;  /* records, driver */
	_Atomic uint32_t epoch_starts; /* times that the program began an epoch, and */
	_Atomic uint64_t epoch_start_ns; /* what took until its first batch came */
	/* Of a batch, where the program has no workers: what these would take to pickle it, into
	 * new pages of memory that processes share, and the trainer to unpickle it; 0: unknown. */
	_Atomic uint64_t pickle_ns, unpickle_ns;
	/* Why the program goes on without dsa; written once, then `unmeasured` is set: enum
	 * trace_unmeasured. */
	_Atomic uint32_t unmeasured;
	char unmeasured_why[TRACE_WHY];
	uint32_t unmeasured_pid; /* of the process that says so */
	_Atomic uint32_t beyond; /* enum trace_beyond; 0: no epoch went on */
	/* Why a server ended the driver's data; "": none did. */
	char lost_why[2 * TRACE_WHY];
	/* Why there are no batches for synthetic and copied windows; "": not known. */
	char pool_why[TRACE_WHY];

	/* Of devices, by the island profiler/cupti/. A span is whole where its `end_ns` is
	 * not 0. */
	struct trace_span spans[TRACE_SPANS];
	_Atomic uint32_t span_count;   /* claimed so far; may pass TRACE_SPANS */
	_Atomic uint32_t cupti;        /* processes that CUPTI watches */
	_Atomic uint32_t cupti_said;   /* 1: cupti_about is written */
	_Atomic uint64_t lost_records; /* that CUPTI dropped, or could not be read */
	char cupti_about[TRACE_WHY];   /* its version, or why there are no records */
	_Atomic uint64_t read_records; /* of work, which the spans are made of */

	/* Of ranks, by the island profiler/nccl/. One is whole where its `stop_ns` is not
	 * 0. */
	struct trace_collective collectives[TRACE_COLLECTIVES];
	_Atomic uint32_t collective_count; /* claimed so far; may pass that */
};

#define TRACE_ONE_EPOCH UINT64_MAX

/* Objects that may be asked for, of a data set of so many samples; UINT64_MAX: any number. */
static inline uint64_t trace_most_gets(const struct trace *trace, uint64_t samples)
{
	if (trace->most_gets == 0)
		return UINT64_MAX;
	return trace->most_gets == TRACE_ONE_EPOCH ? samples : trace->most_gets;
}

/* Samples that the data ends with, once the loader is ready, if how many there are is known;
 * UINT64_MAX: it goes on. */
static inline uint64_t trace_end(const struct trace *trace)
{
	uint64_t wanted = trace->until_samples, there = trace->loader.dataset_samples;

	if (wanted == 0)
		return UINT64_MAX;
	return trace->until_once && there > 0 && there < wanted ? there : wanted;
}

/* True of a program that goes on without dsa: no loader of it is measured, or no more. One of
 * libdsa's may come after another was refused. */
static inline bool trace_is_alone(const struct trace *trace)
{
	bool libdsa = trace->loader_ready && trace->loader.kind == TRACE_LIBDSA;

	return atomic_load(&trace->unmeasured) != 0 && !libdsa;
}

/* The slot of the process that drives; NULL: none does yet. */
static inline const struct trace_process *trace_driver(const struct trace *trace)
{
	uint32_t driver = trace->driver;

	return driver > 0 && driver <= TRACE_PROCESSES ? &trace->processes[driver - 1]
						       : NULL;
}

/* True of the slot of a process that loads the same data as the one that drives. */
static inline bool trace_is_driven_data(const struct trace *trace,
					const struct trace_process *process)
{
	const struct trace_process *driver = trace_driver(trace);

	return driver != NULL &&
	       strncmp(process->dataset, driver->dataset, TRACE_DATASET) == 0;
}

/* Bucket of a histogram that counts value. */
static inline unsigned trace_bucket(uint64_t value)
{
	unsigned bucket = value == 0 ? 0 : 63 - (unsigned)__builtin_clzll(value);

	return bucket < TRACE_BUCKETS ? bucket : TRACE_BUCKETS - 1;
}

static inline void trace_add(struct trace_process *process, enum trace_counter counter,
			     uint64_t value)
{
	atomic_fetch_add_explicit(&process->counters[counter], value,
				  memory_order_relaxed);
}

static inline void trace_histogram(struct trace_process *process,
				   enum trace_histogram which, uint64_t value)
{
	atomic_fetch_add_explicit(&process->histograms[which][trace_bucket(value)], 1,
				  memory_order_relaxed);
}

/*
 * dsa: makes the session file at path (0600, replacing one that a dead dsa left) and
 * maps it. All its room is allocated, so that a full disk can't stop a writer later,
 * and it has no name before it is complete (where the file system can do that). Returns
 * NULL and fills err on failure. End with trace_unmap(); the file stays.
 */
struct trace *trace_create(const char *path, uint64_t seed, struct error *err);

/*
 * Maps an existing session; refuses another version naming both (-EPROTO), a file that
 * is cut short or not a session (-EBADMSG). With write false the mapping is read-only.
 */
struct trace *trace_map(const char *path, bool write, struct error *err);
void trace_unmap(struct trace *trace);

/*
 * Whether the dsa that made the session lives. Unseen: it is in another pid namespace, as
 * of a container, or there is no /proc; only its heartbeat tells. *bytes, unless NULL: what
 * one system call read for that; 0: none did.
 */
enum trace_dsa { TRACE_DSA_GONE, TRACE_DSA_ALIVE, TRACE_DSA_UNSEEN };
enum trace_dsa trace_dsa_state(const struct trace *trace, size_t *bytes);

/*
 * Claims a process slot for a loader of the caller's, of this data set: one of a loader of
 * the same that it closed, the driver's only for its `successor`; else a free one, or one
 * that anybody closed. NULL when all are taken.
 */
struct trace_process *trace_claim(struct trace *trace, const char *dataset,
				  bool successor);

/* Gives a slot back, with what was counted in it. */
void trace_give_back(struct trace_process *process);

/* Enters the calling thread into the slot's table; full is no error. */
void trace_thread(struct trace_process *process, enum trace_stage stage);

#endif
