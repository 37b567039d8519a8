/* rank_waits.c - brings collectives to one clock, and compares when ranks came. */
#include "profiler/rank_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- records, in order ---- */

static int rank_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int rank_order_of_ranks(const void *left, const void *right)
{
	const struct trace_collective *a = left, *b = right;

	if (a->communicator != b->communicator)
		return rank_compare(a->communicator, b->communicator);
	return rank_compare(a->rank, b->rank);
}

static int rank_order_of_collectives(const void *left, const void *right)
{
	const struct trace_collective *a = left, *b = right;
	int function = memcmp(a->function, b->function, TRACE_FUNCTION);

	if (a->communicator != b->communicator)
		return rank_compare(a->communicator, b->communicator);
	if (function != 0)
		return function;
	if (a->number != b->number)
		return rank_compare(a->number, b->number);
	return rank_compare(a->rank, b->rank);
}

static bool rank_is_whole(const struct trace_collective *record)
{
	return record->stop_ns > record->start_ns && record->rank < record->ranks &&
	       record->lag_ns != INT64_MAX;
}

/* Copies those that are whole. How many; -ENOMEM. */
static int64_t rank_copy(const struct trace *trace, struct trace_collective **copies)
{
	uint32_t there = trace->collective_count;
	int64_t count = 0;

	if (there > TRACE_COLLECTIVES)
		there = TRACE_COLLECTIVES;
	*copies = malloc((there > 0 ? there : 1) * sizeof(**copies));
	if (*copies == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < there; i++) {
		(*copies)[count] = trace->collectives[i]; /* it may still grow */
		count += rank_is_whole(&(*copies)[count]);
	}
	return count;
}

/* ---- rows ---- */

static bool rank_is_new(const struct trace_collective *records, size_t i)
{
	return i == 0 || rank_order_of_ranks(&records[i - 1], &records[i]) != 0;
}

/* Of records in the order of ranks. Each rank's are brought to one clock. */
static int rank_find_rows(struct trace_collective *records, size_t count,
			  struct rank_waits *waits)
{
	size_t rows = 0;

	for (size_t i = 0; i < count; i++)
		rows += rank_is_new(records, i);
	waits->rows = calloc(rows > 0 ? rows : 1, sizeof(*waits->rows));
	if (waits->rows == NULL)
		return -ENOMEM;
	for (size_t i = 0, end; i < count; i = end) {
		struct rank_wait *row = &waits->rows[waits->count];
		const struct rank_wait *before = waits->count > 0 ? row - 1 : NULL;
		int64_t lag_ns = INT64_MAX;

		for (end = i; end < count && (end == i || !rank_is_new(records, end));
		     end++)
			if (records[end].lag_ns < lag_ns)
				lag_ns = records[end].lag_ns;
		*row = (struct rank_wait){
			.communicator = before == NULL
						? 0
						: before->communicator +
							  (records[i].communicator !=
							   records[i - 1].communicator),
			.rank = records[i].rank,
			.ranks = records[i].ranks,
			.pid = records[i].pid,
		};
		waits->count++;
		for (size_t j = i; j < end; j++) {
			records[j].start_ns += (uint64_t)lag_ns;
			records[j].stop_ns += (uint64_t)lag_ns;
		}
	}
	return 0;
}

/* ---- collectives ---- */

/* One that all ranks of `rows` told: what each of them waited for the last. */
static void rank_add_collective(const struct trace_collective *parts, size_t count,
				struct rank_wait *rows, double *for_s)
{
	size_t last = 0;

	for (size_t i = 1; i < count; i++)
		if (parts[i].start_ns > parts[last].start_ns)
			last = i;
	for (size_t i = 0; i < count; i++) {
		double waited =
			(double)(parts[last].start_ns - parts[i].start_ns) * 1e-9;
		double inside =
			(double)(int64_t)(parts[i].stop_ns - parts[i].start_ns) * 1e-9;

		rows[i].compared++;
		rows[i].waited_s += waited;
		rows[i].inside_s += inside;
		for_s[i * count + last] += waited;
	}
}

static void rank_find_last(struct rank_wait *rows, size_t count, const double *for_s)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			if (for_s[i * count + j] > rows[i].last_s) {
				rows[i].last = rows[j].rank;
				rows[i].last_s = for_s[i * count + j];
			}
}

static bool rank_are_one(const struct trace_collective *a,
			 const struct trace_collective *b)
{
	return a->number == b->number &&
	       memcmp(a->function, b->function, TRACE_FUNCTION) == 0;
}

/* Each rank told it, and none twice, as of numbers that came again. */
static bool rank_are_parts(const struct trace_collective *parts, size_t part_count,
			   const struct rank_wait *rows, size_t count)
{
	for (size_t i = 0; i < count && part_count == count; i++)
		if (parts[i].rank != rows[i].rank)
			return false;
	return part_count == count;
}

/* One communicator, its records in the order of collectives. 0 or -ENOMEM. */
static int rank_compare_all(const struct trace_collective *records, size_t count,
			    struct rank_wait *rows, size_t row_count)
{
	double *for_s = calloc(row_count * row_count, sizeof(*for_s));

	if (for_s == NULL)
		return -ENOMEM;
	for (size_t i = 0, end; row_count > 1 && i < count; i = end) {
		for (end = i; end < count && rank_are_one(&records[i], &records[end]);)
			end++;
		if (rank_are_parts(&records[i], end - i, rows, row_count))
			rank_add_collective(&records[i], row_count, rows, for_s);
	}
	rank_find_last(rows, row_count, for_s);
	free(for_s);
	return 0;
}

static int rank_each_communicator(const struct trace_collective *records, size_t count,
				  const struct rank_waits *waits)
{
	int result = 0;

	for (size_t i = 0, row = 0, end, last; row < waits->count && result == 0;
	     i = end, row = last) {
		for (end = i; end < count &&
			      records[end].communicator == records[i].communicator;
		     end++)
			;
		for (last = row;
		     last < waits->count &&
		     waits->rows[last].communicator == waits->rows[row].communicator;
		     last++)
			;
		result = rank_compare_all(&records[i], end - i, &waits->rows[row],
					  last - row);
	}
	return result;
}

int rank_waits_read(const struct trace *trace, struct rank_waits *waits)
{
	struct trace_collective *records;
	int64_t count = rank_copy(trace, &records);
	int result;

	*waits = (struct rank_waits){.rows = NULL};
	if (count < 0)
		return (int)count;
	qsort(records, (size_t)count, sizeof(*records), rank_order_of_ranks);
	result = rank_find_rows(records, (size_t)count, waits);
	qsort(records, (size_t)count, sizeof(*records), rank_order_of_collectives);
	if (result == 0)
		result = rank_each_communicator(records, (size_t)count, waits);
	free(records);
	return result;
}

void rank_waits_free(struct rank_waits *waits)
{
	free(waits->rows);
	*waits = (struct rank_waits){.rows = NULL};
}
