#include "profiler/cupti/cupti_walk.h"
#include "tests/lib/cupti_buffer.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)
#define US UINT64_C(1000)

enum { BUFFER = 1 << 16, PID = 4242 };

/* ---- a session, and buffers of each version ---- */

static struct cupti_watch watch;
static struct trace *trace;
static _Alignas(8) uint8_t buffer[BUFFER];
static size_t used;
static enum cupti_version version;

static int next(uint8_t *from, size_t valid, uint8_t **record)
{
	return cupti_buffer_next(version, from, valid, record);
}

static int begin(void **state)
{
	(void)state;
	trace = calloc(1, sizeof(*trace));
	watch = (struct cupti_watch){.spans = {.trace = trace, .pid = PID},
				     .adding = PTHREAD_MUTEX_INITIALIZER};
	watch.api.cuptiActivityGetNextRecord = next;
	version = CUPTI_13_0;
	used = 0;
	memset(buffer, 0, sizeof(buffer));
	return trace == NULL;
}

static int end(void **state)
{
	(void)state;
	free(trace);
	return 0;
}

static void write_one(struct fake_cupti_record record)
{
	used += cupti_buffer_write(version, buffer + used, &record);
}

static void walk(void)
{
	cupti_walk(&watch, buffer, used);
	memset(buffer, 0, used);
	used = 0;
}

static void kernel(uint64_t start_ns, uint64_t end_ns)
{
	write_one((struct fake_cupti_record){
		.kind = CUPTI_KERNEL, .start_ns = start_ns, .end_ns = end_ns});
}

static void assert_span(unsigned index, uint64_t start_ns, uint64_t end_ns,
			uint64_t idle_ns)
{
	assert_in_range(index, 0, trace->span_count - 1);
	assert_int_equal(trace->spans[index].start_ns, start_ns);
	assert_int_equal(trace->spans[index].end_ns, end_ns);
	assert_int_equal(trace->spans[index].idle_ns, idle_ns);
	assert_int_equal(trace->spans[index].pid, PID);
}

/* ---- records ---- */

TEST_WITH(every_version_is_read_at_the_same_places, begin, end)
{
	static const struct {
		struct fake_cupti_record record;
		enum trace_work work;
	} rows[] = {
		{{CUPTI_KERNEL, 3, 0, 1 * MS, 2 * MS, "sgemm"}, TRACE_KERNEL},
		{{CUPTI_KERNEL, 3, 0, 1 * MS, 2 * MS, "ncclDevKernel_AllReduce"},
		 TRACE_COLLECTIVE},
		{{CUPTI_KERNEL, 4, 0, 1 * MS, 2 * MS, CUPTI_COLLECTIVE},
		 TRACE_COLLECTIVE},
		{{CUPTI_KERNEL, 4, 0, 1 * MS, 2 * MS, "_Z4sgemmnccl"}, TRACE_KERNEL},
		{{CUPTI_KERNEL, 6, 0, 1 * MS, 2 * MS, NULL}, TRACE_KERNEL},
		{{CUPTI_GRAPH, 7, 0, 1 * MS, 2 * MS, NULL}, TRACE_KERNEL},
		{{CUPTI_MEMCPY, 3, 1, 1 * MS, 2 * MS, NULL}, TRACE_COPY_IN},
		{{CUPTI_MEMCPY, 3, 2, 1 * MS, 2 * MS, NULL}, TRACE_COPY_OUT},
		{{CUPTI_MEMCPY, 3, 8, 1 * MS, 2 * MS, NULL}, TRACE_COPY_PEER},
		{{CUPTI_MEMCPY2, 15, 0, 1 * MS, 2 * MS, NULL}, TRACE_COPY_PEER},
		{{CUPTI_MEMSET, 3, 0, 1 * MS, 2 * MS, NULL}, TRACE_MEMSET},
	};
	unsigned count = sizeof(rows) / sizeof(rows[0]);

	for (int v = 0; v < CUPTI_VERSIONS; v++) {
		version = v;
		trace->span_count = 0;
		memset(watch.spans.recent, 0, sizeof(watch.spans.recent));
		for (unsigned i = 0; i < count; i++)
			write_one(rows[i].record);
		walk();
		assert_int_equal(trace->span_count, count);
		for (unsigned i = 0; i < count; i++) {
			assert_span(i, 1 * MS, 2 * MS, 0);
			assert_int_equal(trace->spans[i].work, rows[i].work);
			assert_int_equal(trace->spans[i].device, rows[i].record.device);
		}
	}
	assert_int_equal(trace->lost_records, 0);
}

