/* progress.c - a line on the terminal that is written over. */
#include "cmd/common/progress.h"
#include "loader/base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define SECOND 1000000000u

static bool progress_shown; /* a line stands there */

bool progress_wanted(bool quiet)
{
	return !quiet && isatty(STDERR_FILENO);
}

FILE *progress_line(void)
{
	progress_shown = true;
	fputs("\r\033[K", stderr);
	return stderr;
}

void progress_clear(void)
{
	if (progress_shown)
		fputs("\r\033[K", stderr);
	progress_shown = false;
}

void progress_begin(struct progress *progress, const char *things, size_t total)
{
	uint64_t now = clock_now();

	*progress = (struct progress){.things = things,
				      .total = total,
				      .start = now,
				      .next = progress_wanted(false) ? now + SECOND / 2
								     : UINT64_MAX};
}

void progress_show(void *context, size_t done)
{
	struct progress *progress = context;
	uint64_t now = clock_now();
	double seconds = (double)(now - progress->start) / SECOND;
	uint64_t left;

	if (now < progress->next || done == 0)
		return;
	left = (uint64_t)(seconds / (double)done * (double)(progress->total - done));
	fprintf(progress_line(),
		"%zu of %zu %s, %.0f/s, %" PRIu64 ":%02" PRIu64 " left", done,
		progress->total, progress->things, (double)done / seconds, left / 60,
		left % 60);
	progress->next = now + SECOND / 5;
}

void progress_show_of(void *context, size_t done, size_t all)
{
	struct progress *progress = context;

	progress->total = all;
	progress_show(progress, done);
}
