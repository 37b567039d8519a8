/* coverage.c - compares what was seen with /proc/self/io. */
#include "profiler/io/base/coverage.h"
#include "loader/base/clock.h"
#include "profiler/io/base/attach.h"
#include "profiler/io/base/raw.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define OFTEN 100000000u /* ns between two looks */

/* As it was looked at last; all by the thread that makes batches, but for `own`. */
static struct coverage {
	uint64_t looked_ns; /* 0: never in this process */
	uint64_t seen, proc;
	uint64_t children;    /* that ended: a count that grows with each */
	_Atomic uint64_t own; /* read by this library meanwhile */
} coverage;

static uint64_t coverage_seen(struct io_slot *slot)
{
	return attach_count(slot, IO_bytes) + attach_count(slot, IO_other_bytes);
}

/* Bytes read so far, without what this takes itself; false: there is no /proc. */
static bool coverage_proc(uint64_t *bytes)
{
	int fd = raw_open("/proc/self/io", O_RDONLY);
	char text[512] = "";
	ssize_t length = -1;

	if (fd >= 0) {
		length = raw_pread(fd, text, sizeof(text) - 1, 0);
		raw_close(fd);
	}
	if (length <= 7 || memcmp(text, "rchar: ", 7) != 0)
		return false;
	text[length] = '\0';
	*bytes = strtoull(text + 7, NULL, 10) - atomic_load(&coverage.own);
	coverage_own((uint64_t)length);
	return true;
}

static uint64_t coverage_children(void)
{
	struct rusage usage = {0};

	syscall(SYS_getrusage, RUSAGE_CHILDREN, &usage);
	return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

void coverage_own(uint64_t bytes)
{
	atomic_fetch_add(&coverage.own, bytes);
}

void coverage_begin(struct io_slot *slot)
{
	if (coverage.looked_ns > 0)
		return;
	coverage.children = coverage_children();
	if (!coverage_proc(&coverage.proc))
		return;
	coverage.seen = coverage_seen(slot);
	coverage.looked_ns = 1;
}

/* What a child read in all its life becomes its parent's once that has waited for it. */
void coverage_look(struct io_slot *slot)
{
	uint64_t now = clock_now(), seen = coverage_seen(slot), proc, children;

	if (coverage.looked_ns == 0 || now - coverage.looked_ns < OFTEN)
		return;
	children = coverage_children();
	if (!coverage_proc(&proc))
		return;
	if (coverage_children() == coverage.children) {
		attach_add(slot, IO_seen_bytes, seen - coverage.seen);
		attach_add(slot, IO_proc_bytes, proc - coverage.proc);
	}
	coverage.looked_ns = now;
	coverage.children = children;
	coverage.seen = seen;
	coverage.proc = proc;
}

void coverage_restart(void)
{
	coverage.looked_ns = 0;
}

void coverage_child(void)
{
	coverage_restart();
	atomic_store(&coverage.own, 0);
}
