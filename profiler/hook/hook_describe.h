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
#define HOOK_UNSEEN ((uint32_t)(TRACE_MAPPED | TRACE_SOCKET | TRACE_FORKED))

_Static_assert((int)IO_MAPPED == TRACE_MAPPED && (int)IO_SOCKET == TRACE_SOCKET &&
		       (int)IO_FORKED == TRACE_FORKED,
	       "one set of numbers");

void hook_describe(const struct hook_about *from, const struct io_page *page,
		   struct trace_loader *about);

#endif
