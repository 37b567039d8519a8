/*
 * io_page.h - what a program that nobody changed reads, process by process and batch by
 * batch: the page that it shares with dsa.
 *
 * libdsa-io.so is preloaded into the program. DSA_IO names a file that dsa made; a process
 * maps it when it makes a batch, opens a file to write, or runs the hook. All counting is by
 * atomics in this page, so that a worker that is killed, or leaves by _exit, loses nothing.
 * All times are CLOCK_MONOTONIC in nanoseconds. The file is best one in memory, which takes
 * what is touched of it: a page of any other faults anew each time that it was written back.
 * Memory is found by dsa's number, which says nothing in another namespace of processes:
 * DSA_IO_FILE names a spare one then, in the run's folder, that takes room only once it is
 * mapped.
 *
 * In memory there are IO_RANKS pages, IO_STRIDE bytes apart. All processes have the first; those
 * of a job's other ranks (DSA_IO_RANK) count into one of their own, but for the emulated storage
 * and the files that the program writes, which are the first one's.
 *
 *	+-----------+ 0
 *	| header    |  control: the emulated storage, the list that is recorded
 *	| slots[]   |  a process each, while it lives; then the next one counts on
 *	| batches[] |  a ring: what each batch took that a process made
 *	| ranges[]  |  what the batches of the list read: its first pass fills it
 *	| paths[]   |  of which files
 *	| written[] |  files that the program opened to write
 *	| lost[]    |  of these: what they held before is lost
 *	| appended[]|  files that the program opened to add to, and their sizes then
 *	| marks[]   |  paths of all of them, hashed
 *	| parts[]   |  what parts of making a sample took, such as transforms
 *	| slowest[] |  samples
 *	| pictures  |  that the program's transforms make of some of its files
 *	+-----------+
 *
 * What the hook calls is in profiler/io/dsa_io.h. A batch is made between
 * dsa_io_batch_begin() and dsa_io_batch_end() of a process, in any of its threads; regular
 * files that the process opens or reads meanwhile are data, but code and what the system is
 * made of (profiler/io/base/data_path.h). What a process reads at other times, and what is no
 * data, is counted apart from its first batch on.
 */
#ifndef DSA_IO_PAGE_H
#define DSA_IO_PAGE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct error;

#define IO_MAGIC   "dsa-io\0"
#define IO_VERSION 12

