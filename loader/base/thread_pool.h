/* thread_pool.h - threads that share work, and what they take turns by. */
#ifndef DSA_THREAD_POOL_H
#define DSA_THREAD_POOL_H

#include <pthread.h>

/* pthread_create() of a thread that takes no signals: they are for the host's own. */
int thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument);

/*
 * For a thread that computes for long: when it wakes it no longer takes the core of whoever
 * runs there (SCHED_BATCH). One of the program's that has just released a batch, and woken
 * who fills its place, would else wait until that is done. A thread with another policy
 * keeps it.
 */
void thread_batch(void);

/*
 * A mutex that is held for less than it takes to sleep and to be woken, and is wanted by
 * several threads for each sample: who finds it taken looks again for a moment.
 */
void thread_lock_init(pthread_mutex_t *lock);

/* A condition that is waited for until a time of CLOCK_MONOTONIC, as clock_now() has it. */
void thread_cond_init(pthread_cond_t *cond);

/*
 * Calls work(context) in the calling thread and in threads - 1 others and waits for
 * them. 0 threads means enough to list a tree: 16 or, if there are more, as many as
 * cores, up to 64. 1024 is the most. Where threads cannot be had fewer do the work, so
 * work must share it out itself. The others take no signals.
 */
void thread_pool_run(unsigned threads, void (*work)(void *context), void *context);

#endif
