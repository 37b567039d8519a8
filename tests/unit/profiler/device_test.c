#include "loader/base/random.h"
#include "profiler/device.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

enum { PID = 7, PIECES = 200 };

static struct trace *trace;

static int begin(void **state)
{
	(void)state;
	trace = calloc(1, sizeof(*trace));
	return trace == NULL;
}

static int end(void **state)
{
	(void)state;
	free(trace);
	return 0;
}

static void add_span(enum trace_work work, uint64_t start, uint64_t stop, uint64_t idle)
{
	trace->spans[trace->span_count++] = (struct trace_span){
		.start_ns = start,
		.end_ns = stop,
		.idle_ns = idle,
		.pid = PID,
		.work = (uint16_t)work,
	};
}

TEST_WITH(a_stretch_of_any_length_adds_up, begin, end)
{
	struct device_use use = {0};
	struct devices devices;

	add_span(TRACE_KERNEL, 1, UINT64_MAX, 0);
	assert_int_equal(devices_read(trace, &devices), 0);
	device_use(&devices.device[0], 0, UINT64_MAX, NULL, 0, &use);
	assert_true(use.busy_ns == UINT64_MAX - 1);
	assert_true(use.host_ns == 1);
	devices_free(&devices);
}

/* ---- pictures: a letter is 10 ns, the first one begins at 100 ---- */

enum { LETTER = 10, ORIGIN = 100 };

/* Each run of letters other than blanks is a span. */
static void add_picture(enum trace_work work, const char *picture)
{
	for (const char *at = picture; *at != '\0';) {
		size_t blanks = strspn(at, " "), length = strcspn(at + blanks, " ");
		uint64_t start = ORIGIN + LETTER * (uint64_t)(at + blanks - picture);

		if (length > 0)
			add_span(work, start, start + LETTER * length, 0);
		at += blanks + length;
	}
}

/* A step begins with b, blocked for as many; '-' is the rest of it. */
static size_t read_steps(const char *picture, struct trace_step *steps)
{
	size_t count = 0;

	for (const char *at = picture; *at != '\0'; count++) {
		size_t blocked = strspn(at, "b"), rest = strspn(at + blocked, "-");
		uint64_t start = ORIGIN + LETTER * (uint64_t)(at - picture);

		steps[count] = (struct trace_step){
			.request_ns = start,
			.blocked_ns = LETTER * blocked,
			.end_ns = start + LETTER * (blocked + rest),
			.steps = 1,
		};
		at += blocked + rest;
	}
	return count;
}

static struct device_use use_of(uint64_t from, uint64_t to,
				const struct trace_step *steps, size_t count)
{
	struct device_use use = {0};
	struct devices devices;

	assert_int_equal(devices_read(trace, &devices), 0);
	assert_int_equal(devices.count, 1);
	device_use(&devices.device[0], from, to, steps, count, &use);
	assert_int_equal(device_use_total(&use), to - from);
	devices_free(&devices);
	return use;
}

