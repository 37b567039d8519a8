/* work_counts.h - a session -> what the samples it delivered took. */
#ifndef DSA_WORK_COUNTS_H
#define DSA_WORK_COUNTS_H

struct profile_counted;
struct trace;

/*
 * What the driver's counters say of the batches it delivered. That they are the first
 * of the stream, and the same each time, is so where the program ran observed, with
 * steps (dsa_loader(3)) as its only end. 0; -ENODATA when no loader drove the session,
 * or it delivered nothing, or what it did was counted by a loader that it shared:
 * *counted is then left alone.
 */
int work_counts_read(const struct trace *trace, struct profile_counted *counted);

#endif
