/* children.c - reads who dsa's children are. */
#include "profiler/host/children.h"
#include "loader/base/host/procfs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK = 512 /* of ru_inblock */ };

static FILE *children_open(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	return fopen(path, "re");
}

void children_note(struct children *children, const char *session)
{
	FILE *file = children_open();
	int pid;

	*children = (struct children){.session = session};
	while (file != NULL && children->count <= CHILDREN_OTHERS &&
	       fscanf(file, "%9d", &pid) == 1) {
		if (children->count < CHILDREN_OTHERS)
			children->others[children->count] = pid;
		children->count++;
	}
	if (file != NULL)
		fclose(file);
}

/* Its place among the others; -1: it is not one of them. */
static int children_find(const struct children *children, pid_t pid)
{
	for (unsigned i = 0; i < children->count && i < CHILDREN_OTHERS; i++)
		if (children->others[i] == pid)
			return (int)i;
	return -1;
}

bool children_is_other(const struct children *children, pid_t pid)
{
	return children_find(children, pid) >= 0;
}

static uint64_t children_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

/* Its number may be used again. */
static void children_forget(struct children *children, int other,
			    const struct rusage *usage)
{
	children->others[other] = 0;
	children->ended_ns +=
		children_ns(&usage->ru_utime) + children_ns(&usage->ru_stime);
	children->ended_bytes += (uint64_t)usage->ru_inblock * BLOCK;
}

pid_t children_reap(struct children *children, int *status, int options)
{
	struct rusage usage;
	pid_t pid = wait4(-1, status, options, &usage);
	int other = pid > 0 ? children_find(children, pid) : -1;

	if (other >= 0 && !WIFSTOPPED(*status))
		children_forget(children, other, &usage);
	return pid;
}

/* A variable of an environment is one of the programs' DSA_SESSION. */
static bool children_fits(const struct children *children, const char *variable)
{
	static const char name[] = "DSA_SESSION=";
	const char *session = children->session;
	size_t folder = (size_t)(strrchr(session, '/') - session) + 1;

	return strncmp(variable, name, sizeof(name) - 1) == 0 &&
	       strncmp(variable + sizeof(name) - 1, session, folder) == 0;
}

static bool children_has_session(const struct children *children, pid_t pid)
{
	char path[64], *variable = NULL;
	bool found = false;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	file = fopen(path, "re");
	while (file != NULL && !found && getdelim(&variable, &room, '\0', file) > 0)
		found = children_fits(children, variable);
	free(variable);
	if (file != NULL)
		fclose(file);
	return found;
}

/* It is ending, or about to run a program: it has no memory, and no environment in it. */
static bool children_is_between(pid_t pid)
{
	char first[2];

	return procfs_read(first, sizeof(first), "", "/proc/%d/cmdline", pid) == 0;
}

pid_t children_signal(const struct children *children, int number)
{
	FILE *file = children_open();
	pid_t found = 0;
	int pid;

	/* What others leave behind becomes a child of dsa's, too. */
	while (file != NULL && fscanf(file, "%9d", &pid) == 1) {
		if (children_is_other(children, pid))
			continue;
		if (children->count == 0 || children_has_session(children, pid))
			kill(pid, number);
		else if (!children_is_between(pid))
			continue;
		found = pid;
	}
	if (file != NULL)
		fclose(file);
	return found;
}
