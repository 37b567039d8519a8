/*
 * store.h - objects in a folder that processes share, of bounded size. Private to
 * loader/disk/.
 *
 *	DIR/dsa-cache	a page that all processes map: what the files take together
 *	DIR/new/	files that are being written
 *	DIR/00 .. ff/	objects: see stored.h
 *
 * What a file takes is added to the shared page before it is written, and taken off after
 * it is removed: whoever is killed in between leaves the sum too large, never too small.
 * The first process that opens the folder counts anew, by names alone, and clears new/.
 * While a process has the folder open it holds a shared flock() on the page.
 */
#ifndef DSA_DISK_STORE_H
#define DSA_DISK_STORE_H

#include "loader/disk/stored.h"

#include <pthread.h>
#include <stdatomic.h>

struct blob;
struct blob_pool;
struct error;
struct stat;

enum store_order { STORE_KEEPS, STORE_OLDEST_READ, STORE_OLDEST_WRITTEN };

struct store_page {
	char magic[8];
	atomic_uint_fast64_t bytes, entries;
	atomic_uint_fast64_t dropped, evicted; /* since the folder was made */
	atomic_bool counting; /* the first process is not ready, or was killed before */
};

/* What goes next, the oldest last; guarded by lock. */
struct store_victims {
	struct store_victim *list;
	size_t count;
	bool swept; /* by a store that keeps: once is enough */
};

struct store {
	int folder, page_file;
	struct store_page *page;
	enum store_order order;
	atomic_uint_fast64_t bound; /* is lowered where the disk is full */
	struct blob_pool *pool;
	atomic_bool direct; /* O_DIRECT works here */
	atomic_int stopped; /* errno value: nothing is written any more */
	atomic_int full;    /* errno value: the disk took less than the bound */
	atomic_uint_fast64_t dropped, stale; /* by this process */
	atomic_uint_fast64_t evicted;
	atomic_uint_fast64_t reads_begun, reads, read_bytes; /* pread() */
	atomic_uint number; /* of the next file in new/ */
	pthread_mutex_t lock;
	struct store_victims victims;
};

/* What is called for each object of the folder; time_ns is 0 without `times`, else by
 * store_time(). */
typedef int (*store_each)(void *context, const struct stored_key *key, int64_t time_ns);

struct store_scan {
	store_each each;
	void *context;
	bool times;
};

/*
 * Opens a folder into *store, calling `each` for what is there. Returns 0 or -errno, and
 * then holds nothing.
 */
int store_open(struct store *store, const char *folder, const struct store_scan *scan,
	       struct error *err);
void store_close(struct store *store);

/*
 * Reads an object. With `use`, an order that asks for it learns of the use. 0; -ENOENT;
 * -ESTALE and -EBADMSG of one that was removed because it was another version, or torn;
 * -ENOMEM, -EIO.
 */
int store_read(struct store *store, const struct stored_key *key, bool use,
	       struct blob **blob);

/* Writes one of `length` bytes, 1 .. key->size. 0; -EEXIST: it is there; -EDQUOT: there is no
 * room below the bound; else why the disk could not. Where that is for good, `full` is set:
 * an order that evicts goes on within what the folder holds, what keeps is `stopped`. */
int store_write(struct store *store, const struct stored_key *key, const void *bytes,
		uint32_t length);

/* Removes one. True if it was this call that did. */
bool store_remove(struct store *store, const struct stored_key *key);

/* The same of one that is of another version, and counts it. */
void store_remove_stale(struct store *store, const struct stored_key *key);

/* store_scan.c: 0, or the first negative result of `each`, or -errno. */
int store_list(struct store *store, const struct store_scan *scan);

/* store_evict.c: makes room of that many bytes, and takes it. False: there is none. */
bool store_reserve(struct store *store, uint64_t bytes);
void store_release(struct store *store, uint64_t bytes);

/* The time of a file that the order goes by: when it was written or, unless that is all the
 * order asks for, last used. */
int64_t store_time(const struct store *store, const struct stat *status);

#endif
