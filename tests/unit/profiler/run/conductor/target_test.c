/* Programs that dsa starts, and how they end. SLEEPS while one does not. */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "profiler/host/children.h"
#include "profiler/run/conductor/target.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE = 30 /* s */ };

/* How far the terminal's part came. */
enum {
	DONE,
	NO_TERMINAL,
	NOT_LENT,
	NOT_STOPPED,
	NOT_CONTINUED,
	TAKEN,
	NOT_LENT_AGAIN,
	NOT_ENDED,
	TAKEN_LATE,
};

/* What the processes of a test tell one another. */
struct told {
	_Atomic pid_t target, daemon, orphan;
	_Atomic int ready, continued, end, orphaned;
};

static struct told *told;

static int make_told(void **state)
{
	(void)state;
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return told == MAP_FAILED ? -1 : 0;
}

static int drop_told(void **state)
{
	(void)state;
	return munmap(told, sizeof(*told));
}

/* ---- the target, and dsa ---- */

static void note_continued(int number)
{
	(void)number;
	told->continued++;
}

/* A program that works until it is told to end. */
static int work(void *context)
{
	(void)context;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTSTP, SIG_DFL);
	signal(SIGCONT, note_continued);
	told->ready = 1;
	while (!told->end)
		clock_sleep_until(clock_now() + 1000000);
	return 0;
}

/* A program that leaves a process in a session of its own. */
static int leave_daemon(void *context)
{
	int running[2];
	char byte;
	pid_t pid;

	(void)context;
	if (pipe2(running, O_CLOEXEC) < 0)
		return 1;
	pid = fork();
	if (pid == 0) {
		setsid();
		execlp("sleep", "sleep", "1000", NULL);
		_exit(127);
	}
	close(running[1]);
	if (read(running[0], &byte, 1) != 0) /* until it is another program */
		return 1;
	told->daemon = pid;
	return 0;
}

/* The same; ends once what was no program's has lost its parent. */
static int leave_daemon_late(void *context)
{
	int result = leave_daemon(context);

	while (!told->orphaned)
		clock_sleep_until(clock_now() + 1000000);
	return result;
}

/* Starts a target and clears up after its end, as the conductor does, in the end as
 * somebody else. */
static pid_t start_and_clear(int (*run)(void *context), uid_t user)
{
	static char *const command[] = {NULL};
	struct children children;
	sigset_t blocked, mask;
	const struct target_config config = {.command = command,
					     .run = run,
					     .session = "/none/session",
					     .mask = &mask};
	struct target target;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigaddset(&blocked, SIGTTOU);
	sigprocmask(SIG_BLOCK, &blocked, &mask);
	children_note(&children, config.session);
	if (target_start(&target, &config, NULL) < 0)
		_exit(1);
	told->target = target.pid;
	while (target.running) {
		target_poll(&target, 1, &children);
		clock_sleep_until(clock_now() + 1000000);
	}
	if (setresuid(user, user, user) < 0)
		_exit(1);
	return target_clear(&target, 1, &children);
}

/* ---- a shell with a terminal ---- */

/* True as soon as the group has the terminal. */
static bool gets_terminal(const _Atomic pid_t *group)
{
	uint64_t end = clock_now() + PATIENCE * UINT64_C(1000000000);

	while (tcgetpgrp(STDIN_FILENO) != *group)
		if (clock_now() > end)
			return false;
		else
			clock_sleep_until(clock_now() + 1000000);
	return true;
}

static bool comes(const _Atomic int *flag)
{
	uint64_t end = clock_now() + PATIENCE * UINT64_C(1000000000);

	while (*flag == 0)
		if (clock_now() > end)
			return false;
		else
			clock_sleep_until(clock_now() + 1000000);
	return true;
}

/* Starts dsa as a shell starts a job. */
static pid_t start_job(void)
{
	pid_t job = fork();

	if (job == 0) {
		_Atomic pid_t own = getpid();

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		if (!gets_terminal(&own))
			_exit(1);
		_exit(start_and_clear(work, getuid()) == 0 ? 0 : 1);
	}
	setpgid(job, job);
	tcsetpgrp(STDIN_FILENO, job);
	return job;
}

/* Ctrl-Z, bg, fg, bg, end. */
static int control_job(int keyboard)
{
	pid_t job = start_job();
	int status;

	if (!comes(&told->ready) || !gets_terminal(&told->target))
		return NOT_LENT;
	if (write(keyboard, "\x1a", 1) != 1 ||
	    waitpid(job, &status, WUNTRACED) != job || !WIFSTOPPED(status))
		return NOT_STOPPED;
	tcsetpgrp(STDIN_FILENO, getpgrp());
	kill(-job, SIGCONT);
	if (!comes(&told->continued))
		return NOT_CONTINUED;
	if (tcgetpgrp(STDIN_FILENO) != getpgrp())
		return TAKEN;
	tcsetpgrp(STDIN_FILENO, job);
	if (!gets_terminal(&told->target))
		return NOT_LENT_AGAIN;
	tcsetpgrp(STDIN_FILENO, getpgrp());
	told->end = 1;
	if (waitpid(job, &status, 0) != job || status != 0)
		return NOT_ENDED;
	return tcgetpgrp(STDIN_FILENO) == getpgrp() ? DONE : TAKEN_LATE;
}

static void be_shell(int keyboard)
{
	int terminal;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(2 * PATIENCE);
	setsid();
	signal(SIGTTOU, SIG_IGN);
	terminal = open(ptsname(keyboard), O_RDWR);
	if (terminal < 0 || dup2(terminal, STDIN_FILENO) < 0)
		_exit(NO_TERMINAL);
	_exit(control_job(keyboard));
}

