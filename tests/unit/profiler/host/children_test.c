/* Children of dsa's, some of which it had before. */
#include "profiler/host/children.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that does nothing until it is killed. */
static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

/* It has no environment any more that tells whose it is. */
TEST(one_that_is_ending_is_waited_for)
{
	pid_t other = start_child(), ending;
	struct children children;
	siginfo_t end;
	int status;

	children_note(&children, "/none/session");
	assert_true(children_is_other(&children, other));
	ending = start_child();
	assert_int_equal(children_signal(&children, 0), 0);
	kill(ending, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)ending, &end, WEXITED | WNOWAIT), 0);
	assert_int_equal(children_signal(&children, 0), ending);
	assert_int_equal(children_reap(&children, &status, 0), ending);
	assert_int_equal(children_signal(&children, 0), 0);

	kill(other, SIGKILL);
	assert_int_equal(children_reap(&children, &status, 0), other);
	assert_false(children_is_other(&children, other));
}
