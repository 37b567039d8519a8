/* dataset_device.c - finds the mount, the device and the disk of a path. */
#include "profiler/host/dataset_device.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* True for the mount that holds the path: the longest, and of equals the topmost. */
static bool holds_path(const struct procfs_mount *mount,
		       const struct procfs_mount *best, const void *path)
{
	size_t length = strlen(mount->point);

	if (best != NULL && strlen(best->point) > length)
		return false;
	if (strcmp(mount->point, "/") == 0)
		return true;
	return strncmp(path, mount->point, length) == 0 &&
	       (((const char *)path)[length] == '/' ||
		((const char *)path)[length] == '\0');
}

bool dataset_device_mount(const char *root, const char *dataset,
			  struct procfs_mount *mount)
{
	char path[PATH_MAX];

	return dataset != NULL && realpath(dataset, path) != NULL &&
	       procfs_mount_find(root, mount, holds_path, path);
}

struct device_number dataset_device_of(const struct procfs_mount *mount)
{
	struct stat status;

	if (mount->major == 0 && stat(mount->device, &status) == 0 &&
	    S_ISBLK(status.st_mode))
		return (struct device_number){major(status.st_rdev),
					      minor(status.st_rdev)};
	return (struct device_number){mount->major, mount->minor};
}

/* The disk of a partition; any other device as it is. */
static void dataset_device_whole(const char *root, struct device_number *device)
{
	struct device_number disk;
	uint64_t number;
	char text[32];

	if (procfs_number(&number, root, "/sys/dev/block/%u:%u/partition",
			  device->major, device->minor) &&
	    procfs_read(text, sizeof(text), root, "/sys/dev/block/%u:%u/../dev",
			device->major, device->minor) > 0 &&
	    sscanf(text, "%9u:%9u", &disk.major, &disk.minor) == 2)
		*device = disk;
}

bool dataset_device_disk(const char *root, const char *dataset,
			 struct device_number *disk)
{
	struct procfs_mount mount;

	if (!dataset_device_mount(root, dataset, &mount))
		return false;
	*disk = dataset_device_of(&mount);
	free(mount.line);
	if (disk->major == 0) /* memory, or a network's */
		return false;
	dataset_device_whole(root, disk);
	return true;
}
