/*
 * sample_times.h - what fetch and prep take for samples, drawn jointly.
 */
#ifndef DSA_SAMPLE_TIMES_H
#define DSA_SAMPLE_TIMES_H

#include "profiler/profile.h"
#include "profiler/session/window.h"

enum { SAMPLE_TIMES = 1024 }; /* at the most */

/*
 * Adds draws to the profile, from certified windows that recorded samples: bytes and
 * prep of cached windows; fetch of fetch windows of one read in flight, without the
 * emulated storage if there is one. Those are other samples. What joins the two is
 * their size: the i-th smallest of the one goes with the i-th smallest of the other,
 * both being uniform draws from one data set. In order of size. 0 or -ENOMEM.
 *
 * Of a loader of the program's own they are means over batches: prep of cached windows
 * and, unless storage is emulated, what real windows' I/O took beyond theirs.
 */
int sample_times_add(const struct window *windows, size_t count,
		     struct profile *profile);

#endif
