/*
 * reader_parts.h - what one vectored read brings for several samples of a file: each into
 * its own blob. Private to loader/fetch/.
 *
 *	the file	[ a ]....[ b ][ c ]..[ d ]
 *	vec		 a   gap  b    c gap  d		one chunk: at most IOV_MAX of them
 *
 * What lies between samples goes into `gap`, one over the other. What two have in common, as
 * windows of tokens, is read into the first and copied to the second. O_DIRECT, which wants
 * all of it aligned, has no such reads.
 */
#ifndef DSA_FETCH_READER_PARTS_H
#define DSA_FETCH_READER_PARTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct blob;
struct fetch_job;
struct reader;

struct reader_part {
	struct blob *blob; /* whoever takes it leaves NULL */
	size_t shared;     /* bytes, its first ones, that end the sample before */
};

struct reader_parts {
	uint64_t from;    /* byte of the file at which the first sample begins */
	size_t bytes;     /* of all, with what lies between samples */
	uint32_t count;   /* samples */
	unsigned vecs;    /* of `vec`: at most 2 a sample */
	struct blob *gap; /* NULL: nothing lies between samples */
	struct reader_part *samples;
	struct iovec vec[];
};

/* Room for the members of a job; NULL: no memory. Ends with reader_parts_free(), which
 * takes NULL, too. */
struct reader_parts *reader_parts_new(const struct reader *reader,
				      const struct fetch_job *job);
void reader_parts_free(struct reader_parts *parts);

/* All was read: copies what samples have in common. Before any of them is taken. */
void reader_parts_fill(struct reader_parts *parts);

/* The vecs from `at` on that one call may read, at least 1; adds their bytes to *bytes. */
unsigned reader_parts_chunk(const struct reader_parts *parts, unsigned at,
			    size_t *bytes);

#endif
