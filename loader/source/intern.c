#include "loader/source/intern.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Where the string is in the table, or would be. */
static uint32_t *intern_find(const struct intern *intern, const char *string)
{
	uint32_t mask = intern->room - 1;
	uint32_t at = (uint32_t)XXH3_64bits(string, strlen(string)) & mask;

	while (intern->table[at] != 0 &&
	       strcmp(intern->strings[intern->table[at] - 1], string) != 0)
		at = (at + 1) & mask;
	return &intern->table[at];
}

static bool intern_grow(struct intern *intern)
{
	struct intern more = {
		.room = intern->room == 0 ? 64 : intern->room * 2,
		.count = intern->count,
	};
	struct intern old;

	if (intern->room > UINT32_MAX / 2)
		return false;
	more.table = calloc(more.room, sizeof(*more.table));
	more.strings = malloc(more.room / 2 * sizeof(*more.strings));
	if (more.table == NULL || more.strings == NULL) {
		intern_fini(&more);
		return false;
	}
	for (uint32_t i = 0; i < intern->count; i++) {
		more.strings[i] = intern->strings[i];
		*intern_find(&more, more.strings[i]) = i + 1;
	}
	old = *intern;
	*intern = more;
	intern_fini(&old);
	return true;
}

uint32_t intern_add(struct intern *intern, const char *string)
{
	uint32_t *slot;

	if (intern->count == intern->room / 2 && !intern_grow(intern))
		return INTERN_FULL;
	slot = intern_find(intern, string);
	if (*slot == 0) {
		intern->strings[intern->count] = string;
		*slot = ++intern->count;
	}
	return *slot - 1;
}

void intern_fini(struct intern *intern)
{
	free(intern->table);
	free(intern->strings);
}
