/* analyse_device_test.c - the result of a loader that copies to a device. */
#include "profiler/analysis/analyse.h"
#include "profiler/session/window.h"
#include "tests/lib/close_to.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { BATCH = 32, STEPS = 20, SENT = 1000 /* bytes of a sample */, BLOCKS = 8 };

static const enum trace_kind kinds[] = {TRACE_SYNTHETIC, TRACE_COPIED, TRACE_CACHED,
					TRACE_REAL};

/* 8 ms of compute, 12 with copies, 15 with prep, 20 with fetch, all of it blocked. */
static struct session_window asked(enum trace_kind kind, int block)
{
	static const double step_ms[TRACE_KINDS] = {[TRACE_SYNTHETIC] = 8,
						    [TRACE_COPIED] = 12,
						    [TRACE_CACHED] = 15,
						    [TRACE_REAL] = 20};
	bool pipeline = kind == TRACE_CACHED || kind == TRACE_REAL;

	return (struct session_window){
		.kind = kind,
		.block = block,
		.steps = STEPS,
		.samples = BATCH,
		.step_ms = step_ms[kind],
		.blocked_ms = step_ms[kind] - 8,
		.prepared = pipeline ? STEPS * BATCH : 0,
		.fetched = kind == TRACE_REAL ? STEPS * BATCH : 0,
		.copied_bytes = kind == TRACE_SYNTHETIC ? 0 : STEPS * BATCH * SENT,
	};
}

/* Each batch takes the device 3.2 ms to copy. */
static struct trace *run_of(int blocks)
{
	struct trace *trace = session_new();

	assert_non_null(trace);
	strcpy(trace->loader.device, "cuda:0");
	trace->loader.device_sample_bytes = SENT;
	trace->loader.device_uint8 = 1;
	for (int i = 0; i < 4 * blocks; i++) {
		struct session_window window = asked(kinds[i % 4], i / 4);
		struct trace_window *added = session_add(trace, &window);

		if (window.copied_bytes > 0)
			added->end.counters[TRACE_device_copy_ns] += STEPS * 3200000;
	}
	return trace;
}

static void analysed(const struct trace *trace, struct profile *profile)
{
	profile_init(profile);
	assert_int_equal(analyse(&trace, 1, profile, NULL), 0);
}

TEST(the_copy_is_a_share_of_its_own)
{
	struct trace *trace = run_of(BLOCKS);
	struct profile profile;

	analysed(trace, &profile);
	assert_int_equal(profile.blocks, BLOCKS);
	close_to(profile.stalls[STAGE_COMPUTE].value, .4, 1e-9);
	close_to(profile.stalls[STAGE_COPY].value, .2, 1e-9);
	close_to(profile.stalls[STAGE_PREP].value, .15, 1e-9);
	close_to(profile.stalls[STAGE_FETCH].value, .25, 1e-9);
	close_to(profile.rates[TRACE_COPIED].value, BATCH / 12e-3, 1e-6);
	close_to(profile.device_copy_s.value, 1e-4, 1e-12);
	assert_string_equal(profile.device, "cuda:0");
	assert_string_equal(profile.transfer, "uint8");
	assert_string_equal(profile.device_memory, "pinned");
	assert_int_equal(profile.device_sample_bytes, SENT);
	assert_true(analyse_complete(&profile));
	profile_free(&profile);
	session_free(trace);
}

/* The program's streams wait for copies, and not the call that gives a batch. */
TEST(the_time_blocked_tells_prep_and_fetch_alone)
{
	struct trace *trace = run_of(BLOCKS);
	struct profile profile;

	analysed(trace, &profile);
	assert_true(isnan(profile.proof.share[STAGE_COPY]));
	close_to(profile.proof.share[STAGE_PREP], .15, 1e-9);
	close_to(profile.proof.share[STAGE_FETCH], .25, 1e-9);
	close_to(profile.proof_gap, 0, 1e-9);
	profile_free(&profile);
	session_free(trace);
}

/* A block lacks its copied window: it is none. */
TEST(without_its_windows_a_block_is_not_whole)
{
	struct trace *trace = run_of(BLOCKS);
	struct profile profile;

	trace->windows[1].state = TRACE_REFUSED;
	analysed(trace, &profile);
	assert_int_equal(profile.blocks, BLOCKS - 1);
	close_to(profile.stalls[STAGE_COPY].value, .2, 1e-9);
	profile_free(&profile);
	session_free(trace);
}

static bool proven(struct trace *trace, unsigned index, const char *why)
{
	struct window window;

	window_measure(trace, index, &window);
	if (strstr(window.why, why) == NULL)
		fail_msg("%s", window.why);
	return window.certified;
}

TEST(a_copied_window_proves_its_bytes_and_that_nothing_was_prepared)
{
	struct trace *trace = run_of(1);
	uint64_t *end = trace->windows[1].end.counters;

	assert_true(proven(trace, 1, "640000 bytes copied to the device for 640"));
	end[TRACE_device_bytes] += BATCH * SENT; /* its ends lie between two batches */
	assert_true(proven(trace, 1, "672000 bytes"));
	end[TRACE_device_bytes]++;
	assert_false(proven(trace, 1, "void: 672001 bytes"));
	end[TRACE_device_bytes] = 0;
	assert_false(proven(trace, 1, "void: 0 bytes"));
	end[TRACE_device_bytes] = STEPS * BATCH * SENT;
	end[TRACE_prepared_samples]++;
	assert_false(proven(trace, 1, "void: 0 samples fetched, 1 prepared"));
	session_free(trace);
}

