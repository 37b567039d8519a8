/* load_watch.c - reads the machine's load where windows begin and end. */
#include "profiler/host/load_watch.h"
#include "loader/base/trace.h"

#include <stddef.h>

void load_watch_init(struct load_watch *watch, unsigned cores,
		     const struct children *others)
{
	*watch = (struct load_watch){.window = 0};
	host_load_init(&watch->host, "", cores);
	watch->host.others = others;
}

/* One call of load_watch_poll(), in which the machine is read once at most. */
struct glance {
	struct load_watch *watch;
	struct trace *const *traces;
	unsigned count;
	bool taken;
};

/* Reads the machine; the number of this moment. */
static unsigned glance_take(struct glance *glance)
{
	struct load_watch *watch = glance->watch;

	if (!watch->knows_disk) { /* a loader that has windows knows its data set */
		watch->knows_disk = true;
		dataset_device_disk("", glance->traces[0]->loader.dataset,
				    &watch->host.disk);
	}
	if (!glance->taken)
		host_load_read(&watch->host,
			       &watch->past[watch->taken++ % LOAD_WATCH_PAST]);
	glance->taken = true;
	return watch->taken - 1;
}

static const struct host_load *load_watch_at(const struct load_watch *watch,
					     unsigned moment)
{
	return &watch->past[moment % LOAD_WATCH_PAST];
}

/* The last moment up to `first` that lies long enough before `end`; else the oldest. */
static unsigned load_watch_before(const struct load_watch *watch, unsigned first,
				  unsigned end)
{
	uint64_t end_ns = load_watch_at(watch, end)->time_ns;
	unsigned oldest = end >= LOAD_WATCH_PAST ? end - LOAD_WATCH_PAST + 1 : 0;

	while (first > oldest &&
	       end_ns - load_watch_at(watch, first)->time_ns < LOAD_WATCH_LEAST_NS)
		first--;
	return first;
}

/* The window is over: what lies between its begin and now goes into all sessions. */
static void glance_note(struct glance *glance)
{
	struct load_watch *watch = glance->watch;
	unsigned end = glance_take(glance);
	unsigned first =
		load_watch_before(watch, watch->begun ? watch->begun_at : end, end);
	struct trace_load load;

	if (first == end) /* nothing was seen before */
		return;
	host_load_between(&watch->host, load_watch_at(watch, first),
			  load_watch_at(watch, end), &load);
	for (unsigned i = 0; i < glance->count; i++)
		glance->traces[i]->loads[watch->window] = load;
}

void load_watch_poll(struct load_watch *watch, struct trace *const *traces,
		     unsigned count)
{
	struct glance glance = {.watch = watch, .traces = traces, .count = count};
	const struct trace *trace = traces[0];

	/* What was observed is forgotten, and begins anew. */
	if (trace->observe && trace->windows[0].switch_ns != watch->since) {
		watch->since = trace->windows[0].switch_ns;
		watch->window = 0;
		watch->begun = false;
	}
	while (watch->window < trace->window_count && watch->window < TRACE_WINDOWS) {
		const struct trace_window *window = &trace->windows[watch->window];
		bool over =
			window->state == TRACE_DONE || window->state == TRACE_REFUSED;
		bool measured = window->progress >= TRACE_MEASURING;

		if (!over && measured && !watch->begun) {
			watch->begun_at = glance_take(&glance);
			watch->begun = true;
		}
		if (!over)
			return;
		if (measured)
			glance_note(&glance);
		watch->begun = false;
		watch->window++;
	}
}
