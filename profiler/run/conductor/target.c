/* target.c - starts, watches and ends process groups. */
#include "profiler/run/conductor/target.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/host/procfs.h"
#include "profiler/host/children.h"
#include "profiler/host/host_load.h"
#include "profiler/preload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

/* How long leftovers may take to end after SIGTERM, and after SIGKILL: one that is not
 * ours to signal, or that waits for a dead file server, takes for ever. */
#define LEFTOVER_MS 2000
#define KILLED_MS   2000

/* Those whose load is looked at. */
static void target_keep_cores(unsigned cores)
{
	cpu_set_t set = host_load_cpus(cores);

	if (cores > 0 && CPU_COUNT(&set) > 0)
		sched_setaffinity(0, sizeof(set), &set);
}

static int set_library(const char *variable, const char *path)
{
	return path != NULL && *path != '\0' ? setenv(variable, path, 1) : 0;
}

static int set_environment(const struct target_config *config)
{
	if (setenv("DSA_SESSION", config->session, 1) < 0 ||
	    (config->job != NULL && setenv("DSA_JOB", config->job, 1) < 0) ||
	    (config->share != NULL && setenv("DSA_SHARE", config->share, 1) < 0) ||
	    (config->preload != NULL && preload_set_environment(config->preload) < 0))
		return -1;
	if (set_library("CUDA_INJECTION64_PATH", config->injection) < 0 ||
	    set_library("NCCL_PROFILER_PLUGIN", config->plugin) < 0)
		return -1;
	if (config->loader == NULL || config->loader[0] == '\0')
		return 0;
	return setenv("DSA_LOADER", config->loader, 1);
}

/* Reading from the terminal would stop a background job. */
static void close_input(void)
{
	int fd = open("/dev/null", O_RDONLY);

	if (fd < 0)
		return;
	dup2(fd, STDIN_FILENO);
	if (fd != STDIN_FILENO)
		close(fd);
}

