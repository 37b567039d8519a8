/* The shares once more, by what the device did. */
#include "profiler/analysis/analyse.h"
#include "profiler/analysis/shares.h"
#include "tests/lib/close_to.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 10, SAMPLES = 32, BLOCKS = 8, PID = 1 };

#define MS UINT64_C(1000000)

/* A step of a real window takes 10 ms: 2 for bytes, 2 for preparation, 1 in which the
 * device copies, 4 in which it computes, 1 in which the host is late. */
static const struct session_window kinds[] = {
	{.kind = TRACE_REAL,
	 .step_ms = 10,
	 .blocked_ms = 4,
	 .fetched = STEPS * SAMPLES,
	 .prepared = STEPS * SAMPLES},
	{.kind = TRACE_CACHED,
	 .step_ms = 8,
	 .blocked_ms = 2,
	 .prepared = STEPS * SAMPLES},
	{.kind = TRACE_SYNTHETIC, .step_ms = 6, .blocked_ms = 0},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static struct trace *trace;
static struct profile profile;

static int begin(void **state)
{
	(void)state;
	trace = session_new();
	profile_init(&profile);
	return trace == NULL;
}

static int end(void **state)
{
	(void)state;
	session_free(trace);
	profile_free(&profile);
	return 0;
}

static void add_span(enum trace_work work, uint64_t start, uint64_t length)
{
	trace->spans[trace->span_count++] =
		(struct trace_span){.start_ns = start,
				    .end_ns = start + length,
				    .pid = PID,
				    .work = (uint16_t)work};
}

/* What the device did for a step: it copies and computes when the batch is there. */
static void add_work(const struct trace_step *step, uint64_t asked_early)
{
	uint64_t ready = step->request_ns + step->blocked_ns - asked_early;

	add_span(TRACE_COPY_IN, ready, 1 * MS);
	add_span(TRACE_KERNEL, ready + 2 * MS, 4 * MS);
}

static void add_window(const struct session_window *kind, int block, double early_ms)
{
	struct session_window asked = *kind;
	const struct trace_window *window;

	asked.block = block;
	asked.steps = STEPS;
	asked.samples = SAMPLES;
	asked.blocked_ms += early_ms;
	window = session_add(trace, &asked);
	for (unsigned i = 0; i < STEPS; i++)
		add_work(&trace->steps[window->first_step + i],
			 (uint64_t)(early_ms * 1e6));
}

/* A program that asks early is blocked while the device still computes. */
static void run(double early_ms)
{
	for (int block = 0; block < BLOCKS; block++)
		for (unsigned i = 0; i < KINDS; i++)
			add_window(&kinds[i], block, early_ms);
	trace->cupti = trace->cupti_said = 1;
	strcpy(trace->cupti_about, "CUPTI 130001, libcupti.so.13");
	assert_int_equal(
		analyse((const struct trace *const[]){trace}, 1, &profile, NULL), 0);
}

static const struct profile_device *row_of(enum trace_kind kind)
{
	for (size_t i = 0; i < profile.device_count; i++)
		if (profile.devices[i].kind.id == (int)kind)
			return &profile.devices[i];
	fail_msg("no row of kind %d", kind);
	return NULL;
}

TEST_WITH(each_kind_of_window_has_a_row, begin, end)
{
	const struct profile_device *real;

	run(0);
	assert_int_equal(profile.device_count, KINDS);
	real = row_of(TRACE_REAL);
	assert_int_equal(real->pid, PID);
	close_to(real->length_s, BLOCKS * STEPS * .010, 1e-9);
	close_to(real->busy_s, BLOCKS * STEPS * .004, 1e-9);
	close_to(real->copy_s, BLOCKS * STEPS * .001, 1e-9);
	close_to(real->data_s, BLOCKS * STEPS * .004, 1e-9);
	close_to(real->host_s, BLOCKS * STEPS * .001, 1e-9);
	close_to(row_of(TRACE_SYNTHETIC)->data_s, 0, 1e-9);
	assert_string_equal(profile.devices_by, "CUPTI 130001, libcupti.so.13");
	assert_int_equal(profile.devices_lost, 0);
}

TEST_WITH(the_second_proof_is_by_the_device, begin, end)
{
	run(0);
	assert_string_equal(profile.proof.basis,
			    PROFILE_DEVICE_IDLE ", by difference of windows");
	close_to(profile.proof.share[STAGE_PREP], .2, 1e-6);
	close_to(profile.proof.share[STAGE_FETCH], .2, 1e-6);
	close_to(profile.proof_gap, 0, 1e-6);
}

/* What it does while it is blocked all the time cancels. */
TEST_WITH(a_program_that_asks_early_waits_no_longer_for_it, begin, end)
{
	run(2);
	close_to(profile.proof.share[STAGE_PREP], .2, .01);
	close_to(profile.proof.share[STAGE_FETCH], .2, .01);
}

TEST_WITH(lost_records_are_no_proof, begin, end)
{
	trace->read_records = 99000;
	trace->lost_records = 1000;
	run(0);
	assert_null(strstr(profile.proof.basis, PROFILE_DEVICE_IDLE));
	assert_int_equal(profile.devices_lost, 1000);
	assert_int_equal(profile.device_count, KINDS);
}

/* A span is made of many records. */
TEST_WITH(few_lost_records_among_many_are_a_proof, begin, end)
{
	trace->read_records = 100000;
	trace->lost_records = 1000;
	run(0);
	assert_non_null(strstr(profile.proof.basis, PROFILE_DEVICE_IDLE));
}

TEST_WITH(without_devices_nothing_is_said, begin, end)
{
	for (int block = 0; block < BLOCKS; block++)
		for (unsigned i = 0; i < KINDS; i++)
			add_window(&kinds[i], block, 0);
	trace->span_count = 0;
	assert_int_equal(
		analyse((const struct trace *const[]){trace}, 1, &profile, NULL), 0);
	assert_int_equal(profile.device_count, 0);
	assert_null(profile.devices_by);
	assert_true(profile.devices_lost == UNKNOWN);
	assert_null(strstr(profile.proof.basis, PROFILE_DEVICE_IDLE));
}

/* Half of the time blocked the device had work. */
static void observe(void)
{
	struct session_window asked = kinds[0];
	struct trace_window *window;

	trace->observe = 1;
	asked.block = -1;
	asked.steps = 100;
	asked.samples = SAMPLES;
	asked.fetched = asked.prepared = 100 * SAMPLES;
	window = session_add(trace, &asked);
	session_samples(trace, window, 4);
	for (unsigned i = 0; i < asked.steps; i++)
		add_span(TRACE_KERNEL,
			 trace->steps[window->first_step + i].request_ns + 2 * MS,
			 8 * MS);
}

TEST_WITH(observed_it_takes_the_place_of_the_upper_bound, begin, end)
{
	observe();
	assert_int_equal(
		analyse((const struct trace *const[]){trace}, 1, &profile, NULL), 0);
	close_to(row_of(TRACE_REAL)->data_s, 100 * .002, 1e-9);
	close_to(profile.stalls[STAGE_COMPUTE].value, .8, 1e-6);
	close_to(profile.stalls[STAGE_PREP].value + profile.stalls[STAGE_FETCH].value,
		 .2, 1e-6);
	assert_string_equal(profile.limit_why, "observed: the device idle for data");
}

/* Of two that the process uses, and one of another process. */
TEST_WITH(the_busiest_device_of_the_program_counts, begin, end)
{
	uint64_t begin, end;

	observe();
	for (uint32_t i = 0; i < trace->span_count; i++)
		trace->spans[i].device = 1;
	begin = trace->spans[0].start_ns;
	end = trace->spans[trace->span_count - 1].end_ns;
	add_span(TRACE_KERNEL, begin, 1);
	add_span(TRACE_KERNEL, begin, end - begin);
	trace->spans[trace->span_count - 1].pid = PID + 1;
	assert_int_equal(
		analyse((const struct trace *const[]){trace}, 1, &profile, NULL), 0);
	assert_int_equal(profile.device_count, 3);
	close_to(profile.stalls[STAGE_COMPUTE].value, .8, 1e-6);
}
