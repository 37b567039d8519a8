#include "profiler/nccl/nccl_events.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

static struct nccl_events *events;
static struct nccl_communicator *two;

static int begin(void **state)
{
	(void)state;
	events = calloc(1, sizeof(*events));
	if (events == NULL)
		return -1;
	pthread_mutex_init(&events->lock, NULL);
	events->trace = calloc(1, sizeof(*events->trace));
	events->pid = 42;
	two = nccl_events_join(events, 7, 1, 2);
	return events->trace == NULL || two == NULL;
}

static int end(void **state)
{
	(void)state;
	free(events->trace);
	free(events);
	return 0;
}

/* A collective whose one channel takes so long. */
static void tell(uint64_t number, uint64_t start_ns, uint64_t stop_ns)
{
	uint64_t collective = nccl_events_begin(events, two, "AllReduce", number);
	uint64_t channel = nccl_events_channel(events, collective, start_ns);

	nccl_events_ended(events, channel, stop_ns, stop_ns + 100);
}

TEST_WITH(a_record_lasts_from_the_first_channel_to_the_last, begin, end)
{
	const struct trace_collective *record = &events->trace->collectives[0];
	uint64_t collective = nccl_events_begin(events, two, "ReduceScatter", 3);
	uint64_t first = nccl_events_channel(events, collective, 1000);
	uint64_t second = nccl_events_channel(events, collective, 900);

	assert_int_not_equal(first, 0);
	assert_int_equal(events->trace->collective_count, 0);
	nccl_events_ended(events, first, 2000, 2300);
	nccl_events_ended(events, second, 1800, 2050);
	assert_int_equal(events->trace->collective_count, 1);
	assert_int_equal(record->start_ns, 900);
	assert_int_equal(record->stop_ns, 2000);
	assert_int_equal(record->lag_ns, 250);
	assert_int_equal(record->communicator, 7);
	assert_int_equal(record->number, 3);
	assert_int_equal(record->rank, 1);
	assert_int_equal(record->ranks, 2);
	assert_int_equal(record->pid, 42);
	assert_string_equal(record->function, "ReduceScatter");
}

/* A device's timer may be ahead of the host's, too. */
TEST_WITH(clocks_may_be_apart_either_way, begin, end)
{
	uint64_t collective = nccl_events_begin(events, two, "AllReduce", 0);
	uint64_t channel = nccl_events_channel(events, collective, 5000);

	nccl_events_ended(events, channel, 6000, 1000);
	assert_int_equal(events->trace->collectives[0].lag_ns, -5000);
}

TEST_WITH(what_was_forgotten_is_lost, begin, end)
{
	uint64_t collective = nccl_events_begin(events, two, "AllReduce", 0);
	uint64_t channel = nccl_events_channel(events, collective, 1000);

	for (uint64_t i = 1; i <= NCCL_GOING; i++)
		nccl_events_begin(events, two, "AllReduce", i);
	nccl_events_ended(events, channel, 2000, 2100);
	assert_int_equal(nccl_events_channel(events, collective, 1000), 0);
	nccl_events_ended(events, collective, 2000, 2100); /* it is no channel */
	nccl_events_ended(events, 0, 2000, 2100);
	nccl_events_ended(events, UINT64_MAX, 2000, 2100);
	assert_int_equal(events->trace->collective_count, 0);
	assert_int_equal(nccl_events_channel(events, 0, 1000), 0);
}

TEST_WITH(fewer_are_kept_as_room_ends, begin, end)
{
	struct trace *trace = events->trace;

	trace->collective_count = TRACE_COLLECTIVES / 2 + 1;
	assert_int_equal(nccl_events_begin(events, two, "AllReduce", 5), 0);
	assert_int_not_equal(nccl_events_begin(events, two, "AllReduce", 6), 0);
	trace->collective_count = TRACE_COLLECTIVES / 4 * 3 + 1;
	assert_int_equal(nccl_events_begin(events, two, "AllReduce", 6), 0);
	assert_int_not_equal(nccl_events_begin(events, two, "AllReduce", 8), 0);
	trace->collective_count = TRACE_COLLECTIVES - 1;
	tell(0, 1000, 2000);
	assert_int_equal(trace->collectives[TRACE_COLLECTIVES - 1].stop_ns, 2000);
	tell(0, 1000, 2000);
	assert_int_equal(trace->collective_count, TRACE_COLLECTIVES);
}

TEST_WITH(so_many_communicators_have_room, begin, end)
{
	for (unsigned i = 1; i < NCCL_COMMUNICATORS; i++)
		assert_non_null(nccl_events_join(events, i, 0, 2));
	assert_null(nccl_events_join(events, 99, 0, 2));
}

TEST_WITH(names_are_cut, begin, end)
{
	uint64_t collective = nccl_events_begin(events, two, "AFunctionOfTheFuture", 0);
	uint64_t channel = nccl_events_channel(events, collective, 1000);

	nccl_events_ended(events, channel, 2000, 2100);
	assert_string_equal(events->trace->collectives[0].function, "AFunctionOfTheF");
	collective = nccl_events_begin(events, two, NULL, 0);
	channel = nccl_events_channel(events, collective, 1000);
	nccl_events_ended(events, channel, 2000, 2100);
	assert_string_equal(events->trace->collectives[1].function, "");
}
