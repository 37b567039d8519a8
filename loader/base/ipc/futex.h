/* futex.h - waits for a number in shared memory to change, which may be mapped read-
 * only. */
#ifndef DSA_BASE_FUTEX_H
#define DSA_BASE_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

/* Sleeps while *word is `value`, for timeout_ns at the most; may wake for nothing. */
void futex_wait(const _Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns);

/* Wakes all who wait, in whatever process. */
void futex_wake(const _Atomic uint32_t *word);

#endif
