/* trace_slots.c - hands out the slots of a session. */
#include "loader/base/clock.h"
#include "loader/base/trace.h"

#include <sys/syscall.h>
#include <unistd.h>

/* Takes over a slot that was given back. */
static bool trace_claim_closed(struct trace_process *process)
{
	uint32_t closed = 1;

	if (!atomic_compare_exchange_strong(&process->closed, &closed, 0))
		return false;
	for (unsigned i = 0; i < TRACE_THREADS; i++)
		process->threads[i].tid = process->threads[i].stage = 0;
	return true;
}

static bool trace_slots_had(const struct trace_process *process, const char *dataset)
{
	return strncmp(process->dataset, dataset, TRACE_DATASET - 1) == 0;
}

/* What loaders of other data skipped is none of what the slot's next one does. */
static void trace_slots_name(struct trace *trace, struct trace_process *process,
			     const char *dataset)
{
	uint32_t slot = (uint32_t)(process - trace->processes) + 1;
	size_t length = strlen(dataset);

	if (trace_slots_had(process, dataset))
		return;
	if (length >= TRACE_DATASET)
		length = TRACE_DATASET - 1;
	memcpy(process->dataset, dataset, length);
	process->dataset[length] = '\0';
	process->skipped_before = process->counters[TRACE_skipped_samples];
	for (unsigned i = 0; i < TRACE_SKIPS; i++)
		if (trace->skips[i].slot == slot)
			trace->skips[i].slot = 0;
}

/* One that `pid` gave back after it had loaded the same, or anybody where it is 0; not the
 * driver's. */
static struct trace_process *trace_claim_any_closed(struct trace *trace, uint32_t pid,
						    const char *dataset)
{
	for (unsigned i = 0; i < TRACE_PROCESSES; i++) {
		struct trace_process *process = &trace->processes[i];
		bool its = process->pid == pid && trace_slots_had(process, dataset);

		if (trace->driver != i + 1 && (pid == 0 || its) &&
		    trace_claim_closed(process))
			return process;
	}
	return NULL;
}

static struct trace_process *trace_claim_driver(struct trace *trace, uint32_t pid)
{
	uint32_t driver = trace->driver;
	struct trace_process *process;

	if (driver == 0 || driver > TRACE_PROCESSES)
		return NULL;
	process = &trace->processes[driver - 1];
	return process->pid == pid && trace_claim_closed(process) ? process : NULL;
}

static struct trace_process *trace_claim_free(struct trace *trace, uint32_t pid)
{
	for (unsigned i = 0; i < TRACE_PROCESSES; i++) {
		uint32_t none = 0;

		if (atomic_compare_exchange_strong(&trace->processes[i].pid, &none,
						   pid))
			return &trace->processes[i];
	}
	return NULL;
}

struct trace_process *trace_claim(struct trace *trace, const char *dataset,
				  bool successor)
{
	uint32_t pid = (uint32_t)getpid();
	struct trace_process *process = NULL;

	if (successor)
		process = trace_claim_driver(trace, pid);
	if (process == NULL)
		process = trace_claim_any_closed(trace, pid, dataset);
	if (process == NULL)
		process = trace_claim_free(trace, pid);
	if (process == NULL)
		process = trace_claim_any_closed(trace, 0, dataset);
	if (process == NULL)
		return NULL;
	trace_slots_name(trace, process, dataset);
	process->pid = pid;
	process->started_ns = clock_now();
	return process;
}

void trace_give_back(struct trace_process *process)
{
	atomic_store(&process->closed, 1);
}

void trace_thread(struct trace_process *process, enum trace_stage stage)
{
	for (unsigned i = 0; i < TRACE_THREADS; i++) {
		uint32_t none = 0, tid = (uint32_t)syscall(SYS_gettid);

		if (!atomic_compare_exchange_strong(&process->threads[i].tid, &none,
						    tid))
			continue;
		process->threads[i].stage = stage;
		return;
	}
}
