#include "tests/lib/shard.h"
#include "loader/source/variant.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct shard {
	int dir;
	char path[64];
	struct shard_member members[];
};

static void shard_close(void *state)
{
	struct shard *shard = state;

	close(shard->dir);
	free(shard);
}

static uint32_t shard_size(const void *state, uint32_t sample)
{
	const struct shard *shard = state;

	return shard->members[sample].size;
}

static uint32_t shard_label(const void *state, uint32_t sample)
{
	(void)state;
	(void)sample;
	return 0;
}

static void shard_place(const void *state, uint32_t sample, char *buffer,
			struct source_place *place)
{
	const struct shard *shard = state;

	(void)buffer;
	*place = (struct source_place){
		.dir = shard->dir,
		.path = shard->path,
		.offset = shard->members[sample].offset,
		.size = shard->members[sample].size,
		.part = true,
	};
}

static const char *shard_class(const void *state, uint32_t label)
{
	(void)state;
	return label == 0 ? "shard" : NULL;
}

static const char *shard_name(const void *state, uint32_t sample, char *buffer,
			      size_t size)
{
	const struct shard *shard = state;

	snprintf(buffer, size, "%s[%u]", shard->path, sample);
	return buffer;
}

static const struct source_variant shard_variant = {
	.kind = "shard",
	.close = shard_close,
	.size = shard_size,
	.label = shard_label,
	.place = shard_place,
	.class = shard_class,
	.name = shard_name,
};

struct source *shard_open(const char *folder, const char *path,
			  const struct shard_member *members, uint32_t count)
{
	struct source_facts facts = {.count = count, .classes = 1};
	struct shard *shard = calloc(1, sizeof(*shard) + count * sizeof(*members));
	struct source *source;

	assert_non_null(shard);
	shard->dir = open(folder, O_RDONLY | O_DIRECTORY);
	assert_true(shard->dir >= 0);
	snprintf(shard->path, sizeof(shard->path), "%s", path);
	memcpy(shard->members, members, count * sizeof(*members));
	for (uint32_t i = 0; i < count; i++)
		facts.bytes += members[i].size;
	source = source_of(&shard_variant, shard, &facts, NULL);
	assert_non_null(source);
	return source;
}
