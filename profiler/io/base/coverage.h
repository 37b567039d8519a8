/*
 * coverage.h - how much of what this process reads is seen: the kernel counts it too, in
 * /proc/self/io. From the process's first batch on.
 */
#ifndef DSA_IO_COVERAGE_H
#define DSA_IO_COVERAGE_H

#include "profiler/io_page.h"

/* Before each batch: the first time in a process it begins to count. */
void coverage_begin(struct io_slot *slot);

/* After each: looks, but not more often than ten times a second. Where a child was waited for
 * since, nothing of that time counts. */
void coverage_look(struct io_slot *slot);

/* This library read so much for itself. */
void coverage_own(uint64_t bytes);

/* What is read from now until the next batch is no batch's: as if that were the first. */
void coverage_restart(void);

/* In the child of a fork. */
void coverage_child(void);

#endif
