/*
 * process_tree.h - what a process and all its descendants have used together.
 */
#ifndef DSA_PROCESS_TREE_H
#define DSA_PROCESS_TREE_H

#include <stdbool.h>
#include <stdint.h>

struct children;

struct process_tree_use {
	uint64_t cpu_ns;     /* in clock ticks; ended descendants too */
	uint64_t read_bytes; /* from storage; UINT64_MAX: one of them hides it */
	uint64_t
		queue_ns; /* that the descendants' threads waited for a CPU; UINT64_MAX:
			      * unknown */
	uint64_t threads; /* the same while these are the same ones */
};

/*
 * Adds up the processes below /proc of `root`, without `others` and their descendants
 * (NULL: there are none). Each sum grows while the first process lives, but for
 * descendants that their parent does not wait for and for a tick where one of the others
 * ends. False: their list
 * can't be read, or never was the same for a moment.
 */
bool process_tree_read(const char *root, uint32_t first, const struct children *others,
		       struct process_tree_use *use);

#endif
