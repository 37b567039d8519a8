/*
 * example.h - the features of a tf.train.Example, one after another.
 *
 * It is five messages of Protocol Buffers, whose wire format is a tag and a value, again
 * and again, so it is walked by hand: that skips a picture without reading it, takes no
 * memory and needs no library.
 *
 *	Example { 1: Features { 1: { 1: name, 2: Feature {
 *		1: { 1: bytes ... } or 2: { 1: float ... } or 3: { 1: int64 ... } } } ... } }
 *
 * https://protobuf.dev/programming-guides/encoding has the format. No number is trusted.
 */
#ifndef DSA_EXAMPLE_H
#define DSA_EXAMPLE_H

#include <stddef.h>
#include <stdint.h>

enum { EXAMPLE_NAME = 256 }; /* bytes of the longest name and its 0 */

/* What is walked through. */
struct example_bytes {
	void *context;
	/* The `size` bytes (below EXAMPLE_NAME) at `at`, until the next call. NULL: they
	 * can't be read. */
	const unsigned char *(*get)(void *context, uint64_t at, size_t size);
};

/* Those in memory, at *memory, which stays where it is. */
void example_bytes_of(struct example_bytes *bytes, const unsigned char **memory);

enum example_kind { EXAMPLE_NONE, EXAMPLE_BYTES, EXAMPLE_FLOAT, EXAMPLE_INT64 };

struct example_feature {
	char name[EXAMPLE_NAME];
	enum example_kind kind; /* NONE: there is no value */
	uint64_t at, size;      /* BYTES: of the first value */
	int64_t number;         /* INT64: the first value */
};

/* What is left of a message. */
struct example_span {
	uint64_t at, end;
};

struct example {
	const struct example_bytes *bytes;
	struct example_span outer, inner; /* the Example; its Features */
};

void example_begin(struct example *example, const struct example_bytes *bytes,
		   uint64_t from, uint64_t size);

/* 1; 0 at the end; -EBADMSG: it is no Example; -EIO: it can't be read. */
int example_next(struct example *example, struct example_feature *feature);

#endif
