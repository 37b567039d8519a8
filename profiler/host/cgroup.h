/*
 * cgroup.h - what the control groups of this process allow it: CPU time and memory.
 *
 * Version 1 and 2, mixed ones too. A limit anywhere between the process's own group
 * and the top that can be seen holds; the tightest counts. The cpuset needs no
 * reading here: the kernel has cut the process's affinity by it.
 */
#ifndef DSA_CGROUP_H
#define DSA_CGROUP_H

#include <stdint.h>

struct cgroup {
	unsigned version;      /* of the CPU controller's hierarchy: 1, 2; 0: none */
	double cpus;           /* quota / period; NAN: no limit */
	uint64_t memory_bytes; /* limit; UINT64_MAX: none */
	uint64_t room_bytes;   /* left under the limit, cache that can be dropped
				* counted as room; UINT64_MAX: no limit */
};

/* `root` stands in front of /proc and of the cgroups' mount points; "" normally. */
void cgroup_read(struct cgroup *cgroup, const char *root);

#endif
