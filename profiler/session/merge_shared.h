/*
 * merge_shared.h - sessions of jobs that share a loader: what its own session says of
 * the data and of a window goes into theirs, as if each had loaded alone. Then all that
 * reads sessions reads these too. Pure.
 */
#ifndef DSA_MERGE_SHARED_H
#define DSA_MERGE_SHARED_H

#include <stdbool.h>

struct trace;
struct trace_process;

/* What is loaded and how; batch and accelerator stay the job's. */
void merge_shared_describe(struct trace *job, const struct trace *loader);

/* The number of the turn that the job's last window waits for, if known by now. */
void merge_shared_turn(struct trace *job, const struct trace *loader);

/*
 * A window that both are over with: what the loader counted. What it did alone becomes
 * the job's own where `lead` is set.
 */
void merge_shared_window(struct trace *job, const struct trace *loader, unsigned index,
			 bool lead);

/* What a loader counted in all, in windows and between them, when its process has ended:
 * adds it to a process of another session. */
void merge_shared_totals(struct trace_process *to, const struct trace *from);

#endif
