/* machine.c - reads topology, threads and memory. */
#include "profiler/host/machine.h"
#include "profiler/host/procfs.h"
#include "profiler/profile.h"

#include <hwloc.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- control groups ---- */

struct cgroup {
	unsigned version;      /* of the CPU controller's hierarchy: 1, 2; 0: none */
	double cpus;           /* quota / period; NAN: no limit */
	uint64_t memory_bytes; /* limit; UINT64_MAX: none */
	uint64_t room_bytes;   /* left under the limit, cache that can be dropped
				* counted as room; UINT64_MAX: no limit */
};

/* A group's folder; cgroup_climb() shortens path, never below `top`. */
struct group {
	unsigned version;
	size_t top; /* length of the mount point's path */
	char path[PATH_MAX];
};

/* Version 1 writes "no limit" as the largest multiple of a page. */
#define NO_LIMIT_V1 ((uint64_t)1 << 62)

static bool mounts_controller(const struct procfs_mount *mount,
			      const struct procfs_mount *best, const void *controller)
{
	if (best != NULL) /* the first is as good as another */
		return false;
	return controller == NULL ? strcmp(mount->type, "cgroup2") == 0
				  : strcmp(mount->type, "cgroup") == 0 &&
					    procfs_word(mount->options, controller);
}

/* This process's path in the hierarchy of a controller; NULL: in that of version 2. */
static bool own_path(const char *root, const char *controller, char *path, size_t size)
{
	char text[8192], *rest = text, *line;

	if (procfs_read(text, sizeof(text), root, "/proc/self/cgroup") <= 0)
		return false;
	while ((line = strsep(&rest, "\n")) != NULL) {
		const char *number = strsep(&line, ":");
		const char *names = strsep(&line, ":");

		if (line == NULL || number == NULL)
			continue;
		if (controller == NULL ? strcmp(number, "0") != 0 || *names != '\0'
				       : !procfs_word(names, controller))
			continue;
		snprintf(path, size, "%s", line);
		return true;
	}
	return false;
}

/*
 * In a container the mount shows only a part of the hierarchy (mount->root): what
 * lies above it can't be seen, and a path from outside it means its top.
 */
static const char *below_mount(const char *path, const char *mounted)
{
	size_t length = strlen(mounted);

	if (strcmp(mounted, "/") == 0)
		return strncmp(path, "/..", 3) == 0 ? "" : path;
	if (strncmp(path, mounted, length) == 0 &&
	    (path[length] == '/' || path[length] == '\0'))
		return path + length;
	return "";
}

static bool find_version(struct group *group, const char *root, const char *controller)
{
	struct procfs_mount mount;
	char path[PATH_MAX];
	int length;

	if (!own_path(root, controller, path, sizeof(path)) ||
	    !procfs_mount_find(root, &mount, mounts_controller, controller))
		return false;
	group->version = controller != NULL ? 1 : 2;
	group->top = strlen(mount.point);
	length = snprintf(group->path, sizeof(group->path), "%s%s", mount.point,
			  below_mount(path, mount.root));
	free(mount.line);
	return length < PATH_MAX;
}

/* Version 2 may be mounted beside version 1, with the controllers that 1 left it. */
static bool find_group(struct group *group, const char *root, const char *controller)
{
	return find_version(group, root, controller) || find_version(group, root, NULL);
}

static bool cgroup_climb(struct group *group)
{
	char *slash = strrchr(group->path, '/');

	if (slash == NULL || (size_t)(slash - group->path) < group->top)
		return false;
	*slash = '\0';
	return true;
}

/* The CPU limit of this one group; NAN when it has none. */
static double group_cpus(const struct group *group, const char *root)
{
	unsigned long long quota;
	uint64_t v1_quota, period;
	char text[64];

	if (group->version == 1)
		return procfs_number(&v1_quota, root, "%s/cpu.cfs_quota_us",
				     group->path) && /* "-1": none */
				       procfs_number(&period, root,
						     "%s/cpu.cfs_period_us",
						     group->path) &&
				       period > 0
			       ? (double)v1_quota / (double)period
			       : NAN;
	if (procfs_read(text, sizeof(text), root, "%s/cpu.max", group->path) <= 0 ||
	    sscanf(text, "%19llu %19lu", &quota, &period) != 2 || period == 0)
		return NAN; /* "max 100000": none */
	return (double)quota / (double)period;
}

/* Inactive page cache: the kernel drops it before it refuses memory. */
static uint64_t cgroup_droppable(const struct group *group, const char *root)
{
	char text[8192];
	uint64_t bytes;

	if (procfs_read(text, sizeof(text), root, "%s/memory.stat", group->path) <= 0)
		return 0;
	return procfs_value(text,
			    group->version == 1 ? "total_inactive_file "
						: "inactive_file ",
			    &bytes)
		       ? bytes
		       : 0;
}

static void cgroup_take_memory(struct cgroup *cgroup, const struct group *group,
			       const char *root)
{
	const char *limit_file =
		group->version == 1 ? "memory.limit_in_bytes" : "memory.max";
	const char *usage_file =
		group->version == 1 ? "memory.usage_in_bytes" : "memory.current";
	uint64_t limit, usage, room, drop;

	if (!procfs_number(&limit, root, "%s/%s", group->path, limit_file) ||
	    limit >= NO_LIMIT_V1)
		return;
	if (limit < cgroup->memory_bytes)
		cgroup->memory_bytes = limit;
	if (!procfs_number(&usage, root, "%s/%s", group->path, usage_file))
		return;
	drop = cgroup_droppable(group, root);
	usage = usage > drop ? usage - drop : 0;
	room = limit > usage ? limit - usage : 0;
	if (room < cgroup->room_bytes)
		cgroup->room_bytes = room;
}

/*
 * The CPU and memory limits of this process's control groups, of versions 1 and 2,
 * mixed ones too. The tightest between the process's own group and the visible top
 * counts. The cpuset is not read: the kernel has already reduced the process's affinity
 * by it.
 */
static void cgroup_read(struct cgroup *cgroup, const char *root)
{
	struct group group;

	*cgroup = (struct cgroup){0, NAN, UINT64_MAX, UINT64_MAX};
	if (find_group(&group, root, "cpu")) {
		cgroup->version = group.version;
		do {
			double cpus = group_cpus(&group, root);

			if (!isnan(cpus) && !(cgroup->cpus <= cpus))
				cgroup->cpus = cpus;
		} while (cgroup_climb(&group));
	}
	if (find_group(&group, root, "memory"))
		do
			cgroup_take_memory(cgroup, &group, root);
		while (cgroup_climb(&group));
}

/* ---- the machine ---- */

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
	if (procfs_read(text, sizeof(text), root, "/proc/meminfo") > 0) {
		if (procfs_value(text, "MemTotal:", &kib))
			machine->memory_bytes = kib * 1024;
		if (procfs_value(text, "MemAvailable:", &kib))
			machine->memory_available_bytes = kib * 1024;
	}
	if (cgroup->room_bytes < machine->memory_available_bytes)
		machine->memory_available_bytes = cgroup->room_bytes;
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
