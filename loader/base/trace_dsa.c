/* trace_dsa.c - says whether the dsa that made a session lives. */
#include "loader/base/host/process.h"
#include "loader/base/trace.h"

enum trace_dsa trace_dsa_state(const struct trace *trace)
{
	if (trace->dsa_start == 0 || trace->dsa_pid_ns != process_namespace())
		return TRACE_DSA_UNSEEN;
	return process_start(trace->dsa_pid) == trace->dsa_start ? TRACE_DSA_ALIVE
								 : TRACE_DSA_GONE;
}