/* As exec() does: what dsa has open or locked ends with dsa. */
static void target_close_files(void)
{
	DIR *files = opendir("/proc/self/fd");
	struct dirent *entry;

	while (files != NULL && (entry = readdir(files)) != NULL) {
		int fd = atoi(entry->d_name); /* "." and "..": 0, which exec() keeps */

		if (fd > STDERR_FILENO && fd != dirfd(files) &&
		    (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0)
			close(fd);
	}
	if (files != NULL)
		closedir(files);
}

/* Runs in the child. Writes errno to the pipe when the program can't be started. */
__attribute__((noreturn)) static void target_exec(const struct target_config *config,
						  bool foreground, int pipe)
{
	int code;

	setpgid(0, 0);
	if (foreground)
		tcsetpgrp(STDIN_FILENO, getpid());
	target_keep_cores(config->cores);
	if (config->background)
		close_input();
	if (config->output_aside)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	signal(SIGPIPE, SIG_DFL);
	if (set_environment(config) == 0) {
		sigprocmask(SIG_SETMASK, config->mask, NULL);
		if (config->run != NULL) {
			close(pipe);
			target_close_files();
			_exit(config->run(config->context));
		}
		execvp(config->command[0], config->command);
	}
	code = errno;
	if (write(pipe, &code, sizeof(code)) < 0)
		_exit(126);
	_exit(127);
}

/* Waits until the child runs the program: 0, or the errno value it wrote. */
static int target_await_exec(int pipe)
{
	int code = 0;
	ssize_t length;

	do
		length = read(pipe, &code, sizeof(code));
	while (length < 0 && errno == EINTR);
	return length == sizeof(code) ? code : 0;
}

static int not_started(struct error *err, int code, const struct target_config *config)
{
	if (config->command == NULL)
		return error_sys(err, code, "cannot start a process");
	if (code == ENOENT)
		return error_set(err, code, "no program is called '%s'",
				 config->command[0]);
	return error_sys(err, code, "cannot start '%s'", config->command[0]);
}

/* The terminal is the target's while it is dsa's: the shell says whose it is. */
static void target_lend_terminal(const struct target *target)
{
	if (target->foreground && tcgetpgrp(STDIN_FILENO) == getpgrp())
		tcsetpgrp(STDIN_FILENO, target->pid);
}

void target_take_terminal(const struct target *target)
{
	if (target->foreground && tcgetpgrp(STDIN_FILENO) == target->pid)
		tcsetpgrp(STDIN_FILENO, getpgrp());
}

int target_start(struct target *target, const struct target_config *config,
		 struct error *err)
{
	int ends[2], code;

	*target = (struct target){
		.foreground = !config->background && isatty(STDIN_FILENO) &&
			      tcgetpgrp(STDIN_FILENO) == getpgrp(),
	};
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	target->gone = true;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return not_started(err, errno, config);
	target->pid = fork();
	if (target->pid == 0)
		target_exec(config, target->foreground, ends[1]);
	code = target->pid < 0 ? errno : 0;
	close(ends[1]);
	if (target->pid > 0) {
		setpgid(target->pid, target->pid); /* whoever of us is first */
		code = target_await_exec(ends[0]);
		if (code != 0)
			waitpid(target->pid, NULL, 0);
	}
	close(ends[0]);
	if (code != 0) {
		target_take_terminal(target);
		return not_started(err, code, config);
	}
	target->running = true;
	target->gone = false;
	return 0;
}

/* After Ctrl-Z: stops dsa, too, until the shell continues it, in the background where
 * the shell keeps the terminal. */
static void target_stop_too(const struct target *target)
{
	if (!target->foreground)
		return;
	target_take_terminal(target);
	raise(SIGSTOP);
	target_lend_terminal(target);
	target_signal(target, SIGCONT);
}

static void target_record(struct target *target, int status)
{
	if (WIFSTOPPED(status)) {
		target_stop_too(target);
		return;
	}
	target->running = false;
	target->status =
		WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Of its command, or of what that left to train. */
static bool target_is_of(const struct target *target, pid_t pid, int status)
{
	return target->running ? pid == target->pid
			       : pid == target->heir && !WIFSTOPPED(status);
}

void target_poll(struct target *targets, unsigned count, struct children *children)
{
	int status;
	pid_t pid;

	while ((pid = children_reap(children, &status, WNOHANG | WUNTRACED)) > 0)
		for (unsigned i = 0; i < count; i++)
			if (target_is_of(&targets[i], pid, status))
				target_record(&targets[i], status);
	for (unsigned i = 0; i < count; i++) {
		if (targets[i].running)
			target_lend_terminal(&targets[i]); /* after bg and fg */
		else if (!targets[i].gone && kill(-targets[i].pid, 0) < 0)
			targets[i].gone = true; /* its number may be another's soon */
	}
}

void target_signal(const struct target *target, int number)
{
	if (!target->gone)
		kill(-target->pid, number);
}

/* True of a child that handles the signal, or waits for it: others it would end, as a program
 * that has only just begun. */
static bool target_takes(pid_t pid, int number)
{
	static const char *const masks[] = {"\nSigBlk:", "\nSigCgt:"};
	char status[4096], *parent, *found;
	uint64_t mask, taken = 0;

	if (procfs_read(status, sizeof(status), "", "/proc/%d/status", pid) < 0)
		return false;
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		found = strstr(status, masks[i]);
		if (found != NULL &&
		    sscanf(found + strlen(masks[i]), "%" SCNx64, &mask) == 1)
			taken |= mask;
	}
	parent = strstr(status, "\nPPid:");
	return parent != NULL && atoi(parent + strlen("\nPPid:")) == getpid() &&
	       (taken >> (number - 1) & 1) != 0;
}

void target_notify(const struct target *target, int number)
{
	pid_t pid = target->running ? target->pid : target->heir;

	if (pid != 0 && target_takes(pid, number))
		kill(pid, number);
}

/* One process of the groups or the children that is left; 0: none. */
static pid_t target_left(struct target *targets, unsigned count,
			 struct children *children)
{
	pid_t left;
	int status;

	while (children_reap(children, &status, WNOHANG) > 0)
		;
	left = children_signal(children, 0);
	for (unsigned i = 0; i < count; i++) {
		targets[i].gone = targets[i].gone || kill(-targets[i].pid, 0) < 0;
		if (!targets[i].gone && left == 0)
			left = targets[i].pid;
	}
	return left;
}

static void signal_all(const struct target *targets, unsigned count,
		       const struct children *children, int number)
{
	for (unsigned i = 0; i < count; i++)
		target_signal(&targets[i], number);
	children_signal(children, number); /* those that left the group */
}

pid_t target_clear(struct target *targets, unsigned count, struct children *children)
{
	uint64_t deadline = clock_now() + LEFTOVER_MS * MS;
	pid_t left = target_left(targets, count, children);

	if (left != 0)
		signal_all(targets, count, children, SIGTERM);
	while (left != 0 && clock_now() < deadline + KILLED_MS * MS) {
		if (clock_now() >= deadline)
			signal_all(targets, count, children, SIGKILL);
		clock_sleep_until(clock_now() + 5 * MS);
		left = target_left(targets, count, children);
	}
	for (unsigned i = 0; i < count; i++)
		target_take_terminal(&targets[i]);
	return left;
}
