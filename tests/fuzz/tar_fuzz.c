/*
 * tar_fuzz.c - an archive may hold anything: each member that is found lies within it,
 * or one line says what is wrong.
 *
 * Checksums of blocks with tar's magic are made good, or nothing but them would ever be
 * tested. The first byte is how much is read at once.
 */
#include "loader/base/error.h"
#include "loader/source/shard/tar_header.h"
#include "loader/source/shard/tar_reader.h"
#include "tests/lib/memory_object.h"
#include "tests/lib/tar_bytes.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(struct tar_reader *reader, const struct memory_object *memory)
{
	struct tar_member member;
	struct error err = {0};
	int result;

	while ((result = tar_reader_next(reader, &member, &err)) > 0) {
		struct error late = {0};

		if (strlen(member.name) >= PATH_MAX || member.offset > memory->size ||
		    member.size > memory->size - member.offset)
			abort();
		if (member.size <= SHARD_MOST &&
		    memcmp(tar_reader_bytes(reader, &member, &late),
			   memory->bytes + member.offset, (size_t)member.size) != 0)
			abort();
	}
	if (result < 0 && (err.code == 0 || err.message[0] == '\0' ||
			   strchr(err.message, '\n') != NULL))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory_object memory = {
		.size = size > 0 ? size - 1 : 0,
		.most = size > 0 ? 1 + 64u * data[0] : 1,
	};
	struct shard_object object = {
		.state = &memory,
		.size = memory.size,
		.gap = 64 << 10,
		.least = 4 << 10,
		.read = memory_object_read,
	};
	struct tar_reader reader;

	memory.bytes = malloc(memory.size + 1);
	if (memory.bytes == NULL)
		return 0;
	if (size > 1)
		memcpy(memory.bytes, data + 1, memory.size);
	for (size_t at = 0; at + TAR_BLOCK <= memory.size; at += TAR_BLOCK)
		if (memcmp(memory.bytes + at + 257, "ustar", 5) == 0)
			tar_bytes_sum(memory.bytes + at);
	if (tar_reader_init(&reader, &object) == 0) {
		read_all(&reader, &memory);
		tar_reader_fini(&reader);
	}
	free(memory.bytes);
	return 0;
}
