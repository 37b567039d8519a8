/*
 * io.h - what a program that nobody changed reads, process by process and batch by batch:
 * the page that it shares with dsa, and what its loader's hook calls.
 *
 * libdsa-io.so is preloaded into the program. DSA_IO names a file that dsa made; every
 * process maps it when it first opens a file of the data or makes a batch. All counting is
 * by atomics in this page, so that a worker that is killed, or leaves by _exit, loses
 * nothing. All times are CLOCK_MONOTONIC in nanoseconds.
 *
 *	+-----------+ 0
 *	| header    |  control: the emulated storage, the list that is recorded
 *	| gone      |  what processes counted that are gone
 *	| slots[]   |  a process each, while it lives
 *	| batches[] |  a ring: what each batch took that a process made
 *	| ranges[]  |  what the batches of the list read: its first pass fills it
 *	| written[] |  files that the program opened to write
 *	+-----------+
 *
 * A batch is made between dsa_io_batch_begin() and dsa_io_batch_end() of a process, in any of its
 * threads; regular files that the process opens or reads meanwhile are data, but code and
 * what the system is made of (/proc, /sys, /dev, *.py, *.pyc, *.so). What it reads at other
 * times is counted apart.
 */
#ifndef DSA_IO_H
#define DSA_IO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IO_MAGIC   "dsa-io\0"
#define IO_VERSION 1

enum {
	IO_SLOTS = 256, /* processes that live at once */
	IO_BATCHES = 1 << 14,
	IO_RANGES = 1 << 15,
	IO_WRITTEN = 256,
	IO_PATH = 488, /* with its end; longer ones are dropped, and counted */
};

/* Totals. Append; never reorder. */
#define IO_COUNTERS(X)                                                                 \
	X(batches, "batches made")                                                     \
	X(samples, "samples in them")                                                  \
	X(batch_ns, "wall time that they took")                                        \
	X(opens, "files opened for them")                                              \
	X(reads, "calls that read them")                                               \
	X(bytes, "bytes that these brought")                                           \
	X(io_ns, "time in these calls, emulated storage included")                     \
	X(storage_bytes, "bytes that batches waited for from storage")                 \
	X(maps, "files mapped for them, which can be neither counted nor evicted")     \
	X(sockets, "connections that they used")                                       \
	X(other_opens, "files opened at other times")                                  \
	X(other_bytes, "bytes read at other times")                                    \
	X(throttle_reads, "calls that the emulated storage held back")                 \
	X(throttle_bytes, "bytes of them")                                             \
	X(throttle_busy_ns, "time that its bucket was occupied")                       \
	X(padded, "samples that the emulated prep padded to its deadline")

enum io_counter {
#define IO_NUMBER(name, meaning) IO_##name,
	IO_COUNTERS(IO_NUMBER)
#undef IO_NUMBER
		IO_COUNT
};

/* A process. It is claimed by compare and exchange of pid; one whose process is gone (by
 * pid and start) is added to io_page.gone and claimed again. */
struct io_slot {
	_Atomic uint32_t pid;   /* 0: free; UINT32_MAX: on its way to `gone` */
	_Atomic uint64_t start; /* process_start(); 0: not said yet */
	_Atomic uint64_t counters[IO_COUNT];
};

enum {
	IO_MAPPED = 1, /* it mapped a file */
	IO_SOCKET = 2, /* it read from a socket */
	IO_FORKED = 4, /* it started a process */
	IO_LISTED = 8, /* of the first pass of a list */
};

/* A batch that was made. */
struct io_batch {
	_Atomic uint64_t number; /* of it + 1, once all is written; 0: it is not */
	uint64_t key;            /* the hook's: equal for equal indices */
	uint64_t begin_ns, end_ns;
	uint64_t io_ns;         /* of this, in calls that open or read data */
	uint64_t bytes;         /* that these brought */
	uint64_t storage_bytes; /* that the process waited for meanwhile (ru_inblock) */
	uint64_t digest; /* of the files read, in whatever order, and how often */
	uint32_t opens, reads;
	uint32_t samples;
	uint32_t pid;
	uint32_t flags;
};

/* What a batch of the list read of a file, in a row. */
struct io_range {
	_Atomic uint64_t number; /* as of a batch */
	uint64_t key;            /* of the batch */
	uint64_t from, to;       /* bytes */
	char path[IO_PATH];      /* absolute; ends with 0 */
};

struct io_file {
	_Atomic uint64_t number;
	char path[IO_PATH];
};

struct io_page {
	char magic[8];
	uint32_t version;
	uint32_t bytes; /* of the whole file */

	/* The hook, between windows. */
	_Atomic uint32_t throttled; /* 1: the emulated storage holds reads back */
	_Atomic uint32_t listing;   /* 1: batches write their ranges */

	/* dsa, before the program starts; 0: none. */
	double storage_bandwidth, storage_latency, prep_delay; /* B/s, s, s */
	_Atomic uint64_t busy_until_ns; /* of the throttle's bucket */

	_Atomic uint64_t batch_count, range_count, written_count; /* so far */
	_Atomic uint64_t
		dropped; /* processes, ranges and files there was no room for */

	_Atomic uint64_t gone[IO_COUNT];
	struct io_slot slots[IO_SLOTS];
	struct io_batch batches[IO_BATCHES];
	struct io_range ranges[IO_RANGES];
	struct io_file written[IO_WRITTEN];
};

struct error;

/* ---- dsa ---- */

/* Makes the page at `path` (0600, whole, without a name before it is complete) and maps
 * it. NULL fills err. */
struct io_page *io_page_create(const char *path, struct error *err);
void io_page_unmap(struct io_page *page);

/* A counter over all processes, those that are gone included. */
uint64_t io_page_total(const struct io_page *page, enum io_counter which);

/* ---- the hook, in the program: exported by libdsa-io.so ---- */

/* The page; NULL: DSA_IO is not set, or the file is of another version. */
struct io_page *dsa_io_page(void);

/* A batch of this process begins, and ends; one at a time. */
void dsa_io_batch_begin(uint64_t key);
void dsa_io_batch_end(uint32_t samples);

/* Pads the sample that began at begin_ns to prep_delay, if there is one. */
void dsa_io_pad(uint64_t begin_ns);

/*
 * The files of the list that was recorded last: brings them into the page cache, or out of
 * it (dirty pages are written first). `share`: of the files, drawn by `seed`, the same ones
 * for the same seed; the others are left as they are. Returns 0; -errno of the first file
 * that could not be: all others were.
 */
int dsa_io_list_read(double share, uint64_t seed);
int dsa_io_list_evict(double share, uint64_t seed);

/* Bytes of the list's ranges, and how many of them lie in the page cache, by cachestat(2),
 * else by mincore(2). 0 or -errno: the kernel does not say. */
int dsa_io_list_resident(uint64_t *bytes, uint64_t *resident);

/* Forgets the list. */
void dsa_io_list_clear(void);

#endif
