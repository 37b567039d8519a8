/* remainder_list.h - the rest of an epoch, out of what a shared loader sent to a job that it
 * dropped. Private to loader/share/. */
#ifndef DSA_SHARE_REMAINDER_LIST_H
#define DSA_SHARE_REMAINDER_LIST_H

#include "loader/share/wire/protocol.h"

/* How many numbers a REST's memfd has. */
static inline uint64_t remainder_count(const struct protocol_remainder *rest)
{
	return rest->end - rest->first + rest->count;
}

/*
 * Of a job that has taken all before `next`, which lies in first..end, and has so many
 * places of its epoch before it: writes its samples in order, `remaining` at the most.
 * Returns how many.
 */
uint32_t remainder_list(const struct protocol_remainder *rest, const uint32_t *numbers,
			uint64_t next, uint64_t remaining, uint32_t *samples);

#endif
