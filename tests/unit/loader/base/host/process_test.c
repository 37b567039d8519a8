/* process_test.c - who a process is. */
#include "loader/base/host/process.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* By the C library's own means, of a process whose name holds nothing odd. */
static uint64_t start_by_hand(pid_t pid)
{
	unsigned long long start = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file,
				"%*d (%*[a-z_]) %*c %*d %*d %*d %*d %*d %*u %*u %*u "
				"%*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
				&start),
			 1);
	fclose(file);
	return start;
}

TEST(it_started_once)
{
	uint64_t start = process_start((uint32_t)getpid(), NULL);

	prctl(PR_SET_NAME, "plain");
	assert_int_equal(start, start_by_hand(getpid()));
	assert_true(start > 0);
	prctl(PR_SET_NAME, ") Z 1 (2 3");
	assert_int_equal(process_start((uint32_t)getpid(), NULL), start);
}

TEST(one_that_ended_has_no_start)
{
	siginfo_t info;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(process_start((uint32_t)child, NULL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(process_start((uint32_t)child, NULL), 0);
	assert_int_equal(process_start(UINT32_MAX, NULL), 0);
	assert_int_equal(process_start(0, NULL), 0);
}

TEST(all_of_a_namespace_are_in_one)
{
	int ends[2], status;
	uint32_t mine = process_namespace(), its = 0;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		its = process_namespace();
		_exit(write(ends[1], &its, sizeof(its)) != sizeof(its));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(read(ends[0], &its, sizeof(its)), sizeof(its));
	assert_int_equal(its, mine);
	assert_true(mine != 0);
	close(ends[0]);
	close(ends[1]);
}
