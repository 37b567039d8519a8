#include "tests/lib/session.h"

#include <stdlib.h>
#include <string.h>

struct trace *session_new(void)
{
	struct trace *trace = calloc(1, sizeof(*trace));

	if (trace == NULL)
		return NULL;
	trace->created_ns = 1000000000;
	trace->first_request_ns = trace->last_request_ns = trace->created_ns;
	trace->driver = 1;
	trace->loader_ready = 1;
	trace->loader.batch = 32;
	trace->loader.workers = 4;
	trace->loader.fetch_depth = 16;
	trace->loader.slots = 6;
	trace->loader.dataset_samples = 1000;
	trace->loader.dataset_bytes = 100000000;
	trace->processes[0].pid = 1;
	memcpy(trace->about, "{}", 3);
	return trace;
}

void session_free(struct trace *trace)
{
	free(trace);
}

static void add_records(struct trace *trace, struct trace_window *window,
			const struct session_window *asked)
{
	uint64_t step_ns = (uint64_t)(asked->step_ms * 1e6);
	uint64_t blocked_ns = (uint64_t)(asked->blocked_ms * 1e6);

	window->first_step = trace->step_count;
	window->step_records = asked->steps;
	for (unsigned i = 0; i < asked->steps; i++) {
		uint64_t request = window->begin.time_ns + i * step_ns;

		trace->steps[trace->step_count++] = (struct trace_step){
			.request_ns = request,
			.end_ns = request + step_ns,
			.blocked_ns = blocked_ns,
			.longest_ns = step_ns - blocked_ns,
			.window = (uint32_t)(window - trace->windows),
			.steps = 1,
			.samples = asked->samples,
		};
	}
}

static void snapshot_end(struct trace_window *window,
			 const struct session_window *asked)
{
	uint64_t size = asked->sample_bytes == 0 ? 100000 : asked->sample_bytes;
	struct trace_snapshot *end = &window->end;

	*end = window->begin;
	end->time_ns += (uint64_t)(asked->steps * asked->step_ms * 1e6);
	end->counters[TRACE_fetched_samples] += asked->fetched;
	end->counters[TRACE_fetched_bytes] += asked->fetched * size;
	end->counters[TRACE_prepared_samples] += asked->prepared;
	end->counters[TRACE_prepared_bytes] += asked->prepared * size;
	end->counters[TRACE_hit_samples] += asked->hits;
	end->counters[TRACE_device_bytes] += asked->copied_bytes;
	end->read_bytes += asked->fetched * (size + 4096);
}

void session_answer(struct trace *trace, struct trace_window *window,
		    const struct session_window *did)
{
	window->steps = did->steps;
	window->samples = (uint64_t)did->steps * did->samples;
	window->switch_ns = trace->last_request_ns;
	window->begin.time_ns = trace->last_request_ns + 100000000;
	add_records(trace, window, did);
	snapshot_end(window, did);
	window->state = TRACE_DONE;
	trace->window_now++;
	trace->last_request_ns = window->end.time_ns;
}

struct trace_window *session_add(struct trace *trace,
				 const struct session_window *asked)
{
	struct trace_window *window = &trace->windows[trace->window_count++];

	*window = (struct trace_window){
		.kind = asked->kind,
		.flags = asked->flags,
		.block = asked->block < 0 ? UINT32_MAX : (uint32_t)asked->block,
		.workers = asked->workers,
		.depth = asked->depth,
		.hit = asked->hit,
		.settle = 2,
		.settled = 2,
	};
	session_answer(trace, window, asked);
	return window;
}

void session_samples(struct trace *trace, struct trace_window *window, double prep_ms)
{
	unsigned per_step = (unsigned)(window->samples / window->steps);

	window->first_sample = trace->sample_count;
	/* Batches beyond the last step were under way when the window ended. */
	for (unsigned batch = 0; batch < window->settle + window->steps + 1; batch++)
		for (unsigned i = 0; i < per_step; i++)
			trace->samples[trace->sample_count++] = (struct trace_sample){
				.window = (uint32_t)(window - trace->windows),
				.batch = batch,
				.sample = i,
				.bytes = 100000,
				.fetch_ns = 1000000,
				.prep_ns = (uint32_t)(prep_ms * 1e6),
			};
	window->sample_records = trace->sample_count - window->first_sample;
}
