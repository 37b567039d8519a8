/*
 * index.h - where the files of a data set are, in one block of memory that is also the
 * file in which the index is kept.
 *
 *	+------+-----------+-----------+-----------+-----------+--------------------+
 *	| head | folders[] | offsets[] | samples[] | classes[] | text: strings, ... |
 *	+------+-----------+-----------+-----------+-----------+--------------------+
 *
 * A sample takes 16 bytes and its name, of a shard 8 more for where it begins. Every
 * string is an offset into the text, and ends with a 0.
 */
#ifndef DSA_SOURCE_INDEX_H
#define DSA_SOURCE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct stat;

struct index_head {
	char magic[8];
	uint64_t checksum; /* XXH3-64 of everything that follows it */
	uint32_t folders, samples, classes;
	uint32_t text;    /* bytes */
	uint64_t bytes;   /* of all samples */
	uint64_t ignored; /* files that were seen and are no samples */
	uint64_t digest;
	uint32_t offsets; /* as many as samples, or 0: these are whole files */
	uint32_t
		features; /* 0; or, in the text, two strings: see index_add_features() */
};

/* A folder, list file or shard as it was when it was read: differs from now if it changed. */
struct index_stamp {
	uint64_t device, inode;
	int64_t modified_ns, changed_ns;
};

struct index_folder {
	struct index_stamp stamp;
	uint32_t path; /* relative to the data set; "" is the data set itself. With
			* offsets, the shard that samples lie in */
	uint32_t reserved;
};

struct index_sample {
	uint32_t name; /* within the folder or shard */
	uint32_t folder;
	uint32_t size; /* bytes; 0 if it could not be reached */
	uint32_t label;
};

struct index {
	struct index_head *head; /* the block; index_free() frees it */
	struct index_folder *folders;
	uint64_t *offsets; /* of samples in their shards */
	struct index_sample *samples;
	uint32_t *classes; /* names */
	char *text;
	struct { /* so much has been filled */
		uint32_t folders, samples, classes, text;
	} used;
};

/* What an index is to hold. */
struct index_plan {
	uint64_t folders, samples, classes, text;
	bool parts; /* samples are parts of files: offsets[] is there, too */
};

/*
 * Allocates an index, zeroed, to be filled by the caller and then by index_finish().
 * -EOVERFLOW if it is to hold more than 32 bits can count.
 */
int index_new(struct index *index, const struct index_plan *plan, struct error *err);
void index_free(struct index *index);

/* These append, as far as planned. The first returns its number; the name of a sample
 * is added with it. The offset of a part is of the sample that comes next. */
uint32_t index_add_folder(struct index *index, const char *path,
			  const struct index_stamp *stamp);
void index_add_sample(struct index *index, const char *name,
		      const struct index_sample *sample);
void index_add_offset(struct index *index, uint64_t offset);
void index_add_class(struct index *index, const char *name);

/* Of the sample or shard added last, of a server's index: its text must come before any
 * other. */
void index_add_etag(struct index *index, const char *etag);
const char *index_etag(const struct index *index, uint32_t sample);

/* Which features of records are the picture and the label: what a server's index keeps,
 * whose records can't be asked again for nothing. */
void index_add_features(struct index *index, const char *image, const char *label);

/* The first of them, behind whose 0 the second begins; NULL: it has none. */
const char *index_features(const struct index *index);

/* True if each sample or shard of an index that was adopted has one. */
bool index_has_etags(const struct index *index);

/* Sets bytes, digest and checksum of a filled index. */
int index_finish(struct index *index, struct error *err);

size_t index_size(const struct index *index); /* of the block, bytes */

/*
 * Takes over a block of `size` bytes that was read from a file, aligned as malloc()
 * does. False if it is no index or any number in it leads out of it; then the block
 * stays the caller's.
 */
bool index_adopt(struct index *index, void *block, size_t size);

/* Recomputes the checksum of a block that is at least a head long. */
void index_seal(void *block, size_t size);

/* Writes the path of a sample, relative to the data set, into buffer (PATH_MAX). */
const char *index_path(const struct index *index, uint32_t sample, char *buffer);

void index_stamp_set(struct index_stamp *stamp, const struct stat *status);

/* What a size is in an index. */
uint32_t index_bytes(const struct stat *status);

#endif
