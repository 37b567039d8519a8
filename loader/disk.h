/*
 * disk.h - a cache on local disk of a data set's samples, in front of a slow source.
 *
 *	blob = disk_get(disk, sample, quiet);
 *	if (blob == NULL) {
 *		blob = fetch(source, sample);
 *		disk_offer(disk, sample, blob);
 *	}
 *
 * A folder holds it, which processes and runs share, for any data sets: a sample is known by
 * where it lies and what it was (the ETag of an object; size, times and inode of a file). So
 * one that has changed is never served, and what has no ETag is never kept. Reads go past
 * the kernel's page cache. Offers are written by a thread; where the disk can't keep up they
 * are dropped. Any thread may call anything but open and close.
 */
#ifndef DSA_DISK_H
#define DSA_DISK_H

#include <stdbool.h>
#include <stdint.h>

struct blob;
struct disk;
struct error;
struct source;

struct disk_config {
	const char *folder; /* made if it is not there; must be the user's own */
	const char *policy; /* minio, lru or fifo */
	uint64_t bytes;     /* of samples that it may hold; or, if that is 0, */
	double share;       /* so much of the data set */
	const struct source *source; /* outlives it */
};

struct disk_stats {
	uint64_t bound; /* bytes that the folder's files may take, all data sets' */
	uint64_t used, entries;  /* what they take, and how many there are */
	uint64_t capacity;       /* bytes of samples of this data set that fit */
	uint64_t resident_bytes; /* bytes of its samples that are there; */
	uint64_t resident; /* of which there are so many: at most, after evictions */
	uint64_t hits, misses; /* of disk_get() since it was opened */
	uint64_t written;      /* samples; */
	uint64_t refused;      /* not written: the disk was too slow, or full */
	uint64_t dropped; /* files that were torn or foreign, when it was opened, too */
	uint64_t stale;   /* samples that had changed */
	uint64_t evicted;
	uint64_t reads_begun, reads, read_bytes; /* its pread() */
	int stopped; /* errno value: why nothing is written any more; 0: it is */
	int full; /* errno value: why it takes less than its bound, or nothing; 0: it does */
};

/*
 * Opens the folder and looks which samples are there: a second for a million of them.
 * Returns NULL and fills err where the folder can't be had, or holds other things.
 */
struct disk *disk_open(const struct disk_config *config, struct error *err);

/* Writes what was offered, and ends. NULL is allowed. */
void disk_close(struct disk *disk);

/*
 * The bytes of a sample, with a reference for the caller; NULL if they are not there or not
 * whole. Reads from the disk, and of a file asks its storage for its times. `quiet` is not
 * a use that the policy sees, nor a hit or miss that is counted.
 */
struct blob *disk_get(struct disk *disk, uint32_t sample, bool quiet);

/* Offers bytes that were read after a disk_get() that had none. Takes a reference of its
 * own until they are written; false: it has them, or can't keep them. */
bool disk_offer(struct disk *disk, uint32_t sample, struct blob *blob);

/* The bytes came from another file than disk_get() has asked: their offer is refused. */
void disk_doubt(struct disk *disk, uint32_t sample);

/* Waits until nothing that was offered is still to be written. */
void disk_settle(struct disk *disk);

/* A sample is there, as far as this process knows. */
bool disk_has(const struct disk *disk, uint32_t sample);

void disk_stats(const struct disk *disk, struct disk_stats *stats);

#endif
