/* list_fuzz.c - a list file may hold anything: its index is sound or it is refused. */
#include "loader/base/error.h"
#include "loader/source/list.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct index *index)
{
	struct index again;

	if (index_finish(index, NULL) < 0)
		return;
	if (!index_adopt(&again, index->head, index_size(index)))
		abort();
	for (uint32_t i = 0; i < index->head->samples; i++) {
		char buffer[PATH_MAX];
		size_t length = strlen(index_path(index, i, buffer));

		if (length == 0 || length >= PATH_MAX)
			abort();
	}
}

/* A list with a large label names a million classes: right, but slow to try often. */
static bool slow(const uint8_t *data, size_t size)
{
	unsigned digits = 0;

	for (size_t i = 0; i < size && digits < 5; i++)
		digits = data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
	return digits == 5;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct index_stamp stamp = {0};
	struct error err = {0};
	struct index index = {0};
	char *text = slow(data, size) ? NULL : malloc(size + 1);

	if (text == NULL)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (list_parse(text, size, "list", &stamp, &index, &err) == 0)
		check(&index);
	else if (err.code == 0 || err.message[0] == '\0' || strchr(err.message, '\n'))
		abort();
	index_free(&index);
	free(text);
	return 0;
}
