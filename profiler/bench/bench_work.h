/* bench_work.h - what the process has done so far, for stage.h. */
#ifndef DSA_BENCH_WORK_H
#define DSA_BENCH_WORK_H

#include "profiler/bench/bench_stage.h"

/* Time, CPU time and bytes from storage since some moment: subtract two of them. */
void stage_work_now(struct stage_work *work);

/* Turns *from, whose counts the caller has filled in, into what was done since. */
void stage_work_since(struct stage_work *from);

#endif
