/* timeline_test.c - sessions as a timeline. */
#include "reports/timeline.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static json_t *events_of(const struct trace *const *sessions, unsigned launches,
			 unsigned count)
{
	const struct timeline timeline = {sessions, launches, count};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *events;

	assert_non_null(out);
	assert_int_equal(timeline_write(out, &timeline, NULL), 0);
	fclose(out);
	events = json_loads(text, 0, NULL);
	assert_non_null(events);
	free(text);
	return events;
}

/* How many events have that name; the last of them in *one. */
static unsigned named(const json_t *events, const char *name, const json_t **one)
{
	unsigned count = 0;

	for (size_t i = 0; i < json_array_size(events); i++) {
		const json_t *event = json_array_get(events, i);

		if (strcmp(json_string_value(json_object_get(event, "name")), name) !=
		    0)
			continue;
		*one = event;
		count++;
	}
	return count;
}

static double number(const json_t *event, const char *key)
{
	const json_t *args = json_object_get(event, "args");
	const json_t *value = json_object_get(event, key);

	return json_number_value(value != NULL ? value : json_object_get(args, key));
}

static struct trace *a_session(void)
{
	const struct session_window real = {.kind = TRACE_REAL,
					    .block = 0,
					    .steps = 3,
					    .samples = 32,
					    .step_ms = 10,
					    .blocked_ms = 4};
	struct trace *trace = session_new();

	assert_non_null(trace);
	assert_non_null(session_add(trace, &real));
	return trace;
}

TEST(steps_have_what_they_waited)
{
	struct trace *trace = a_session();
	const struct trace *sessions[] = {trace};
	json_t *events = events_of(sessions, 1, 1);
	const json_t *window = NULL, *step = NULL, *wait = NULL;

	assert_int_equal(named(events, "real", &window), 1);
	assert_int_equal(named(events, "step", &step), 3);
	assert_int_equal(named(events, "wait", &wait), 3);
	assert_float_equal(number(step, "dur"), 10000, .01);
	assert_float_equal(number(wait, "dur"), 4000, .01);
	assert_float_equal(number(wait, "ts"), number(step, "ts"), .01);
	assert_true(number(window, "ts") <= number(step, "ts"));
	json_decref(events);
	session_free(trace);
}

TEST(several_steps_of_a_record_have_no_place_for_waits)
{
	struct trace *trace = a_session();
	const struct trace *sessions[] = {trace};
	const json_t *steps = NULL, *wait = NULL;
	json_t *events;

	trace->steps[1].steps = 2;
	events = events_of(sessions, 1, 1);
	assert_int_equal(named(events, "steps", &steps), 1);
	assert_int_equal(named(events, "wait", &wait), 2);
	assert_float_equal(number(steps, "waited_us"), 4000, .01);
	json_decref(events);
	session_free(trace);
}

TEST(processes_and_devices_have_tracks)
{
	struct trace *trace = a_session();
	const struct trace *sessions[] = {trace};
	const json_t *batch = NULL, *kernels = NULL, *name = NULL;
	json_t *events;

	for (uint32_t i = 0; i < 4; i++)
		trace->batches[i] = (struct trace_batch){.worker = 1 + i % 2,
							 .begin_ns = 1000 * i,
							 .end_ns = 1000 * i + 500,
							 .io_ns = 200};
	atomic_store(&trace->batch_count, 4);
	trace->spans[0] = (struct trace_span){
		.start_ns = 5, .end_ns = 2005, .idle_ns = 1500, .work = TRACE_KERNEL};
	trace->spans[1] = (struct trace_span){.start_ns = 5}; /* is not whole */
	trace->spans[2] = trace->spans[0];
	trace->spans[2].pid = 2; /* another process's device 0 */
	atomic_store(&trace->span_count, TRACE_SPANS + 1); /* some were lost */
	events = events_of(sessions, 1, 1);
	assert_int_equal(named(events, "batch", &batch), 4);
	assert_float_equal(number(batch, "dur"), .5, 1e-9);
	assert_float_equal(number(batch, "reading_us"), .2, 1e-9);
	assert_int_equal(named(events, "kernels", &kernels), 2);
	assert_float_equal(number(kernels, "ts"), .005, 1e-9);
	/* windows, training, two processes that make batches, two with a device */
	assert_int_equal(named(events, "thread_name", &name), 6);
	json_decref(events);
	session_free(trace);
}

static const char *session_name(const json_t *events, unsigned session)
{
	for (size_t i = 0; i < json_array_size(events); i++) {
		const json_t *event = json_array_get(events, i);

		if (number(event, "pid") == session &&
		    strcmp(json_string_value(json_object_get(event, "name")),
			   "process_name") == 0)
			return json_string_value(json_object_get(
				json_object_get(event, "args"), "name"));
	}
	return "";
}

TEST(sessions_are_launches_or_jobs)
{
	struct trace *trace = a_session();
	const struct trace *sessions[] = {trace, trace, trace};
	json_t *events = events_of(sessions, 1, 1);

	assert_string_equal(session_name(events, 1), "program");
	json_decref(events);
	events = events_of(sessions, 3, 3);
	assert_string_equal(session_name(events, 1), "launch 1");
	assert_string_equal(session_name(events, 3), "launch 3");
	json_decref(events);
	events = events_of(sessions, 1, 3);
	assert_string_equal(session_name(events, 1), "job 0");
	assert_string_equal(session_name(events, 3), "job 2");
	json_decref(events);
	session_free(trace);
}
