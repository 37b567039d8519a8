/*
 * machine.h - the machine a run is measured on: numbers for decisions, facts to print.
 *
 * The topology comes from hwloc, all else from /proc, /sys and the control groups. What
 * can't be found is unknown (UNKNOWN, NAN) and absent from the facts.
 */
#ifndef DSA_MACHINE_H
#define DSA_MACHINE_H

#include <stdint.h>

struct profile;

struct machine {
	uint64_t threads; /* hardware threads online */
	uint64_t allowed; /* of them, those that affinity and cpuset leave */
	double quota;     /* CPUs by the control group's quota; NAN: none */
	double cores;     /* usable: `allowed`, or the quota if that is less; may be a
			   * fraction; never unknown */
	uint64_t sockets, physical_cores, numa_nodes;
	uint64_t llc_bytes; /* all last-level caches together */
	uint64_t memory_bytes;
	uint64_t memory_limit_bytes;     /* of the control group; UNKNOWN: none */
	uint64_t memory_available_bytes; /* free or droppable, under the limit too */
	unsigned cgroup_version;         /* 1, 2; 0: none */
};

/*
 * Reads the numbers. `root` stands in front of /proc and /sys: "" but in tests (the
 * topology is this machine's all the same, or what HWLOC_SYNTHETIC says).
 */
void machine_read(struct machine *machine, const char *root);

/*
 * Adds the environment's facts to the profile. `dataset` is a path whose storage is
 * described; NULL or one that does not exist: no storage.
 * Returns 0 or -ENOMEM.
 */
int machine_facts(struct profile *profile, const struct machine *machine,
		  const char *dataset, const char *root);

#endif
