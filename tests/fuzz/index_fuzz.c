/*
 * index_fuzz.c - a kept index may hold anything: it is refused, or all of it can be
 * read.
 *
 * The input is what follows the checksum, which is made good, or nothing but it would
 * ever be tested.
 */
#include "loader/source/index/index.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(const struct index *index)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < index->head->samples; i++) {
		char buffer[PATH_MAX];

		bytes += strlen(index_path(index, i, buffer));
		bytes += strlen(index->text + index->classes[index->samples[i].label]);
	}
	for (uint32_t i = 0; i < index->head->folders; i++)
		bytes += strlen(index->text + index->folders[i].path);
	if (bytes > (uint64_t)index_size(index) * index_size(index))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct index_plan plan = {1, 1, 1, 1, false};
	size_t start = offsetof(struct index_head, folders);
	struct index model, index;
	char *block;

	if (index_new(&model, &plan, NULL) < 0)
		return 0;
	block = calloc(1, start + size + 1);
	if (block != NULL) {
		memcpy(block, model.head->magic, sizeof(model.head->magic));
		if (size > 0)
			memcpy(block + start, data, size);
		if (start + size >= sizeof(struct index_head))
			index_seal(block, start + size);
		if (index_adopt(&index, block, start + size))
			read_all(&index);
	}
	free(block);
	index_free(&model);
	return 0;
}
