/* timeline.c - writes the records of sessions as events. */
#include "reports/timeline.h"
#include "loader/base/trace.h"
#include "profiler/profile.h"

#include <inttypes.h>
#include <string.h>

enum {
	TRACK_WINDOWS = 1,
	TRACK_STEPS,
	TRACK_FIRST, /* of processes and devices, in the order in which they come */
	MOST_TRACKS = 512 /* of these; the rest shares one that has no name */
};

/* What makes batches, or a kind of work of a device, whose number is its process's own. */
struct timeline_source {
	uint32_t pid;
	uint16_t device, work; /* of batches TRACE_WORKS */
};

struct timeline_group {
	FILE *out;
	const struct trace *trace;
	unsigned number; /* of the session, from 1 on */
	struct timeline_source sources[MOST_TRACKS];
	unsigned source_count;
	const char *between; /* of events */
};

static const char *const timeline_works[TRACE_WORKS] = {
	[TRACE_KERNEL] = "kernels",         [TRACE_COLLECTIVE] = "collectives",
	[TRACE_COPY_IN] = "copies to it",   [TRACE_COPY_OUT] = "copies from it",
	[TRACE_COPY_PEER] = "copies in it", [TRACE_MEMSET] = "memory set",
};

/* Begins an event, which timeline_args() or timeline_end() goes on with. */
static void timeline_event(struct timeline_group *group, char phase, unsigned track,
			   const char *name)
{
	fprintf(group->out,
		"%s{\"ph\": \"%c\", \"pid\": %u, \"tid\": %u, \"name\": \"%s\"",
		group->between, phase, group->number, track, name);
	group->between = ",\n";
}

static void timeline_name(struct timeline_group *group, const char *what,
			  unsigned track, const char *name)
{
	timeline_event(group, 'M', track, what);
	fprintf(group->out, ", \"args\": {\"name\": \"%s\"}}", name);
}

/* A time in microseconds. */
static void timeline_time(FILE *out, const char *key, uint64_t ns)
{
	fprintf(out, ", \"%s\": %" PRIu64 ".%03u", key, ns / 1000,
		(unsigned)(ns % 1000));
}

static void timeline_span(struct timeline_group *group, unsigned track,
			  const char *name, uint64_t from, uint64_t to)
{
	timeline_event(group, 'X', track, name);
	timeline_time(group->out, "ts", from);
	timeline_time(group->out, "dur", to > from ? to - from : 0);
}

static void timeline_windows(struct timeline_group *group)
{
	const struct trace *trace = group->trace;
	uint32_t count = atomic_load(&trace->window_count);

	timeline_name(group, "thread_name", TRACK_WINDOWS, "windows");
	for (uint32_t i = 0; i < count && i < TRACE_WINDOWS; i++) {
		const struct trace_window *window = &trace->windows[i];
		uint64_t begin = window->begin.time_ns, end = window->end.time_ns;

		if (window->kind >= TRACE_KINDS || begin == 0 || end < begin)
			continue;
		if (window->switch_ns > 0 && window->switch_ns < begin) {
			timeline_span(group, TRACK_WINDOWS, "switch", window->switch_ns,
				      begin);
			fputc('}', group->out);
		}
		timeline_span(group, TRACK_WINDOWS, profile_kinds[window->kind], begin,
			      end);
		fprintf(group->out,
			", \"args\": {\"window\": %u, \"steps\": %u, "
			"\"samples\": %" PRIu64 "}}",
			i, window->steps, window->samples);
	}
}

/* A record of several steps has one wait, which may be anywhere in it. */
static void timeline_steps(struct timeline_group *group)
{
	const struct trace *trace = group->trace;
	uint32_t count = atomic_load(&trace->step_count);

	timeline_name(group, "thread_name", TRACK_STEPS, "training");
	for (uint32_t i = 0; i < count && i < TRACE_STEPS; i++) {
		const struct trace_step *step = &trace->steps[i];

		if (step->end_ns <= step->request_ns)
			continue;
		timeline_span(group, TRACK_STEPS, step->steps == 1 ? "step" : "steps",
			      step->request_ns, step->end_ns);
		fprintf(group->out,
			", \"args\": {\"window\": %u, \"steps\": %u, \"samples\": %u, "
			"\"epoch\": %u",
			step->window, step->steps, step->samples, step->epoch);
		timeline_time(group->out, "waited_us", step->blocked_ns);
		fputs("}}", group->out);
		if (step->steps != 1 || step->blocked_ns == 0)
			continue;
		timeline_span(group, TRACK_STEPS, "wait", step->request_ns,
			      step->request_ns + step->blocked_ns);
		fputc('}', group->out);
	}
}

