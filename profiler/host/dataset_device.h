/*
 * dataset_device.h - what a data set lies on.
 */
#ifndef DSA_DATASET_DEVICE_H
#define DSA_DATASET_DEVICE_H

#include "loader/base/host/procfs.h"

/* Numbers of a block device. */
struct device_number {
	unsigned major, minor;
};

/* The mount that holds the data set. False: it does not exist, or is no path. The
 * caller frees mount->line. */
bool dataset_device_mount(const char *root, const char *dataset,
			  struct procfs_mount *mount);

/* The device of a mount; btrfs shows another number. */
struct device_number dataset_device_of(const struct procfs_mount *mount);

/* The disk that holds the data set, not only a partition of it. False: none does. */
bool dataset_device_disk(const char *root, const char *dataset,
			 struct device_number *disk);

#endif
