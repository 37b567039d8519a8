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

/* A batch of this process begins, and ends; one at a time, from any thread. A child of
 * fork() is in none. Without room for the process nothing is counted of it. */
DSA_IO_EXPORT void dsa_io_batch_begin(uint64_t key);
DSA_IO_EXPORT void dsa_io_batch_end(uint32_t samples);

/* Pads the sample that began at begin_ns to prep_delay, if there is one. */
DSA_IO_EXPORT void dsa_io_pad(uint64_t begin_ns);

/*
 * The list that was recorded last: brings its ranges into the page cache, or out of it
 * (dirty pages are written first), while no batch is made. `share` of its files, drawn by
 * `seed`, the same ones for the same seed; of files longer than 2 MiB, of their stretches
 * of so many. The others are left as they are. Returns 0; -errno of the first that could
 * not be: all others were.
 */
DSA_IO_EXPORT int dsa_io_list_read(double share, uint64_t seed);
DSA_IO_EXPORT int dsa_io_list_evict(double share, uint64_t seed);

/* Bytes of the list's ranges, and how many of them lie in the page cache, by cachestat(2),
 * else by mincore(2). 0 or -errno: the kernel does not say. */
DSA_IO_EXPORT int dsa_io_list_resident(uint64_t *bytes, uint64_t *resident);

/* Forgets the list; while no batch is made. */
DSA_IO_EXPORT void dsa_io_list_clear(void);

#endif
