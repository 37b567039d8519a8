/* inherited.c - asks the kernel about a page. */
#include "tests/lib/inherited.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

bool inherited(const void *byte)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	unsigned char in_memory;

	return mincore((void *)((uintptr_t)byte / page * page), page, &in_memory) == 0;
}
