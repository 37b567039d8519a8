/* process_tree.c - walks the lists of children in /proc. */
#include "profiler/host/process_tree.h"
#include "loader/base/host/procfs.h"
#include "profiler/host/children.h"
#include "profiler/host/thread_files.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	PROCESSES = 4096, /* of a tree */
	TRIES = 4         /* while processes end that were listed */
};

struct process_tree {
	const char *root;
	const struct children *others;
	unsigned count;
	uint32_t pids[PROCESSES]; /* each behind its parent */
};

/* Appends the children that a thread has started. */
static bool tree_add_children(struct process_tree *tree, uint32_t pid, const char *tid)
{
	char text[8192], *at = text, *end;
	int length = procfs_read(text, sizeof(text), tree->root,
				 "/proc/%u/task/%s/children", pid, tid);

	if (length < 0 || length == sizeof(text) - 1)
		return false;
	for (;; at = end) {
		unsigned long child = strtoul(at, &end, 10);

		if (end == at)
			return true;
		if (tree->others != NULL &&
		    children_is_other(tree->others, (pid_t)child))
			continue;
		if (tree->count == PROCESSES)
			return false;
		tree->pids[tree->count++] = (uint32_t)child;
	}
}

/* The same of all threads of a process. */
static bool tree_add_all(struct process_tree *tree, uint32_t pid)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool whole = true;
	DIR *tasks;

	snprintf(path, sizeof(path), "%s/proc/%u/task", tree->root, pid);
	tasks = opendir(path);
	if (tasks == NULL)
		return false;
	while (whole && (entry = readdir(tasks)) != NULL)
		if (entry->d_name[0] != '.')
			whole = tree_add_children(tree, pid, entry->d_name);
	closedir(tasks);
	return whole;
}

static bool tree_list(struct process_tree *tree, uint32_t first)
{
	tree->pids[0] = first;
	tree->count = 1;
	for (unsigned i = 0; i < tree->count; i++)
		if (!tree_add_all(tree, tree->pids[i]))
			return false;
	return true;
}

static bool tree_add_use(const struct process_tree *tree, uint32_t pid,
			 struct process_tree_use *use)
{
	struct thread_files files = {.root = tree->root, .pid = pid};
	uint64_t own, reaped, bytes;

	if (!thread_files_task_clock(&files, &own) ||
	    !thread_files_reaped_clock(&files, &reaped))
		return false;
	use->cpu_ns += own + reaped;
	if (!thread_files_read_bytes(&files, &bytes))
		use->read_bytes = UINT64_MAX;
	else if (use->read_bytes != UINT64_MAX)
		use->read_bytes += bytes;
	return true;
}

static bool tree_sum(const struct process_tree *tree, struct process_tree_use *use)
{
	*use = (struct process_tree_use){0};
	for (unsigned i = 0; i < tree->count; i++)
		if (!tree_add_use(tree, tree->pids[i], use))
			return false;
	return true;
}

/* What others used becomes the first process's when they end. */
static void tree_leave_out(const struct children *others, struct process_tree_use *use)
{
	use->cpu_ns -= others->ended_ns < use->cpu_ns ? others->ended_ns : use->cpu_ns;
	if (use->read_bytes != UINT64_MAX)
		use->read_bytes -= others->ended_bytes < use->read_bytes
					   ? others->ended_bytes
					   : use->read_bytes;
}

bool process_tree_read(const char *root, uint32_t first, const struct children *others,
		       struct process_tree_use *use)
{
	struct process_tree tree = {.root = root, .others = others};

	/* One that ends meanwhile is counted by its parent, which was read before. */
	for (int i = 0; i < TRIES; i++) {
		if (!tree_list(&tree, first) || !tree_sum(&tree, use))
			continue;
		if (others != NULL)
			tree_leave_out(others, use);
		return true;
	}
	return false;
}
