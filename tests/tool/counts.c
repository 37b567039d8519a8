/*
 * counts.c - for tests/counts.t: runs a command under an observed session of its own and
 * says what it counted: samples, opens, reads, bytes, hits, pixels, skipped.
 *
 *	counts SESSION COMMAND...
 */
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "profiler/profile.h"
#include "profiler/session/work_counts.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void run(const char *session, char **command)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid == 0) {
		setenv("DSA_SESSION", session, 1);
		execvp(command[0], command);
		err(127, "%s", command[0]);
	}
	if (waitpid(pid, &status, 0) < 0 || status != 0)
		errx(1, "%s failed", command[0]);
}

int main(int argc, char **argv)
{
	struct profile_counted counted;
	struct error why = {0};
	struct trace *trace;

	if (argc < 3)
		errx(2, "usage: counts SESSION COMMAND...");
	trace = trace_create(argv[1], 1, &why);
	if (trace == NULL)
		errx(1, "%s", why.message);
	trace->observe = 1;
	run(argv[1], argv + 2);
	if (work_counts_read(trace, &counted) < 0)
		errx(1, "nothing was counted");
	trace_unmap(trace);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	       " %" PRIu64 "\n",
	       counted.samples, counted.opens, counted.reads, counted.read_bytes,
	       counted.hits, counted.decoded_pixels, counted.skipped);
	return 0;
}