TEST(a_synthetic_one_that_nothing_was_copied)
{
	struct trace *trace = run_of(1);

	assert_true(proven(trace, 0, "nothing fetched or prepared"));
	trace->windows[0].end.counters[TRACE_device_bytes]++;
	assert_false(proven(trace, 0, "void: 1 bytes copied to the device"));
	/* by a job that shares a loader: no stage of what is measured */
	trace->loader.device[0] = '\0';
	assert_true(proven(trace, 0, "nothing fetched or prepared"));
	session_free(trace);
}

/* Its steps end when the program says so, and count; what it waits for may be less. */
TEST(what_can_not_be_waited_for_makes_an_upper_bound)
{
	struct trace *trace = run_of(1);
	struct profile profile;

	analysed(trace, &profile);
	assert_null(profile.bound_why);
	profile_free(&profile);
	trace->windows[0].made.devices = TRACE_UNAWAITED;
	analysed(trace, &profile);
	assert_non_null(strstr(profile.bound_why, "can't be waited for"));
	profile_free(&profile);
	session_free(trace);
}

/* What another thread waits for is no wait of the training where it reads ahead; but what that
 * waits for its queue is. */
TEST(an_observed_thread_that_asks_ahead_makes_an_upper_bound)
{
	struct trace *trace = run_of(1);
	struct profile profile;

	trace->loader.apart = TRACE_APART;
	analysed(trace, &profile);
	assert_null(profile.bound_why);
	assert_true(profile.reads_ahead);
	profile_free(&profile);
	trace->observe = 1;
	analysed(trace, &profile);
	assert_non_null(strstr(profile.bound_why, "ahead of the one that trains"));
	profile_free(&profile);
	trace->loader.apart = TRACE_QUEUED;
	analysed(trace, &profile);
	assert_null(profile.bound_why);
	profile_free(&profile);
	session_free(trace);
}

TEST(one_that_closed_before_its_devices_is_void)
{
	struct trace *trace = run_of(1);

	trace->windows[1].made.devices = TRACE_AWAITED;
	trace->windows[1].state = TRACE_REFUSED;
	assert_false(proven(trace, 1, "void: the program ended, maybe before its"));
	session_free(trace);
}

/* A program that is 4 batches ahead only launches, until it has to wait: at the end for all
 * of them. What is far longer is none of that. */
TEST(pauses_of_a_program_that_is_ahead_are_left_out)
{
	struct trace *trace = run_of(1);
	struct trace_step *steps = &trace->steps[trace->windows[0].first_step];
	struct window window;

	trace->windows[0].made.devices = TRACE_AWAITED;
	trace->loader.slots = 4;
	for (int i = 0; i < STEPS; i++) {
		uint64_t length = i < 4 ? 0 : i == STEPS - 1 ? 5 * 8000000 : 8000000;

		steps[i].end_ns = steps[i].request_ns + length;
		steps[i].blocked_ns = 0;
		steps[i].longest_ns = length;
	}
	window_measure(trace, 0, &window);
	close_to(window.seconds, STEPS * 8e-3, 1e-9);
	close_to(window.outside_s, 0, 1e-9);
	steps[10].end_ns += 2000000000;
	steps[10].longest_ns += 2000000000;
	window_measure(trace, 0, &window);
	close_to(window.seconds + window.outside_s, STEPS * 8e-3 + 2, 1e-9);
	close_to(window.seconds, STEPS * 8e-3, 4 * 8e-3 + 1e-9);
	assert_int_equal(window.steps, STEPS);
	session_free(trace);
}

/* Whatever the last one waits for. */
TEST(of_a_program_that_copies_itself_all_is_compute)
{
	struct trace *trace = run_of(1);
	struct trace_step *steps = &trace->steps[trace->windows[0].first_step];
	struct window window;

	trace->windows[0].made.devices = TRACE_AWAITED;
	trace->loader.slots = 4;
	trace->loader.device[0] = '\0';
	steps[10].end_ns += 2000000000;
	steps[10].longest_ns += 2000000000;
	window_measure(trace, 0, &window);
	close_to(window.outside_s, 0, 1e-9);
	session_free(trace);
}

TEST(without_a_pool_its_windows_say_why)
{
	struct trace *trace = run_of(1);

	strcpy(trace->pool_why, "device: 9 MB for 8 batches: out of memory");
	trace->windows[0].state = trace->windows[2].state = TRACE_REFUSED;
	assert_false(proven(trace, 0, "void: device: 9 MB for 8 batches: out of"));
	assert_false(proven(trace, 2, "void: the loader could not do it"));
	session_free(trace);
}

TEST(a_graph_that_was_recorded_at_an_end_voids_a_window)
{
	struct trace *trace = run_of(1);

	trace->windows[1].made.devices = TRACE_AWAITED;
	assert_true(proven(trace, 1, "640000 bytes"));
	trace->windows[1].made.devices = TRACE_CAPTURED;
	assert_false(proven(trace, 1, "void: a CUDA graph was being recorded as"));
	session_free(trace);
}
