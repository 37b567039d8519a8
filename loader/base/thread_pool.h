/* thread_pool.h - one function run by several threads, until all of them return. */
#ifndef DSA_THREAD_POOL_H
#define DSA_THREAD_POOL_H

#include <pthread.h>

/* pthread_create() of a thread that takes no signals: they are for the host's own. */
int thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument);

/*
 * Calls work(context) in the calling thread and in threads - 1 others and waits for
 * them. 0 threads means enough to list a tree: 16 or, if there are more, as many as
 * cores, up to 64. 1024 is the most. Where threads cannot be had fewer do the work, so
 * work must share it out itself. The others take no signals.
 */
void thread_pool_run(unsigned threads, void (*work)(void *context), void *context);

#endif
