/* record.c - writes counters, steps and samples into the session. */
#include "loader/base/clock.h"
#include "loader/driver/driver_state.h"

/* Records of a window that are left where half of them ought to be, as they are of as many
 * epochs: with more of them what comes would merge all the time. */
enum { RECORDS_MOST = TRACE_WINDOW_STEPS * 3 / 4 };

void driver_count(const struct driver *driver, enum trace_counter counter,
		  uint64_t value)
{
	atomic_store_explicit(&driver->process->counters[counter],
			      driver->before[counter] + value, memory_order_relaxed);
}

void record_counters(const struct driver *driver)
{
	if (driver->ops->count != NULL)
		driver->ops->count(driver->loader);
}

void record_look(struct driver *driver, struct trace_snapshot *snapshot)
{
	snapshot->cache_bytes = 0;
	snapshot->read_bytes = UINT64_MAX;
	snapshot->program_reads = snapshot->program_bytes = UINT64_MAX;
	if (driver->ops->look != NULL)
		driver->ops->look(driver->loader, snapshot);
}

void record_snapshot(struct driver *driver, struct trace_snapshot *snapshot)
{
	record_look(driver, snapshot);
	record_counters(driver);
	for (int i = 0; i < TRACE_COUNT; i++)
		snapshot->counters[i] = atomic_load_explicit(
			&driver->process->counters[i], memory_order_relaxed);
	snapshot->cpu_ns = clock_process_cpu();
	snapshot->time_ns = clock_now();
}

/* A record takes in a step, or the record after it. */
static void record_merge(struct trace_step *record, const struct trace_step *next)
{
	record->end_ns = next->end_ns;
	record->blocked_ns += next->blocked_ns;
	record->steps += next->steps;
	record->samples += next->samples;
	if (next->longest_ns > record->longest_ns)
		record->longest_ns = next->longest_ns;
	if (next->together > record->together)
		record->together = next->together;
}

/* True where the longest step of one is a pause among those of the other; not where that has
 * only some of the batches that the program takes before it computes. */
static bool record_pauses(const struct trace_step *one, const struct trace_step *other)
{
	uint64_t compute = other->end_ns - other->request_ns - other->blocked_ns;

	if (compute == 0 && other->together > 1)
		return false;
	return one->longest_ns > TRACE_PAUSE_NS &&
	       one->longest_ns >
		       TRACE_PAUSE_TIMES * (compute / other->steps * other->together);
}

/* True where one may take in the one that follows: of an epoch alone, and no pause, while
 * there is room for these. */
static bool record_joins(const struct driver *driver, const struct trace_step *record,
			 const struct trace_step *next)
{
	return driver->across ||
	       (record->epoch == next->epoch && !record_pauses(record, next) &&
		!record_pauses(next, record));
}

/* About halves so many records: each takes in the one after it. Returns how many stay. */
static uint32_t merge_pairs(const struct driver *driver, struct trace_step *steps,
			    uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++, kept++) {
		bool joins =
			i + 1 < count && record_joins(driver, &steps[i], &steps[i + 1]);

		steps[kept] = steps[i];
		if (joins)
			record_merge(&steps[kept], &steps[++i]);
	}
	return kept;
}

/* Makes room in the window's step records. */
static void merge_steps(struct driver *driver)
{
	struct trace_window *window = driver->window;
	struct trace_step *steps = &driver->trace->steps[window->first_step];
	uint32_t count = merge_pairs(driver, steps, window->step_records);

	if (count > RECORDS_MOST) {
		driver->across = true;
		count = merge_pairs(driver, steps, count);
	}
	window->step_records = count;
	driver->merge *= 2;
	atomic_store_explicit(&driver->trace->step_count, window->first_step + count,
			      memory_order_release);
}

/* Adds a step to the last record while that is not full; else begins one. */
static void store_step(struct driver *driver, const struct trace_step *step)
{
	struct trace_window *window = driver->window;
	struct trace *trace = driver->trace;
	uint32_t at = window->first_step + window->step_records;
	struct trace_step *last = at > 0 ? &trace->steps[at - 1] : NULL;

	if (window->step_records > 0 && last->steps < driver->merge &&
	    record_joins(driver, last, step)) {
		record_merge(last, step);
		return;
	}
	if (window->step_records == TRACE_WINDOW_STEPS) {
		merge_steps(driver);
		at = window->first_step + window->step_records;
	}
	if (at >= TRACE_STEPS) {
		atomic_fetch_add(&trace->dropped_steps, 1);
		return;
	}
	trace->steps[at] = *step;
	window->step_records++;
	atomic_store_explicit(&trace->step_count, at + 1, memory_order_release);
}

/* Takes the first batch off a step in which the program took several: until it had that one. */
static struct trace_step record_take(struct trace_step *step, uint64_t wait_ns)
{
	struct trace_step part = *step;

	part.steps = 1;
	part.longest_ns = 0;
	part.samples = step->samples / step->steps;
	part.blocked_ns = wait_ns < step->blocked_ns ? wait_ns : step->blocked_ns;
	part.end_ns = step->request_ns + part.blocked_ns;
	step->steps--;
	step->samples -= part.samples;
	step->blocked_ns -= part.blocked_ns;
	step->request_ns = part.end_ns;
	return part;
}

/* Of each batch a record: of several until the program had it, and the last one computes. */
static void record_store(struct driver *driver, struct trace_step step)
{
	uint64_t wall = step.end_ns - step.request_ns;

	if (step.blocked_ns > wall)
		step.blocked_ns = wall;
	step.longest_ns = wall - step.blocked_ns;
	step.together = step.steps;
	for (int i = 0; i < TRACE_TOGETHER && step.steps > 1; i++) {
		struct trace_step part = record_take(&step, driver->waits[i]);

		store_step(driver, &part);
	}
	store_step(driver, &step);
}

void record_step(struct driver *driver, uint64_t now)
{
	struct trace_step *step = &driver->step;

	if (!driver->stepping)
		return;
	driver->stepping = false;
	if (driver->window == NULL || !driver->measuring)
		return;
	step->end_ns = now;
	step->steps = driver_step_batches(driver);
	driver->window->steps += step->steps;
	driver->window->samples += step->samples;
	record_store(driver, *step);
}

void record_extend(const struct driver *driver, uint64_t now)
{
	const struct trace_window *window = driver->window;

	if (window->step_records > 0)
		driver->trace->steps[window->first_step + window->step_records - 1]
			.end_ns = now;
}

bool driver_record_sample(struct driver *driver, uint32_t most,
			  const struct trace_sample *sample)
{
	struct trace *trace = driver->trace;
	struct trace_window *window = driver->window;
	uint32_t at = atomic_load_explicit(&trace->sample_count, memory_order_relaxed);

	if (at >= TRACE_SAMPLES || window->sample_records >= most)
		return false;
	trace->samples[at] = *sample;
	trace->samples[at].window = driver->index;
	trace->samples[at].batch = driver->batches;
	window->sample_records++;
	atomic_store_explicit(&trace->sample_count, at + 1, memory_order_release);
	return true;
}