TEST_WITH(copies_from_host_to_host_are_no_work_of_a_device, begin, end)
{
	write_one((struct fake_cupti_record){CUPTI_MEMCPY, 0, 9, 1 * MS, 2 * MS, NULL});
	walk();
	assert_int_equal(trace->span_count, 0);
	assert_int_equal(trace->lost_records, 0);
}

TEST_WITH(records_that_say_nothing_are_lost, begin, end)
{
	kernel(0, 0);                                /* not complete */
	kernel(0, 5 * MS);                           /* no memory to time it */
	kernel(5 * MS, 4 * MS);                      /* an overflow */
	kernel(1, UINT64_C(8) * 86400 * 1000000000); /* more than a week */
	write_one((struct fake_cupti_record){CUPTI_KERNEL, 16, 0, 1, 2, NULL});
	walk();
	assert_int_equal(trace->lost_records, 5);
	assert_int_equal(trace->span_count, 0);
}

TEST_WITH(an_unknown_kind_ends_the_buffer, begin, end)
{
	for (int v = 0; v < CUPTI_VERSIONS; v++) {
		const uint32_t strange = 777;
		size_t at;

		version = v;
		trace->span_count = 0;
		trace->lost_records = 0;
		memset(watch.spans.recent, 0, sizeof(watch.spans.recent));
		kernel(1 * MS, 2 * MS);
		at = used;
		for (unsigned i = 0; i < 10; i++)
			kernel(3 * MS, 4 * MS);
		memcpy(buffer + at, &strange, sizeof(strange));
		walk();
		assert_int_equal(trace->span_count, 1);
		assert_in_range(trace->lost_records, 10, 20);
	}
}

TEST_WITH(records_that_are_read_are_counted, begin, end)
{
	for (unsigned i = 0; i < 200; i++)
		kernel(1 * MS + i, 2 * MS);
	kernel(0, 0);
	write_one((struct fake_cupti_record){CUPTI_MEMCPY, 0, 9, 1 * MS, 2 * MS, NULL});
	walk();
	assert_int_equal(trace->read_records, 200);
	assert_int_equal(trace->lost_records, 1);
}

/* A record that is not complete has no kind yet. */
TEST_WITH(what_is_not_complete_at_the_end_is_not_lost, begin, end)
{
	watch.ending = true;
	kernel(1 * MS, 2 * MS);
	kernel(0, 0);
	used += cupti_buffer_length(version, CUPTI_KERNEL);
	kernel(3 * MS, 4 * MS);
	walk();
	assert_int_equal(trace->read_records, 1);
	assert_int_equal(trace->lost_records, 0);
}

/* ---- spans ---- */

TEST_WITH(neighbours_are_one_span, begin, end)
{
	kernel(1000 * US, 1100 * US);
	kernel(1105 * US, 1200 * US);
	kernel(1220 * US, 1300 * US); /* 20 us */
	kernel(1321 * US, 1400 * US); /* more */
	walk();
	assert_int_equal(trace->span_count, 2);
	assert_span(0, 1000 * US, 1300 * US, 25 * US);
	assert_span(1, 1321 * US, 1400 * US, 0);
}

TEST_WITH(spans_go_on_in_the_next_buffer, begin, end)
{
	kernel(1000 * US, 1100 * US);
	walk();
	kernel(1110 * US, 1200 * US);
	walk();
	assert_int_equal(trace->span_count, 1);
	assert_span(0, 1000 * US, 1200 * US, 10 * US);
}