enum {
	IO_SLOTS = 256, /* processes that make batches at once */
	IO_BATCHES = 1 << 14,
	IO_RANGES = 1 << 17,
	IO_PATHS = 1 << 24, /* bytes of their paths, all together */
	IO_WRITTEN = 256,   /* names of files */
	IO_MARKS = 1 << 16, /* paths that are known again, with a name or without */
	IO_LOST = 8,
	IO_APPENDED = 64,
	IO_PATH = 488,    /* with its end; longer ones are dropped, and counted */
	IO_PID_BITS = 22, /* no kernel has greater ones (PID_MAX_LIMIT) */
	IO_PARTS = 64,
	IO_PART_NAME = 44, /* with its end; longer ones are cut */
	IO_SLOWEST = 8,
	IO_PICTURES = 32,
	IO_PIXELS = 1 << 23, /* bytes of them, all together */
	IO_RANKS = 16,       /* of one job */
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
	X(sockets, "connections that they used, each once a batch")                    \
	X(other_opens, "files opened at other times")                                  \
	X(other_bytes, "bytes read at other times, and those that are no data")        \
	X(throttle_reads, "calls that paid the latency of the emulated storage")       \
	X(throttle_bytes, "bytes that passed it")                                      \
	X(throttle_busy_ns, "time that its bucket was occupied")                       \
	X(padded, "samples that the emulated prep padded to its deadline")             \
	X(cpu_ns, "CPU time of the process while it made them")                        \
	X(seen_bytes, "bytes + other_bytes when /proc/self/io was looked at last")     \
	X(proc_bytes, "bytes that the process had read by then, as that says")

enum io_counter {
#define IO_NUMBER(name, meaning) IO_##name,
	IO_COUNTERS(IO_NUMBER)
#undef IO_NUMBER
		IO_COUNT
};

/* A process. One whose process is gone is claimed again by compare and exchange of its
 * owner, and its counters go on: a sum over all slots has what every process counted. */
struct io_slot {
	/* The pid, and process_start() above IO_PID_BITS of it; 0: nobody's so far. */
	_Alignas(64) _Atomic uint64_t owner;
	_Atomic uint64_t counters[IO_COUNT];
};

static inline uint32_t io_slot_pid(const struct io_slot *slot)
{
	return (uint32_t)(slot->owner & ((UINT64_C(1) << IO_PID_BITS) - 1));
}

enum {
	IO_MAPPED = 1, /* it mapped a file, or its process reads one mapped before */
	IO_SOCKET = 2, /* it used a connection */
	IO_FORKED = 4, /* it started a process, or waited for one */
	IO_LISTED = 8, /* of the first pass of a list */
	IO_CALLS = 16, /* its process can read by calls that are not seen */
};

/* A batch that was made. */
struct io_batch {
	_Atomic uint64_t number; /* of it + 1, once all is written; 0: it is not */
	uint64_t key;            /* the hook's: equal for equal indices */
	uint64_t loader;         /* the hook's: whose batch it is; 0: it does not say */
	uint64_t begin_ns, end_ns;
	uint64_t io_ns;     /* of this, in calls that open or read data: by each
				 * of its threads, added up, */
	uint64_t own_io_ns; /* and by the thread that began and ended it; 0: two did */
	uint64_t cpu_ns;    /* of the process */
	uint64_t bytes;     /* that these calls brought */
	/* That the process waited for meanwhile (ru_inblock; else a page for each of
	 * ru_majflt). */
	uint64_t storage_bytes;
	uint64_t digest; /* of what was opened and read (file, place, bytes), in
				 * whatever order: the same only within a machine */
	uint32_t opens, reads;
	uint32_t samples;
	uint32_t pid;
	uint32_t flags;
};

/* What a batch of the list read of a file, in a row. */
struct io_range {
	_Atomic uint64_t number; /* as of a batch */
	uint64_t key;            /* of the batch */
	uint64_t from;
	_Atomic uint64_t to; /* bytes; grows while the batch is made */
	uint32_t path;       /* where in io_page.paths: absolute; ends with 0 */
};

/* A file that the program opened to write, or renamed another to. */
struct io_written {
	_Atomic uint64_t number;
	char path[IO_PATH]; /* absolute; ends with 0 */
};

/* A file that was there and that the program opened to add to its end alone. */
struct io_appended {
	_Atomic uint64_t number;
	uint64_t size, inode;  /* at first */
	_Atomic uint32_t pid;  /* who has it open, if there was no batch yet */
	_Atomic uint64_t told; /* 0: not yet; else the number by which it is put back */
	char path[IO_PATH];
};

enum { IO_NAMELESS, IO_NAMING, IO_NAMED };

/* A part of making samples, of the batches that were looked at. Two of one name are one:
 * processes may claim them at the same moment. */
struct io_part {
	_Atomic uint32_t state; /* IO_NAMED: it has its name */
	char name[IO_PART_NAME];
	_Atomic uint64_t calls;
	_Atomic uint64_t ns; /* without its I/O, and without parts inside it */
};

/* One of the samples that took longest; made several times it counts with the least. */
struct io_slow {
	_Atomic uint32_t busy; /* 1: it is written */
	_Atomic uint64_t sample;
	_Atomic uint64_t ns; /* 0: it is none */
	char path[IO_PATH];  /* opened first for it, as it was called; "": none */
};

/* How the program's loader prepares pictures (struct hook_recipe, profiler/hook/hook.h). */
struct io_recipe {
	_Atomic uint32_t told; /* 1: all else is written */
	uint32_t size, evaluate, bytes;
	char folder[IO_PATH], lacks[128], code[2 * IO_PATH];
};

/* What the program's transforms make of files in evaluation: 3 x size x size bytes each, one
 * after another, of the size of its recipe. */
struct io_pictures {
	_Atomic uint32_t count; /* that are whole */
	char paths[IO_PICTURES][IO_PATH];
	uint8_t pixels[IO_PIXELS];
};

enum { IO_WHY = 256 };

/* The ranks of one job, which switch together: profiler/hook/ranks.h. */
struct io_ranks {
	_Atomic uint32_t world; /* so many; 0: there is no such job */
	_Atomic uint32_t over;  /* 1: `why` is written; 2: each goes on by itself */
	char why[IO_WHY];

	/* The batch that the foremost rank asked for, counted from 1, and above 32 bits the
	 * one before which all of them switch; 0: none. */
	_Atomic uint64_t at;

	/* What the others are to do now: the first rank writes it, then its number. */
	_Atomic uint64_t told;
	uint32_t task, number;
	uint64_t ns;
	double share;