TEST_WITH(pictures_are_what_they_show, begin, end)
{
	static const struct {
		const char *kernels, *collectives, *in, *out, *memsets, *steps;
		uint64_t busy, copy, data, host, overlap, collective; /* letters */
	} rows[] = {
		/* one after the other: a program that waits for all it does */
		{"     ===     ===", "", "   ==      ==   ", "", "", "bbb-----bbb-----",
		 6, 4, 6, 0, 0, 0},
		/* the host is late */
		{"       =        ", "", "", "", "", "bb--------------", 1, 0, 2, 13, 0,
		 0},
		/* a copy beside a kernel, and after it */
		{"====            ", "", "  ====          ", "", "", "----------------",
		 4, 2, 0, 10, 2, 0},
		/* copies of all kinds at once are copied once */
		{"                ", "", "==              ", " ===            ",
		 "   ==           ", "bbbbbbbb--------", 0, 5, 3, 8, 0, 0},
		/* far ahead: the program is blocked, the device works */
		{"================", "", "", "", "", "bbbbbbbbbbbbbb--", 16, 0, 0, 0, 0,
		 0},
		/* no step is known */
		{"====            ", "", "", "", "", "", 4, 0, 0, 12, 0, 0},
		/* ranks wait for each other: busy, as far as a kernel can tell */
		{"====            ", "   ====         ", "      ==        ", "", "",
		 "bbbbbbbbbb------", 7, 1, 2, 6, 1, 3},
	};
	struct trace_step steps[16];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct device_use use;

		trace->span_count = 0;
		add_picture(TRACE_KERNEL, rows[i].kernels);
		add_picture(TRACE_COLLECTIVE, rows[i].collectives);
		add_picture(TRACE_COPY_IN, rows[i].in);
		add_picture(TRACE_COPY_OUT, rows[i].out);
		add_picture(TRACE_MEMSET, rows[i].memsets);
		use = use_of(ORIGIN, ORIGIN + 16 * LETTER, steps,
			     read_steps(rows[i].steps, steps));
		assert_int_equal(use.busy_ns, LETTER * rows[i].busy);
		assert_int_equal(use.copy_ns, LETTER * rows[i].copy);
		assert_int_equal(use.data_ns, LETTER * rows[i].data);
		assert_int_equal(use.host_ns, LETTER * rows[i].host);
		assert_int_equal(use.overlap_ns, LETTER * rows[i].overlap);
		assert_int_equal(use.collective_ns, LETTER * rows[i].collective);
	}
}

TEST_WITH(windows_cut_what_reaches_over_their_edges, begin, end)
{
	const struct trace_step step = {
		.request_ns = 50, .blocked_ns = 100, .end_ns = 400, .steps = 1};
	struct device_use use;

	add_span(TRACE_KERNEL, 0, 110, 0);
	add_span(TRACE_KERNEL, 190, 1000, 0);
	use = use_of(100, 200, &step, 1);
	assert_int_equal(use.busy_ns, 10 + 10);
	assert_int_equal(use.data_ns, 40);
	assert_int_equal(use.host_ns, 40);
}

TEST_WITH(pauses_within_a_span_lie_evenly, begin, end)
{
	const struct trace_step step = {
		.request_ns = 0, .blocked_ns = 500, .end_ns = 1000, .steps = 1};
	struct device_use use;

	add_span(TRACE_KERNEL, 0, 1000, 400);
	add_span(TRACE_COPY_IN, 0, 1000, 500);
	use = use_of(0, 1000, &step, 1);
	assert_int_equal(use.busy_ns, 600);
	assert_int_equal(use.copy_ns, 200); /* half of what is left */
	assert_int_equal(use.data_ns, 100);
	assert_int_equal(use.host_ns, 100);
	assert_int_equal(use.overlap_ns, 300);
}

TEST_WITH(records_of_several_steps_wait_as_long_as_they_may, begin, end)
{
	const struct trace_step steps[] = {
		{.request_ns = 0, .blocked_ns = 30, .end_ns = 100, .steps = 4},
		{.request_ns = 100, .blocked_ns = 90, .end_ns = 200, .steps = 4},
	};
	struct device_use use;

	add_span(TRACE_KERNEL, 10, 20, 0);
	add_span(TRACE_KERNEL, 120, 160, 0);
	use = use_of(0, 200, steps, 2);
	assert_int_equal(use.busy_ns, 50);
	assert_int_equal(use.data_ns, 30 + 60);
	assert_int_equal(use.host_ns, 60);
}

TEST_WITH(spans_out_of_order_and_over_each_other_are_one, begin, end)
{
	struct device_use use;

	add_span(TRACE_KERNEL, 500, 600, 0);
	add_span(TRACE_KERNEL, 100, 300, 0);
	add_span(TRACE_KERNEL, 150, 200, 0);
	add_span(TRACE_KERNEL, 250, 400, 0);
	use = use_of(0, 1000, NULL, 0);
	assert_int_equal(use.busy_ns, 400);
}

