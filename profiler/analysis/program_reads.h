/*
 * program_reads.h - what the program itself reads beside the loader, of a sample.
 */
#ifndef DSA_PROGRAM_READS_H
#define DSA_PROGRAM_READS_H

#include "profiler/profile.h"
#include "profiler/session/window.h"

/* Sets program_reads_per_sample and program_bytes_per_sample of the profile: of the
 * real windows that the shares are of, or of the one of an observed run. */
void program_reads_find(const struct window *windows, size_t count,
			struct profile *profile);

#endif
