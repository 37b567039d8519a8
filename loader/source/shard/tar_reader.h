/* tar_reader.h - the members of a tar archive, one after another. */
#ifndef DSA_TAR_READER_H
#define DSA_TAR_READER_H

#include "loader/source/shard/shard_reader.h"

#include <stdbool.h>

struct error;

struct tar_member {
	const char *
		name; /* any bytes but 0, at most PATH_MAX with its 0; until the next */
	uint64_t offset, size; /* of its bytes, all of which are there */
	bool file;             /* else a folder, link or device */
};

struct tar_reader {
	struct shard_window window;
	uint64_t at;     /* of the next header */
	char *long_name; /* room for PATH_MAX */
	bool named;      /* long_name is of the next member */
	bool sized;      /* so is size */
	uint64_t size;
	char name[257]; /* of the last member, if it was short */
};

/* 0 or -ENOMEM. The object outlives the reader. */
int tar_reader_init(struct tar_reader *reader, const struct shard_object *object);
void tar_reader_fini(struct tar_reader *reader);

/*
 * 1 and *member; 0 at the end; or -errno, and err says what is wrong and at which byte,
 * without the archive's name: -EBADMSG what is no tar, -ENOTSUP what can't be read here,
 * -ENODATA an archive that ends before its members do.
 */
int tar_reader_next(struct tar_reader *reader, struct tar_member *member,
		    struct error *err);

/* The bytes of the last member, at most SHARD_MOST, until the next call. NULL and err. */
const char *tar_reader_bytes(struct tar_reader *reader, const struct tar_member *member,
			     struct error *err);

#endif
