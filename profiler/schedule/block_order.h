/*
 * block_order.h - the order of a block's windows, which turns from block to block: each is
 * followed by its mirror, so that a linear drift cancels over the two, and over all of them
 * each kind comes at each place as often. Private to profiler/schedule/.
 */
#ifndef DSA_BLOCK_ORDER_H
#define DSA_BLOCK_ORDER_H

#include "loader/base/trace.h"

#include <stdbool.h>
#include <stdint.h>

/* What a loader's blocks have beside synthetic and real windows. */
struct block_kinds {
	bool copied; /* it copies to a device */
	bool cached; /* its batches can be given again */
};

/* Kinds, a window each. */
unsigned block_order_kinds(const struct block_kinds *has);

/* Orders before the first comes again: even, and of 2 neighbours the second is the mirror
 * of the first if that has an even number. */
unsigned block_order_count(const struct block_kinds *has);

/* The kind at a place, below block_order_kinds(), in order number `order`. */
enum trace_kind block_order_at(const struct block_kinds *has, uint64_t order,
			       unsigned place);

#endif
