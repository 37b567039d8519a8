/* machine.c - reads topology, threads and memory. */
#include "profiler/host/machine.h"
#include "loader/base/host/cgroup.h"
#include "loader/base/host/procfs.h"
#include "profiler/profile.h"

#include <hwloc.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static uint64_t count_objects(hwloc_topology_t topology, hwloc_obj_type_t type)
{
	int count = hwloc_get_nbobjs_by_type(topology, type);

	return count > 0 ? (uint64_t)count : UNKNOWN;
}

static uint64_t last_level_bytes(hwloc_topology_t topology)
{
	static const hwloc_obj_type_t levels[] = {
		HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE,
		HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L1CACHE,
	};
	uint64_t bytes = 0;

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]) && bytes == 0; i++) {
		hwloc_obj_t cache = NULL;

		while ((cache = hwloc_get_next_obj_by_type(topology, levels[i],
							   cache)) != NULL)
			bytes += cache->attr->cache.size;
	}
	return bytes > 0 ? bytes : UNKNOWN;
}

static void read_topology(struct machine *machine)
{
	hwloc_topology_t topology;

	if (hwloc_topology_init(&topology) < 0)
		return;
	if (hwloc_topology_load(topology) == 0) {
		machine->sockets = count_objects(topology, HWLOC_OBJ_PACKAGE);
		machine->physical_cores = count_objects(topology, HWLOC_OBJ_CORE);
		machine->numa_nodes = count_objects(topology, HWLOC_OBJ_NUMANODE);
		machine->llc_bytes = last_level_bytes(topology);
	}
	hwloc_topology_destroy(topology);
}

static void read_threads(struct machine *machine, const char *root)
{
	char text[8192], *allowed;

	if (procfs_line(text, sizeof(text), root, "/sys/devices/system/cpu/online") > 0)
		procfs_list(text, &machine->threads);
	if (procfs_read(text, sizeof(text), root, "/proc/self/status") <= 0)
		return;
	allowed = strstr(text, "\nCpus_allowed_list:");
	if (allowed != NULL)
		procfs_list(allowed + strlen("\nCpus_allowed_list:\t"),
			    &machine->allowed);
}

static double machine_usable_cores(const struct machine *machine)
{
	double cores = (double)sysconf(_SC_NPROCESSORS_ONLN);

	if (machine->allowed != UNKNOWN)
		cores = (double)machine->allowed;
	else if (machine->threads != UNKNOWN)
		cores = (double)machine->threads;
	return machine->quota < cores ? machine->quota : cores;
}

static void read_memory(struct machine *machine, const struct cgroup *cgroup,
			const char *root)
{
	char text[8192];
	uint64_t kib;

	machine->memory_limit_bytes = cgroup->memory_bytes;
	machine->memory_available_bytes = cgroup_memory_available(root);
	if (procfs_read(text, sizeof(text), root, "/proc/meminfo") > 0 &&
	    procfs_value(text, "MemTotal:", &kib))
		machine->memory_bytes = kib * 1024;
}

void machine_read(struct machine *machine, const char *root)
{
	struct cgroup cgroup;

	*machine = (struct machine){
		.threads = UNKNOWN,
		.allowed = UNKNOWN,
		.quota = NAN,
		.sockets = UNKNOWN,
		.physical_cores = UNKNOWN,
		.numa_nodes = UNKNOWN,
		.llc_bytes = UNKNOWN,
		.memory_bytes = UNKNOWN,
		.memory_limit_bytes = UNKNOWN,
		.memory_available_bytes = UNKNOWN,
	};
	cgroup_read(&cgroup, root);
	machine->cgroup_version = cgroup.version;
	machine->quota = cgroup.cpus;
	read_topology(machine);
	read_threads(machine, root);
	machine->cores = machine_usable_cores(machine);
	read_memory(machine, &cgroup, root);
}
