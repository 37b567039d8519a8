/* trace_dsa.c - says whether the dsa that made a session lives. */
#include "loader/base/host/process.h"
#include "loader/base/trace.h"

enum trace_dsa trace_dsa_state(const struct trace *trace, size_t *bytes)
{
	if (bytes != NULL)
		*bytes = 0;
	if (trace->dsa_start == 0 || trace->dsa_pid_ns != process_namespace())
		return TRACE_DSA_UNSEEN;
	return process_start(trace->dsa_pid, bytes) == trace->dsa_start
		       ? TRACE_DSA_ALIVE
		       : TRACE_DSA_GONE;
}
