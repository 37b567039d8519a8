/* scratch.c - memory of a prep worker that grows and is used again. */
#include "loader/prep/scratch.h"

#include <stdint.h>
#include <stdlib.h>

static void *scratch_align(void *memory)
{
	uintptr_t address = (uintptr_t)memory;
	uintptr_t past = address % SCRATCH_ALIGN;

	return (char *)memory + (past == 0 ? 0 : SCRATCH_ALIGN - past);
}

void *scratch_get(struct scratch *scratch, size_t size)
{
	if (size > scratch->size) {
		/* Half as much again: sizes of samples vary, allocations should not. */
		size_t room = size + size / 2;

		scratch_fini(scratch);
		scratch->memory = malloc(room + SCRATCH_ALIGN);
		if (scratch->memory == NULL)
			return NULL;
		scratch->size = room;
	}
	return scratch_align(scratch->memory);
}

void scratch_fini(struct scratch *scratch)
{
	free(scratch->memory);
	*scratch = (struct scratch){0};
}
