/* cupti_buffers.c - keeps a few buffers; more come and go with their use. */
#include "profiler/cupti/cupti_buffers.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum { KEPT = 8 };

static _Atomic(uint8_t *) buffers_kept[KEPT];

uint8_t *cupti_buffers_take(void)
{
	void *fresh;

	for (unsigned i = 0; i < KEPT; i++) {
		uint8_t *buffer = atomic_exchange(&buffers_kept[i], NULL);

		if (buffer != NULL)
			return buffer;
	}
	fresh = mmap(NULL, CUPTI_BUFFER, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return fresh != MAP_FAILED ? fresh : NULL;
}

void cupti_buffers_give(uint8_t *buffer, size_t used)
{
	memset(buffer, 0, used < CUPTI_BUFFER ? used : CUPTI_BUFFER);
	for (unsigned i = 0; i < KEPT; i++) {
		uint8_t *none = NULL;

		if (atomic_compare_exchange_strong(&buffers_kept[i], &none, buffer))
			return;
	}
	munmap(buffer, CUPTI_BUFFER);
}