TEST_WITH(devices_and_processes_are_kept_apart, begin, end)
{
	struct devices devices;

	for (unsigned i = 0; i < 6; i++) {
		add_span(TRACE_KERNEL, 100 * i + 1, 100 * i + 50, 0);
		trace->spans[i].pid = 10 + i % 2;
		trace->spans[i].device = (uint16_t)(i / 2 % 2);
	}
	add_span(TRACE_KERNEL, 0, 0, 0);    /* not written to its end, */
	add_span(TRACE_KERNEL, 10, 20, 11); /* more pause than span, */
	add_span(TRACE_WORKS, 10, 20, 0);   /* work of no kind */
	trace->spans[trace->span_count - 1].pid = 99;
	assert_int_equal(devices_read(trace, &devices), 0);
	assert_int_equal(devices.count, 4);
	for (size_t i = 0; i < devices.count; i++) {
		assert_int_equal(devices.device[i].pid, 10 + i / 2);
		assert_int_equal(devices.device[i].ordinal, i % 2);
	}
	assert_int_equal(devices.device[0].tracks[TRACE_KERNEL].count, 2);
	devices_free(&devices);
}

/* ---- by counting nanoseconds ---- */

enum { KERNELS = 1, COPIES = 2, BLOCKED = 4, RANGE = 5000 };

static void paint(uint8_t *line, uint64_t from, uint64_t to, int colour)
{
	for (uint64_t i = from; i < to && i < RANGE; i++)
		line[i] |= (uint8_t)colour;
}

static uint64_t some(struct random *random, uint64_t most)
{
	return random_next(random) % most;
}

TEST_WITH(random_lines_are_counted_right, begin, end)
{
	struct random random = {1};
	struct trace_step steps[PIECES];

	for (unsigned round = 0; round < 300; round++) {
		static uint8_t line[RANGE];
		uint64_t at = 0, from = some(&random, RANGE / 2), counted[4] = {0};
		uint64_t to = from + some(&random, RANGE - from);
		struct device_use use;
		size_t count = 0;

		trace->span_count = 0;
		memset(line, 0, sizeof(line));
		add_span(TRACE_KERNEL, RANGE, RANGE + 1, 0);
		for (unsigned i = 0; i < some(&random, 40); i++) {
			enum trace_work work = some(&random, TRACE_WORKS);
			uint64_t start = some(&random, RANGE);
			uint64_t stop = start + 1 + some(&random, 200);

			add_span(work, start, stop, 0);
			paint(line, start, stop,
			      work <= TRACE_COLLECTIVE ? KERNELS : COPIES);
		}
		for (; at < RANGE && count < PIECES; count++) {
			uint64_t length = 1 + some(&random, 300);
			uint64_t blocked = some(&random, length + 1);

			steps[count] = (struct trace_step){.request_ns = at,
							   .blocked_ns = blocked,
							   .end_ns = at + length,
							   .steps = 1};
			paint(line, at, at + blocked, BLOCKED);
			at += length;
		}
		for (uint64_t i = from; i < to; i++)
			counted[line[i] & KERNELS   ? 0
				: line[i] & COPIES  ? 1
				: line[i] & BLOCKED ? 2
						    : 3]++;
		use = use_of(from, to, steps, count);
		assert_int_equal(use.busy_ns, counted[0]);
		assert_int_equal(use.copy_ns, counted[1]);
		assert_int_equal(use.data_ns, counted[2]);
		assert_int_equal(use.host_ns, counted[3]);
	}
}

/* With pauses nothing is exact but the sum. */
TEST_WITH(parts_add_up_whatever_the_spans_are, begin, end)
{
	struct random random = {2};
	struct trace_step steps[PIECES];

	for (unsigned round = 0; round < 300; round++) {
		uint64_t scale = UINT64_C(1) << some(&random, 30);

		trace->span_count = 0;
		add_span(TRACE_KERNEL, 1, 2, 0);
		for (unsigned i = 0; i < 60; i++) {
			uint64_t start = some(&random, 1000 * scale);
			uint64_t length = 1 + some(&random, 100 * scale);

			add_span(some(&random, TRACE_WORKS), start, start + length,
				 some(&random, length + 1));
		}
		for (unsigned i = 0; i < PIECES; i++)
			steps[i] = (struct trace_step){
				.request_ns = i * 5 * scale,
				.blocked_ns = some(&random, 5 * scale),
				.end_ns = (i + 1) * 5 * scale,
				.steps = 1 + (uint32_t)some(&random, 2)};
		use_of(some(&random, 500 * scale), 1000 * scale, steps, PIECES);
	}
}
