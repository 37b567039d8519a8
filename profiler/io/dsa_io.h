/*
 * dsa_io.h - what the hook of a program's own loader calls; exported by libdsa-io.so.
 *
 * Without DSA_IO in the environment when the program started all of it does nothing.
 */
#ifndef DSA_DSA_IO_H
#define DSA_DSA_IO_H

#include "profiler/io_page.h"

#define DSA_IO_EXPORT __attribute__((visibility("default")))

/* The page; NULL: DSA_IO is not set, or the file is of another version. */
DSA_IO_EXPORT struct io_page *dsa_io_page(void);

/* The first rank's of a job; else the same. */
DSA_IO_EXPORT struct io_page *dsa_io_first_page(void);

/* This process is that rank of a job, from 1 on, and has a page of its own from now on; before it
 * makes a batch. False: there is none. */
DSA_IO_EXPORT int dsa_io_rank(uint32_t rank);

/* A batch of this process begins, and ends; one at a time, from any thread. A child of
 * fork() is in none. Without room for the process nothing is counted of it. Of 0 samples
 * none was made: data that was read is counted, and there is no record. */
DSA_IO_EXPORT void dsa_io_batch_begin(uint64_t key);

/* From now on the batches of this process are that loader's, until it is called again. */
DSA_IO_EXPORT void dsa_io_batch_of(uint64_t loader);
DSA_IO_EXPORT void dsa_io_batch_end(uint32_t samples);

/*
 * The same where files count all the time, as of a loader that has threads of its own: ends
 * a batch and goes on in the next one, which may be of 0 samples as what lies between two.
 *
 *	begin(key) .. next(0) .. a batch .. next(samples) .. next(0) .. end(0)
 */
DSA_IO_EXPORT void dsa_io_batch_next(uint32_t samples);

/* Pads the sample that began at begin_ns to prep_delay, if there is one. */
DSA_IO_EXPORT void dsa_io_pad(uint64_t begin_ns);

/*
 * Parts of making samples, such as transforms: the hook measures them while it looks at a
 * batch, and adds them up here when that is made.
 *
 *	look()   {the batch is made: sample() after each}   took()
 */

/* Batches of this data set may be looked at from now on, in every process; 0: of none. */
DSA_IO_EXPORT void dsa_io_look_at(uint32_t dataset);
DSA_IO_EXPORT uint32_t dsa_io_looks_at(void);

/* The calling thread looks at the batch that it makes next. Returns where the time in I/O
 * of this process is counted, in ns; NULL: nothing is counted. */
DSA_IO_EXPORT const _Atomic uint64_t *dsa_io_look(void);

/* It made that sample of the data set in so long, its I/O left out. */
DSA_IO_EXPORT void dsa_io_sample(uint64_t sample, uint64_t ns);

/* The place of a part; -1: there is no room for it. */
DSA_IO_EXPORT int dsa_io_part(const char *name);

/* What parts took of a batch that was looked at. */
struct io_took {
	int32_t part;
	uint32_t calls;
	int64_t ns; /* below 0 is none */
};
DSA_IO_EXPORT void dsa_io_took(const struct io_took *took, uint32_t count,
			       uint32_t samples);

/* Of the trainer in a loaded window: waits until as many batches were made as it was given,
 * and the next one: it rests as it does when it waits for that one really, and what it
 * computes begins with caches as cold. */
DSA_IO_EXPORT void dsa_io_await_made(void);

/* Of a worker in a loaded window: waits until batch `number` of the window, over all workers,
 * may be made. False: the window is over, or nobody goes on with it. */
DSA_IO_EXPORT int dsa_io_may_make(uint64_t number);

/*
 * The list that was recorded last: brings its ranges into the page cache, or out of it
 * (dirty pages are written first), while no batch is made. `share` of its files, drawn by
 * `seed`, the same ones for the same seed; of files longer than 2 MiB, of their stretches
 * of so many. The others are left as they are. Returns 0; -errno of the first that could
 * not be: all others were.
 */
DSA_IO_EXPORT int dsa_io_list_read(double share, uint64_t seed);

/* *bytes of its ranges: those that the kernel took the wish for, which it does of dirty pages
 * and of pages that are mapped, too. */
DSA_IO_EXPORT int dsa_io_list_evict(double share, uint64_t seed, uint64_t *bytes);

/* Bytes of the list's ranges, and how many of them lie in the page cache, by cachestat(2),
 * else by mincore(2). 0 or -errno: the kernel does not say. */
DSA_IO_EXPORT int dsa_io_list_resident(uint64_t *bytes, uint64_t *resident);

/* Forgets the list; while no batch is made. */
DSA_IO_EXPORT void dsa_io_list_clear(void);

#endif
