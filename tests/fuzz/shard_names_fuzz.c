/* shard_names_fuzz.c - the name of a shard, or a pattern that counts some: "a{000..127}.tar". */
#include "loader/base/error.h"
#include "loader/source/shards.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LONGEST = 64, FEW = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = size < LONGEST ? strndup((const char *)data, size) : NULL;
	struct shards shards = {0};
	struct error err = {0};
	size_t common;

	if (name == NULL)
		return 0;
	common = shards_common(name);
	if (shards_of_name(name, &shards, &err) < 0) {
		if (err.message[0] == '\0' || shards.count > 0)
			abort();
	} else if (shards.count == 0 || common > strlen(name)) {
		abort();
	}
	for (size_t i = 0; i < shards.count && i < FEW; i++)
		if (strncmp(shards.paths[i], name, common) != 0 ||
		    strlen(shards.paths[i]) >= 2 * LONGEST)
			abort();
	shards_free(&shards);
	free(name);
	return 0;
}
