/*
 * huge.h - large memory that is about to be filled, in huge pages: 2 MiB cost one page
 * fault then, and not 512, each of which a virtual machine pays dearly.
 */
#ifndef DSA_HUGE_H
#define DSA_HUGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20, HUGE_LEAST = 2 * HUGE_PAGE };

/*
 * Memory that malloc() or mmap() gave; where there are no huge pages, nothing. All pages of
 * it, so that what realloc() moves is one mapping.
 */
static inline void huge_advise(void *memory, size_t size)
{
	uintptr_t page = 4096, from = (uintptr_t)memory & -page;
	uintptr_t end = ((uintptr_t)memory + size + page - 1) & -page;

	if (size >= HUGE_LEAST)
		madvise((void *)from, end - from, MADV_HUGEPAGE);
}

#endif
