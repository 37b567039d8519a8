/* residency.c - cachestat(2), or mincore(2) where the kernel has no such call. */
#include "profiler/io/residency.h"
#include "profiler/io/base/raw.h"

#include <errno.h>
#include <stdbool.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

enum {
	PAGE = 4096,
	PIECE = 1 << 14, /* pages that are looked at in one call */
};

static uint64_t residency_bytes(uint64_t pages, uint64_t length)
{
	return pages * PAGE < length ? pages * PAGE : length;
}

static int residency_cachestat(int fd, uint64_t from, uint64_t length, uint64_t *bytes)
{
	struct {
		uint64_t from, length;
	} range = {from / PAGE * PAGE, from % PAGE + length};
	struct {
		uint64_t cache, dirty, writeback, evicted, recently_evicted;
	} found = {0};

	if (syscall(SYS_cachestat, fd, &range, &found, 0) < 0)
		return -errno;
	*bytes = residency_bytes(found.cache, length);
	return 0;
}

/* To others mincore() says that all pages are there. */
static bool residency_told(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 &&
	       (status.st_uid == geteuid() ||
		syscall(SYS_faccessat2, fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) == 0);
}

/* Pages from a page's beginning on, PIECE at the most. */
static int residency_piece(int fd, uint64_t from, uint64_t length, uint64_t *pages)
{
	unsigned char there[PIECE];
	void *start = raw_map(length, PROT_READ, fd, from);
	int result;

	if (start == MAP_FAILED)
		return -errno;
	result = syscall(SYS_mincore, start, length, there) < 0 ? -errno : 0;
	raw_unmap(start, length);
	for (uint64_t i = 0; result == 0 && i < (length + PAGE - 1) / PAGE; i++)
		*pages += there[i] & 1;
	return result;
}

int residency_mincore(int fd, uint64_t from, uint64_t length, uint64_t *bytes)
{
	uint64_t at = from / PAGE * PAGE, end = from + length, pages = 0;
	int result = residency_told(fd) ? 0 : -EPERM;

	for (; result == 0 && at < end; at += (uint64_t)PIECE * PAGE) {
		uint64_t left = end - at, most = (uint64_t)PIECE * PAGE;

		result = residency_piece(fd, at, left < most ? left : most, &pages);
	}
	*bytes = residency_bytes(pages, length);
	return result;
}

int residency(int fd, uint64_t from, uint64_t length, uint64_t *bytes)
{
	int result = residency_cachestat(fd, from, length, bytes);

	/* filters of system calls refuse those that they do not know with either */
	if (result == -ENOSYS || result == -EPERM)
		return residency_mincore(fd, from, length, bytes);
	return result;
}
