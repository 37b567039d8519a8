/* block_order.c - the tables of orders. */
#include "profiler/schedule/block_order.h"

enum { KINDS = 3, ORDERS = 6, DEVICE_KINDS = 4, DEVICE_ORDERS = 4 };

static const enum trace_kind orders[ORDERS][KINDS] = {
	{TRACE_SYNTHETIC, TRACE_CACHED, TRACE_REAL},
	{TRACE_REAL, TRACE_CACHED, TRACE_SYNTHETIC},
	{TRACE_CACHED, TRACE_REAL, TRACE_SYNTHETIC},
	{TRACE_SYNTHETIC, TRACE_REAL, TRACE_CACHED},
	{TRACE_REAL, TRACE_SYNTHETIC, TRACE_CACHED},
	{TRACE_CACHED, TRACE_SYNTHETIC, TRACE_REAL},
};

/* Each kind also comes after each other one as often: a Williams square (Williams 1949). */
static const enum trace_kind device_orders[DEVICE_ORDERS][DEVICE_KINDS] = {
	{TRACE_SYNTHETIC, TRACE_COPIED, TRACE_REAL, TRACE_CACHED},
	{TRACE_CACHED, TRACE_REAL, TRACE_COPIED, TRACE_SYNTHETIC},
	{TRACE_COPIED, TRACE_CACHED, TRACE_SYNTHETIC, TRACE_REAL},
	{TRACE_REAL, TRACE_SYNTHETIC, TRACE_CACHED, TRACE_COPIED},
};

unsigned block_order_kinds(const struct block_kinds *has)
{
	return (has->copied ? DEVICE_KINDS : KINDS) - !has->cached;
}

unsigned block_order_count(const struct block_kinds *has)
{
	return has->copied ? DEVICE_ORDERS : ORDERS;
}

/* Without cached windows each order is that of the others. */
enum trace_kind block_order_at(const struct block_kinds *has, uint64_t order,
			       unsigned place)
{
	const enum trace_kind *kinds = has->copied
					       ? device_orders[order % DEVICE_ORDERS]
					       : orders[order % ORDERS];
	unsigned skipped = 0;

	for (unsigned i = 0; !has->cached && i <= place; i++)
		skipped |= kinds[i] == TRACE_CACHED;
	return kinds[place + skipped];
}
