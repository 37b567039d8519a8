/* format_ranks.c - who waited in collectives, or for batches, in a line. */
#include "reports/common/format.h"

#include <math.h>

enum { SHOWN = 8 }; /* ranks */

#define ALIKE .15 /* shares no further apart: none makes the others wait for long */

/* "rank 1 waits 41.2% of 20.1 ms a collective, most for rank 3" */
static void format_rank(FILE *out, const struct profile_rank *rank)
{
	char share[FORMAT_SIZE], length[FORMAT_SIZE];

	fprintf(out, "rank %llu waits %s of %s a collective",
		(unsigned long long)rank->rank,
		format_percent(share, rank->waited_s / rank->inside_s),
		format_seconds(length, rank->inside_s));
	if (rank->last != UNKNOWN)
		fprintf(out, ", most for rank %llu", (unsigned long long)rank->last);
}

/* The rank that waits most for its own batches. */
static size_t format_slowest_rank(const struct profile *profile)
{
	size_t slowest = 0;

	for (size_t i = 1; i < profile->rank_count; i++)
		if (profile->ranks[i].blocked_share >
		    profile->ranks[slowest].blocked_share)
			slowest = i;
	return slowest;
}

static double format_least_blocked(const struct profile *profile)
{
	double least = INFINITY;

	for (size_t i = 0; i < profile->rank_count; i++)
		least = fmin(least, profile->ranks[i].blocked_share);
	return least;
}

/* "rank 1 makes the others wait: it waits for its own batches 55.3% of its time, another one
 * only 6.0%" */
static void format_rank_loads(FILE *out, const struct profile *profile)
{
	const struct profile_rank *slowest =
		&profile->ranks[format_slowest_rank(profile)];
	double least = format_least_blocked(profile);
	char from[FORMAT_SIZE], to[FORMAT_SIZE];

	format_percent(from, least);
	format_percent(to, slowest->blocked_share);
	if (slowest->blocked_share - least < ALIKE)
		fprintf(out, "each waits for its own batches %s to %s of its time",
			from, to);
	else
		fprintf(out,
			"rank %llu makes the others wait: it waits for its own batches "
			"%s of "
			"its time, another one only %s",
			(unsigned long long)slowest->rank, to, from);
}

void format_ranks(FILE *out, const struct profile *profile)
{
	if (profile->rank_count > 0 && !isnan(profile->ranks[0].blocked_share)) {
		format_rank_loads(out, profile);
		return;
	}
	for (size_t i = 0; i < profile->rank_count && i < SHOWN; i++) {
		fputs(i > 0 ? "; " : "", out);
		format_rank(out, &profile->ranks[i]);
	}
	if (profile->rank_count > SHOWN)
		fprintf(out, "; %zu more in the report", profile->rank_count - SHOWN);
}
