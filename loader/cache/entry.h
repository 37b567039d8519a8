/*
 * entry.h - a cache entry that threads may get while another one evicts it, without
 * a lock.
 *
 *	 63     48 47                                          0
 *	+---------+---------------------------------------------+
 *	|  given  |               struct blob *                 |     0: empty
 *	+---------+---------------------------------------------+
 *
 * A full entry owns ENTRY_STOCK - given references of its blob, paid in advance when
 * it was filled. A getter takes one of them by adding 1 to `given`, in the very step
 * that reads the pointer: so it never touches a blob to which it has no reference.
 * Whoever empties the entry ends those that were not given. A getter that finds the
 * stock half empty pays for another half.
 */
#ifndef DSA_CACHE_ENTRY_H
#define DSA_CACHE_ENTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blob;

struct entry {
	_Atomic uint64_t word;
};

enum { ENTRY_STOCK = 0xffff, ENTRY_HALF = 0x8000 };

/* The blob, with a reference for the caller; NULL if the entry is empty. Any thread. */
struct blob *entry_get(struct entry *entry);

bool entry_full(const struct entry *entry);

/* Fills an empty entry; one thread at a time. False if the address has over 48 bits. */
bool entry_fill(struct entry *entry, struct blob *blob);

/* Empties the entry. Returns the bytes its blob has. */
size_t entry_clear(struct entry *entry);

#endif
