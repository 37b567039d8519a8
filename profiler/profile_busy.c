/* profile_busy.c - what else the machine did: of several launches, and in words. */
#include "loader/base/io.h"
#include "profiler/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Shares below these are no news: */
#define BUSY_CPU   .05 /* CPU time of others and of the host together, */
#define BUSY_STEAL .01 /* of the host alone, */
#define BUSY_READ  .1  /* what others had of all reads. */

#define BUSY_QUIETEN "quieten the machine"
#define BUSY_OBSERVE ", or measure it as it is with --observe"

/* The mean of two means over so many windows; of one where the other is unknown. */
static double busy_mean(double a, uint64_t windows, double b, uint64_t more)
{
	double all = (double)windows + (double)more;

	if (isnan(a) || isnan(b))
		return isnan(a) ? b : a;
	return (a * (double)windows + b * (double)more) / all;
}

void profile_busy_join(struct profile_busy *busy, const struct profile_busy *more)
{
	uint64_t windows = busy->windows;

	if (windows == UNKNOWN || more->windows == UNKNOWN) {
		if (windows == UNKNOWN)
			*busy = *more;
		return;
	}
#define MEAN(member)                                                                   \
	busy->member = busy_mean(busy->member, windows, more->member, more->windows);
	MEAN(others_cpu_share)
	MEAN(steal_share)
	MEAN(others_read_share)
	MEAN(cpu_wait_share)
	MEAN(io_wait_share)
	MEAN(load)
	MEAN(cpu_hz)
#undef MEAN
	busy->windows += more->windows;
	busy->disturbed += more->disturbed;
	busy->kept |= more->kept;
}

static bool somebody_was(const struct profile_busy *busy)
{
	return busy->windows != UNKNOWN &&
	       (busy->disturbed > 0 || busy->others_read_share > BUSY_READ ||
		busy->others_cpu_share + busy->steal_share > BUSY_CPU);
}

/* "other programs used 63% of the CPU (load 10.1), the host took 4%" */
static void busy_write_who(FILE *out, const struct profile_busy *busy)
{
	fputs("other programs", out);
	if (!isnan(busy->others_cpu_share))
		fprintf(out, " used %.0f%% of the CPU", 100 * busy->others_cpu_share);
	if (busy->others_read_share > BUSY_READ)
		fprintf(out, "%s had %.0f%% of all reads from the data set's device",
			isnan(busy->others_cpu_share) ? "" : " and",
			100 * busy->others_read_share);
	if (!isnan(busy->load))
		fprintf(out, " (load %.1f)", busy->load);
	if (busy->steal_share > BUSY_STEAL)
		fprintf(out, ", the host took %.0f%%", 100 * busy->steal_share);
}

static void busy_write_what(FILE *out, const struct profile_busy *busy,
			    bool can_observe)
{
	bool one = busy->disturbed == 1;

	if (busy->disturbed == 0)
		fputs("; that disturbed no measurement", out);
	else
		fprintf(out,
			"; %" PRIu64 " of %" PRIu64
			" measurements %s disturbed and %s%s",
			busy->disturbed, busy->windows, one ? "was" : "were",
			!busy->kept ? "left out of the shares"
			: one       ? "counts all the same: " BUSY_QUIETEN
				    : "count all the same: " BUSY_QUIETEN,
			busy->kept && can_observe ? BUSY_OBSERVE : "");
}

int profile_busy_text(const struct profile_busy *busy, bool can_observe, char **text)
{
	char *fresh = NULL;
	size_t size;
	FILE *out;

	if (!somebody_was(busy))
		return 0;
	out = open_memstream(&fresh, &size);
	if (out == NULL)
		return -ENOMEM;
	busy_write_who(out, busy);
	busy_write_what(out, busy, can_observe);
	if (io_text(out, &fresh) == NULL)
		return -ENOMEM;
	free(*text);
	*text = fresh;
	return 0;
}