TEST_WITH(in_the_background_the_shell_keeps_its_terminal, make_told, drop_told)
{
	int keyboard = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), status;
	pid_t shell;

	if (keyboard < 0 || grantpt(keyboard) < 0 || unlockpt(keyboard) < 0)
		skip();
	shell = fork();
	if (shell == 0)
		be_shell(keyboard);
	assert_int_equal(waitpid(shell, &status, 0), shell);
	close(keyboard);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), DONE);
}

/* ---- signals for programs ---- */

static int work_that_listens(void *context)
{
	signal(SIGUSR1, note_continued);
	return work(context);
}

/* Else it would end it. */
TEST_WITH(a_program_is_told_what_it_handles, make_told, drop_told)
{
	sigset_t mask;
	struct target_config config = {
		.session = "", .background = true, .mask = &mask};
	struct target target;

	sigemptyset(&mask);
	for (int i = 0; i < 2; i++) {
		int status = 0;

		told->ready = told->continued = told->end = 0;
		config.run = i == 0 ? work : work_that_listens;
		assert_int_equal(target_start(&target, &config, NULL), 0);
		assert_true(comes(&told->ready));
		target_notify(&target, SIGUSR1);
		assert_true(i == 0 || comes(&told->continued));
		told->end = 1;
		assert_int_equal(waitpid(target.pid, &status, 0), target.pid);
		assert_int_equal(status, 0);
		assert_int_equal(told->continued, i);
	}
	target_notify(&target, SIGUSR1); /* nobody is there */
}

/* ---- functions in place of programs ---- */

static int seven(void *context)
{
	(void)context;
	return 7;
}

TEST(a_function_runs_in_a_process)
{
	sigset_t mask;
	const struct target_config config = {
		.run = seven, .session = "", .background = true, .mask = &mask};
	struct target target;
	struct error err = {0};
	int status;

	sigemptyset(&mask);
	assert_int_equal(target_start(&target, &config, &err), 0);
	assert_int_equal(waitpid(target.pid, &status, 0), target.pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
}

TEST(a_function_that_can_not_be_started_is_an_error)
{
	const struct target_config config = {.run = seven, .session = ""};
	struct rlimit limit, none;
	struct target target;
	struct error err = {0};
	int result;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){0, limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	result = target_start(&target, &config, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(result, -EMFILE);
	assert_non_null(strstr(err.message, "cannot start a process"));
}

/* A lock of dsa's is free once dsa has ended, though the function goes on. */
TEST_WITH(a_function_keeps_no_lock, make_told, drop_told)
{
	sigset_t mask;
	const struct target_config config = {
		.run = work, .session = "/none", .background = true, .mask = &mask};
	int lock = memfd_create("lock", MFD_CLOEXEC), again, status;
	struct target target;
	char path[64];

	sigprocmask(SIG_BLOCK, NULL, &mask);
	assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(target_start(&target, &config, NULL), 0);
	assert_true(comes(&told->ready));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", lock);
	again = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(again, LOCK_EX | LOCK_NB), -1);
	close(lock);
	assert_int_equal(flock(again, LOCK_EX | LOCK_NB), 0);
	close(again);
	told->end = 1;
	assert_int_equal(waitpid(target.pid, &status, 0), target.pid);
}

/* ---- what is left behind ---- */

/* Runs it as dsa, in a process of its own; returns its exit status. */
static int as_dsa(void (*dsa)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		alarm(PATIENCE);
		dsa();
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (told->daemon != 0)
		kill(told->daemon, SIGKILL);
	if (told->orphan != 0)
		kill(told->orphan, SIGKILL);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* As of "tensorboard & exec dsa run ...". */
static void dsa_with_a_child(void)
{
	pid_t other = fork(), left;

	if (other == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	left = start_and_clear(leave_daemon, getuid());
	if (left != 0 || kill(told->daemon, 0) == 0)
		_exit(1);
	_exit(waitpid(other, NULL, WNOHANG) == 0 ? 0 : 2);
}

TEST_WITH(leftovers_are_ended_and_older_children_are_not, make_told, drop_told)
{
	assert_int_equal(as_dsa(dsa_with_a_child), 0);
}

/* Ends by itself once it is told, or later. */
__attribute__((noreturn)) static void become_orphan(void)
{
	pid_t parent = getppid();

	alarm(PATIENCE);
	told->orphan = getpid();
	while (getppid() == parent)
		clock_sleep_until(clock_now() + 1000000);
	told->orphaned = 1;
	for (;;)
		pause();
}

/* As of "script-that-starts-a-daemon & exec dsa run ...". */
static void dsa_whose_child_leaves_a_daemon(void)
{
	pid_t left;

	if (fork() == 0) {
		if (fork() == 0)
			become_orphan();
		while (told->daemon == 0 || told->orphan == 0)
			clock_sleep_until(clock_now() + 1000000);
		_exit(0);
	}
	left = start_and_clear(leave_daemon_late, getuid());
	if (left != 0 || kill(told->daemon, 0) == 0)
		_exit(1);
	_exit(kill(told->orphan, 0) == 0 ? 0 : 2);
}

TEST_WITH(what_older_children_leave_behind_stays, make_told, drop_told)
{
	assert_int_equal(as_dsa(dsa_whose_child_leaves_a_daemon), 0);
}

static void dsa_that_may_not_end_it(void)
{
	pid_t left = start_and_clear(leave_daemon, 65534);

	_exit(left == told->daemon ? 0 : 1);
}

TEST_WITH(what_does_not_end_is_given_up, make_told, drop_told)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(as_dsa(dsa_that_may_not_end_it), 0);
}
