/* certificate_made_test.c - what proves a window of a loader that the program brought. */
#include "profiler/session/certificate_made.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES = 100000, BATCHES = 20, FILES = 8 }; /* of a batch */

static struct trace *trace;

static int begin(void **state)
{
	(void)state;
	trace = calloc(1, sizeof(*trace));
	if (trace == NULL)
		return -1;
	trace->loader.kind = TRACE_TORCH;
	trace->loader.dataset_bytes = trace->loader.dataset_samples = 1000;
	trace->window_count = trace->step_count = 1;
	trace->windows[0] = (struct trace_window){
		.state = TRACE_DONE,
		.step_records = 1,
		.made = {.batches = BATCHES,
			 .opens = BATCHES * FILES,
			 .bytes = (uint64_t)BATCHES * FILES * FILE_BYTES,
			 .listed_bytes = (uint64_t)BATCHES * FILES * FILE_BYTES,
			 .begin_resident = (uint64_t)BATCHES * FILES * FILE_BYTES,
			 .end_resident = (uint64_t)BATCHES * FILES * FILE_BYTES},
	};
	trace->steps[0] = (struct trace_step){
		.end_ns = 1000000000, .steps = BATCHES, .samples = BATCHES * FILES};
	return 0;
}

static int end(void **state)
{
	(void)state;
	free(trace);
	return 0;
}

static bool proven(enum trace_kind kind, unsigned flags, const char *why)
{
	struct window window;

	trace->windows[0].kind = kind;
	trace->windows[0].flags = flags;
	window_measure(trace, 0, &window);
	assert_non_null(strstr(window.why, why));
	assert_true(window.certified == (strncmp(window.why, "void", 4) != 0));
	return window.certified;
}

TEST_WITH(what_no_call_shows_is_void, begin, end)
{
	struct trace_made *made = &trace->windows[0].made;

	made->unseen = TRACE_MAPPED;
	assert_false(proven(TRACE_CACHED, 0, "mapped files"));
	made->unseen = TRACE_FORKED;
	assert_false(proven(TRACE_REAL, TRACE_WARM, "processes that are started"));
	made->unseen = TRACE_CALLS;
	made->proc_bytes = 1000;
	made->seen_bytes = 30;
	assert_false(proven(TRACE_CACHED, 0, "such as those of io_uring"));
	assert_false(proven(TRACE_REAL, TRACE_DRAW, "30 of 1000 seen"));
}

/* Never "no file read". */
TEST_WITH(what_came_from_storage_was_read, begin, end)
{
	struct trace_made *made = &trace->windows[0].made;

	*made = (struct trace_made){.batches = BATCHES, .storage_bytes = 4096};
	assert_false(proven(TRACE_CACHED, 0, "but 4096 bytes came from storage"));
	assert_false(proven(TRACE_REAL, TRACE_WARM, "came from storage"));
	assert_false(proven(TRACE_REAL, TRACE_DRAW, "came from storage"));
}

TEST_WITH(a_list_that_is_not_whole_proves_nothing, begin, end)
{
	trace->windows[0].made.unlisted = 7;
	assert_false(proven(TRACE_CACHED, 0, "no room for 7 parts of the files"));
}

TEST_WITH(cached_files_lie_in_memory_at_both_ends, begin, end)
{
	struct trace_made *made = &trace->windows[0].made;

	made->begin_resident = made->listed_bytes / 2;
	assert_false(proven(TRACE_CACHED, 0, "as it began only"));
	made->begin_resident = made->listed_bytes;
	made->end_resident = made->listed_bytes * 98 / 100;
	assert_false(proven(TRACE_CACHED, 0, "as it ended only"));
	made->begin_resident = made->end_resident = UINT64_MAX;
	assert_true(proven(TRACE_CACHED, 0, "0 of 16000000 bytes"));
}

TEST_WITH(the_stream_proves_itself_by_its_records, begin, end)
{
	struct trace_made *made = &trace->windows[0].made;

	strcpy(trace->loader.no_list, "connections");
	assert_false(proven(TRACE_CACHED, 0, "can't be given again"));
	assert_false(proven(TRACE_REAL, 0, "can't be given again"));
	made->listed_bytes = 0;
	made->unseen = TRACE_SOCKET;
	made->storage_bytes = made->bytes;
	assert_true(proven(TRACE_REAL, 0, "20 batches of the stream"));
	trace->loader.storage_latency = 1;
	assert_false(proven(TRACE_REAL, 0, "does not act on connections"));
	trace->loader.storage_latency = 0;
	made->lost = 1;
	assert_false(proven(TRACE_REAL, 0, "1 not recorded"));
}

TEST_WITH(synthetic_ones_made_nothing, begin, end)
{
	struct trace_made *made = &trace->windows[0].made;

	assert_false(proven(TRACE_SYNTHETIC, 0, "20 batches were made"));
	*made = (struct trace_made){.renewed_ns = 9000000};
	assert_true(proven(TRACE_SYNTHETIC, 0, "no batch made"));
	made->renewed_ns = 11000000;
	assert_false(proven(TRACE_SYNTHETIC, 0, "1.1 % of its time"));
}

TEST_WITH(cached_ones_read_what_they_did_and_from_memory, begin, end)
{
	struct trace_made *made = &trace->windows[0].made;

	made->storage_bytes = made->bytes / 100;
	assert_true(proven(TRACE_CACHED, 0, "bytes of 20 batches came from storage"));
	made->storage_bytes++;
	assert_false(proven(TRACE_CACHED, 0, "came from storage"));
	made->storage_bytes = 0;
	made->other = 1;
	assert_false(
		proven(TRACE_CACHED, 0, "1 of 20 batches opened or read something"));
	made->other = 0;
	made->lost = 1;
	assert_false(proven(TRACE_CACHED, 0, "not recorded"));
}

