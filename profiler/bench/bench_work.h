/* bench_work.h - measures the work of the process, for bench_stage.h. */
#ifndef DSA_BENCH_WORK_H
#define DSA_BENCH_WORK_H

#include "profiler/bench/bench_stage.h"

/* Time, CPU time and bytes from storage since some moment: subtract two of them. */
void bench_work_now(struct bench_work *work);

/* Turns *from, whose counts the caller has filled in, into the work done since then. */
void bench_work_since(struct bench_work *from);

#endif
