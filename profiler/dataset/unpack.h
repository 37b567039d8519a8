/*
 * unpack.h - compressed tar archives, unpacked, so that samples can be read from the middle
 * of them.
 *
 *	FROM/train-000.tar.gz	->	TO/train-000.tar
 *
 * The program that its ending names does it: gzip, zstd, xz, bzip2 or lz4. An archive gets
 * its name once it is whole, on the disk, and has samples in it; those that are there are
 * taken for whole, so that the same call goes on where the last one ended.
 */
#ifndef DSA_UNPACK_H
#define DSA_UNPACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct unpack_config {
	const char *from;        /* one of them, or a folder that has some */
	const char *to;          /* is made if it is not there */
	const char *prep;        /* as that of struct repack_config */
	const atomic_bool *stop; /* as that of struct convert_config */
	void (*progress)(void *arg, size_t done, size_t all);
	void *arg;
};

struct unpack_result {
	uint32_t archives, there; /* there: before this call */
	uint64_t bytes;
};

/* True of what unpack_run() is for: of a folder, unless it is a data set without its archives.
 * prep: as that of struct repack_config. */
bool unpack_claims(const char *from, const char *prep);

/* Compressed archives in a folder; 0 of anything else. */
unsigned unpack_count(const char *folder);

/* 0 and *result; or -errno: -EINVAL of a folder that has archives which are not compressed,
 * too, -ECANCELED when stopped. What was made stays. */
int unpack_run(const struct unpack_config *config, struct unpack_result *result,
	       struct error *err);

#endif
