/* cgroup.c - reads the limits of this process's control groups. */
#include "loader/base/host/cgroup.h"
#include "loader/base/host/procfs.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A group's folder; cgroup_climb() shortens path, never below `top`. */
struct group {
	unsigned version;
	size_t top; /* length of the mount point's path */
	char path[PATH_MAX];
};

/* Version 1 writes "no limit" as the largest multiple of a page. */
#define NO_LIMIT_V1 ((uint64_t)1 << 62)

static bool cgroup_mounts_controller(const struct procfs_mount *mount,
				     const struct procfs_mount *best,
				     const void *controller)
{
	if (best != NULL) /* the first is as good as another */
		return false;
	return controller == NULL ? strcmp(mount->type, "cgroup2") == 0
				  : strcmp(mount->type, "cgroup") == 0 &&
					    procfs_word(mount->options, controller);
}

/* This process's path in the hierarchy of a controller; NULL: in that of version 2. */
static bool cgroup_own_path(const char *root, const char *controller, char *path,
			    size_t size)
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
static const char *cgroup_below_mount(const char *path, const char *mounted)
{
	size_t length = strlen(mounted);

	if (strcmp(mounted, "/") == 0)
		return strncmp(path, "/..", 3) == 0 ? "" : path;
	if (strncmp(path, mounted, length) == 0 &&
	    (path[length] == '/' || path[length] == '\0'))
		return path + length;
	return "";
}

static bool cgroup_find_version(struct group *group, const char *root,
				const char *controller)
{
	struct procfs_mount mount;
	char path[PATH_MAX];
	int length;

	if (!cgroup_own_path(root, controller, path, sizeof(path)) ||
	    !procfs_mount_find(root, &mount, cgroup_mounts_controller, controller))
		return false;
	group->version = controller != NULL ? 1 : 2;
	group->top = strlen(mount.point);
	length = snprintf(group->path, sizeof(group->path), "%s%s", mount.point,
			  cgroup_below_mount(path, mount.root));
	free(mount.line);
	return length < PATH_MAX;
}

/* Version 2 may be mounted beside version 1, with the controllers that 1 left it. */
static bool cgroup_find(struct group *group, const char *root, const char *controller)
{
	return cgroup_find_version(group, root, controller) ||
	       cgroup_find_version(group, root, NULL);
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
static double cgroup_group_cpus(const struct group *group, const char *root)
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

/* A number of the group's memory.stat, as version 1 and 2 call it; 0: there is none. */
static uint64_t cgroup_stat(const struct group *group, const char *root, const char *v1,
			    const char *v2)
{
	char text[8192];
	uint64_t bytes;

	if (procfs_read(text, sizeof(text), root, "%s/memory.stat", group->path) <= 0 ||
	    !procfs_value(text, group->version == 1 ? v1 : v2, &bytes))
		return 0;
	return bytes;
}

static uint64_t cgroup_left(uint64_t limit, uint64_t used)
{
	return limit > used ? limit - used : 0;
}

static void cgroup_lower(uint64_t *least, uint64_t bytes)
{
	if (bytes < *least)
		*least = bytes;
}

static void cgroup_take_memory(struct cgroup *cgroup, const struct group *group,
			       const char *root)
{
	const char *limit_file =
		group->version == 1 ? "memory.limit_in_bytes" : "memory.max";
	const char *usage_file =
		group->version == 1 ? "memory.usage_in_bytes" : "memory.current";
	uint64_t limit, usage, drop;

	if (!procfs_number(&limit, root, "%s/%s", group->path, limit_file) ||
	    limit >= NO_LIMIT_V1)
		return;
	cgroup_lower(&cgroup->memory_bytes, limit);
	cgroup_lower(
		&cgroup->most_bytes,
		cgroup_left(limit, cgroup_stat(group, root, "total_rss ", "anon ") +
					   cgroup_stat(group, root, "total_shmem ",
						       "shmem ")));
	if (!procfs_number(&usage, root, "%s/%s", group->path, usage_file))
		return;
	/* inactive page cache: the kernel drops it before it refuses memory */
	drop = cgroup_stat(group, root, "total_inactive_file ", "inactive_file ");
	cgroup_lower(&cgroup->room_bytes, cgroup_left(limit, cgroup_left(usage, drop)));
}

/* Those of one group; version 1 tells them where both controllers share a hierarchy. */
static uint64_t cgroup_group_used(const struct group *group, const char *root)
{
	uint64_t number;
	char text[4096];

	if (group->version == 1)
		return procfs_number(&number, root, "%s/cpuacct.usage", group->path)
			       ? number
			       : UINT64_MAX;
	if (procfs_read(text, sizeof(text), root, "%s/cpu.stat", group->path) <= 0 ||
	    !procfs_value(text, "usage_usec ", &number))
		return UINT64_MAX;
	return 1000 * number;
}

uint64_t cgroup_cpu_used(const char *root)
{
	uint64_t used = UINT64_MAX;
	double least = INFINITY;
	struct group group;

	if (!cgroup_find(&group, root, "cpu"))
		return UINT64_MAX;
	do {
		double cpus = cgroup_group_cpus(&group, root);

		if (!(cpus < least))
			continue;
		least = cpus;
		used = cgroup_group_used(&group, root);
	} while (cgroup_climb(&group));
	return used;
}

void cgroup_read(struct cgroup *cgroup, const char *root)
{
	struct group group;

	*cgroup = (struct cgroup){0, NAN, UINT64_MAX, UINT64_MAX, UINT64_MAX};
	if (cgroup_find(&group, root, "cpu")) {
		cgroup->version = group.version;
		do {
			double cpus = cgroup_group_cpus(&group, root);

			if (!isnan(cpus) && !(cgroup->cpus <= cpus))
				cgroup->cpus = cpus;
		} while (cgroup_climb(&group));
	}
	if (cgroup_find(&group, root, "memory"))
		do
			cgroup_take_memory(cgroup, &group, root);
		while (cgroup_climb(&group));
}

uint64_t cgroup_memory_most(const char *root)
{
	char text[8192];
	struct cgroup cgroup;
	uint64_t swap_kib = 0;

	cgroup_read(&cgroup, root);
	if (procfs_read(text, sizeof(text), root, "/proc/meminfo") > 0)
		procfs_value(text, "SwapTotal:", &swap_kib);
	return swap_kib > 0 ? cgroup.memory_bytes : cgroup.most_bytes;
}

uint64_t cgroup_memory_available(const char *root)
{
	uint64_t kib, available = UINT64_MAX;
	struct cgroup cgroup;
	char text[8192];

	cgroup_read(&cgroup, root);
	if (procfs_read(text, sizeof(text), root, "/proc/meminfo") > 0 &&
	    procfs_value(text, "MemAvailable:", &kib))
		available = kib * 1024;
	cgroup_lower(&available, cgroup.room_bytes);
	return available;
}
