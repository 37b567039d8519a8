/* format_ranks.c - who waited in collectives, in a line. */
#include "reports/common/format.h"

enum { SHOWN = 8 }; /* ranks */

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

void format_ranks(FILE *out, const struct profile *profile)
{
	for (size_t i = 0; i < profile->rank_count && i < SHOWN; i++) {
		fputs(i > 0 ? "; " : "", out);
		format_rank(out, &profile->ranks[i]);
	}
	if (profile->rank_count > SHOWN)
		fprintf(out, "; %zu more in the report", profile->rank_count - SHOWN);
}
