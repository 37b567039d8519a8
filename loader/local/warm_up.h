/*
 * warm_up.h - has the kernel read shards from their beginning to their end, while
 * samples of them are read in any order.
 *
 * Until a sample lies in the page cache, reading it is one random read of the storage. Where
 * memory has room for all shards, one thread goes through them in order meanwhile: storage
 * gives in order several times what it gives at random.
 */
#ifndef DSA_LOCAL_WARM_UP_H
#define DSA_LOCAL_WARM_UP_H

#include <stdbool.h>
#include <stdint.h>

struct warm_up;
struct source;

/* Does that pay? `wanted` samples of the source are read in an epoch, and memory has room
 * for so many bytes. */
bool warm_up_pays(const struct source *source, uint64_t wanted, uint64_t room);

/* Room for the page cache: cgroup_memory_available(); 0: nobody tells. */
uint64_t warm_up_room(const char *root);

/* Starts the thread. The source outlives it. NULL: no memory or thread, and nothing is read
 * ahead. */
struct warm_up *warm_up_start(const struct source *source);

/* Ends it, after what is being read; NULL is allowed. */
void warm_up_stop(struct warm_up *warm);

#endif
