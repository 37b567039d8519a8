/* turn_prep.c - staged bytes, over and over, prepared and thrown away. */
#include "loader/base/clock.h"
#include "loader/base/trace.h"
#include "loader/pipeline/pipeline_state.h"

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
	int result = 0;

	trace_add(process, TRACE_prepared_samples, 1); /* and the one of every sample */
	for (int i = 0; i < 2 && result == 0; i++, bare = !bare) {
		uint64_t before = clock_thread_cpu();

		result = (bare ? prep_delayed : prep_timed)(worker, batch, place, err);
		trace_add(process, bare ? TRACE_bare_cpu_ns : TRACE_full_cpu_ns,
			  clock_thread_cpu() - before);
	}
	return result;
}

#define PREP                                                                           \
	.may_open = staged_may_open, .repeat = staged_repeat,                          \
	.next_read = place_next_read, .read_done = place_read_done, .thrown = true

const struct turn_ops turn_prep = {.prepare = prep_timed, PREP};
const struct turn_ops turn_paired = {.prepare = paired_prepare, PREP};
