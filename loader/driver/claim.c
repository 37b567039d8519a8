/* claim.c - which loader of a session drives it. */
#include "loader/driver/driver_state.h"

/* But for the program's beginning, which nothing is compared with. */
static bool claim_any_measured(const struct trace *trace)
{
	for (uint32_t i = 0; i < trace->window_now && i < TRACE_WINDOWS; i++)
		if (trace->windows[i].state == TRACE_DONE &&
		    (trace->windows[i].flags & TRACE_WARMUP) == 0)
			return true;
	return false;
}

bool driver_succeeds(const struct trace *trace, bool same)
{
	return (!trace->loader.shared && !claim_any_measured(trace)) || same;
}

/* Where nobody drives yet; or after one that closed, in whose slot counters and the one
 * window of --observe go on. */
bool claim_driver(const struct driver_parts *parts)
{
	struct trace *trace = parts->trace;
	uint32_t none = 0, slot = (uint32_t)(parts->process - trace->processes) + 1;
	uint64_t done;

	if (atomic_compare_exchange_strong(&trace->driver, &none, slot))
		return true;
	done = atomic_load(&trace->driver_done);
	if (done == 0 || (trace->observe && trace->driver != slot) ||
	    !driver_succeeds(trace, parts->same) ||
	    !atomic_compare_exchange_strong(&trace->driver_done, &done, 0))
		return false;
	atomic_store(&trace->driver, slot);
	return true;
}
