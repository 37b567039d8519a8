/* tar_bytes.h - a tar archive in memory, written as ustar says, or as a test wants it. */
#ifndef DSA_TESTS_TAR_BYTES_H
#define DSA_TESTS_TAR_BYTES_H

#include <stddef.h>

enum { TAR_BYTES = 1 << 16 };

struct tar_bytes {
	size_t size;
	unsigned char bytes[TAR_BYTES];
};

/* A header, its bytes and what fills up the block. Returns the header, to be changed and
 * summed again. Fails the test when there is no room. */
unsigned char *tar_bytes_add(struct tar_bytes *tar, char type, const char *name,
			     const void *data, size_t size);

/* The same with text. */
unsigned char *tar_bytes_text(struct tar_bytes *tar, char type, const char *name,
			      const char *text);

/* Makes the checksum of a header good. */
void tar_bytes_sum(unsigned char *header);

/* Writes the archive to a file, with two blocks of zeros behind it. */
void tar_bytes_write(const struct tar_bytes *tar, const char *path);

#endif
