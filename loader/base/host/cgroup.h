/*
 * cgroup.h - the CPU and memory limits of this process's control groups, of versions 1
 * and 2, mixed ones too. The tightest between the process's own group and the visible top
 * counts. The cpuset is not read: the kernel has already reduced the process's affinity
 * by it.
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
	uint64_t most_bytes;   /* limit without what can't be dropped, but for swap */
};

/* `root` stands in front of /proc and /sys: "" but in tests. */
void cgroup_read(struct cgroup *cgroup, const char *root);

/* CPU time, ns, of all in the group with the least quota. UINT64_MAX: none has one, or the
 * kernel does not tell. */
uint64_t cgroup_cpu_used(const char *root);

/* Who touches more memory than that is killed. UINT64_MAX: no limit. */
uint64_t cgroup_memory_most(const char *root);

/* What is free or can be dropped: on this machine, and under the limits. UINT64_MAX: nobody
 * tells. */
uint64_t cgroup_memory_available(const char *root);

#endif
