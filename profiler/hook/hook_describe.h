/*
 * hook_describe.h - what a loader that the program brought loads and how, as the session
 * has it: what its hook says, and what its batches read so far.
 */
#ifndef DSA_HOOK_DESCRIBE_H
#define DSA_HOOK_DESCRIBE_H

#include "loader/base/trace.h"
#include "profiler/hook/hook.h"
#include "profiler/io_page.h"

/* The flags of a batch that a window keeps. */
#define HOOK_UNSEEN                                                                    \
	((uint32_t)(TRACE_MAPPED | TRACE_SOCKET | TRACE_FORKED | TRACE_CALLS))

_Static_assert((int)IO_MAPPED == TRACE_MAPPED && (int)IO_SOCKET == TRACE_SOCKET &&
		       (int)IO_FORKED == TRACE_FORKED && (int)IO_CALLS == TRACE_CALLS,
	       "one set of numbers");

/* What processes read, as the kernel counts it, and what was seen of that. */
struct hook_seen {
	uint64_t proc_bytes, seen_bytes;
};

/* So far. What is seen later may be in one of them already: before a stretch seen_bytes,
 * after it proc_bytes. */
struct hook_seen hook_seen_before(const struct io_page *page);
struct hook_seen hook_seen_after(const struct io_page *page);

/* True if so much of it was not seen that it must be data of so many batches. */
bool hook_seen_lacks(const struct hook_seen *seen, uint64_t batches);

void hook_describe(const struct hook_about *from, const struct io_page *page,
		   struct trace_loader *about);

#endif
