/*
 * stored.h - what a stored object is called, and how its file begins.
 *
 *	ab/abcdef...-0001e240	folder: the first two digits; then 32 digits of what it
 *				is called where it comes from, and 8 of its bytes
 *
 *	+-------+ 0
 *	| head  | 64 bytes, with the checksums of itself and of the
 *	| bytes |
 *	+-------+ 64 + length
 *
 * Private to loader/disk/.
 */
#ifndef DSA_DISK_STORED_H
#define DSA_DISK_STORED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STORED_HEAD = 64, STORED_NAME = 48, STORED_BLOCK = 4096, STORED_FOLDERS = 256 };

struct stored_key {
	uint64_t
		id[2]; /* a hash of where it comes from; its first byte is the folder */
	uint64_t version; /* of what it was there; not in its name */
	uint32_t size;    /* that its name tells; it has as many bytes, or fewer */
};

/* Bytes that its file takes on disk, in whole blocks. */
static inline uint64_t stored_charge(uint32_t size)
{
	return ((uint64_t)size + STORED_HEAD + STORED_BLOCK - 1) / STORED_BLOCK *
	       STORED_BLOCK;
}

/* "ab/<name>", or without the folder. */
void stored_path(const struct stored_key *key, char path[STORED_NAME]);

/* Reads a name, without a folder; version stays. False: it is none of ours. */
bool stored_read_name(const char *name, struct stored_key *key);

/* Of `length` bytes, 1 .. key->size. */
void stored_make_head(const struct stored_key *key, const void *bytes, uint32_t length,
		      unsigned char head[STORED_HEAD]);

/*
 * Looks whether `size` bytes of a file are the object that the key names, behind its
 * head. 0; -ESTALE: they are of another version; -EBADMSG: they are not whole, or not ours.
 */
int stored_check(const struct stored_key *key, const unsigned char *file, size_t size);

#endif
