/* sample_file.h - reads the encoded bytes of single samples, one after another. */
#ifndef DSA_SAMPLE_FILE_H
#define DSA_SAMPLE_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct net;
struct source;
struct source_place;

/* Room that grows and is used again; begin with zeros. */
struct sample_bytes {
	uint8_t *bytes;
	size_t size, room;

	const atomic_bool *stop; /* gives up what a server is asked for; may be NULL */
	uint8_t *object;         /* of a server, which was read whole */
	struct net *net;
};

void sample_bytes_fini(struct sample_bytes *bytes);

struct sample_file {
	int fd; /* -1: in memory */
	const uint8_t *memory;
	uint64_t offset, size; /* in the file */
};

/* Errors are -errno, and err says what is wrong, without the sample's name. After a failure
 * too the file is to be closed. An object of a server is read into `room`, for as long as it
 * holds no other. */
int sample_file_open(const struct source *source, uint32_t sample,
		     struct sample_bytes *room, struct sample_file *file,
		     struct error *err);
void sample_file_close(struct sample_file *file);

/* `size` bytes from `from` on; -EIO when there are not so many (any more). */
int sample_file_read(const struct sample_file *file, uint64_t from, uint8_t *to,
		     size_t size);

/* The whole of it. */
int sample_file_load(const struct sample_file *file, struct sample_bytes *into,
		     struct error *err);

/* The same with open and close. */
int sample_load(const struct source *source, uint32_t sample, struct sample_bytes *into,
		struct error *err);

/* True of an error that the samples after it would have, too: their server is gone, or
 * refuses whoever asks. Then *err names the sample. */
bool sample_file_is_lost(const struct source *source, uint32_t sample,
			 struct error *err);

/* All that lies at a place. */
int sample_load_place(const struct source_place *place, struct sample_bytes *into,
		      struct error *err);

#endif