TEST_WITH(work_out_of_order_finds_its_span, begin, end)
{
	kernel(1000 * US, 1100 * US);
	kernel(1200 * US, 1300 * US);
	kernel(1101 * US, 1110 * US); /* after the first */
	kernel(1190 * US, 1195 * US); /* before the second */
	walk();
	assert_int_equal(trace->span_count, 2);
	assert_span(0, 1000 * US, 1110 * US, 1 * US);
	assert_span(1, 1190 * US, 1300 * US, 5 * US);
}

TEST_WITH(work_beside_a_span_fills_its_pauses, begin, end)
{
	kernel(1000 * US, 1040 * US);
	kernel(1060 * US, 1100 * US); /* a pause of 20 */
	kernel(1000 * US, 1100 * US); /* another stream: all of it */
	kernel(1110 * US, 1200 * US);
	kernel(1055 * US, 1150 * US); /* and half of the next pause, evenly */
	walk();
	assert_int_equal(trace->span_count, 1);
	assert_span(0, 1000 * US, 1200 * US, 5 * US);
}

TEST_WITH(work_side_by_side_fills_no_pause, begin, end)
{
	for (uint64_t i = 0; i < 100; i++) {
		for (uint64_t stream = 0; stream < 4; stream++)
			kernel((1000 + 20 * i + stream) * US,
			       (1010 + 20 * i + stream) * US);
		walk();
	}
	assert_int_equal(trace->span_count, 1);
	assert_span(0, 1000 * US, 2993 * US, (UINT64_C(99) * 7) * US);
}

TEST_WITH(devices_and_kinds_have_spans_of_their_own, begin, end)
{
	for (uint32_t device = 0; device < 2; device++) {
		write_one((struct fake_cupti_record){CUPTI_KERNEL, device, 0, 1 * MS,
						     2 * MS, NULL});
		write_one((struct fake_cupti_record){CUPTI_MEMCPY, device, 1, 1 * MS,
						     2 * MS, NULL});
	}
	walk();
	assert_int_equal(trace->span_count, 4);
}

TEST_WITH(pauses_grow_as_room_ends, begin, end)
{
	trace->span_count = TRACE_SPANS / 2 + 1;
	kernel(1000 * US, 1100 * US);
	kernel(1140 * US, 1200 * US); /* 40 us: joined */
	kernel(1241 * US, 1300 * US); /* more: not */
	walk();
	assert_int_equal(trace->span_count, TRACE_SPANS / 2 + 3);
	trace->span_count = TRACE_SPANS;
	kernel(900 * MS, 901 * MS); /* there is no room at all */
	write_one((struct fake_cupti_record){CUPTI_MEMSET, 0, 0, 1, 2, NULL});
	walk();
	assert_int_equal(trace->span_count, TRACE_SPANS);
	assert_int_equal(trace->spans[TRACE_SPANS / 2 + 2].end_ns, 901 * MS);
	assert_int_equal(trace->lost_records, 1);
}

/* 131072 spans hold a long run: time that is at work is never lost. */
TEST_WITH(busy_time_is_kept_when_there_are_too_many, begin, end)
{
	uint64_t at = 1 * MS, busy = 0;

	for (unsigned i = 0; i < 2 * TRACE_SPANS; i++) {
		kernel(at, at + 50 * US);
		at += 100 * US;
		if (used > BUFFER - 1000)
			walk();
	}
	walk();
	assert_in_range(trace->span_count, TRACE_SPANS / 2, TRACE_SPANS);
	for (unsigned i = 0; i < trace->span_count; i++)
		busy += trace->spans[i].end_ns - trace->spans[i].start_ns -
			trace->spans[i].idle_ns;
	assert_int_equal(busy, 2 * TRACE_SPANS * 50 * US);
	assert_int_equal(trace->lost_records, 0);
}

/* ---- the real library ---- */

static enum cupti_version version_of(uint32_t number)
{
	return number < 19 ? CUPTI_11_8 : number < 100000 ? CUPTI_12_4 : CUPTI_13_0;
}

