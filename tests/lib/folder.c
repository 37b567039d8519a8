#include "tests/lib/folder.h"
#include "loader/base/blob.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WEAK __attribute__((weak))

WEAK uint32_t source_count(const struct source *source)
{
	return source->count;
}

WEAK const struct source_facts *source_facts(const struct source *source)
{
	return &source->facts;
}

WEAK int source_unseal(const struct source *source, uint32_t sample, const void *bytes,
		       struct source_part *part, const char **why)
{
	(void)source;
	(void)sample;
	(void)bytes;
	(void)part;
	(void)why;
	return 0;
}

WEAK bool source_outdated(const struct source *source, uint32_t sample)
{
	(void)source;
	(void)sample;
	return false;
}

WEAK bool source_sealed(const struct source *source)
{
	(void)source;
	return false;
}

WEAK uint32_t source_size(const struct source *source, uint32_t sample)
{
	return source->place[sample].size;
}

WEAK void source_place(const struct source *source, uint32_t sample, char *buffer,
		       struct source_place *place)
{
	((struct source *)(uintptr_t)source)->asked[sample] = true;
	*place = source->place[sample];
	place->dir = source->dir;
	if (place->path != NULL)
		place->path = strcpy(buffer, place->path);
}

struct source *folder_new(const char *where)
{
	struct source *source = calloc(1, sizeof(*source));

	snprintf(source->folder, sizeof(source->folder), "%s/dsa-fetch.XXXXXX", where);
	assert_non_null(mkdtemp(source->folder));
	source->dir = open(source->folder, O_RDONLY | O_DIRECTORY);
	assert_true(source->dir >= 0);
	return source;
}

void folder_free(struct source *source)
{
	for (uint32_t i = 0; i < source->count; i++)
		if (source->place[i].path != NULL &&
		    unlinkat(source->dir, source->place[i].path, 0) < 0 &&
		    errno == EISDIR)
			unlinkat(source->dir, source->place[i].path, AT_REMOVEDIR);
	close(source->dir);
	assert_int_equal(rmdir(source->folder), 0);
	free(source);
}

unsigned char folder_byte(const char *name, size_t i)
{
	return (unsigned char)(name[0] + i * 7 + i / 251);
}

void folder_add(struct source *source, const char *name, size_t size, uint32_t told)
{
	int fd = openat(source->dir, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	unsigned char *bytes = malloc(size + 1);

	for (size_t i = 0; i < size; i++)
		bytes[i] = folder_byte(name, i);
	assert_int_equal(write(fd, bytes, size), size);
	free(bytes);
	close(fd);
	source->place[source->count++] =
		(struct source_place){.path = name, .size = told};
}

const char *const folder_names[FOLDER_FILES] = {
	"a one byte", "b a little less", "c one block", "d one more",
	"e page",     "f page and more", "g\nnew line", "h \"quoted\" <script>",
	"i large",
};
const uint32_t folder_sizes[FOLDER_FILES] = {1,    511,    512,    513,    4096,
					     4097, 110000, 131072, 3000000};

struct source *folder_usual(const char *where)
{
	struct source *source = folder_new(where);

	for (int i = 0; i < FOLDER_FILES; i++)
		folder_add(source, folder_names[i], folder_sizes[i], folder_sizes[i]);
	return source;
}

struct source *folder_of_one(const char *where)
{
	struct source *source = folder_new(where);

	folder_add(source, "x", 1000, 1000);
	for (source->count = 1; source->count < FOLDER_MOST; source->count++)
		source->place[source->count] = source->place[0];
	return source;
}

void folder_check(const struct blob *blob, const char *name, size_t size)
{
	folder_check_part(blob, name, 0, size);
}

void folder_check_part(const struct blob *blob, const char *name, size_t offset,
		       size_t size)
{
	assert_non_null(blob);
	assert_int_equal(blob->size, size);
	for (size_t i = 0; i < size; i++)
		if (blob->data[i] != folder_byte(name, offset + i))
			fail_msg("%s: byte %zu is wrong", name, i);
}