/* The track of a source, which is named when it is asked for first. */
static unsigned timeline_track(struct timeline_group *group, uint32_t pid,
			       uint16_t device, uint16_t work)
{
	const struct timeline_source source = {pid, device, work};
	unsigned track = 0;
	char name[64];

	while (track < group->source_count &&
	       memcmp(&group->sources[track], &source, sizeof(source)) != 0)
		track++;
	if (track < group->source_count || track == MOST_TRACKS)
		return TRACK_FIRST + track;
	group->sources[group->source_count++] = source;
	if (work == TRACE_WORKS)
		snprintf(name, sizeof(name), "batches by process %u", pid);
	else
		snprintf(name, sizeof(name), "process %u, device %u: %s", pid, device,
			 timeline_works[work]);
	timeline_name(group, "thread_name", TRACK_FIRST + track, name);
	return TRACK_FIRST + track;
}

static void timeline_batches(struct timeline_group *group)
{
	const struct trace *trace = group->trace;
	uint32_t count = atomic_load(&trace->batch_count);

	for (uint32_t i = 0; i < count && i < TRACE_BATCHES; i++) {
		const struct trace_batch *batch = &trace->batches[i];

		if (batch->end_ns <= batch->begin_ns)
			continue;
		timeline_span(group,
			      timeline_track(group, batch->worker, 0, TRACE_WORKS),
			      "batch", batch->begin_ns, batch->end_ns);
		fprintf(group->out,
			", \"args\": {\"window\": %u, \"samples\": %u, "
			"\"files\": %u, \"bytes\": %" PRIu64,
			batch->window, batch->samples, batch->opens, batch->bytes);
		timeline_time(group->out, "reading_us", batch->io_ns);
		timeline_time(group->out, "cpu_us", batch->cpu_ns);
		fputs("}}", group->out);
	}
}

static void timeline_devices(struct timeline_group *group)
{
	const struct trace *trace = group->trace;
	uint32_t count = atomic_load(&trace->span_count);

	for (uint32_t i = 0; i < count && i < TRACE_SPANS; i++) {
		const struct trace_span *span = &trace->spans[i];

		if (span->work >= TRACE_WORKS || span->end_ns <= span->start_ns)
			continue;
		timeline_span(
			group,
			timeline_track(group, span->pid, span->device, span->work),
			timeline_works[span->work], span->start_ns, span->end_ns);
		fprintf(group->out, ", \"args\": {\"device\": %u", span->device);
		timeline_time(group->out, "idle_us", span->idle_ns);
		fputs("}}", group->out);
	}
}

static void timeline_session(struct timeline_group *group, const char *name)
{
	timeline_name(group, "process_name", 0, name);
	timeline_windows(group);
	timeline_steps(group);
	timeline_batches(group);
	timeline_devices(group);
}

int timeline_write(FILE *out, const void *timeline, struct error *err)
{
	const struct timeline *of = timeline;
	struct timeline_group group = {.out = out, .between = "[\n"};
	char name[32];

	(void)err;
	for (unsigned i = 0; i < of->count; i++) {
		group.trace = of->sessions[i];
		group.number = i + 1;
		group.source_count = 0;
		if (of->count == 1)
			snprintf(name, sizeof(name), "program");
		else if (of->launches > 1 && i < of->launches)
			snprintf(name, sizeof(name), "launch %u", i + 1);
		else
			snprintf(name, sizeof(name), "job %u",
				 i < of->launches ? 0 : i - of->launches + 1);
		timeline_session(&group, name);
	}
	fputs("\n]\n", out);
	return 0;
}
