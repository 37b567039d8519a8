/* stored_fuzz.c - a file of a cache on disk, and its name: refused, or what was written. */
#include "loader/disk/stored.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A name that is taken is the one that would be written. */
static void check_name(const uint8_t *data, size_t size)
{
	char *name = strndup((const char *)data, size), path[STORED_NAME];
	struct stored_key key = {.version = 0};

	if (name != NULL && stored_read_name(name, &key)) {
		stored_path(&key, path);
		if (strcmp(path + 3, name) != 0 || strncmp(path, name, 2) != 0)
			abort();
	}
	free(name);
}

/* Bytes are whole under the head that is made for them, and under no other. */
static void check_made(const uint8_t *data, size_t size)
{
	struct stored_key key = {
		.id = {size, 1}, .version = 2, .size = (uint32_t)(size - STORED_HEAD)};
	unsigned char *file = malloc(size);

	if (file == NULL)
		return;
	memcpy(file, data, size);
	stored_make_head(&key, file + STORED_HEAD, key.size, file);
	if (stored_check(&key, file, size) != 0 ||
	    stored_check(&key, file, size - 1) == 0)
		abort();
	key.version++;
	if (stored_check(&key, file, size) == 0)
		abort();
	key.version--;
	file[data[0] % size] ^= 1;
	if (stored_check(&key, file, size) == 0)
		abort();
	free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stored_key key = {.version = 0};

	check_name(data, size);
	if (size <= STORED_HEAD)
		return 0;
	memcpy(&key, data, sizeof(key));
	key.size = (uint32_t)(size - STORED_HEAD);
	stored_check(&key, data, size);
	check_made(data, size);
	return 0;
}
