/* turn_prep.c - staged bytes, over and over, prepared and thrown away. */
#include "loader/base/clock.h"
#include "loader/base/trace.h"
#include "loader/pipeline/pipeline_state.h"

/* Of the CPU time of one, at the most: with more, something else ran in between, as the
 * host of a virtual machine, and it says nothing of the cost of measuring. */
enum { PAIRED_APART = 2 };

static void paired_count(struct trace_process *process, uint64_t bare_ns,
			 uint64_t full_ns)
{
	if (bare_ns > PAIRED_APART * full_ns || full_ns > PAIRED_APART * bare_ns)
		return;
	trace_add(process, TRACE_bare_cpu_ns, bare_ns);
	trace_add(process, TRACE_full_cpu_ns, full_ns);
}

/*
 * Twice, untimed and timed; which is first, and so the one that finds cold caches,
 * turns with every sample. The same work side by side: what differs is the cost of
 * measuring.
 */
static int paired_prepare(struct worker *worker, const struct batch *batch,
			  struct place *place, struct error *err)
{
	struct trace_process *process = worker->pipeline->parts.process;
	bool bare = worker->pairs++ % 2 == 0;
	uint64_t cpu_ns[2] = {0};
	int result = 0;

	trace_add(process, TRACE_prepared_samples, 1); /* and the one of every sample */
	for (int i = 0; i < 2 && result == 0; i++, bare = !bare) {
		uint64_t before = clock_thread_cpu();

		result = (bare ? prep_delayed : prep_timed)(worker, batch, place, err);
		cpu_ns[bare] = clock_thread_cpu() - before;
	}
	if (result == 0)
		paired_count(process, cpu_ns[true], cpu_ns[false]);
	return result;
}

#define PREP                                                                           \
	.may_open = staged_may_open, .repeat = staged_repeat,                          \
	.next_read = place_next_read, .read_done = place_read_done, .thrown = true

const struct turn_ops turn_prep = {.prepare = prep_timed, PREP};
const struct turn_ops turn_paired = {.prepare = paired_prepare, PREP};
