/* tar_archive.c - headers and what follows them, in blocks of 512 bytes. */
#include "profiler/dataset/archive/tar_archive.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TAR_ARCHIVE_BLOCK = 512 };

/* What a header has where; numbers are octal digits. */
enum { MODE_AT = 100, UID_AT = 108, GID_AT = 116, SIZE_AT = 124, TIME_AT = 136 };
enum { SUM_AT = 148, TYPE_AT = 156, MAGIC_AT = 257 };

static void tar_archive_number(uint8_t *header, size_t at, int digits, size_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%0*zo", digits, value);
	memcpy(header + at, text, (size_t)digits + 1);
}

static void tar_archive_header(uint8_t *header, const char *name, size_t size)
{
	size_t sum = 0;

	memcpy(header, name, strlen(name));
	tar_archive_number(header, MODE_AT, 7, 0644);
	tar_archive_number(header, UID_AT, 7, 0);
	tar_archive_number(header, GID_AT, 7, 0);
	tar_archive_number(header, SIZE_AT, 11, size);
	tar_archive_number(header, TIME_AT, 11, 0);
	memset(header + SUM_AT, ' ', 8);
	header[TYPE_AT] = '0';
	memcpy(header + MAGIC_AT, "ustar\00000", 8);
	for (int i = 0; i < TAR_ARCHIVE_BLOCK; i++)
		sum += header[i];
	tar_archive_number(header, SUM_AT, 6, sum);
}

int tar_archive_add(struct archive *archive, const char *name, const void *bytes,
		    size_t size)
{
	size_t blocks = (size + TAR_ARCHIVE_BLOCK - 1) / TAR_ARCHIVE_BLOCK;
	uint8_t *header;

	if (strlen(name) > TAR_ARCHIVE_NAME)
		return -ENAMETOOLONG;
	header = archive_more(archive, (1 + blocks) * TAR_ARCHIVE_BLOCK);
	if (header == NULL)
		return -ENOMEM;
	tar_archive_header(header, name, size);
	if (size > 0)
		memcpy(header + TAR_ARCHIVE_BLOCK, bytes, size);
	return 0;
}

int tar_archive_end(struct archive *archive)
{
	return archive_more(archive, 2 * (size_t)TAR_ARCHIVE_BLOCK) != NULL ? 0
									    : -ENOMEM;
}
