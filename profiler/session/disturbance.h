/*
 * disturbance.h - windows that other programs, or the host, have disturbed. Pure.
 *
 *	CPU	others, with what the host took, used more than 5 % of the cores that
 *		the run may use, while these were 80 % busy: the run would have had it,
 *		if its threads waited for a CPU for so long, 1 % of the time at the least
 *	storage	others read more than 10 % of what the run read from the device of
 *		the data set
 *
 * What is not known disturbs nothing, and neither do pressure and load.
 */
#ifndef DSA_DISTURBANCE_H
#define DSA_DISTURBANCE_H

#include "profiler/session/window.h"

/*
 * What others had of all that was used of the cores, or read: by so much a step may
 * have taken longer. 0: they did not disturb.
 */
double disturbance_of(const struct trace_load *load);

/* True where the run reads so much from the data set's device that it may wait for it,
 * and it is known what others read there. */
bool disturbance_reads(const struct trace_load *load);

/*
 * Sets `disturbance` and `left_out` of each window of a run. A disturbed window of a
 * block is left out, but not where more than half of such windows are disturbed, or so
 * many that few blocks were whole without them: then all stay. One of a curve is left
 * out where another stands for it. Returns true when more than half are disturbed.
 */
bool disturbance_judge(struct window *windows, size_t count);

/* All windows of a session, judged; to be freed. NULL: memory is short. */
struct window *disturbance_windows(const struct trace *trace, size_t *count);

#endif
