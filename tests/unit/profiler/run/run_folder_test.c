#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "profiler/run/run_folder.h"
#include "tests/lib/test.h"
#include "tests/lib/tree.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[TREE_PATH], session[TREE_PATH + 16];

static int new_folder(void **state)
{
	(void)state;
	tree_make(folder);
	snprintf(session, sizeof(session), "%s/session", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	tree_remove(folder);
	return 0;
}

/* A dsa that made a session, in another container as far as one sees here. */
static pid_t start_dsa(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		struct trace *trace = trace_create(session, 1, NULL);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (trace == NULL)
			_exit(1);
		trace->dsa_pid_ns++;
		run_folder_hold(session);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

TEST_WITH(a_run_in_another_container_keeps_its_folder, new_folder, remove_folder)
{
	pid_t dsa = start_dsa();
	struct error err = {0};

	assert_int_equal(run_folder_take(folder, &err), -EBUSY);
	assert_non_null(strstr(err.message, "another run"));
	assert_int_equal(access(session, F_OK), 0);
	kill(dsa, SIGKILL);
	assert_int_equal(waitpid(dsa, NULL, 0), dsa);
	assert_int_equal(run_folder_take(folder, &err), 0);
	assert_int_equal(access(session, F_OK), -1);
}