/* A process that faults a page of its own in reads no sample from storage. */
TEST_WITH(pages_of_the_program_are_no_data, begin, end)
{
	struct trace_made *made = &trace->windows[0].made;

	made->bytes = made->listed_bytes = 100000;
	made->begin_resident = made->end_resident = 100000;
	made->storage_bytes = 16384;
	assert_true(proven(TRACE_CACHED, 0, "of 100000 bytes of 20 batches came"));
	made->storage_bytes++;
	assert_false(proven(TRACE_CACHED, 0, "void: 16385 of 100000 bytes"));
	made->storage_bytes = 4096;
	made->begin_resident = made->end_resident = UINT64_MAX;
	assert_false(proven(TRACE_CACHED, 0, "void: 4096 of 100000 bytes"));
}

TEST_WITH(data_in_memory_needs_no_file, begin, end)
{
	trace->windows[0].made = (struct trace_made){.batches = BATCHES};
	assert_true(proven(TRACE_CACHED, 0, "no file read in 20 batches"));
	assert_true(proven(TRACE_REAL, TRACE_WARM, "no file read in 20 batches"));
}

TEST_WITH(steps_without_a_batch_prove_nothing, begin, end)
{
	trace->windows[0].made = (struct trace_made){.batches = 0};
	assert_false(proven(TRACE_CACHED, 0, "no batch was seen to be made"));
	assert_false(proven(TRACE_REAL, TRACE_WARM, "no batch was seen to be made"));
	assert_false(proven(TRACE_REAL, TRACE_DRAW, "no batch was seen to be made"));
	trace->loader.storage_latency = .001;
	assert_false(proven(TRACE_REAL, 0, "no batch was seen to be made"));
	trace->loader.storage_latency = 0;
	strcpy(trace->loader.no_list, "connections");
	assert_false(proven(TRACE_REAL, 0, "no batch was seen to be made"));
	trace->windows[0].made.lost = 1;
	assert_false(proven(TRACE_REAL, 0, "1 not recorded"));
	assert_true(proven(TRACE_REAL, TRACE_WARMUP, "as it began"));
	trace->windows[0].made.lost = 0;
	trace->loader.no_list[0] = '\0';
	trace->windows[0].samples = 1; /* nothing is delivered in it */
	trace->windows[0].end.time_ns = 1000000000;
	assert_false(proven(TRACE_PREP, 0, "no batch was seen to be made"));
}

TEST_WITH(drawn_ones_read_what_was_evicted, begin, end)
{
	struct trace_made *made = &trace->windows[0].made;

	trace->windows[0].hit = .4;
	made->begin_resident = made->listed_bytes * 4 / 10;
	made->storage_bytes = made->bytes * 6 / 10;
	assert_true(proven(TRACE_REAL, TRACE_DRAW, "were evicted"));
	made->storage_bytes = made->bytes;
	assert_false(proven(TRACE_REAL, TRACE_DRAW, "were evicted"));
	made->storage_bytes = made->bytes * 2 / 10;
	assert_false(proven(TRACE_REAL, TRACE_DRAW, "were evicted"));
}

/* Of others' files the kernel does not say what lies in memory. */
TEST_WITH(of_others_files_storage_proves_it, begin, end)
{
	struct trace_made *made = &trace->windows[0].made;

	trace->windows[0].hit = .4;
	made->begin_resident = made->end_resident = UINT64_MAX;
	made->evicted_bytes = made->listed_bytes * 6 / 10;
	made->storage_bytes = made->bytes * 6 / 10;
	assert_true(proven(TRACE_REAL, TRACE_DRAW, "9600000 were evicted"));
	made->storage_bytes = 0; /* another process had them mapped */
	assert_false(proven(TRACE_REAL, TRACE_DRAW, "were evicted"));
}

/* Some file systems count no bytes from storage. */
TEST_WITH(what_came_into_memory_was_fetched, begin, end)
{
	struct trace_made *made = &trace->windows[0].made;

	trace->windows[0].hit = .4;
	made->begin_resident = made->listed_bytes * 4 / 10;
	assert_true(proven(TRACE_REAL, TRACE_DRAW, "9600000 of 16000000 bytes"));
	made->end_resident = made->begin_resident;
	assert_false(proven(TRACE_REAL, TRACE_DRAW, "0 of 16000000 bytes"));
}

TEST_WITH(emulated_storage_held_reads_back, begin, end)
{
	trace->loader.storage_latency = .001;
	assert_false(proven(TRACE_REAL, 0, "0 calls held back"));
	trace->windows[0].made.throttled = 7;
	assert_true(proven(TRACE_REAL, 0, "7 calls held back"));
}

TEST_WITH(one_that_the_program_left_says_so, begin, end)
{
	trace->windows[0].state = TRACE_REFUSED;
	trace->windows[0].cut = 1;
	assert_false(proven(TRACE_REAL, 0, "the program began another epoch"));
	trace->loader.kind = TRACE_WATCH;
	assert_false(proven(TRACE_REAL, 0, "give dsa.watch() an object"));
}

TEST_WITH(other_kinds_are_not_proven, begin, end)
{
	trace->windows[0].samples = 1;
	trace->windows[0].end.time_ns = 1000000000;
	assert_false(proven(TRACE_FETCH, 0, "of no kind that can be proven"));
}
