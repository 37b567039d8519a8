/*
 * index_cache.h - keeps indexes in files, so that a data set need not be listed again.
 *
 * There is one file per data set, named by a hash of where it is, readable by its
 * owner alone. It is used only while it fits the files as they are now:
 *
 *  - every folder, list file or shard has the device, inode, modification and change
 *    time that it had: so nothing was added, removed, renamed or written into a shard;
 *  - up to 4,096 samples that are files, spread evenly and others each time, have the
 *    size that they had. A size is a hint all the same: whoever reads a file sees what it is.
 *
 * An index is kept only if its folders had not changed for 2 s when they were read:
 * file systems count time in steps, and within a step a change would not show.
 */
#ifndef DSA_SOURCE_INDEX_CACHE_H
#define DSA_SOURCE_INDEX_CACHE_H

#include "loader/source/index/index.h"

#include <limits.h>
#include <stdbool.h>

struct index_origin;

struct index_cache {
	char path[PATH_MAX]; /* "": nothing is kept */
};

/*
 * Where the index of a data set is kept. index_dir is that of struct source_config;
 * base is the folder itself, or that of a list, from which its paths start. seed tells
 * indexes of other files in the same folder apart.
 */
void index_cache_open(struct index_cache *cache, const char *index_dir,
		      const char *base, const char *dataset, uint64_t seed);

/* The same of what lies on no disk: `place` tells it from all others. */
void index_cache_open_remote(struct index_cache *cache, const char *index_dir,
			     const char *place);

/* True: *index is what was kept, whether it fits or not. */
bool index_cache_read(const struct index_cache *cache, struct index *index);

/*
 * Until index_cache_unlock() no other loader, of any process, has this lock: so those that
 * begin together list what servers have once. Waits for it, for five minutes at the most.
 * -1: there is none, and nothing is to be unlocked.
 */
int index_cache_lock(const struct index_cache *cache);
void index_cache_unlock(int lock);

/* Keeps a finished index. */
void index_cache_keep(const struct index_cache *cache, const struct index *index);

/* Forgets what is kept. False: nothing was. */
bool index_cache_drop(const struct index_cache *cache);

/* True: *index is the data set's. False: there is none that fits, or no memory. */
bool index_cache_load(const struct index_cache *cache,
		      const struct index_origin *origin, struct index *index);

/*
 * Keeps a finished index, whose folders were read since began_ns (CLOCK_REALTIME), or
 * does not: then the data set will be listed again. Another process, or a crash at any
 * moment, never sees half a file.
 */
void index_cache_save(const struct index_cache *cache, const struct index *index,
		      int64_t began_ns);

#endif
