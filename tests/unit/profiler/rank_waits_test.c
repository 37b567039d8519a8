#include "profiler/rank_waits.h"
#include "tests/lib/close_to.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

#define MS INT64_C(1000000)

enum { RANKS = 3 };

/* Devices' timers, ahead of the host's by hours; and the least lag of what they tell. */
static const int64_t ahead_ns[RANKS] = {3600000 * MS, -7200000 * MS, 0};
static const int64_t least_ns = 20000;

/* When rank came to its number, and when that ended, in ms of the host. */
static void add(struct trace *trace, uint64_t communicator, uint32_t rank,
		const char *function, uint64_t number, double came, double ended)
{
	struct trace_collective *record =
		&trace->collectives[trace->collective_count++];
	int64_t late =
		number == 0 ? 0 : (int64_t)number * 7000; /* the first is punctual */

	*record = (struct trace_collective){
		.communicator = communicator,
		.number = number,
		.rank = rank,
		.ranks = RANKS,
		.pid = 100 + rank,
		.start_ns = (uint64_t)((int64_t)(came * (double)MS) + ahead_ns[rank]),
		.stop_ns = (uint64_t)((int64_t)(ended * (double)MS) + ahead_ns[rank]),
		.lag_ns = least_ns + late - ahead_ns[rank],
	};
	strcpy(record->function, function);
}

/* Ranks 0 to 2 come after so many ms; it takes 2 once all are there. */
static void collective(struct trace *trace, const char *function, uint64_t number,
		       const double after[RANKS])
{
	double begin = 10000 + 100 * (double)number, last = 0;

	for (uint32_t i = 0; i < RANKS; i++)
		last = after[i] > last ? after[i] : last;
	for (uint32_t i = 0; i < RANKS; i++)
		add(trace, 7, i, function, number, begin + after[i], begin + last + 2);
}

static struct rank_waits read_all(const struct trace *trace)
{
	struct rank_waits waits;

	assert_int_equal(rank_waits_read(trace, &waits), 0);
	return waits;
}

TEST(ranks_wait_for_the_last)
{
	static const double early[RANKS] = {1, 4, 9}, late[RANKS] = {6, 5, 5};
	struct trace *trace = calloc(1, sizeof(*trace));
	struct rank_waits waits;

	assert_non_null(trace);
	for (uint64_t number = 0; number < 10; number++) {
		collective(trace, "AllReduce", number, early);
		collective(trace, "AllGather", number, late); /* of its own numbers */
	}
	waits = read_all(trace);
	assert_int_equal(waits.count, RANKS);
	for (uint32_t i = 0; i < RANKS; i++) {
		const struct rank_wait *row = &waits.rows[i];

		assert_int_equal(row->rank, i);
		assert_int_equal(row->pid, 100 + i);
		assert_int_equal(row->communicator, 0);
		assert_int_equal(row->compared, 20);
		close_to(row->waited_s * 1e3, 10 * (9 - early[i] + 6 - late[i]), 1e-3);
		close_to(row->inside_s * 1e3, 10 * (11 - early[i] + 8 - late[i]), 1e-3);
	}
	assert_int_equal(waits.rows[0].last, 2);
	close_to(waits.rows[0].last_s * 1e3, 80, 1e-3);
	assert_int_equal(waits.rows[2].last, 0);
	close_to(waits.rows[2].last_s * 1e3, 10, 1e-3);
	rank_waits_free(&waits);
	free(trace);
}

/* Of one rank's collectives nothing is known: these are not compared. */
TEST(parts_alone_are_not_compared)
{
	static const double after[RANKS] = {1, 2, 3};
	struct trace *trace = calloc(1, sizeof(*trace));
	struct rank_waits waits;

	assert_non_null(trace);
	collective(trace, "AllReduce", 0, after);
	add(trace, 7, 1, "AllReduce", 1, 10100, 10101);
	collective(trace, "AllReduce", 2, after);
	trace->collectives[trace->collective_count - 1].stop_ns = 0; /* not whole */
	collective(trace, "AllReduce", 3, after);
	collective(trace, "AllReduce", 4, after);
	add(trace, 7, 2, "AllReduce", 4, 10900, 10901); /* again: a graph's */
	add(trace, 9, 0, "AllReduce", 0, 10000, 10001); /* alone in its communicator */
	waits = read_all(trace);
	assert_int_equal(waits.count, RANKS + 1);
	for (uint32_t i = 0; i < RANKS; i++)
		assert_int_equal(waits.rows[i].compared, 2);
	assert_int_equal(waits.rows[RANKS].communicator, 1);
	assert_int_equal(waits.rows[RANKS].compared, 0);
	rank_waits_free(&waits);
	free(trace);
}

TEST(nothing_is_nothing)
{
	struct trace *trace = calloc(1, sizeof(*trace));
	struct rank_waits waits;

	assert_non_null(trace);
	waits = read_all(trace);
	assert_int_equal(waits.count, 0);
	rank_waits_free(&waits);
	trace->collective_count = TRACE_COLLECTIVES + 5; /* none of which is whole */
	waits = read_all(trace);
	assert_int_equal(waits.count, 0);
	rank_waits_free(&waits);
	free(trace);
}
