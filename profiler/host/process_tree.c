/* process_tree.c - adds up what /proc says of each process. */
#include "profiler/host/process_tree.h"
#include "loader/base/host/descendants.h"
#include "loader/base/random.h"
#include "profiler/host/children.h"
#include "profiler/host/thread_files.h"

#include <dirent.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRIES = 4 }; /* while processes end that were listed */

static bool tree_is_other(const void *others, pid_t pid)
{
	return children_is_other(others, pid);
}

static bool tree_add_use(const struct descendants *tree, uint32_t pid,
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

static void tree_add_thread(struct thread_files *files, struct process_tree_use *use)
{
	uint64_t waited;

	if (!thread_files_queue_wait(files, &waited))
		use->queue_ns = UINT64_MAX;
	else if (use->queue_ns != UINT64_MAX)
		use->queue_ns += waited;
	use->threads += random_mix(files->tid);
}

/* One that ended has taken with it what it waited. */
static void tree_add_threads(const char *root, uint32_t pid,
			     struct process_tree_use *use)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "%s/proc/%u/task", root, pid);
	tasks = opendir(path);
	if (tasks == NULL) {
		use->queue_ns = UINT64_MAX;
		return;
	}
	while ((entry = readdir(tasks)) != NULL) {
		struct thread_files files = {.root = root, .pid = pid};

		files.tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
		if (files.tid != 0)
			tree_add_thread(&files, use);
	}
	closedir(tasks);
}

static bool tree_sum(const struct descendants *tree, struct process_tree_use *use)
{
	*use = (struct process_tree_use){0};
	for (unsigned i = 0; i < tree->count; i++) {
		if (!tree_add_use(tree, tree->pids[i], use))
			return false;
		if (i > 0)
			tree_add_threads(tree->root, tree->pids[i], use);
	}
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
	struct descendants tree = {
		.root = root,
		.is_other = others != NULL ? tree_is_other : NULL,
		.others = others,
	};

	/* One that ends meanwhile is counted by its parent, which was read before. */
	for (int i = 0; i < TRIES; i++) {
		if (!descendants_list(&tree, first) || !tree_sum(&tree, use))
			continue;
		if (others != NULL)
			tree_leave_out(others, use);
		return true;
	}
	return false;
}
