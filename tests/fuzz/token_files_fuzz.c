/*
 * token_files_fuzz.c - files of tokens may have any size: windows lie in their files, or are
 * refused. The input: 4 bytes of length, then 8 of each file's size, whose top bit says how
 * wide its tokens are.
 */
#include "loader/base/error.h"
#include "loader/source/token_files.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES = 8 };

static void require(int fact)
{
	if (!fact)
		abort();
}

static void check(const struct token_files *files, uint32_t window)
{
	uint64_t offset;
	const struct token_file *file = token_files_find(files, window, &offset);

	require(file >= files->files && file < files->files + files->count);
	require(file->first <= window && (offset & ((1u << file->shift) - 1)) == 0);
	require(offset + token_files_window(files, file) <= file->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct token_file file[FILES];
	struct token_files files = {.files = file};
	struct error err = {0};

	if (size < sizeof(files.length))
		return 0;
	memcpy(&files.length, data, sizeof(files.length));
	files.length = files.length % 1048576 + 1;
	data += sizeof(files.length);
	size -= sizeof(files.length);
	for (; size >= 8 && files.count < FILES; size -= 8, data += 8) {
		uint64_t bytes;

		memcpy(&bytes, data, sizeof(bytes));
		file[files.count++] = (struct token_file){
			.size = bytes << 1 >> 1, .shift = bytes >> 63 != 0 ? 2 : 1};
	}
	if (token_files_lay_out(&files, &err) < 0) {
		require(err.message[0] != '\0');
		return 0;
	}
	check(&files, 0);
	check(&files, files.windows - 1);
	check(&files, files.windows / 2);
	for (uint32_t i = 0; i < files.count; i++)
		if (file[i].first < files.windows)
			check(&files, (uint32_t)file[i].first);
	return 0;
}
