#include "tests/lib/tar_bytes.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 512 };

void tar_bytes_sum(unsigned char *header)
{
	unsigned sum = 0;
	char text[8];

	memset(header + 148, ' ', 8);
	for (int i = 0; i < BLOCK; i++)
		sum += header[i];
	snprintf(text, sizeof(text), "%06o", sum);
	memcpy(header + 148, text, 7);
}

unsigned char *tar_bytes_add(struct tar_bytes *tar, char type, const char *name,
			     const void *data, size_t size)
{
	unsigned char *header = tar->bytes + tar->size;
	size_t whole = BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
	char text[13];

	assert_true(tar->size + whole <= TAR_BYTES);
	memset(header, 0, whole);
	memcpy(header, name, strnlen(name, 100));
	snprintf(text, sizeof(text), "%011zo", size);
	memcpy(header + 124, text, 12);
	header[156] = (unsigned char)type;
	memcpy(header + 257, "ustar\00000", 8);
	tar_bytes_sum(header);
	if (size > 0)
		memcpy(header + BLOCK, data, size);
	tar->size += whole;
	return header;
}

unsigned char *tar_bytes_text(struct tar_bytes *tar, char type, const char *name,
			      const char *text)
{
	return tar_bytes_add(tar, type, name, text, strlen(text));
}

void tar_bytes_write(const struct tar_bytes *tar, const char *path)
{
	static const unsigned char zeros[2 * BLOCK];
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(tar->bytes, 1, tar->size, file), tar->size);
	assert_int_equal(fwrite(zeros, 1, sizeof(zeros), file), sizeof(zeros));
	assert_int_equal(fclose(file), 0);
}
