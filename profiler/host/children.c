/* children.c - reads who dsa's children are. */
#include "profiler/host/children.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static FILE *children_open(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	return fopen(path, "re");
}

void children_note(struct children *children)
{
	FILE *file = children_open();
	int pid;

	children->count = 0;
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

pid_t children_reap(struct children *children, int *status, int options)
{
	pid_t pid = waitpid(-1, status, options);
	int other = pid > 0 ? children_find(children, pid) : -1;

	if (other >= 0 && !WIFSTOPPED(*status)) /* its number may be used again */
		children->others[other] = 0;
	return pid;
}

pid_t children_signal(const struct children *children, int number)
{
	FILE *file = children->count <= CHILDREN_OTHERS ? children_open() : NULL;
	pid_t found = 0;
	int pid;

	while (file != NULL && fscanf(file, "%9d", &pid) == 1) {
		if (children_find(children, pid) >= 0)
			continue;
		kill(pid, number);
		found = pid;
	}
	if (file != NULL)
		fclose(file);
	return found;
}