	/* Of each rank: its process, as of a slot; 0: it has not begun. The last one that it
	 * has done; and whether it has come to where all switch. In real windows, as long as
	 * `counts` says, its batches, and how long it waited for them. */
	_Atomic uint32_t counts;
	struct {
		_Alignas(64) _Atomic uint64_t owner;
		_Atomic uint64_t done;
		_Atomic uint32_t came;
		_Atomic uint64_t batches, blocked_ns;
	} ranks[IO_RANKS];
};

struct io_page {
	char magic[8];
	uint32_t version;
	uint32_t bytes; /* of a page */

	/* The hook, while no batch is made. */
	_Atomic uint32_t throttled; /* 1: the emulated storage holds reads back; where
				     * dsa only observes, from the start on */
	_Atomic uint32_t listing;   /* 1: batches write their ranges */
	/* The first batch: CLOCK_REALTIME, from when on files are kept that would be
	 * overwritten; 0: there was none. */
	_Atomic uint64_t keeping;

	/* dsa, before the program starts; 0: none. */
	double storage_bandwidth, storage_latency, prep_delay; /* B/s, s, s */
	uint32_t several; /* 1: programs at once share it: none is measured by it */
	uint64_t began;   /* CLOCK_REALTIME: what is made since then is its own */
	char kept_folder[IO_PATH]; /* absolute; "": nothing is kept */
	_Atomic uint32_t keeps; /* the thread that moves a file there; 0: none does */

	/* The hook: the rank of a job that is measured, + 1, and how many the job has; 0: none
	 * has begun. */
	_Atomic uint32_t rank, world;
	struct io_ranks ranks;

	_Atomic uint32_t hooked; /* 1: the hook runs in a process of the program */

	/* The hook: batches of which data set may be looked at; 0: none. */
	_Atomic uint32_t looks_at;

	/* The hook: a loaded window, in which workers may be so many batches ahead of those
	 * that were given; 0: there is none, or they gave up. batch_count where it began.
	 * And what a step took last, in a real window; 0: unknown. */
	_Atomic uint32_t loaded;
	_Atomic uint64_t given, loaded_from, step_ns;

	/* When the throttle's bucket let the last read pass. The hook sets it to 0
	 * between windows: the bucket is full. */
	_Atomic uint64_t busy_until_ns;

	/* So far. Of ranges and files those beyond their room are not there. */
	_Atomic uint64_t batch_count, range_count, path_bytes, written_count;
	_Atomic uint64_t appended_count;

	/* Files that were to be kept, each called by its number from 1 on in kept_folder,
	 * where nothing is kept of one that was added to; and of them those that could not
	 * be, or that its script has no line for. */
	_Atomic uint64_t kept_count, lost_count;

	/* Processes, ranges and files there was no room for. */
	_Atomic uint64_t dropped_processes, dropped_ranges, dropped_written;

	/* Samples that were looked at, and calls of parts there was no room for. */
	_Atomic uint64_t looked_samples, dropped_parts;

	/* Of the driving loader: epochs whose workers ended with them, and how long that
	 * took; and how long its first epoch took to begin. */
	_Atomic uint64_t epoch_ends, epoch_end_ns, epoch_first_ns;
	struct io_recipe recipe;
	struct io_slot slots[IO_SLOTS];
	struct io_batch batches[IO_BATCHES];
	struct io_range ranges[IO_RANGES];
	char paths[IO_PATHS];
	struct io_written written[IO_WRITTEN], lost[IO_LOST];
	struct io_appended appended[IO_APPENDED];
	_Atomic uint64_t marks[IO_MARKS];
	struct io_part parts[IO_PARTS];
	struct io_slow slowest[IO_SLOWEST];
	struct io_pictures pictures;
};

enum io_page_room {
	IO_WHOLE,
	IO_SPARSE /* but for its head allocated by whoever maps it */
};

#define IO_STRIDE ((sizeof(struct io_page) + 65535) / 65536 * 65536)

/* Makes the page at `path` (0600, without a name before it is complete), where nothing may
 * be, and maps it. NULL fills err. The file stays. */
struct io_page *io_page_create(const char *path, enum io_page_room room,
			       struct error *err);

/* The same in memory that has no name and goes with *memory, a descriptor, with room for a page
 * of each rank. NULL: it can't be had. */
struct io_page *io_page_memory(int *memory);
void io_page_unmap(struct io_page *page);

/* A text, cut to what there is room for. Needs nothing that a wrapper may not call. */
static inline void io_copy_text(char *to, size_t size, const char *from)
{
	size_t length = strlen(from);

	if (length >= size)
		length = size - 1;
	memcpy(to, from, length);
	to[length] = '\0';
}

/* A counter over all processes, those that are gone included. */
uint64_t io_page_total(const struct io_page *page, enum io_counter which);

#endif
