/* scan_pool.h - one function run by several threads, until all of them return. */
#ifndef DSA_SOURCE_CREW_H
#define DSA_SOURCE_CREW_H

enum { SCAN_POOL_MAX = 64 };

/*
 * Calls work(context) in the calling thread and in threads - 1 others and waits for
 * them. 0 threads means 16 or, if there are more, as many as cores; SCAN_POOL_MAX is the
 * most. Where threads cannot be had fewer do the work, so work must share it out
 * itself. The others take no signals.
 */
void scan_pool_run(unsigned threads, void (*work)(void *context), void *context);

#endif