/* It walks a buffer without a driver. */
TEST_WITH(the_real_library_walks_alike, begin, end)
{
	static const uint32_t kinds[] = {CUPTI_KERNEL, CUPTI_MEMCPY,  CUPTI_GRAPH,
					 CUPTI_MEMSET, CUPTI_MEMCPY2, CUPTI_KERNEL};
	uint8_t *real = NULL, *ours = NULL;
	char found[TRACE_WHY];
	struct cupti_api api;
	uint32_t number = 0;
	unsigned place = 0;
	int result;

	if (!cupti_api_open(&api, &place, found, sizeof(found))) {
		print_message("%s\n", found);
		skip();
	}
	assert_int_equal(api.cuptiGetVersion(&number), 0);
	print_message("CUPTI %u, %s\n", number, found);
	version = version_of(number);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		write_one((struct fake_cupti_record){
			.kind = kinds[i], .start_ns = 1 * MS + i, .end_ns = 2 * MS});
	do {
		result = api.cuptiActivityGetNextRecord(buffer, used, &real);
		assert_int_equal(result, next(buffer, used, &ours));
		assert_ptr_equal(real, ours);
	} while (result == 0);
	assert_int_equal(result, CUPTI_END);
	watch.api = api;
	walk();
	assert_int_equal(trace->span_count, 3); /* kernels and graph, copies, memset */
	assert_int_equal(trace->lost_records, 0);
}

/* ---- buffers that a GPU's CUPTI wrote ---- */

#define KEPT_FOLDER "tests/data/cupti"

enum { KEPT = 256 << 10 /* bytes, as tests/tool/gpu_records.c has it */ };

/* One behind the other, of kernels and of copies to the device. */
static void walk_kept(FILE *file)
{
	uint8_t *kept = malloc(KEPT);
	uint32_t kernels = 0, copies = 0;
	size_t size;

	assert_non_null(kept);
	size = fread(kept, 1, KEPT, file);
	cupti_walk(&watch, kept, size);
	for (uint32_t i = 0; i < trace->span_count; i++) {
		assert_true(trace->spans[i].start_ns < trace->spans[i].end_ns);
		kernels += trace->spans[i].work == TRACE_KERNEL;
		copies += trace->spans[i].work == TRACE_COPY_IN;
	}
	assert_int_equal(trace->lost_records, 0);
	assert_true(kernels > 0 && copies > 0);
	free(kept);
}

TEST_WITH(kept_buffers_are_read_whole, begin, end)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	for (uint64_t at = MS; at < 100 * MS; at += MS) {
		kernel(at, at + 300 * US);
		write_one((struct fake_cupti_record){CUPTI_MEMCPY, 0, 1, at + 400 * US,
						     at + 500 * US, NULL});
	}
	assert_int_equal(fwrite(buffer, 1, used, file), used);
	rewind(file);
	walk_kept(file);
	assert_int_equal(trace->span_count, 2 * 99);
	fclose(file);
}

/* "12.4-h100": the version of CUPTI, and what it watched. */
static void walk_kept_name(const char *name)
{
	static const char *const versions[CUPTI_VERSIONS] = {
		[CUPTI_11_8] = "11.8-", [CUPTI_12_4] = "12.", [CUPTI_13_0] = "13."};
	char path[PATH_MAX];
	FILE *file;
	int v = 0;

	while (v < CUPTI_VERSIONS &&
	       strncmp(name, versions[v], strlen(versions[v])) != 0)
		v++;
	if (v == CUPTI_VERSIONS)
		fail_msg(KEPT_FOLDER "/%s names no version of CUPTI", name);
	version = (enum cupti_version)v;
	snprintf(path, sizeof(path), KEPT_FOLDER "/%s", name);
	file = fopen(path, "rb");
	assert_non_null(file);
	walk_kept(file);
	fclose(file);
}

TEST_WITH(those_of_real_devices_are_read, begin, end)
{
	DIR *folder = opendir(KEPT_FOLDER);
	const struct dirent *entry;
	unsigned count = 0;

	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		end(state);
		begin(state);
		walk_kept_name(entry->d_name);
		count++;
	}
	if (folder != NULL)
		closedir(folder);
	if (count == 0)
		skip();
}
