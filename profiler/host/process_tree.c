/* process_tree.c - adds up what /proc says of each process. */
#include "profiler/host/process_tree.h"
#include "loader/base/host/descendants.h"
#include "profiler/host/children.h"
#include "profiler/host/thread_files.h"

#include <stddef.h>

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

static bool tree_sum(const struct descendants *tree, struct process_tree_use *use)
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
