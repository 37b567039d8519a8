/* scratch.h - memory that a worker keeps from sample to sample. It only grows. */
#ifndef DSA_SCRATCH_H
#define DSA_SCRATCH_H

#include <stddef.h>
#include <stdlib.h>

enum { SCRATCH_ALIGN = 64 };

struct scratch {
	void *memory;
	size_t size;
};

static inline void scratch_fini(struct scratch *scratch)
{
	free(scratch->memory);
	*scratch = (struct scratch){0};
}

/* size bytes, aligned, holding anything; NULL when memory is short. */
static inline void *scratch_get(struct scratch *scratch, size_t size)
{
	/* Half as much again: sizes of samples vary, allocations should not. */
	size_t room = (size + size / 2) / SCRATCH_ALIGN * SCRATCH_ALIGN + SCRATCH_ALIGN;

	if (size <= scratch->size)
		return scratch->memory;
	scratch_fini(scratch);
	scratch->memory = aligned_alloc(SCRATCH_ALIGN, room);
	scratch->size = scratch->memory != NULL ? room : 0;
	return scratch->memory;
}

#endif
