/*
 * descendants.h - a process and all that descend from it, as /proc lists children.
 */
#ifndef DSA_DESCENDANTS_H
#define DSA_DESCENDANTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { DESCENDANTS = 4096 };

/* Set the first three, leave the rest 0. */
struct descendants {
	const char *root; /* in front of /proc */
	/* True of those that are left out, with what descends from them; NULL: none. */
	bool (*is_other)(const void *others, pid_t pid);
	const void *others;
	uint64_t reads, bytes; /* that all listings so far took of /proc */
	unsigned count;
	uint32_t pids[DESCENDANTS]; /* each behind its parent */
};

/* False: some children can't be read, as of a process that ends meanwhile, or there is
 * no room for them. */
bool descendants_list(struct descendants *list, uint32_t first);

#endif
