/* tar_header.c - reads the blocks of a tar archive. */
#include "loader/source/shard/tar_header.h"

#include <errno.h>
#include <string.h>

/* Where a header has what. Numbers are octal digits, or base 256 after a byte 0x80. */
enum {
	AT_NAME = 0,
	NAME_ROOM = 100,
	AT_SIZE = 124,
	SIZE_ROOM = 12,
	AT_CHECKSUM = 148,
	CHECKSUM_ROOM = 8,
	AT_TYPE = 156,
	AT_MAGIC = 257,
	AT_PREFIX = 345,
	PREFIX_ROOM = 155,
};

static const uint64_t size_limit = UINT64_C(1) << 62;

static bool tar_octal(const unsigned char *field, size_t room, uint64_t *value)
{
	size_t at = 0;

	*value = 0;
	while (at < room && field[at] == ' ')
		at++;
	for (; at < room && field[at] >= '0' && field[at] <= '7'; at++)
		*value = *value << 3 | (uint64_t)(field[at] - '0');
	return at == room || field[at] == '\0' || field[at] == ' ';
}

/* GNU's way to write what octal digits can't hold. */
static bool tar_binary(const unsigned char *field, size_t room, uint64_t *value)
{
	*value = field[0] & 0x7f;
	for (size_t at = 1; at < room; at++) {
		if (*value >> 54 != 0)
			return false;
		*value = *value << 8 | field[at];
	}
	return true;
}

static bool tar_size(const unsigned char *field, uint64_t *size)
{
	if ((field[0] & 0x80) == 0)
		return tar_octal(field, SIZE_ROOM, size);
	return tar_binary(field, SIZE_ROOM, size) && *size < size_limit;
}

/* The sum of all bytes, with blanks instead of the checksum itself. Eight at a time, in
 * four lanes, which all of a block's can't fill. */
static uint64_t tar_sum(const unsigned char *block)
{
	const uint64_t even = UINT64_C(0x00ff00ff00ff00ff);
	uint64_t sum = (uint64_t)CHECKSUM_ROOM * ' ', lanes = 0;

	for (int i = 0; i < TAR_BLOCK; i += 8) {
		uint64_t word;

		memcpy(&word, block + i, sizeof(word));
		lanes += (word & even) + (word >> 8 & even);
	}
	for (; lanes != 0; lanes >>= 16)
		sum += lanes & 0xffff;
	for (int i = AT_CHECKSUM; i < AT_CHECKSUM + CHECKSUM_ROOM; i++)
		sum -= block[i];
	return sum;
}

static bool tar_zeros(const unsigned char *block)
{
	return block[0] == 0 && memcmp(block, block + 1, TAR_BLOCK - 1) == 0;
}

/* POSIX has a prefix before the name; GNU keeps other things there. */
static void tar_name(const unsigned char *block, char *name)
{
	const char *text = (const char *)block;
	size_t used = 0;

	if (memcmp(block + AT_MAGIC, "ustar\0", 6) == 0 && block[AT_PREFIX] != 0) {
		used = strnlen(text + AT_PREFIX, PREFIX_ROOM);
		memcpy(name, text + AT_PREFIX, used);
		name[used++] = '/';
	}
	memcpy(name + used, text + AT_NAME, NAME_ROOM);
	name[used + NAME_ROOM] = '\0';
}

static enum tar_kind tar_kind_of(unsigned char type)
{
	switch (type) {
	case '\0':
	case '0':
	case '7': /* contiguous, which nobody minds */
		return TAR_FILE;
	case 'x':
		return TAR_PAX;
	case 'g':
		return TAR_PAX_GLOBAL;
	case 'L':
		return TAR_LONG_NAME;
	default:
		return TAR_OTHER;
	}
}

int tar_header_read(const unsigned char block[TAR_BLOCK], struct tar_header *header,
		    const char **why)
{
	unsigned char type = block[AT_TYPE];
	uint64_t checksum;

	*header = (struct tar_header){.kind = TAR_END};
	if (tar_zeros(block))
		return 0;
	if (!tar_octal(block + AT_CHECKSUM, CHECKSUM_ROOM, &checksum) ||
	    checksum != tar_sum(block)) {
		*why = "no tar header is there, or its checksum is wrong";
		return -EBADMSG;
	}
	if (type == 'S') {
		*why = "a sparse file, which can't be read in one piece";
		return -ENOTSUP;
	}
	if (!tar_size(block + AT_SIZE, &header->size)) {
		*why = "a member's size is no number below 2^62";
		return -EBADMSG;
	}
	header->kind = tar_kind_of(type);
	/* Links, folders and devices have no bytes, whatever they say. */
	if (type >= '1' && type <= '6')
		header->size = 0;
	tar_name(block, header->name);
	return 0;
}

/* A decimal number up to `stop`; false if there is anything else, or too much. */
static bool tar_decimal(const char *text, size_t size, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9' || *value >= size_limit / 10)
			return false;
		*value = 10 * *value + (uint64_t)(text[i] - '0');
	}
	return size > 0;
}

static bool tar_key_is(const char *record, size_t size, const char *key)
{
	size_t length = strlen(key);

	return size >= length && memcmp(record, key, length) == 0;
}

/* A record without its length and newline. */
static int tar_pax_record(const char *record, size_t size, struct tar_pax *pax,
			  const char **why)
{
	if (tar_key_is(record, size, "GNU.sparse.")) {
		*why = "a sparse file, which can't be read in one piece";
		return -ENOTSUP;
	}
	if (tar_key_is(record, size, "path=")) {
		pax->path = record + 5;
		pax->path_size = size - 5;
	}
	if (!tar_key_is(record, size, "size="))
		return 0;
	pax->sized = true;
	if (tar_decimal(record + 5, size - 5, &pax->size))
		return 0;
	*why = "a member's size is no number below 2^62";
	return -EBADMSG;
}

int tar_pax_read(const char *text, size_t size, struct tar_pax *pax, const char **why)
{
	while (size > 0) {
		const char *blank = memchr(text, ' ', size);
		uint64_t length;
		size_t digits;
		int result;

		*why = "its pax header is broken";
		if (blank == NULL)
			return -EBADMSG;
		digits = (size_t)(blank - text) + 1;
		if (!tar_decimal(text, digits - 1, &length) || length > size ||
		    length <= digits || text[length - 1] != '\n')
			return -EBADMSG;
		result = tar_pax_record(text + digits, (size_t)length - digits - 1, pax,
					why);
		if (result < 0)
			return result;
		text += length;
		size -= (size_t)length;
	}
	return 0;
}
