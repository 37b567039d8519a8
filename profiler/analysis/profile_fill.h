/*
 * profile_fill.h - copies what a session holds as it is into the result: what was
 * loaded and how, windows, histograms, epochs, skipped samples, processes, what ranks waited
 * for each other in a collective on average. 0 or -ENOMEM each.
 */
#ifndef DSA_PROFILE_FILL_H
#define DSA_PROFILE_FILL_H

#include "profiler/profile.h"
#include "profiler/session/window.h"

int profile_fill_loader(const struct trace *trace, struct profile *profile);
int profile_fill_histograms(const struct trace *trace, struct profile *profile);
int profile_fill_epochs(const struct trace *trace, struct profile *profile);
int profile_fill_skips(const struct trace *trace, struct profile *profile);
int profile_fill_processes(const struct trace *trace, struct profile *profile);
int profile_fill_ranks(const struct trace *trace, struct profile *profile);

/* Adds what servers were asked for in a session, each launch having its own; of a profile
 * that profile_fill_loader() filled. */
void profile_fill_add_requests(const struct trace *trace, struct profile *profile);

/* One window; `used` says whether it counts in a share or a curve. */
int profile_fill_window(const struct window *window, bool used,
			struct profile *profile);

/* What the program itself reads beside the loader, of a sample: of the real windows that the
 * shares are of, or of the one of an observed run. */
void profile_fill_program_reads(const struct window *windows, size_t count,
				struct profile *profile);

/* Total of a counter over the session's processes. */
uint64_t profile_fill_total(const struct trace *trace, enum trace_counter counter);

#endif
