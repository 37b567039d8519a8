/*
 * hook_ranks.h - one rank of a job: the first tells the others what its driver has its loader
 * do, the others have theirs do that. Private to profiler/hook/.
 */
#ifndef DSA_HOOK_RANKS_H
#define DSA_HOOK_RANKS_H

#include "profiler/hook/hook_state.h"
#include "profiler/hook/ranks.h"

/* The ranks of the job that the hook's process is the first of; NULL: of none. */
struct io_ranks *hook_ranks_led(struct io_page *first);

/* Before the driver's loader does what it asks for: has those of other ranks do so. False: they
 * can't, and it is over. */
bool hook_tell(struct hook *hook, const struct ranks_order *order);

/* driver_ops.agree. */
bool hook_agree(void *loader, uint32_t round);

/* The number of the batch that is asked for, of any rank; it was given, after a wait for it. */
uint32_t hook_ranks_batch(void);
void hook_ranks_delivered(uint64_t blocked_ns);

/* The driver has switched, if that was its turn, and the batch is given; or none is any more. */
void hook_switched(struct hook *hook, bool goes_on);

/* This process, if it is a rank, does not go on by what others agree on. */
void hook_ranks_close(void);

/* Workers of another rank than the first make nothing any more that nobody gets. */
void hook_ranks_rest(void);

/* It goes on without dsa, and so do all. True: the first rank tells that, and this is another. */
bool hook_ranks_refuse(const char *why);

/* Of a rank of a job whose ranks have not come together yet, or left: its epochs end by
 * themselves. */
bool hook_ranks_apart(void);

/* ---- another rank than the first ---- */

/* True of this process. */
bool hook_follows(void);

/* As dsa_hook_open(), _request() and _stopped(). */
int hook_follow(const struct hook_about *about, const struct hook_calls *calls);
int hook_follow_request(void);
int hook_follow_stopped(void);

/* True once the first rank is late: it runs elsewhere. */
bool hook_follow_is_alone(void);

#endif
