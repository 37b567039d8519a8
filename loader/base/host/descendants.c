/* descendants.c - walks the lists of children in /proc. */
#include "loader/base/host/descendants.h"
#include "loader/base/host/procfs.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* Appends the children that a thread has started. */
static bool descendants_add_children(struct descendants *list, uint32_t pid,
				     const char *tid)
{
	char text[8192], *at = text, *end;
	int length = procfs_read(text, sizeof(text), list->root,
				 "/proc/%u/task/%s/children", pid, tid);

	if (length < 0 || length == sizeof(text) - 1)
		return false;
	list->reads++;
	list->bytes += (unsigned)length;
	for (;; at = end) {
		unsigned long child = strtoul(at, &end, 10);

		if (end == at)
			return true;
		if (list->is_other != NULL &&
		    list->is_other(list->others, (pid_t)child))
			continue;
		if (list->count == DESCENDANTS)
			return false;
		list->pids[list->count++] = (uint32_t)child;
	}
}

/* The same of all threads of a process. */
static bool descendants_add_all(struct descendants *list, uint32_t pid)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool whole = true;
	DIR *tasks;

	snprintf(path, sizeof(path), "%s/proc/%u/task", list->root, pid);
	tasks = opendir(path);
	if (tasks == NULL)
		return false;
	while (whole && (entry = readdir(tasks)) != NULL)
		if (entry->d_name[0] != '.')
			whole = descendants_add_children(list, pid, entry->d_name);
	closedir(tasks);
	return whole;
}

bool descendants_list(struct descendants *list, uint32_t first)
{
	list->pids[0] = first;
	list->count = 1;
	for (unsigned i = 0; i < list->count; i++)
		if (!descendants_add_all(list, list->pids[i]))
			return false;
	return true;
}
