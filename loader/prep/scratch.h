/* scratch.h - memory that a worker keeps from sample to sample. It only grows. */
#ifndef DSA_PREP_SCRATCH_H
#define DSA_PREP_SCRATCH_H

#include <stddef.h>

enum { SCRATCH_ALIGN = 64 };

struct scratch {
	void *memory;
	size_t size;
};

/* size bytes, aligned, holding anything; NULL when memory is short. */
void *scratch_get(struct scratch *scratch, size_t size);

void scratch_fini(struct scratch *scratch);

#endif
