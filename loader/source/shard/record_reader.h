/*
 * record_reader.h - the records of a TFRecord file, one after another.
 *
 *	| length, 8 bytes | checksum of these 8 | length bytes | checksum of them | length ...
 *
 * Numbers have their lowest byte first; checksums are crc32c_masked().
 */
#ifndef DSA_RECORD_READER_H
#define DSA_RECORD_READER_H

#include "loader/source/shard/shard_reader.h"

#include <stdbool.h>

struct error;

enum { RECORD_HEAD = 12, RECORD_TAIL = 4 };

struct record_reader {
	struct shard_window window;
	uint64_t at; /* of the next head */
};

/* 0 or -ENOMEM. The object outlives the reader. */
int record_reader_init(struct record_reader *reader, const struct shard_object *object);
void record_reader_fini(struct record_reader *reader);

/*
 * 1, and the record's bytes are the *size at *at, all of which are there, as is their
 * checksum behind them, which is not looked at; 0 at the end; or -errno, and err says
 * what is wrong and at which byte, without the file's name: -EBADMSG what is no TFRecord,
 * -ENODATA a file that ends before its records do.
 */
int record_reader_next(struct record_reader *reader, uint64_t *at, uint64_t *size,
		       struct error *err);

/* Do `size` bytes match the checksum in the RECORD_TAIL bytes behind them? */
bool record_matches(const unsigned char *bytes, size_t size);

#endif
