/* certificate_test.c - what proves a window of libdsa's loader. */
#include "profiler/session/window.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <stdint.h>

enum { BATCH = 32, STEPS = 10, SAMPLES = BATCH * STEPS, BYTES = 100000 };

/* So many bytes came from storage for 320 samples of 100,000, with 16 reads in flight. */
static bool proven(uint64_t bytes, bool disk)
{
	const struct session_window asked = {.kind = TRACE_REAL,
					     .steps = STEPS,
					     .samples = BATCH,
					     .step_ms = 20,
					     .prepared = SAMPLES,
					     .fetched = disk ? 0 : SAMPLES};
	struct trace *trace = session_new();
	struct trace_window *raw;
	struct window window;

	assert_non_null(trace);
	raw = session_add(trace, &asked);
	if (disk) {
		raw->end.counters[TRACE_disk_samples] = SAMPLES;
		raw->end.counters[TRACE_disk_bytes] = SAMPLES * BYTES;
	}
	raw->end.read_bytes = raw->begin.read_bytes + bytes;
	window_measure(trace, 0, &window);
	session_free(trace);
	return window.certified;
}

/* And for the blocks in which a file ends. */
TEST(bytes_from_storage_match_but_for_what_is_in_flight)
{
	const uint64_t payload = SAMPLES * BYTES, slack = 2 * 17 * BYTES;
	const uint64_t least = payload - slack, most = payload + slack + SAMPLES * 8192;

	for (int disk = 0; disk < 2; disk++) {
		assert_true(proven(least, disk));
		assert_false(proven(least - 1, disk));
		assert_true(proven(most, disk));
		assert_false(proven(most + 1, disk));
	}
}
